"""What applications did through brokers, judged on the logs alone: whether input and output went together.

Theory of operation: the offsets log tells which offsets were committed in which order, in a transaction or outside of
one; data logs tell who wrote output, and what became of it. An application that reads, transforms and writes exactly
once commits where to go on reading in the transaction that wrote the output, and reads no input twice for it.
What is judged here is no promise of Kafka's alone: brokers that do everything right cannot keep it for an application.
Source: KIP-98, KIP-447.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.formats.batches import Batch, OffsetKey, OffsetValue, Record, TransactionValue
from zombieproof.formats.topics import CONSUMER_OFFSETS, INTERNAL_TOPICS, TRANSACTION_STATE, TopicPartition
from zombieproof.model.vocabulary import NONE, TransactionState

Position = tuple[str, str, int]
"""A group, and the partition whose offset it has committed."""


@dataclass(frozen=True, slots=True)
class Broken:
    """What an application owes and did not keep: its name, and what happened."""

    promise: str
    story: str


@dataclass(frozen=True, slots=True)
class Span:
    """What one producer wrote in one transaction in one partition; `committed` None: nobody has ended it."""

    partition: TopicPartition
    producer_id: int
    first_offset: int
    batches: tuple[Batch, ...]
    committed: bool | None

    @property
    def is_output(self) -> bool:
        """Whether it holds records of an application."""
        return self.partition[0] not in INTERNAL_TOPICS


@dataclass(frozen=True, slots=True)
class Input:
    """The offsets that one committed transaction took along; `has_output`: it wrote records as well.

    `committed_ms` is when the broker took the last of them in.
    """

    producer_id: int
    offsets: Mapping[Position, int]
    has_output: bool
    committed_ms: int = NONE


@dataclass(slots=True)
class Work:
    """What was found in the logs: each transaction's input, in the order of its markers, and all that was beside."""

    names: dict[int, str] = field(default_factory=dict)
    outputs: dict[int, list[Span]] = field(default_factory=dict)
    inputs: list[Input] = field(default_factory=list)
    outside: dict[Position, int] = field(default_factory=dict)
    initialized_ms: dict[str, int] = field(default_factory=dict)
    plain: dict[TopicPartition, list[int]] = field(default_factory=dict)
    """When records of applications were written outside of any transaction."""

    def name_of(self, producer_id: int) -> str:
        """The transactional id of a producer id, for people."""
        return repr(self.names.get(producer_id, f"producer id {producer_id}"))


def spans_of(partition: TopicPartition, batches: Iterable[Batch]) -> Iterator[Span]:
    """The transactions in a log, in the order of their ends; those without an end come last."""
    written = dict[int, list[Batch]]()
    for batch in batches:
        if batch.marker is not None:
            found = written.pop(batch.producer_id, [])
            if found:
                yield Span(partition, batch.producer_id, found[0].base_offset, tuple(found), batch.marker.committed)
        elif batch.transactional and not batch.is_control:
            written.setdefault(batch.producer_id, []).append(batch)
    for producer_id, found in written.items():
        yield Span(partition, producer_id, found[0].base_offset, tuple(found), None)


def committed_batches(partition: TopicPartition, batches: Iterable[Batch]) -> list[Batch]:
    """What a read_committed reader of a log is given."""
    every = list(batches)
    spans = list(spans_of(partition, every))
    hidden = {batch.base_offset for span in spans if span.committed is not True for batch in span.batches}
    ends = min((span.first_offset for span in spans if span.committed is None), default=None)
    return [
        each
        for each in every
        if not each.is_control and each.base_offset not in hidden and (ends is None or each.base_offset < ends)
    ]


# ---------------------------------------------------------------- what is in the logs


def log_of(cluster: Cluster, partition: TopicPartition) -> list[Batch]:
    """What the leader of a partition holds, or whoever holds most where nobody leads."""
    logs = {node: store.log for (node, tp), store in cluster.stores.items() if tp == partition}
    leader = cluster.leader_of(partition)
    found = logs.get(leader) if leader is not None else None
    return list((found or max(logs.values(), key=lambda log: log.end_offset)).read())


def work_of(cluster: Cluster) -> Work:
    """What applications did, as the logs of a cluster tell it."""
    work, logs = Work(), {tp: log_of(cluster, tp) for tp in sorted({tp for _, tp in cluster.stores})}
    decided: dict[tuple[int, TopicPartition], list[bool]] = {}
    for partition, batches in logs.items():
        if partition[0] == TRANSACTION_STATE:
            for name, value in _transactions(batches):
                work.names[value.producer_id] = name
                work.initialized_ms.setdefault(name, value.last_update_ms)
                if value.state == TransactionState.PREPARE_COMMIT:
                    has_output = any(topic not in INTERNAL_TOPICS for topic, _ in value.partitions)
                    for each in value.partitions:
                        decided.setdefault((value.producer_id, each), []).append(has_output)
        elif partition[0] != CONSUMER_OFFSETS:
            for span in spans_of(partition, batches):
                if span.committed:
                    work.outputs.setdefault(span.producer_id, []).append(span)
            times = [batch.timestamp_ms for batch in batches if not batch.transactional and not batch.is_control]
            if times:
                work.plain[partition] = times
    for partition, batches in logs.items():
        if partition[0] == CONSUMER_OFFSETS:
            _gather_offsets(work, partition, batches, decided)
    return work


def _transactions(batches: Iterable[Batch]) -> Iterator[tuple[str, TransactionValue]]:
    for batch in batches:
        for record in batch.records:
            if isinstance(record.key, str) and isinstance(record.value, TransactionValue):
                yield record.key, record.value


def _gather_offsets(
    work: Work,
    partition: TopicPartition,
    batches: list[Batch],
    decided: Mapping[tuple[int, TopicPartition], list[bool]],
) -> None:
    """Each transaction's offsets; the nth commit of a producer here is the nth one that was decided for here."""
    counts: dict[int, int] = {}
    for batch in batches:
        if not batch.transactional and not batch.is_control:
            work.outside |= _offsets(batch.records)
    for span in spans_of(partition, batches):
        if span.committed:
            every: dict[Position, int] = {}
            for batch in span.batches:
                every |= _offsets(batch.records)
            at = max((each.timestamp_ms for each in span.batches), default=NONE)
            number = counts[span.producer_id] = counts.get(span.producer_id, 0) + 1
            known = decided.get((span.producer_id, partition), [])
            wrote = known[number - 1] if number <= len(known) else span.producer_id in work.outputs
            work.inputs.append(Input(span.producer_id, every, wrote and span.producer_id in work.outputs, at))


def _offsets(records: Iterable[Record]) -> dict[Position, int]:
    return {
        (record.key.group, record.key.topic, record.key.partition): record.value.offset
        for record in records
        if isinstance(record.key, OffsetKey) and isinstance(record.value, OffsetValue)
    }


# ---------------------------------------------------------------- what is owed


def no_input_is_committed_twice(work: Work) -> Iterator[str]:
    """Two transactions with output do not commit offsets of the same input."""
    reached: dict[Position, tuple[int, int]] = {}
    for each in work.inputs:
        producer_id, offsets = each.producer_id, each.offsets
        before = {place: reached[place] for place in offsets if place in reached}
        goes_back = [place for place, (offset, _) in before.items() if offsets[place] < offset]
        stands_still = len(before) == len(offsets) and all(offsets[place] <= before[place][0] for place in before)
        if each.has_output and (goes_back or stands_still):
            place = (goes_back or sorted(before))[0]
            offset, other = before[place]
            yield (
                f"group {place[0]!r} had committed {_partition(place)} up to offset {offset} with what "
                f"{work.name_of(other)} wrote; then {work.name_of(producer_id)} committed offset {offsets[place]} "
                f"of it with output in {_outputs(work, producer_id)}: the same input has output twice"
            )
        for place, offset in offsets.items():
            if place not in reached or offset >= reached[place][0]:
                reached[place] = offset, producer_id


def offsets_are_committed_with_the_output(work: Work) -> Iterator[str]:
    """Whoever writes output in transactions commits where to go on reading in them, too."""
    topics = {span.partition[0] for spans in work.outputs.values() for span in spans}
    with_input = {each.producer_id for each in work.inputs}
    inside = {place for each in work.inputs for place in each.offsets}
    without = sorted(set(work.outputs) - with_input)
    for place, offset in sorted(work.outside.items()):
        if without and offset > 0 and place not in inside and place[1] not in topics:
            yield (
                f"group {place[0]!r} committed offset {offset} of {_partition(place)} outside of any transaction, and "
                f"{work.name_of(without[0])} committed output in {_outputs(work, without[0])} without any offset: "
                "whoever crashes between the two writes the output of some input twice, or never; hand the offsets to "
                "send_offsets_to_transaction"
            )


def output_is_committed_with_the_offsets(work: Work) -> Iterator[str]:
    """A producer that commits offsets in transactions writes its output in them, too.

    One that has no output in any transaction may need none. So records outside of transactions count only if they were
    written while it worked, and to a topic of which no group commits offsets: to others, tests write their input.
    """
    inputs = {place[1] for each in work.inputs for place in each.offsets} | {place[1] for place in work.outside}
    last = {each.producer_id: each.committed_ms for each in work.inputs if any(each.offsets.values())}
    for producer_id, until_ms in sorted(last.items()):
        name = work.names.get(producer_id)
        if name is None or any(work.names.get(other) == name for other in work.outputs):
            continue
        since_ms = work.initialized_ms[name]
        beside = [
            place
            for place, times in sorted(work.plain.items())
            if place[0] not in inputs and any(since_ms <= time <= until_ms for time in times)
        ]
        if beside:
            group, topic, number = min(
                place for each in work.inputs if each.producer_id == producer_id for place in each.offsets
            )
            yield (
                f"group {group!r} commits offsets of {topic}-{number} in transactions of {name!r} that have no output, "
                f"while records are written to {', '.join(f'{one}-{other}' for one, other in beside)} outside of any "
                "transaction: whoever crashes between the two writes the output of some input twice, or never; write "
                "the output with the transactional producer"
            )


def _partition(place: Position) -> str:
    return f"{place[1]}-{place[2]}"


def _outputs(work: Work, producer_id: int) -> str:
    return ", ".join(
        sorted({f"{topic}-{number}" for span in work.outputs[producer_id] for topic, number in [span.partition]})
    )


OWED: Final[Mapping[str, Callable[[Work], Iterator[str]]]] = {
    each.__name__: each
    for each in (
        no_input_is_committed_twice,
        offsets_are_committed_with_the_output,
        output_is_committed_with_the_offsets,
    )
}
"""What applications owe, by name."""


def judge_applications(cluster: Cluster) -> list[Broken]:
    """What applications owed and did not keep, by the logs of a cluster."""
    work = work_of(cluster)
    return [Broken(name, story) for name, judge in OWED.items() for story in judge(work)]
