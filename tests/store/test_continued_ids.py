"""Ids whose newest states are lost: after a repair each goes on, wherever its log was cut."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import pytest

from tests.store.clients import AGAIN, Client, NoAnswer, Notebook
from tests.store.damages import _records, boundaries
from tests.store.workloads import DATA, GROUP, T0, T1, Stage, open_on
from zombieproof.broker import repairing
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.continued_ids import Continued, InLog, Replica, continued
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.repairing import Repairs
from zombieproof.broker.store.fault_disk import Fate, Fault, FaultDisk, Plan, PowerLost
from zombieproof.formats.batches import Batch, Record, TransactionValue
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.groups import OffsetsCommitted, OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.partitions import Fetch, FetchAnswer, Produce, ProduceAnswer, SentBatch
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
from zombieproof.model.vocabulary import NONE, Error, Isolation, TransactionState

LATER_MS = 44_000_000
STATES = "broker-1/__transaction_state-0"


def stopped(*, is_clean: bool) -> FaultDisk:
    """A directory with three transactions of two ids: one partition, both, and none of the records in one."""
    disk = FaultDisk()
    stage = Stage(disk, Notebook(), 0)
    for name in ("a", "b"):
        client = stage.client(name)
        for number in range(3):
            client.begin(f"{name} {number}")
            for partition in DATA[: 1 + number % 2]:
                assert client.send(partition, f"{name} {number} {partition}") == Error.NONE
            assert client.end(committed=number != 1) == Error.NONE
    stage.clock.advance(2_000)
    while stage.embedded.pump():
        pass
    (stage.embedded.close if is_clean else stage.embedded.abandon)()
    disk.close()
    return disk


def goes_on(disk: FaultDisk, name: str) -> bool:
    """Whether a new client of an id can write a transaction."""
    embedded = open_on(disk, ManualClock(LATER_MS))
    try:
        client = Client(embedded, Notebook(), "after", name)
        client.init()
        client.begin("after")
        errors = {client.send(T0, "after"), client.end(committed=True)}
    except NoAnswer:
        return False
    finally:
        embedded.abandon()
        disk.close()
    return errors == {Error.NONE}


def cuts(disk: FaultDisk) -> list[tuple[str, int]]:
    """Every end of a batch at which a log of states can be cut."""
    names = sorted(name for name in disk.listed(STATES) if name.endswith(".log"))
    last = f"{STATES}/{[name for name in names if disk.size(f'{STATES}/{name}')][-1]}"
    return [(last, at) for at in boundaries(disk.read(last))]


@pytest.mark.parametrize("is_clean", [True, False])
def test_ids_go_on_after_a_repair_wherever_the_log_of_their_states_is_cut(is_clean: bool) -> None:
    whole, refused = stopped(is_clean=is_clean), 0
    for path, at in cuts(whole):
        disk = whole.copy()
        disk.truncate(path, at)
        repaired = Repairs(disk, "kept").apply()
        assert all("the newest epochs in the data" in each.loses for each in repaired), at
        refused += len(repaired)
        assert [goes_on(disk, name) for name in ("a", "b")] == [True, True], at
    # After a kill, a last batch that was not recorded yet may be one that was never written.
    assert refused >= len(cuts(whole)) - (not is_clean)


def test_without_the_epochs_of_the_data_an_id_stays_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repairing, "continued", lambda *_: Continued(None, ""))
    whole, locked = stopped(is_clean=True), 0
    for path, at in cuts(whole):
        disk = whole.copy()
        disk.truncate(path, at)
        Repairs(disk, "kept").apply()
        locked += not (goes_on(disk, "a") and goes_on(disk, "b"))
    assert locked > 0


@pytest.mark.slow
def test_ids_go_on_after_a_repair_that_was_interrupted_and_is_run_again() -> None:
    whole = stopped(is_clean=True)
    path, at = cuts(whole)[1]
    damaged = whole.copy()
    damaged.truncate(path, at)
    once = damaged.copy()
    Repairs(once, "kept").apply()
    for operation in range(1, once.operations + 1):
        disk = damaged.copy()
        disk.plan = Plan(operation, Fault.CRASH)
        with suppress(PowerLost):
            Repairs(disk, "kept").apply()
        left = disk.survivor(Fate.KEPT)
        Repairs(left, "kept again").apply()
        assert [goes_on(left, name) for name in ("a", "b")] == [True, True], operation


# ---------------------------------------------------------------- open and decided transactions


class Process:
    """A producer of transaction version 0 or 2, which notes the values of its transactions."""

    def __init__(self, embedded: Embedded, version: int) -> None:
        self.embedded, self.version = embedded, version
        self.sequences = dict[TopicPartition, int]()
        self.added = set[TopicPartition]()
        self.transactions = list[dict[TopicPartition, list[str]]]()
        self.committed = set[int]()
        answer = self._ask(InitProducerId(5 if version == 2 else 3, "a", 60_000, NONE, NONE))
        assert isinstance(answer, InitProducerIdAnswer)
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    def _ask(self, request: Request) -> Answer:
        for _ in range(50):
            answer = self.embedded.ask(request)
            match answer:
                case AddPartitionsToTxnAnswer():
                    errors = set(answer.transactions[0].errors.values())
                case ProduceAnswer():
                    errors = {each.error for each in answer.partitions.values()}
                case OffsetsCommitted():
                    errors = set(answer.errors.values())
                case InitProducerIdAnswer() | AddOffsetsToTxnAnswer() | EndTxnAnswer():
                    errors = {answer.error}
                case _:
                    errors = {Error.UNKNOWN_SERVER_ERROR}
            if not errors & AGAIN:
                break
        assert errors == {Error.NONE}, answer
        assert answer is not None
        return answer

    def begin(self) -> None:
        self.transactions.append({})
        self.added.clear()

    def send(self, partition: TopicPartition) -> None:
        values = self.transactions[-1].setdefault(partition, [])
        values.append(f"{len(self.transactions)} {partition} {len(values)}")
        if self.version < 2 and partition not in self.added:
            self.added.add(partition)
            added = TransactionToAdd("a", self.producer_id, self.epoch, (partition,))
            self._ask(AddPartitionsToTxn(3, (added,)))
        batch = Batch(
            self.producer_id,
            self.epoch,
            self.sequences.get(partition, 0),
            transactional=True,
            records=(Record(None, values[-1].encode()),),
            timestamp_ms=self.embedded.clock.now_ms(),
        )
        self._ask(Produce(12 if self.version == 2 else 11, "a", -1, {partition: (SentBatch(batch),)}))
        self.sequences[partition] = self.sequences.get(partition, 0) + 1

    def send_offset(self, offset: int) -> None:
        if self.version < 2:
            self._ask(AddOffsetsToTxn(3, "a", self.producer_id, self.epoch, GROUP))
        sent = (OffsetToCommit(("in", 0), offset, ""),)
        self._ask(TxnOffsetCommit(5 if self.version == 2 else 3, "a", GROUP, self.producer_id, self.epoch, sent))

    def end(self, *, committed: bool) -> None:
        if committed:
            self.committed.add(len(self.transactions) - 1)
        answer = self._ask(EndTxn(5 if self.version == 2 else 3, "a", self.producer_id, self.epoch, committed))
        if self.version == 2:
            assert isinstance(answer, EndTxnAnswer)
            self.epoch = answer.producer_epoch
            self.sequences.clear()


@dataclass(frozen=True)
class Image:
    """A killed directory, and the transactions that were sent and decided up to then."""

    disk: FaultDisk
    transactions: list[dict[TopicPartition, list[str]]]
    committed: set[int]


@cache
def images(version: int) -> list[Image]:
    """Directories that kills leave between any two records and markers of five transactions, the last one open."""
    disk, found = FaultDisk(), list[Image]()
    stage = Stage(disk, Notebook(), 0)
    process = Process(stage.embedded, version)

    def look() -> None:
        last = disk.log[-1] if disk.log else ""
        if last.startswith(("write broker-1/t-", "write broker-1/__consumer_offsets")) and last.endswith(".log"):
            copied = [{each: [*values] for each, values in one.items()} for one in process.transactions]
            found.append(Image(disk.copy(), copied, set(process.committed)))

    disk.before = look
    for number, (partitions, committed) in enumerate(
        [((T0, T1), True), ((T1,), False), ((T0,), True), ((T0, T1), True), ((T1, T0), None)]
    ):
        process.begin()
        for partition in partitions:
            process.send(partition)
        process.send_offset(number)
        # What was written so far is recorded: a log of states that lacks any of it is refused.
        stage.clock.advance(2_000)
        while stage.embedded.pump():
            pass
        if committed is not None:
            process.end(committed=committed)
    look()
    stage.embedded.abandon()
    disk.before = None
    found.append(Image(disk.copy(), process.transactions, process.committed))
    return found


def read_after(disk: FaultDisk) -> tuple[dict[TopicPartition, list[str]], list[TopicPartition]]:
    """The values that are committed once a new process of the id has ended a transaction; where one is open still."""
    embedded = open_on(disk, ManualClock(LATER_MS))
    try:
        client = Client(embedded, Notebook(), "after", "a")
        client.init()
        client.begin("after")
        assert {client.send(each, f"after {each}") for each in DATA} == {Error.NONE}
        assert client.send_offsets(GROUP, {("in", 1): 7}) == Error.NONE
        assert client.end(committed=True) == Error.NONE
        while embedded.pump():
            pass
        values, unstable = dict[TopicPartition, list[str]](), list[TopicPartition]()
        for partition in (*DATA, (CONSUMER_OFFSETS, 0)):
            answer = embedded.ask(Fetch(12, Isolation.READ_COMMITTED, {partition: 0}))
            assert isinstance(answer, FetchAnswer)
            fetched = answer.partitions[partition]
            if fetched.last_stable_offset != fetched.high_watermark:
                unstable.append(partition)
            if partition in DATA:
                rows = _records(fetched, skips_aborted=True)
                read = [row[2].decode() for row in rows if isinstance(row[2], bytes)]
                values[partition] = [value for value in read if not value.startswith("after")]
    finally:
        embedded.abandon()
        disk.close()
    return values, unstable


def damaged_images(version: int, every: int) -> Iterator[tuple[Image, FaultDisk, str]]:
    """Images, each with its log of states cut where that is noticed, or with a damaged state in it."""
    number = 0
    for place, image in enumerate(images(version)):
        for how in ("cut", "bit"):
            for path, at in cuts(image.disk):
                number += 1
                if number % every:
                    continue
                disk = image.disk.copy()
                if how == "cut":
                    disk.truncate(path, at)
                else:
                    disk.damage(path, 8 * (at + 70))
                yield image, disk, f"image {place}, {path}, {how} at {at}"


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("version", "every"),
    [(0, 17), (2, 17), pytest.param(0, 1, marks=pytest.mark.slow), pytest.param(2, 1, marks=pytest.mark.slow)],
)
def test_a_repair_of_lost_states_commits_nothing_that_nobody_has_committed(version: int, every: int) -> None:
    repaired = 0
    for image, disk, how in damaged_images(version, every):
        done = Repairs(disk, "kept").apply()
        if not done:
            continue  # Of the last second before a kill nothing is recorded: the states look as if they were torn.
        repaired += 1
        values, unstable = read_after(disk)
        said = "; ".join(each.loses for each in done)
        named = said.partition("of which no id is left")[2]
        assert all(f"in {topic}-{number}" in named for topic, number in unstable), (how, unstable, said)
        read = {value for each in values.values() for value in each}
        for number, sent in enumerate(image.transactions):
            of_one = {value for each in sent.values() for value in each}
            if number not in image.committed:
                assert not read & of_one, (how, done)
            elif version == 2 and not unstable:
                assert read & of_one in (set(), of_one), (how, done)
    assert repaired > 4, repaired


def test_open_transactions_without_an_id_are_named() -> None:
    disk = images(2)[-1].disk.copy()
    for name in disk.listed(STATES):
        if name.endswith(".log"):
            disk.truncate(f"{STATES}/{name}", 0)
    said = "; ".join(each.loses for each in Repairs(disk, "kept").apply())
    for words in ("kafka-transactions.sh abort", "producer id 0 in t-0", f"producer id 0 in {CONSUMER_OFFSETS}-0"):
        assert words in said, said


# ---------------------------------------------------------------- each rule


PREPARE_COMMIT, PREPARE_ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
ONGOING, EMPTY = TransactionState.ONGOING, TransactionState.EMPTY
COMPLETE_COMMIT, COMPLETE_ABORT = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT
OFFSETS = (CONSUMER_OFFSETS, 0)

State = tuple[TransactionState, int, set[TopicPartition]]


@dataclass(frozen=True)
class Case:
    """An outdated state with its transaction version, the data, and the state that follows."""

    version: int
    before: State
    data: dict[TopicPartition, InLog]
    after: State
    is_whole: bool = True


CASES = {
    "decided, and no marker is written": Case(
        2, (PREPARE_COMMIT, 1, {T0}), {T0: InLog(0, 0)}, (PREPARE_COMMIT, 1, {T0})
    ),
    "decided, and one marker is written": Case(
        2, (PREPARE_COMMIT, 1, {T0, T1}), {T0: InLog(1, NONE, {1: True}, {0: True}), T1: InLog(0, 0)},
        (PREPARE_COMMIT, 1, {T0, T1}),
    ),
    "decided and completed, and the next one is open": Case(
        2, (PREPARE_COMMIT, 1, {T0}), {T0: InLog(1, 1, {1: True}, {0: True})}, (ONGOING, 1, {T0})
    ),
    "the next one is open elsewhere": Case(
        2, (PREPARE_ABORT, 1, {T0}), {T0: InLog(1, NONE, {1: False}, {0: False}), OFFSETS: InLog(1, 1)},
        (ONGOING, 1, {OFFSETS}),
    ),
    "a marker shows that it is committed": Case(
        2, (ONGOING, 0, {T0}), {T0: InLog(1, NONE, {1: True}, {0: True}), OFFSETS: InLog(0, 0)},
        (PREPARE_COMMIT, 1, {OFFSETS}),
    ),
    "a marker shows that it is aborted": Case(
        2, (ONGOING, 0, {T0}), {T0: InLog(1, NONE, {1: False}, {0: False}), T1: InLog(0, 0)}, (PREPARE_ABORT, 1, {T1})
    ),
    "committed, and a marker is lost": Case(
        2, (COMPLETE_COMMIT, 1, set()), {T0: InLog(0, 0)}, (PREPARE_COMMIT, 1, {T0})
    ),
    "committed some time ago, and nothing is open": Case(
        2, (ONGOING, 0, {T0}), {T0: InLog(3, NONE, {3: True}, {2: True})}, (COMPLETE_COMMIT, 3, set())
    ),
    "more partitions than the state lists": Case(
        2, (ONGOING, 4, {T0}), {T0: InLog(4, 4), T1: InLog(4, 4)}, (ONGOING, 4, {T0, T1})
    ),
    "an old open one and a newer one": Case(
        2, (COMPLETE_ABORT, 5, set()), {T0: InLog(5, 5), T1: InLog(2, 2)}, (ONGOING, 5, {T0, T1})
    ),
    "older than the epoch of the id": Case(2, (EMPTY, 5, set()), {T1: InLog(2, 2)}, (PREPARE_ABORT, 5, {T1})),
    "the first of its epoch, decided": Case(
        0, (PREPARE_COMMIT, 0, {T0}), {T0: InLog(0, 0)}, (PREPARE_COMMIT, 0, {T0})
    ),
    "the first of its epoch, if no marker was deleted": Case(
        0, (PREPARE_COMMIT, 0, {T0}), {T0: InLog(0, 0)}, (ONGOING, 1, {T0}), is_whole=False
    ),
    "one of two of its epoch, decided": Case(
        0, (PREPARE_COMMIT, 0, {T0}), {T0: InLog(0, 0, {0: True})}, (ONGOING, 1, {T0})
    ),
    "decided, without a partition that is open": Case(
        0, (PREPARE_COMMIT, 0, {T0}), {T1: InLog(0, 0)}, (ONGOING, 1, {T1})
    ),
    "aborted, or the next one": Case(0, (PREPARE_ABORT, 0, {T0}), {T0: InLog(0, 0)}, (ONGOING, 1, {T0})),
    "completed at the same epoch": Case(1, (COMPLETE_COMMIT, 3, set()), {T0: InLog(3, 3)}, (ONGOING, 4, {T0})),
    "fenced, and aborted in part": Case(
        0, (PREPARE_ABORT, 4, {T0, T1}), {T0: InLog(4, NONE, {4: False}, {3: False}), T1: InLog(3, 3)},
        (PREPARE_ABORT, 4, {T1}),
    ),
    "no epoch is left": Case(0, (EMPTY, 32766, set()), {T0: InLog(32766, 32766)}, (ONGOING, 32766, {T0})),
}  # fmt: skip


def value_of(state: State, version: int) -> TransactionValue:
    return TransactionValue(7, NONE, NONE, state[1], NONE, 60_000, state[0], frozenset(state[2]), 5, 5, version)


def logs_of(case: Case) -> dict[TopicPartition, Replica]:
    data = {partition: Replica(9, case.is_whole, {7: log}) for partition, log in case.data.items()}
    return {each: data.get(each, Replica(9, case.is_whole)) for each in (T0, T1, OFFSETS)}


def continued_state(case: Case, lost: tuple[int, int]) -> State:
    before = value_of(case.before, case.version)
    batch = Batch(records=(Record("a", before),), base_offset=3)
    found = continued([batch], [lost], logs_of(case), 9).batch
    after = before if found is None else found.records[0].value
    assert isinstance(after, TransactionValue)
    assert (after.producer_id, after.start_ms) == (7, 5)
    return after.state, after.producer_epoch, set(after.partitions)


@pytest.mark.parametrize("name", CASES)
def test_an_outdated_state_is_followed_by_one_that_ends_what_is_open(name: str) -> None:
    case = CASES[name]
    assert continued_state(case, (4, 5)) == case.after
    assert continued_state(case, (0, 3)) == case.before, "nothing is lost after the state"
