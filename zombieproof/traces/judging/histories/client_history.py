"""What applications wrote, asked for and were told, one application transaction at a time.

Read from the calls of applications (begin, send, commit, ...), from requests of raw clients (Produce, EndTxn, ...) and
from summarised lines. An end that was answered with an error or not at all leaves the outcome unknown: it may have been
carried out all the same.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.evidence import ClientCall, ClientOutcome, Evidence, Unit

ENDS = {"commit": "commit", "abort": "abort"}
SUCCESS = ("ok", "committed", "aborted")
RECORD = re.compile(r"(\d{1,10})@(\d{1,19})", re.ASCII)


class Told(StrEnum):
    """What an application knows about the end of its transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    PLAIN = "acknowledged"


@dataclass(slots=True)
class ApplicationTransaction:
    """What one client wrote between begin and end. `records` were acknowledged, `offsets` accepted for a group.

    `number` counts the transactions of a client and id from 1 unless the evidence numbers them. `answered_ms` is when
    its end was answered (or given up), `file` and `line` where that stands. `told_ms` is when each record was
    acknowledged, where that is known. Records without a transaction are in one of their own for each client, told
    PLAIN.
    """

    client: str
    transactional_id: str | None
    number: int
    told: Told
    records: list[tuple[TopicPartition, int]] = field(default_factory=list)
    offsets: list[tuple[str, TopicPartition, int]] = field(default_factory=list)
    ending: bool = False
    answered_ms: int | None = None
    file: str | None = None
    line: int | None = None
    told_ms: dict[tuple[TopicPartition, int], int] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.transactional_id is None:
            return f"the records of application {self.client!r}"
        return f"transaction {self.number} of application {self.client!r} with {self.transactional_id!r}"


def read_applications(evidence: Evidence) -> list[ApplicationTransaction]:
    """All application transactions that wrote something, in the order of their begin."""
    reader = _Reader()
    unread: dict[str, list[int]] = {}
    for place in evidence.damage:
        if place.unit is Unit.LINE:
            unread.setdefault(place.file, []).append(place.position)
    for call in evidence.client_calls:
        lines = unread.get(call.file, [])
        if any(line < call.line for line in lines):
            unread[call.file] = [line for line in lines if line > call.line]
            reader.interrupt()
        reader.take(call)
    found = reader.transactions + _summarised(evidence)
    return [txn for txn in found if txn.records or txn.offsets]


def _summarised(evidence: Evidence) -> list[ApplicationTransaction]:
    topic = topic_of_outcomes(evidence)
    return [] if topic is None else [_of_outcome(outcome, topic) for outcome in evidence.client_outcomes]


def topic_of_outcomes(evidence: Evidence) -> str | None:
    """The topic that summarised lines mean, which name partitions without it; None unless there is only one."""
    topics = {topic for topic, partition in _user_partitions(evidence) if partition >= 0} | evidence.left_out
    return topics.pop() if len(topics) == 1 else None


def _user_partitions(evidence: Evidence) -> Iterable[TopicPartition]:
    return (log.topic_partition for log in evidence.logs if not log.is_internal)


def _of_outcome(outcome: ClientOutcome, topic: str) -> ApplicationTransaction:
    told = {"committed": Told.COMMITTED, "aborted": Told.ABORTED}.get(outcome.told, Told.UNKNOWN)
    records = [((topic, partition), offset) for partition, offset in outcome.records]
    return ApplicationTransaction(
        outcome.transactional_id,
        outcome.transactional_id,
        outcome.transaction,
        told,
        records,
        ending=True,
        file=outcome.file,
        line=outcome.line,
    )


class _Reader:
    def __init__(self) -> None:
        self.transactions: list[ApplicationTransaction] = []
        self.current: dict[tuple[str, str | None], ApplicationTransaction] = {}
        self.counted: dict[tuple[str, str | None], int] = {}

    def take(self, call: ClientCall) -> None:
        """Follow one call. What is no part of a transaction (faults of operators, look-ups) is passed over."""
        key = (call.client, call.transactional_id)
        if call.action in ("begin", "init", "InitProducerId", "new"):
            self.current.pop(key, None)
        elif call.action in ENDS:
            self._end(key, call, ENDS[call.action], call.error is None and call.result in SUCCESS)
        elif call.action == "EndTxn":
            asked = call.args.get("result")
            answered = isinstance(call.result, dict) and call.result.get("error") == "NONE"
            if isinstance(asked, str):
                self._end(key, call, asked.lower(), answered)
        elif call.action == "AddPartitionsToTxn":
            self._leave_unknown(key)
        elif records := _acknowledged(call):
            self._leave_unknown(key)
            txn = self._open(key)
            txn.records += records
            if call.timestamp_ms is not None:
                txn.told_ms.update(dict.fromkeys(records, call.timestamp_ms))
        elif call.action == "offsets" and call.error is None and call.result in SUCCESS:
            self._open(key).offsets += _offsets(call.args)

    def interrupt(self) -> None:
        """A call that cannot be read may have ended any transaction, and begun the next: what is open stays unknown."""
        self.current = {key: txn for key, txn in self.current.items() if key[1] is None}

    def _open(self, key: tuple[str, str | None]) -> ApplicationTransaction:
        found = self.current.get(key)
        if found is None:
            self.counted[key] = self.counted.get(key, 0) + 1
            told = Told.PLAIN if key[1] is None else Told.UNKNOWN
            found = self.current[key] = ApplicationTransaction(key[0], key[1], self.counted[key], told)
            self.transactions.append(found)
        return found

    def _end(self, key: tuple[str, str | None], call: ClientCall, asked: str, answered: bool) -> None:
        found = self.current.get(key)
        if found is None:
            return
        found.ending = True
        found.answered_ms, found.file, found.line = call.timestamp_ms, call.file, call.line
        if answered:
            found.told = {"commit": Told.COMMITTED, "abort": Told.ABORTED}.get(asked, Told.UNKNOWN)
            del self.current[key]

    def _leave_unknown(self, key: tuple[str, str | None]) -> None:
        """What is written behind an end without an answer is of another transaction."""
        found = self.current.get(key)
        if found is not None and found.ending:
            del self.current[key]


def _acknowledged(call: ClientCall) -> list[tuple[TopicPartition, int]]:
    """The records that a call was told to be in the log."""
    if call.error is not None:
        return []
    if call.action == "send" and isinstance(call.result, dict):
        topic, partition, offset = (call.result.get(name) for name in ("topic", "partition", "offset"))
        if isinstance(topic, str) and isinstance(partition, int) and isinstance(offset, int) and offset >= 0:
            return [((topic, partition), offset)]
    if call.action == "sendMany" and isinstance(call.result, list):
        topic = call.args.get("topic")
        matches = [RECORD.fullmatch(each) for each in call.result if isinstance(each, str)]
        return [((topic, int(each[1])), int(each[2])) for each in matches if each and isinstance(topic, str)]
    if call.action == "Produce" and isinstance(call.result, dict):
        return _produced(call.args, call.result)
    return []


def _produced(args: Mapping[str, object], result: Mapping[str, object]) -> list[tuple[TopicPartition, int]]:
    place, values, base = args.get("partition"), args.get("values"), result.get("base_offset")
    if not (isinstance(place, str) and isinstance(values, list) and isinstance(base, int)) or base < 0:
        return []
    found = _place(place)
    return [(found, base + i) for i in range(len(values))] if found else []


def _offsets(args: Mapping[str, object]) -> list[tuple[str, TopicPartition, int]]:
    group, offsets = args.get("group"), args.get("offsets")
    if not isinstance(group, str) or not isinstance(offsets, dict):
        return []
    found = ((_place(str(place)), offset) for place, offset in offsets.items())
    return [(group, place, offset) for place, offset in found if place and isinstance(offset, int)]


def partitions_of(call: ClientCall) -> set[TopicPartition]:
    """The partitions that a call names: where it wrote, which it added, of which it commits offsets."""
    found = {place for place, _ in _acknowledged(call)} | {place for _, place, _ in _offsets(call.args)}
    topic, one, several = (call.args.get(name) for name in ("topic", "partition", "partitions"))
    if isinstance(topic, str) and isinstance(one, int):
        found.add((topic, one))
    for text in (one, *(several if isinstance(several, list) else ())):
        if isinstance(text, str) and (place := _place(text)):
            found.add(place)
    return found


def _place(text: str) -> TopicPartition | None:
    topic, dash, partition = text.rpartition("-")
    return (topic, int(partition)) if dash and partition.isdecimal() else None
