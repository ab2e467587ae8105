"""References without code of the package, in extended precision: `compiled` in C, `classes` in NumPy.

`python -m tests.reference` compares every algorithm with the compiled one on every data set.
"""
