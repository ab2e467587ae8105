"""Bytes and 64-bit words in LLVM's instructions, for the compiled reader."""

from typing import Any

from llvmlite import ir
from numba import int64, types, uint8, uint64

from olbench.kernels.vectors import llvm_function

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
