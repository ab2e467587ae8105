"""The compiled loop over lines of LIBSVM text."""

from typing import Any

import numpy as np
from numba import float64, int32, int64, types, uint8

from olbench.data.decimals import BAD, HARD, ends_token, load_byte, read_number
from olbench.kernels.compile import inlined, kernel

FINE, BAD_LABEL, BAD_QUERY, BAD_ENTRY, DUPLICATE = range(5)
LINES, ROWS, ENTRIES, HARD_VALUES, POSITION, INDEX, LOWEST, HIGHEST = range(8)
COUNTERS = 8

#: One below the largest int32, so that the number of features fits as well.
LARGEST_INDEX = 2**31 - 2

LABEL = -1

_NEWLINE, _HASH, _COLON, _SPACE = ord("\n"), ord("#"), ord(":"), ord(" ")


@inlined
def _skip_spaces(text: Any, position: Any) -> Any:
    byte = load_byte(text, position)
    while byte == _SPACE or (9 <= byte <= 13 and byte != _NEWLINE):
        position += 1
        byte = load_byte(text, position)
    return position


@inlined
def _is_query(text: Any, position: Any) -> Any:
    return (
        text[position] == ord("q")
        and text[position + 1] == ord("i")
        and text[position + 2] == ord("d")
        and text[position + 3] == _COLON
    )


@inlined
def _sort(indices: Any, data: Any, begin: Any, end: Any) -> Any:
    """Sort one row by index with Shell's method, which no order of the input makes slow."""
    gap = 1
    while gap < (end - begin) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(begin + gap, end):
            index, value, place = indices[k], data[k], k
            while place >= begin + gap and indices[place - gap] > index:
                indices[place], data[place] = indices[place - gap], data[place - gap]
                place -= gap
            indices[place], data[place] = index, value
        gap //= 3


_TEXT = types.Array(uint8, 1, "C", readonly=True)
_FLOATS, _INT32, _INT64 = (types.Array(kind, 1, "C") for kind in (float64, int32, int64))


@inlined
def _read_index(text: Any, position: Any) -> Any:
    """Return (index, position after it); the index is -1 if there is none or it is too large."""
    index, begin = np.int64(0), position
    while ord("0") <= load_byte(text, position) <= ord("9"):
        index = index * 10 + np.int64(load_byte(text, position) - ord("0"))
        if index > LARGEST_INDEX:
            return np.int64(-1), position
        position += 1
    return (index if position > begin else np.int64(-1)), position


@inlined
def _list_hard(hard: Any, counters: Any, row: Any, index: Any, position: Any) -> None:
    k = counters[HARD_VALUES]
    hard[k, 0], hard[k, 1], hard[k, 2] = row, index, position
    counters[HARD_VALUES] = k + 1


@inlined
def _read_label(text: Any, begin: Any, row: Any, hard: Any, counters: Any) -> Any:
    """Return (whether it is one, label, position after it)."""
    status, label, position = read_number(text, begin)
    if status == BAD or not ends_token(text[position]):
        return False, 0.0, position
    if status == HARD:
        _list_hard(hard, counters, row, LABEL, begin)
        return True, 0.0, position
    return label == np.floor(label) and abs(label) <= 2.0**53, label + 0.0, position


@inlined
def _skip_query(text: Any, position: Any) -> Any:
    """Return (whether there is no false query id, position after it)."""
    position += 4
    if text[position] == ord("-"):
        position += 1
    begin = position
    while ord("0") <= text[position] <= ord("9"):
        position += 1
    return position > begin and ends_token(text[position]), position


@inlined
def _find_second(indices: Any, begin: Any, end: Any) -> Any:
    """Return the first index that follows itself in a sorted row, or -1."""
    for k in range(begin + 1, end):
        if indices[k] == indices[k - 1]:
            return np.int64(indices[k])
    return np.int64(-1)


@inlined
def _read_entries(
    text: Any, position: Any, row: Any, entry: Any, indices: Any, data: Any, hard: Any, counters: Any
) -> Any:
    """Return (why it stopped, position of the token at fault or after the line, entry)."""
    first, previous, is_sorted = entry, np.int64(-1), True
    while True:
        begin = position
        index, position = _read_index(text, begin)
        if index < 0 or load_byte(text, position) != _COLON:
            position = _skip_spaces(text, begin)
            if text[position] == _NEWLINE or text[position] == _HASH:
                break
            if position > begin:
                continue
            return BAD_ENTRY, begin, entry
        value_begin = position + 1
        status, value, position = read_number(text, value_begin)
        if status == BAD or not ends_token(load_byte(text, position)) or np.isinf(value):
            return BAD_ENTRY, begin, entry
        if status == HARD:
            _list_hard(hard, counters, row, index, value_begin)
        if index <= previous:
            if index == previous:
                counters[INDEX] = index
                return DUPLICATE, begin, entry
            is_sorted = False
        previous = index
        indices[entry] = index
        data[entry] = value
        entry += 1
        # One space is the rule; a newline or more spaces are no index, which is found out above.
        position += np.int64(load_byte(text, position) == _SPACE)
    if not is_sorted:
        _sort(indices, data, first, entry)
        index = _find_second(indices, first, entry)
        if index >= 0:
            counters[INDEX] = index
            return DUPLICATE, begin, entry
    return FINE, position, entry


@kernel(int64(_TEXT, int64, _FLOATS, _INT64, _INT32, _FLOATS, types.Array(int64, 2, "C"), _INT64))
def parse_lines(
    text: Any, size: Any, labels: Any, indptr: Any, indices: Any, data: Any, hard: Any, counters: Any
) -> Any:
    """Append whole lines to the arrays; numbers for Python are in `hard`: (row, index or LABEL, position)."""
    position, fault, stopped = np.int64(0), np.int64(0), FINE
    lines, row, first = counters[LINES], counters[ROWS], counters[ENTRIES]
    lowest, highest = counters[LOWEST], counters[HIGHEST]
    while position < size:
        position = _skip_spaces(text, position)
        if text[position] != _NEWLINE and text[position] != _HASH:
            fault = position
            is_label, label, position = _read_label(text, position, row, hard, counters)
            if not is_label:
                stopped = BAD_LABEL
                break
            position = _skip_spaces(text, position)
            if text[position] == ord("q") and _is_query(text, position):
                fault = position
                is_query, position = _skip_query(text, position)
                if not is_query:
                    stopped = BAD_QUERY
                    break
                position = _skip_spaces(text, position)
            stopped, position, entry = _read_entries(
                text, position, row, first, indices, data, hard, counters
            )
            if stopped != FINE:
                fault = position
                break
            if entry > first:
                lowest = min(lowest, np.int64(indices[first]))
                highest = max(highest, np.int64(indices[entry - 1]))
            labels[row] = label
            row += 1
            indptr[row] = entry
            first = entry
        while text[position] != _NEWLINE:
            position += 1
        position += 1
        lines += 1
    counters[LINES], counters[ROWS], counters[ENTRIES], counters[POSITION] = lines, row, first, fault
    counters[LOWEST], counters[HIGHEST] = lowest, highest
    return stopped


@kernel(types.UniTuple(int64, 2)(_TEXT, int64))
def count_marks(text: Any, size: Any) -> Any:
    """Return the numbers of colons and of newlines, which bound those of entries and rows."""
    colons, newlines = 0, 0
    for k in range(size):
        colons += text[k] == _COLON
        newlines += text[k] == _NEWLINE
    return colons, newlines
