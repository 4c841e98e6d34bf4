"""How far a log reached, and whose it is, as the small files beside it and the logs of brokers tell."""

import json
import shutil
from pathlib import Path

import pytest

from zombieproof.formats.checkpoints import read_leader_epochs
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.identity import read_properties, read_topic_id
from zombieproof.traces.evidence import Hosted, Lost, PartitionLog
from zombieproof.traces.readers.broker_log import read_broker_log
from zombieproof.traces.readers.collect import collect

STATE = "[2026-11-21 13:55:13,914] INFO [ProducerStateManager partition=t-0] "
SELF = "[2026-11-21 13:55:10,327] INFO [TransactionCoordinator id=3] Starting up. (kafka.coordinator)\n"
ANSWER = (
    "DEBUG [Transaction Marker Request Completion Handler 2]: Received WriteTxnMarker response ClientResponse("
    "responseBody=WriteTxnMarkersResponseData(markers=[WritableTxnMarkerResult(producerId=1, topics=["
    "WritableTxnMarkerTopicResult("
    "name='d', partitions=[WritableTxnMarkerPartitionResult(partitionIndex=0, errorCode=0), "
    "WritableTxnMarkerPartitionResult(partitionIndex=1, errorCode=6)])])])) from node 2 with correlation id 4 (kafka)\n"
)


def hosted(text: str) -> list[Hosted]:
    return read_broker_log(memoryview(text.encode()), "server.log").hosted


def test_a_producer_state_manager_has_its_partition() -> None:
    line = STATE + "Wrote producer snapshot at offset 6 with 1 producer ids in 2 ms. (org.apache)\n"
    assert hosted(SELF + line) == [Hosted("server.log", 2, ("t", 0), 3, 6)]
    assert hosted(line) == [Hosted("server.log", 1, ("t", 0), None, 6)]
    assert hosted(STATE + "Wrote producer snapshot at offset 6") == []
    loading = STATE + "Loading producer state from snapshot file 'SnapshotFile(offset=4, file=t-0/x.snapshot)'\n"
    assert hosted(loading)[0].end_offset == 4


def test_a_leader_that_wrote_a_marker_has_its_partition() -> None:
    assert hosted(ANSWER) == [Hosted("server.log", 1, ("d", 0), 2)]
    assert hosted(ANSWER.replace(" from node 2", "")) == []


def test_other_lines_name_nothing() -> None:
    assert hosted("INFO [LocalLog partition=t-0] Rolled new log segment at offset 6\n" * 3) == []


def test_properties_of_a_disk_are_read() -> None:
    text = b"#\n#Sat Nov 21\ncluster.id=abc=\nnode.id = 3\n! no\nversion=1\n"
    assert read_properties(memoryview(text)) == {"cluster.id": "abc=", "node.id": "3", "version": "1"}
    assert read_properties(memoryview(b"\xff\xfe")) == {"\ufffd\ufffd": ""}


def test_the_id_of_a_topic_is_read() -> None:
    assert read_topic_id(memoryview(b"version: 0\ntopic_id: rKxP4YhhR3C2Nn8pQ1xJtg")) == "rKxP4YhhR3C2Nn8pQ1xJtg"
    for text in (b"", b"version: 0\n", b"topic_id:\n"):
        with pytest.raises(Undecodable, match="no topic_id"):
            read_topic_id(memoryview(text))


def test_leader_epochs_are_read() -> None:
    assert read_leader_epochs(memoryview(b"0\n2\n0 7\n3 9\n")) == ((0, 7), (3, 9))
    assert read_leader_epochs(memoryview(b"0\n0\n")) == ()
    for text in (b"", b"1\n1\n0 0\n", b"0\n2\n0 7\n", b"0\n1\n0 x\n", b"0\n1\n0\n"):
        with pytest.raises(Undecodable):
            read_leader_epochs(memoryview(text))


@pytest.fixture
def partition(samples: Path, tmp_path: Path) -> Path:
    """The folder of t-0 of a recording: offsets 0 to 3, a snapshot at 4."""
    shutil.copytree(samples / "01-commit/segments/t-0", tmp_path / "t-0")
    return tmp_path / "t-0"


def log_in(folder: Path) -> PartitionLog:
    (log,) = collect([folder]).logs
    return log


def test_a_snapshot_at_the_end_shows_the_end(partition: Path) -> None:
    assert "00000000000000000004.snapshot was made at 4" in log_in(partition).end_shown_by
    (partition / "00000000000000000004.snapshot").unlink()
    assert (log_in(partition).end_shown_by, log_in(partition).torn_tail) == ("", False)


@pytest.mark.parametrize("suffix", ["snapshot", "index", "timeindex", "txnindex"])
def test_a_file_named_behind_the_end_shows_that_the_log_went_on(partition: Path, suffix: str) -> None:
    later = partition / f"{9:020}.{suffix}"
    if suffix == "snapshot":
        shutil.copy(partition / "00000000000000000004.snapshot", later)
    else:
        later.touch()
    log = log_in(partition)
    assert log.torn_tail
    assert [(lost.first, lost.last) for lost in log.lost] == [(4, 8)]


def test_a_leader_epoch_before_the_first_segment_shows_that_one_is_lost(partition: Path) -> None:
    (partition / "00000000000000000000.log").rename(partition / "00000000000000000000.log.gone")
    shutil.copy(partition / "00000000000000000000.log.gone", partition / "tail")
    data = (partition / "tail").read_bytes()
    first = 12 + int.from_bytes(data[8:12])
    begin = int.from_bytes(data[first : first + 8])
    (partition / f"{begin:020}.log").write_bytes(data[first:])
    (partition / "tail").unlink()
    (partition / "00000000000000000000.log.gone").unlink()
    assert [(lost.first, lost.last) for lost in log_in(partition).lost] == [(0, begin - 1)]
    (partition / "leader-epoch-checkpoint").write_text(f"0\n1\n0 {begin}\n")
    assert log_in(partition).lost == []


def test_a_report_of_a_broker_confirms_an_end_and_refutes_none(partition: Path, tmp_path: Path) -> None:
    (partition / "00000000000000000004.snapshot").unlink()
    mark = "DEBUG TransactionalId x prepare transition from EMPTY to ONGOING (org.apache)\n"
    for offset, shown in ((4, True), (7, False)):
        line = f"{STATE}Wrote producer snapshot at offset {offset} with 1 producer ids in 2 ms. (org.apache)\n"
        (tmp_path / "server.log").write_text(mark + line)
        (log,) = collect([partition, tmp_path / "server.log"]).logs
        assert (bool(log.end_shown_by), log.torn_tail, log.lost) == (shown, False, [])


def test_a_record_that_a_producer_was_told_of_shows_that_a_log_went_on_unless_its_end_is_shown(
    partition: Path, tmp_path: Path
) -> None:
    told = {"topic": "t", "partition": 0, "offset": 6}
    call = {"t": 1, "client": "app", "action": "send", "args": {}, "result": told}
    (tmp_path / "client.jsonl").write_text(json.dumps(call) + "\n")
    (log,) = collect([partition, tmp_path / "client.jsonl"]).logs
    assert (log.torn_tail, log.lost) == (False, [])
    (partition / "00000000000000000004.snapshot").unlink()
    (log,) = collect([partition, tmp_path / "client.jsonl"]).logs
    assert log.lost == [Lost(4, 6, "client 'app' was told of offset 6")]


def test_a_coordinators_log_that_ends_before_what_its_broker_reports_is_cut(samples: Path, tmp_path: Path) -> None:
    shutil.copy(samples / "01-commit/dump/__transaction_state-1.txt", tmp_path / "dump.txt")
    whole = (tmp_path / "dump.txt").read_text()
    (tmp_path / "dump.txt").write_text(whole[: whole.rindex("baseOffset: ")])
    log = log_in(tmp_path)
    assert not log.torn_tail
    (log,) = collect([tmp_path, samples / "01-commit/server.log"]).logs
    assert log.torn_tail
    assert "completes a later transition of 'orders-1'" in log.lost[0].why
