"""What a failure makes of a producer: every state, every reaction (reference §5.1, §5.5, §5.6)."""

import pytest

from tests.statemachines.producer.stand import Stand
from zombieproof.model.vocabulary import NONE, ApiKey, ProducerEvent, Reaction
from zombieproof.model.vocabulary import ProducerState as S
from zombieproof.statemachines.notes import MachineIndex
from zombieproof.statemachines.producer.failures import fail, happen

ENDS_TRANSACTION = {Reaction.ABORTABLE, Reaction.ABORTABLE_AND_BUMP}
LEFT_TO_ABORT = {S.INITIALIZING, S.IN_TRANSACTION, S.COMMITTING_TRANSACTION, S.ABORTABLE_ERROR}


def expected_state(state: S, reaction: Reaction) -> S:
    """The table of §5.1: where the failure leads; what has no row there poisons the producer."""
    if reaction == Reaction.FATAL:
        return S.FATAL_ERROR
    if reaction not in ENDS_TRANSACTION or state in (S.FATAL_ERROR, S.ABORTING_TRANSACTION):
        return state
    return S.ABORTABLE_ERROR if state in LEFT_TO_ABORT else S.FATAL_ERROR


@pytest.mark.parametrize("reaction", list(Reaction), ids=lambda r: r.name)
@pytest.mark.parametrize("state", list(S), ids=lambda s: s.name)
def test_what_a_failure_does_in_each_state(state: S, reaction: Reaction, stand: Stand) -> None:
    stand.in_state(state)
    fail(stand.producer, reaction, ApiKey.ADD_PARTITIONS_TO_TXN, stand.effects, stand.notes)
    after = expected_state(state, reaction)
    poisoned = after == S.FATAL_ERROR and reaction in ENDS_TRANSACTION and state != S.FATAL_ERROR
    moved = state != S.FATAL_ERROR and (reaction == Reaction.FATAL or (after == S.ABORTABLE_ERROR and not poisoned))
    explains = moved and (reaction == Reaction.FATAL or reaction in ENDS_TRANSACTION)
    assert stand.state == after
    wanted = stand.wanted()
    assert wanted.get("fails", 0) == int(explains), "the failure explains the state"
    assert wanted.get("gives_up", 0) == int(after == S.FATAL_ERROR), "nothing is heard at the end"
    assert wanted.get("illegal", 0) == (ProducerEvent.ABORTABLE_FAILURE if poisoned else 0)
    assert stand.notes.illegal == (MachineIndex.PRODUCER + 1 if poisoned else 0), "and it is noted"


@pytest.mark.parametrize(
    ("state", "api", "version", "wanted"),
    [
        (S.IN_TRANSACTION, ApiKey.ADD_OFFSETS_TO_TXN, 1, 1),
        (S.IN_TRANSACTION, ApiKey.ADD_OFFSETS_TO_TXN, 2, 0),
        (S.IN_TRANSACTION, ApiKey.PRODUCE, 1, 1),
        (S.IN_TRANSACTION, ApiKey.PRODUCE, 2, 0),
        (S.IN_TRANSACTION, NONE, 1, 1),
        (S.COMMITTING_TRANSACTION, ApiKey.PRODUCE, 1, 0),
        (S.ABORTING_TRANSACTION, ApiKey.PRODUCE, 1, 0),
        (S.COMMITTING_TRANSACTION, ApiKey.END_TXN, 1, 1),
        (S.ABORTING_TRANSACTION, ApiKey.END_TXN, 1, 1),
        (S.ABORTABLE_ERROR, ApiKey.PRODUCE, 1, 1),
    ],
)
def test_when_a_raised_epoch_is_wanted(state: S, api: int, version: int, wanted: int) -> None:
    """Not by a batch of a transaction that is being ended, and never where EndTxn raises it."""
    stand = Stand(state, version)
    fail(stand.producer, Reaction.ABORTABLE_AND_BUMP, api, stand.effects, stand.notes)
    assert stand.producer.bump == wanted
    assert not Stand(state, version).producer.bump
    plain = Stand(state, version)
    fail(plain.producer, Reaction.ABORTABLE, api, plain.effects, plain.notes)
    assert not plain.producer.bump, "an abortable error alone asks for nothing"


def test_a_fatal_failure_takes_the_waiting_initialisation_along(stand: Stand) -> None:
    stand.in_state(S.ABORTING_TRANSACTION).producer.raises = True
    fail(stand.producer, Reaction.FATAL, ApiKey.END_TXN, stand.effects, stand.notes)
    assert not stand.producer.raises


def test_a_producer_at_its_end_is_moved_by_nothing(stand: Stand) -> None:
    stand.in_state(S.FATAL_ERROR)
    assert not happen(stand.producer, ProducerEvent.INITIALIZED, stand.effects, stand.notes)
    assert (stand.wanted(), stand.moves(), stand.notes.illegal) == ({}, [], 0)
