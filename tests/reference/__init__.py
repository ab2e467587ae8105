"""References without code of the package, in extended precision: `compiled` in C, `classes` in NumPy.

`python -m benchmarks.reference` compares every algorithm with the compiled one on every data set.
"""
