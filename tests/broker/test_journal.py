"""What a step has noted, written down: names, subjects, and moves that no table has."""

import pytest

from zombieproof.broker.cluster.journal import Decided, KeptJournal, Moved
from zombieproof.model.records import ProducerEntry
from zombieproof.model.vocabulary import Error, PartitionEvent, PartitionState, Row
from zombieproof.statemachines.kernel import IllegalTransition
from zombieproof.statemachines.notes import Decision, MachineIndex, move, note
from zombieproof.statemachines.partition_leader import forgetting


def test_what_a_step_has_noted_is_written_under_its_subject() -> None:
    journal = KeptJournal()
    notes = journal.begin()
    note(notes, Decision.MARKER, Row.M1, Error.INVALID_PRODUCER_EPOCH)
    move(notes, MachineIndex.PARTITION_LEADER, PartitionState.NO_ENTRY, PartitionEvent.APPEND)
    journal.take("t-0 producer 7")
    assert journal.decisions == [
        Decided("write_txn_markers", Row.M1, Error.INVALID_PRODUCER_EPOCH, "t-0 producer 7"),
    ]
    states = PartitionState.NO_ENTRY, PartitionEvent.APPEND, PartitionState.IDLE
    assert journal.moves == [Moved("partition_leader", "t-0 producer 7", *states)]


def test_the_next_step_begins_with_nothing() -> None:
    journal = KeptJournal()
    note(journal.begin(), Decision.PRODUCE, Row.A7, Error.NONE)
    journal.begin()
    journal.take("t-0")
    assert (journal.decisions, journal.moves) == ([], [])


def test_a_move_that_no_table_has_is_raised_with_what_would_be_legal() -> None:
    journal, entry = KeptJournal(), ProducerEntry(known=True, state=PartitionState.IN_TRANSACTION)
    forgetting.forget(entry, True, True, journal.begin())
    with pytest.raises(IllegalTransition, match="partition_leader 't-0': EXPIRE_PRODUCER is illegal in IN_TRANSACTION"):
        journal.take("t-0")


def test_every_decision_has_a_name() -> None:
    journal = KeptJournal()
    for each in Decision:
        note(journal.begin(), each, Row.NO_ROW, Error.NONE)
        journal.take("x")
    assert [decided.decision for decided in journal.decisions[:3]] == [
        "init_producer_id",
        "add_partitions_to_txn",
        "add_offsets_to_txn",
    ]
    assert len(journal.decisions) == len(Decision)
