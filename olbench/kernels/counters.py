"""The places of what a pass counts in the array `counters`, and the roles of its rounds.

EXTRA belongs to the kernel: changes of Sigma that are pending, an exponent, or support examples. POSITIVES
are the predicted examples of the positive class, FALSE_ALARMS the mistakes on the others. UNLEARNED is how
many examples were predicted and not learnt, less those that were learnt without a prediction. BROKEN_ROUND
and BROKEN_ENTRY say where the first breakdown is: after how many predictions, at which entry of the order.
"""

ROUNDS, MISTAKES, UPDATES, EFFECTIVE, BREAKDOWNS, EXTRA, POSITIVES, FALSE_ALARMS, UNLEARNED = range(9)
BROKEN_ROUND, BROKEN_ENTRY = 9, 10
COUNTERS = 11
#: An entry of an order is the number of a row, plus one of these if its round only predicts or only learns.
ONLY_PREDICT, ONLY_LEARN = 2**60, 2**61
#: The bits of an entry that are its row.
ROW = ONLY_PREDICT - 1


# Features whose squares are summed together. A row of nnz entries changes at most nnz such sums, and the sum
# over all of them reads d / BLOCK: about the square root of the largest d is best.
BLOCK = 32
# The columns of the means of several classes are a multiple of this, so that a panel has whole vectors.
LANES = 4
# From this d on Sigma (128 KiB) exceeds a first-level cache several times: a kernel of its own works on tiles
# of TILE rows and columns, of which the sides of Sigma are multiples.
BLOCKED_FROM, TILE = 128, 8
# Doubles per cache line.
LINE = 8


def count_blocks(d: int) -> int:
    """Return how many sums of squares the norm of d weights is kept in."""
    return -(-d // BLOCK)


def count_columns(classes: int) -> int:
    """Return the columns of the array of means: those of the classes, up to a whole vector."""
    return -(-classes // LANES) * LANES


def choose_depth(d: int) -> int:
    """Return how many changes of a full covariance are collected before they are applied together.

    Each pending change costs a round two sums of d; applying more of them at a time reads Sigma less often.
    """
    return 2 if d < BLOCKED_FROM else 16 if d < 256 else 24


def spread_rows(side: int) -> int:
    """Return the length of the rows of a matrix with `side` columns: an odd number of cache lines.

    A cache finds a line by the low bits of its address. If the rows are a power of two apart, the lines of a
    column share a few places in it and evict each other; an odd number of lines apart, they use all of them.
    """
    return side if side // LINE % 2 else side + LINE
