"""Orders depend on the seed, the data set's name, a stream and a number: all algorithms share them."""

import hashlib
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from olbench.learners.examples import Groups, Ints
from olbench.learners.schedules import with_groups

ALL, TUNING_HALF, REPORTED_HALF = PARTS = ("all", "tuning half", "reported half")
STREAMS = ("report", "tune", "split")
#: Random groups of the rows of a data set, by which reported trials record what their rows contributed.
MOST_GROUPS = 100
PIECE = 1 << 20


def generator(seed: int, dataset: str, stream: str, number: int) -> np.random.Generator:
    digest = hashlib.sha256(f"{seed}\0{dataset}\0{stream}\0{number}".encode()).digest()
    return np.random.default_rng(np.random.SeedSequence(int.from_bytes(digest[:16], "big")))


# All trials on a data set need the same groups.
@lru_cache(maxsize=4)
def groups(seed: int, dataset: str, n: int) -> Groups:
    """Return the group of each of the n rows of a file; the sizes of groups differ by at most one."""
    drawn = (np.arange(n) % count_groups(n)).astype(np.uint8)
    generator(seed, dataset, "groups", 0).shuffle(drawn)
    drawn.flags.writeable = False
    return drawn


def count_groups(n: int) -> int:
    return max(1, min(MOST_GROUPS, n // 2))


def rows_of(part: str, seed: int, dataset: str, n: int) -> Ints:
    if part not in PARTS:
        raise ValueError(f"there is no part '{part}' of a data set; the parts are {', '.join(PARTS)}")
    if part == ALL:
        return np.arange(n, dtype=np.int64)
    shuffled = generator(seed, dataset, "split", 0).permutation(n)
    half = shuffled[: n // 2] if part == TUNING_HALF else shuffled[n // 2 :]
    return np.sort(half).astype(np.int64)


def order(
    seed: int, dataset: str, role: str, number: int, part: str, n: int, groups: Groups | None = None
) -> Ints:
    """Return a permutation of the rows of a part, as entries that carry the groups of the rows if given."""
    return _shuffle(generator(seed, dataset, role, number), rows_of(part, seed, dataset, n), groups)


def _shuffle(random: np.random.Generator, rows: Ints, groups: Groups | None) -> Ints:
    """Return rows in random order, in their own memory without groups."""
    entries = rows if groups is None else with_groups(rows, groups[rows])
    random.shuffle(entries)
    return entries


def windows(
    seed: int,
    dataset: str,
    role: str,
    number: int,
    part: str,
    n: int,
    block: int,
    window: int,
    groups: Groups | None = None,
) -> Iterator[tuple[list[slice], Ints]]:
    """Yield an order of n rows for data larger than memory, window by window.

    Blocks of `block` rows come in random order; a window is the slices of blocks with `window` rows, and an
    order of the rows in them. With a part, the rows are split within every block. `groups` are as in `order`.
    """
    random = generator(seed, dataset, role, number)
    blocks = random.permutation(-(-n // block))
    step = max(1, window // block)
    for first in range(0, blocks.size, step):
        places = [slice(k * block, min(n, (k + 1) * block)) for k in blocks[first : first + step].tolist()]
        own = None if groups is None else np.concatenate([groups[place] for place in places])
        yield places, _shuffle(random, _rows_in(part, seed, dataset, places), own)


def pieces(seed: int, dataset: str, part: str, n: int, block: int = 0) -> Iterator[slice | Ints]:
    """Yield the rows of a part piece by piece, as `order` or, with a block, `windows` takes them."""
    size = block or n if part != ALL else PIECE
    for begin in range(0, n, size):
        place = slice(begin, min(n, begin + size))
        name = f"{dataset}\0{begin}" if block else dataset
        yield place if part == ALL else begin + rows_of(part, seed, name, place.stop - begin)


def _rows_in(part: str, seed: int, dataset: str, places: list[slice]) -> Ints:
    found, begin = [], 0
    for place in places:
        size = place.stop - place.start
        # One split for each block, the same in every order: no row may change sides.
        name = f"{dataset}\0{place.start}"
        found.append(begin + rows_of(part, seed, name, size))
        begin += size
    return np.concatenate(found)
