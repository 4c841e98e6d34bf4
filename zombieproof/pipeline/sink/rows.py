"""What a delivery is given: rows, where they come from, or which batch they are; and what it gives back."""

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, overload

from zombieproof.model.spark_sink.vocabulary import DeliveryState, Found
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.delivery.steps import (
    Delivery,
    find_by_identity,
    find_by_positions,
    first_to_send,
    is_in_the_output,
)

Place = tuple[str, int]
"""A topic and a partition of it."""


class Source(NamedTuple):
    """Where a row was read."""

    topic: str
    partition: int
    offset: int


class Row(NamedTuple):
    """A row, and where it goes; without a partition the client chooses it by the key."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None
    source: Source | None = None


class Identity(NamedTuple):
    """Which batch of which query rows are, where they do not say where they come from.

    `topic` and `partition` name the committed position that carries it: of the output, never of a source.
    """

    query: str
    batch: int
    topic: str
    partition: int = 0

    @property
    def place(self) -> Place:
        """Whose committed position carries it: the same one for every batch of an output."""
        return self.topic, self.partition

    def metadata(self) -> str:
        """How it stands beside a committed position."""
        return json.dumps({"zombieproof": 1, "query": self.query, "batch": self.batch}, separators=(",", ":"))

    @classmethod
    def of_metadata(cls, text: str, place: Place) -> "Identity | None":
        """What was written beside a position; None: nothing was.

        Raises:
            NoIdentity: something else was.
        """
        if not text:
            return None
        try:
            said = json.loads(text)
            query, batch, form = said["query"], said["batch"], said["zombieproof"]
        except (ValueError, KeyError, TypeError) as error:
            raise NoIdentity(text) from error
        if form != 1 or not isinstance(query, str) or isinstance(batch, bool) or not isinstance(batch, int):
            raise NoIdentity(text)
        return cls(query, batch, *place)


class NoIdentity(ValueError):
    """What stands beside a committed position was not written by a delivery of ours."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"the metadata of the committed position is {text!r}, which no delivery wrote; legal is nothing, or a "
            "query and a batch: give the sink a group of its own"
        )


class IllegalRows(ValueError):
    """Rows that one delivery cannot have."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a delivery.

    Attributes:
        state: where its machine ended.
        sent: how many rows it sent; they are in the output if `is_delivered`.
        dropped: how many were in the output before it came.
        positions: what it committed, by topic and partition of the source.
    """

    state: DeliveryState
    sent: int = 0
    dropped: int = 0
    positions: dict[Place, int] = field(default_factory=dict)

    @property
    def is_delivered(self) -> bool:
        """Whether every row is in the output, once."""
        return is_in_the_output(Delivery(int(self.state)))


class LocatedRows(Sequence[Row]):
    """Rows that know where they were read."""

    @abstractmethod
    def spans(self) -> dict[Place, tuple[int, int]]:
        """The first offset and the one past the last of each partition that rows were read from.

        Raises:
            IllegalRows: a row does not say where it was read.
        """

    @abstractmethod
    def behind(self, begins: Mapping[Place, int]) -> Sequence[Row]:
        """Those of them that were read at these offsets or behind, by where they were read."""


class ListedRows(LocatedRows):
    """Rows that are there one by one."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        return self._rows[at]

    def spans(self) -> dict[Place, tuple[int, int]]:
        """One row after the other."""
        found: dict[Place, tuple[int, int]] = {}
        for number, row in enumerate(self._rows):
            source = row.source
            if source is None or source.offset < 0:
                raise IllegalRows(
                    f"row {number} of {len(self)} does not say where it was read ({source}), and there is no identity "
                    "of the batch; legal is a topic, a partition and an offset for every row, or (query id, batch id) "
                    "for all"
                )
            place, offset = (source.topic, source.partition), source.offset
            first, past = found.get(place, (offset, offset + 1))
            found[place] = (min(first, offset), max(past, offset + 1))
        return found

    def behind(self, begins: Mapping[Place, int]) -> Sequence[Row]:
        """One row after the other."""
        return [row for row in self._rows if row.source is not None and row.source.offset >= begins[row.source[:2]]]


def located(rows: Sequence[Row]) -> LocatedRows:
    """The same rows, as such that know where they were read."""
    return rows if isinstance(rows, LocatedRows) else ListedRows(rows)


@dataclass(slots=True)
class Work:
    """What is left to do of a delivery, after a look at what is committed."""

    found: Found
    rows: Sequence[Row]
    positions: dict[Place, int]


def spans(rows: Sequence[Row], identity: Identity | None) -> dict[Place, tuple[int, int]]:
    """The first offset and the one past the last of each partition that rows were read from; {} with an identity.

    Raises:
        IllegalRows: a row does not say where it was read, and there is no identity.
    """
    return {} if identity is not None else located(rows).spans()


def left_by_positions(rows: Sequence[Row], between: dict[Place, tuple[int, int]], committed: dict[Place, int]) -> Work:
    """What is left of rows when a group has committed so far; NONE: nothing.

    A partition of which nothing is left keeps its position: it may be behind these rows.
    """
    begins = {place: first_to_send(first, past, committed.get(place, NONE)) for place, (first, past) in between.items()}
    is_all_left = all(begins[place] == first for place, (first, _) in between.items())
    left = rows if is_all_left else located(rows).behind(begins)
    positions = {place: past for place, (_, past) in between.items() if begins[place] < past}
    return Work(Found(find_by_positions(len(rows), len(left))), left, positions)


def left_by_identity(rows: Sequence[Row], identity: Identity, found: Identity | None) -> Work:
    """What is left of a batch when that one is the newest that was committed; None: none was."""
    if found is None:
        compared = find_by_identity(0, identity.batch, NONE, NONE)
    else:
        compared = find_by_identity(0, identity.batch, 0 if found.query == identity.query else 1, found.batch)
    is_there = compared == Found.ALL_DELIVERED
    return Work(Found(compared), () if is_there else rows, {})
