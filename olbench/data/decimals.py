"""Compiled reading of decimal numbers, correctly rounded (Clinger 1990; Lemire 2021).

Cases that neither method decides (subnormal numbers, ties beyond 19 digits) are HARD and left to Python.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import int64, types, uint8, uint64

from olbench.kernels.compile import inlined
from olbench.kernels.vectors import llvm_function

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
_NINE_BITS = np.uint64(0x1FF)
_ALL_BITS = np.uint64(2**64 - 1)
_ZERO, _ONE, _THREE, _NINE, _TEN = (np.uint64(k) for k in (0, 1, 3, 9, 10))
_TOP = np.uint64(63)
_FRACTION_BITS = np.uint64(53)
_DIGIT_ZERO = np.uint64(ord("0"))
#: A mantissa of more may not fit in 64 bits.
_MOST_DIGITS = 19

_WORD, _WIDE = ir.IntType(64), ir.IntType(128)


@llvm_function()
def load_byte(typing: Any, text: Any, position: Any) -> Any:
    """text[position] takes twice as long: it may count from the end. Nothing checks the position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value, place = arguments
        fields = context.make_array(text)(context, builder, value)
        return builder.load(builder.gep(fields.data, [place]))

    return uint8(text, int64), generate


@llvm_function()
def count_high_zeros(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.IntType(1)(0))

    return int64(uint64), generate


@llvm_function()
def multiply_words(typing: Any, one: Any, other: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        product = builder.mul(*(builder.zext(word, _WIDE) for word in arguments))
        words = [builder.trunc(half, _WORD) for half in (builder.lshr(product, _WIDE(64)), product)]
        return context.make_tuple(builder, signature.return_type, words)

    return types.UniTuple(uint64, 2)(uint64, uint64), generate


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
    fraction += fraction & _ONE
    fraction >>= _ONE
    # 217706 / 2^16 approximates log2(10): it gives the binary exponent of this power of ten.
    binary = ((217706 * exponent) >> 16) + 12 - zeros - (0 if top == _ONE else 1)
    if binary < -1074 or binary > 971 - np.int64(fraction >> _FRACTION_BITS):
        return False, 0.0
    return True, math.ldexp(np.float64(np.int64(fraction)), binary)


@inlined
def _evaluate(mantissa: Any, exponent: Any, cut: Any) -> Any:
    """Return (status, value) of mantissa * 10^exponent, whose digits after the 19th may have been dropped."""
    if mantissa == _ZERO or exponent < _LOWEST:
        return GOOD, 0.0
    if exponent > _HIGHEST:
        return GOOD, np.inf
    if not cut and mantissa <= _EXACT and -22 <= exponent <= 22:
        if exponent < 0:
            return GOOD, np.float64(np.int64(mantissa)) / _EXACT_POWERS[-exponent]
        return GOOD, np.float64(np.int64(mantissa)) * _EXACT_POWERS[exponent]
    decided, value = _round(mantissa, exponent)
    if decided and cut:
        above_decided, above = _round(mantissa + _ONE, exponent)
        decided = above_decided and above == value
    return (GOOD if decided else HARD), value


@inlined
def ends_token(byte: Any) -> Any:
    return byte == 32 or 9 <= byte <= 13 or byte == ord("#")


@inlined
def _read_digits(text: Any, position: Any, mantissa: Any) -> Any:
    """Append digits to a mantissa, which wraps around if they are too many; return it and where they end."""
    digit = np.uint64(load_byte(text, position)) - _DIGIT_ZERO
    while digit <= _NINE:
        mantissa = mantissa * _TEN + digit
        position += 1
        digit = np.uint64(load_byte(text, position)) - _DIGIT_ZERO
    return mantissa, position


@inlined
def _cut_digits(text: Any, begin: Any, end: Any) -> Any:
    """Return (mantissa, exponent, whether it is less than the number) of digits too many for a mantissa."""
    mantissa, exponent, digits = _ZERO, np.int64(0), np.int64(0)
    cut, after_point = False, False
    for position in range(begin, end):
        byte = load_byte(text, position)
        if byte == ord("."):
            after_point = True
        elif digits < _MOST_DIGITS:
            mantissa = mantissa * _TEN + np.uint64(byte - ord("0"))
            digits += np.int64(mantissa != _ZERO)
            exponent -= np.int64(after_point)
        else:
            cut = cut or byte != ord("0")
            exponent += np.int64(not after_point)
    return mantissa, exponent, cut


@inlined
def _read_exponent(text: Any, position: Any) -> Any:
    """Return (exponent, position after it), the same position if there are no digits."""
    minus = load_byte(text, position) == ord("-")
    begin = position + np.int64(minus or load_byte(text, position) == ord("+"))
    power, end = np.int64(0), begin
    while ord("0") <= load_byte(text, end) <= ord("9"):
        power = min(power * 10 + np.int64(load_byte(text, end) - ord("0")), np.int64(1_000_000_000))
        end += 1
    return (-power if minus else power), (end if end > begin else position)


@inlined
def read_number(text: Any, position: Any) -> Any:
    """Return (status, value, position after it); the text must end with a byte that ends a number."""
    negative = load_byte(text, position) == ord("-")
    begin = position + np.int64(negative or load_byte(text, position) == ord("+"))
    mantissa, end = _read_digits(text, begin, _ZERO)
    digits, exponent, cut = end - begin, np.int64(0), False
    if load_byte(text, end) == ord("."):
        point = end
        mantissa, end = _read_digits(text, point + 1, mantissa)
        exponent = point + 1 - end
        digits -= exponent
    if digits == 0:
        return BAD, 0.0, end
    if digits > _MOST_DIGITS:
        mantissa, exponent, cut = _cut_digits(text, begin, end)
    if load_byte(text, end) == ord("e") or load_byte(text, end) == ord("E"):
        power, after = _read_exponent(text, end + 1)
        if after == end + 1:
            return BAD, 0.0, end
        exponent, end = exponent + power, after
    status, value = _evaluate(mantissa, exponent, cut)
    return status, (-value if negative else value), end
