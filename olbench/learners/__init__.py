"""Learning: examples, learners by family, passes, one-vs-rest, and learners of other libraries.

In come an Algorithm, rows and labels; out go counts, curves and the state of the learner. `start` makes a
learner: the family of an algorithm, named by its order, registers what holds its state.
"""
