"""What is normal is not reported, what the evidence cannot decide is left open, and one fault is one finding."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.traces.evidence import (
    AbortedTransaction,
    ClientFact,
    ClientLine,
    ClientOutcome,
    CoordinatorLine,
    Damage,
    Evidence,
    EvidenceError,
    Phase,
)
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Judgement, TransactionOutcome

if TYPE_CHECKING:
    from tests.traces.replay.conftest import History

T0, T1, GROUPS, LOG = ("t", 0), ("t", 1), (CONSUMER_OFFSETS, 0), (TRANSACTION_STATE, 0)


# ---------------------------------------------------------------- what is normal


def test_a_marker_may_be_repeated_after_a_failover(made: "type[History]") -> None:
    history = made.two_transactions()
    for coordinator_epoch in (0, 1):
        history.marker(T1, 7, 1, commit=True, coordinator_epoch=coordinator_epoch)
    assert history.findings() == []


def test_a_prepared_transaction_may_wait_for_its_markers(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.state(S.ONGOING, 7, 0, T0, T1)
    history.data(T0, 7, 0, 0)
    history.data(T1, 7, 0, 0)
    history.state(S.PREPARE_COMMIT, 7, 1, T0, T1)
    history.marker(T0, 7, 1)
    assert history.findings() == []


def test_the_same_markers_missing_once_it_is_complete_are_a_fault(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.transaction(0, T0, T1, markers=False)
    assert history.broken() == ["every_listed_partition_has_its_marker"] * 2


def test_an_open_transaction_is_normal(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.state(S.ONGOING, 7, 0, T0)
    history.data(T0, 7, 0, 0)
    report = replay(history.evidence)
    assert report.findings == []
    assert report.lso == {"t-0": 0}
    assert [txn.outcome for txn in report.transactions] == [TransactionOutcome.OPEN]


def test_batches_of_the_group_coordinator_all_have_sequence_zero(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    for offset in (3, 6):
        history.state(S.ONGOING, 7, 0, GROUPS, tv=0)
        history.offset(7, 0, offset)
        history.offset(7, 0, offset)
        history.state(S.PREPARE_COMMIT, 7, 0, GROUPS, tv=0)
        history.marker(GROUPS, 7, 0)
        history.state(S.COMPLETE_COMMIT, 7, 0, tv=0)
    report = replay(history.evidence)
    assert report.findings == []
    assert report.group_offsets == {"copier": {"in-0": 6}}


def test_the_same_batches_of_a_client_are_a_fault(made: "type[History]") -> None:
    history = made()
    history.data(T0, 7, 0, 0)
    history.data(T0, 7, 0, 0)
    assert history.broken() == ["each_sequence_is_appended_once"]


def test_identical_records_of_the_coordinator_may_repeat(made: "type[History]") -> None:
    history = made()
    for state, epoch, places in (
        (S.EMPTY, 0, ()),
        (S.ONGOING, 0, (T0,)),
        (S.PREPARE_ABORT, 1, (T0,)),
        (S.COMPLETE_ABORT, 1, ()),
    ):
        for _ in range(2):
            history.state(state, 7, epoch, *places)
    history.marker(T0, 7, 1, commit=False)
    assert history.findings() == []


def test_the_opposite_of_a_durable_decision_may_never_follow(made: "type[History]") -> None:
    history = made()
    for state, epoch, places in ((S.EMPTY, 0, ()), (S.ONGOING, 0, (T0,)), (S.PREPARE_COMMIT, 1, (T0,))):
        history.state(state, 7, epoch, *places)
    history.state(S.PREPARE_ABORT, 7, 2, T0)
    assert history.broken() == ["states_follow_the_table"]


def test_sequences_wrap_from_the_largest_integer_to_zero(made: "type[History]") -> None:
    history = made()
    history.data(T0, 7, 0, 2147483640, 8, plain=True)
    history.data(T0, 7, 0, 0, plain=True)
    assert history.findings() == []
    history.data(T0, 7, 0, 2147483640, 8, plain=True)
    assert history.broken() == ["each_sequence_is_appended_once"]


# ---------------------------------------------------------------- what the evidence cannot decide


def test_a_partition_created_after_the_transaction_needs_no_marker_of_it(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.state(S.ONGOING, 7, 0, T0, T1)
    history.state(S.PREPARE_COMMIT, 7, 1, T0, T1)
    history.marker(T0, 7, 1)
    history.state(S.COMPLETE_COMMIT, 7, 1)
    history.plain(T1)
    assert history.findings() == []


def test_a_partition_that_was_there_before_needs_its_marker(made: "type[History]") -> None:
    history = made()
    history.plain(T1)
    history.state(S.EMPTY, 7, 0)
    history.state(S.ONGOING, 7, 0, T0, T1)
    history.state(S.PREPARE_COMMIT, 7, 1, T0, T1)
    history.marker(T0, 7, 1)
    history.state(S.COMPLETE_COMMIT, 7, 1)
    assert history.broken() == ["every_listed_partition_has_its_marker"]


def test_compaction_may_take_a_marker_whose_data_is_gone_but_never_one_whose_data_is_there(
    made: "type[History]",
) -> None:
    history = made.two_transactions()
    log = history.log(T0)
    log.batches = log.batches[2:]
    log.cleaned = True
    assert history.findings() == []
    log.batches = [*log.batches[:1], *log.batches[2:]]
    assert history.broken() == ["every_listed_partition_has_its_marker"]


def test_a_producer_of_which_no_coordinator_log_is_given_may_have_something_open(made: "type[History]") -> None:
    history = made.two_transactions()
    history.data(T0, 42, 0, 0)
    assert history.findings() == []


def test_an_id_whose_old_records_are_compacted_away_still_owns_nothing_but_what_it_has_open(
    made: "type[History]",
) -> None:
    """As kafka-transactions.sh find-hanging does: the newest record of an id is never taken by the cleaner."""
    history = made.two_transactions(tv=0)
    history.evidence.transaction_states = history.evidence.transaction_states[-1:]
    history.log(LOG).batches = history.log(LOG).batches[-1:]
    assert history.findings() == []
    history.data(T1, 7, 0, 2)
    assert history.broken() == ["no_open_transaction_that_nobody_owns"]


def test_records_without_offsets_show_states_but_not_whether_some_are_missing(made: "type[History]") -> None:
    history = made.two_transactions()
    states = history.evidence.transaction_states
    history.evidence.transaction_states = [
        replace(record, partition=-1, offset=-1, order=order) for order, record in enumerate(states) if order != 1
    ]
    history.evidence.logs = [log for log in history.evidence.logs if log.topic != TRANSACTION_STATE]
    report = replay(history.evidence)
    assert report.findings == []
    assert [txn.outcome for txn in report.transactions] == [TransactionOutcome.COMMIT, TransactionOutcome.ABORT]


def test_a_dump_without_records_hides_what_markers_decide(made: "type[History]") -> None:
    history = made.two_transactions()
    for place in (T0, T1):
        for index, batch in enumerate(history.log(place).batches):
            history.change(place, index, marker=None, records=None if batch.is_control else [])
    assert history.findings() == []


def test_damage_does_not_hide_a_violation_elsewhere(made: "type[History]") -> None:
    history = made.two_transactions()
    history.evidence.damage.append(Damage("t-9.log", 7, "not readable"))
    assert replay(history.evidence).verdict is Judgement.DAMAGED
    history.remove(T1, 1)
    assert replay(history.evidence).verdict is Judgement.VIOLATES


def test_nothing_at_all_is_damage(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    report = replay([tmp_path / "empty"])
    assert report.verdict is Judgement.DAMAGED
    assert [place.file for place in report.damage] == [str(tmp_path / "empty")]


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="no such file"):
        replay([tmp_path / "nowhere"])


# ---------------------------------------------------------------- one fault is one finding


def test_a_hanging_transaction_that_an_administrator_ended_is_told_as_repaired(made: "type[History]") -> None:
    history = made.two_transactions(tv=0)
    offset = history.data(T1, 7, 0, 2)
    history.plain(T1)
    history.marker(T1, 7, 0, commit=False)
    found = history.findings()
    assert [(finding.promise, finding.offset) for finding in found] == [
        ("no_open_transaction_that_nobody_owns", offset)
    ]
    assert "repaired" in found[0].message
    assert "offset 5" in found[0].message


def test_what_the_next_transaction_made_of_a_forgotten_marker_is_part_of_the_finding(made: "type[History]") -> None:
    history = made()
    history.call("begin")
    history.state(S.EMPTY, 7, 0)
    history.state(S.ONGOING, 7, 0, T0)
    history.sent(T0, history.data(T0, 7, 0, 0))
    history.state(S.PREPARE_COMMIT, 7, 1, T0)
    history.call("commit")
    history.state(S.COMPLETE_COMMIT, 7, 1)
    history.transaction(1, T0, commit=False)
    found = history.findings()
    assert [finding.promise for finding in found] == ["every_listed_partition_has_its_marker"]
    for words in (
        "COMMIT marker with epoch 1 is missing",
        "joined",
        "lost to read_committed",
        "told that it was commit",
    ):
        assert words in found[0].message


def test_many_batches_of_a_zombie_are_one_finding_that_counts_them(made: "type[History]") -> None:
    history = made()
    history.data(T0, 7, 2, 0, plain=True)
    for sequence in range(50):
        history.data(T0, 7, 1, sequence, plain=True)
    history.data(T0, 7, 2, 1, plain=True)
    found = history.findings()
    assert [finding.promise for finding in found] == ["epochs_never_go_down"]
    assert "49 more" in found[0].message


def test_a_wrong_epoch_in_the_coordinators_log_is_one_finding_there(made: "type[History]") -> None:
    history = made.two_transactions()
    history.restate(2, producer_epoch=5)
    found = history.findings()
    assert [(finding.promise, finding.offset) for finding in found] == [("records_are_what_decisions_write", 2)]


def test_an_index_that_speaks_of_a_forgotten_marker_is_part_of_the_finding(made: "type[History]") -> None:
    history = made.two_transactions()
    history.evidence.aborted_transactions.append(AbortedTransaction(*T0, "", 7, 3, 5, 6, "by hand"))
    assert history.findings() == []
    history.turn(T0, 3)
    found = history.findings()
    assert [finding.promise for finding in found] == ["same_outcome_on_every_partition"]
    assert "index of aborted transactions" in found[0].message


def test_an_index_that_ends_early_is_no_fault(made: "type[History]") -> None:
    history = made.indexed()
    del history.evidence.aborted_transactions[1]
    assert history.findings() == []


def test_findings_name_the_transactional_id_wherever_it_is_known(made: "type[History]") -> None:
    history = made.two_transactions()
    history.change(T0, 0, base_sequence=5, last_sequence=6)
    assert [finding.transactional_id for finding in history.findings()] == ["orders-1"]
    history.without_coordinator()
    assert [finding.transactional_id for finding in history.findings()] == []


# ---------------------------------------------------------------- rules


def test_the_rules_that_are_asked_for_are_those_that_judge(made: "type[History]") -> None:
    """Before KIP-360 a leader that did not know a producer took no other first sequence than zero."""
    history = made()
    history.data(T0, 7, 0, 5, plain=True)
    assert replay(history.evidence, preset("newest")).findings == []
    assert [f.promise for f in replay(history.evidence, preset("kip98")).findings] == ["sequences_follow_each_other"]


# ---------------------------------------------------------------- other evidence


def test_summarised_lines_of_clients_are_judged(made: "type[History]") -> None:
    history = made.told()
    history.evidence.client_calls.clear()
    records = ((0, 0), (1, 0))
    history.evidence.client_outcomes.append(ClientOutcome("by hand", 1, "orders-1", 4, records, "commit", "committed"))
    assert history.findings() == []
    history.turn(T1, 1)
    found = history.findings()
    assert [finding.promise for finding in found] == ["what_the_application_was_told_is_what_the_logs_say"]
    assert "transaction 4" in found[0].message


def test_an_acknowledged_record_that_is_not_in_the_log_is_a_fault(made: "type[History]") -> None:
    history = made.told()
    history.call("begin")
    history.sent(T0, 17)
    history.call("commit")
    found = history.findings()
    assert [(finding.promise, finding.offset) for finding in found] == [
        ("what_the_application_was_told_is_what_the_logs_say", 17)
    ]
    history.log(T0).torn_tail = True
    assert history.findings() == []


def test_a_commit_that_was_acknowledged_but_never_decided_is_a_fault(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.call("begin")
    history.state(S.ONGOING, 7, 0, T0)
    history.sent(T0, history.data(T0, 7, 0, 0))
    history.call("commit", result={"error": "TimeoutException"})
    assert history.findings() == []
    history.call("commit")
    assert history.broken() == ["what_the_application_was_told_is_what_the_logs_say"]


def test_offsets_that_a_group_was_told_to_have_are_judged(made: "type[History]") -> None:
    history = made.copier().without_coordinator()
    history.call("begin")
    history.call("offsets", group="copier", offsets={"in-0": 3})
    history.call("commit")
    assert history.findings() == []
    history.turn(GROUPS, 1)
    assert history.broken() == ["what_the_application_was_told_is_what_the_logs_say"]


def test_a_coordinator_line_that_the_table_does_not_have_is_a_fault() -> None:
    line = CoordinatorLine("server.log", 3, None, "orders-1", Phase.PREPARE, S.EMPTY, S.ONGOING, None)
    assert replay(Evidence(coordinator_lines=[line])).findings == []
    wrong = replace(line, to_state=S.PREPARE_COMMIT)
    found = replay(Evidence(coordinator_lines=[wrong])).findings
    assert [finding.promise for finding in found] == ["states_follow_the_table"]
    assert "server.log, line 3" in found[0].message


def test_a_client_line_that_the_table_does_not_have_is_a_fault() -> None:
    line = ClientLine("client.log", 3, None, "app", "orders-1", ClientFact.STATE, "READY", "IN_TRANSACTION")
    assert replay(Evidence(client_lines=[line])).findings == []
    assert replay(Evidence(client_lines=[replace(line, before="Ready", after="BeginCommit")])).findings == []
    found = replay(Evidence(client_lines=[replace(line, after="COMMITTING_TRANSACTION")])).findings
    assert [finding.promise for finding in found] == ["states_follow_the_table"]
