"""Lines of brokers in timelines and as reasons of findings."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.report.finding_text import cause_lines
from zombieproof.traces.evidence import BrokerLine
from zombieproof.traces.explaining.explain import explain
from zombieproof.traces.explaining.timeline.entries import EntryKind
from zombieproof.traces.explaining.timeline.subject import subject_names, subjects_called
from zombieproof.traces.explaining.timeline.timeline import timeline_of
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.readers.broker_log import read_broker_log
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge, replay
from zombieproof.traces.verdict.explanation import CauseFound

if TYPE_CHECKING:
    from tests.traces.replay.conftest import History

LOST = Path(__file__).parents[2] / "recordings/09-offline-partition-lost-commit"
T0, T1 = ("t", 0), ("t", 1)
COORDINATOR = "(kafka.coordinator.transaction.TransactionCoordinator)"
CHANNEL = "(kafka.coordinator.transaction.TransactionMarkerChannelManager)"
GROUPS = "(kafka.coordinator.group.GroupCoordinator)"
LOG = f"""\
[2023-11-14 22:13:00,000] INFO [TransactionCoordinator id=1] Elected as the txn coordinator for partition 0 at epoch 3 {COORDINATOR}
[2023-11-14 22:13:20,005] INFO [TransactionCoordinator id=1] Initialized transactionalId orders-1 with producerId 7 and producer epoch 0 on partition __transaction_state-0 {COORDINATOR}
[2023-11-14 22:13:21,000] ERROR [ReplicaManager broker=1] Error processing append operation on partition t-0 (kafka.server.ReplicaManager)
org.apache.kafka.common.errors.OutOfOrderSequenceException: Out of order sequence number for producer 7 at offset 1 in partition t-0: 9 (incoming seq. number), 0 (current end sequence number)
[2023-11-14 22:14:20,000] INFO [TransactionCoordinator id=1] Completed rollback of ongoing transaction for transactionalId orders-1 due to timeout {COORDINATOR}
[2023-11-14 22:14:30,000] INFO [GroupCoordinator 1]: Group billing with generation 4 is now empty (__consumer_offsets-2) {GROUPS}
"""  # noqa: E501  # lines of a log


def lines_of(text: str, file: str = "server.log") -> list[BrokerLine]:
    return read_broker_log(memoryview(text.encode()), file).lines


def told(name: str, examined: Examined) -> list[tuple[int | None, str]]:
    (subject,) = subjects_called(name, examined)
    found = timeline_of(subject, examined)
    return [(entry.line, entry.text) for entry in found.entries if entry.kind is EntryKind.BROKER]


@pytest.fixture
def alone(tmp_path: Path) -> Examined:
    (tmp_path / "server.log").write_text(LOG)
    return judge(collect([tmp_path]))


# ---------------------------------------------------------------- timelines


def test_the_timeline_of_an_id_has_its_lines(alone: Examined) -> None:
    assert told("orders-1", alone) == [
        (2, "the coordinator initialises orders-1: producer 7 epoch 0"),
        (4, "refused: producer 7 sends sequence 9 after 0"),
        (5, "the coordinator aborts the transaction of orders-1: it was open for longer than its timeout"),
    ]


def test_the_timeline_of_a_partition_has_its_lines(alone: Examined) -> None:
    assert [line for line, _ in told("t-0", alone)] == [3, 4]
    assert [line for line, _ in told("__transaction_state-0", alone)] == [1, 2]


def test_the_timeline_of_a_producer_has_its_lines(alone: Examined) -> None:
    assert [line for line, _ in told("producer 7", alone)] == [2, 4]
    assert [line for line, _ in told("7:0", alone)] == [2, 4]


def test_the_timeline_of_a_group_has_its_lines(alone: Examined) -> None:
    expected = [(6, "group billing is empty after generation 4")]
    assert told("billing", alone) == told("group billing", alone) == expected
    assert "billing" in subject_names(alone)
    assert subjects_called("shipping", alone) == []


def test_a_name_is_a_group_only_if_nothing_else_has_it(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(LOG.replace("Group billing", "Group orders-1"))
    examined = judge(collect([tmp_path]))
    assert [str(subject) for subject in subjects_called("orders-1", examined)] == ["id orders-1"]
    assert [str(subject) for subject in subjects_called("group orders-1", examined)] == ["group orders-1"]


def test_the_timeline_of_a_group_has_the_offsets_it_commits(made: "type[History]") -> None:
    history = made.copier()
    (commit, *_) = history.evidence.offset_commits
    (subject,) = subjects_called(f"group {commit.group}", judge(history.evidence))
    found = timeline_of(subject, judge(history.evidence))
    assert {entry.kind for entry in found.entries} == {EntryKind.OFFSETS}
    assert all(f"group {commit.group} commits" in entry.text for entry in found.entries)


def test_lines_stand_among_the_records_by_time(made: "type[History]") -> None:
    history = made.two_transactions()
    middle = lines_of(LOG)[1]
    history.evidence.broker_lines = [middle]
    (subject,) = subjects_called("orders-1", judge(history.evidence))
    found = timeline_of(subject, judge(history.evidence))
    times = [entry.time_ms for entry in found.entries]
    assert times == sorted(time for time in times if time is not None)
    assert sum(entry.kind is EntryKind.BROKER for entry in found.entries) == 1


# ---------------------------------------------------------------- reasons


def without_marker(made: "type[History]", leader_epoch: int) -> "History":
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.transaction(0, T0, T1, commit=True)
    history.remove(T1, 1)
    history.transaction(1, T1, commit=False)
    for index in (1, 2):
        history.change(T1, index, partition_leader_epoch=leader_epoch)
    return history


def causes(history: "History") -> dict[str, CauseFound]:
    (finding,) = explain(replay(history.evidence), history.evidence).findings
    assert finding.explanation is not None
    return {cause.name: cause for cause in finding.explanation.causes}


def skipped(place: str, transactional_id: str = "orders-1") -> list[BrokerLine]:
    return lines_of(
        "[2023-11-14 22:13:20,040] INFO [Transaction Marker Channel Manager 1]: Couldn't find leader endpoint for "
        f"partitions Set({place}) while trying to send transaction markers for {transactional_id}, these partitions "
        f"are likely deleted already and hence can be skipped {CHANNEL}\n"
    )


def truncated(offset: int, place: str = "t-1") -> list[BrokerLine]:
    return lines_of(
        f"[2023-11-14 22:13:20,040] INFO [UnifiedLog partition={place}, dir=/d] Truncating to offset {offset} "
        "(org.apache.kafka.storage.internals.log.UnifiedLog)\n"
    )


def test_the_line_that_says_it_is_named_and_nothing_more_is_to_be_looked_for(made: "type[History]") -> None:
    history = without_marker(made, 2)
    history.evidence.broker_lines = skipped("t-1")
    (cause,) = causes(history).values()
    assert (cause.name, cause.is_likely, cause.apart) == ("marker_skipped_without_leader", True, "")
    assert cause.because == "server.log, line 1: the coordinator found no leader for t-1 and skipped its marker"
    assert not any("To be told by" in line for line in cause_lines(cause, tell_apart=True))


@pytest.mark.parametrize("lines", [skipped("t-0"), skipped("t-1", "orders-2"), []], ids=["place", "id", "none"])
def test_a_line_of_something_else_is_no_reason(made: "type[History]", lines: list[BrokerLine]) -> None:
    history = without_marker(made, 2)
    history.evidence.broker_lines = lines
    cause = causes(history)["marker_skipped_without_leader"]
    assert "leader epoch" in cause.because
    assert "Couldn't find leader endpoint" in cause.apart


def test_a_copy_that_was_truncated_at_the_marker_explains_its_loss(made: "type[History]") -> None:
    history = without_marker(made, 2)
    history.evidence.broker_lines = truncated(1)
    cause = causes(history)["marker_lost_by_unclean_election"]
    assert (cause.is_likely, cause.apart) == (True, "")
    assert cause.because == "server.log, line 1: t-1 is truncated to offset 1"


@pytest.mark.parametrize("lines", [truncated(0), truncated(9), truncated(1, "t-0")], ids=["before", "behind", "place"])
def test_a_copy_that_was_truncated_elsewhere_explains_nothing(made: "type[History]", lines: list[BrokerLine]) -> None:
    history = without_marker(made, 2)
    history.evidence.broker_lines = lines
    cause = causes(history)["marker_lost_by_unclean_election"]
    assert not cause.is_likely
    assert "Truncating" in cause.apart


def test_a_log_of_the_coordinator_that_was_truncated_has_lost_records(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.state(S.ONGOING, 7, 0, T0)
    history.data(T0, 7, 0, 0)
    history.marker(T0, 7, 1)
    history.state(S.COMPLETE_COMMIT, 7, 1)
    assert not causes(history)["coordinator_log_lost_records"].is_likely
    history.evidence.broker_lines = truncated(2, "__transaction_state-0")
    cause = causes(history)["coordinator_log_lost_records"]
    assert (cause.is_likely, cause.apart) == (True, "")
    assert cause.because == "server.log, line 1: __transaction_state-0 is truncated to offset 2"


def test_lines_of_brokers_are_no_findings(made: "type[History]") -> None:
    history = made.two_transactions()
    history.evidence.broker_lines = [*lines_of(LOG), *skipped("t-1"), *truncated(0)]
    assert replay(history.evidence).findings == []


def test_the_reason_is_found_in_logs_without_debug_lines(tmp_path: Path) -> None:
    shutil.copytree(LOST, tmp_path / "copy")
    for log in (tmp_path / "copy").glob("server-*.log"):
        kept = [line for line in log.read_text().splitlines(keepends=True) if " DEBUG " not in line]
        log.write_text("".join(kept))
    evidence = collect([tmp_path / "copy"])
    assert evidence.coordinator_lines == []
    (finding,) = explain(replay(evidence), evidence).findings
    assert finding.explanation is not None
    (cause,) = finding.explanation.causes
    assert cause.is_likely
    assert "the coordinator found no leader for e-0 and skipped its marker" in cause.because
