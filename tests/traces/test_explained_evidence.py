"""What explanations read from files: keys and values of records, lines of coordinators, times; files that changed."""

import gzip
import json
import lzma
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from zombieproof.traces.explaining import explain as explaining
from zombieproof.traces.explaining.explain import explain
from zombieproof.traces.explaining.meaning.records import ranges
from zombieproof.traces.explaining.meaning.when import in_words
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.explanation import RECORDS_MAX, Encoding, Explanation, Records, Values
from zombieproof.traces.verdict.report import Report

Encode = Callable[..., bytes]
ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [
    *sorted(path.parent for path in (ROOT / "tests/recordings").glob("*/about.yaml")),
    *sorted(path.parent for path in (ROOT.parent / "shared/traces").glob("*/about.yaml")),
]
VIOLATING = [
    folder
    for folder in FOLDERS
    if yaml.safe_load((folder / "about.yaml").read_text())["expected"]["verdict"] == "violates"
]
LOST = ROOT / "tests/recordings/09-offline-partition-lost-commit"


def report_of(*paths: Path, values: Values = Values.NONE) -> Report:
    evidence = collect(paths)
    return explain(replay(evidence), evidence, values)


def explained(*paths: Path, values: Values = Values.NONE) -> Explanation:
    [finding] = report_of(*paths, values=values).findings
    assert finding.explanation is not None
    return finding.explanation


def recorded_between(folder: Path) -> tuple[int, int]:
    """The first and the last batch of a recording, in milliseconds, and a minute around them for the lines of logs."""
    times = [batch.max_timestamp_ms for log in collect([folder]).logs for batch in log.batches]
    return min(times) - 60_000, max(times) + 60_000


def shown(found: Explanation) -> list[tuple[int, str | None, str | None]]:
    assert found.records is not None
    return [(record.offset, record.key, record.value) for record in found.records.shown]


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine an hour ahead of UTC in winter."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


# ---------------------------------------------------------------- recordings of real clusters


@pytest.mark.parametrize("folder", VIOLATING, ids=lambda folder: f"{folder.parent.name}:{folder.name}")
def test_every_recording_of_a_violation_is_explained_and_says_when(folder: Path) -> None:
    found = explained(folder)
    assert found.causes
    assert found.remedies
    assert found.moments
    assert [moment.timestamp_ms for moment in found.moments] == sorted(moment.timestamp_ms for moment in found.moments)
    first, last = recorded_between(folder)
    assert all(first <= moment.timestamp_ms <= last and moment.where for moment in found.moments)
    assert found.records is None or not found.records.unread


def test_the_lost_record_of_the_offline_partition(berlin: None) -> None:
    found = explained(LOST)
    assert shown(found) == [(2, "k2", None)]
    assert "never see it" in found.effect
    assert [moment.what for moment in found.moments] == [
        "the record was written",
        "the commit was decided",
        "the transaction was recorded as complete",
        "the coordinator skipped the marker",
        "the ABORT marker ended it",
    ]
    assert found.moments[1].utc == "2026-11-21T13:55:14.504Z"
    assert found.moments[1].local == "2026-11-21T14:55:14.504+01:00"
    assert found.moments[3].where.endswith("server-1.log, line 50")
    [cause] = found.causes
    assert cause.is_likely
    assert "server-1.log, line 50" in cause.because
    assert found.remedies[0].name == "send again"
    assert "nothing to abort" in found.remedies[0].sentence


def test_a_line_of_the_coordinator_about_another_partition_or_id_says_nothing(tmp_path: Path) -> None:
    shutil.copytree(LOST, tmp_path / "copy")
    for log in (tmp_path / "copy").glob("server-*.log"):
        text = log.read_text()
        log.write_text(text.replace("partitions Set(e-0)", "partitions Set(e-1, f-0)"))
    assert "leader epoch of e-0 went from 0 to 2" in explained(tmp_path / "copy").causes[0].because
    for log in (tmp_path / "copy").glob("server-*.log"):
        text = log.read_text()
        log.write_text(text.replace("partitions Set(e-1, f-0)", "partitions HashSet(f-0, e-0)"))
    assert "the coordinator found no leader for e-0" in explained(tmp_path / "copy").causes[0].because


def test_the_command_that_repairs_is_the_one_that_repaired_a_real_cluster(shared_traces: Path) -> None:
    consumed = json.loads((shared_traces / "13-hanging-admin-abort/consumed.json").read_text())
    [ran] = [each["command"] for each in consumed["kafka_transactions_sh"] if " abort " in each["command"]]
    [before] = [each for each in (shared_traces / "10-hanging").iterdir() if each.name == "segments"]
    commands = [command for remedy in explained(before).remedies for command in remedy.commands]
    assert ran.replace("kafka-transactions.sh", "kafka-transactions.sh --bootstrap-server HOST:PORT") in commands


def test_an_abort_that_was_not_answered_speaks_for_a_delayed_one() -> None:
    folder = ROOT / "tests/recordings/12-delayed-abort"
    [cause] = explained(folder).causes
    assert (cause.name, cause.is_likely) == ("delayed_abort_hit_the_next_transaction", True)
    assert "5 ms after the first record" in cause.because
    assert "client.jsonl, line 9: an abort was sent before and not answered" in cause.because


def test_values_are_shown_on_request_as_text_or_in_hex() -> None:
    assert shown(explained(LOST, values=Values.UTF8)) == [(2, "k2", "v2")]
    assert shown(explained(LOST, values=Values.HEX)) == [(2, "k2", "7632")]


def test_records_are_found_in_text_dumps_too() -> None:
    folder = ROOT / "tests/recordings/12-delayed-abort"
    found = explained(folder / "dump", folder / "client.jsonl", values=Values.UTF8)
    assert shown(found) == [(3, "k2", "two-0"), (4, "k3", "two-1")]


def test_a_dump_without_payloads_says_why_no_key_is_shown(tmp_path: Path) -> None:
    folder = ROOT / "tests/recordings/10-hanging/dump"
    shutil.copy(folder / "__transaction_state-1.txt", tmp_path)
    text = (folder / "t-0.txt").read_text()
    (tmp_path / "t-0.txt").write_text(re.sub(r"headerKeys: \[\] key: .*", "headerKeys: []", text))
    found = explained(tmp_path)
    assert found.records is not None
    assert (found.records.count, found.records.offsets, found.records.shown) == (1, [(4, 4)], [])
    assert "--print-data-log" in found.records.unread


def test_records_are_found_in_dumps_of_old_releases(tmp_path: Path) -> None:
    lines = "".join(
        f"offset: {offset} position: {70 * offset} CreateTime: 1700000000000 isvalid: true keysize: 2 valuesize: 2 "
        f"magic: 2 compresscodec: NONE producerId: 7 producerEpoch: 0 sequence: {sequence} isTransactional: false "
        f"headerKeys: [] key: k{offset} payload: v{offset}\n"
        for offset, sequence in ((0, 0), (1, 1), (2, 1), (3, 2))
    )
    dump = tmp_path / "old.txt"
    dump.write_text(f"Dumping /kafka/t-0/00000000000000000000.log\nStarting offset: 0\n{lines}")
    assert shown(explained(dump, values=Values.UTF8)) == [(2, "k2", "v2")]


# ---------------------------------------------------------------- records written for these tests


def doubled(batch: Encode, records: list[tuple[int, bytes | None, bytes | None]]) -> bytes:
    """The same batch twice, by an idempotent producer, and a plain batch between and behind."""
    count = len(records)
    one = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    return b"".join(
        (
            batch(records, base_offset=0, **one),
            batch(base_offset=count),
            batch(records, base_offset=count + 1, **one),
            batch(base_offset=2 * count + 1),
        )
    )


def written(folder: Path, data: bytes, suffix: str = "") -> Path:
    pack: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress}
    (folder / "t-0").mkdir()
    (folder / "t-0" / f"00000000000000000000.log{suffix}").write_bytes(pack[suffix](data))
    return folder


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz"])
def test_keys_are_text_where_they_are_text_and_hex_where_they_are_not(
    batch: Encode, tmp_path: Path, suffix: str
) -> None:
    records = [(0, 'kä\n"'.encode(), b"v"), (1, b"\xff\x00", b"\xfe"), (2, None, None), (3, b"", b"")]
    found = explained(written(tmp_path, doubled(batch, records), suffix), values=Values.UTF8)
    assert shown(found) == [(5, 'kä\n"', "v"), (6, "ff00", "fe"), (7, None, None), (8, "", "")]
    assert found.records is not None
    encodings = [(record.key_encoding, record.value_encoding) for record in found.records.shown]
    assert encodings[:3] == [(Encoding.UTF8, Encoding.UTF8), (Encoding.HEX, Encoding.HEX), (None, None)]
    assert found.records.offsets == [(5, 8)]


def test_only_so_many_records_are_listed_and_all_are_counted(batch: Encode, tmp_path: Path) -> None:
    count = RECORDS_MAX + 5
    found = explained(written(tmp_path, doubled(batch, [(i, b"%d" % i, None) for i in range(count)])))
    assert found.records is not None
    assert (found.records.count, len(found.records.shown), found.records.unread) == (count, RECORDS_MAX, "")
    assert found.records.offsets == [(count + 1, 2 * count)]


def test_a_file_that_is_gone_or_changed_since_is_named_and_nothing_is_made_up(batch: Encode, tmp_path: Path) -> None:
    folder = written(tmp_path, doubled(batch, [(0, b"k", b"v")]))
    evidence = collect([folder])
    found = replay(evidence)
    log = folder / "t-0" / "00000000000000000000.log"
    for data, why in ((doubled(batch, [(0, b"K", b"v")]), "it has changed since"), (b"", "it has changed since")):
        log.write_bytes(data)
        records = _records(explain(found, evidence))
        assert records.shown == []
        assert records.unread == f"keys of 1 of them are not shown: {log} cannot be read again: {why}"
    log.unlink()
    assert "No such file" in _records(explain(found, evidence)).unread


def _records(report: Report) -> Records:
    found = report.findings[0].explanation
    assert found is not None
    assert found.records is not None
    return found.records


def test_records_of_very_many_findings_are_counted_and_not_read(
    batch: Encode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explaining, "READ_FINDINGS_MAX", 0)
    records = _records(report_of(written(tmp_path, doubled(batch, [(0, b"k", b"v")]))))
    assert (records.count, records.shown) == (1, [])
    assert "so many findings" in records.unread


def test_offsets_are_joined_to_ranges() -> None:
    assert list(ranges([])) == []
    assert list(ranges([4])) == [(4, 4)]
    assert list(ranges([1, 2, 3, 7, 9, 10])) == [(1, 3), (7, 7), (9, 10)]


@pytest.mark.parametrize("timestamp_ms", [1 << 62, -(1 << 62), 1 << 55])
def test_a_time_that_no_calendar_has_stays_a_number(timestamp_ms: int) -> None:
    assert in_words(timestamp_ms) == ("", "")
