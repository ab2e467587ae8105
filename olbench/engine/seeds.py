"""Orders of examples: each depends on the seed, the data set's name, a stream and a number, nothing else.

So all algorithms see the same permutations, and those that tune are never those that are reported.
"""

import hashlib

import numpy as np

from olbench.examples import Ints


def generator(seed: int, dataset: str, stream: str, number: int) -> np.random.Generator:
    """Return the random numbers of one stream ("report", "tune" or "split") of a data set."""
    digest = hashlib.sha256(f"{seed}\0{dataset}\0{stream}\0{number}".encode()).digest()
    return np.random.default_rng(np.random.SeedSequence(int.from_bytes(digest[:16], "big")))


def rows_of(part: str, seed: int, dataset: str, n: int) -> Ints:
    """Return the sorted rows of a part: "all", or a side of holdout's random split."""
    if part == "all":
        return np.arange(n, dtype=np.int64)
    shuffled = generator(seed, dataset, "split", 0).permutation(n)
    half = shuffled[: n // 2] if part == "tuning half" else shuffled[n // 2 :]
    return np.sort(half).astype(np.int64)


def order(seed: int, dataset: str, role: str, permutation: int, part: str, n: int) -> Ints:
    """Return the order in which a trial sees the n rows of a data set, or those of a part."""
    rows = rows_of(part, seed, dataset, n)
    return rows[generator(seed, dataset, role, permutation).permutation(rows.size)]
