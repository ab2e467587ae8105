"""The compiled loop over lines of LIBSVM text."""

from typing import Any

import numpy as np
from numba import float64, int32, int64, types, uint8

from olbench.data.decimals import BAD, HARD, read_number
from olbench.kernels.compile import helper, kernel

#: Why the loop stopped, and the counters that it leaves behind.
FINE, BAD_LABEL, BAD_QUERY, BAD_ENTRY, DUPLICATE = range(5)
LINES, ROWS, ENTRIES, HARD_VALUES, POSITION, INDEX, LOWEST, HIGHEST = range(8)
COUNTERS = 8

#: One below the largest int32, so that the number of features fits as well.
LARGEST_INDEX = 2**31 - 2

#: In place of the index of a feature.
LABEL = -1

_NEWLINE, _HASH, _COLON = ord("\n"), ord("#"), ord(":")


@helper
def _skip_spaces(text: Any, position: Any) -> Any:
    while text[position] == 32 or (9 <= text[position] <= 13 and text[position] != _NEWLINE):
        position += 1
    return position


@helper
def _ends_token(byte: Any) -> Any:
    return byte == 32 or 9 <= byte <= 13 or byte == _HASH


@helper
def _is_query(text: Any, position: Any) -> Any:
    return (
        text[position] == ord("q")
        and text[position + 1] == ord("i")
        and text[position + 2] == ord("d")
        and text[position + 3] == _COLON
    )


@helper
def _sink(indices: Any, data: Any, begin: Any, root: Any, size: Any) -> Any:
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and indices[begin + child] < indices[begin + child + 1]:
            child += 1
        if indices[begin + root] >= indices[begin + child]:
            return
        a, b = begin + root, begin + child
        indices[a], indices[b] = indices[b], indices[a]
        data[a], data[b] = data[b], data[a]
        root = child


@helper
def _sort(indices: Any, data: Any, begin: Any, end: Any) -> Any:
    """Sort one row by index with heap sort, which no order of the input makes slow."""
    size = end - begin
    for root in range(size // 2 - 1, -1, -1):
        _sink(indices, data, begin, root, size)
    for last in range(size - 1, 0, -1):
        a, b = begin, begin + last
        indices[a], indices[b] = indices[b], indices[a]
        data[a], data[b] = data[b], data[a]
        _sink(indices, data, begin, 0, last)


_TEXT = types.Array(uint8, 1, "C", readonly=True)
_FLOATS, _INT32, _INT64 = (types.Array(kind, 1, "C") for kind in (float64, int32, int64))


@kernel(int64(_TEXT, int64, _FLOATS, _INT64, _INT32, _FLOATS, types.Array(int64, 2, "C"), _INT64))
def parse_lines(
    text: Any, size: Any, labels: Any, indptr: Any, indices: Any, data: Any, hard: Any, counters: Any
) -> Any:
    """Append the examples in text[:size], whole lines, to the arrays; return why it stopped, or FINE.

    Numbers that need Python's arithmetic are listed in `hard` as (row, index or LABEL, position in the text).
    """
    position = 0
    row, entry = counters[ROWS], counters[ENTRIES]
    while position < size:
        counters[POSITION] = position
        position = _skip_spaces(text, position)
        if text[position] == _NEWLINE or text[position] == _HASH:
            while text[position] != _NEWLINE:
                position += 1
            position += 1
            counters[LINES] += 1
            continue

        counters[POSITION] = position
        status, label, position = read_number(text, position)
        if status == BAD or not _ends_token(text[position]):
            return BAD_LABEL
        if status == HARD:
            k = counters[HARD_VALUES]
            hard[k, 0], hard[k, 1], hard[k, 2] = row, LABEL, counters[POSITION]
            counters[HARD_VALUES] = k + 1
        elif label != np.floor(label) or abs(label) > 2.0**53:
            return BAD_LABEL
        labels[row] = label + 0.0

        position = _skip_spaces(text, position)
        if text[position] == ord("q") and _is_query(text, position):
            counters[POSITION] = position
            position += 4
            if text[position] == ord("-"):
                position += 1
            begin = position
            while ord("0") <= text[position] <= ord("9"):
                position += 1
            if position == begin or not _ends_token(text[position]):
                return BAD_QUERY

        first, previous, sorted_so_far = entry, np.int64(-1), True
        while True:
            position = _skip_spaces(text, position)
            if text[position] == _NEWLINE or text[position] == _HASH:
                break
            counters[POSITION] = position
            index, begin = np.int64(0), position
            while ord("0") <= text[position] <= ord("9"):
                index = index * 10 + np.int64(text[position] - ord("0"))
                if index > LARGEST_INDEX:
                    return BAD_ENTRY
                position += 1
            if position == begin or text[position] != _COLON:
                return BAD_ENTRY
            begin = position + 1
            status, value, position = read_number(text, begin)
            if status == BAD or not _ends_token(text[position]) or np.isinf(value):
                return BAD_ENTRY
            if status == HARD:
                k = counters[HARD_VALUES]
                hard[k, 0], hard[k, 1], hard[k, 2] = row, index, begin
                counters[HARD_VALUES] = k + 1
            if index == previous:
                counters[INDEX] = index
                return DUPLICATE
            if index < previous:
                sorted_so_far = False
            previous = index
            indices[entry] = index
            data[entry] = value
            entry += 1

        if not sorted_so_far:
            _sort(indices, data, first, entry)
            for k in range(first + 1, entry):
                if indices[k] == indices[k - 1]:
                    counters[INDEX] = indices[k]
                    return DUPLICATE
        if entry > first:
            counters[LOWEST] = min(counters[LOWEST], indices[first])
            counters[HIGHEST] = max(counters[HIGHEST], indices[entry - 1])
        row += 1
        indptr[row] = entry
        counters[ROWS], counters[ENTRIES] = row, entry
        while text[position] != _NEWLINE:
            position += 1
        position += 1
        counters[LINES] += 1
    return FINE
