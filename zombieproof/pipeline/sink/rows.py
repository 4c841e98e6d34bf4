"""The input of a delivery (rows with their source, or with the identity of their batch) and its outcome."""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, overload

from zombieproof.model.spark_sink.vocabulary import DeliveryState, Found
from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.progress_topic import is_signed
from zombieproof.statemachines.delivery.steps import (
    Delivery,
    find_by_identity,
    find_by_positions,
    first_to_send,
    is_in_the_output,
    is_of_another_write,
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
    """The write that committed a position, and the batch of it.

    Attributes:
        query: id of the streaming query, which its checkpoint keeps; for a batch query any text that stays the same.
        batch: number of the batch within the query.
        topic: of the output, for rows without a column `source`: its position `partition` carries the identity. "": the
            positions of the source carry it.
        sink: name of the sink.
        rows: `digest` of the batch; "" where positions tell which rows they are.
        topic_ids: of the topic that was read and of the output, by name.
        generation: of the claim under which it was committed; 0 without one.
        mode: in which it was committed; "" if that is not known.
        attempt: of the task that committed it, for people who read the position; "" if the driver did.
        run: of the query; "": not known.
        first: of a batch query: where the rows begin that it and those before it wrote up to the position; NONE: not
            known.
    """

    query: str
    batch: int
    topic: str = ""
    partition: int = 0
    sink: str = ""
    rows: str = ""
    topic_ids: Mapping[str, str] = MappingProxyType({})
    generation: int = 0
    mode: str = ""
    attempt: str = ""
    run: str = ""
    first: int = NONE

    @property
    def place(self) -> Place:
        """The position that carries the identity: the same for every batch of an output."""
        return self.topic, self.partition

    @property
    def output(self) -> str:
        """The topic in the name of the sink; "" if the name has none."""
        topic, separator, _ = self.sink.partition("/")
        return topic if separator else ""

    @property
    def is_of_a_batch_query(self) -> bool:
        """Whether a batch query has committed it, so that rows below `first` may not be in the output."""
        return not self.run and self.first != NONE

    def __str__(self) -> str:
        """The query, the sink and the batch, for messages."""
        how = [f"mode {self.mode}"] * bool(self.mode) + [f"task attempt {self.attempt}"] * bool(self.attempt)
        more = f" ({', '.join(how)})" if how else ""
        return f"query {self.query}, sink {self.sink or 'without a name'}, batch {self.batch}{more}"

    def metadata(self) -> str:
        """The text that is committed with a position."""
        told = {"zombieproof": 2, "query": self.query, "batch": self.batch, "sink": self.sink, "rows": self.rows}
        more = {"topics": dict(self.topic_ids), "claim": self.generation, "mode": self.mode, "attempt": self.attempt}
        more |= {"run": self.run} if self.run else {}
        more |= {"first": self.first} if self.first != NONE else {}
        return json.dumps(told | more, separators=(",", ":"))

    def remade(self, topic_ids: Mapping[str, str]) -> str:
        """Return the topic that was deleted and created again since this position was committed, with both ids.

        "" if there is none, or if ids are unknown: older releases of this sink and of brokers have none.
        """
        for topic, then in self.topic_ids.items():
            now = topic_ids.get(topic, "")
            if then and now and then != now:
                return f"{topic} (its id was {then}, and is {now})"
        return ""

    @classmethod
    def of_metadata(cls, text: str, place: Place) -> "Identity | None":
        """Read the text of a committed position; None for an empty one, or one of another client.

        Version 1 has no sink and no rows. Version 2 without `topics` was written before topics had ids here.

        Raises:
            NoIdentity: it is that of another release, or of a claim.
        """
        if not is_signed(text):
            return None
        try:
            said = json.loads(text)
            query, batch, form = said["query"], said["batch"], said["zombieproof"]
            sink, rows, topic_ids = said.get("sink", ""), said.get("rows", ""), dict(said.get("topics", {}))
            generation, mode, attempt = int(said.get("claim", 0)), said.get("mode", ""), said.get("attempt", "")
            run, from_ = said.get("run", ""), int(said.get("first", NONE))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise NoIdentity(text) from error
        is_number = isinstance(batch, int) and not isinstance(batch, bool)
        if (
            form not in (1, 2)
            or not is_number
            or not all(isinstance(each, str) for each in (query, sink, rows, mode, attempt, run, *topic_ids.values()))
        ):
            raise NoIdentity(text)
        return cls(query, batch, *place, sink, rows, topic_ids, generation, mode, attempt, run, from_)


def foreign(topic: str) -> str:
    """Under which name an identity has the id of a topic in another cluster than the sink's."""
    return f"{topic} in the cluster of the source"


def identity_of_any(text: str, place: Place) -> Identity | None:
    """Return what `Identity.of_metadata` reads, and None for the text of a claim."""
    try:
        return Identity.of_metadata(text, place)
    except NoIdentity:
        return None


def digest(rows: Iterable[Row]) -> str:
    """Return the number of rows and the sum of their hashes, which does not depend on their order."""
    count = total = 0
    for row in rows:
        made = hashlib.blake2b(f"{row.topic} {row.partition} {len(row.headers)}".encode(), digest_size=8)
        named = [part for name, value in row.headers for part in (name.encode(), value)]
        for part in (row.key, row.value, *named):
            made.update(b"-" if part is None else b"%d " % len(part))
            made.update(part or b"")
        count, total = count + 1, total + int.from_bytes(made.digest(), "big")
    return f"{count}-{total % (1 << 64):016x}"


class NoIdentity(ValueError):
    """The metadata of a committed position that this release cannot read."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"the metadata of the committed position is {text!r}, which this release cannot read; legal is nothing, or "
            "a query and a batch: use the release that wrote it, or give the sink a group of its own"
        )


class IllegalRows(ValueError):
    """Rows that one delivery cannot have."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a delivery.

    Attributes:
        state: where its machine ended.
        sent: how many rows it sent; they are in the output if `is_delivered`.
        dropped: how many were in the output before it came.
        positions: those that it committed, by topic and partition of the source.
        retries: calls that were made again, and deliveries of the same rows before this one.
    """

    state: DeliveryState
    sent: int = 0
    dropped: int = 0
    positions: dict[Place, int] = field(default_factory=dict)
    retries: int = 0

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
        """The rows that were read at these offsets or higher ones, by topic and partition."""


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
    """The rest of a delivery after a look at the committed positions."""

    found: Found
    rows: Sequence[Row]
    positions: dict[Place, int]


def spans(rows: Sequence[Row], identity: Identity | None) -> dict[Place, tuple[int, int]]:
    """The first offset and the one after the last of each partition that rows were read from; {} by batches.

    Raises:
        IllegalRows: a row does not say where it was read, and the identity has no topic.
    """
    return {} if identity is not None and identity.topic else located(rows).spans()


def others_of(identity: Identity | None, found: Iterable[Identity | None], newest: int | None = None) -> list[Identity]:
    """Return the identities of other writes among those of committed positions.

    None, and an identity without a query, belong to no write. A batch that the checkpoint does not know, whose `newest`
    one was another when the run began, is not earlier than this one.
    """
    return [
        each
        for each in found
        if each is not None
        and each.query
        and identity is not None
        and identity.query
        and is_of_another_write(
            each.query == identity.query,
            each.sink == identity.sink,
            each.output in ("", identity.output) or not identity.output,
            identity.batch,
            each.batch if is_known(each, identity, newest) else max(each.batch, identity.batch),
        )
    ]


def left_by_positions(
    rows: Sequence[Row], between: dict[Place, tuple[int, int]], committed: dict[Place, int], others: int = 0
) -> Work:
    """Return the rows above the committed positions (NONE: no position); `others` counts positions of other writes.

    A partition of which nothing is left keeps its position: it may be beyond these rows.
    """
    begins = {place: first_to_send(first, past, committed.get(place, NONE)) for place, (first, past) in between.items()}
    is_all_left = all(begins[place] == first for place, (first, _) in between.items())
    left = rows if is_all_left else located(rows).behind(begins)
    positions = {place: past for place, (_, past) in between.items() if begins[place] < past}
    return Work(Found(find_by_positions(len(rows), len(left), others)), left, positions)


def is_known(found: Identity, identity: Identity, newest: int | None) -> bool:
    """Whether a batch that was found is one of the checkpoint's, or of this run; True if that is not known."""
    return newest is None or found.batch <= newest or found.run == identity.run


def left_by_identity(
    rows: Sequence[Row], identity: Identity, found: Identity | None, newest: int | None = None
) -> Work:
    """Return the rows of a batch that are not written, given the newest committed batch (None: none).

    `newest` is the newest batch of the checkpoint when the run began (None: not known). Later ones are known if this
    run has committed them.
    """
    if found is None:
        compared = find_by_identity(0, identity.batch, NONE, NONE, True, True)
    else:
        is_same_work = found.rows in ("", identity.rows) and found.sink in ("", identity.sink)
        is_same_query = found.query == identity.query
        compared = find_by_identity(
            0, identity.batch, 0 if is_same_query else 1, found.batch, is_same_work, is_known(found, identity, newest)
        )
    is_there = compared == Found.ALL_DELIVERED
    return Work(Found(compared), () if is_there else rows, {})
