"""Compiled loops over examples, one file per family; no names of algorithms or papers.

In: the rows of a data set, an order, a compiled rule and the arrays of a learner.
Out: the same arrays after a slice of the pass, and counters.
"""
