"""Learning: examples, learners by family, passes, one-vs-rest, and learners of other libraries."""
