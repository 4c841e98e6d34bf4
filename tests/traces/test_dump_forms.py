"""Dumps as people have them, without records, first line or decoder: what each says, and which lines it used."""

import json
import re
from pathlib import Path

import pytest

from tests.traces.dumps import LOG, PATH, RELEASES, TIME, Printed, text_of
from zombieproof.cli.judging import exit_code
from zombieproof.report.open_text import show_open
from zombieproof.report.replay_text import show_report
from zombieproof.report.screen import Screen
from zombieproof.traces.explaining.open.stated import what_is_stated
from zombieproof.traces.explaining.open.transactions import what_is_open
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.narrowing import EVERYTHING
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.dump_name import partition_named_by
from zombieproof.traces.readers.files import opened
from zombieproof.traces.replay import judge, replay
from zombieproof.traces.verdict.report import Gap, Judgement, Report, TransactionOutcome

SAMPLES = Path(__file__).parents[1] / "recordings"
HANGING = (*LOG[:2], Printed(3, 1, sequence=2), Printed(4, 1, producer_id=-1))


def examined(folder: Path, text: str, name: str = "orders-0.txt") -> Examined:
    (folder / name).write_text(text)
    return judge(collect([folder / name]))


def said(report: Report, capsys: pytest.CaptureFixture[str]) -> str:
    show_report(Screen(), report)
    return capsys.readouterr().out


# ---------------------------------------------------------------- without records


@pytest.mark.parametrize("release", [release for release in RELEASES if "batches" in release])
def test_a_marker_of_unknown_kind_ends_its_transaction(release: str, tmp_path: Path) -> None:
    found = examined(tmp_path, text_of(release))
    assert found.report.lso == {"orders-0": 7}
    assert [txn.outcome for txn in found.report.transactions] == [TransactionOutcome.UNKNOWN]
    assert what_is_open(found).partitions == []
    (gap,) = (gap for gap in found.report.not_judged if gap.gap is Gap.HIDDEN)
    assert "the 2 markers at offsets 2 to 5 commit or abort" in gap.why
    assert "--print-data-log" in gap.fetch
    assert exit_code(found.report) == 3


@pytest.mark.parametrize("release", [release for release in RELEASES if "batches" in release])
def test_what_is_open_after_a_marker_of_unknown_kind_began_after_it(
    release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = what_is_open(examined(tmp_path, text_of(release, HANGING)))
    ((txn,),) = [held.transactions for held in found.partitions]
    assert (txn.first_offset, txn.records, txn.is_certain) == (3, 1, True)
    show_open(Screen(), found)
    out = capsys.readouterr().out
    assert "last stable offset 3 of 5" in out
    assert "does not show whether the marker at offset 2 commits or aborts; fetch: the text that kafka-dump-log" in out


def test_only_control_batches_of_transactions_are_markers(tmp_path: Path) -> None:
    """A new leader, a snapshot of a quorum, and an idempotent producer end no transaction."""
    line = text_of("4.3 batches", (Printed(2, 1, marker="COMMIT", size=78),), path=None).replace(
        "position: 0", "position: 80"
    )
    head = text_of("4.3 batches", LOG[:1])
    for change in (("producerId: 7", "producerId: -1"), ("isTransactional: true", "isTransactional: false")):
        found = examined(tmp_path, head + line.replace(*change))
        assert found.report.lso == {"orders-0": 0}
    assert examined(tmp_path, head + line).report.lso == {"orders-0": 3}


def test_a_batch_that_the_cleaner_emptied_is_no_marker_in_releases_that_print_no_count(tmp_path: Path) -> None:
    log = (Printed(0, 1, sequence=0), Printed(1, 1, marker="COMMIT", size=61), Printed(2, 1, producer_id=-1))
    found = examined(tmp_path, text_of("0.11 batches", log))
    assert found.report.lso == {"orders-0": 0}


def test_records_of_some_batches_only_are_damage_and_nothing_is_open_for_certain(tmp_path: Path) -> None:
    lines = text_of("4.3").splitlines()
    shown = [line for line in lines if "endTxnMarker" not in line]
    found = examined(tmp_path, "\n".join(shown) + "\n")
    assert found.report.verdict is Judgement.DAMAGED
    assert found.report.lso == {"orders-0": 7}
    assert list(found.report.committed["orders-0"]) == [6]


def test_a_dump_with_records_beside_one_without_tells_the_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text_of("4.3 batches"))
    (tmp_path / "b.txt").write_text(text_of("4.3"))
    report = replay([tmp_path])
    assert list(report.committed["orders-0"]) == [0, 1, 6]
    assert not report.committed_at_least


def test_records_without_their_metadata_are_counted_and_hide_the_markers(tmp_path: Path) -> None:
    """With --skip-record-metadata a record is its key and payload, and a marker an empty line."""
    shown = [line if line[:1] != "|" else "| key: k payload: v" for line in text_of("4.3").splitlines()]
    shown = ["" if "isControl: true" in before else line for before, line in zip(["", *shown], shown, strict=False)]
    report = examined(tmp_path, "\n".join(shown) + "\n").report
    assert (report.damage, report.lso) == ([], {"orders-0": 7})
    (read,) = report.judged.lines
    assert [(each.reason.split(" (")[0], each.count) for each in read.unused] == [("a record without its offset", 5)]
    (gap,) = (gap for gap in report.not_judged if gap.gap is Gap.HIDDEN)
    assert "without --skip-record-metadata" in gap.fetch


def test_last_stable_offsets_of_dumps_without_records_are_those_of_the_segments() -> None:
    dumps = sorted(SAMPLES.glob("*/dump/*.batches.txt"))
    assert dumps
    for dump in dumps:
        name = dump.name.removesuffix(".batches.txt")
        whole = replay([dump.with_name(f"{name}.txt")])
        assert replay([dump]).lso == whole.lso, dump


def test_last_stable_offsets_of_dumps_without_records_are_those_of_real_brokers(shared_traces: Path) -> None:
    """Each recording has the answers that its broker gave to real consumers."""
    compared = 0
    for answers in sorted(shared_traces.glob("*/consumed.json*")):
        with opened(answers) as content:
            told = json.loads(bytes(content.data))["partitions"]
        for dump in answers.parent.glob("dump/*.batches.txt"):
            for place, offset in replay([dump]).lso.items():
                assert (dump, offset) == (dump, told[place]["last_stable_offset"])
                compared += 1
    assert compared > 100


# ---------------------------------------------------------------- without the first line


NAMES = {
    "orders-0.txt": "orders-0",
    "orders-0.log.txt": "orders-0",
    "orders-0/00000000000000000000.log": "orders-0",
    "t-0.batches.txt": "t-0",
    "dump-orders-0.txt": "orders-0, which may as well be dump-orders-0",
    "kafka-0-orders-3.txt": "orders-3, which may as well be kafka-0-orders-3",
    "my-cluster-kafka-2_orders-3.txt": "orders-3, which may as well be my-cluster-kafka-2_orders-3",
    "broker-1.t-0.txt": "t-0, which may as well be broker-1.t-0",
    "orders-0-00000000000000000042.log.txt": "orders-0",
    "orders-0_dump.out": "orders-0",
    "orders-12 (1).txt": "orders-12",
    "a.b-c_d-7.txt.gz": "a.b-c_d-7",
    "dump___transaction_state-1.txt": "__transaction_state-1",
    "kafka-logs/orders-2/dump.txt": "orders-2, the name of its folder",
    "kafka-2/kafka-log0/orders-2/dump.txt": "orders-2, the name of its folder",
    "evidence/__transaction_state-7/dump.txt": "__transaction_state-7, the name of its folder",
    "kafka-logs/refunds-1/orders-3.txt": "orders-3",
    "ticket-4711/orders-3.txt": "orders-3",
}
NAMELESS = (
    "dump.txt",
    "dump-1.txt",
    "KAFKA.txt",
    "kafka-0.txt",
    "issue-9144.txt",
    "orders.txt",
    "orders-2025-11-28.txt",
    "orders-007.txt",
    "dump-20251128.txt",
    "orders_0.txt",
    "2025-11-28.txt",
    "11-28-2025.txt",
    "orders-2025-11.txt",
    "PROJ-4711.txt",
    "my-cluster-kafka-2.txt",
    "eu-broker-3.txt",
    "ticket-4711/dump.txt",
    "2025-11-28/dump.txt",
    "kafka-2/dump.txt",
    "evidence/orders-2/dump.txt",
    "kafka-logs/2025-11-28/dump.txt",
    "kafka-logs/PROJ-4711/dump.txt",
    "",
    "-",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_names_a_partition(name: str) -> None:
    found = partition_named_by(name)
    assert found is not None
    assert found.told == NAMES[name]


def test_a_folder_with_files_of_a_broker_names_its_partition(tmp_path: Path) -> None:
    folder = tmp_path / "orders-2"
    folder.mkdir()
    assert partition_named_by(str(folder / "dump.txt")) is None
    (folder / "leader-epoch-checkpoint").write_text("")
    found = partition_named_by(str(folder / "dump.txt"))
    assert found is not None
    assert found.told == "orders-2, the name of its folder"


@pytest.mark.parametrize("name", NAMELESS)
def test_a_name_without_a_topic_names_none(name: str) -> None:
    assert partition_named_by(name) is None


@pytest.mark.parametrize("release", RELEASES)
def test_a_dump_without_its_first_line_is_of_the_partition_in_its_name(
    release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = examined(tmp_path, text_of(release, path=None))
    assert (found.report.damage, found.report.lso) == ([], {"orders-0": 7})
    assert found.report.verdict is Judgement.CONFORMS
    assert "the partition of a dump from its name: orders-0" in said(found.report, capsys)
    stated = what_is_stated(found, EVERYTHING)
    assert stated.unread == [f"{found.evidence.files[0]}: the partition of a dump from its name: orders-0"]


@pytest.mark.parametrize("path", [None, "00000000000000000000.log"])
def test_a_partition_that_nothing_tells_is_unknown_and_it_is_said_what_to_add(
    path: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = examined(tmp_path, text_of("4.3", path=path), "paste.txt").report
    assert report.damage == []
    out = said(report, capsys)
    assert "--1" not in out
    assert "neither a line 'Dumping …' nor the name of the file says" in out
    assert "such as orders-0.txt" in out
    assert exit_code(report) == 3


def test_a_text_with_the_name_of_a_segment_is_read_as_a_dump(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_text(text_of("4.3", path=None))
    report = replay([tmp_path])
    assert (report.damage, report.lso) == ([], {"orders-0": 7})


def test_a_name_names_one_partition_only(tmp_path: Path) -> None:
    """Two segments of one name are of two partitions: the second is not taken for the one in the name of the file."""
    path = "00000000000000000000.log"
    second = (Printed(0, 1, producer_id=-1),)
    report = examined(tmp_path, text_of("4.3", path=path) + text_of("4.3", second, path=path)).report
    assert report.findings == []
    assert report.lso["orders-0"] == 7
    assert len(report.lso) == 2


def test_segments_of_one_dump_without_folders_are_of_one_partition(tmp_path: Path) -> None:
    first, second = (text_of("4.3", log, path=f"{log[0].first:020}.log") for log in (LOG[:2], LOG[2:]))
    report = examined(tmp_path, first + second).report
    assert (report.damage, report.lso) == ([], {"orders-0": 7})


def test_a_dump_of_another_file_is_not_taken_for_a_log(tmp_path: Path) -> None:
    other = text_of("4.3").replace(PATH, "/data/__cluster_metadata-0/00000000000000000099-0000000001.checkpoint")
    report = examined(tmp_path, text_of("4.3") + other).report
    assert (report.damage, report.lso) == ([], {"orders-0": 7})
    (read,) = report.judged.lines
    left = {each.reason: each.count for each in read.unused}
    assert left["of a file that is no log of a partition"] == len(other.splitlines()) - 2


@pytest.mark.parametrize("cut", ["Dumping /data/orders-0/000000", "Dumping /data/ord", "Dump"])
def test_a_cut_first_line_is_named_and_its_batches_are_read(cut: str, tmp_path: Path) -> None:
    lines = [cut, *text_of("4.3").splitlines()[1:]]
    report = examined(tmp_path, "\n".join(lines) + "\n").report
    assert [place.position for place in report.damage][:1] == [1]
    assert report.lso == {"orders-0": 7}


@pytest.mark.parametrize("release", RELEASES)
def test_lines_that_are_pasted_twice_are_named_and_counted_once(release: str, tmp_path: Path) -> None:
    lines = text_of(release, path=None).splitlines()
    half = len(lines) // 2
    report = examined(tmp_path, "\n".join([*lines[: half + 1], *lines[half:]]) + "\n").report
    twice = examined(tmp_path, "\n".join([*lines[: half + 2], *lines[2:]]) + "\n").report
    for found in (report, twice):
        assert (found.verdict, found.findings) == (Judgement.DAMAGED, [])
        # In the oldest dumps nothing but records shows how far a batch goes: half of one is taken for damage.
        is_half = release == "0.11" and found is report
        assert (found.lso, bool(found.lso_at_least)) == ({"orders-0": 4 if is_half else 7}, is_half)


def test_records_of_a_coordinator_that_are_pasted_twice_are_no_finding(tmp_path: Path) -> None:
    lines = (SAMPLES / "01-commit/dump/__transaction_state-1.txt").read_text().splitlines()[2:]
    report = examined(tmp_path, "\n".join([*lines, *lines]) + "\n", "paste").report
    assert report.findings == []
    assert "the lines of this batch are there twice" in {place.message for place in report.damage}


def test_two_excerpts_of_one_partition_are_one_log(tmp_path: Path) -> None:
    first, second = LOG[:2], LOG[2:]
    (tmp_path / "orders-0.txt").write_text(text_of("4.3", first, path=None))
    (tmp_path / "orders-0 (1).txt").write_text(text_of("4.3", second, path=None))
    report = replay([tmp_path])
    assert (report.damage, report.lso) == ([], {"orders-0": 7})


def test_a_name_that_is_wrong_breaks_no_promise(tmp_path: Path) -> None:
    """The coordinator's log lists t-0 and t-1; the dump of t-0 is in a file of another name, without its first line."""
    lines = (SAMPLES / "01-commit/dump/t-0.txt").read_text().splitlines()
    (tmp_path / "orders-3.txt").write_text("\n".join(lines[2:]) + "\n")
    for name in ("t-1.txt", "__transaction_state-1.txt"):
        (tmp_path / name).write_text((SAMPLES / "01-commit/dump" / name).read_text())
    assert replay([tmp_path]).findings == []
    (tmp_path / "t-1.txt").write_text("\n".join(["Dumping t-1/00000000000000000000.log", *lines[1:]]) + "\n")
    (tmp_path / "orders-3.txt").write_text("\n".join(["Dumping orders-3/00000000000000000000.log", *lines[1:]]) + "\n")
    assert [each.partition for each in replay([tmp_path]).findings] == [3]


# ---------------------------------------------------------------- without the decoder


def of_topic(topic: str, body: str, sizes: str = "keySize: 33 valueSize: 24") -> str:
    """A dump of an internal topic with one record in a transaction, and the marker."""
    log = (Printed(0, 1, sequence=0), Printed(1, 1, marker="COMMIT", size=78))
    lines = text_of("4.3", log, PATH.replace("orders-0", f"{topic}-12")).splitlines()
    lines[3] = f"| offset: 0 CreateTime: {TIME} {sizes} sequence: 0 headerKeys: [] key: {body}"
    return "".join(f"{line}\n" for line in lines)


UNDECODED = {
    "offsets": ("__consumer_offsets", "\x01\x06groupIn payload: \ufffd\ufffd", "--offsets-decoder"),
    "offsets without control characters": ("__consumer_offsets", "groupIn payload: ??????y", "--offsets-decoder"),
    "transactions": ("__transaction_state", "orders-1 payload: ??\x01", "--transaction-log-decoder"),
    "offsets as transactions": ("__consumer_offsets", "unknown::version=1", "--offsets-decoder"),
    "offsets as transactions, 4.1": (
        "__consumer_offsets",
        "Unknown record type 1 at offset 0, skipping.",
        "--offsets-decoder",
    ),
    "transactions as offsets": (
        "__transaction_state",
        "offset_commit::group=orders-1,partition=t-0 payload: offset=5",
        "--transaction-log-decoder",
    ),
}


@pytest.mark.parametrize("name", UNDECODED)
def test_an_internal_topic_without_its_decoder_is_no_damage(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, body, option = UNDECODED[name]
    report = examined(tmp_path, of_topic(topic, body), "paste").report
    assert report.damage == []
    (gap,) = (gap for gap in report.not_judged if gap.gap is Gap.HIDDEN)
    assert (gap.name, option in gap.fetch) == (f"{topic}-12", True)
    out = said(report, capsys)
    assert re.search(rf"not used: 1 line of \S+, from line \d+ on: a record of {topic}, which was dumped with", out)
    assert exit_code(report) == 3


DECODED = {
    "of a type that the tool did not know": ("__transaction_state", "unknown::version=3", 0),
    "cut in its key": ("__consumer_offsets", "offset_com", 1),
    "cut in its value": ("__consumer_offsets", "offset_commit::group=g,partition=t-0 payload: off", 1),
    "garbled": ("__transaction_state", "transaction_metadata::transactionalId=a payload: producerId:x", 1),
}


@pytest.mark.parametrize("name", DECODED)
def test_a_decoded_record_that_cannot_be_read_is_damage(name: str, tmp_path: Path) -> None:
    topic, body, damage = DECODED[name]
    report = examined(tmp_path, of_topic(topic, body), "paste").report
    assert len(report.damage) == damage
    assert sum(each.count for read in report.judged.lines for each in read.unused) == 1


# ---------------------------------------------------------------- counts


def test_each_line_of_the_tool_is_used_or_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = "offset: 0 position: 0 CreateTime: 1 isvalid: true size: 50 magic: 1 compresscodec: NONE crc: 5\n"
    snapshot = "producerId: 7 producerEpoch: 0 coordinatorEpoch: 1 currentTxnFirstOffset: None\n"
    noise = "[2026-11-21 13:19:47,973] WARN something (kafka.utils.Logging)\n\n"
    index = "Dumping /data/orders-0/00000000000000000000.index\noffset: 5 position: 70\n"
    text = noise + text_of("4.3") + snapshot + index + f"Dumping {PATH.replace('orders', 'other')}\n{old}"
    report = examined(tmp_path, text).report
    (read,) = report.judged.lines
    assert read.used == len(text_of("4.3").splitlines()) + 2
    assert {each.reason for each in read.unused} == {
        "after no line 'Dumping …' of a snapshot or index",
        "an entry of an index, which repeats the log",
        "of message format 0 or 1, which has no transactions",
    }
    assert {each.count for each in read.unused} == {1}
    out = said(report, capsys)
    assert f"lines used: {read.used}" in out
    assert re.search(r"not used: 1 line of \S+, from line \d+ on: an entry of an index", out)
    assert '"used":' in report.model_dump_json()


def test_a_file_of_which_no_line_is_understood_is_not_read(tmp_path: Path) -> None:
    report = examined(tmp_path, "baseOffset: 0 lastOff\nbaseOffset: 5 last\n").report
    assert report.judged.files_read == []
    assert [each.reason for each in report.judged.files_not_read] == ["no line of it can be understood"]
    assert [place.position for place in report.damage][:2] == [1, 2]
    assert exit_code(report) == 3


# ---------------------------------------------------------------- what logs alone do not show


def test_logs_without_clients_say_what_only_clients_could_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = SAMPLES / "01-commit"
    alone = replay([recording / "segments"])
    assert "Only a client's log or history shows what applications were told" in said(alone, capsys)
    assert alone.clients_unseen in alone.model_dump_json()
    assert replay([recording]).clients_unseen == ""
    assert replay([recording / "segments", recording / "client.log"]).clients_unseen == ""
    (tmp_path / "plain").write_text(text_of("4.3", (Printed(0, 1, producer_id=-1),)))
    assert replay([tmp_path]).clients_unseen == ""
