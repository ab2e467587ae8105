"""Orders depend on the seed, the data set's name, a stream and a number: all algorithms share them."""

import hashlib
from collections.abc import Iterator

import numpy as np

from olbench.learners.examples import Ints

ALL, TUNING_HALF, REPORTED_HALF = PARTS = ("all", "tuning half", "reported half")
STREAMS = ("report", "tune", "split")


def generator(seed: int, dataset: str, stream: str, number: int) -> np.random.Generator:
    digest = hashlib.sha256(f"{seed}\0{dataset}\0{stream}\0{number}".encode()).digest()
    return np.random.default_rng(np.random.SeedSequence(int.from_bytes(digest[:16], "big")))


def rows_of(part: str, seed: int, dataset: str, n: int) -> Ints:
    if part not in PARTS:
        raise ValueError(f"there is no part '{part}' of a data set; the parts are {', '.join(PARTS)}")
    if part == ALL:
        return np.arange(n, dtype=np.int64)
    shuffled = generator(seed, dataset, "split", 0).permutation(n)
    half = shuffled[: n // 2] if part == TUNING_HALF else shuffled[n // 2 :]
    return np.sort(half).astype(np.int64)


def order(seed: int, dataset: str, role: str, number: int, part: str, n: int) -> Ints:
    if part == ALL:
        # The permutation itself: indexing the row numbers with it would take three times the memory.
        return generator(seed, dataset, role, number).permutation(n)
    rows = rows_of(part, seed, dataset, n)
    return rows[generator(seed, dataset, role, number).permutation(rows.size)]


def windows(
    seed: int, dataset: str, role: str, number: int, part: str, n: int, block: int, window: int
) -> Iterator[tuple[list[slice], Ints]]:
    """Yield an order of n rows for data larger than memory, window by window.

    Blocks of `block` rows come in random order; a window is the slices of blocks with `window` rows, and an
    order of the rows in them. With a part, the rows are split within every block.
    """
    random = generator(seed, dataset, role, number)
    blocks = random.permutation(-(-n // block))
    step = max(1, window // block)
    for first in range(0, blocks.size, step):
        places = [slice(k * block, min(n, (k + 1) * block)) for k in blocks[first : first + step].tolist()]
        rows = _rows_in(part, seed, dataset, places)
        yield places, rows[random.permutation(rows.size)]


def _rows_in(part: str, seed: int, dataset: str, places: list[slice]) -> Ints:
    found, begin = [], 0
    for place in places:
        size = place.stop - place.start
        # One split for each block, the same in every order: no row may change sides.
        name = f"{dataset}\0{place.start}"
        found.append(begin + rows_of(part, seed, name, size))
        begin += size
    return np.concatenate(found)
