"""Compiled reading of decimal numbers, correctly rounded.

Short numbers are exact products or quotients of two doubles (Clinger 1990); longer ones go through one or
two 64 x 64 bit products with a table of powers of ten (Lemire 2021, "Number parsing at a gigabyte per
second"). The few cases that neither method decides (subnormal numbers, ties beyond 19 digits) are reported as
`HARD` and left to Python.
"""

from typing import Any

import numpy as np

from olbench.data.readers.swar import (
    as_double,
    count_digits,
    count_high_zeros,
    join_digits,
    load_byte,
    load_word,
    multiply_words,
)
from olbench.kernels.compile import inlined

GOOD, BAD, HARD = 0, 1, 2

_LOWEST, _HIGHEST = -342, 308


def _powers_of_ten() -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """Return the leading 128 bits of 10^e, rounded down, as (high, low) rows for e in _LOWEST.._HIGHEST."""
    rows = []
    for e in range(_LOWEST, _HIGHEST + 1):
        ten = 10 ** abs(e)
        if e >= 0:
            bits = ten << 128 >> ten.bit_length()
        else:
            shift = 127 + ten.bit_length()
            bits = (1 << shift) // ten
            bits >>= bits.bit_length() - 128
        rows.append((bits >> 64, bits & (2**64 - 1)))
    return np.array(rows, dtype=np.uint64)


_POWERS = _powers_of_ten()
_EXACT_POWERS = np.array([10.0**e for e in range(23)])
_WHOLE_POWERS = np.array([10**e for e in range(9)], dtype=np.uint64)
_EXACT = np.uint64(2**53)
_NINE_BITS = np.uint64(0x1FF)
_ALL_BITS = np.uint64(2**64 - 1)
_ZERO, _ONE, _TWO, _THREE, _NINE, _TEN = (np.uint64(k) for k in (0, 1, 2, 3, 9, 10))
_TOP = np.uint64(63)
_BYTE, _MINUS = np.uint64(0xFF), np.uint64(ord("-"))
_FRACTION_BITS = np.uint64(53)
#: The fraction of a double without its first bit, which is not stored.
_STORED_BITS, _STORED = np.uint64(52), np.uint64(2**52 - 1)


@inlined
def _round(mantissa: Any, exponent: Any) -> Any:
    """Return (decided, mantissa * 10^exponent) for a mantissa above zero, by Lemire's method."""
    zeros = count_high_zeros(mantissa)
    mantissa <<= np.uint64(zeros)
    row = exponent - _LOWEST
    high, low = multiply_words(mantissa, _POWERS[row, 0])
    if high & _NINE_BITS == _NINE_BITS and low + mantissa < mantissa:
        more, rest = multiply_words(mantissa, _POWERS[row, 1])
        merged = low + more
        if merged < low:
            high += _ONE
        if high & _NINE_BITS == _NINE_BITS and merged == _ALL_BITS and rest + mantissa < mantissa:
            return False, 0.0
        low = merged
    top = high >> _TOP
    fraction = high >> (top + _NINE)
    if low == _ZERO and high & _NINE_BITS == _ZERO and fraction & _THREE == _ONE:
        return False, 0.0
    # 217706 / 2^16 approximates log2(10): it gives the binary exponent of this power of ten.
    binary = ((217706 * exponent) >> 16) + 64 + 1023 - zeros - (0 if top == _ONE else 1)
    fraction += fraction & _ONE
    fraction >>= _ONE
    if fraction >> _FRACTION_BITS != _ZERO:
        fraction >>= _ONE
        binary += 1
    if binary < 1 or binary > 2046:
        return False, 0.0
    return True, as_double((np.uint64(binary) << _STORED_BITS) | (fraction & _STORED))


@inlined
def _evaluate(mantissa: Any, exponent: Any, cut: Any) -> Any:
    """Return (status, value) of mantissa * 10^exponent, whose digits after the 19th may have been dropped."""
    if mantissa == _ZERO or exponent < _LOWEST:
        return GOOD, 0.0
    if exponent > _HIGHEST:
        return GOOD, np.inf
    if not cut and mantissa <= _EXACT and -22 <= exponent <= 22:
        if exponent < 0:
            return GOOD, np.float64(mantissa) / _EXACT_POWERS[-exponent]
        return GOOD, np.float64(mantissa) * _EXACT_POWERS[exponent]
    decided, value = _round(mantissa, exponent)
    if decided and cut:
        above_decided, above = _round(mantissa + _ONE, exponent)
        decided = above_decided and above == value
    return (GOOD if decided else HARD), value


@inlined
def ends_token(byte: Any) -> Any:
    """Return whether a byte is white space or starts a comment."""
    return byte == 32 or 9 <= byte <= 13 or byte == ord("#")


@inlined
def read_short_number(text: Any, position: Any) -> Any:
    """Read a number without an exponent and with few digits; return (is one, value, position after it).

    Most numbers are: up to 7 digits before the point, up to 16 after it and 19 in all. The others, and
    whatever is not a number, are left to `read_number`. The text must go on for two words after the number.
    """
    word = load_word(text, position)
    negative = (word & _BYTE) == _MINUS
    sign = np.int64(negative)
    word >>= np.uint64(8 * sign)
    whole = count_digits(word)
    if whole == 0 or whole == 8:
        return False, 0.0, position
    mantissa = join_digits(word, whole)
    position += sign + whole
    if load_byte(text, position) != ord("."):
        value = np.float64(np.int64(mantissa))
        return ends_token(load_byte(text, position)), (-value if negative else value), position
    word = load_word(text, position + 1)
    places = count_digits(word)
    if places == 0:
        return False, 0.0, position
    mantissa = mantissa * _WHOLE_POWERS[places] + join_digits(word, places)
    position += 1 + places
    if places == 8:
        word = load_word(text, position)
        more = count_digits(word)
        if whole + more > 11:
            return False, 0.0, position
        if more > 0:
            mantissa = mantissa * _WHOLE_POWERS[more] + join_digits(word, more)
            position += more
            places += more
    if mantissa <= _EXACT:
        value = np.float64(np.int64(mantissa)) / _EXACT_POWERS[places]
    else:
        decided, value = _round(mantissa, -places)
        if not decided:
            return False, 0.0, position
    return ends_token(load_byte(text, position)), (-value if negative else value), position


@inlined
def read_number(text: Any, position: Any) -> Any:
    """Read a decimal number at a position; return (status, value, position after it).

    The text must end with a byte that cannot be part of a number, such as a newline.
    """
    negative = text[position] == ord("-")
    if negative or text[position] == ord("+"):
        position += 1
    mantissa, exponent, digits, cut = _ZERO, 0, 0, False
    begin, point = position, -1
    while True:
        byte = text[position]
        if byte == ord(".") and point < 0:
            point = position
        elif ord("0") <= byte <= ord("9"):
            digit = np.uint64(byte - ord("0"))
            if digits < 19:
                mantissa = mantissa * _TEN + digit
                if mantissa != _ZERO:
                    digits += 1
                if point >= 0:
                    exponent -= 1
            else:
                cut = cut or digit != _ZERO
                if point < 0:
                    exponent += 1
        else:
            break
        position += 1
    if position - begin - (1 if point >= 0 else 0) == 0:
        return BAD, 0.0, position
    if text[position] == ord("e") or text[position] == ord("E"):
        position += 1
        minus = text[position] == ord("-")
        if minus or text[position] == ord("+"):
            position += 1
        power: Any = np.int64(0)
        begin = position
        while ord("0") <= text[position] <= ord("9"):
            power = min(power * 10 + np.int64(text[position] - ord("0")), np.int64(1_000_000_000))
            position += 1
        if position == begin:
            return BAD, 0.0, position
        exponent += -power if minus else power
    status, value = _evaluate(mantissa, exponent, cut)
    return status, (-value if negative else value), position
