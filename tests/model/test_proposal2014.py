"""The decisions of the 2014 proposal, one reading after the other."""

from dataclasses import replace

import pytest

from zombieproof.model.proposal2014.coordinating import (
    decide_acknowledged,
    decide_connection,
    decide_end,
    is_answered_with,
    is_fenced_by,
)
from zombieproof.model.proposal2014.leading import decide_payload
from zombieproof.model.proposal2014.producing import decide_answer, generation_of_start, may_fetch
from zombieproof.model.proposal2014.records import KnownProducer, Transaction
from zombieproof.model.proposal2014.rules import Rules, readings
from zombieproof.model.proposal2014.vocabulary import (
    Answer,
    LeaderState,
    ProducerEvent,
    ProducerState,
)
from zombieproof.model.proposal2014.vocabulary import TransactionEvent as E
from zombieproof.model.proposal2014.vocabulary import TransactionState as S


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
    assert decide_end(state, commits) == wanted[state]


def test_the_final_record_waits_for_every_leader() -> None:
    some = Transaction(state=int(S.PREPARED_COMMIT), partitions=3, acknowledged=1)
    assert decide_acknowledged(some, Rules()) == E.NOTHING
    assert decide_acknowledged(some, Rules(acknowledged_before_final=0)) == E.COMMIT
    assert decide_acknowledged(replace(some, acknowledged=3), Rules()) == E.COMMIT
    aborted = Transaction(state=int(S.PREPARED_ABORT), partitions=3, acknowledged=3)
    assert decide_acknowledged(aborted, Rules()) == E.ABORT
    assert decide_acknowledged(aborted, Rules(aborted_is_recorded=0)) == E.LEAVE_UNRECORDED
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


def test_every_reading_says_what_holds_and_what_holds_otherwise() -> None:
    assert [each.name for each in readings()] == list(Rules.__dataclass_fields__)
    assert all(each.meaning and each.otherwise and each.row.startswith("§10") for each in readings())
    assert any(each.is_open for each in readings())
    assert not all(each.is_open for each in readings())
