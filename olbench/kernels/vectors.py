"""Runs of adjacent doubles that stay in registers, for sums over the rows of a matrix.

The compiler's own vectors have two limits: a loop whose length is not a multiple of their width ends in
scalar code, and a sum over rows is stored and loaded again every few rows. A run is a value instead. LLVM
spreads it over the registers that the machine has; each lane is a separate sum in the order written, so the
bits do not depend on them. Nothing here checks that a run lies within its array: that is up to the caller.
"""

from collections.abc import Callable
from itertools import accumulate
from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import float64, types
from numba.core import cgutils
from numba.core.datamodel import PrimitiveModel
from numba.extending import intrinsic, register_model

INDEX = ir.IntType(32)
# The widest vector of the machine, in doubles. It affects only speed: every lane is a separate sum.
WIDEST = 8 if get_host_cpu_features().get("avx512f", False) else 4


def llvm_function(prefer_literal: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Return numba's decorator for functions that write their own LLVM code, with a type."""
    decorate: Callable[[Callable[..., Any]], Any] = intrinsic(prefer_literal=prefer_literal)
    return decorate


class Lanes(types.Type):  # type: ignore[misc]
    """The numba type of a run of `width` doubles, or of a block of `height` such runs."""

    def __init__(self, width: int, height: int = 0):
        self.width, self.height = width, height
        super().__init__(name=f"Lanes({width}, {height})")

    @property
    def pieces(self) -> list[int]:
        """The widths of its vectors: LLVM generates good code for powers of two only."""
        if self.height:
            return [WIDEST] * (self.height * self.width // WIDEST)
        return [4] * (self.width // 4) + [piece for piece in (2, 1) if self.width & piece]

    def write_zeros(self, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(context.get_value_type(self), None)


@register_model(Lanes)
class LanesModel(PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, run: Lanes):
        super().__init__(manager, run, ir.LiteralStructType([vector(width) for width in run.pieces]))


def vector(width: int) -> Any:
    return ir.VectorType(ir.DoubleType(), width)


def assemble(context: Any, builder: Any, run: Lanes, pieces: list[Any]) -> Any:
    value = ir.Constant(context.get_value_type(run), ir.Undefined)
    for k, piece in enumerate(pieces):
        value = builder.insert_value(value, piece, k)
    return value


def addresses(
    context: Any, builder: Any, run: Lanes, array: tuple[Any, Any], index: tuple[Any, Any]
) -> list[Any]:
    (array_type, array_value), (index_type, index_value) = array, index
    fields = context.make_array(array_type)(context, builder, array_value)
    indices = [
        context.cast(builder, value, kind, types.intp)
        for value, kind in zip(cgutils.unpack_tuple(builder, index_value), index_type, strict=True)
    ]
    shape, strides = (cgutils.unpack_tuple(builder, field) for field in (fields.shape, fields.strides))
    first = cgutils.get_item_pointer2(context, builder, fields.data, shape, strides, "C", indices)
    offsets = accumulate(run.pieces, initial=0)
    # `offsets` has one element more than there are pieces: the end of the run.
    return [
        builder.bitcast(builder.gep(first, [INDEX(offset)]), vector(width).as_pointer())
        for offset, width in zip(offsets, run.pieces, strict=False)
    ]


@llvm_function(prefer_literal=True)
def zeros(typing: Any, width: Any) -> Any:
    run = Lanes(width.literal_value)
    return run(width), run.write_zeros


@llvm_function(prefer_literal=True)
def empty_block(typing: Any, height: Any, width: Any) -> Any:
    block = Lanes(width.literal_value, height.literal_value)
    return block(height, width), block.write_zeros


@llvm_function()
def load(typing: Any, like: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where = addresses(context, builder, like, (array, arguments[1]), (index, arguments[2]))
        # A run may start at any double, so only the alignment of one can be promised.
        return assemble(context, builder, like, [builder.load(address, align=8) for address in where])

    return like(like, array, index), generate


@llvm_function()
def store(typing: Any, run: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where = addresses(context, builder, run, (array, arguments[1]), (index, arguments[2]))
        for k, address in enumerate(where):
            builder.store(builder.extract_value(arguments[0], k), address, align=8)
        return context.get_dummy_value()

    return types.none(run, array, index), generate


def lane_by_lane(operation: Callable[[Any, Any, Any], Any]) -> Any:
    """Return the function that applies an operation of LLVM's builder to two runs."""

    def combine(typing: Any, left: Any, right: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pairs = [[builder.extract_value(run, k) for run in arguments] for k in range(len(left.pieces))]
            return assemble(context, builder, left, [operation(builder, *pair) for pair in pairs])

        return left(left, right), generate

    return llvm_function()(combine)


add = lane_by_lane(ir.IRBuilder.fadd)
subtract = lane_by_lane(ir.IRBuilder.fsub)
multiply = lane_by_lane(ir.IRBuilder.fmul)
divide = lane_by_lane(ir.IRBuilder.fdiv)
# The right one where neither is larger, so NaN on the left is ignored.
larger = lane_by_lane(
    lambda builder, left, right: builder.select(builder.fcmp_ordered(">", left, right), left, right)
)


@llvm_function()
def spread(typing: Any, like: Any, number: Any) -> Any:
    """Return a run as wide as `like` with the same number in every lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return assemble(context, builder, like, [splat(builder, arguments[1], k) for k in like.pieces])

    return like(like, float64), generate


def splat(builder: Any, number: Any, width: int) -> Any:
    nothing = ir.Constant(vector(width), ir.Undefined)
    first = builder.insert_element(nothing, number, INDEX(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(INDEX, width), [0] * width))


@llvm_function()
def four(typing: Any, run: Any) -> Any:
    lanes = types.UniTuple(float64, 4)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = builder.extract_value(arguments[0], 0)
        return context.make_tuple(
            builder, lanes, [builder.extract_element(values, INDEX(k)) for k in range(4)]
        )

    return lanes(run), generate


@llvm_function()
def pack_four(typing: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    run = Lanes(4)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = ir.Constant(vector(4), ir.Undefined)
        for k, number in enumerate(arguments):
            values = builder.insert_element(values, number, INDEX(k))
        return assemble(context, builder, run, [values])

    return run(float64, float64, float64, float64), generate


@llvm_function()
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Start loading the cache line of an entry that will be read soon, without waiting for it."""
    byte_pointer = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte_pointer, INDEX, INDEX, INDEX])

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        [address] = addresses(context, builder, Lanes(1), (array, arguments[0]), (index, arguments[1]))
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        # For reading (0), into the second-level cache (2), data rather than code (1). On large data in a
        # random order this was faster than asking the first level, which the round itself needs.
        builder.call(ask, [builder.bitcast(address, byte_pointer), INDEX(0), INDEX(2), INDEX(1)])
        return context.get_dummy_value()

    return types.none(array, index), generate


def entry_address(context: Any, builder: Any, array: tuple[Any, Any], index: tuple[Any, Any]) -> Any:
    [address] = addresses(context, builder, Lanes(1), array, index)
    return builder.bitcast(address, ir.DoubleType().as_pointer())


@llvm_function()
def add_products(typing: Any, block: Any, left: Any, i: Any, right: Any, j: Any) -> Any:
    """Add to row r of a block: the entry of `left` r places after index i, times the run of `right` at j."""
    across = block.width // WIDEST

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = arguments[0]
        factor = entry_address(context, builder, (left, arguments[1]), (i, arguments[2]))
        wide = row_addresses(context, builder, (right, arguments[3]), (j, arguments[4]), 1, across)
        runs = [builder.load(address, align=8) for address in wide]
        for r in range(block.height):
            number = splat(builder, builder.load(builder.gep(factor, [INDEX(r)]), align=8), WIDEST)
            for k in range(across):
                place = r * across + k
                total = builder.fadd(builder.extract_value(value, place), builder.fmul(number, runs[k]))
                value = builder.insert_value(value, total, place)
        return value

    return block(block, left, i, right, j), generate


def row_addresses(
    context: Any, builder: Any, matrix: tuple[Any, Any], index: Any, height: int, across: int = 1
) -> list[Any]:
    """Return the addresses of the vectors of a block at (i, j) of a matrix, row by row."""
    matrix_type, matrix_value = matrix
    fields = context.make_array(matrix_type)(context, builder, matrix_value)
    stride = cgutils.unpack_tuple(builder, fields.strides)[0]
    step = builder.lshr(stride, ir.IntType(64)(3))
    first = entry_address(context, builder, matrix, index)
    rows = [builder.gep(first, [builder.mul(step, ir.IntType(64)(r))]) for r in range(height)]
    starts = [builder.gep(row, [INDEX(WIDEST * k)]) for row in rows for k in range(across)]
    return [builder.bitcast(start, vector(WIDEST).as_pointer()) for start in starts]


def transpose(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of WIDEST vectors: in step s, entries swap if s separates their row and column."""
    rows = list(rows)
    for s in (1, 2, 4)[: WIDEST.bit_length() - 1]:
        low = [c if not c & s else WIDEST + c - s for c in range(WIDEST)]
        high = [c + s if not c & s else WIDEST + c for c in range(WIDEST)]
        masks = [ir.Constant(ir.VectorType(INDEX, WIDEST), mask) for mask in (low, high)]
        for r in range(WIDEST):
            if not r & s:
                pair = rows[r], rows[r + s]
                rows[r], rows[r + s] = (builder.shuffle_vector(*pair, mask) for mask in masks)
    return rows


@llvm_function()
def write_block(typing: Any, block: Any, matrix: Any, index: Any) -> Any:
    """Write a block as wide as a vector to a matrix, its first entry at `index`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = (index, arguments[2])
        where = row_addresses(context, builder, (matrix, arguments[1]), place, block.height)
        for r, address in enumerate(where):
            builder.store(builder.extract_value(arguments[0], r), address, align=8)
        return context.get_dummy_value()

    return types.none(block, matrix, index), generate


@llvm_function()
def subtract_block(typing: Any, block: Any, matrix: Any, index: Any) -> Any:
    return types.none(block, matrix, index), _subtract(block, matrix, index, mirrored=False)


@llvm_function()
def subtract_mirrored(typing: Any, block: Any, matrix: Any, index: Any) -> Any:
    """Subtract a block as wide as a vector from a symmetric matrix at (i, j), and write it at (j, i) too."""
    return types.none(block, matrix, index), _subtract(block, matrix, index, mirrored=True)


def _subtract(block: Any, matrix: Any, index: Any, mirrored: bool) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, place = (matrix, arguments[1]), (index, arguments[2])
        rows = []
        where = row_addresses(context, builder, array, place, block.height, block.width // WIDEST)
        for r, address in enumerate(where):
            old = builder.load(address, align=8)
            rows.append(builder.fsub(old, builder.extract_value(arguments[0], r)))
            builder.store(rows[r], address, align=8)
        if not mirrored:
            return context.get_dummy_value()
        i, j = cgutils.unpack_tuple(builder, arguments[2])
        for first in range(0, block.height, WIDEST):
            swapped = context.make_tuple(builder, index, [j, builder.add(i, i.type(first))])
            where = row_addresses(context, builder, array, (index, swapped), WIDEST)
            for column, address in zip(transpose(builder, rows[first : first + WIDEST]), where, strict=True):
                builder.store(column, address, align=8)
        return context.get_dummy_value()

    return generate
