"""Batches that are missing from the middle of a log: whether a cleaner took them, and what their loss proves."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.encoding import write_batch
from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.traces.evidence import Holes, PartitionLog
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Gap, Judgement

if TYPE_CHECKING:
    from tests.traces.replay.conftest import History

Encode = Callable[..., bytes]

T0 = ("t", 0)
LOST = "every_listed_partition_has_its_marker"


# ---------------------------------------------------------------- who took them


def segment(*records: tuple[int, bytes | None]) -> bytes:
    """A segment of batches with one record each, by offset and key."""
    return b"".join(
        write_batch(Batch(-1, -1, -1, False, (Record(key, b"v"),), base_offset=offset, timestamp_ms=1_000 + offset))
        for offset, key in records
    )


def log_of(folder: Path, *segments: Sequence[tuple[int, bytes | None]]) -> PartitionLog:
    place = folder / "broker-1/t-0"
    place.mkdir(parents=True)
    for records in segments:
        (place / f"{records[0][0]:020}.log").write_bytes(segment(*records))
    [log] = collect([folder]).logs
    return log


KEYED = [(0, b"a"), (1, b"b"), (3, b"c"), (4, b"d")]
TWICE = [(0, b"a"), (2, b"b"), (4, b"c"), (5, b"a")]


@pytest.mark.parametrize(
    ("records", "holes"),
    [
        (KEYED, Holes.UNKNOWN),
        (TWICE, Holes.CLEANER),
        ([(0, b"a"), (1, None), (3, b"c")], Holes.LOST),
        ([(0, b"a"), (1, b"a"), (3, b"c")], Holes.LOST),
        ([(0, b"a"), (1, b"b"), (3, None)], Holes.UNKNOWN),
        ([*TWICE, (6, None)], Holes.UNKNOWN),
        ([(0, b"a"), (1, b"a"), (2, None)], Holes.CLEANER),
    ],
    ids=[
        "one hole",
        "several holes",
        "no key before",
        "a key twice before",
        "no key after",
        "several holes and no key",
        "no hole",
    ],
)
def test_records_tell_whether_a_cleaner_took_offsets(
    records: list[tuple[int, bytes | None]], holes: Holes, tmp_path: Path
) -> None:
    log = log_of(tmp_path, records)
    assert log.holes is holes
    report = replay([tmp_path])
    assert (report.verdict, report.findings) == (Judgement.CONFORMS, [])
    expected = [] if holes is Holes.CLEANER else [("t-0", Gap.UNREADABLE, gap.first) for gap in log.missing()]
    assert [(gap.name, gap.gap, gap.first_offset) for gap in report.not_judged] == expected
    assert report.judged.compacted == (["t-0"] if records is TWICE else [])


def test_the_checkpoint_of_the_cleaner_explains_a_hole(tmp_path: Path) -> None:
    log_of(tmp_path, KEYED)
    (tmp_path / "broker-1/cleaner-offset-checkpoint").write_text("0\n1\nt 0 4\n")
    assert replay([tmp_path]).not_judged == []


@pytest.mark.parametrize("checkpoint", ["0\n1\nt 0 2\n", "0\n0\n", ""], ids=["before it", "never", "a new broker"])
def test_a_hole_that_the_cleaner_had_not_reached_is_not_judged(checkpoint: str, tmp_path: Path) -> None:
    """Also in a topic that is compacted, as its settings say. Another replica may have been fetched with its gaps."""
    log_of(tmp_path, KEYED)
    partition = {"replicas": [1]}
    topics = {"t": {"id": "x", "partitions": [partition], "config": {"cleanup.policy": "compact"}}}
    (tmp_path / "cluster.json").write_text(json.dumps({"topics": topics}))
    assert replay([tmp_path]).not_judged == []
    (tmp_path / "broker-1/cleaner-offset-checkpoint").write_text(checkpoint)
    [gap] = replay([tmp_path]).not_judged
    partition["replicas"] = [1, 2, 3]
    (tmp_path / "cluster.json").write_text(json.dumps({"topics": topics}))
    assert replay([tmp_path]).not_judged == []
    assert (gap.name, gap.first_offset, gap.last_offset) == ("t-0", 2, 2)
    assert "the cleaner had come to offset" in gap.why


@pytest.mark.parametrize(("point", "is_cut"), [(0, False), (5, False), (6, True)])
def test_a_log_that_ends_below_its_recovery_point_is_cut(point: int, is_cut: bool, tmp_path: Path) -> None:
    """Everything below was on the disk."""
    log_of(tmp_path, [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"d"), (4, b"e")])
    (tmp_path / "broker-1/recovery-point-offset-checkpoint").write_text(f"0\n1\nt 0 {point}\n")
    expected = [("t-0", 5, 5, True)] if is_cut else []
    gaps = replay([tmp_path]).not_judged
    assert [(gap.name, gap.first_offset, gap.last_offset, "recovery-point" in gap.why) for gap in gaps] == expected


@pytest.mark.parametrize(("policy", "is_explained"), [("compact", True), ("compact,delete", True), ("delete", False)])
@pytest.mark.parametrize("source", ["cluster.json", "__cluster_metadata"])
def test_the_policy_of_a_topic_explains_a_hole(
    policy: str, is_explained: bool, source: str, tmp_path: Path, batch: Encode
) -> None:
    log_of(tmp_path, TWICE if policy == "delete" else KEYED)
    if source == "cluster.json":
        topics = {"t": {"id": "x", "partitions": [{}], "config": {"cleanup.policy": policy}}}
        (tmp_path / "cluster.json").write_text(json.dumps({"topics": topics}))
    else:
        folder = tmp_path / "broker-1/__cluster_metadata-0"
        folder.mkdir()

        def setting(topic: bytes, value: bytes, kind: int = 2) -> bytes:
            name = b"cleanup.policy"
            texts = b"".join(bytes([len(text) + 1]) + text for text in (topic, name, value))
            return b"\x01\x04\x00" + bytes([kind]) + texts + b"\x00"

        values = [setting(b"t", b"delete"), setting(b"t", policy.encode()), setting(b"t", b"none", kind=4)]
        data = b"".join(batch([(0, None, value)], base_offset=offset) for offset, value in enumerate(values))
        (folder / f"{0:020}.log").write_bytes(data)
    assert (replay([tmp_path]).not_judged == []) is is_explained


def test_a_segment_that_was_not_given_accuses_nobody(tmp_path: Path) -> None:
    log = log_of(tmp_path, [(0, None), (1, None)], [(4, None), (6, None)])
    assert log.has_lost_batches
    assert [(gap.first_offset, gap.last_offset) for gap in replay([tmp_path]).not_judged] == [(2, 3), (5, 5)]


# ---------------------------------------------------------------- what it proves


def take_out(history: "History", *indexes: int) -> None:
    """Take batches away and leave their offsets missing."""
    log = history.log(T0)
    log.batches = [batch for index, batch in enumerate(log.batches) if index not in indexes]


@pytest.fixture
def history(made: "type[History]") -> "History":
    """Four transactions of one epoch: data at 0, 2, 4 and 6, each before its marker."""
    history = made()
    history.state(S.EMPTY, 7, 0, tv=0)
    for number in range(4):
        history.state(S.ONGOING, 7, 0, T0, tv=0)
        history.data(T0, 7, 0, number)
        history.state(S.PREPARE_COMMIT, 7, 0, T0, tv=0)
        history.marker(T0, 7, 0)
        history.state(S.COMPLETE_COMMIT, 7, 0, tv=0)
    return history


@pytest.mark.parametrize("holes", [Holes.LOST, Holes.UNKNOWN])
@pytest.mark.parametrize("number", range(3))
def test_a_marker_that_is_missing_after_its_data_is_lost(history: "History", holes: Holes, number: int) -> None:
    take_out(history, 2 * number + 1)
    history.log(T0).holes = holes
    assert [(each.promise, each.offset) for each in replay(history.evidence).findings] == [(LOST, 2 * number)]


@pytest.mark.parametrize("number", range(3))
def test_an_incomplete_last_transaction_does_not_hide_a_lost_marker(history: "History", number: int) -> None:
    history.state(S.ONGOING, 7, 0, T0, tv=0)
    history.data(T0, 7, 0, 4)
    take_out(history, 2 * number + 1)
    history.log(T0).holes = Holes.LOST
    assert [each.promise for each in replay(history.evidence).findings] == [LOST]


@pytest.mark.parametrize("gone", [(2, 3), (2,), (2, 3, 4, 5), (0, 1)])
def test_what_a_cleaner_takes_is_accepted_where_the_topic_may_be_compacted(
    history: "History", gone: tuple[int, ...]
) -> None:
    take_out(history, *gone)
    for holes in (Holes.CLEANER, Holes.UNKNOWN):
        history.log(T0).holes = holes
        assert replay(history.evidence).findings == []


def test_a_record_that_is_lost_is_a_sequence_that_is_missing(history: "History") -> None:
    take_out(history, 4)
    history.log(T0).holes = Holes.LOST
    assert [(each.promise, each.offset) for each in replay(history.evidence).findings] == [
        ("sequences_follow_each_other", 6)
    ]


@pytest.mark.parametrize("holes", [Holes.LOST, Holes.UNKNOWN])
def test_the_index_of_aborted_transactions_names_a_lost_marker(made: "type[History]", holes: Holes) -> None:
    history = made.indexed()
    take_out(history, 2)
    history.log(T0).holes = holes
    [finding] = replay(history.evidence).findings
    assert (finding.promise, finding.offset) == ("the_aborted_index_is_what_the_log_says", 2)
    assert "names an ABORT marker of producer id 7 at offset 2" in finding.message
