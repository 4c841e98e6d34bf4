"""How a message says what its fields are called in Kafka's schemas, and in which versions they exist.

A field is annotated with one `Wire`, `Rows` or `Pairs` for each name that it has had. A dot steps into an array: the
field stands in each of its rows ("Topics.Partitions.Timestamp"), of which there may be only one ("Groups.GroupId").
The fields of a record inside a message are those of its row. A field that is not Kafka's says why it is there
(`Ours`); `version` is what the header of a request says.
Source: ``clients/src/main/resources/common/message/*.json``.
"""

from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import Enum, auto
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

Message = TypeVar("Message")

EVER = 1 << 15
"""There is no such version: until then is until today."""


class Entity(Enum):
    """What a value names, so that whoever writes it down can give it another name."""

    VALUE = auto()
    TRANSACTIONAL_ID = auto()
    PRODUCER_ID = auto()
    PRODUCER_EPOCH = auto()
    COORDINATOR_EPOCH = auto()
    GROUP = auto()
    MEMBER = auto()
    PARTITION = auto()


@dataclass(frozen=True, slots=True)
class Wire:
    """Kafka's name of a field; "" where a record has no row of its own: its fields stand among those of its message."""

    name: str
    since: int = 0
    until: int = EVER
    entity: Entity = Entity.VALUE


@dataclass(frozen=True, slots=True)
class Rows(Wire):
    """Partitions, or something about each of them: an array of topics, and in each an array of partitions.

    Args:
        partitions: the inner array.
        index: the partition's number in its row; "" where the inner array is one of bare numbers.
        topic: the name of the topic in its row, up to `ids_since`: from there on it is ``TopicId``.
        values: what a row says beside the number, where that is no record.
    """

    partitions: str = "Partitions"
    index: str = "PartitionIndex"
    topic: str = "Name"
    values: tuple[str, ...] = ()
    ids_since: int = EVER
    entity: Entity = Entity.PARTITION


@dataclass(frozen=True, slots=True)
class Pairs(Wire):
    """Pairs: an array of rows with a `key` and a `value`."""

    key: str = "Name"
    value: str = "ErrorCode"


@dataclass(frozen=True, slots=True)
class Ours:
    """A field that Kafka's schema has not, and why it is here."""

    why: str


@dataclass(frozen=True, slots=True)
class FieldOfMessage:
    """One field: its name here, its type without annotations, Kafka's names, and whether it has a default."""

    name: str
    kind: Any
    wires: tuple[Wire, ...]
    ours: Ours | None

    @property
    def entity(self) -> Entity:
        """What its value names."""
        return self.wires[0].entity if self.wires else Entity.VALUE

    @property
    def since(self) -> int:
        """The first version that has it."""
        return min((wire.since for wire in self.wires), default=0)

    @property
    def until(self) -> int:
        """The last version that has it."""
        return max((wire.until for wire in self.wires), default=EVER)

    def wire(self, version: int) -> Wire | None:
        """What it is called in a version; None: that version does not have it, or Kafka's schema does not."""
        return next((wire for wire in self.wires if wire.since <= version <= wire.until), None)


class UndescribedField(TypeError):
    """A field of a message that neither says what it is called in Kafka's schema nor why it is not there."""


@cache
def fields_of(message: type) -> tuple[FieldOfMessage, ...]:
    """The fields of a message, or of a record inside one, but for the version.

    Raises:
        UndescribedField: a field does not say what it is.
    """
    hints = get_type_hints(message, include_extras=True)
    return tuple(_field(message, each.name, hints[each.name]) for each in fields(message) if each.name != "version")


def _field(message: type, name: str, hint: Any) -> FieldOfMessage:
    annotations = getattr(hint, "__metadata__", ())
    kind = get_args(hint)[0] if annotations else hint
    wires = tuple(each for each in annotations if isinstance(each, Wire))
    ours = next((each for each in annotations if isinstance(each, Ours)), None)
    if bool(wires) == (ours is not None):
        raise UndescribedField(
            f"{message.__name__}.{name}: says not what it is called in Kafka's schema; legal is an annotation with a "
            "Wire (or Rows, Pairs) for each name that it has had, or with Ours and the reason"
        )
    return FieldOfMessage(name, kind, wires, ours)


@cache
def _later_fields(message: type, version: int) -> tuple[tuple[str, Any], ...]:
    """The fields of a message that come with a later version, each with what stands for it there is none."""
    defaults = {each.name: each.default for each in fields(message) if each.default is not MISSING}
    later = [each.name for each in fields_of(message) if each.since > version and each.name in defaults]
    return tuple((name, defaults[name]) for name in later)


def in_version(message: Message, version: int) -> Message:
    """`message` as whoever speaks a version gets it: its own fields that come later say nothing.

    Fields of its rows stay: nobody is misled by more than his version has.
    """
    kind: type = type(message)
    later = _later_fields(kind, version)
    if all(getattr(message, name) == default for name, default in later):
        return message
    return cast("Message", replace(cast("Any", message), **dict(later)))


def is_record(kind: Any) -> bool:
    """Whether a type is a record with fields of Kafka's schema; batches are bytes there."""
    if not (isinstance(kind, type) and is_dataclass(kind)):
        return False
    hints = get_type_hints(kind, include_extras=True)
    return any(hasattr(hint, "__metadata__") for hint in hints.values())


def without_none(kind: Any) -> Any:
    """A type without its alternative None."""
    if get_origin(kind) in (UnionType, Union):
        return next(each for each in get_args(kind) if each is not type(None))
    return kind


def record_in(kind: Any) -> type | None:
    """The record that a type is, or holds many of (``tuple[Record, ...]``, ``dict[TopicPartition, Record]``)."""
    kind = without_none(kind)
    if is_record(kind):
        return kind  # type: ignore[no-any-return]  # is_record has seen that it is a class
    inner = [each for each in get_args(kind) if each is not Ellipsis]
    return record_in(inner[-1]) if inner and get_origin(kind) in (tuple, dict, frozenset) else None


@dataclass(frozen=True, slots=True)
class Path:
    """A field of Kafka's schema that a message has: its way through arrays, and the versions in which it is there."""

    name: str
    since: int
    until: int


def paths_of(message: type, versions: range) -> tuple[Path, ...]:
    """Every field of Kafka's schema that a message has in the versions that are described."""
    return tuple(_paths(message, "", versions[0], versions[-1]))


def _paths(message: type, before: str, first: int, last: int) -> list[Path]:
    found = []
    for each in fields_of(message):
        for wire in each.wires:
            since, until = max(wire.since, first), min(wire.until, last)
            if since <= until:
                found += _paths_of(each, wire, before, since, until)
    return found


def _paths_of(field: FieldOfMessage, wire: Wire, before: str, since: int, until: int) -> list[Path]:
    at = f"{before}{wire.name}."
    if isinstance(wire, Pairs):
        return [Path(at + wire.key, since, until), Path(at + wire.value, since, until)]
    record = record_in(field.kind)
    if not isinstance(wire, Rows):
        if record is None:
            return [] if not wire.name else [Path(before + wire.name, since, until)]
        return _paths(record, at if wire.name else before, since, until)
    found = [Path(at + wire.topic, since, min(until, wire.ids_since - 1))] if since < wire.ids_since else []
    if until >= wire.ids_since:
        found.append(Path(at + "TopicId", max(since, wire.ids_since), until))
    at += f"{wire.partitions}."
    found += [Path(at + name, since, until) for name in (wire.index, *wire.values) if name]
    if record is not None:
        found += _paths(record, at, since, until)
    return found if wire.index else [*found, Path(at.removesuffix("."), since, until)]
