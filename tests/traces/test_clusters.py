"""Evidence of two clusters in one call is the first thing said, and nothing is concluded across them."""

import re
import shutil
from pathlib import Path

import pytest

from tests.traces.dumps import LOG, PATH, Printed, text_of
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Gap, Judgement, Report

PAIRS = [
    ("01-commit", "07-tv0-commit"),
    ("01-commit", "10-hanging"),
    ("12-delayed-abort", "25-kafka39-commit-abort-zombie"),
    ("09-offline-partition-lost-commit", "01-commit"),
    ("23-truncated-segment", "30-tampered-abort-marker-removed"),
]


def assert_nothing_is_concluded(report: Report, *words: str) -> None:
    assert report.verdict is Judgement.DAMAGED
    assert report.findings == []
    assert (report.transactions, report.committed, report.lso, report.judged.partitions) == ([], {}, {}, [])
    assert [gap.gap for gap in report.not_judged] == [Gap.CLUSTERS]
    for word in ("evidence of several clusters", "call once for each cluster", *words):
        assert word in report.damage[0].message


@pytest.mark.parametrize("form", ["", "segments", "dump"])
@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_two_recordings_are_two_clusters(samples: Path, pair: tuple[str, str], form: str) -> None:
    folders = [samples / name / form for name in pair]
    assert_nothing_is_concluded(replay(folders), *map(str, folders))


def test_brokers_of_the_same_name_in_two_folders_are_two_brokers(samples: Path, tmp_path: Path) -> None:
    for number, name in enumerate(("01-commit", "10-hanging")):
        shutil.copytree(samples / name / "segments", tmp_path / str(number) / "broker-1")
    assert_nothing_is_concluded(replay([tmp_path]))


def test_cluster_ids_that_differ_say_it_outright(samples: Path, tmp_path: Path) -> None:
    for node, cluster in ((1, "abc"), (2, "abc"), (3, "xyz")):
        folder = tmp_path / f"node-{node}"
        shutil.copytree(samples / f"09-offline-partition-lost-commit/segments/broker-{node}", folder)
        (folder / "meta.properties").write_text(f"#\nversion=1\ncluster.id={cluster}\nnode.id={node}\n")
    assert_nothing_is_concluded(replay([tmp_path]), "cluster abc is in", "cluster xyz is in", "node-3")
    (tmp_path / "node-3/meta.properties").write_text("version=0\nbroker.id=3\ncluster.id=abc\n")
    assert replay([tmp_path]).verdict is Judgement.VIOLATES


def test_topic_ids_that_all_differ_say_it(samples: Path, tmp_path: Path) -> None:
    for node in (1, 2):
        folder = tmp_path / f"node-{node}"
        shutil.copytree(samples / f"09-offline-partition-lost-commit/segments/broker-{node}", folder)
        (folder / "d-0/partition.metadata").write_text(f"version: 0\ntopic_id: topic{node}\n")
    assert_nothing_is_concluded(replay([tmp_path]), "topic 'd' has the id topic1")
    for node in (1, 2):
        same = tmp_path / f"node-{node}/__transaction_state-1/partition.metadata"
        same.write_text("version: 0\ntopic_id: both\n")
    assert replay([tmp_path]).verdict is Judgement.CONFORMS


def test_an_id_in_two_partitions_of_the_coordinators_topic_says_it(samples: Path, tmp_path: Path) -> None:
    shutil.copytree(samples / "01-commit/segments", tmp_path / "one")
    other = tmp_path / "two" / "__transaction_state-7"
    shutil.copytree(samples / "10-hanging/segments/__transaction_state-1", other)
    assert_nothing_is_concluded(replay([tmp_path]), "'orders-1' is in two partitions of __transaction_state")


def test_a_replica_that_differs_everywhere_is_no_other_cluster_when_its_broker_agrees_elsewhere(
    samples: Path, tmp_path: Path
) -> None:
    for node in (1, 2):
        shutil.copytree(
            samples / f"09-offline-partition-lost-commit/segments/broker-{node}", tmp_path / f"broker-{node}"
        )
    foreign = samples / "01-commit/segments/t-0/00000000000000000000.log"
    shutil.copy(foreign, tmp_path / "broker-2/d-0/00000000000000000000.log")
    report = replay([tmp_path])
    assert [finding.promise for finding in report.findings] == ["replicas_agree"]


def test_copies_of_one_recording_are_one_cluster(samples: Path, tmp_path: Path) -> None:
    shutil.copytree(samples / "01-commit", tmp_path / "again")
    assert replay([samples / "01-commit", tmp_path]).verdict is Judgement.CONFORMS


def test_a_node_that_has_a_partition_twice_says_it(samples: Path, tmp_path: Path) -> None:
    for node in (1, 2):
        folder = tmp_path / f"node-{node}"
        shutil.copytree(samples / f"09-offline-partition-lost-commit/segments/broker-{node}", folder)
        (folder / "meta.properties").write_text("version=1\nnode.id=1\n")
    assert replay([tmp_path]).verdict is Judgement.CONFORMS
    foreign = samples / "01-commit/segments/t-0/00000000000000000000.log"
    shutil.copy(foreign, tmp_path / "node-2/d-0/00000000000000000000.log")
    assert_nothing_is_concluded(replay([tmp_path]), "node 1 has d-0 in")
    (tmp_path / "node-2/meta.properties").write_text("version=1\nnode.id=2\n")
    assert [finding.promise for finding in replay([tmp_path]).findings] == ["replicas_agree"]


# ---------------------------------------------------------------- dumps of one path, which every broker has

STATE = "__transaction_state-1.txt"


def at_one_path(text: str) -> str:
    """A dump as printed on any broker."""
    return re.sub(r"(?m)^Dumping \S*?(?=[^/\s]+/\d{20}\.log$)", "Dumping /var/lib/kafka/data/", text)


def dumps_of(samples: Path, name: str) -> list[str]:
    return [at_one_path((samples / name / "dump" / file).read_text()) for file in ("t-0.txt", STATE)]


@pytest.mark.parametrize("pair", [("10-hanging", "12-delayed-abort"), ("12-delayed-abort", "10-hanging")])
@pytest.mark.parametrize("is_one_file", [True, False])
def test_dumps_of_one_path_of_two_clusters_say_it(
    pair: tuple[str, str], is_one_file: bool, samples: Path, tmp_path: Path
) -> None:
    for number, name in enumerate(pair):
        with (tmp_path / ("all.txt" if is_one_file else f"{number}.txt")).open("a") as file:
            file.writelines(dumps_of(samples, name))
    words = [f"{tmp_path}/all.txt, which prints both"] if is_one_file else [f"{tmp_path}/0.txt", f"{tmp_path}/1.txt"]
    assert_nothing_is_concluded(replay([tmp_path]), *words)


def test_a_dump_that_is_given_twice_hides_no_other_cluster(samples: Path, tmp_path: Path) -> None:
    texts = [*dumps_of(samples, "10-hanging"), *dumps_of(samples, "12-delayed-abort")]
    (tmp_path / "all.txt").write_text("".join([*texts, *texts]))
    assert_nothing_is_concluded(replay([tmp_path]))


@pytest.mark.parametrize("is_one_file", [True, False])
def test_dumps_of_one_path_of_two_replicas_are_compared(is_one_file: bool, tmp_path: Path) -> None:
    other = (*LOG[:2], Printed(3, 2, producer_id=9, sequence=0), *LOG[3:])
    for number, log in enumerate((LOG, other)):
        with (tmp_path / ("all.txt" if is_one_file else f"{number}.txt")).open("a") as file:
            file.write(text_of("2.8", log))
    findings = replay([tmp_path]).findings
    assert [(finding.promise, finding.offset) for finding in findings] == [("replicas_agree", 3)]


def test_a_later_segment_belongs_to_the_copy_of_its_file(tmp_path: Path) -> None:
    other = tuple(Printed(each.first, each.count, 9, each.sequence, each.marker) for each in LOG)
    (tmp_path / "a.txt").write_text(text_of("2.8", LOG))
    later = text_of("2.8", (Printed(7, 1, 9, 4),), PATH.replace(f"{0:020}", f"{7:020}"))
    (tmp_path / "b.txt").write_text(text_of("2.8", other) + later)
    assert [(log.end_offset, log.files) for log in collect([tmp_path]).logs] == [
        (8, [str(tmp_path / "b.txt")]),
        (7, [str(tmp_path / "a.txt")]),
    ]


@pytest.mark.parametrize("release", ["0.11", "0.11 batches", "2.4", "4.3", "4.3 batches"])
def test_readings_of_one_log_by_several_releases_are_one_copy(release: str, tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text(text_of(release) + text_of("3.1"))
    assert len(collect([tmp_path]).logs) == 1
