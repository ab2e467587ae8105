"""Divisions of the rows for cross-validation: folds, stratified splits, and duplicates across them."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from olbench.data.dataset import duplicate_groups
from olbench.data.source import Source
from olbench.errors import UserError, count
from olbench.learners.examples import Floats, Ints
from olbench.records import seeds

DUPLICATES = ("refuse", "remove", "keep")


@dataclass(frozen=True)
class Division:
    train: Ints
    test: Ints


@cache
def _group_duplicates(source: Source) -> Ints:
    return duplicate_groups(source.open().examples.matrix())


def find_usable(source: Source, policy: str) -> Ints:
    rows = np.arange(source.n, dtype=np.int64)
    return rows[_group_duplicates(source) == rows] if policy == "remove" else rows


def refuse_duplicates(source: Source) -> None:
    repeated = int(np.count_nonzero(_group_duplicates(source) != np.arange(source.n)))
    if repeated:
        raise UserError(
            f"{source.name} has {count(repeated, 'exact duplicate')} of other rows, which would be in the "
            "training and the test rows at once; add `duplicates: remove` to the config, or `duplicates: "
            "keep`"
        )


def divide(source: Source, usable: Ints, seed: int, folds: int, number: int) -> Division:
    """Fold number % folds of division number // folds, for every algorithm; a given split never changes."""
    if source.test_from is not None:
        return Division(usable[usable < source.test_from], usable[usable >= source.test_from])
    repeat, fold = divmod(number, folds)
    shuffled = usable[seeds.generator(seed, source.name, "split", repeat).permutation(usable.size)]
    test = shuffled[fold::folds]
    train = np.concatenate([shuffled[other::folds] for other in range(folds) if other != fold])
    return Division(np.sort(train), np.sort(test))


def split_stratified(rows: Ints, labels: Floats, random: np.random.Generator, share: float = 0.2) -> Division:
    held = []
    for label in np.unique(labels[rows]):
        own = rows[labels[rows] == label]
        count = min(max(1, round(share * own.size)), own.size - 1)
        held.append(random.permutation(own)[: max(count, 0)])
    test = np.sort(np.concatenate(held))
    return Division(np.setdiff1d(rows, test), test)


def thin_positives(rows: Ints, labels: Floats, share: float, random: np.random.Generator) -> Ints:
    positive = rows[labels[rows] > 0]
    kept = random.permutation(positive)[: max(1, round(share * positive.size))]
    return np.sort(np.concatenate([rows[labels[rows] <= 0], kept]))
