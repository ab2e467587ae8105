"""The sizes of arrays that kernels work on; known without compiling anything."""

# Features whose squares are summed together. A row of nnz entries changes at most nnz such sums, and the sum
# over all of them reads d / BLOCK: about the square root of the largest d is best.
BLOCK = 32
# The columns of the means of several classes are a multiple of this, so that a panel has whole vectors.
LANES = 4


def count_blocks(d: int) -> int:
    """Return how many sums of squares the norm of d weights is kept in."""
    return -(-d // BLOCK)


def count_columns(classes: int) -> int:
    """Return the columns of the array of means: those of the classes, up to a whole vector."""
    return -(-classes // LANES) * LANES
