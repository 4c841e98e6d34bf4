"""How a record lies in memory: one packed NumPy dtype for each record class, and the way there and back.

A record class is a slotted dataclass of integers, flags, records and lists of fixed length (see
`zombieproof.model.fields`). An integer is one signed byte unless its field says otherwise, and so is a flag, which is 0
or 1 there. Nothing is aligned, and only the outermost record is padded (with zeros, to a multiple of eight bytes, or of
64 where it is long) so that it can be copied, compared and hashed word by word.

A model may need other sizes than the class declares, e.g. longer logs: `Sizes` maps (record class, field name) to a
length, a width, or both, and has to be given to every function that is to agree with it.
"""

from __future__ import annotations

import dataclasses
import functools
import struct
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

import numpy as np

from zombieproof.checker.engine.field_by_field import Functions
from zombieproof.model.fields import WIDTHS

Record = TypeVar("Record")
Size = int | str | tuple[int, str]
Sizes = Mapping[tuple[type, str], Size]

WORD_BYTES: Final = 8
LINE_BYTES: Final = 64
"""A line of the processor's caches."""
LONG_BYTES: Final = 512
"""A record of more begins with a line and ends with one, so that of its vectors of 64 bytes none lies in two."""
_CODES: Final = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q"}


class LayoutError(TypeError):
    """A class that cannot be laid out as a record, or an object that does not fit its layout.

    `record` and `field` say which, where one is at fault.
    """

    def __init__(self, message: str, record: type | None = None, field: str = "") -> None:
        super().__init__(message)
        self.record, self.field = record, field


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """One field of a record: `length` is None for a single element; `element` is a width or the layout of a record.

    `is_flag`: an integer that is 0 or 1, and a bool wherever it is not packed.
    """

    name: str
    length: int | None
    element: str | Layout
    is_flag: bool = False


class Layout:
    """The layout of a record class under `sizes`.

    Attributes: `record` the class; `members` its fields; `dtype` packed; `padded` the same fields, itemsize a
    multiple of eight. Raises LayoutError where the class is not a record.
    """

    def __init__(self, record: type, sizes: Sizes | None = None) -> None:
        self.record = record
        self.members = tuple(_members(record, sizes or {}))
        self.dtype = np.dtype([_described(member) for member in self.members])
        self.padded = _padded(self.dtype)
        self._struct = struct.Struct("<" + self.codes())

    def codes(self) -> str:
        """Return the leaves in order, as the characters of the module struct."""
        return "".join(
            (_CODES[m.element] if isinstance(m.element, str) else m.element.codes())
            * (1 if m.length is None else m.length)
            for m in self.members
        )

    def widths(self) -> list[int]:
        """Return how many bytes each leaf takes, in the order of `paths`."""
        return [struct.calcsize(f"<{code}") for code in self.codes()]

    def paths(self, prefix: str = "") -> Iterator[str]:
        """Yield the path of every leaf in order, e.g. `partitions[1].log[3].producer_epoch`."""
        for member in self.members:
            indices = [""] if member.length is None else [f"[{i}]" for i in range(member.length)]
            for index in indices:
                path = f"{prefix}{member.name}{index}"
                if isinstance(member.element, str):
                    yield path
                else:
                    yield from member.element.paths(f"{path}.")

    def leaves(self, obj: object) -> list[int]:
        """Return the integers of `obj` in the order of `paths`; raises LayoutError for a list of another length."""
        found: list[int] = []
        self.functions.collect(obj, found)
        return found

    def pack(self, obj: object) -> bytes:
        """Return the bytes of `obj`, padded. Raises LayoutError naming the first leaf that does not fit its width."""
        leaves = self.leaves(obj)
        try:
            packed = self._struct.pack(*leaves)
        except struct.error:
            for code, path, leaf in zip(self.codes(), self.paths(), leaves, strict=True):
                try:
                    struct.pack(f"<{code}", leaf)
                except struct.error as error:
                    raise LayoutError(
                        f"{self.record.__name__}.{path} is {leaf!r}; {error}; declare the field with a greater width",
                        self.record,
                        path.partition("[")[0].partition(".")[0],
                    ) from None
            raise
        return packed.ljust(self.padded.itemsize, b"\0")

    def unpack(self, packed: bytes) -> Any:
        """Return a new object of the class from its bytes; padding is ignored."""
        return self.build(self._struct.unpack(packed[: self._struct.size]))

    def build(self, leaves: Sequence[int]) -> Any:
        """Return a new object of the class from its leaves."""
        return self.functions.build(leaves, 0)

    def copy(self, obj: object) -> Any:
        """Return another object of the class with the same leaves; lists may have another length than here."""
        return self.functions.copy(obj)

    @functools.cached_property
    def functions(self) -> Functions:
        """What is done with its objects."""
        return Functions(self, self._refuse_length)

    def _refuse_length(self, member: Member, length: int) -> NoReturn:
        raise LayoutError(
            f"{self.record.__name__}.{member.name} has {length} elements; its layout has {member.length}",
            self.record,
            member.name,
        )

    def is_same(self, one: object, other: object) -> bool:
        """Whether two objects have the same leaves; nothing is said of lists that have not their length."""
        return self.functions.is_same(one, other)

    def new(self) -> Any:
        """Return a new object with the defaults of its class and the lengths of this layout."""
        obj = self.record()
        for member in self.members:
            element = member.element
            if member.length is not None and isinstance(element, str):
                object.__setattr__(obj, member.name, [False if member.is_flag else 0] * member.length)
            elif member.length is not None and isinstance(element, Layout):
                object.__setattr__(obj, member.name, [element.new() for _ in range(member.length)])
            elif isinstance(element, Layout):
                object.__setattr__(obj, member.name, element.new())
        return obj


def layout_of(record: type, sizes: Sizes | None = None) -> Layout:
    """Return the layout of `record`, the same object each time."""
    return _layout_of(record, frozenset((sizes or {}).items()))


@functools.cache
def _layout_of(record: type, sizes: frozenset[tuple[tuple[type, str], Size]]) -> Layout:
    return Layout(record, dict(sizes))


def dtype_of(record: type, sizes: Sizes | None = None) -> np.dtype[np.void]:
    """Return the dtype of a record: packed fields, itemsize padded to a multiple of eight, or of `LINE_BYTES`."""
    return layout_of(record, sizes).padded


def to_record(obj: object, element: Any, sizes: Sizes | None = None) -> None:
    """Write `obj` into an element of a record array, as in `to_record(state, states[0])`; padding becomes zero."""
    packed = layout_of(type(obj), sizes).pack(obj)
    np.asarray(element).reshape(1).view(np.uint8)[:] = np.frombuffer(packed, np.uint8)


def to_object(record: type[Record], element: Any, sizes: Sizes | None = None) -> Record:
    """Return a new object of class `record` with the values of an element of a record array."""
    obj: Record = layout_of(record, sizes).unpack(np.asarray(element).tobytes())
    return obj


def is_record(cls: Any) -> bool:
    """Whether a class is a record class."""
    return isinstance(cls, type) and dataclasses.is_dataclass(cls)


def _members(record: type, sizes: Sizes) -> Iterator[Member]:
    if not is_record(record):
        raise LayoutError(
            f"{record.__name__} is not a dataclass; a record is a slotted dataclass of integers and records", record
        )
    for field in dataclasses.fields(record):
        length: int | None = field.metadata.get("length")
        width: str = field.metadata.get("width", "i1")
        of = class_of(record, field)
        size = sizes.get((record, field.name), ())
        for part in size if isinstance(size, tuple) else (size,):
            if isinstance(part, int) and length is not None:
                length = part
            elif part in WIDTHS and not is_record(of):
                width = str(part)
            else:
                raise LayoutError(
                    f"size {part!r} does not fit {record.__name__}.{field.name}: a list takes a length, ints a width"
                )
        yield Member(field.name, length, layout_of(of, sizes) if is_record(of) else width, is_flag=of is bool)


def class_of(record: type, field: dataclasses.Field[Any]) -> type:
    """Return the record class of a field's elements, or int, or bool."""
    of: Any = field.metadata.get("of")
    factory: Any = field.default_factory
    if of is None and isinstance(factory, type):
        of = factory
    if of is None and isinstance(field.default, int):
        of = bool if isinstance(field.default, bool) else int
    if of is None:
        of = typing.get_type_hints(record).get(field.name)
    if isinstance(of, type) and (issubclass(of, int) or is_record(of)):
        return of
    raise LayoutError(
        f"{record.__name__}.{field.name} is neither an integer nor a record nor array(of, length): {field.type}",
        record,
        field.name,
    )


def _described(member: Member) -> tuple[Any, ...]:
    element = member.element if isinstance(member.element, str) else member.element.dtype
    return (member.name, element) if member.length is None else (member.name, element, (member.length,))


def _padded(dtype: np.dtype[np.void]) -> np.dtype[np.void]:
    names = list(dtype.names or ())
    fields: Any = dtype.fields
    unit = LINE_BYTES if dtype.itemsize > LONG_BYTES else WORD_BYTES
    return np.dtype(
        {
            "names": names,
            "formats": [fields[name][0] for name in names],
            "offsets": [fields[name][1] for name in names],
            "itemsize": -(-dtype.itemsize // unit) * unit,
        }
    )
