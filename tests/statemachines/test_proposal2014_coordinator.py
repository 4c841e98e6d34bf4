"""The coordinator of the 2014 proposal step by step, its journal, and what a new one makes of that."""

import copy
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.model.proposal2014.coordinating import is_unfinished
from zombieproof.model.proposal2014.records import (
    PARTITIONS,
    PRODUCERS,
    TRANSACTIONS,
    Coordinator,
    Journal,
    KnownProducer,
    Request,
    Transaction,
)
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import Answer, JournalState, RequestKind
from zombieproof.model.proposal2014.vocabulary import TransactionEvent as E
from zombieproof.model.proposal2014.vocabulary import TransactionState as S
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.notes import MachineIndex, Notes
from zombieproof.statemachines.proposal2014 import connections
from zombieproof.statemachines.proposal2014 import coordinator as steps

Records = list[tuple[E, int]]


@dataclass
class Group:
    """A coordinator and its journal."""

    rules: Rules = field(default_factory=Rules)
    memory: Coordinator = field(default_factory=Coordinator)
    journal: Journal = field(default_factory=Journal)
    notes: Notes = field(default_factory=Notes)

    def begin(self, producer: int = 0, generation: int = 0, partitions: int = 1, instance: int = 0) -> tuple[int, int]:
        asked = Request(int(RequestKind.BEGIN), instance, producer, generation, partitions=partitions)
        return steps.begin(self.memory, self.journal, asked, self.rules, self.notes)

    def end(self, t: int, *, commits: bool, generation: int = 0, producer: int = 0, instance: int = 0) -> int:
        kind = RequestKind.COMMIT if commits else RequestKind.ABORT
        asked = Request(int(kind), instance, producer, generation, t)
        return steps.end(self.memory, self.journal, asked, self.rules, self.notes)

    def commit(self, t: int, generation: int = 0) -> int:
        return self.end(t, commits=True, generation=generation)

    def acknowledge(self, t: int, p: int) -> None:
        steps.acknowledged(self.memory, self.journal, t, p, self.rules, self.notes)

    def give_up(self, t: int) -> None:
        steps.give_up(self.memory, self.journal, t, self.rules, self.notes)

    def store_high_watermark(self) -> None:
        self.journal.checkpoint = self.memory.high_watermark

    def take_over(self) -> None:
        steps.take_over(self.memory, self.journal, self.rules, self.notes)

    def after_a_failover(self) -> Coordinator:
        there = copy.deepcopy(self)
        there.take_over()
        assert there.notes.illegal == 0
        return there.memory

    def state(self, t: int) -> S:
        return S(self.memory.transactions[t].state)

    @property
    def records(self) -> Records:
        return [(E(each.event), each.transaction) for each in self.journal.records[: self.journal.end]]


def test_a_begin_is_in_the_journal_and_the_leaders_are_to_be_told() -> None:
    """§10.5, I2 to I6: generate the TxId, append BEGIN, answer the TxId, update memory."""
    group = Group()
    assert group.begin(producer=1, generation=2, partitions=5) == (Answer.DONE, 0)
    assert group.records == [(E.BEGIN, 0)]
    assert group.memory.transactions[0] == Transaction(int(S.BEGUN), 1, 2, 5, 0, True, 0, to_tell=5, to_end=0)
    assert (group.journal.begun[0].producer, group.journal.begun[0].generation) == (1, 2)
    assert group.memory.known[1] == KnownProducer(generation=2, connected=1)
    silent = Group(Rules(leaders_are_told=0))
    silent.begin(partitions=5)
    assert silent.memory.transactions[0].to_tell == 0


def test_a_commit_is_decided_when_it_is_answered_and_final_when_every_leader_has_acknowledged() -> None:
    """§10.5, E2 to E7."""
    group = Group()
    group.begin(partitions=5)
    assert group.commit(0) == Answer.COMMITTED
    assert group.records == [(E.BEGIN, 0), (E.PREPARE_COMMIT, 0)]
    assert (group.memory.transactions[0].to_end, group.memory.transactions[0].has_timeout) == (5, False)
    group.acknowledge(0, 2)
    assert (group.memory.transactions[0].to_end, group.state(0)) == (1, S.PREPARED_COMMIT)
    assert group.memory.high_watermark == 0
    group.acknowledge(0, 0)
    assert (group.memory.transactions[0].to_end, group.state(0)) == (0, S.COMMITTED)
    assert group.records[2:] == [(E.COMMIT, 0)]
    assert (group.memory.high_watermark, group.memory.state) == (3, JournalState.AT_END)


def test_an_abort_is_recorded_as_a_commit_is_or_leaves_nothing_behind_its_decision() -> None:
    group = Group()
    group.begin()
    assert group.end(0, commits=False) == Answer.ABORTED
    group.acknowledge(0, 0)
    assert group.records == [(E.BEGIN, 0), (E.PREPARE_ABORT, 0), (E.ABORT, 0)]
    assert group.after_a_failover().transactions[0].state == S.ABORTED
    unrecorded = Group(Rules(aborted_is_recorded=0))
    unrecorded.begin()
    unrecorded.give_up(0)
    unrecorded.acknowledge(0, 0)
    assert unrecorded.records == [(E.BEGIN, 0), (E.PREPARE_ABORT, 0)]
    assert (unrecorded.state(0), unrecorded.memory.high_watermark) == (S.ABORTED, 2)
    again = unrecorded.after_a_failover()
    assert (again.transactions[0].state, again.transactions[0].to_end, again.high_watermark) == (S.PREPARED_ABORT, 1, 0)


def test_an_end_that_comes_again_writes_nothing() -> None:
    group = Group()
    group.begin()
    for _ in range(2):
        assert group.commit(0) == Answer.COMMITTED
        assert group.end(0, commits=False) == Answer.COMMITTED
    assert group.records == [(E.BEGIN, 0), (E.PREPARE_COMMIT, 0)]
    group.acknowledge(0, 0)
    assert group.commit(0) == Answer.COMMITTED
    assert group.commit(1) == Answer.UNKNOWN_TRANSACTION
    assert len(group.records) == 3


def test_a_late_acknowledgement_changes_nothing() -> None:
    group = Group()
    group.begin()
    group.commit(0)
    group.acknowledge(0, 0)
    before = copy.deepcopy((group.memory, group.journal))
    group.acknowledge(0, 0)
    assert (group.memory, group.journal) == before


def test_the_final_record_may_come_before_the_acknowledgements() -> None:
    group = Group(Rules(acknowledged_before_final=0))
    group.begin(partitions=3)
    assert group.commit(0) == Answer.COMMITTED
    assert group.records == [(E.BEGIN, 0), (E.PREPARE_COMMIT, 0), (E.COMMIT, 0)]
    assert (group.state(0), group.memory.transactions[0].to_end) == (S.COMMITTED, 3)
    assert group.after_a_failover().transactions[0].to_end == 0, "nobody sends the control records any more"


def test_a_begin_that_comes_again_is_answered_with_its_tx_id_or_with_another() -> None:
    """§10.6: retried "with the same TxId", although the coordinator generates it."""
    group = Group()
    assert group.begin() == group.begin() == (Answer.DONE, 0)
    assert group.records == [(E.BEGIN, 0)]
    lingering = Group(Rules(begin_is_deduplicated=0))
    assert lingering.begin() == (Answer.DONE, 0)
    assert lingering.begin() == (Answer.NOT_FINISHED, NONE)
    anew = Group(Rules(begin_is_deduplicated=0, begin_waits_for_the_last=0))
    assert [anew.begin(), anew.begin()] == [(Answer.DONE, 0), (Answer.DONE, 1)]
    assert anew.state(0) == anew.state(1) == S.BEGUN


def test_a_begin_waits_until_the_last_transaction_is_final_or_does_not() -> None:
    group, eager = Group(), Group(Rules(begin_waits_for_the_last=0))
    for each in (group, eager):
        each.begin()
        each.commit(0)
    assert group.begin() == (Answer.NOT_FINISHED, NONE)
    assert group.begin(producer=1) == (Answer.DONE, 1)
    assert eager.begin() == (Answer.DONE, 1)
    group.acknowledge(0, 0)
    assert group.begin() == (Answer.DONE, 2)


def test_where_the_journal_has_no_room_there_is_no_tx_id() -> None:
    group = Group()
    for t in range(TRANSACTIONS):
        assert group.begin() == (Answer.DONE, t)
        group.commit(t)
        group.acknowledge(t, 0)
    before = group.records
    assert group.begin() == (Answer.DONE, NONE)
    assert group.records == before
    assert len(before) == 3 * TRANSACTIONS


def test_a_newer_generation_ends_what_an_older_one_has_begun() -> None:
    """§10.7: requests of an older generation are rejected."""
    group = Group()
    group.begin(generation=0)
    assert group.begin(generation=1, instance=1) == (Answer.NOT_FINISHED, NONE)
    assert group.state(0) == S.PREPARED_ABORT
    assert group.commit(0, generation=0) == Answer.STALE_GENERATION
    assert group.begin(generation=0) == (Answer.STALE_GENERATION, NONE)
    assert group.records == [(E.BEGIN, 0), (E.PREPARE_ABORT, 0)]
    assert group.memory.known[0] == KnownProducer(generation=1, connected=2)


def test_a_newer_generation_fences_its_own_producer_and_not_what_is_decided() -> None:
    group = Group()
    group.begin(producer=0)
    group.begin(producer=1)
    group.commit(0)
    group.begin(producer=0, generation=1)
    assert (group.state(0), group.state(1)) == (S.PREPARED_COMMIT, S.BEGUN)
    group.end(1, commits=True, producer=1, generation=1)
    assert group.state(1) == S.PREPARED_ABORT, "an end is heard as a begin is: what is older is fenced first"


def test_where_nobody_is_fenced_an_older_generation_is_heard() -> None:
    group = Group(Rules(coordinator_fences=0))
    group.begin(generation=0)
    assert group.begin(generation=1, instance=1) == (Answer.NOT_FINISHED, NONE)
    assert group.state(0) == S.BEGUN
    assert group.commit(0, generation=0) == Answer.COMMITTED


def test_of_two_connections_both_are_closed_and_what_was_begun_is_aborted() -> None:
    """§10.7: on seeing a second it closes both and aborts whatever was begun."""
    group = Group()
    group.begin(instance=0)
    group.begin(producer=1)
    assert group.begin(instance=1) == (Answer.TWO_CONNECTIONS, NONE)
    assert (group.state(0), group.state(1)) == (S.PREPARED_ABORT, S.BEGUN)
    assert group.memory.known[0].closed
    assert group.commit(0) == Answer.TWO_CONNECTIONS, "the first one too"
    group.acknowledge(0, 0)
    assert group.begin(generation=1, instance=1) == (Answer.DONE, 2)
    assert group.memory.known[0] == KnownProducer(generation=1, connected=2)
    group.memory.known[0].closed = True
    assert group.after_a_failover().known[0] == KnownProducer(generation=1), "connections are nowhere but in memory"
    admitting = Group(Rules(one_connection=0))
    assert admitting.begin(instance=0) == admitting.begin(instance=1) == (Answer.DONE, 0)


def test_a_second_connection_ends_what_its_own_generation_has_begun_alone() -> None:
    group = Group(Rules(coordinator_fences=0, begin_waits_for_the_last=0))
    group.begin(generation=0)
    group.begin(generation=1)
    group.begin(generation=2)
    group.commit(1, generation=1)
    group.begin(generation=2, instance=1)
    assert [group.state(t) for t in range(3)] == [S.BEGUN, S.PREPARED_COMMIT, S.PREPARED_ABORT]
    group.end(0, commits=True, generation=2, instance=1)
    assert (group.state(2), group.notes.illegal) == (S.PREPARED_ABORT, 0), "it is not decided twice"


def test_only_what_has_begun_and_has_a_time_out_is_given_up() -> None:
    group = Group()
    assert not steps.may_give_up(group.memory, 0)
    group.begin()
    assert steps.may_give_up(group.memory, 0)
    group.memory.transactions[0].has_timeout = False
    assert not steps.may_give_up(group.memory, 0)
    group.memory.transactions[0].has_timeout = True
    group.give_up(0)
    assert (group.state(0), group.memory.transactions[0].to_end) == (S.PREPARED_ABORT, 1)
    group.memory.transactions[0].has_timeout = True
    assert not steps.may_give_up(group.memory, 0)


def test_a_new_coordinator_redoes_what_is_prepared_and_keeps_what_has_begun() -> None:
    """§10.6: redo the marker phase; merely begun transactions stay alive and can be committed there."""
    group = Group()
    group.begin(producer=0, partitions=3)
    group.begin(producer=1, partitions=2)
    group.commit(0)
    group.acknowledge(0, 1)
    group.take_over()
    prepared, begun = group.memory.transactions[:2]
    assert (prepared.state, prepared.acknowledged, prepared.to_end) == (S.PREPARED_COMMIT, 0, 3)
    assert (begun.state, begun.to_tell, begun.to_end, begun.has_timeout) == (S.BEGUN, 2, 0, True)
    assert [known.connected for known in group.memory.known] == [0, 0]
    assert group.end(1, commits=True, producer=1) == Answer.COMMITTED
    group.acknowledge(0, 0)
    group.acknowledge(0, 1)
    assert group.state(0) == S.COMMITTED


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        (Rules(prepared_are_redone=0), {"prepared.to_end": 0}),
        (Rules(time_outs_are_recorded=0), {"begun.has_timeout": False}),
        (Rules(leaders_are_told=0), {"begun.to_tell": 0}),
    ],
    ids=["prepared_are_redone", "time_outs_are_recorded", "leaders_are_told"],
)
def test_a_new_coordinator_otherwise(rules: Rules, found: dict[str, int]) -> None:
    group = Group(rules)
    group.begin(producer=0)
    group.begin(producer=1)
    group.commit(0)
    group.take_over()
    prepared, begun = group.memory.transactions[:2]
    usual = {"prepared.to_end": 1, "begun.has_timeout": True, "begun.to_tell": 1}
    assert {
        "prepared.to_end": prepared.to_end,
        "begun.has_timeout": begun.has_timeout,
        "begun.to_tell": begun.to_tell,
    } == {**usual, **found}


def test_what_is_decided_in_memory_is_forgotten_with_it() -> None:
    group = Group(Rules(prepares_are_recorded=0))
    group.begin()
    assert group.commit(0) == Answer.COMMITTED
    assert group.records == [(E.BEGIN, 0)]
    assert group.after_a_failover().transactions[0].state == S.BEGUN
    group.acknowledge(0, 0)
    assert group.records == [(E.BEGIN, 0), (E.COMMIT, 0)]
    assert group.after_a_failover().transactions[0].state == S.COMMITTED
    aborted = Group(Rules(prepares_are_recorded=0))
    aborted.begin()
    aborted.give_up(0)
    aborted.acknowledge(0, 0)
    assert aborted.after_a_failover().transactions[0].state == S.ABORTED


def test_behind_the_high_watermark_a_tx_id_is_known_or_not() -> None:
    """§10.6: an id below the HW is unknown."""
    group, forgetting = Group(), Group(Rules(finished_are_remembered=0))
    for each in (group, forgetting):
        each.begin()
        each.commit(0)
        each.acknowledge(0, 0)
    assert group.commit(0) == Answer.COMMITTED
    assert forgetting.commit(0) == Answer.UNKNOWN_TRANSACTION
    assert forgetting.memory.transactions[0] == Transaction()
    forgetting.take_over()
    assert forgetting.commit(0) == Answer.UNKNOWN_TRANSACTION


@pytest.mark.parametrize(
    "rules",
    [
        Rules(finished_are_remembered=0),
        Rules(finished_are_remembered=0, acknowledged_before_final=0),
        Rules(finished_are_remembered=0, prepares_are_recorded=0),
    ],
    ids=["alone", "final before acknowledgements", "decided in memory"],
)
def test_nothing_is_left_of_what_is_forgotten(rules: Rules) -> None:
    group = Group(rules)
    group.begin(producer=0)
    group.commit(0)
    group.acknowledge(0, 0)
    group.begin(producer=1, generation=2, partitions=3)
    group.end(1, commits=True, producer=1, generation=2)
    for p in (0, 1):
        group.acknowledge(1, p)
    assert group.memory.transactions == [Transaction()] * TRANSACTIONS


def test_the_moves_of_a_step_say_whom_they_are_about() -> None:
    """A transaction by its TxId; the journal has no number."""
    group = Group()
    group.begin(producer=0)
    group.begin(producer=1)
    group.give_up(1)
    group.acknowledge(1, 0)
    moves = [(MachineIndex(each.machine).name, each.subject) for each in group.notes.moves[: group.notes.count]]
    coordinator, journal = "PROPOSAL2014_COORDINATOR", "PROPOSAL2014_JOURNAL"
    assert moves == [
        (coordinator, 0),
        (journal, 0),
        (coordinator, 1),
        (journal, 0),
        (coordinator, 1),
        (coordinator, 1),
        (journal, 0),
    ]


def test_what_is_finished_is_known_while_an_older_one_is_in_flight() -> None:
    group = Group(Rules(finished_are_remembered=0))
    group.begin(producer=0)
    group.begin(producer=1)
    group.end(1, commits=True, producer=1)
    group.acknowledge(1, 0)
    assert (group.state(1), group.memory.high_watermark) == (S.COMMITTED, 0)
    group.give_up(0)
    group.acknowledge(0, 0)
    assert (group.state(0), group.state(1), group.memory.high_watermark) == (S.NONE, S.NONE, 6)


def test_what_began_before_the_checkpoint_is_passed_over() -> None:
    """Its final record comes behind BEGIN of the next one, and is of a TxId that nobody knows."""
    group = Group(Rules(finished_are_remembered=0))
    group.begin(producer=0)
    group.begin(producer=1)
    group.commit(0)
    group.acknowledge(0, 0)
    assert group.records[group.memory.high_watermark] == (E.BEGIN, 1)
    group.store_high_watermark()
    group.take_over()
    assert [group.state(0), group.state(1)] == [S.NONE, S.BEGUN]
    assert (group.memory.high_watermark, group.memory.state, group.notes.illegal) == (1, JournalState.HELD, 0)


def test_generations_are_kept_or_go_with_the_last_pending_transaction() -> None:
    group, forgetting = Group(), Group(Rules(generations_are_kept=0))
    for each in (group, forgetting):
        each.begin(generation=3)
        assert each.memory.known[0].generation == 3
        each.commit(0, generation=3)
        assert each.memory.known[0].generation == 3
        each.acknowledge(0, 0)
    assert group.memory.known[0] == KnownProducer(generation=3, connected=1)
    assert forgetting.memory.known[0] == KnownProducer()
    assert group.after_a_failover().known[0] == KnownProducer(generation=3)
    assert forgetting.after_a_failover().known[0] == KnownProducer()


def test_a_generation_stays_while_another_transaction_of_its_producer_is_pending() -> None:
    group = Group(Rules(generations_are_kept=0, begin_waits_for_the_last=0, begin_is_deduplicated=0))
    for _ in range(2):
        group.begin(generation=3)
    group.begin(producer=1, generation=1)
    group.commit(0, generation=3)
    group.acknowledge(0, 0)
    assert [known.generation for known in group.memory.known] == [3, 1]
    assert [known.generation for known in group.after_a_failover().known] == [3, 1]
    group.commit(1, generation=3)
    group.acknowledge(1, 0)
    assert [known.generation for known in group.memory.known] == [-1, 1]


def test_a_new_coordinator_knows_the_newest_generation_of_the_journal() -> None:
    group = Group()
    group.begin(generation=0)
    group.begin(generation=2)
    group.acknowledge(0, 0)
    group.begin(generation=2)
    group.take_over()
    assert group.memory.known == [KnownProducer(generation=2), KnownProducer()]
    assert group.begin(generation=1) == (Answer.STALE_GENERATION, NONE)


def test_a_new_leader_is_told_again_of_what_has_begun_there() -> None:
    group = Group()
    group.begin(producer=0, partitions=3)
    group.begin(producer=1, partitions=2)
    group.commit(0)
    group.memory.transactions[1].to_tell = 0
    steps.tell_again(group.memory, 0, group.rules)
    assert [each.to_tell for each in group.memory.transactions[:2]] == [3, 0]
    group.memory.transactions[0].to_tell = 0
    steps.tell_again(group.memory, 1, group.rules)
    assert [each.to_tell for each in group.memory.transactions[:2]] == [0, 2]
    steps.tell_again(group.memory, 0, group.rules)
    assert [each.to_tell for each in group.memory.transactions[:2]] == [0, 2]
    group.memory.transactions[1].to_tell = 0
    steps.tell_again(group.memory, 1, Rules(leaders_are_told=0))
    assert group.memory.transactions[1].to_tell == 0


def test_connecting_takes_a_newer_generation_and_no_older_one() -> None:
    known = KnownProducer()
    connections.connect(known, 1, 0)
    assert known == KnownProducer(generation=0, connected=2)
    connections.connect(known, 0, 0)
    assert known == KnownProducer(generation=0, connected=2)
    known.closed = True
    connections.connect(known, 0, 1)
    assert known == KnownProducer(generation=1, connected=1)
    connections.connect(known, 1, 0)
    assert known == KnownProducer(generation=1, connected=1)
    told = KnownProducer(generation=1)
    connections.connect(told, 1, 0)
    assert told == KnownProducer(generation=1)
    connections.connect(told, 1, 1)
    assert told == KnownProducer(generation=1, connected=2)


def test_an_end_of_what_is_final_is_illegal() -> None:
    group = Group()
    group.begin()
    group.commit(0)
    group.give_up(0)
    assert group.notes.illegal == MachineIndex.PROPOSAL2014_COORDINATOR + 1
    assert group.state(0) == S.PREPARED_COMMIT


@st.composite
def histories(draw: st.DrawFn, rules: Rules) -> Group:
    """What a coordinator may go through; two generations of each producer, and checkpoints of the high watermark."""
    group = Group(rules)
    for _ in range(draw(st.integers(4, 24))):
        transactions = range(group.journal.count)
        to_end = [
            (t, p) for t in transactions for p in range(PARTITIONS) if group.memory.transactions[t].to_end >> p & 1
        ]
        open_ones = [t for t in transactions if steps.may_give_up(group.memory, t)]
        choices = ["begin", "checkpoint", "take over"] + ["acknowledge"] * 3 * bool(to_end)
        choices += ["give up"] * bool(open_ones) + ["end"] * 4 * bool(transactions)
        match draw(st.sampled_from(choices)):
            case "begin":
                producer, generation = draw(st.integers(0, PRODUCERS - 1)), draw(st.sampled_from([0, 0, 0, 1]))
                group.begin(producer, generation, draw(st.integers(1, (1 << PARTITIONS) - 1)))
            case "end":
                t = draw(st.sampled_from(open_ones or transactions))
                begun, commits = group.journal.begun[t], draw(st.sampled_from([True, True, False]))
                group.end(t, commits=commits, producer=begun.producer, generation=begun.generation)
            case "acknowledge":
                group.acknowledge(*draw(st.sampled_from(to_end)))
            case "give up":
                group.give_up(draw(st.sampled_from(open_ones)))
            case "checkpoint":
                group.store_high_watermark()
            case "take over":
                group.take_over()
        assert group.notes.illegal == 0
    return group


def kept(memory: Coordinator) -> dict[int, Transaction]:
    """What is known of each transaction in flight; who has acknowledged is nowhere but in memory."""
    return {
        t: replace(each, acknowledged=0, to_tell=0, to_end=0)
        for t, each in enumerate(memory.transactions)
        if is_unfinished(each.state)
    }


EITHER_WAY = pytest.mark.parametrize(
    "rules",
    [Rules(), Rules(finished_are_remembered=0), Rules(begin_waits_for_the_last=0), Rules(begin_is_deduplicated=0)],
    ids=["as it is", "finished_are_remembered", "begin_waits_for_the_last", "begin_is_deduplicated"],
)


@pytest.mark.sample("as it is")
@EITHER_WAY
@given(data=st.data())
def test_a_new_coordinator_has_in_memory_what_is_unfinished(rules: Rules, data: st.DataObject) -> None:
    """§10.4: per in-flight transaction after the HW; followers maintain the same memory from replication."""
    group = data.draw(histories(rules))
    new = group.after_a_failover()
    assert kept(new) == kept(group.memory)
    assert (new.high_watermark, new.state) == (group.memory.high_watermark, group.memory.state)
    for t in kept(new):
        asked = new.transactions[t].to_end if new.transactions[t].state != S.BEGUN else new.transactions[t].to_tell
        assert asked == new.transactions[t].partitions
    finished = [each for each in new.transactions if not is_unfinished(each.state)]
    assert all((each.to_tell, each.to_end) == (0, 0) for each in finished)
    for known, before in zip(new.known, group.memory.known, strict=True):
        assert known.generation <= before.generation
    if rules.finished_are_remembered == 1:
        states = [each.state for each in new.transactions]
        assert states == [each.state for each in group.memory.transactions]


@EITHER_WAY
@given(data=st.data())
def test_the_high_watermark_is_where_the_oldest_in_flight_began_or_the_end(rules: Rules, data: st.DataObject) -> None:
    """§10.4; §10.11: HW ≤ BEGIN offset of every unfinished transaction, checkpointed HW ≤ HW."""
    group = data.draw(histories(rules))
    events = dict.fromkeys(range(group.journal.count), E.BEGIN)
    for event, t in group.records:
        events[t] = event
    in_flight = [t for t, event in events.items() if event in (E.BEGIN, E.PREPARE_COMMIT, E.PREPARE_ABORT)]
    wanted = min((group.records.index((E.BEGIN, t)) for t in in_flight), default=group.journal.end)
    assert group.memory.high_watermark == wanted
    assert (group.memory.state == JournalState.HELD) == bool(in_flight)
    assert group.journal.checkpoint <= group.memory.high_watermark


@EITHER_WAY
@given(data=st.data())
def test_each_transaction_is_in_the_journal_in_order_and_ends_once(rules: Rules, data: st.DataObject) -> None:
    group = data.draw(histories(rules))
    ends = ((), (E.PREPARE_COMMIT,), (E.PREPARE_ABORT,), (E.PREPARE_COMMIT, E.COMMIT), (E.PREPARE_ABORT, E.ABORT))
    legal = {(E.BEGIN, *end) for end in ends}
    for t in range(group.journal.count):
        assert tuple(event for event, of in group.records if of == t) in legal


def test_the_histories_come_to_every_state() -> None:
    """What is drawn above is not only what has begun."""
    seen: set[tuple[S, bool]] = set()

    @given(histories(Rules()))
    def look(group: Group) -> None:
        seen.update((group.state(t), group.journal.checkpoint > 0) for t in range(group.journal.count))

    look()
    assert {state for state, _ in seen} == set(S) - {S.NONE}
    assert any(is_stored for _, is_stored in seen)
