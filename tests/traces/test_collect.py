"""Any mixture of files and folders is one body of evidence: what is read, ignored, damaged, and told once."""

import gzip
import lzma
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zombieproof.traces.evidence import Evidence, EvidenceError, OffsetGap, PartitionLog, Source
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.segments import Keep

Encode = Callable[..., bytes]


def copied(samples: Path, name: str, to: Path) -> Path:
    target = to / name
    shutil.copytree(samples / name, target)
    return target


def logs(evidence: Evidence) -> list[tuple[str, int, str, int]]:
    return [(log.topic, log.partition, log.source.value, len(log.batches)) for log in evidence.logs]


def test_a_whole_recording_is_read_and_each_log_told_once(samples: Path) -> None:
    evidence = collect([samples / "01-commit"])
    assert logs(evidence) == [("__transaction_state", 1, "segment", 5), ("t", 0, "segment", 4), ("t", 1, "segment", 4)]
    assert evidence.damage == []
    assert len(evidence.transaction_states) == 5
    assert {record.transactional_id for record in evidence.transaction_states} == {"orders-1"}
    assert len(evidence.coordinator_lines) == 10
    assert len(evidence.client_calls) == 11
    assert evidence.client_lines
    assert [(snapshot.topic, snapshot.partition, snapshot.offset) for snapshot in evidence.snapshots] == [
        ("__transaction_state", 1, 5),
        ("t", 0, 4),
        ("t", 1, 4),
    ]


def test_descriptions_are_ignored_with_a_reason(samples: Path) -> None:
    ignored = {Path(entry.file).name: entry.reason for entry in collect([samples / "01-commit"]).ignored}
    assert set(ignored) == {"about.yaml", "consumed.json"}
    assert all(ignored.values())


@pytest.mark.parametrize(
    "name", ["01-commit", "07-tv0-commit", "25-kafka39-commit-abort-zombie", "30-tampered-abort-marker-removed"]
)
def test_text_dumps_alone_tell_the_same_logs_as_segments(samples: Path, name: str) -> None:
    segments, dumps = collect([samples / name / "segments"]), collect([samples / name / "dump"])
    assert {log.source for log in dumps.logs} == {Source.DUMP}
    assert [entry[:2] + entry[3:] for entry in logs(dumps)] == [entry[:2] + entry[3:] for entry in logs(segments)]
    assert [[batch.marker for batch in log.batches] for log in dumps.logs] == [
        [batch.marker for batch in log.batches] for log in segments.logs
    ]
    assert len(dumps.transaction_states) == len(segments.transaction_states)
    assert {(entry.offset, entry.entries) for entry in dumps.snapshots} <= {
        (entry.offset, entry.entries) for entry in segments.snapshots
    }


def test_replicas_that_say_the_same_are_told_once_and_the_longest_first(samples: Path) -> None:
    evidence = collect([samples / "09-offline-partition-lost-commit"])
    assert len({log.topic_partition for log in evidence.logs}) == len(evidence.logs)
    assert {log.replica for log in evidence.logs} <= {"broker-1", "broker-2", "broker-3"}


def test_a_replica_that_differs_is_kept(samples: Path, tmp_path: Path) -> None:
    folder = copied(samples, "09-offline-partition-lost-commit", tmp_path)
    shutil.rmtree(folder / "dump")
    names = sorted(path.parent for path in folder.glob("segments/*/d-0/*.log"))
    assert len(names) >= 2
    other = samples / "01-commit/segments/t-0/00000000000000000000.log"
    (names[0] / "00000000000000000000.log").write_bytes(other.read_bytes())
    evidence = collect([folder])
    replicas = evidence.replicas("d", 0)
    assert {log.replica for log in replicas} == {names[0].parent.name, replicas[0].replica}
    assert evidence.log("d", 0) is replicas[0]
    assert replicas[0].end_offset >= replicas[1].end_offset


def test_several_segments_of_a_partition_are_one_log(batch: Encode, tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(batch(base_offset=0) + batch(base_offset=1))
    (folder / "00000000000000000002.log").write_bytes(batch(base_offset=2))
    (folder / "00000000000000000003.log").write_bytes(b"")
    (log,) = collect([tmp_path]).logs
    assert [entry.base_offset for entry in log.batches] == [0, 1, 2]
    assert (log.start_offset, log.end_offset, len(log.files)) == (0, 3, 3)
    assert not log.compacted
    assert not log.torn_tail


def test_an_active_segment_without_batches_still_says_where_the_log_ends(batch: Encode, tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(batch(base_offset=0))
    (folder / "00000000000000000009.log").write_bytes(b"")
    (log,) = collect([folder]).logs
    assert log.end_offset == 9


def test_a_torn_segment_in_the_middle_damages_the_gap_behind_it(batch: Encode, tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(batch(base_offset=0) + batch(base_offset=1)[:-9])
    (folder / "00000000000000000002.log").write_bytes(batch(base_offset=2))
    evidence = collect([folder])
    (log,) = evidence.logs
    assert len(evidence.damage) == 1
    assert list(log.gaps()) == [OffsetGap(1, 1, damaged=True)]
    assert not log.compacted
    assert not log.torn_tail


def test_segments_that_overlap_are_damage(batch: Encode, tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(batch(base_offset=0) + batch(base_offset=1))
    (folder / "00000000000000000001.log").write_bytes(batch(base_offset=1) + batch(base_offset=2))
    evidence = collect([folder])
    assert [entry.base_offset for entry in evidence.logs[0].batches] == [0, 1, 2]
    assert len(evidence.damage) == 1


@pytest.mark.parametrize("suffix", [".xz", ".gz"])
def test_packed_files_are_read_as_they_are(samples: Path, tmp_path: Path, suffix: str) -> None:
    pack = lzma.compress if suffix == ".xz" else gzip.compress
    folder = copied(samples, "01-commit", tmp_path)
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        path.with_name(path.name + suffix).write_bytes(pack(path.read_bytes()))
        path.unlink()
    plain, packed = collect([samples / "01-commit"]), collect([folder])
    assert packed.damage == []
    assert logs(packed) == logs(plain)
    assert len(packed.coordinator_lines) == len(plain.coordinator_lines)
    assert len(packed.client_calls) == len(plain.client_calls)
    assert len(packed.snapshots) == len(plain.snapshots)


@pytest.mark.parametrize("suffix", [".xz", ".gz"])
@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_a_packed_file_that_is_cut_is_named_and_read_as_far_as_it_goes(
    samples: Path, tmp_path: Path, suffix: str, cut: float
) -> None:
    pack = lzma.compress if suffix == ".xz" else gzip.compress
    data = pack((samples / "01-commit/segments/t-0/00000000000000000000.log").read_bytes())
    folder = tmp_path / "t-0"
    folder.mkdir()
    file = folder / f"00000000000000000000.log{suffix}"
    file.write_bytes(data[: int(len(data) * cut)])
    evidence = collect([folder])
    assert str(file) in {place.file for place in evidence.damage}
    assert "cut short" in evidence.damage[0].message


def test_a_packed_file_of_two_streams_is_read_whole(samples: Path, tmp_path: Path) -> None:
    whole = (samples / "01-commit/client.jsonl").read_bytes()
    half = whole.index(b"\n", len(whole) // 2) + 1
    for name, pack in (("a.jsonl.xz", lzma.compress), ("b.jsonl.gz", gzip.compress)):
        (tmp_path / name).write_bytes(pack(whole[:half]) + pack(whole[half:]))
        assert len(collect([tmp_path / name]).client_calls) == 11


def test_a_packed_file_of_garbage_is_named(tmp_path: Path) -> None:
    for name in ("x.log.xz", "y.log.gz"):
        (tmp_path / name).write_bytes(b"garbage that no one packed")
    evidence = collect([tmp_path])
    assert {Path(place.file).name for place in evidence.damage} == {"x.log.xz", "y.log.gz"}


def test_files_are_known_by_their_content_where_the_name_does_not_tell(samples: Path, tmp_path: Path) -> None:
    source = samples / "01-commit"
    names = {
        "segments/t-0/00000000000000000000.log": "a",
        "segments/t-0/00000000000000000004.snapshot": "b",
        "dump/t-1.txt": "c",
        "server.log": "d.txt",
        "client.log": "e",
        "client.jsonl": "f",
    }
    for name, target in names.items():
        shutil.copy(source / name, tmp_path / target)
    shutil.copy(samples / "25-kafka39-commit-abort-zombie/dump/__transaction_state.console.txt", tmp_path / "g")
    evidence = collect([tmp_path])
    assert evidence.ignored == []
    assert evidence.damage == []
    assert len(evidence.files) == 7
    assert len(evidence.logs) == 2
    assert len(evidence.snapshots) == 1
    assert len(evidence.coordinator_lines) == 10
    assert len(evidence.client_calls) == 11
    assert len(evidence.transaction_states) == 15
    assert evidence.client_lines


def test_a_console_is_used_only_for_ids_that_no_log_tells(samples: Path) -> None:
    name = samples / "25-kafka39-commit-abort-zombie"
    console = name / "dump/__transaction_state.console.txt"
    both = collect([name / "segments", console])
    alone = collect([console])
    assert len(both.transaction_states) == len(alone.transaction_states) == 15
    assert {record.partition for record in both.transaction_states} == {1}
    assert {record.partition for record in alone.transaction_states} == {-1}
    assert [record.order for record in alone.transaction_states] == list(range(15))


def test_a_file_named_twice_is_read_once(samples: Path) -> None:
    once, twice = collect([samples / "01-commit"]), collect([samples / "01-commit", samples / "01-commit/client.jsonl"])
    assert twice.files == once.files
    assert twice.damage == []
    assert len(twice.client_calls) == len(once.client_calls)


def test_a_path_that_does_not_exist_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="no-such-thing: no such file"):
        collect([tmp_path, tmp_path / "no-such-thing"])
    with pytest.raises(EvidenceError, match="no evidence is named"):
        collect([])


def test_an_empty_folder_is_damage(tmp_path: Path) -> None:
    assert [(place.file, place.position) for place in collect([tmp_path]).damage] == [(str(tmp_path), 0)]


def test_an_empty_folder_inside_is_damage(samples: Path, tmp_path: Path) -> None:
    folder = copied(samples, "01-commit", tmp_path)
    shutil.rmtree(folder / "segments/t-0")
    (folder / "segments/t-0").mkdir()
    assert [place.file for place in collect([folder]).damage] == [str(folder / "segments/t-0")]


def test_a_partition_whose_segment_is_missing_is_damage(samples: Path, tmp_path: Path) -> None:
    folder = copied(samples, "01-commit", tmp_path)
    (folder / "segments/t-0/00000000000000000000.log").unlink()
    assert [place.file for place in collect([folder]).damage] == [str(folder / "segments/t-0")]


def test_a_folder_without_evidence_is_damage_and_its_files_are_listed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of the kind\n")
    (tmp_path / "image.png").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "empty.txt").write_text("")
    evidence = collect([tmp_path])
    assert [place.file for place in evidence.damage] == [str(tmp_path)]
    assert {Path(entry.file).name for entry in evidence.ignored} == {"notes.txt", "image.png", "empty.txt"}


def test_a_file_without_evidence_is_no_damage_beside_others(samples: Path) -> None:
    assert collect(sorted((samples / "01-commit").iterdir())).damage == []
    assert [place.file for place in collect([samples / "01-commit/about.yaml"]).damage] == [
        str(samples / "01-commit/about.yaml")
    ]


def test_garbage_under_a_standard_name_is_damage(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    for name in ("00000000000000000000.log", "00000000000000000000.snapshot", "00000000000000000000.txnindex"):
        (folder / name).write_bytes(b"garbage " * 20)
    (tmp_path / "cleaner-offset-checkpoint").write_text("garbage")
    evidence = collect([tmp_path])
    assert {(Path(place.file).name, place.position) for place in evidence.damage} == {
        ("00000000000000000000.log", 0),
        ("00000000000000000000.snapshot", 0),
        ("00000000000000000000.txnindex", 0),
        ("cleaner-offset-checkpoint", 0),
    }


def test_checkpoints_of_a_broker_that_has_just_started_are_empty_and_no_damage(batch: Encode, tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(batch(base_offset=0))
    (folder / "leader-epoch-checkpoint").touch()
    for name in ("cleaner-offset", "log-start-offset", "recovery-point-offset", "replication-offset"):
        (tmp_path / f"{name}-checkpoint").touch()
    evidence = collect([tmp_path])
    assert evidence.damage == []
    assert [log.end_offset for log in evidence.logs] == [1]


def test_what_a_broker_keeps_beside_its_logs_is_ignored(batch: Encode, tmp_path: Path) -> None:
    for name in (
        "__cluster_metadata-0/00000000000000000000.log",
        "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
        "t-1.0123456789abcdef0123456789abcdef-delete/00000000000000000000.log",
        "t-0/00000000000000000000.index",
        "t-0/00000000000000000000.timeindex",
        "t-0/00000000000000000000.log.deleted",
        "t-0/partition.metadata",
        "meta.properties",
        "recovery-point-offset-checkpoint",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"whatever")
    (tmp_path / "t-0/00000000000000000000.log").write_bytes(batch())
    evidence = collect([tmp_path])
    assert evidence.damage == []
    assert len(evidence.ignored) == 8
    assert [Path(file).name for file in evidence.files] == [
        "meta.properties",
        "00000000000000000000.log",
        "partition.metadata",
    ]
    assert logs(evidence) == [("t", 0, "segment", 1)]


def test_a_dump_of_the_metadata_log_is_ignored(samples: Path, tmp_path: Path) -> None:
    text = (samples / "01-commit/dump/t-0.txt").read_text().replace("segments/t-0/", "segments/__cluster_metadata-0/")
    (tmp_path / "dump.txt").write_text(text)
    evidence = collect([tmp_path])
    assert evidence.logs == []
    assert len(evidence.ignored) == 1


def test_checkpoints_tell_of_the_cleaner_and_of_the_log_start(batch: Encode, tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(batch(base_offset=0) + batch(base_offset=1))
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 1\n")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n2\nt 0 1\nother 3 9\n")
    (log,) = collect([tmp_path]).logs
    assert log.compacted
    assert log.start_offset == 1


@pytest.mark.parametrize("name", ["a-fifo", "closed"])
def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    if name == "a-fifo":
        os.mkfifo(file)
        assert [entry.file for entry in collect([tmp_path]).ignored] == [str(file)]
        return
    file.symlink_to(tmp_path / "nowhere")
    assert [entry.file for entry in collect([tmp_path]).ignored] == [str(file)]


def test_records_of_data_are_kept_on_demand(samples: Path) -> None:
    def records(keep: Keep) -> list[bytes | None]:
        log = collect([samples / "01-commit/segments"], keep).log("t", 0)
        assert log is not None
        return [record.value for batch in log.batches for record in batch.records or () if not batch.is_control]

    assert records(Keep.NEEDED) == []
    assert records(Keep.ALL) == [b"v0", b"v1", b"v2"]


# ---------------------------------------------------------------- damage in real recordings


def test_a_segment_cut_in_its_last_batch_is_named_and_its_dump_adds_nothing(samples: Path) -> None:
    evidence = collect([samples / "23-truncated-segment"])
    (place,) = evidence.damage
    assert place.file.endswith("23-truncated-segment/segments/t-0/00000000000000000000.log")
    assert place.position == 216
    log = evidence.log("t", 0)
    assert log is not None
    assert log.torn_tail
    assert log.batches[-1].last_offset == 2


def test_its_dump_alone_names_the_line(samples: Path) -> None:
    evidence = collect([samples / "23-truncated-segment/dump/t-0.txt"])
    assert [(place.position, place.unit) for place in evidence.damage] == [(9, "line")]


def test_a_flipped_bit_is_named_and_the_batches_behind_it_are_read(samples: Path, tmp_path: Path) -> None:
    folder = copied(samples, "01-commit", tmp_path)
    file = folder / "segments/t-1/00000000000000000000.log"
    data = bytearray(file.read_bytes())
    data[72 + 65] ^= 4
    file.write_bytes(bytes(data))
    evidence = collect([folder])
    assert [(place.file, place.position) for place in evidence.damage] == [(str(file), 72)]
    log = evidence.log("t", 1)
    assert log is not None
    assert [batch.base_offset for batch in log.batches] == [0, 2, 3]
    assert list(log.gaps()) == [OffsetGap(1, 1, damaged=True)]
    assert not log.compacted


def test_a_cut_dump_is_damage_even_beside_its_segment(samples: Path, tmp_path: Path) -> None:
    folder = copied(samples, "01-commit", tmp_path)
    file = folder / "dump/t-0.txt"
    file.write_bytes(file.read_bytes()[:-40])
    assert [(place.file, place.position) for place in collect([folder]).damage] == [(str(file), 10)]


def test_a_copy_whose_damage_another_copy_repairs_is_still_named(samples: Path, tmp_path: Path) -> None:
    folder = copied(samples, "09-offline-partition-lost-commit", tmp_path)
    file = max(folder.glob("segments/*/d-0/*.log"))
    file.write_bytes(file.read_bytes()[:-5])
    evidence = collect([folder])
    assert [place.file for place in evidence.damage] == [str(file)]
    log = evidence.log("d", 0)
    assert log is not None
    assert not log.torn_tail


FILES = [
    "segments/t-0/00000000000000000000.log",
    "segments/t-0/00000000000000000004.snapshot",
    "segments/__transaction_state-1/00000000000000000000.log",
    "dump/t-0.txt",
    "dump/__transaction_state-1.txt",
    "dump/t-0.state.txt",
    "client.jsonl",
    "client.log",
    "server.log",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    name=st.sampled_from(FILES),
    at=st.integers(0, 1 << 20),
    junk=st.binary(max_size=9),
    cut=st.one_of(st.none(), st.integers(0, 1 << 20)),
)
def test_no_mutilation_of_a_recording_raises(
    samples: Path, tmp_path: Path, name: str, at: int, junk: bytes, cut: int | None
) -> None:
    folder = tmp_path / "mutilated"
    if not folder.exists():
        shutil.copytree(samples / "01-commit", folder)
    whole = (samples / "01-commit" / name).read_bytes()
    place = at % (len(whole) + 1)
    changed = whole[:place] + junk + whole[place + len(junk) :]
    (folder / name).write_bytes(changed if cut is None else changed[: cut % (len(changed) + 1)])
    evidence = collect([folder])
    assert all(place.position >= 0 for place in evidence.damage)
    assert all(Path(place.file).exists() for place in evidence.damage)
    (folder / name).write_bytes(whole)


# ---------------------------------------------------------------- what a log says of itself


def log_of(batch: Encode, tmp_path: Path, *batches: bytes, name: str = "00000000000000000000.log") -> PartitionLog:
    folder = tmp_path / "anything-7"
    folder.mkdir()
    (folder / name).write_bytes(b"".join(batches))
    (log,) = collect([folder]).logs
    return log


def test_a_gap_that_no_damage_explains_is_a_sign_of_compaction(batch: Encode, tmp_path: Path) -> None:
    keys = {2: b"a", 3: b"b", 6: b"c"}
    log = log_of(batch, tmp_path, *(batch([(0, key, b"v")], base_offset=offset) for offset, key in keys.items()))
    assert list(log.gaps()) == [OffsetGap(0, 1, damaged=False), OffsetGap(4, 5, damaged=False)]
    assert log.compacted


def test_a_log_that_begins_later_is_not_compacted(batch: Encode, tmp_path: Path) -> None:
    log = log_of(batch, tmp_path, batch(base_offset=5), name="00000000000000000005.log")
    assert (log.start_offset, log.compacted) == (5, False)


@pytest.mark.parametrize("attributes", [0x40, 0])
def test_a_horizon_and_missing_records_are_signs_of_compaction(batch: Encode, tmp_path: Path, attributes: int) -> None:
    last = None if attributes else 3
    log = log_of(batch, tmp_path, batch(attributes=attributes, last_delta=last))
    assert len(log.signs_of_compaction()) == 1


def test_lookups_give_the_log_to_judge_and_the_history_of_each_id(samples: Path) -> None:
    evidence = collect([samples / "12-delayed-abort"])
    chosen = evidence.partition_logs()
    assert list(chosen) == sorted(chosen)
    assert all(evidence.log(*key) is log for key, log in chosen.items())
    assert [log.is_internal for log in chosen.values()] == [key[0].startswith("__") for key in chosen]
    histories = evidence.histories()
    assert list(histories) == ["orders-1"]
    assert [record.offset for record in histories["orders-1"]] == list(range(len(evidence.transaction_states)))
    assert evidence.log("nobody", 0) is None


@pytest.mark.parametrize("topic", ["__transaction_state", "__consumer_offsets"])
def test_an_internal_record_that_cannot_be_read_is_damage_of_its_segment(
    batch: Encode, tmp_path: Path, topic: str
) -> None:
    folder = tmp_path / f"{topic}-0"
    folder.mkdir()
    kind = b"\0\0" if topic == "__transaction_state" else b"\0\1"
    first = batch([(0, kind + b"\0\1x\0\1t\0\0\0\0", b"\0\0junk")], base_offset=0)
    (folder / "00000000000000000000.log").write_bytes(first + batch([(0, b"\0\7", None)], base_offset=1))
    evidence = collect([folder])
    assert [place.position for place in evidence.damage] == [0]
    assert "offset 0" in evidence.damage[0].message
    assert len(evidence.logs[0].batches) == 2


def test_a_file_that_fails_while_it_is_read_is_named(
    samples: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copy(samples / "01-commit/client.jsonl", tmp_path)

    def fail(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("zombieproof.traces.readers.collect.opened", fail)
    evidence = collect([tmp_path])
    assert [(place.file, place.message) for place in evidence.damage[:1]] == [
        (str(tmp_path / "client.jsonl"), "it cannot be read: Permission denied")
    ]


def test_dumps_that_do_not_say_whose_they_are_stay_apart(samples: Path, tmp_path: Path) -> None:
    for name in ("t-0.txt", "t-1.txt", "__transaction_state-1.txt"):
        text = (samples / "01-commit/dump" / name).read_text()
        nameless = name.removesuffix(".txt").replace("-", " ")
        (tmp_path / nameless).write_text(text.replace(f"segments/{name.removesuffix('.txt')}/", ""))
    alone = collect([tmp_path])
    assert len(alone.logs) == 3
    assert {log.partition for log in alone.logs} == {-1}
    assert len(alone.transaction_states) == 5
    together = tmp_path / "together.txt"
    together.write_text("".join(path.read_text() for path in sorted(tmp_path.glob("* *"))))
    assert len(collect([together]).logs) == 3
    beside = collect([tmp_path, samples / "01-commit/segments"])
    assert {log.source for log in beside.logs} == {Source.SEGMENT}
    assert len(beside.transaction_states) == 5


def test_segments_in_a_folder_of_another_name_are_one_log_of_an_unknown_partition(
    batch: Encode, tmp_path: Path
) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(batch(base_offset=0))
    (tmp_path / "00000000000000000001.log").write_bytes(batch(base_offset=1))
    (tmp_path / "saved").write_bytes(batch(base_offset=9))
    evidence = collect([tmp_path])
    assert sorted(len(log.batches) for log in evidence.logs) == [1, 2]
    assert {log.partition for log in evidence.logs} == {-1}
    assert all("unknown" in log.topic for log in evidence.logs)


def test_a_fresh_data_directory_is_not_damaged(batch: Encode, tmp_path: Path) -> None:
    """Kafka makes its checkpoints empty when it starts, and writes to them a minute later."""
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0/00000000000000000000.log").write_bytes(batch())
    for name in ("cleaner", "log-start", "recovery-point", "replication"):
        (tmp_path / f"{name}-offset-checkpoint").touch()
    evidence = collect([tmp_path])
    assert evidence.damage == []
    assert [log.cleaned for log in evidence.logs] == [False]
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n")
    assert [place.file for place in collect([tmp_path]).damage] == [str(tmp_path / "cleaner-offset-checkpoint")]
