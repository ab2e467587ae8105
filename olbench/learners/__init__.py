"""The state of an algorithm while it learns, and passes over examples.

In: an `Algorithm`, examples and an order, whose labels may come late.
Out: a learner (`start`), a pass with its counts, curves and margins, a trace, or an estimator.
"""
