"""An instance of a producer of the 2014 proposal step by step: it starts, begins, sends, ends, is answered, dies."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.model.proposal2014.producing import generation_of_start
from zombieproof.model.proposal2014.records import Instance
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import Answer
from zombieproof.model.proposal2014.vocabulary import ProducerEvent as E
from zombieproof.model.proposal2014.vocabulary import ProducerState as S
from zombieproof.statemachines.notes import MachineIndex, Notes
from zombieproof.statemachines.proposal2014 import PRODUCER
from zombieproof.statemachines.proposal2014 import producer as steps


@dataclass
class Process:
    """An instance and what it has stored; `is_grouped`: it copies the input of a consumer group."""

    rules: Rules = field(default_factory=Rules)
    is_grouped: bool = True
    instance: Instance = field(default_factory=Instance)
    stored: int = -1
    notes: Notes = field(default_factory=Notes)

    def get_ready(self) -> None:
        steps.start(self.instance, self.stored, self.notes)
        self.stored = steps.get_ready(self.instance, self.stored, self.rules, self.notes)

    def begin(self, t: int = 0, block: int = 0) -> None:
        """It has a TxId, and its input."""
        self.get_ready()
        steps.begin(self.instance, self.rules, self.notes)
        self.hear(Answer.DONE, t)
        if self.state() == S.FETCHING:
            steps.take_input(self.instance, self.notes)
        self.instance.block = block

    def hear(self, answer: Answer, t: int = 0) -> E:
        return E(steps.answered(self.instance, answer, t, self.is_grouped, self.rules, self.notes))

    def end(self, *, commits: bool) -> None:
        steps.end(self.instance, commits, self.notes)

    def crash(self) -> None:
        steps.crash(self.instance, self.is_grouped, self.notes)

    def state(self) -> S:
        return S(self.instance.state)


def test_a_start_takes_the_next_generation_and_stores_it() -> None:
    """§10.2: the generation is stored with the producer's own state, incremented at each producer start."""
    process = Process(stored=3)
    steps.start(process.instance, process.stored, process.notes)
    assert process.instance == Instance(int(S.STARTING), generation=4, starts=1)
    assert steps.get_ready(process.instance, 3, process.rules, process.notes) == 4
    assert process.state() == S.READY


def test_a_generation_may_be_left_to_the_next_transaction() -> None:
    process = Process(Rules(starts_store_their_generation=0), stored=3)
    process.get_ready()
    assert (process.instance.generation, process.stored) == (4, 3)


def test_two_that_find_the_same_generation_stored_take_the_same() -> None:
    """§10.7: the first-start race."""
    processes = [Process(), Process()]
    for process in processes:
        process.get_ready()
    assert [process.instance.generation for process in processes] == [generation_of_start(-1)] * 2


def test_a_transaction_from_begin_to_commit() -> None:
    process = Process()
    process.begin(t=2, block=1)
    assert process.instance == Instance(int(S.IN_TRANSACTION), 0, transaction=2, block=1, sent=0, done=0, starts=1)
    assert [process.hear(Answer.DONE) for _ in range(2)] == [E.SEND] * 2
    assert process.instance.sent == 2
    process.end(commits=True)
    assert process.state() == S.COMMITTING
    assert process.hear(Answer.COMMITTED) == E.HEAR_COMMITTED
    assert process.instance == Instance(int(S.READY), 0, transaction=0, block=0, sent=0, done=2, starts=1)
    assert process.notes.illegal == 0


def test_an_abort_is_no_progress() -> None:
    process = Process()
    process.begin(t=2, block=1)
    process.hear(Answer.DONE)
    process.end(commits=False)
    assert process.state() == S.ABORTING
    process.hear(Answer.ABORTED)
    assert process.instance == Instance(int(S.READY), starts=1)


def test_done_is_where_the_group_is_or_how_much_an_instance_has_done_itself() -> None:
    alone = Process(is_grouped=False)
    alone.begin(block=3)
    alone.end(commits=True)
    alone.hear(Answer.COMMITTED)
    assert alone.instance.done == 1
    steps.begin(alone.instance, Rules(), alone.notes)
    alone.hear(Answer.DONE, 1)
    alone.end(commits=True)
    alone.hear(Answer.COMMITTED)
    assert alone.instance.done == 2
    grouped = Process()
    grouped.begin(block=3)
    grouped.end(commits=True)
    grouped.hear(Answer.COMMITTED)
    assert grouped.instance.done == 4


@pytest.mark.parametrize(
    ("is_grouped", "behind", "state"),
    [(True, 1, "FETCHING"), (True, 0, "IN_TRANSACTION"), (False, 1, "IN_TRANSACTION")],
)
def test_input_is_fetched_behind_begin_or_before_it(is_grouped: bool, behind: int, state: str) -> None:
    """§10.5: fetch offsets of the last committed transaction, recreate the input block, begin a new one."""
    process = Process(Rules(offsets_are_fetched_behind_begin=behind), is_grouped)
    process.get_ready()
    steps.begin(process.instance, Rules(), process.notes)
    process.hear(Answer.DONE, 1)
    assert (process.state().name, process.instance.transaction) == (state, 1)
    assert steps.fetches(is_grouped, process.rules) == (state == "FETCHING")


def test_where_no_input_is_left_a_transaction_is_aborted() -> None:
    process = Process()
    process.get_ready()
    steps.begin(process.instance, Rules(), process.notes)
    process.hear(Answer.DONE)
    process.end(commits=False)
    assert (process.state(), process.notes.illegal) == (S.ABORTING, 0)


def test_offsets_are_told_when_nothing_is_pending_or_always() -> None:
    assert steps.may_ask(False, Rules())
    assert not steps.may_ask(True, Rules())
    assert steps.may_ask(True, Rules(fetch_waits=0))


@pytest.mark.parametrize("answer", [Answer.NO_ANSWER, Answer.NOT_FINISHED])
def test_a_begin_without_a_tx_id_is_asked_for_again(answer: Answer) -> None:
    process = Process()
    process.get_ready()
    steps.begin(process.instance, Rules(), process.notes)
    assert process.hear(answer, 3) == E.ASK_AGAIN
    assert process.instance == Instance(int(S.BEGINNING), starts=1)


def test_payload_in_doubt_ends_its_transaction_and_payload_that_was_not_appended_does_not() -> None:
    """§10.6: possibly appended: abort, redo everything under a new TxId; surely not appended: just resend."""
    process = Process()
    process.begin()
    process.hear(Answer.DONE)
    assert process.hear(Answer.UNKNOWN_TRANSACTION) == E.ASK_AGAIN
    assert (process.state(), process.instance.sent) == (S.IN_TRANSACTION, 1)
    assert process.hear(Answer.NO_ANSWER) == E.ABORT
    assert (process.state(), process.instance.sent) == (S.ABORTING, 1)


def test_payload_in_doubt_otherwise() -> None:
    again, taken = Process(Rules(doubt_aborts=0)), Process(Rules(commit_waits_for_payload=0))
    for process, event, sent in ((again, E.ASK_AGAIN, 0), (taken, E.SEND, 1)):
        process.begin()
        assert process.hear(Answer.NO_ANSWER) == event
        assert (process.state(), process.instance.sent) == (S.IN_TRANSACTION, sent)


def test_a_commit_without_an_answer_is_resent_or_taken_for_an_abort() -> None:
    """§10.6: resend Commit with the same TxId."""
    process, failing = Process(), Process(Rules(commits_are_resent=0))
    for each in (process, failing):
        each.begin(t=1)
        each.end(commits=True)
    assert process.hear(Answer.NO_ANSWER) == E.ASK_AGAIN
    assert (process.state(), process.instance.transaction) == (S.COMMITTING, 1)
    assert failing.hear(Answer.NO_ANSWER) == E.HEAR_ABORTED
    assert (failing.state(), failing.instance.done) == (S.READY, 0)


def test_a_commit_that_finds_an_abort_is_done_again_and_an_abort_that_finds_a_commit_is_done() -> None:
    """§10.6: one already aborted must answer failure."""
    committing, aborting = Process(), Process()
    committing.begin()
    committing.end(commits=True)
    assert committing.hear(Answer.ABORTED) == E.HEAR_ABORTED
    aborting.begin()
    aborting.end(commits=False)
    assert aborting.hear(Answer.COMMITTED) == E.HEAR_COMMITTED
    assert [each.instance.done for each in (committing, aborting)] == [0, 1]
    assert {each.state() for each in (committing, aborting)} == {S.READY}


@pytest.mark.parametrize("answer", [Answer.STALE_GENERATION, Answer.TWO_CONNECTIONS])
@pytest.mark.parametrize("at", [S.BEGINNING, S.IN_TRANSACTION, S.COMMITTING, S.ABORTING], ids=lambda at: at.name)
def test_who_is_refused_is_closed_and_may_be_started_again(at: S, answer: Answer) -> None:
    process = Process()
    if at == S.BEGINNING:
        process.get_ready()
        steps.begin(process.instance, Rules(), process.notes)
    else:
        process.begin(t=1, block=1)
        process.hear(Answer.DONE)
    if at in (S.COMMITTING, S.ABORTING):
        process.end(commits=at == S.COMMITTING)
    assert process.state() == at
    assert process.hear(answer) == E.BE_REFUSED
    assert process.instance == Instance(int(S.CLOSED), generation=0, starts=1)
    process.get_ready()
    assert (process.instance.generation, process.instance.starts, process.notes.illegal) == (1, 2, 0)


def test_who_crashes_knows_only_what_is_stored_or_what_its_application_keeps() -> None:
    grouped, alone = Process(), Process(is_grouped=False)
    for process in (grouped, alone):
        process.begin(block=0)
        process.end(commits=True)
        process.hear(Answer.COMMITTED)
        steps.begin(process.instance, Rules(), process.notes)
        process.hear(Answer.DONE, 1)
        process.crash()
        process.get_ready()
        assert (process.instance.generation, process.instance.transaction, process.notes.illegal) == (1, 0, 0)
    assert grouped.instance == Instance(int(S.READY), generation=1, starts=2)
    assert alone.instance == Instance(int(S.READY), generation=1, done=1, starts=2)


@pytest.mark.parametrize("state", S)
def test_a_process_may_die_at_any_time(state: S) -> None:
    process = Process()
    process.instance = Instance(int(state), 2, 1, 1, 1, 1, 1)
    process.crash()
    assert process.notes.illegal == (MachineIndex.PROPOSAL2014_PRODUCER + 1 if state == S.STOPPED else 0)
    assert process.instance == Instance(int(S.STOPPED), starts=1)


@pytest.mark.parametrize("state", S)
def test_only_what_is_asked_for_is_answered(state: S) -> None:
    """An instance that waits for nothing has no row for an answer that it was not to get."""
    legal = {
        S.BEGINNING: {E.TAKE_TX_ID, E.TAKE_TX_ID_FOR_INPUT, E.ASK_AGAIN, E.BE_REFUSED},
        S.IN_TRANSACTION: {E.SEND, E.ASK_AGAIN, E.BE_REFUSED},
        S.COMMITTING: {E.HEAR_COMMITTED, E.HEAR_ABORTED, E.ASK_AGAIN, E.BE_REFUSED},
        S.ABORTING: {E.HEAR_COMMITTED, E.HEAR_ABORTED, E.ASK_AGAIN, E.BE_REFUSED},
    }
    heard = set.union(*legal.values())
    assert {row.event for row in PRODUCER.rows if row.state == state} & heard == legal.get(state, set())


@given(
    answers=st.lists(st.sampled_from(Answer), max_size=30),
    is_grouped=st.booleans(),
    rules=st.sampled_from(
        [
            Rules(),
            Rules(offsets_are_fetched_behind_begin=0),
            Rules(doubt_aborts=0),
            Rules(commits_are_resent=0),
            Rules(commit_waits_for_payload=0),
        ]
    ),
)
def test_no_answers_lead_out_of_the_table(answers: list[Answer], is_grouped: bool, rules: Rules) -> None:
    """Two records are sent; a TxId is there from its Begin to its end, and nowhere else; who is closed starts again."""
    process = Process(rules, is_grouped)
    process.get_ready()
    for t, answer in enumerate(answers):
        match process.state():
            case S.READY:
                steps.begin(process.instance, Rules(), process.notes)
            case S.FETCHING:
                steps.take_input(process.instance, process.notes)
            case S.CLOSED:
                process.get_ready()
                continue
            case S.IN_TRANSACTION if process.instance.sent == 2:
                process.end(commits=True)
        process.hear(answer, t + 1)
        has_one = process.state() in (S.FETCHING, S.IN_TRANSACTION, S.COMMITTING, S.ABORTING)
        assert (process.instance.transaction > 0) == has_one
        assert process.instance.sent <= 2
    assert process.notes.illegal == 0
    assert process.instance.generation == process.stored == process.instance.starts - 1


def test_a_producer_that_chooses_tx_ids_counts_them_from_its_start_on() -> None:
    own, theirs = Rules(coordinator_chooses_tx_ids=0), Rules()
    process = Instance(int(S.READY))
    for chosen in (1, 2):
        steps.begin(process, own, Notes())
        assert process.chosen == chosen
        process.state = int(S.READY)
    steps.crash(process, True, Notes())
    assert process.chosen == 0
    process = Instance(int(S.READY))
    steps.begin(process, theirs, Notes())
    assert process.chosen == 0
