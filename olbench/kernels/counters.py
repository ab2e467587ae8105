"""What a pass counts, by its place in the array `counters`; the roles of rounds; and the sizes of arrays.

Learners read these numbers before any kernel is compiled. EXTRA belongs to the kernel: changes of Sigma that
are pending, an exponent, or support examples. POSITIVES are the predicted examples of the positive class,
FALSE_ALARMS the mistakes on the others. UNLEARNED is how many examples were predicted and not learnt, less
those that were learnt without a prediction. BROKEN_ROUND and BROKEN_ENTRY locate the first breakdown: the
number of predictions so far, and the entry of the order. After these come the mistakes by group of their
rows: for each of GROUPS groups, one number for each of two labels, -1 first; for several classes, one for
each true class, then one for each predicted class.
"""

ROUNDS, MISTAKES, UPDATES, EFFECTIVE, BREAKDOWNS, EXTRA, POSITIVES, FALSE_ALARMS, UNLEARNED = range(9)
BROKEN_ROUND, BROKEN_ENTRY = 9, 10
COUNTERS, GROUPS = 11, 128
#: What a curve shows, and in this order.
CURVE_COUNTS = {
    "mistakes": MISTAKES,
    "updates": UPDATES,
    "positives": POSITIVES,
    "false_alarms": FALSE_ALARMS,
    "unlearned": UNLEARNED,
}
#: An entry of an order is the number of a row, plus one of these if its round only predicts or only learns.
ONLY_PREDICT, ONLY_LEARN = 2**60, 2**61
#: The bits of an entry that are its row; those from GROUP on, below ONLY_PREDICT, are the group of the row.
GROUP = 53
ROW = 2**GROUP - 1


# Features whose squares are summed together. A row of nnz entries changes at most nnz such sums, and the sum
# over all of them reads d / BLOCK: about the square root of the largest d is best.
BLOCK = 32
# The columns of the means of several classes are a multiple of this, so that a panel has whole vectors.
LANES = 4
# From this d on a full covariance is run by `blocked`, on tiles of TILE rows and columns; the sides of Sigma
# are multiples of it. If the margin of a rule depends on v, most rounds end in the screening and there are
# fewer to share a sweep, so it pays later (docs/kernels.md has the measurement).
BLOCKED_FROM, BLOCKED_FROM_FIXED_MARGIN, TILE = 120, 80, 8
# From this d on the native learners look ahead; below, two changes of a covariance are applied together.
AHEAD_FROM = 128
# Doubles per cache line.
LINE = 8


def count_blocks(d: int) -> int:
    """Return how many sums of squares the norm of d weights is kept in."""
    return -(-d // BLOCK)


def count_columns(classes: int) -> int:
    """Return the number of columns of the means: one per class, rounded up to whole vectors."""
    return -(-classes // LANES) * LANES


def choose_depth(d: int) -> int:
    """Return how many changes of a covariance `blocked` collects before they are applied together.

    Each pending change costs a round two sums of d; applying more of them at a time reads Sigma less often.
    """
    return 8 if d < 128 else 16 if d < 256 else 24


def spread_rows(side: int) -> int:
    """Return the length of the rows of a matrix with `side` columns: an odd number of cache lines.

    A cache finds a line by the low bits of its address. If the rows are a power of two apart, the lines of a
    column share a few places in it and evict each other; an odd number of lines apart, they use all of them.
    """
    return side if side // LINE % 2 else side + LINE
