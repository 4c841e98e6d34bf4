"""The few things that Python cannot say and LLVM can: prefetch, wide product, replacement of a tuple's field."""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

I8: Final = ir.IntType(8)
I32: Final = ir.IntType(32)
I64: Final = ir.IntType(64)
I128: Final = ir.IntType(128)


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def prefetch(typingctx: Any, array: Any, row: Any, column: Any) -> Any:
    """Ask for the cache line of `array[row, column]` of a C-contiguous array of two dimensions, to be written."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        width = cgutils.unpack_tuple(builder, view.shape, 2)[1]
        place = builder.add(builder.mul(arguments[1], width), arguments[2])
        pointer = builder.bitcast(builder.gep(view.data, [place]), I8.as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I32, I32, I32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, I32(1), I32(1), I32(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def folded_product(typingctx: Any, left: Any, right: Any) -> Any:
    """Return the exclusive or of the two halves of the 128-bit product of two uint64."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        product = builder.mul(builder.zext(arguments[0], I128), builder.zext(arguments[1], I128))
        return builder.xor(builder.trunc(product, I64), builder.trunc(builder.lshr(product, I128(64)), I64))

    return types.uint64(left, right), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def replace(typingctx: Any, verdict: Any, name: Any, value: Any) -> Any:
    """Return a NamedTuple with the field `name` replaced; `name` is a literal."""
    del typingctx
    if not isinstance(name, types.StringLiteral) or not isinstance(verdict, types.BaseNamedTuple):
        return None
    if name.literal_value not in verdict.fields:
        raise TypingError(f"_replace: {name.literal_value} is no field; give one of {', '.join(verdict.fields)}")
    index = verdict.fields.index(name.literal_value)
    element = verdict.types[index]

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        new = context.cast(builder, arguments[2], signature.args[2], element)
        return builder.insert_value(arguments[0], new, index)

    return verdict(verdict, name, value), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def copy_words(typingctx: Any, target: Any, row: Any, source: Any, source_row: Any, words: Any) -> Any:
    """Copy one row of `words` words, a literal, between C-contiguous arrays of uint64 with that many columns.

    In vectors of eight words: a loop over words becomes a string instruction, which takes several times as long.
    """
    del typingctx
    if not isinstance(words, types.IntegerLiteral):
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        starts = []
        for array, index in ((0, 1), (2, 3)):
            view = context.make_array(signature.args[array])(context, builder, arguments[array])
            place = builder.mul(arguments[index], I64(words.literal_value))
            starts.append(builder.gep(view.data, [place]))
        done = 0
        while done < words.literal_value:
            count = next(size for size in (8, 4, 2, 1) if done + size <= words.literal_value)
            kind = ir.VectorType(I64, count).as_pointer()
            to, of = (builder.bitcast(builder.gep(start, [I64(done)]), kind) for start in starts)
            builder.store(builder.load(of, align=8), to, align=8)
            done += count
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64, words), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def clear_words(typingctx: Any, target: Any, row: Any, words: Any) -> Any:
    """Write zeros into one row of `words` words, a literal, of a C-contiguous array of uint64 with that many columns.

    In vectors, as `copy_words` does: it is done before every action that is tried.
    """
    del typingctx
    if not isinstance(words, types.IntegerLiteral):
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        start = builder.gep(view.data, [builder.mul(arguments[1], I64(words.literal_value))])
        done = 0
        while done < words.literal_value:
            count = next(size for size in (8, 4, 2, 1) if done + size <= words.literal_value)
            kind = ir.VectorType(I64, count)
            to = builder.bitcast(builder.gep(start, [I64(done)]), kind.as_pointer())
            builder.store(ir.Constant(kind, [0] * count), to, align=8)
            done += count
        return context.get_dummy_value()

    return types.void(target, types.int64, words), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def differing_words(typingctx: Any, one: Any, row: Any, other: Any, other_row: Any, first: Any, count: Any) -> Any:
    """Return a bit for each of `count` words from `first` on, up to eight and a literal: whether two rows differ there.

    The arrays are C-contiguous, of uint64.
    """
    del typingctx
    if not isinstance(count, types.IntegerLiteral):
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        starts = []
        for array, index in ((0, 1), (2, 3)):
            view = context.make_array(signature.args[array])(context, builder, arguments[array])
            width = cgutils.unpack_tuple(builder, view.shape, 2)[1]
            place = builder.add(builder.mul(arguments[index], width), arguments[4])
            starts.append(builder.gep(view.data, [place]))
        found: Any = I64(0)
        done = 0
        while done < count.literal_value:
            size = next(size for size in (8, 4, 2, 1) if done + size <= count.literal_value)
            kind = ir.VectorType(I64, size).as_pointer()
            left, right = (
                builder.load(builder.bitcast(builder.gep(start, [I64(done)]), kind), align=8) for start in starts
            )
            differ = builder.bitcast(builder.icmp_unsigned("!=", left, right), ir.IntType(size))
            found = builder.or_(found, builder.shl(builder.zext(differ, I64), I64(done)))
            done += size
        return found

    return types.int64(one, types.int64, other, types.int64, types.int64, count), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def lowest_bit(typingctx: Any, bits: Any) -> Any:
    """Return the number of the lowest bit that is set in a uint64, which is not 0."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen
