"""The compiled loop over lines of LIBSVM text."""

from typing import Any

import numpy as np
from numba import float64, int32, int64, types, uint8

from olbench.kernels.compile import kernel
from olbench.kernels.helpers import inlined

FINE, BAD_LABEL, BAD_QUERY, BAD_ENTRY = range(4)
LINES, ROWS, ENTRIES, HARD_NUMBERS, POSITION, UNSORTED = range(6)
COUNTERS = 6
GOOD, BAD, HARD = range(3)

#: One below the largest int32, so that the number of features fits as well.
LARGEST_INDEX = 2**31 - 2
#: The place of a hard number that is a label, not an entry.
LABEL = -1

#: A mantissa and a power of ten that are both exact need one product or quotient, which is rounded
#: correctly (Clinger, PLDI 1990). Python's float reads the numbers that are left over.
_EXACT = 2**53
_POWERS = np.array([10.0**e for e in range(23)])
_MOST_DIGITS = 18
#: Multiplied by it, a double splits into two halves of 26 bits (Dekker 1971).
_SPLIT = 2.0**27 + 1.0
_NEWLINE, _HASH, _COLON, _SPACE = ord("\n"), ord("#"), ord(":"), ord(" ")


@inlined
def _byte(text: Any, position: Any) -> Any:
    # An index without a sign: numba tests one with a sign for counting from the end.
    return text[np.uint64(position)]


@inlined
def _ends_token(byte: Any) -> Any:
    return byte == 32 or 9 <= byte <= 13 or byte == ord("#")


@inlined
def _skip_spaces(text: Any, position: Any) -> Any:
    byte = _byte(text, position)
    while byte == _SPACE or (9 <= byte <= 13 and byte != _NEWLINE):
        position += 1
        byte = _byte(text, position)
    return position


@inlined
def _read_digits(text: Any, position: Any, number: Any, digits: Any) -> Any:
    """Return (number with these digits, which may wrap around; its length without zeros; position)."""
    byte = _byte(text, position)
    while ord("0") <= byte <= ord("9"):
        number = number * 10 + np.int64(byte - ord("0"))
        digits += np.int64(digits > 0 or byte != ord("0"))
        position += 1
        byte = _byte(text, position)
    return number, digits, position


@inlined
def _halve(number: Any) -> Any:
    high = _SPLIT * number - (_SPLIT * number - number)
    return high, number - high


@inlined
def _divide(mantissa: Any, power: Any) -> Any:
    """Return (whether it is certain, the quotient rounded to nearest), for a mantissa of up to 18 digits.

    The remainder of a rounded quotient is a double, and Dekker's product gives it without FMA. The correction
    by it is right to 51 bits, so that the sum is certain where the last of them does not decide it.
    """
    high = np.float64(mantissa)
    quotient = high / power
    if mantissa <= _EXACT:
        return True, quotient
    product, (q, q_low), (p, p_low) = quotient * power, _halve(quotient), _halve(power)
    error = ((q * p - product) + q * p_low + q_low * p) + q_low * p_low
    rest = ((high - product) - error + np.float64(mantissa - np.int64(high))) / power
    value = quotient + rest * (1.0 + 2.0**-48)
    return value == quotient + rest * (1.0 - 2.0**-48), value


@inlined
def _read_number(text: Any, position: Any) -> Any:
    """Return (status, value, position after it); the text must end with a byte that ends a number."""
    negative = _byte(text, position) == ord("-")
    begin = position + np.int64(negative or _byte(text, position) == ord("+"))
    mantissa, digits, end = _read_digits(text, begin, np.int64(0), np.int64(0))
    is_number, exponent = end > begin, np.int64(0)
    if _byte(text, end) == ord("."):
        point = end + 1
        mantissa, digits, end = _read_digits(text, point, mantissa, digits)
        is_number, exponent = is_number or end > point, point - end
    if _byte(text, end) == ord("e") or _byte(text, end) == ord("E"):
        minus = _byte(text, end + 1) == ord("-")
        first = end + 1 + np.int64(minus or _byte(text, end + 1) == ord("+"))
        power, _, end = _read_digits(text, first, np.int64(0), np.int64(0))
        is_number = is_number and end > first
        digits += np.int64(_MOST_DIGITS * (end - first > 3))
        exponent += -power if minus else power
    if not is_number:
        return BAD, 0.0, end
    if digits > _MOST_DIGITS or exponent < -22 or exponent > 22:
        return HARD, 0.0, end
    if exponent < 0:
        certain, value = _divide(mantissa, _POWERS[np.uint64(-exponent)])
    else:
        certain, value = mantissa <= _EXACT, np.float64(mantissa) * _POWERS[np.uint64(exponent)]
    return (GOOD if certain else HARD), (-value if negative else value), end


@inlined
def _list_hard(hard: Any, counters: Any, row: Any, entry: Any, begin: Any, end: Any) -> None:
    k = counters[HARD_NUMBERS]
    hard[k, 0], hard[k, 1], hard[k, 2], hard[k, 3] = row, entry, begin, end
    counters[HARD_NUMBERS] = k + 1


@inlined
def _read_label(text: Any, begin: Any, row: Any, hard: Any, counters: Any) -> Any:
    """Return (whether it is valid, label, position after it)."""
    status, label, position = _read_number(text, begin)
    if status == BAD or not _ends_token(text[position]):
        return False, 0.0, position
    if status == HARD:
        _list_hard(hard, counters, row, LABEL, begin, position)
        return True, 0.0, position
    return label == np.floor(label) and abs(label) <= 2.0**53, label + 0.0, position


@inlined
def _skip_query(text: Any, position: Any) -> Any:
    """Return (whether a query id, if there is one, is a whole number; position after it)."""
    if text[position] != ord("q") or text[position + 1] != ord("i") or text[position + 2] != ord("d"):
        return True, position
    if text[position + 3] != _COLON:
        return True, position
    begin = position + 4 + np.int64(text[position + 4] == ord("-"))
    _, _, end = _read_digits(text, begin, np.int64(0), np.int64(0))
    is_whole = end > begin and _ends_token(text[end])
    return is_whole, (end if is_whole else position)


@inlined
def _read_entries(
    text: Any, position: Any, row: Any, entry: Any, indices: Any, data: Any, hard: Any, counters: Any
) -> Any:
    """Return (why it stopped, position of the token at fault or after the line, entry)."""
    previous = np.int64(-1)
    while True:
        begin = position
        index, digits, position = _read_digits(text, begin, np.int64(0), np.int64(0))
        is_index = position > begin and digits <= 10 and index <= LARGEST_INDEX
        if not is_index or _byte(text, position) != _COLON:
            position = _skip_spaces(text, begin)
            if text[position] == _NEWLINE or text[position] == _HASH:
                return FINE, position, entry
            if position > begin:
                continue
            return BAD_ENTRY, begin, entry
        value_begin = position + 1
        status, value, position = _read_number(text, value_begin)
        if status == BAD or not _ends_token(_byte(text, position)):
            return BAD_ENTRY, begin, entry
        if status == HARD:
            _list_hard(hard, counters, row, entry, value_begin, position)
        indices[entry] = index
        data[entry] = value
        entry += 1
        if index <= previous:
            counters[UNSORTED] = 1
        previous = index
        # Entries usually have one space between them; the loop above skips any others.
        position += np.int64(_byte(text, position) == _SPACE)


@inlined
def _sort_entries(indices: Any, data: Any) -> None:
    """Heapsort: in place, and never slow."""
    size = indices.size
    start = size // 2
    while size > 1:
        if start > 0:
            start -= 1
        else:
            size -= 1
            indices[0], indices[size] = indices[size], indices[0]
            data[0], data[size] = data[size], data[0]
        root = start
        while 2 * root + 1 < size:
            child = 2 * root + 1
            if child + 1 < size and indices[child] < indices[child + 1]:
                child += 1
            if indices[root] >= indices[child]:
                break
            indices[root], indices[child] = indices[child], indices[root]
            data[root], data[child] = data[child], data[root]
            root = child


_TEXT = types.Array(uint8, 1, "C", readonly=True)
_FLOATS, _INT32, _INT64 = (types.Array(kind, 1, "C") for kind in (float64, int32, int64))


@kernel(int64(_TEXT, int64, _FLOATS, _INT64, _INT32, _FLOATS, types.Array(int64, 2, "C"), _INT64))
def parse_lines(
    text: Any, size: Any, labels: Any, indptr: Any, indices: Any, data: Any, hard: Any, counters: Any
) -> Any:
    """Fill the arrays from whole lines; `hard` is for Python: (row, entry or LABEL, begin, end)."""
    position, fault, stopped = np.int64(0), np.int64(0), FINE
    lines, row, first = counters[LINES], np.int64(0), np.int64(0)
    indptr[0] = counters[HARD_NUMBERS] = counters[UNSORTED] = 0
    while position < size:
        position = _skip_spaces(text, position)
        if text[position] != _NEWLINE and text[position] != _HASH:
            fault = position
            is_label, label, position = _read_label(text, position, row, hard, counters)
            if not is_label:
                stopped = BAD_LABEL
                break
            fault = _skip_spaces(text, position)
            is_query, position = _skip_query(text, fault)
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
            labels[row] = label
            row += 1
            indptr[row] = entry
            first = entry
        while text[position] != _NEWLINE:
            position += 1
        position += 1
        lines += 1
    counters[LINES], counters[ROWS], counters[ENTRIES], counters[POSITION] = lines, row, first, fault
    return stopped


@kernel(int64(_INT64, int64, _INT32, _FLOATS))
def sort_rows(indptr: Any, rows: Any, indices: Any, data: Any) -> Any:
    """Sort the entries of each row by their indices; return whether a row repeats one."""
    repeats = np.int64(0)
    for row in range(rows):
        begin, end = indptr[row], indptr[row + 1]
        for k in range(begin + 1, end):
            if indices[k] <= indices[k - 1]:
                _sort_entries(indices[begin:end], data[begin:end])
                break
        for k in range(begin + 1, end):
            repeats |= np.int64(indices[k] == indices[k - 1])
    return repeats
