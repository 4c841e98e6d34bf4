"""What clients of releases before transaction version 2 can see that no client of the newest does; and what none may.

A soak under the rules of an older release finds these; each is told here by its shortest history. They are
weaknesses of those releases and not of our brokers: KIP-890 is about the first, `refused_commit_keeps_pending`
about the second.
"""

from dataclasses import dataclass, field

import pytest

from tests.soak.soak import Soak
from tests.soak.weather import Weather
from tests.store.clients import Notebook, read_all
from tests.store.workloads import SETTINGS
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.embedded import Embedded
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.groups import (
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetsCommitted,
    OffsetToCommit,
    TxnOffsetCommit,
)
from zombieproof.messages.partitions import Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    EndTxn,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
    TransactionToAdd,
)
from zombieproof.model.rules import preset, with_switches
from zombieproof.model.vocabulary import NONE, Error, Isolation
from zombieproof.traces.history.anomalies import Anomaly
from zombieproof.traces.history.events import FinalRead
from zombieproof.traces.history.judge import judge

T0: TopicPartition = ("t", 0)
IN0: TopicPartition = ("in", 0)
OLD, NEW = "3.9", "newest"


@dataclass
class Instance:
    """One producer, request by request: what travels late arrives where the test says."""

    embedded: Embedded
    notes: Notebook
    process: str
    is_new: bool
    identity: tuple[int, int] = (NONE, NONE)
    sequence: int = 0
    names: int = field(default=0)

    def init(self) -> None:
        answer = self.embedded.ask(InitProducerId(4, "a", 60_000, NONE, NONE))
        assert isinstance(answer, InitProducerIdAnswer)
        assert answer.error == Error.NONE
        self.identity = answer.producer_id, answer.producer_epoch

    def begin(self) -> str:
        self.names += 1
        self.notes.begin(self.process, self.label)
        return self.label

    @property
    def label(self) -> str:
        return f"{self.process}.{self.names}"

    def send(self, value: str) -> None:
        self.notes.send(self.process, "t-0", value, self.label)
        if not self.is_new:
            whole = TransactionToAdd("a", *self.identity, (T0,), verify_only=False)
            added = self.embedded.ask(AddPartitionsToTxn(3, (whole,)))
            assert isinstance(added, AddPartitionsToTxnAnswer)
        records = (Record(None, value.encode()),)
        batch = Batch(*self.identity, self.sequence, True, records, last_offset_delta=0, timestamp_ms=1)
        answer = self.embedded.ask(Produce(12 if self.is_new else 11, "a", -1, {T0: (SentBatch(batch),)}))
        assert isinstance(answer, ProduceAnswer)
        told = answer.partitions[T0]
        assert told.error == Error.NONE, Error(told.error)
        self.sequence += 1
        self.notes.acknowledged(self.process, value, told.base_offset)

    def the_end(self) -> EndTxn:
        return EndTxn(5 if self.is_new else 4, "a", *self.identity, True)

    def commit(self) -> EndTxnAnswer:
        self.notes.commit(self.process, self.label)
        answer = self.told(self.the_end())
        assert answer.error == Error.NONE
        self.notes.committed(self.process, self.label)
        if self.is_new:
            self.identity, self.sequence = (answer.producer_id, answer.producer_epoch), 0
        return answer

    def told(self, end: EndTxn) -> EndTxnAnswer:
        answer = self.embedded.ask(end)
        assert isinstance(answer, EndTxnAnswer)
        while self.embedded.pump():
            pass
        return answer


def instance(release: str, on: tuple[str, ...] = ()) -> Instance:
    rules = with_switches(preset(release), on=on)
    embedded = Embedded(topics={"t": 1, "in": 1}, settings=SETTINGS, rules=rules, clock=ManualClock(1 << 40))
    found = Instance(embedded, Notebook(), "A", release == NEW)
    found.init()
    return found


def anomalies(one: Instance) -> set[Anomaly]:
    return {finding.anomaly for finding in judge(one.notes.as_history()).findings}


@pytest.mark.parametrize(("release", "seen"), [(OLD, {Anomaly.DIRTY_READ}), (NEW, set())])
def test_the_late_copy_of_an_end_ends_the_next_transaction_before_version_2(release: str, seen: set[Anomaly]) -> None:
    one = instance(release)
    one.begin()
    one.send("v")
    late = one.the_end()
    one.commit()
    one.begin()
    one.send("w")
    one.told(late)
    read_all(one.embedded, one.notes, "R", T0, Isolation.READ_COMMITTED)
    # It is no last look: the transaction goes on.
    one.notes.take(event for event in one.notes.as_history().events if not isinstance(event, FinalRead))
    one.commit()
    assert anomalies(one) == seen


def test_the_answer_to_an_end_names_a_producer_only_from_version_5_on() -> None:
    old, new = instance(OLD), instance(NEW)
    for one in (old, new):
        one.begin()
        one.send("v")
    end = old.the_end()
    first, again = old.told(end), old.told(end)
    assert (first.error, first.producer_id, first.producer_epoch) == (Error.NONE, NONE, NONE)
    assert again == first
    assert new.told(new.the_end()).producer_id == new.identity[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [18, 21, 22])
def test_an_end_that_is_repeated_loses_nothing_of_an_older_producer(seed: int) -> None:
    """Whoever took its own epoch for a new one would begin its sequences anew, and lose what looks like a copy."""
    found = Soak(seed, 100, rules=preset(OLD), weather=Weather(late=0.05, doubled=0.02)).run()
    assert [finding.message for finding in found.verdict.findings] == []


@pytest.mark.parametrize(("on", "committed"), [((), -1), (("refused_commit_keeps_pending",), 7)])
def test_the_offsets_of_a_zombie_take_along_those_that_wait_before_4_0(on: tuple[str, ...], committed: int) -> None:
    zombie = instance(OLD, on)
    successor = Instance(zombie.embedded, zombie.notes, "B", False)
    successor.init()

    def send_offsets(one: Instance, offset: int) -> int:
        row = OffsetToCommit(IN0, offset, "")
        answer = one.embedded.ask(TxnOffsetCommit(3, "a", "g", *one.identity, (row,)))
        assert isinstance(answer, OffsetsCommitted)
        return answer.errors[IN0]

    label = successor.begin()
    joined = successor.embedded.ask(AddOffsetsToTxn(3, "a", *successor.identity, "g"))
    assert isinstance(joined, AddOffsetsToTxnAnswer)
    successor.notes.commit_offsets("B", "g", {"in-0": 7}, label)
    assert send_offsets(successor, 7) == Error.NONE
    successor.notes.offsets_committed("B", "ok")
    assert send_offsets(zombie, 3) == Error.INVALID_PRODUCER_EPOCH
    successor.commit()
    since = successor.notes.now()
    answer = successor.embedded.ask(OffsetFetch(7, "g", require_stable=True, partitions=(IN0,)))
    assert isinstance(answer, OffsetFetchAnswer)
    assert answer.partitions[IN0].offset == committed
    successor.notes.fetched("last", "g", {"in-0": committed}, since=since)
    assert anomalies(successor) == (set() if on else {Anomaly.LOST_OFFSET})
    # The log has them all the same: whoever loads the group again knows better.
    log = successor.embedded.cluster.stores[1, (CONSUMER_OFFSETS, 0)].log
    assert any(getattr(record.value, "offset", None) == 7 for batch in log.read() for record in batch.records)
