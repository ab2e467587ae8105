"""Shrinking: the smallest example on which a subject and its algorithm differ."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from olbench.conformance.inputs import Input

TRIES, SECONDS = 400, 10.0


def shrink(given: Input, differs: Callable[[Input], bool]) -> Input:
    search = _Search(differs)
    for _ in range(2):
        given = search.drop_rows(given)
        given = search.drop_columns(given)
        given = search.round_numbers(given)
    return given


class _Search:
    def __init__(self, differs: Callable[[Input], bool]):
        self.differs, self.tries, self.deadline = differs, 0, time.monotonic() + SECONDS

    def accepts(self, given: Input) -> bool:
        self.tries += 1
        if self.tries > TRIES or time.monotonic() > self.deadline:
            return False
        return self.differs(given)

    def drop_rows(self, given: Input) -> Input:
        size = max(1, len(given.y) // 2)
        while size:
            begin = 0
            while begin < len(given.y) and len(given.y) > 1:
                kept = [i for i in range(len(given.y)) if not begin <= i < begin + size]
                smaller = given.keep(kept) if kept else given
                if kept and self.accepts(smaller):
                    given = smaller
                else:
                    begin += size
            size //= 2
        return given

    def drop_columns(self, given: Input) -> Input:
        j = 0
        while j < given.X.shape[1] and given.X.shape[1] > 1:
            columns = [k for k in range(given.X.shape[1]) if k != j]
            smaller = given.keep(list(range(len(given.y))), columns)
            if self.accepts(smaller):
                given = smaller
            else:
                j += 1
        return given

    def round_numbers(self, given: Input) -> Input:
        for i, j in np.ndindex(*given.X.shape):
            value = given.X[i, j]
            for simple in (0.0, float(np.sign(value)), float(np.round(value)), float(np.round(value, 1))):
                if simple == value:
                    break
                X = given.X.copy()
                X[i, j] = simple
                if self.accepts(replace(given, X=X)):
                    given = replace(given, X=X)
                    break
        return given
