"""Versions of Kafka's messages that kio does not have: each is the version beside it, with some fields changed.

kio's classes are generated from the schemas of one release of Kafka. What came later, or was gone by then, is stated
here, field by field; a version that kio has wins. Source: ``common/message/*.json`` of Kafka 4.4.0 and 3.9.1.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields, make_dataclass
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

from kio.static.primitive import i16, i32, i64

from zombieproof.model.vocabulary import NONE, ApiKey

Side = Literal["request", "response"]


class NewField(NamedTuple):
    """A field as kio describes it: its name, its type in Python, and its type in Kafka's schema."""

    name: str
    kind: Any
    kafka_type: str
    default: Any = MISSING


class Changes(NamedTuple):
    """What a version changes in the one beside it, by the path of the field; "" and a row's path name a structure.

    `replaced`: a field that has another name or type. `added`: fields at the end of a structure. `before`: a field that
    stands before another. `removed`: fields that it does not have.
    """

    replaced: Mapping[str, NewField] = {}
    added: Mapping[str, tuple[NewField, ...]] = {}
    before: Mapping[str, NewField] = {}
    removed: frozenset[str] = frozenset()


_TOPIC_ID: Final = NewField("topic_id", UUID | None, "uuid")

LATER: Final[Mapping[tuple[ApiKey, int], Mapping[Side, Changes]]] = {
    (ApiKey.API_VERSIONS, 5): {
        "request": Changes(
            added={
                "": (
                    NewField("cluster_id", str | None, "string", None),
                    NewField("node_id", i32, "int32", i32(NONE)),
                )
            }
        ),
        "response": Changes(),
    },
    (ApiKey.TXN_OFFSET_COMMIT, 6): {
        "request": Changes(
            replaced={
                "generation_id": NewField("generation_id_or_member_epoch", i32, "int32", i32(NONE)),
                "topics.name": _TOPIC_ID,
            }
        ),
        "response": Changes(replaced={"topics.name": _TOPIC_ID}),
    },
    (ApiKey.DELETE_GROUPS, 3): {
        "request": Changes(),
        "response": Changes(added={"results": (NewField("error_message", str | None, "string", None),)}),
    },
}
"""API and version -> what each side changes. A version without changes has the fields of the one before it."""


EARLIER: Final[Mapping[tuple[ApiKey, int], Mapping[Side, Changes]]] = {
    (ApiKey.LIST_OFFSETS, 0): {
        "request": Changes(added={"topics.partitions": (NewField("max_num_offsets", i32, "int32", i32(1)),)}),
        "response": Changes(
            replaced={"topics.partitions.timestamp": NewField("old_style_offsets", tuple[i64, ...], "int64", ())},
            removed=frozenset({"topics.partitions.offset"}),
        ),
    },
    (ApiKey.OFFSET_COMMIT, 1): {
        "request": Changes(
            before={"topics.partitions.committed_metadata": NewField("commit_timestamp", i64, "int64", i64(NONE))},
            removed=frozenset({"retention_time"}),
        ),
        "response": Changes(),
    },
}
"""API and version -> what each side changes in the version after it."""


def changed(kind: Any, version: int, changes: Changes) -> Any:
    """The class of a version, made of kio's class of the version beside it."""
    return _changed(kind, version, changes, "")


def _changed(kind: Any, version: int, changes: Changes, path: str) -> Any:
    of_class = {name: value for name, value in vars(kind).items() if name.startswith("__") and name in _DESCRIBING}
    made = []
    for each in fields(kind):
        at = f"{path}.{each.name}".removeprefix(".")
        if at in changes.removed:
            continue
        if at in changes.before:
            made.append(_as_field(changes.before[at]))
        new = changes.replaced.get(at)
        made.append(_as_field(new) if new else (each.name, _kind(each.type, version, changes, at), _copy(each)))
    made += [_as_field(new) for new in changes.added.get(path, ())]
    return make_dataclass(
        kind.__name__,
        made,
        frozen=True,
        slots=True,
        kw_only=True,
        namespace={**of_class, "__version__": i16(version)},
    )


_DESCRIBING = frozenset({"__type__", "__flexible__", "__api_key__", "__header_schema__"})


def _kind(hint: Any, version: int, changes: Changes, path: str) -> Any:
    """The type of a field that keeps its name: rows are of this version, too."""
    (row, *_) = getattr(hint, "__args__", (None,))
    if hasattr(row, "__dataclass_fields__"):
        return tuple[_changed(row, version, changes, path), ...]  # type: ignore[misc]  # it was made just now
    return hint


def _copy(each: Field[Any]) -> Any:
    return field(default=each.default, default_factory=each.default_factory, metadata=each.metadata)


def _as_field(new: NewField) -> tuple[str, Any, Any]:
    return new.name, new.kind, field(default=new.default, metadata={"kafka_type": new.kafka_type})
