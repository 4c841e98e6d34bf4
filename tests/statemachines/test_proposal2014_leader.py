"""The leader of a partition of the 2014 proposal step by step: payload, control records, a new leader, offsets."""

import copy
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.model.proposal2014.records import LOG, OFFSETS, KnownProducer, Leader, Log, Pending, Record, Request
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import Answer, LeaderState, OffsetsState, RecordKind, RequestKind
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.notes import MachineIndex, Notes
from zombieproof.statemachines.proposal2014 import leader as steps

PLAIN, PAYLOAD = RecordKind.PLAIN, RecordKind.PAYLOAD
COMMITTED, ABORTED = RecordKind.CONTROL_COMMITTED, RecordKind.CONTROL_ABORTED


@dataclass
class Partition:
    """A leader and its log; `number` says of which partition."""

    rules: Rules = field(default_factory=Rules)
    number: int = 0
    memory: Leader = field(default_factory=Leader)
    log: Log = field(default_factory=Log)
    notes: Notes = field(default_factory=Notes)

    def tell(self, t: int, producer: int = 0, generation: int = 0) -> None:
        steps.be_told(self.memory, t, producer, generation, self.notes)

    def append(
        self, t: int, producer: int = 0, generation: int = 0, instance: int = 0, block: int = 0, number: int = 0
    ) -> int:
        asked = Request(int(RequestKind.PAYLOAD), instance, producer, generation, t, 0, self.number, block, number)
        return steps.append_payload(self.memory, self.log, asked, self.rules, self.notes)

    def control(self, t: int, *, commits: bool = True) -> None:
        steps.append_control(self.memory, self.log, self.number, t, commits, self.rules, self.notes)

    def take_over(self) -> None:
        steps.take_over(self.memory, self.log, self.number, self.rules, self.notes)

    def state(self, t: int) -> LeaderState:
        return LeaderState(self.memory.pending[t].state)

    def offsets(self) -> OffsetsState:
        return OffsetsState(self.memory.offsets)

    @property
    def records(self) -> list[tuple[RecordKind, int]]:
        return [(RecordKind(each.kind), each.transaction) for each in self.log.records[: self.log.end]]


def log_of(*records: tuple[RecordKind, int] | Record) -> Log:
    """A log with these records: (kind, TxId), or as they are."""
    log = Log()
    for record in records:
        its = record if isinstance(record, Record) else Record(int(record[0]), record[1])
        log.records[log.end] = its
        log.end += 1
    return log


def test_payload_is_appended_with_its_tx_id_and_nothing_of_its_producer() -> None:
    """§10.3: producerId and generation travel in the request envelope only and are not stored."""
    partition = Partition()
    partition.tell(1, producer=1, generation=2)
    assert partition.append(1, producer=1, generation=2, instance=1, block=2, number=1) == Answer.DONE
    assert partition.log.records[0] == Record(int(PAYLOAD), 1, 2, 1)
    assert partition.log.end == 1
    assert partition.state(1) == LeaderState.PENDING
    assert partition.memory.known[1] == KnownProducer(generation=2, connected=2)
    assert partition.memory.pending[1] == Pending(int(LeaderState.PENDING), 1)
    assert partition.offsets() == OffsetsState.SETTLED, "this is no partition of offsets"


def test_payload_of_a_tx_id_that_nobody_told_is_refused_or_tells_it() -> None:
    """§10.7: how leaders learn of pending TxIds before the first payload is not said."""
    partition, learning = Partition(), Partition(Rules(leaders_are_told=0))
    assert partition.append(0) == Answer.UNKNOWN_TRANSACTION
    assert (partition.records, partition.memory) == ([], Leader())
    assert learning.append(0, producer=1) == Answer.DONE
    assert learning.memory.pending[0] == Pending(int(LeaderState.PENDING), 1)


def test_payload_behind_an_abort_is_refused_or_of_an_unknown_transaction() -> None:
    """§10.7: reject payload whose TxId is not a valid pending transaction, since an abort marker can overtake it."""
    for rules, answer in (
        (Rules(), Answer.ABORTED),
        (Rules(leaders_remember_finished=0), Answer.UNKNOWN_TRANSACTION),
        (Rules(leaders_remember_finished=0, leaders_are_told=0), Answer.DONE),
    ):
        partition = Partition(rules)
        partition.tell(0)
        partition.control(0, commits=False)
        assert partition.append(0) == answer
        assert len(partition.records) == (2 if answer == Answer.DONE else 1)


def test_an_older_generation_is_refused_from_when_a_newer_one_is_told_or_heard() -> None:
    """§10.7: data leaders remember the current generation and reject requests of an older one."""
    for rules, answer in ((Rules(), Answer.STALE_GENERATION), (Rules(leaders_fence=0), Answer.DONE)):
        told, heard = Partition(rules), Partition(rules)
        for partition in (told, heard):
            partition.tell(0, generation=0)
            partition.append(0, generation=0)
        told.tell(1, generation=1)
        heard.append(0, generation=1, instance=1)
        assert told.append(0, generation=0) == heard.append(0, generation=0) == answer


def test_a_second_connection_closes_both_and_appends_nothing() -> None:
    """§10.7: leaders do likewise."""
    partition, admitting = Partition(), Partition(Rules(one_connection=0))
    for each in (partition, admitting):
        each.tell(0)
        each.append(0, instance=0)
    assert partition.append(0, instance=1) == Answer.TWO_CONNECTIONS
    assert partition.append(0, instance=0) == Answer.TWO_CONNECTIONS
    assert len(partition.records) == 1
    assert partition.memory.known[0] == KnownProducer(0, 1, closed=True)
    assert admitting.append(0, instance=1) == Answer.DONE


def test_who_is_refused_otherwise_closes_nobody() -> None:
    partition = Partition()
    partition.tell(0, generation=1)
    partition.append(0, generation=1)
    assert partition.append(0, generation=0, instance=1) == Answer.STALE_GENERATION
    assert partition.memory.known[0] == KnownProducer(generation=1, connected=1)


@pytest.mark.parametrize(("commits", "kind"), [(True, COMMITTED), (False, ABORTED)])
def test_a_control_record_says_how_a_transaction_ends(commits: bool, kind: RecordKind) -> None:
    partition = Partition()
    partition.tell(2)
    partition.append(2)
    partition.control(2, commits=commits)
    assert partition.records == [(PAYLOAD, 2), (kind, 2)]
    assert partition.state(2) == LeaderState.FINISHED


def test_a_control_record_is_appended_whenever_the_coordinator_asks() -> None:
    """§10.6: control records may be duplicated on data partitions."""
    partition, forgetting = Partition(), Partition(Rules(leaders_remember_finished=0))
    for each, state in ((partition, LeaderState.FINISHED), (forgetting, LeaderState.UNKNOWN)):
        each.control(0)
        each.control(0)
        assert each.records == [(COMMITTED, 0)] * 2
        assert (each.state(0), each.notes.illegal) == (state, 0)


def test_being_told_makes_a_tx_id_pending_and_changes_nothing_of_one_that_has_ended() -> None:
    partition = Partition()
    partition.tell(0, producer=1, generation=3)
    assert partition.memory.pending[0] == Pending(int(LeaderState.PENDING), 1)
    assert partition.memory.known[1] == KnownProducer(generation=3)
    partition.tell(0, producer=1, generation=3)
    assert partition.state(0) == LeaderState.PENDING
    partition.control(0)
    partition.tell(0, producer=1, generation=3)
    assert (partition.state(0), partition.notes.illegal) == (LeaderState.FINISHED, 0)


def test_being_told_of_a_newer_generation_drops_the_connection_of_the_older_one() -> None:
    partition = Partition()
    partition.memory.known[0] = KnownProducer(1, 1, closed=True)
    partition.tell(0, generation=1)
    partition.tell(1, generation=0)
    assert partition.memory.known[0] == KnownProducer(1, 1, closed=True)
    partition.tell(2, generation=2)
    assert partition.memory.known[0] == KnownProducer(2)


def test_generations_are_kept_or_go_with_the_last_pending_transaction() -> None:
    kept, forgetting = Partition(), Partition(Rules(generations_are_kept=0))
    for each in (kept, forgetting):
        each.tell(0, generation=3)
        each.tell(1, generation=3)
        each.tell(2, producer=1, generation=1)
        each.append(0, generation=3)
        each.control(0)
        assert each.memory.known[0] == KnownProducer(generation=3, connected=1), "another one of it is pending"
        each.control(1)
        assert each.memory.known[1].generation == 1
    assert kept.memory.known[0] == KnownProducer(generation=3, connected=1)
    assert forgetting.memory.known[0] == KnownProducer()


def test_a_control_record_of_an_unknown_tx_id_forgets_nobody() -> None:
    """Nobody has said whose it is."""
    partition = Partition(Rules(generations_are_kept=0))
    partition.memory.known[1] = KnownProducer(generation=2)
    partition.control(0)
    assert partition.memory.known == [KnownProducer(), KnownProducer(generation=2)]


def test_a_new_leader_reads_its_log_or_knows_of_no_tx_id() -> None:
    """§10.6: the new leader must know pending TxIds (from the log)."""
    for rules, found in (
        (Rules(), [LeaderState.PENDING, LeaderState.FINISHED, LeaderState.UNKNOWN]),
        (Rules(leaders_remember_finished=0), [LeaderState.PENDING, LeaderState.UNKNOWN, LeaderState.UNKNOWN]),
        (Rules(new_leaders_read_their_logs=0), [LeaderState.UNKNOWN] * 3),
    ):
        partition = Partition(rules)
        for t in range(3):
            partition.tell(t, generation=2)
        partition.append(0, generation=2)
        partition.append(1, generation=2)
        partition.control(1)
        partition.log.records[partition.log.end].kind = int(PLAIN)
        partition.log.end += 1
        partition.take_over()
        assert [partition.state(t) for t in range(3)] == found
        assert partition.notes.illegal == 0
        assert partition.memory.known == [KnownProducer()] * 2, "records say nothing of generations"
        assert {each.producer for each in partition.memory.pending} == {NONE}


def test_a_new_leader_knows_of_no_connection() -> None:
    partition = Partition()
    partition.memory.known[1] = KnownProducer(2, 1, closed=True)
    partition.take_over()
    assert partition.memory.known == [KnownProducer()] * 2
    forgetting = Partition(Rules(generations_are_kept=0))
    forgetting.tell(0, generation=2)
    forgetting.memory.known[0] = KnownProducer(2, 1, closed=True)
    forgetting.control(0)
    assert forgetting.memory.known[0] == KnownProducer()


def test_the_moves_of_a_step_say_whom_they_are_about() -> None:
    """A transaction by its TxId; the offsets of the group have no number."""
    partition = Partition(number=OFFSETS)
    partition.tell(2)
    partition.append(2)
    partition.control(2)
    moves = [(MachineIndex(each.machine).name, each.subject) for each in partition.notes.moves[: partition.notes.count]]
    leader, offsets = ("PROPOSAL2014_LEADER", 2), ("PROPOSAL2014_OFFSETS", 0)
    assert moves == [leader, leader, offsets, leader, offsets]


def test_offsets_of_a_group_are_unsettled_while_a_transaction_with_some_is_pending() -> None:
    """§10.5: offset fetch must answer an error while the group has a pending transaction."""
    partition = Partition(number=OFFSETS)
    for t in range(3):
        partition.tell(t)
    assert partition.offsets() == OffsetsState.SETTLED
    partition.control(2, commits=False)
    assert partition.offsets() == OffsetsState.SETTLED, "a transaction without offsets"
    partition.append(0)
    partition.append(1)
    assert partition.offsets() == OffsetsState.PENDING
    partition.control(0)
    assert partition.offsets() == OffsetsState.PENDING
    partition.control(1, commits=False)
    assert (partition.offsets(), partition.notes.illegal) == (OffsetsState.SETTLED, 0)


def test_a_new_leader_of_offsets_knows_from_its_log_whether_they_are_settled() -> None:
    for rules, offsets in (
        (Rules(), OffsetsState.PENDING),
        (Rules(new_leaders_read_their_logs=0), OffsetsState.SETTLED),
    ):
        partition = Partition(rules, number=OFFSETS)
        partition.tell(0)
        partition.append(0)
        partition.take_over()
        assert partition.offsets() == offsets
        partition.tell(0)
        partition.control(0)
        partition.take_over()
        assert (partition.offsets(), partition.notes.illegal) == (OffsetsState.SETTLED, 0)
    of_data = Partition(number=OFFSETS - 1)
    of_data.tell(0)
    of_data.append(0)
    of_data.take_over()
    assert of_data.offsets() == OffsetsState.SETTLED


@pytest.mark.parametrize(
    ("log", "watermark"),
    [
        (log_of(), 0),
        (log_of((PLAIN, 0)), 1),
        (log_of((PLAIN, 0), (PAYLOAD, 0), (PLAIN, 0)), 1),
        (log_of((PAYLOAD, 0), (PAYLOAD, 1), (COMMITTED, 0)), 1),
        (log_of((PAYLOAD, 0), (PAYLOAD, 1), (COMMITTED, 1)), 0),
        (log_of((PAYLOAD, 0), (PAYLOAD, 1), (COMMITTED, 1), (ABORTED, 0)), 4),
        (log_of((COMMITTED, 0), (PAYLOAD, 0)), 1),
        (log_of(Record(int(PAYLOAD), 0, is_cleaned=True), (PAYLOAD, 1)), 1),
    ],
    ids=lambda value: "" if isinstance(value, Log) else str(value),
)
def test_the_transactional_high_watermark_is_at_the_first_message_that_is_pending(log: Log, watermark: int) -> None:
    """§10.2: data log: offset of the first message of the oldest pending transaction."""
    assert steps.watermark(log) == watermark


def test_a_message_ends_at_the_first_control_record_of_its_tx_id_behind_it() -> None:
    log = log_of((COMMITTED, 0), (PAYLOAD, 0), (ABORTED, 1), (PAYLOAD, 0), (COMMITTED, 0), (COMMITTED, 0), (PAYLOAD, 0))
    assert [steps.ends_at(log, offset) for offset in (1, 3, 6)] == [4, 4, NONE]
    assert [steps.is_pending(log, offset) for offset in (1, 4, 6)] == [False, False, True]
    log.records[4].is_cleaned = True
    assert steps.ends_at(log, 1) == 5


def test_a_tx_id_has_ended_where_a_control_record_of_it_is() -> None:
    log = log_of((PAYLOAD, 0), (ABORTED, 0), (COMMITTED, 2), (PAYLOAD, 1))
    assert [steps.has_ended(log, t) for t in range(4)] == [True, False, True, False]
    log.records[1].is_cleaned = True
    assert not steps.has_ended(log, 0)


def offsets_log(*records: tuple[RecordKind, int, int]) -> Log:
    """A log of the offsets partition: (kind, TxId, block)."""
    return log_of(*(Record(int(kind), t, block) for kind, t, block in records))


@pytest.mark.parametrize(
    ("log", "position", "with_second"),
    [
        (offsets_log(), 0, 0),
        (offsets_log((PAYLOAD, 0, 0)), 0, 0),
        (offsets_log((PAYLOAD, 0, 0), (COMMITTED, 0, 0)), 1, 1),
        (offsets_log((PAYLOAD, 0, 1), (ABORTED, 0, 0)), 0, 0),
        (offsets_log((PAYLOAD, 0, 0), (COMMITTED, 0, 0), (PAYLOAD, 1, 1), (ABORTED, 1, 0)), 1, 1),
        (offsets_log((PAYLOAD, 0, 0), (COMMITTED, 0, 0), (PAYLOAD, 1, 1), (COMMITTED, 1, 0)), 2, 2),
        (offsets_log((PAYLOAD, 0, 0), (PAYLOAD, 1, 1), (COMMITTED, 1, 0), (COMMITTED, 0, 0)), 1, 1),
        (offsets_log((PAYLOAD, 0, 0), (COMMITTED, 0, 0), (PAYLOAD, 1, 1), (COMMITTED, 1, 0), (COMMITTED, 0, 0)), 2, 1),
        (offsets_log((PAYLOAD, 0, 0), (ABORTED, 0, 0), (COMMITTED, 0, 0)), 0, 1),
        (offsets_log((PAYLOAD, 0, 0), (COMMITTED, 0, 0), (COMMITTED, 1, 0)), 1, 1),
    ],
    ids=range(10),
)
def test_a_group_goes_on_behind_the_transaction_that_was_committed_last(
    log: Log, position: int, with_second: int
) -> None:
    """§10.3: G-LAST-COMMIT, value TxId. A second control record is ignored, or names its TxId again.

    A TxId without offsets of the group is no commit of the group; it is, where one key stands for all of them.
    """
    assert steps.committed_position(log, 0, 9, Rules()) == position
    assert steps.committed_position(log, 0, 9, Rules(second_controls_are_ignored=0)) == with_second


def test_a_group_does_not_go_by_what_was_cleaned_away() -> None:
    log = offsets_log((PAYLOAD, 0, 0), (COMMITTED, 0, 0), (PAYLOAD, 1, 1), (COMMITTED, 1, 0))
    log.records[3].is_cleaned = True
    assert steps.committed_position(log, 0, 9, Rules()) == 1
    log.records[0].is_cleaned = True
    assert steps.committed_position(log, 0, 9, Rules()) == 0


@st.composite
def partitions(draw: st.DrawFn, rules: Rules) -> Partition:
    """What a leader of offsets may go through: payload of what is told, and control records."""
    partition = Partition(rules, OFFSETS)
    for _ in range(draw(st.integers(5, 20))):
        t = draw(st.integers(0, 3))
        if partition.log.end == LOG:
            break
        match draw(st.sampled_from(["tell", "append", "append", "commit", "abort", "take over"])):
            case "tell":
                partition.tell(t, producer=t % 2)
            case "append":
                partition.append(t, producer=t % 2, block=draw(st.integers(0, 2)))
            case "take over":
                partition.take_over()
            case end:
                partition.control(t, commits=end == "commit")
    return partition


@pytest.mark.parametrize("remembered", [1, 0])
@given(data=st.data())
def test_a_new_leader_has_in_memory_what_its_log_tells(remembered: int, data: st.DataObject) -> None:
    """Where all is remembered a TxId is pending, or finished, with the one before; who was told only is not known."""
    partition = data.draw(partitions(Rules(leaders_remember_finished=remembered)))
    assert partition.notes.illegal == 0
    new = copy.deepcopy(partition)
    new.take_over()
    in_log = {t for _, t in partition.records}
    for t, pending in enumerate(partition.memory.pending):
        told = pending.state == LeaderState.PENDING and not any(
            kind == PAYLOAD and of == t and steps.is_pending(partition.log, offset)
            for offset, (kind, of) in enumerate(partition.records)
        )
        assert new.state(t) == (pending.state if t in in_log and not told else LeaderState.UNKNOWN)
    assert (new.offsets(), new.notes.illegal) == (partition.offsets(), 0)


@given(partitions(Rules()))
def test_offsets_are_settled_where_nothing_is_pending_in_the_log(partition: Partition) -> None:
    is_settled = steps.watermark(partition.log) == partition.log.end
    assert partition.offsets() == (OffsetsState.SETTLED if is_settled else OffsetsState.PENDING)


@given(partitions(Rules()))
def test_no_payload_is_behind_a_control_record_of_its_tx_id(partition: Partition) -> None:
    ended: set[int] = set()
    for kind, t in partition.records:
        assert kind != PAYLOAD or t not in ended
        ended |= {t} if kind != PAYLOAD else set()


def test_to_forget_what_is_remembered_is_illegal() -> None:
    partition = Partition(Rules(leaders_remember_finished=0))
    partition.memory.pending[0].state = int(LeaderState.FINISHED)
    partition.control(0)
    assert partition.notes.illegal == MachineIndex.PROPOSAL2014_LEADER + 1


def test_a_group_goes_on_behind_its_own_last_commit_or_behind_that_of_any() -> None:
    """Groups have the blocks 0 and 1, and 2 and 3; TxId 0 is of the first, TxId 1 of the second."""
    log = Log()
    for kind, t, block in ((2, 0, 0), (3, 0, 0), (2, 1, 2), (3, 1, 0)):
        log.records[log.end].kind = int(RecordKind(kind))
        log.records[log.end].transaction, log.records[log.end].block = t, block
        log.end += 1
    for_all = Rules(last_commit_is_of_a_group=0)
    assert steps.committed_position(log, 0, 2, Rules()) == 1
    assert steps.committed_position(log, 2, 4, Rules()) == 3
    assert steps.committed_position(log, 0, 2, for_all) == 0
    without_offsets = offsets_log((PAYLOAD, 0, 0), (COMMITTED, 0, 0), (COMMITTED, 1, 0))
    assert steps.committed_position(without_offsets, 0, 9, for_all) == 0
    assert steps.committed_position(log, 2, 4, for_all) == 3
