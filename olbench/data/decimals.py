"""Compiled reading of decimal numbers, correctly rounded.

Short numbers are exact products or quotients of two doubles (Clinger 1990); longer ones go through one or
two 64 x 64 bit products with a table of powers of ten (Lemire 2021, "Number parsing at a gigabyte per
second"). The few cases that neither method decides (subnormal numbers, ties beyond 19 digits) are reported as
`HARD` and left to Python.
"""

import math
from typing import Any

import numpy as np

from olbench.kernels.compile import helper

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
_EXACT = np.uint64(2**53)
_HALF_WORD = np.uint64(32)
_LOW_HALF = np.uint64(2**32 - 1)
_NINE_BITS = np.uint64(0x1FF)
_ALL_BITS = np.uint64(2**64 - 1)
_ZERO, _ONE, _TWO, _THREE, _NINE, _TEN = (np.uint64(k) for k in (0, 1, 2, 3, 9, 10))
_TOP = np.uint64(63)
_FRACTION_BITS = np.uint64(53)


@helper
def _multiply(a: Any, b: Any) -> Any:
    """Return the 128-bit product of two words as (high, low)."""
    a_high, a_low = a >> _HALF_WORD, a & _LOW_HALF
    b_high, b_low = b >> _HALF_WORD, b & _LOW_HALF
    low = a_low * b_low
    first = a_high * b_low + (low >> _HALF_WORD)
    second = a_low * b_high + (first & _LOW_HALF)
    high = a_high * b_high + (first >> _HALF_WORD) + (second >> _HALF_WORD)
    return high, (second << _HALF_WORD) | (low & _LOW_HALF)


@helper
def _round(mantissa: Any, exponent: Any) -> Any:
    """Return (decided, mantissa * 10^exponent) for a mantissa above zero, by Lemire's method."""
    zeros = 0
    while mantissa >> _TOP == _ZERO:
        mantissa <<= _ONE
        zeros += 1
    row = exponent - _LOWEST
    high, low = _multiply(mantissa, _POWERS[row, 0])
    if high & _NINE_BITS == _NINE_BITS and low + mantissa < mantissa:
        more, rest = _multiply(mantissa, _POWERS[row, 1])
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
    return True, math.ldexp(np.float64(fraction), binary - 1075)


@helper
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


@helper
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
