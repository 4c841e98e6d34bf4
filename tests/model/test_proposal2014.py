"""The decisions of the 2014 proposal, one reading after the other."""

from dataclasses import replace

import pytest

from zombieproof.model.proposal2014.coordinating import (
    asks_leaders,
    decide_acknowledged,
    decide_connection,
    decide_end,
    decide_watermark,
    holds_up,
    is_answered_with,
    is_fenced_by,
    is_recorded,
    is_second_connection,
    is_the_same,
    is_unfinished,
    reads_from,
)
from zombieproof.model.proposal2014.leading import (
    decide_control,
    decide_payload,
    decide_settled,
    may_be_cleaned,
    may_control_be_cleaned,
    names_the_last,
    supersedes,
)
from zombieproof.model.proposal2014.producing import (
    chooses_next,
    decide_answer,
    generation_of_start,
    has_input,
    may_fetch,
)
from zombieproof.model.proposal2014.reading import (
    delivered_up_to,
    is_second_control,
    isolation_of,
    starts_at,
    was_delivered,
)
from zombieproof.model.proposal2014.records import Begun, KnownProducer, Transaction
from zombieproof.model.proposal2014.rules import Rules, readings
from zombieproof.model.proposal2014.vocabulary import (
    Answer,
    JournalEvent,
    LeaderEvent,
    LeaderState,
    OffsetsEvent,
    OffsetsState,
    ProducerEvent,
    ProducerState,
)
from zombieproof.model.proposal2014.vocabulary import TransactionEvent as E
from zombieproof.model.proposal2014.vocabulary import TransactionState as S
from zombieproof.model.vocabulary import NONE, Isolation

UNFINISHED = (S.BEGUN, S.PREPARED_COMMIT, S.PREPARED_ABORT)


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("state", S)
def test_an_end_that_is_asked_for_again_is_answered_as_at_first(state: S, commits: bool) -> None:
    wanted = {
        S.NONE: (E.NOTHING, Answer.UNKNOWN_TRANSACTION),
        S.BEGUN: (E.PREPARE_COMMIT, Answer.COMMITTED) if commits else (E.PREPARE_ABORT, Answer.ABORTED),
        S.PREPARED_COMMIT: (E.NOTHING, Answer.COMMITTED),
        S.COMMITTED: (E.NOTHING, Answer.COMMITTED),
        S.PREPARED_ABORT: (E.NOTHING, Answer.ABORTED),
        S.ABORTED: (E.NOTHING, Answer.ABORTED),
    }
    assert decide_end(state, commits, Rules()) == wanted[state]
    again = (E.NOTHING, Answer.UNKNOWN_TRANSACTION)
    assert decide_end(state, commits, Rules(ends_are_idempotent=0)) == (wanted[state] if state == S.BEGUN else again)


def test_the_final_record_waits_for_every_leader() -> None:
    some = Transaction(state=int(S.PREPARED_COMMIT), partitions=3, acknowledged=1)
    assert decide_acknowledged(some, Rules()) == E.NOTHING
    assert decide_acknowledged(some, Rules(acknowledged_before_final=0)) == E.COMMIT
    assert decide_acknowledged(replace(some, acknowledged=3), Rules()) == E.COMMIT
    aborted = Transaction(state=int(S.PREPARED_ABORT), partitions=3, acknowledged=3)
    assert decide_acknowledged(aborted, Rules()) == E.ABORT
    assert decide_acknowledged(aborted, Rules(aborted_is_recorded=0)) == E.LEAVE_UNRECORDED
    some_aborted = replace(aborted, acknowledged=2)
    for rules in (Rules(), Rules(aborted_is_recorded=0), Rules(acknowledged_before_final=0)):
        assert decide_acknowledged(some_aborted, rules) == E.NOTHING
    assert decide_acknowledged(Transaction(state=int(S.BEGUN)), Rules()) == E.NOTHING


def test_an_older_generation_and_a_second_connection_are_not_heard() -> None:
    known = KnownProducer(generation=1, connected=1)
    assert decide_connection(known, 0, 0, Rules()) == Answer.STALE_GENERATION
    assert decide_connection(known, 0, 0, Rules(coordinator_fences=0)) == Answer.DONE
    assert decide_connection(known, 0, 1, Rules()) == Answer.DONE
    assert decide_connection(known, 1, 1, Rules()) == Answer.TWO_CONNECTIONS
    assert decide_connection(known, 1, 1, Rules(one_connection=0)) == Answer.DONE
    assert decide_connection(replace(known, closed=True), 0, 1, Rules()) == Answer.TWO_CONNECTIONS
    assert decide_connection(known, 1, 2, Rules()) == Answer.DONE


def test_a_begin_that_comes_again_finds_its_transaction_and_a_newer_generation_ends_it() -> None:
    begun = Transaction(state=int(S.BEGUN), producer=0, generation=1)
    assert is_answered_with(begun, 0, 1, Rules())
    assert not is_answered_with(begun, 0, 1, Rules(begin_is_deduplicated=0))
    assert not is_answered_with(begun, 1, 1, Rules())
    assert is_fenced_by(begun, 0, 2, Rules())
    assert not is_fenced_by(begun, 0, 2, Rules(coordinator_fences=0))
    assert not is_fenced_by(begun, 0, 1, Rules())


def test_a_leader_takes_payload_of_what_is_pending_alone() -> None:
    known = KnownProducer(generation=1, connected=1)
    assert decide_payload(LeaderState.PENDING, known, 0, 1, Rules()) == Answer.DONE
    assert decide_payload(LeaderState.PENDING, known, 0, 0, Rules()) == Answer.STALE_GENERATION
    assert decide_payload(LeaderState.PENDING, known, 0, 0, Rules(leaders_fence=0)) == Answer.DONE
    assert decide_payload(LeaderState.PENDING, known, 1, 1, Rules()) == Answer.TWO_CONNECTIONS
    assert decide_payload(LeaderState.PENDING, known, 1, 1, Rules(one_connection=0)) == Answer.DONE
    assert decide_payload(LeaderState.FINISHED, known, 0, 1, Rules()) == Answer.ABORTED
    assert decide_payload(LeaderState.UNKNOWN, known, 0, 1, Rules()) == Answer.UNKNOWN_TRANSACTION
    assert decide_payload(LeaderState.UNKNOWN, known, 0, 1, Rules(leaders_are_told=0)) == Answer.DONE


def test_a_producer_resends_what_is_safe_and_does_again_what_is_in_doubt() -> None:
    sending, ending = ProducerState.IN_TRANSACTION, ProducerState.COMMITTING
    assert decide_answer(ProducerState.BEGINNING, Answer.NO_ANSWER, False, Rules()) == ProducerEvent.ASK_AGAIN
    assert decide_answer(ProducerState.BEGINNING, Answer.DONE, False, Rules()) == ProducerEvent.TAKE_TX_ID
    assert decide_answer(ProducerState.BEGINNING, Answer.DONE, True, Rules()) == ProducerEvent.TAKE_TX_ID_FOR_INPUT
    assert decide_answer(ProducerState.BEGINNING, Answer.NOT_FINISHED, True, Rules()) == ProducerEvent.ASK_AGAIN
    assert decide_answer(sending, Answer.DONE, False, Rules()) == ProducerEvent.SEND
    assert decide_answer(sending, Answer.NO_ANSWER, False, Rules()) == ProducerEvent.ABORT
    assert decide_answer(sending, Answer.NO_ANSWER, False, Rules(doubt_aborts=0)) == ProducerEvent.ASK_AGAIN
    assert decide_answer(sending, Answer.UNKNOWN_TRANSACTION, False, Rules()) == ProducerEvent.ASK_AGAIN
    assert decide_answer(ending, Answer.NO_ANSWER, False, Rules()) == ProducerEvent.ASK_AGAIN
    assert decide_answer(ending, Answer.NO_ANSWER, False, Rules(commits_are_resent=0)) == ProducerEvent.HEAR_ABORTED
    assert decide_answer(ending, Answer.COMMITTED, False, Rules()) == ProducerEvent.HEAR_COMMITTED
    assert decide_answer(ending, Answer.UNKNOWN_TRANSACTION, False, Rules()) == ProducerEvent.HEAR_ABORTED
    for refused in (Answer.STALE_GENERATION, Answer.TWO_CONNECTIONS):
        assert decide_answer(sending, refused, False, Rules()) == ProducerEvent.BE_REFUSED
    assert generation_of_start(-1) == 0
    assert may_fetch(False, Rules())
    assert not may_fetch(True, Rules())
    assert may_fetch(True, Rules(fetch_waits=0))


@pytest.mark.parametrize("state", ProducerState)
def test_who_is_refused_gives_up_whatever_it_does(state: ProducerState) -> None:
    for refused in (Answer.STALE_GENERATION, Answer.TWO_CONNECTIONS):
        assert decide_answer(state, refused, True, Rules()) == ProducerEvent.BE_REFUSED


@pytest.mark.parametrize(
    ("answer", "event"),
    [
        (Answer.ABORTED, ProducerEvent.ABORT),
        (Answer.NO_ANSWER, ProducerEvent.ABORT),
        (Answer.UNKNOWN_TRANSACTION, ProducerEvent.ASK_AGAIN),
        (Answer.DONE, ProducerEvent.SEND),
    ],
)
def test_what_is_made_of_an_answer_to_payload(answer: Answer, event: ProducerEvent) -> None:
    assert decide_answer(ProducerState.IN_TRANSACTION, answer, True, Rules()) == event


def test_payload_in_doubt_is_aborted_or_sent_again_or_taken_for_sent() -> None:
    asked = ProducerState.IN_TRANSACTION, Answer.NO_ANSWER, True
    assert decide_answer(*asked, Rules(doubt_aborts=0)) == ProducerEvent.ASK_AGAIN
    assert decide_answer(*asked, Rules(commit_waits_for_payload=0)) == ProducerEvent.SEND
    assert decide_answer(*asked, Rules(commit_waits_for_payload=0, doubt_aborts=0)) == ProducerEvent.SEND
    for rules in (Rules(doubt_aborts=0), Rules(commit_waits_for_payload=0)):
        assert decide_answer(ProducerState.IN_TRANSACTION, Answer.ABORTED, True, rules) == ProducerEvent.ABORT


@pytest.mark.parametrize("state", [ProducerState.COMMITTING, ProducerState.ABORTING])
def test_an_end_without_an_answer_is_asked_for_again_but_a_commit_that_is_not_resent(state: ProducerState) -> None:
    assert decide_answer(state, Answer.NO_ANSWER, True, Rules()) == ProducerEvent.ASK_AGAIN
    for answer, event in (
        (Answer.COMMITTED, ProducerEvent.HEAR_COMMITTED),
        (Answer.ABORTED, ProducerEvent.HEAR_ABORTED),
        (Answer.UNKNOWN_TRANSACTION, ProducerEvent.HEAR_ABORTED),
    ):
        assert decide_answer(state, answer, True, Rules()) == event
    failed = ProducerEvent.HEAR_ABORTED if state == ProducerState.COMMITTING else ProducerEvent.ASK_AGAIN
    assert decide_answer(state, Answer.NO_ANSWER, True, Rules(commits_are_resent=0)) == failed


def test_input_is_known_at_begin_where_no_group_keeps_it_or_it_was_fetched_before() -> None:
    """§10.5: fetch offsets of the last committed transaction, recreate the block, begin."""
    assert not has_input(True, Rules())
    assert has_input(True, Rules(offsets_are_fetched_behind_begin=0))
    assert has_input(False, Rules())
    assert has_input(False, Rules(offsets_are_fetched_behind_begin=0))


def test_a_start_takes_the_generation_behind_the_stored_one() -> None:
    """§10.2: incremented at each producer start."""
    assert [generation_of_start(stored) for stored in (-1, 0, 4)] == [0, 1, 5]


@pytest.mark.parametrize("state", S)
def test_a_transaction_is_unfinished_from_begin_to_its_final_record(state: S) -> None:
    assert is_unfinished(state) == (state in UNFINISHED)


@pytest.mark.parametrize("state", S)
def test_a_begin_waits_for_what_its_producer_has_unfinished(state: S) -> None:
    transaction = Transaction(state=int(state), producer=1)
    assert holds_up(transaction, 1, Rules()) == (state in UNFINISHED)
    assert not holds_up(transaction, 0, Rules())
    assert not holds_up(transaction, 1, Rules(begin_waits_for_the_last=0))


@pytest.mark.parametrize("state", S)
def test_only_what_has_begun_is_found_again_or_fenced(state: S) -> None:
    transaction = Transaction(state=int(state), producer=1, generation=2)
    assert is_answered_with(transaction, 1, 2, Rules()) == (state == S.BEGUN)
    assert not is_answered_with(transaction, 1, 3, Rules())
    assert is_fenced_by(transaction, 1, 3, Rules()) == (state == S.BEGUN)
    assert not is_fenced_by(transaction, 0, 3, Rules())
    assert not is_fenced_by(transaction, 1, 1, Rules())


def test_a_second_connection_is_another_instance_with_the_same_generation() -> None:
    """§10.7: the coordinator admits only one connection per (producerId, generation)."""
    connected = KnownProducer(generation=1, connected=2)
    assert is_second_connection(connected, 0, 1, Rules())
    assert not is_second_connection(connected, 1, 1, Rules())
    assert not is_second_connection(connected, 0, 2, Rules())
    assert not is_second_connection(connected, 0, 0, Rules())
    assert not is_second_connection(KnownProducer(generation=1), 0, 1, Rules())
    assert is_second_connection(replace(connected, closed=True), 1, 1, Rules())
    assert not is_second_connection(replace(connected, closed=True), 1, 1, Rules(one_connection=0))


@pytest.mark.parametrize("event", [event for event in E if event != E.NOTHING])
def test_what_becomes_of_a_transaction_is_in_the_journal_but_what_the_text_leaves_out(event: E) -> None:
    """§10.3: BEGIN, PREPARE_*, COMMITTED, and ABORTED analogously."""
    assert is_recorded(event, Rules()) == (event != E.LEAVE_UNRECORDED)
    in_memory = (E.PREPARE_COMMIT, E.PREPARE_ABORT, E.LEAVE_UNRECORDED)
    assert is_recorded(event, Rules(prepares_are_recorded=0)) == (event not in in_memory)


@pytest.mark.parametrize(
    ("high_watermark", "oldest", "event"),
    [
        (0, NONE, JournalEvent.FINISH_LAST),
        (3, NONE, JournalEvent.FINISH_LAST),
        (3, 3, JournalEvent.FINISH_YOUNGER),
        (0, 0, JournalEvent.FINISH_YOUNGER),
        (0, 1, JournalEvent.FINISH_OLDEST),
    ],
)
def test_the_high_watermark_goes_to_the_next_oldest_or_to_the_end(
    high_watermark: int, oldest: int, event: JournalEvent
) -> None:
    """§10.4: HW := BEGIN offset of the next oldest in-flight transaction, or journal end if none."""
    assert decide_watermark(high_watermark, oldest) == event


def test_a_new_coordinator_reads_from_the_checkpoint_or_all() -> None:
    """§10.6: it reads the journal from the checkpointed HW; then an id below the HW is unknown."""
    assert reads_from(4, Rules(finished_are_remembered=0)) == 4
    assert reads_from(4, Rules()) == 0


def test_a_leader_remembers_what_has_ended_or_forgets_it() -> None:
    assert decide_control(Rules()) == LeaderEvent.APPEND_CONTROL
    assert decide_control(Rules(leaders_remember_finished=0)) == LeaderEvent.APPEND_CONTROL_AND_FORGET


def test_the_reasons_of_a_leader_come_in_one_order() -> None:
    """Who is wrong in several ways hears of the generation first, then of the connection, then of the TxId."""
    known = KnownProducer(generation=1, connected=1)
    assert decide_payload(LeaderState.FINISHED, known, 1, 0, Rules()) == Answer.STALE_GENERATION
    assert decide_payload(LeaderState.FINISHED, known, 1, 1, Rules()) == Answer.TWO_CONNECTIONS
    assert decide_payload(LeaderState.FINISHED, known, 0, 1, Rules(leaders_are_told=0)) == Answer.ABORTED
    assert decide_payload(LeaderState.PENDING, known, 0, 2, Rules()) == Answer.DONE


def test_offsets_are_settled_when_the_last_that_is_pending_ends() -> None:
    for state in OffsetsState:
        assert decide_settled(state, False) == OffsetsEvent.SETTLE
    assert decide_settled(OffsetsState.PENDING, True) == OffsetsEvent.SETTLE_ONE
    assert decide_settled(OffsetsState.SETTLED, True) == OffsetsEvent.SETTLE


@pytest.mark.parametrize(
    ("is_pending", "is_beyond", "is_superseded", "removed", "copied_behind"),
    [
        (False, False, True, True, True),
        (False, False, False, False, False),
        (True, True, True, False, False),
        (True, False, True, False, False),
        (False, True, True, False, True),
        (False, True, False, False, False),
    ],
)
def test_a_message_is_cleaned_away_when_it_is_superseded_and_not_pending(
    is_pending: bool, is_beyond: bool, is_superseded: bool, removed: bool, copied_behind: bool
) -> None:
    """§10.9: (b) never beyond the high watermark, or (a) beyond it too, with pending messages unchanged."""
    assert may_be_cleaned(is_pending, is_beyond, is_superseded, Rules()) == removed
    assert may_be_cleaned(is_pending, is_beyond, is_superseded, Rules(cleaning_stops_at_watermark=0)) == copied_behind


def test_what_stands_for_the_earlier_messages_of_its_key() -> None:
    assert supersedes(True, False, Rules())
    assert not supersedes(False, False, Rules())
    assert supersedes(False, False, Rules(only_committed_supersede=0))
    assert not supersedes(True, True, Rules())
    assert not supersedes(False, True, Rules(only_committed_supersede=0))
    assert supersedes(True, True, Rules(cleaning_stops_at_watermark=0))
    assert not supersedes(False, True, Rules(cleaning_stops_at_watermark=0))


def test_a_control_record_goes_with_the_last_message_of_its_transaction_or_at_once() -> None:
    assert may_control_be_cleaned(0, False, Rules())
    assert not may_control_be_cleaned(1, False, Rules())
    assert may_control_be_cleaned(1, False, Rules(controls_stay=0))
    assert not may_control_be_cleaned(0, True, Rules())
    assert not may_control_be_cleaned(1, True, Rules(controls_stay=0))
    assert may_control_be_cleaned(0, True, Rules(cleaning_stops_at_watermark=0))


@pytest.mark.parametrize(
    ("position", "first_held", "start"), [(5, NONE, 5), (5, 2, 2), (5, 0, 0), (0, NONE, 0), (5, 5, 5)]
)
def test_a_restart_is_at_the_first_record_that_is_held_back(position: int, first_held: int, start: int) -> None:
    """§10.8: o1 = first offset of the earliest still pending transaction (= o2 if none)."""
    assert starts_at(position, first_held, Rules()) == start
    assert starts_at(position, first_held, Rules(restarts_at_first_pending=0)) == position


def test_what_ends_before_the_second_number_was_delivered() -> None:
    """§10.8: plain messages < o2, and transactions whose control record lies between o1 and o2."""
    assert [was_delivered(offset, 3) for offset in (0, 2, 3, 4)] == [True, True, False, False]


def test_the_third_number_is_about_the_transaction_that_ends_at_the_second() -> None:
    assert delivered_up_to(3, 3, 1) == 1
    assert delivered_up_to(3, 3, NONE) == NONE
    assert delivered_up_to(4, 3, 1) == NONE


def test_a_second_control_record_is_passed_over_or_taken() -> None:
    assert is_second_control(True, Rules())
    assert not is_second_control(False, Rules())
    assert not is_second_control(True, Rules(second_controls_are_ignored=0))


def test_a_reader_that_wants_what_is_committed_buffers_from_the_first_payload_on() -> None:
    """§10.8: that buffering starts at the control message is a slip of the text."""
    assert isolation_of(True, Rules()) == Isolation.READ_COMMITTED_BUFFERING
    assert isolation_of(True, Rules(buffering_starts_with_payload=0)) == Isolation.READ_UNCOMMITTED
    assert isolation_of(False, Rules()) == Isolation.READ_UNCOMMITTED


def test_every_reading_says_what_holds_and_what_holds_otherwise() -> None:
    assert [each.name for each in readings()] == list(Rules.__dataclass_fields__)
    assert all(each.meaning and each.otherwise and each.row.startswith("§10") for each in readings())
    assert any(each.is_open for each in readings())
    assert not all(each.is_open for each in readings())
    assert Rules() == Rules(**{each.name: 1 for each in readings()})


def test_a_tx_id_that_its_producer_chose_is_known_again() -> None:
    own, begun = Rules(coordinator_chooses_tx_ids=0), Begun(producer=1, generation=2, chosen=3)
    assert is_the_same(begun, 1, 2, 3, own)
    assert not is_the_same(begun, 1, 2, 3, Rules())
    assert not any(is_the_same(begun, *other, own) for other in ((0, 2, 3), (1, 1, 3), (1, 2, 4)))
    assert [chooses_next(4, rules) for rules in (own, Rules())] == [5, 0]


def test_an_abort_is_told_leaders_or_the_coordinator_alone_knows_of_it() -> None:
    alone = Rules(aborts_have_control_records=0)
    assert [asks_leaders(commits, Rules()) for commits in (True, False)] == [True, True]
    assert [asks_leaders(commits, alone) for commits in (True, False)] == [True, False]
    waiting = Transaction(state=int(S.PREPARED_ABORT), partitions=3)
    assert decide_acknowledged(waiting, Rules()) == E.NOTHING
    assert decide_acknowledged(waiting, alone) == E.ABORT


def test_the_last_commit_of_others_is_no_last_commit_of_a_group() -> None:
    assert names_the_last(True, Rules())
    assert not names_the_last(False, Rules())
    assert names_the_last(False, Rules(last_commit_is_of_a_group=0))
