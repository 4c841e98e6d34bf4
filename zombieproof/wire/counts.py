"""The bytes of a request, walked once before anybody believes them: counts, and tags that nobody knows.

A number of a few bytes may say that billions of elements follow, and whoever makes room for them first has none left:
counts are compared with the bytes behind them. A client that is newer than we are may send tags that we do not know;
they are to be ignored (KIP-482), and kio does not: they are cut out. Nothing is made of the bytes here.
"""

from collections.abc import Callable
from dataclasses import Field, fields
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from zombieproof.formats.primitives import write_uvarint
from zombieproof.model.vocabulary import NONE
from zombieproof.wire.faults import Malformed

Cuts = list[tuple[int, int, bytes]]
"""Pieces of the bytes, and what stands there instead."""

Walk = Callable[[bytes, int, Cuts], int]
"""Walks over a field at a byte, and says where it ends; notes what has to be cut out."""

SIZES = {
    "int8": 1,
    "bool": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "timedelta_i32": 4,
    "int64": 8,
    "timedelta_i64": 8,
    "float64": 8,
    "uuid": 16,
}
"""How many bytes a value has, by the name of its type; all others have their length before them."""

LENGTHS = {"string": 2, "bytes": 4, "records": 4}
COUNT = 4
MOST_ELEMENTS, MOST_TAGS = 1_000_000, 10_000
"""What Kafka reads of an array, and of tagged fields, since 4.4; brokers of older releases refuse more here, too."""
MOST_OF_A_VARINT = 35


def checked(kind: Any, data: bytes, at: int) -> bytes:
    """The bytes of the message at byte `at`, without tags that its schema does not know.

    Raises:
        Malformed: an array says that it has more elements than can follow, or the message is cut short.
    """
    cuts: Cuts = []
    try:
        _entity(kind)(data, at, cuts)
    except IndexError:
        raise Malformed(f"{kind.__name__}: is cut short") from None
    if not cuts:
        return data[at:] if at else data
    kept = list[bytes]()
    for begin, end, instead in cuts:
        kept += (data[at:begin], instead)
        at = end
    return b"".join((*kept, data[at:]))


def array_of(hint: Any) -> Any:
    """What an array has; None: it is none."""
    if get_origin(hint) is tuple:
        return get_args(hint)[0]
    return next((found for found in map(array_of, get_args(hint)) if found is not None), None)


def struct_in(hint: Any) -> Any:
    """The class of the structure that a field holds, alone or in an array; None: it holds values."""
    if hasattr(hint, "__dataclass_fields__"):
        return hint
    return next((each for each in get_args(hint) if hasattr(each, "__dataclass_fields__")), None)


@cache
def _entity(kind: Any) -> Walk:
    hints, is_flexible = get_type_hints(kind), bool(kind.__flexible__)
    walks = [_field(each, hints[each.name], is_flexible) for each in fields(kind) if "tag" not in each.metadata]
    known = frozenset(each.metadata["tag"] for each in fields(kind) if "tag" in each.metadata)

    def walk(data: bytes, at: int, cuts: Cuts) -> int:
        for each in walks:
            at = each(data, at, cuts)
        return at if not is_flexible else at + 1 if data[at] == 0 else _tags(data, at, known, cuts)

    return walk


def _field(field: Field[Any], hint: Any, is_flexible: bool) -> Walk:
    element, struct = array_of(hint), struct_in(hint)
    if element is not None:
        inner = struct_in(element)
        of = _value(field.metadata["kafka_type"], is_flexible) if inner is None else _entity(inner)
        least = SIZES.get(field.metadata.get("kafka_type", ""), 1) if inner is None else _least(inner)
        may_be_null = type(None) in get_args(hint)
        return _array(field.name, of, least, is_flexible, may_be_null)
    if struct is not None:
        return _nullable(_entity(struct)) if type(None) in get_args(hint) else _entity(struct)
    return _value(field.metadata["kafka_type"], is_flexible)


@cache
def _least(kind: Any) -> int:
    """So many bytes an entity has at least."""
    hints = get_type_hints(kind)
    single = [each for each in fields(kind) if "tag" not in each.metadata and array_of(hints[each.name]) is None]
    return max(1, sum(SIZES.get(each.metadata.get("kafka_type", ""), 1) for each in single))


def _value(kafka_type: str, is_flexible: bool) -> Walk:
    size = SIZES.get(kafka_type)
    if size is not None:
        return lambda data, at, _: _within(data, at + size)
    length = LENGTHS[kafka_type]

    def walk(data: bytes, at: int, cuts: Cuts) -> int:
        if is_flexible:
            of_it, at = _uvarint(data, at)
            return _within(data, at + max(of_it - 1, 0))
        of_it = int.from_bytes(data[at : _within(data, at + length)], "big", signed=True)
        return _within(data, at + length + max(of_it, 0))

    return walk


def _array(name: str, element: Walk, least: int, is_flexible: bool, may_be_null: bool) -> Walk:
    def walk(data: bytes, at: int, cuts: Cuts) -> int:
        if is_flexible:
            count, at = _uvarint(data, at)
            count -= 1
        else:
            count, at = int.from_bytes(data[at : _within(data, at + COUNT)], "big", signed=True), at + COUNT
        if count * least > len(data) - at:
            raise Malformed(f"{name} says that it has {count} elements, where {len(data) - at} bytes follow")
        if count > MOST_ELEMENTS:
            raise Malformed(f"{name} has {count} elements; legal are up to {MOST_ELEMENTS:,}")
        if count < 0 and not (may_be_null and count == NONE):
            raise Malformed(f"{name} may not be null")
        for _ in range(count):
            at = element(data, at, cuts)
        return at

    return walk


def _nullable(of: Walk) -> Walk:
    return lambda data, at, cuts: at + 1 if data[at] & 0x80 else of(data, at + 1, cuts)


def _tags(data: bytes, at: int, known: frozenset[int], cuts: Cuts) -> int:
    begin, kept = at, list[bytes]()
    count, at = _uvarint(data, at)
    if count > MOST_TAGS:
        raise Malformed(f"{count} tagged fields; legal are up to {MOST_TAGS:,}")
    for _ in range(count):
        since = at
        tag, at = _uvarint(data, at)
        size, at = _uvarint(data, at)
        at = _within(data, at + size)
        if tag in known:
            kept.append(data[since:at])
    if len(kept) != count:
        cuts.append((begin, at, b"".join((write_uvarint(len(kept)), *kept))))
    return at


def _within(data: bytes, at: int) -> int:
    if at > len(data):
        raise IndexError(at)
    return at


def _uvarint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at]
    if value < 0x80:  # the highest bit says that another byte follows
        return value, at + 1
    value &= 0x7F
    for shift in range(7, MOST_OF_A_VARINT, 7):
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
    raise Malformed("a number without an end")
