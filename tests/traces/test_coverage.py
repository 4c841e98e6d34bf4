"""A verdict says what it is about: what is missing is named, with what to fetch; what was judged is told."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.traces.dumps import Printed, text_of
from zombieproof.traces.judging.gathering.coordinator_partitions import home_of, number_of_partitions
from zombieproof.traces.judging.gathering.coverage import accept
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Gap, Judgement, NotJudged, Report

if TYPE_CHECKING:
    from collections.abc import Callable

LOST_COMMIT = "09-offline-partition-lost-commit"


def gaps(report: Report) -> dict[str, NotJudged]:
    return {gap.name: gap for gap in report.not_judged}


# ---------------------------------------------------------------- what is missing


def test_a_listed_partition_that_was_not_given_is_named_with_its_broker(samples: Path) -> None:
    folder = samples / LOST_COMMIT
    report = replay([folder / "segments/broker-1", folder / "server-1.log"])
    assert report.verdict is Judgement.CONFORMS
    assert not report.is_in_full
    (gap,) = report.not_judged
    assert (gap.name, gap.gap) == ("e-0", Gap.MISSING)
    assert "'orders-1' lists it in 3 transactions" in gap.why
    assert "it lies on broker 3 (server-1.log, line 35)" in gap.fetch


def test_without_a_brokers_log_no_broker_is_named(samples: Path) -> None:
    (gap,) = replay([samples / LOST_COMMIT / "segments/broker-2"]).not_judged
    assert gap.name == "e-0"
    assert "broker" not in gap.fetch


def test_with_the_partition_there_is_no_gap_and_the_violation_is_found(samples: Path) -> None:
    report = replay([samples / LOST_COMMIT / "segments/broker-3"])
    assert (report.verdict, report.not_judged) == (Judgement.VIOLATES, [])


def test_a_violation_elsewhere_is_told_beside_a_gap(samples: Path, tmp_path: Path) -> None:
    shutil.copytree(samples / LOST_COMMIT / "segments/broker-3", tmp_path / "broker-3")
    shutil.rmtree(tmp_path / "broker-3/d-0")
    report = replay([tmp_path])
    assert report.verdict is Judgement.VIOLATES
    assert list(gaps(report)) == ["d-0"]


def test_a_lone_partition_lacks_the_coordinator_of_its_producers(samples: Path) -> None:
    report = replay([samples / "01-commit/segments/t-0"])
    (gap,) = report.not_judged
    assert (gap.name, gap.gap) == ("__transaction_state", Gap.MISSING)
    assert "producer 0 on t-0" in gap.why


def test_an_offsets_partition_is_a_partition(samples: Path, tmp_path: Path) -> None:
    source = next(folder for folder in samples.iterdir() if list(folder.glob("segments/__consumer_offsets-*")))
    shutil.copytree(source / "segments", tmp_path / "segments")
    (offsets,) = (tmp_path / "segments").glob("__consumer_offsets-*")
    listed = {place for txn in replay([tmp_path]).transactions for place in txn.partitions}
    shutil.rmtree(offsets)
    assert (offsets.name in gaps(replay([tmp_path]))) == (offsets.name in listed)


def test_plain_and_idempotent_records_need_no_coordinator(batch: "Callable[..., bytes]", tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    plain = batch(base_offset=0) + batch(base_offset=1, producer_id=7, producer_epoch=0, base_sequence=0)
    (folder / "00000000000000000000.log").write_bytes(plain)
    assert replay([tmp_path]).not_judged == []
    transactional = batch(base_offset=2, producer_id=8, producer_epoch=0, base_sequence=0, attributes=0x10)
    (folder / "00000000000000000000.log").write_bytes(plain + transactional)
    assert "producer 8 on t-0" in gaps(replay([tmp_path]))["__transaction_state"].why


def test_an_id_of_a_brokers_log_without_its_records_is_named_with_its_partition(samples: Path, tmp_path: Path) -> None:
    shutil.copytree(samples / "01-commit/segments/t-0", tmp_path / "t-0")
    found = gaps(replay([tmp_path, samples / "01-commit/server.log"]))
    assert "'orders-1', which server.log" in found["__transaction_state-49"].why
    assert "if the topic has its default of 50 partitions" in found["__transaction_state-49"].fetch
    assert {"t-1", "__transaction_state"} <= set(found)


def test_records_that_an_application_was_told_of_name_their_partition(samples: Path) -> None:
    found = gaps(replay([samples / "01-commit/segments/t-0", samples / "01-commit/client.jsonl"]))
    assert "was told of records on it" in found["t-1"].why


def test_an_empty_log_of_a_partition_with_a_complete_transaction_is_a_gap(samples: Path, tmp_path: Path) -> None:
    shutil.copytree(samples / "01-commit/segments", tmp_path / "segments")
    for file in (tmp_path / "segments/t-1").iterdir():
        file.unlink()
    (tmp_path / "segments/t-1/00000000000000000000.log").write_bytes(b"")
    report = replay([tmp_path])
    assert report.findings == []
    assert "what was given is empty" in gaps(report)["t-1"].why


def test_a_dump_without_records_does_not_show_how_transactions_end(samples: Path) -> None:
    dump = samples / "01-commit/dump"
    report = replay([dump / "t-0.batches.txt", dump / "t-1.txt", dump / "__transaction_state-1.txt"])
    (gap,) = report.not_judged
    assert (gap.name, gap.gap, gap.first_offset) == ("t-0", Gap.HIDDEN, 3)
    assert "--print-data-log" in gap.fetch
    assert replay([dump]).not_judged == []


def test_a_dump_of_the_coordinators_log_without_the_decoder_tells_nothing(samples: Path, tmp_path: Path) -> None:
    lines = (samples / "01-commit/dump/__transaction_state-1.txt").read_text().splitlines(keepends=True)
    (tmp_path / "dump.txt").write_text("".join(line for line in lines if not line.startswith("| ")))
    found = gaps(replay([tmp_path, samples / "01-commit/segments/t-0"]))
    assert found["__transaction_state-1"].gap is Gap.HIDDEN
    assert "--transaction-log-decoder" in found["__transaction_state-1"].fetch
    assert "producer 0 on t-0" in found["__transaction_state"].why


def test_where_ids_lie_tells_how_many_partitions_the_coordinators_topic_has() -> None:
    assert number_of_partitions({}) is None
    assert number_of_partitions({"orders-1": 49}) == 50
    assert number_of_partitions({"orders-1": 1}) is None
    assert number_of_partitions({"orders-0": 0, "orders-1": 1, "orders-2": 0}) == 2
    assert home_of("orders-1", 2) == "__transaction_state-1"
    assert home_of("orders-1", None).startswith("__transaction_state-49 if ")


# ---------------------------------------------------------------- nothing to judge


@pytest.mark.parametrize("name", [".DS_Store", ".hidden/t-0/00000000000000000000.log"])
def test_a_folder_with_hidden_files_alone_is_empty(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"anything")
    report = replay([tmp_path])
    assert report.verdict is Judgement.DAMAGED
    assert [(place.file, place.message) for place in report.damage] == [(str(tmp_path), "the folder is empty")]
    assert report.not_judged[0].gap is Gap.EVERYTHING


@pytest.mark.parametrize(
    "file",
    ["client.log", "client.jsonl", "server.log", "segments/t-0/00000000000000000004.snapshot", "consumed.json"],
)
def test_what_no_log_can_be_held_against_is_not_judged(samples: Path, file: str) -> None:
    report = replay([samples / "01-commit" / file])
    assert report.verdict is Judgement.DAMAGED
    (gap,) = report.not_judged
    assert gap.gap is Gap.EVERYTHING
    assert "kafka-dump-log" in gap.fetch


@pytest.mark.parametrize("name", ["00000000000000000000.log", "notes.txt", "t-0/00000000000000000000.index"])
def test_an_empty_file_is_not_judged(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"")
    for given in (file, tmp_path):
        report = replay([given])
        assert report.verdict is Judgement.DAMAGED
        assert report.not_judged[0].gap is Gap.EVERYTHING


# ---------------------------------------------------------------- gaps that are accepted


@pytest.mark.parametrize("name", ["e-0", "e", "e-*", "*"])
def test_a_gap_is_accepted_by_its_name_its_topic_or_a_pattern(samples: Path, name: str) -> None:
    report, unknown = accept(replay([samples / LOST_COMMIT / "segments/broker-1"]), [name])
    assert unknown is None
    assert report.is_in_full
    assert [gap.accepted for gap in report.not_judged] == [True]


@pytest.mark.parametrize("name", ["d-0", "e-1", "E-0", "0"])
def test_a_name_that_is_no_gap_is_refused_with_those_that_are(samples: Path, name: str) -> None:
    report, unknown = accept(replay([samples / LOST_COMMIT / "segments/broker-1"]), ["e-0", name])
    assert unknown == (name, ("e-0",))
    assert not report.is_in_full


# ---------------------------------------------------------------- what was judged


def test_a_report_says_what_was_judged(samples: Path) -> None:
    folder = samples / "01-commit"
    judged = replay([folder]).judged
    assert [(each.partition, each.first_offset, each.end_offset, each.source) for each in judged.partitions] == [
        ("__transaction_state-1", 0, 5, "segment"),
        ("t-0", 0, 4, "segment"),
        ("t-1", 0, 4, "segment"),
    ]
    assert all(each.end_shown_by and "snapshot" in each.end_shown_by for each in judged.partitions)
    assert judged.transactional_ids == ["orders-1"]
    assert str(folder / "server.log") in judged.files_read
    assert {Path(each.file).name for each in judged.files_not_read} == {"about.yaml", "consumed.json"}


def test_a_report_says_in_what_the_evidence_is_written(samples: Path) -> None:
    new = set(replay([samples / "01-commit"]).judged.written_in)
    old = set(replay([samples / "25-kafka39-commit-abort-zombie"]).judged.written_in)
    assert {"log of a broker, 4.0 or later", "text of kafka-dump-log, its transaction decoder of 4.1 or later"} <= new
    assert {"log of a broker, up to 3.9", "text of kafka-dump-log, its transaction decoder up to 4.0"} <= old
    assert "text of kafka-dump-log, 3.3 or later" in new & old


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (
            "offset: 0 position: 0 CreateTime: 1 isvalid: true keysize: 2 valuesize: 2 magic: 2 compresscodec: NONE ",
            "0.11 to 2.1",
        ),
        (
            "| offset: 0 CreateTime: 1 keysize: 2 valuesize: 2 sequence: 0 headerKeys: [] key: k0 payload: v0",
            "2.2 to 2.7",
        ),
        ("| offset: 0 isValid: true crc: null keySize: 2 valueSize: 2 CreateTime: 1 ", "2.8"),
    ],
)
def test_the_dialect_of_a_dump_tells_its_release(tmp_path: Path, text: str, dialect: str) -> None:
    (tmp_path / "dump.txt").write_text(f"Dumping t-0/00000000000000000000.log\nStarting offset: 0\n{text}\n")
    assert f"text of kafka-dump-log, {dialect}" in collect([tmp_path]).dialects


def test_a_line_that_is_cut_tells_no_dialect(samples: Path, tmp_path: Path) -> None:
    text = (samples / "01-commit/dump/t-0.txt").read_text()
    whole = collect([samples / "01-commit/dump/t-0.txt"]).dialects
    (tmp_path / "t-0.txt").write_text(text[: text.rindex("deleteHorizonMs")])
    assert set(collect([tmp_path]).dialects) == set(whole)


# ---------------------------------------------------------------- nothing that could break a promise

CONTROLS = (
    "baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
    "partitionLeaderEpoch: 1 isTransactional: false isControl: true deleteHorizonMs: OptionalLong.empty position: 0 "
    "CreateTime: 1795267546000 size: 91 magic: 2 compresscodec: none crc: 1 isvalid: true\n"
)


@pytest.mark.parametrize("name", ["__cluster_metadata-0.txt", "kafka-0-__cluster_metadata-0.log.txt"])
def test_a_dump_of_the_metadata_log_is_no_log_of_a_partition(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("Starting offset: 0\n" + text_of("4.3", (Printed(0, 2, producer_id=-1),), None))
    report = replay([tmp_path])
    assert [gap.gap for gap in report.not_judged] == [Gap.EVERYTHING]
    assert "a dump of the cluster's metadata log" in report.judged.files_not_read[0].reason


def test_controls_of_leaders_are_nothing_to_judge(tmp_path: Path) -> None:
    (tmp_path / "orders-0.txt").write_text(CONTROLS)
    assert [gap.gap for gap in replay([tmp_path]).not_judged] == [Gap.EVERYTHING]
    (tmp_path / "orders-0.txt").write_text(text_of("4.3", (Printed(0, 2, producer_id=-1),)))
    assert replay([tmp_path]).not_judged == []


@pytest.mark.parametrize("left", ["", "\n", "grep: no match\n"])
@pytest.mark.parametrize("topic", ["__transaction_state", "__consumer_offsets"])
def test_an_emptied_dump_of_a_coordinator_is_a_gap(topic: str, left: str, tmp_path: Path) -> None:
    (tmp_path / "orders-0.txt").write_text(text_of("4.3", (Printed(0, 2, producer_id=-1),)))
    (tmp_path / f"{topic}-12.txt").write_text(left)
    (tmp_path / "notes.txt").write_text(left)
    (gap,) = replay([tmp_path]).not_judged
    assert (gap.name, gap.gap) == (f"{topic}-12", Gap.MISSING)
    assert f"{topic}-12.txt is named after it" in gap.why
