"""Whose timeline it is, found by what people call it.

It is that of a transactional id, a partition, a producer id, a group, or a client.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import Evidence
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.readers.files import TOPIC_PARTITION
from zombieproof.traces.tool_reports import EndRow, GroupRow, ProducerRow, ToolReports, TransactionRow
from zombieproof.traces.verdict.report import named

AnyRow = ProducerRow | TransactionRow | GroupRow | EndRow

PRODUCER = re.compile(r"(?:producer )?(?P<id>\d{1,19})(?::(?P<epoch>\d{1,5}))?", re.ASCII)


class SubjectKind(StrEnum):
    """What a subject is; also the word in front of its name that makes it clear."""

    ID = "id"
    PARTITION = "partition"
    PRODUCER = "producer"
    GROUP = "group"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at. `producer_ids` are those of a transactional id, or the one asked for, with its `epoch` if any.

    `place` is the partition asked for.
    """

    kind: SubjectKind
    name: str
    producer_ids: frozenset[int] = frozenset()
    epoch: int | None = None
    place: TopicPartition | None = None

    def __str__(self) -> str:
        return f"{self.kind.value} {self.name}"

    def is_producer(self, producer_id: int, epoch: int | None = None) -> bool:
        """Whether a producer id, and its epoch if it is known, are those of the subject."""
        if producer_id not in self.producer_ids:
            return False
        return self.epoch is None or epoch in (None, self.epoch)


def subjects_called(text: str, examined: Examined) -> list[Subject]:
    """What the text can mean in this evidence: none, one or several.

    "orders-1" is a transactional id or a partition, or else a group; "7" and "7:3" are a producer id and its epoch;
    "id orders-1", "partition orders-1", "group orders-1", "producer 7" and "client rdkafka#producer-1" are one thing
    only.
    """
    ids, places, producers = _ids(examined), _places(examined), _producers(examined)
    meant = [name for name in dict.fromkeys((text, text.removeprefix("id "))) if name in ids]
    found = [Subject(SubjectKind.ID, name, frozenset(ids[name])) for name in meant]
    place = _place(text.removeprefix("partition "))
    if place in places:
        found.append(Subject(SubjectKind.PARTITION, named(place), place=place))
    match = PRODUCER.fullmatch(text)
    if match and (producer_id := int(match["id"])) in producers:
        epoch = None if match["epoch"] is None else int(match["epoch"])
        if epoch is None or epoch in producers[producer_id]:
            name = text.removeprefix("producer ")
            found.append(Subject(SubjectKind.PRODUCER, name, frozenset({producer_id}), epoch))
    groups = _groups(examined.evidence)
    if (name := text.removeprefix("group ")) in groups and (name != text or not found):
        found.append(Subject(SubjectKind.GROUP, name))
    clients = client_names(examined.evidence)
    called = dict.fromkeys((text, text.removeprefix("client ")))
    # A client is often called as its transactional id is: then the id says more.
    found += [Subject(SubjectKind.CLIENT, name) for name in called if name in clients and name not in meant]
    return found


def row_called(text: str, reports: ToolReports) -> AnyRow | None:
    """The first row of a tool that is about an id, partition, producer or group of that name."""
    place, match = _place(text.removeprefix("partition ")), PRODUCER.fullmatch(text)
    producer_id = int(match["id"]) if match else None
    for row in reports.transactions:
        is_called = row.transactional_id is not None and row.transactional_id in (text, text.removeprefix("id "))
        if is_called or row.producer_id == producer_id or place in (row.partitions or ()):
            return row
    for producer in reports.producers:
        if producer.producer_id == producer_id or (place is not None and producer.place == place):
            return producer
    for position in reports.groups:
        if position.place == place or position.group in (text, text.removeprefix("group ")):
            return position
    return next((end for end in reports.ends if end.place == place), None)


def client_names(evidence: Evidence) -> list[str]:
    """All clients whose logs were read, by name."""
    return sorted({line.client for line in evidence.client_lines})


def subject_names(examined: Examined) -> list[str]:
    """Everything that has a timeline, as one would ask for it."""
    producers = (f"producer {producer_id}" for producer_id in sorted(_producers(examined)))
    groups = sorted(_groups(examined.evidence))
    clients = (f"client {name}" for name in client_names(examined.evidence))
    return [*sorted(_ids(examined)), *map(named, sorted(_places(examined))), *producers, *groups, *clients]


def _place(text: str) -> TopicPartition | None:
    found = TOPIC_PARTITION.fullmatch(text)
    return (found["topic"], int(found["partition"])) if found else None


def _ids(examined: Examined) -> dict[str, set[int]]:
    """All transactional ids that anything names, with their producer ids."""
    evidence = examined.evidence
    found: dict[str, set[int]] = {}
    for transactional_id, producer_id in _names(evidence):
        known = found.setdefault(transactional_id, set())
        if producer_id >= 0:
            known.add(producer_id)
    for history in examined.histories:
        found.setdefault(history.transactional_id, set()).update(history.producer_ids)
    return found


def _names(evidence: Evidence) -> Iterator[tuple[str, int]]:
    for record in evidence.transaction_states:
        yield record.transactional_id, NONE if record.value is None else record.value.producer_id
    for line in evidence.coordinator_lines:
        yield line.transactional_id, NONE if line.target is None else line.target.producer_id
    for broker_line in evidence.broker_lines:
        if broker_line.transactional_id is not None:
            yield broker_line.transactional_id, broker_line.producer[0] if broker_line.producer else NONE
    for client_line in evidence.client_lines:
        if client_line.transactional_id is not None:
            yield client_line.transactional_id, client_line.producer_id
    for call in evidence.client_calls:
        if call.transactional_id is not None:
            yield call.transactional_id, NONE
    for outcome in evidence.client_outcomes:
        yield outcome.transactional_id, NONE


def _places(examined: Examined) -> set[TopicPartition]:
    """All partitions that have a log, that a transaction lists, or that a broker's log names."""
    found = {log.topic_partition for log in examined.evidence.logs if log.partition >= 0}
    for line in examined.evidence.broker_lines:
        found |= line.places
    for history in examined.histories:
        for txn in history.transactions:
            found |= txn.partitions or frozenset()
    return found


def _producers(examined: Examined) -> dict[int, set[int]]:
    """All producer ids with their epochs."""
    found: dict[int, set[int]] = {}
    for log in examined.evidence.logs:
        for batch in log.batches:
            if batch.producer_id >= 0:
                found.setdefault(batch.producer_id, set()).add(batch.producer_epoch)
    for record in examined.evidence.transaction_states:
        if record.value is not None:
            found.setdefault(record.value.producer_id, set()).add(record.value.producer_epoch)
    for broker_line in examined.evidence.broker_lines:
        if broker_line.producer is not None and broker_line.producer[0] >= 0:
            producer_id, epoch = broker_line.producer
            found.setdefault(producer_id, set()).update(() if epoch is None else (epoch,))
    for line in examined.evidence.client_lines:
        if line.producer_id >= 0:
            found.setdefault(line.producer_id, set()).add(line.producer_epoch)
    for transition in examined.evidence.coordinator_lines:
        if transition.target is not None and transition.target.producer_id >= 0:
            found.setdefault(transition.target.producer_id, set()).add(transition.target.producer_epoch)
    return found


def _groups(evidence: Evidence) -> set[str]:
    """All groups that commit offsets, or that a broker's log names."""
    found = {commit.group for commit in evidence.offset_commits}
    return found | {line.group for line in evidence.broker_lines if line.group is not None}
