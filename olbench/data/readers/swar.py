"""Eight bytes of text at once, as one 64-bit word, for the compiled reader.

A loop over bytes branches at every digit. A word tells where a number ends, and its value, without a branch,
however many digits it has up to eight. The first byte of the text is the lowest byte of its word on every
machine. Nothing here checks that a word lies within its text: that is up to the caller.
"""

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int64, types, uint8, uint64

from olbench.kernels.compile import inlined
from olbench.kernels.vectors import llvm_function

#: Bytes that must follow the last position at which a word is loaded.
WORD = 8

_WORD_BITS, _WIDE = ir.IntType(64), ir.IntType(128)
_ZEROS = np.uint64(0x3030303030303030)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_HIGH_BITS = np.uint64(0x8080808080808080)
#: What takes 10 and more, but not 9, to the high bit of a byte.
_BEYOND_NINE = np.uint64(0x7676767676767676)
_PAIRS, _FOURS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
#: Multiplying by 10^k * 2^b + 1 adds each part of b bits to 10^k times the part before it.
_JOIN_ONES, _JOIN_PAIRS, _JOIN_FOURS = (np.uint64(10**k * 2 ** (8 * k) + 1) for k in (1, 2, 4))
_8, _16, _32 = (np.uint64(k) for k in (8, 16, 32))


def _address(context: Any, builder: Any, text: Any, value: Any, position: Any) -> Any:
    fields = context.make_array(text)(context, builder, value)
    return builder.gep(fields.data, [position])


@llvm_function()
def load_byte(typing: Any, text: Any, position: Any) -> Any:
    """Return the byte at a position, which never counts from the end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, text, *arguments))

    return uint8(text, int64), generate


@llvm_function()
def load_word(typing: Any, text: Any, position: Any) -> Any:
    """Return the eight bytes from a position on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, text, *arguments)
        word = builder.load(builder.bitcast(address, _WORD_BITS.as_pointer()), align=1)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return uint64(text, int64), generate


@llvm_function()
def count_low_zeros(typing: Any, word: Any) -> Any:
    """Return the number of zero bits below the lowest one; 64 if there is none."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return int64(uint64), generate


@llvm_function()
def count_high_zeros(typing: Any, word: Any) -> Any:
    """Return the number of zero bits above the highest one; 64 if there is none."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.IntType(1)(0))

    return int64(uint64), generate


@llvm_function()
def multiply_words(typing: Any, one: Any, other: Any) -> Any:
    """Return the 128-bit product of two words as (high, low)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        product = builder.mul(*(builder.zext(word, _WIDE) for word in arguments))
        halves = [builder.lshr(product, _WIDE(64)), product]
        words = [builder.trunc(half, _WORD_BITS) for half in halves]
        return context.make_tuple(builder, signature.return_type, words)

    return types.UniTuple(uint64, 2)(uint64, uint64), generate


@llvm_function()
def as_double(typing: Any, word: Any) -> Any:
    """Return the double with the bits of a word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return float64(uint64), generate


@inlined
def count_digits(word: Any) -> Any:
    """Return how many digits a word starts with."""
    digits = word ^ _ZEROS
    others = (((digits & _LOW_BITS) + _BEYOND_NINE) | digits) & _HIGH_BITS
    return count_low_zeros(others) >> 3


@inlined
def join_digits(word: Any, count: Any) -> Any:
    """Return the number that the first `count` digits of a word form; `count` is 1 to 8."""
    digits = (word ^ _ZEROS) << np.uint64(64 - 8 * count)
    pairs = (digits * _JOIN_ONES) >> _8
    fours = ((pairs & _PAIRS) * _JOIN_PAIRS) >> _16
    return ((fours & _FOURS) * _JOIN_FOURS) >> _32
