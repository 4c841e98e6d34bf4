"""How a record declares its fields, so that the same class is a live object and a packed record.

A record is a slotted dataclass whose fields are integers, flags, other records, and lists of fixed length:

    @dataclass(slots=True)
    class Batch:
        is_last: bool = False
        producer_epoch: int = 0
        base_offset: int = integer(width="i2")

    @dataclass(slots=True)
    class Log:
        end: int = 0
        batches: list[Batch] = array(Batch, 8)

`array` and `integer` only add metadata to a dataclass field: `length` and `of` for a list, `width` for an integer.
Two records of one class whose fields are all integers of one byte can be compared and exchanged as wholes (`precedes`,
`is_same`, `exchange`); compiled, that takes a few instructions.

The checker reads the metadata to lay records out in memory; an interpreted host sees ordinary attributes and lists.
An integer without a width takes one signed byte in the checker. Widths are "i1", "u1", "i2", "u2", "i4", "u4", "i8".
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any, Final, TypeVar

WIDTHS: Final = ("i1", "u1", "i2", "u2", "i4", "u4", "i8")

Element = TypeVar("Element")


def integer(default: int = 0, width: str = "i1") -> int:
    """Declare an integer field that takes `width` in the checker; raises ValueError for an unknown width."""
    field: Any = dataclasses.field(default=default, metadata={"width": _known(width)})
    return field  # type: ignore[no-any-return]  # the dataclass decorator replaces the field by its default


def array(of: type[Element], length: int, width: str = "i1") -> list[Element]:
    """Declare a list of exactly `length` elements of class `of`: a record class, or int with a `width`.

    The list of a new record holds `length` new elements, zeros for int. The list is never appended to nor
    shortened; its elements are changed in place. Raises ValueError for a negative length or an unknown width.
    """
    if length < 0:
        raise ValueError(f"array of {of.__name__}: length {length} is negative; give zero or more")
    field: Any = dataclasses.field(
        default_factory=lambda: [of() for _ in range(length)],
        metadata={"length": length, "of": of, "width": _known(width)},
    )
    return field  # type: ignore[no-any-return]  # the dataclass decorator replaces the field by its default factory


def precedes(one: Any, other: Any) -> bool:
    """Whether a record stands before another of its class: field by field, in the order in which they are declared."""
    return bool(_values(one) < _values(other))


def is_same(one: Any, other: Any) -> bool:
    """Whether all fields of two records of one class hold the same."""
    return bool(_values(one) == _values(other))


def exchange(one: Any, other: Any) -> None:
    """Have two records of one class change what all their fields hold."""
    for name in _names_of(one.__class__):
        mine = getattr(one, name)
        setattr(one, name, getattr(other, name))
        setattr(other, name, mine)


def _values(record: Any) -> Any:
    return _getter_of(record.__class__)(record)


@functools.cache
def _names_of(record: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(record))


@functools.cache
def _getter_of(record: Any) -> Callable[[Any], Any]:
    return operator.attrgetter(*_names_of(record))


def _known(width: str) -> str:
    if width not in WIDTHS:
        raise ValueError(f"width {width!r} is unknown; give one of {', '.join(WIDTHS)}")
    return width
