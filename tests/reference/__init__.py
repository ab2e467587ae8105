"""References without code of the package: `plain` in NumPy for short passes, `compiled` in C for long ones.

`python -m tests.reference` compares every algorithm with the compiled one on every data set.
"""

from tests.reference.plain import REFERENCES, L, run

__all__ = ["REFERENCES", "L", "run"]
