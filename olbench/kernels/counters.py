"""The places of what a pass counts in the array `counters`.

The last one belongs to the kernel: changes of Sigma that are pending, an exponent, or support examples.
"""

ROUNDS, MISTAKES, UPDATES, EFFECTIVE, BREAKDOWNS, EXTRA = 0, 1, 2, 3, 4, 5
