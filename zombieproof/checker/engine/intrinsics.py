"""The few things that Python cannot say and LLVM can: prefetch, arithmetic of 128 bits, eight words compared at once.

Vectors are LLVM's, of no machine in particular: it makes of them what the machine has, AVX-512, AVX2, NEON or SSE2.
"""

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
def add_weighed(typingctx: Any, low: Any, high: Any, new: Any, old: Any, key_low: Any, key_high: Any) -> Any:
    """Return `sum + (new - old) * key` modulo 2**128 as its low and its high half; all arguments are uint64."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = [builder.zext(argument, I128) for argument in arguments]
        halves = [builder.or_(wide[i], builder.shl(wide[i + 1], I128(64))) for i in (0, 4)]
        change = builder.sub(wide[2], wide[3])
        total = builder.add(halves[0], builder.mul(change, halves[1]))
        parts = builder.trunc(total, I64), builder.trunc(builder.lshr(total, I128(64)), I64)
        return context.make_tuple(builder, signature.return_type, parts)

    return types.UniTuple(types.uint64, 2)(low, high, new, old, key_low, key_high), codegen


def _place_of(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [place])


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def take_next(typingctx: Any, array: Any, place: Any) -> Any:
    """Add 1 to an int64 that several threads count with, and return what it was."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _place_of(context, builder, signature.args[0], *arguments)
        return builder.atomic_rmw("add", pointer, I64(1), "acq_rel")

    return types.int64(array, types.int64), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def load_shared(typingctx: Any, array: Any, place: Any) -> Any:
    """Return an int64 that another thread may write, and see all that it wrote before (acquire)."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_place_of(context, builder, signature.args[0], *arguments), "acquire", 8)

    return types.int64(array, types.int64), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def store_shared(typingctx: Any, array: Any, place: Any, value: Any) -> Any:
    """Write an int64 for other threads; who sees it sees all that was written before (release)."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _place_of(context, builder, signature.args[0], *arguments[:2])
        builder.store_atomic(arguments[2], pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def trailing_zeros(typingctx: Any, word: Any) -> Any:
    """Return how many zeros a uint64 that is not 0 ends with."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(word), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def leading_zeros(typingctx: Any, word: Any) -> Any:
    """Return how many zeros a uint64 that is not 0 begins with."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(word), codegen


def _of_bytes(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    """A pointer to eight bytes of an array of bytes, as a word."""
    view = context.make_array(kind)(context, builder, array)
    return builder.bitcast(builder.gep(view.data, [place]), I64.as_pointer())


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def load_word(typingctx: Any, array: Any, place: Any) -> Any:
    """Return eight bytes of an array of bytes from any place on as a uint64, as the machine orders them."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_of_bytes(context, builder, signature.args[0], *arguments), align=1)

    return types.uint64(array, types.int64), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def store_word(typingctx: Any, array: Any, place: Any, word: Any) -> Any:
    """Write a uint64 over eight bytes of an array of bytes from any place on, as the machine orders them."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, place, word = arguments
        builder.store(word, _of_bytes(context, builder, signature.args[0], array, place), align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), codegen


def _differing(builder: Any, starts: Any, count: int) -> Any:
    """A bit for each of the first `count` words, up to 64, behind two places: whether they differ there."""
    found: Any = I64(0)
    done = 0
    while done < count:
        size = next(size for size in (8, 4, 2, 1) if done + size <= count)
        kind = ir.VectorType(I64, size).as_pointer()
        one, two = (builder.load(builder.bitcast(builder.gep(start, [I64(done)]), kind), align=8) for start in starts)
        bits = builder.bitcast(builder.icmp_unsigned("!=", one, two), ir.IntType(size))
        found = builder.or_(found, builder.shl(builder.zext(bits, I64), I64(done)))
        done += size
    return found


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def note_changes(  # three rows
    typingctx: Any, changes: Any, place: Any, words: Any, row: Any, others: Any, other: Any, count: Any
) -> Any:
    """Write into `changes[place]` which words of two rows differ: bit i % 64 of element i // 64 for word i.

    Rows of `words` and `others` have `count` words, a literal, and rows of `changes` a bit for each.
    """
    del typingctx
    if not isinstance(count, types.IntegerLiteral):
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        width = count.literal_value
        parts = -(-width // 64)
        starts = []
        for array, index, stride in ((2, 3, width), (4, 5, width), (0, 1, parts)):
            view = context.make_array(signature.args[array])(context, builder, arguments[array])
            starts.append(builder.gep(view.data, [builder.mul(arguments[index], I64(stride))]))
        for part in range(parts):
            rows = [builder.gep(start, [I64(64 * part)]) for start in starts[:2]]
            found = _differing(builder, rows, min(width - 64 * part, 64))
            builder.store(found, builder.gep(starts[2], [I64(part)]))
        return context.get_dummy_value()

    return types.void(changes, types.int64, words, types.int64, others, types.int64, count), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def look_up(typingctx: Any, table: Any, row: Any, bucket: Any, mark: Any) -> Any:
    """Compare a uint64 with the eight of a bucket, `table[row, bucket : bucket + 8]`, at once.

    Return two masks, in the low byte of an int64 which are equal to it, in the next byte which are 0.
    """
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        width = cgutils.unpack_tuple(builder, view.shape, 2)[1]
        place = builder.add(builder.mul(arguments[1], width), arguments[2])
        kind = ir.VectorType(I64, 8)
        held = builder.load(builder.bitcast(builder.gep(view.data, [place]), kind.as_pointer()), align=8)
        wanted: Any = ir.Constant(kind, ir.Undefined)
        for lane in range(8):
            wanted = builder.insert_element(wanted, arguments[3], I32(lane))
        equal = builder.icmp_unsigned("==", held, wanted)
        free = builder.icmp_unsigned("==", held, ir.Constant(kind, [0] * 8))
        masks = [builder.zext(builder.bitcast(each, I8), I64) for each in (equal, free)]
        return builder.or_(masks[0], builder.shl(masks[1], I64(8)))

    return types.int64(table, types.uint64, types.uint64, types.uint64), codegen


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def word_of(typingctx: Any, array: Any, row: Any, word: Any, words: Any) -> Any:
    """Return `array[row, word]` of a C-contiguous array of uint64 with `words` columns, a literal; none is negative."""
    del typingctx
    if not isinstance(words, types.IntegerLiteral):
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.add(builder.mul(arguments[1], I64(words.literal_value)), arguments[2])
        return builder.load(builder.gep(view.data, [place]), align=8)

    return types.uint64(array, types.int64, types.int64, words), codegen


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


def _pieces(size: int) -> list[tuple[int, int]]:
    """First byte and size of what a record of so many bytes is read by: words, the last of which may overlap."""
    if size >= 8:
        return [(first, 8) for first in sorted({*range(0, size - 7, 8), size - 8})]
    found, first = [], 0
    while first < size:
        piece = next(each for each in (4, 2, 1) if first + each <= size)
        found.append((first, piece))
        first += piece
    return found


def _in_pieces(builder: Any, signature: Any, records: Any) -> list[tuple[Any, Any]]:
    """The pieces of two records of one kind side by side: pointers to the one's and to the other's."""
    pairs = []
    for first, count in _pieces(signature.args[0].size):
        kind = ir.IntType(8 * count).as_pointer()
        starts = (builder.bitcast(record, I8.as_pointer()) for record in records)
        pairs.append(tuple(builder.bitcast(builder.gep(start, [I64(first)]), kind) for start in starts))
    return pairs


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def precedes(typingctx: Any, one: Any, other: Any) -> Any:
    """Whether a record of signed bytes stands before another of its kind, byte by byte."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context
        found: Any = ir.Constant(ir.IntType(1), 0)
        for places in reversed(_in_pieces(builder, signature, arguments)):
            pieces = [builder.load(place, align=1) for place in places]
            # A byte with a sign is in the order of bytes without, when that bit is the other way round.
            count = pieces[0].type.width // 8
            flipped = pieces[0].type(int.from_bytes(b"\x80" * count, "little"))
            keys = [builder.xor(piece, flipped) for piece in pieces]
            if count > 1:
                keys = [builder.bswap(key) for key in keys]
            less = builder.icmp_unsigned("<", *keys)
            found = builder.select(builder.icmp_unsigned("==", *keys), found, less)
        return found

    return (types.boolean(one, other), codegen) if _are_alike(one, other) else None


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def is_same(typingctx: Any, one: Any, other: Any) -> Any:
    """Whether two records of one kind hold the same."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context
        differing: Any = I64(0)
        for places in _in_pieces(builder, signature, arguments):
            bits = builder.xor(*(builder.load(place, align=1) for place in places))
            differing = builder.or_(differing, builder.zext(bits, I64))
        return builder.icmp_unsigned("==", differing, I64(0))

    return (types.boolean(one, other), codegen) if _are_alike(one, other) else None


@intrinsic  # type: ignore[misc, unused-ignore]  # untyped decorator
def exchange(typingctx: Any, one: Any, other: Any) -> Any:
    """Exchange what two records of one kind hold."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # All is read before anything is written: the last piece may overlap the one before.
        pairs = _in_pieces(builder, signature, arguments)
        held = [[builder.load(place, align=1) for place in places] for places in pairs]
        for (mine, others), (my_content, others_content) in zip(pairs, held, strict=True):
            builder.store(others_content, mine, align=1)
            builder.store(my_content, others, align=1)
        return context.get_dummy_value()

    return (types.void(one, other), codegen) if _are_alike(one, other) else None


def _are_alike(one: Any, other: Any) -> bool:
    return isinstance(one, types.Record) and one == other
