"""Each promise about recorded histories is seen broken: a history that keeps all of them is changed in one place.

The histories are made by hand, batch by batch, so that nothing but this clone is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.model.catalogue import IN_RECORDINGS
from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.traces.evidence import LoggedMarker
from zombieproof.traces.explaining.explain import explain
from zombieproof.traces.replay import replay

if TYPE_CHECKING:
    from tests.traces.replay.conftest import History

T0, T1, GROUPS, LOG = ("t", 0), ("t", 1), (CONSUMER_OFFSETS, 0), (TRANSACTION_STATE, 0)


@dataclass(frozen=True)
class Mutant:
    """A promise, the story that keeps it, how the story is changed, and where the fault must be found."""

    promise: str
    story: "Callable[[type[History]], History]"
    change: "Callable[[History], object]"
    place: tuple[str, int] | None
    offset: int | None
    epoch: int | None


def old_protocol(made: "type[History]") -> "History":
    return made.two_transactions(tv=0)


def partitions_alone(made: "type[History]") -> "History":
    return made.two_transactions().without_coordinator()


def idempotent(made: "type[History]") -> "History":
    history = made()
    for sequence in range(4):
        history.data(T0, 7, 0, sequence, plain=True)
    return history


def two_transactions(made: "type[History]") -> "History":
    return made.two_transactions()


def copier(made: "type[History]") -> "History":
    return made.copier()


def told(made: "type[History]") -> "History":
    return made.told()


def reported(made: "type[History]") -> "History":
    return made.reported()


def indexed(made: "type[History]") -> "History":
    return made.indexed()


def replicated(made: "type[History]") -> "History":
    return made.replicated()


def begin_later(history: "History") -> None:
    history.change(T0, 0, base_sequence=1, last_sequence=2)


def lead_later(history: "History") -> None:
    history.change(T0, 1, marker=LoggedMarker(True, 5))


def list_less(history: "History") -> None:
    history.restate(2, partitions=frozenset({T0}))


def double_a_batch(history: "History") -> None:
    history.change(T0, 3, base_sequence=2, last_sequence=2)


def fence_and_write_on(history: "History") -> None:
    history.marker(T0, 7, 5, commit=False)
    history.data(T0, 7, 2, 0, plain=True)


def write_plainly(history: "History") -> None:
    history.data(T1, 7, 1, 0)
    history.data(T1, 7, 1, 1, plain=True)


def skip_ongoing(history: "History") -> None:
    history.remove(T0, 2)
    history.remove(T0, 2)
    history.forget_states(4, 6)
    history.restate(4, state=S.PREPARE_COMMIT, partitions=frozenset({T1}))


def answer_otherwise(history: "History") -> None:
    history.turn(T0, 1)
    history.turn(T1, 1)


def do_not_answer(history: "History") -> None:
    calls = history.evidence.client_calls
    calls[-1] = replace(calls[-1], result={"error": "TimeoutException"})
    history.turn(T1, 1)


def change_a_replica(history: "History") -> None:
    copy = history.log(T1, "broker-2")
    first, second, *others = copy.batches
    copy.batches = [first, replace(second, marker=LoggedMarker(False, 0)), *others]


def forget_an_entry(history: "History") -> None:
    del history.evidence.aborted_transactions[0]


def name_a_transaction_that_committed(history: "History") -> None:
    history.turn(T0, 2)


def report_another_epoch(history: "History") -> None:
    line = history.evidence.coordinator_lines[2]
    assert line.target is not None
    history.evidence.coordinator_lines[2] = replace(line, target=replace(line.target, producer_epoch=5))


MUTANTS = (
    Mutant("every_listed_partition_has_its_marker", two_transactions, lambda h: h.remove(T1, 1), T1, 0, 0),
    Mutant("a_new_epoch_begins_behind_a_marker", partitions_alone, lambda h: h.remove(T0, 1), T0, 0, 0),
    Mutant("same_outcome_on_every_partition", two_transactions, lambda h: h.turn(T1, 1), T1, 2, 1),
    Mutant("same_outcome_on_every_partition", old_protocol, lambda h: h.turn(T0, 1), T0, 2, 0),
    Mutant("same_outcome_on_every_partition", partitions_alone, lambda h: h.turn(T1, 1), T1, 2, 1),
    Mutant("committed_offsets_follow_their_transaction", copier, lambda h: h.turn(GROUPS, 1), GROUPS, 1, 1),
    Mutant("marker_only_where_the_transaction_was", two_transactions, lambda h: h.marker(T1, 7, 2, False), T1, 3, 2),
    Mutant("marker_follows_a_decision", two_transactions, lambda h: h.marker(T1, 7, 9), T1, 3, 9),
    Mutant("marker_follows_a_decision", two_transactions, lambda h: h.change(T1, 1, producer_epoch=4), T1, 2, 4),
    Mutant("marker_follows_a_decision", two_transactions, lambda h: h.forget_states(5, 6), T0, 5, 2),
    Mutant("no_open_transaction_that_nobody_owns", old_protocol, lambda h: h.data(T1, 7, 0, 2), T1, 3, 0),
    Mutant("no_open_transaction_that_nobody_owns", two_transactions, lambda h: h.data(T1, 7, 2, 0), T1, 3, 2),
    Mutant("sequences_follow_each_other", two_transactions, begin_later, T0, 0, 0),
    Mutant("sequences_follow_each_other", idempotent, lambda h: h.remove(T0, 2), T0, 2, 0),
    Mutant("each_sequence_is_appended_once", idempotent, double_a_batch, T0, 3, 0),
    Mutant("epochs_never_go_down", two_transactions, lambda h: h.change(T0, 3, producer_epoch=0), T0, 5, 0),
    Mutant("epochs_never_go_down", partitions_alone, fence_and_write_on, T0, 7, 2),
    Mutant("epochs_never_go_down", two_transactions, lambda h: h.restate(4, producer_epoch=0), LOG, 4, 0),
    Mutant("coordinator_epochs_never_go_down", two_transactions, lead_later, T0, 5, 2),
    Mutant("no_plain_data_inside_a_transaction", partitions_alone, write_plainly, T1, 4, 1),
    Mutant("states_follow_the_table", two_transactions, skip_ongoing, LOG, 4, 2),
    Mutant("records_are_what_decisions_write", two_transactions, list_less, LOG, 2, 1),
    Mutant("records_are_what_decisions_write", two_transactions, lambda h: h.restate(6, timeout_ms=1), LOG, 6, 2),
    Mutant("what_the_application_was_told_is_what_the_logs_say", told, answer_otherwise, T0, 0, 0),
    Mutant("what_the_application_was_told_is_what_the_logs_say", told, lambda h: h.turn(T1, 1), T1, 0, 0),
    Mutant("all_or_nothing", told, do_not_answer, T1, 0, 0),
    Mutant("replicas_agree", replicated, change_a_replica, T1, 2, 1),
    Mutant("the_aborted_index_is_what_the_log_says", indexed, forget_an_entry, T0, 2, None),
    Mutant("the_aborted_index_is_what_the_log_says", indexed, name_a_transaction_that_committed, T0, 2, None),
    Mutant("the_coordinator_wrote_what_it_did", reported, report_another_epoch, None, None, 5),
)  # fmt: skip

each_mutant = pytest.mark.parametrize(
    "mutant", MUTANTS, ids=[f"{mutant.promise}-{i}" for i, mutant in enumerate(MUTANTS)]
)


def test_every_promise_has_a_mutant() -> None:
    assert {mutant.promise for mutant in MUTANTS} == set(IN_RECORDINGS)


@each_mutant
def test_a_history_that_keeps_all_promises_has_no_finding(mutant: Mutant, made: "type[History]") -> None:
    assert mutant.story(made).findings() == []


@each_mutant
def test_a_broken_promise_is_found_in_its_place_and_no_other_is(mutant: Mutant, made: "type[History]") -> None:
    history = mutant.story(made)
    mutant.change(history)
    found = history.findings()
    assert [finding.promise for finding in found] == [mutant.promise], found
    topic, partition = mutant.place or (None, None)
    where = (found[0].topic, found[0].partition, found[0].offset, found[0].producer_epoch)
    assert where == (topic, partition, mutant.offset, mutant.epoch)
    assert found[0].message


@each_mutant
def test_a_broken_promise_is_explained_with_causes_and_with_what_to_do(mutant: Mutant, made: "type[History]") -> None:
    history = mutant.story(made)
    mutant.change(history)
    [finding] = explain(replay(history.evidence), history.evidence).findings
    found = finding.explanation
    assert found is not None
    assert found.causes
    assert found.remedies
    assert found.effect.endswith(".")
    said = [found.effect, *(line for remedy in found.remedies for line in (remedy.sentence, *remedy.commands))]
    assert not [line for line in said if "None" in line or "{" in line or "  " in line]


def test_promises_are_sentences_with_source_and_evidence() -> None:
    for promise in IN_RECORDINGS.values():
        assert promise.sentence[0].isupper()
        assert promise.sentence.endswith(".")
        assert promise.source
        assert promise.needs
        assert promise.broken_by
