"""When topics were created and deleted, as a data directory of Kafka tells it; folders of topics that are gone."""

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from zombieproof.formats.cluster_metadata import PartitionCreated, TopicCreated, TopicRemoved, read_topic_record
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.identity import encoded
from zombieproof.screening.taking import LogScreen
from zombieproof.traces.evidence import Evidence
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import replay

Encode = Callable[..., bytes]
FIRST, SECOND = UUID(int=1 << 70 | 5), UUID(int=1 << 71 | 9)
LOG = f"{0:020}.log"


def topic(name: str, identity: UUID) -> bytes:
    return b"\x01\x02\x00" + bytes([len(name) + 1]) + name.encode() + identity.bytes + b"\x00"


def partition(number: int, identity: UUID) -> bytes:
    return b"\x01\x03\x02" + number.to_bytes(4) + identity.bytes + b"\x02\x00\x00\x00\x01"


def removed(identity: UUID) -> bytes:
    return b"\x01\x09\x00" + identity.bytes + b"\x00"


NO_OP = b"\x01\x14\x00\x00"


def metadata_log(batch: Encode, values: list[tuple[int, bytes]]) -> bytes:
    return b"".join(
        batch([(0, None, value)], base_offset=offset, base_time=time) for offset, (time, value) in enumerate(values)
    )


def test_records_of_topics_are_read_as_kafka_writes_them() -> None:
    written = bytes.fromhex("01020005736c6f77a2c8a8c272f74d098b3a5a877aae34d400")
    identity = encoded(UUID("a2c8a8c272f74d098b3a5a877aae34d4"))
    assert read_topic_record(written) == TopicCreated("slow", identity)
    assert read_topic_record(partition(3, FIRST)) == PartitionCreated(encoded(FIRST), 3)
    assert read_topic_record(removed(FIRST)) == TopicRemoved(encoded(FIRST))
    assert read_topic_record(NO_OP) is None
    for end in range(len(written) - 2):
        with pytest.raises(Undecodable):
            read_topic_record(written[:end])
    with pytest.raises(Undecodable, match="frame version 2"):
        read_topic_record(b"\x02" + written[1:])


@pytest.fixture
def directory(tmp_path: Path, batch: Encode) -> Path:
    """What a broker keeps: topic t was deleted and created again with fewer partitions, u was deleted."""
    values = [
        (100, topic("t", FIRST)),
        (100, partition(0, FIRST)),
        (100, partition(1, FIRST)),
        (150, topic("u", UUID(int=7))),
        (160, NO_OP),
        (200, removed(FIRST)),
        (210, removed(UUID(int=7))),
        (300, topic("t", SECOND)),
        (300, partition(0, SECOND)),
        (400, partition(2, SECOND)),
    ]
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    (folder / LOG).write_bytes(metadata_log(batch, values))
    return tmp_path


def test_the_metadata_log_tells_which_topics_there_were(directory: Path) -> None:
    evidence = collect([directory])
    assert evidence.damage == []
    assert [(life.topic, life.created_ms, life.removed_ms) for life in evidence.topic_lives] == [
        ("t", 100, 200),
        ("u", 150, 210),
        ("t", 300, None),
    ]
    assert [evidence.created_ms(("t", number)) for number in (0, 2)] == [300, 400]
    assert [evidence.is_gone(place) for place in (("t", 0), ("t", 1), ("u", 0), ("v", 0))] == [False, True, True, False]
    assert evidence.created_ms(("v", 0)) is None


def test_what_cannot_be_read_of_the_metadata_log_is_reported_and_harms_nothing(directory: Path) -> None:
    log = directory / "__cluster_metadata-0" / LOG
    log.write_bytes(log.read_bytes()[:-3])
    evidence = collect([directory])
    assert evidence.damage == [] or "nothing in it is evidence" in evidence.damage[0].message
    assert [each.reason[:38] for each in evidence.ignored] == ["a part of the cluster's metadata log: "[:38]]
    assert [life.topic for life in evidence.topic_lives] == ["t", "u", "t"]


def test_a_cluster_file_of_our_own_tells_which_topics_are_gone(tmp_path: Path, batch: Encode) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / LOG).write_bytes(batch())
    (tmp_path / "cluster.json").write_text('{"topics": {"t": {"partitions": [{}, {}]}}}')
    evidence = collect([tmp_path])
    assert [evidence.is_gone(place) for place in (("t", 1), ("t", 2), ("u", 0))] == [False, True, True]
    (tmp_path / "cluster.json").write_text('{"topics": 1}')
    evidence = collect([tmp_path])
    assert not evidence.is_gone(("u", 0))
    assert [each.reason for each in evidence.ignored] == ["it is not the cluster.json of zombieproof serve"]


@pytest.mark.parametrize(
    ("kind", "why"), [("delete", "to delete it"), ("future", "was moving a replica"), ("stray", "no longer assigns")]
)
def test_folders_that_a_broker_had_put_aside_are_counted_by_what_they_are(
    directory: Path, batch: Encode, kind: str, why: str
) -> None:
    folder = directory / f"t-0.{'0123456789abcdef' * 2}-{kind}"
    folder.mkdir()
    (folder / LOG).write_bytes(batch())
    (folder / "leader-epoch-checkpoint").write_text("0\n0\n")
    report = replay([directory])
    assert len([each for each in report.judged.files_not_read if why in each.reason]) == 2
    assert not report.committed


def copies(directory: Path, batch: Encode, *, newest: UUID) -> None:
    """Two brokers with a folder t-0 each, of two topics, and one of a topic that both have."""
    for number, identity in enumerate((FIRST, SECOND), 1):
        for name, topic_id in (("t-0", identity), ("w-0", UUID(int=3))):
            folder = directory / f"broker-{number}" / name
            folder.mkdir(parents=True)
            time = 1_700_000_000_000 + (1_000 if identity == newest else 0)
            (folder / LOG).write_bytes(batch([(0, None, str(topic_id).encode())], base_time=time))
            (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {encoded(topic_id)}")


def read(directory: Path, *, screened: bool) -> Evidence:
    return collect([directory], screen=LogScreen() if screened else None)


@pytest.mark.parametrize("screened", [True, False])
@pytest.mark.parametrize("newest", [FIRST, SECOND])
def test_the_folder_of_an_earlier_topic_is_no_copy_of_the_present_one(
    tmp_path: Path, batch: Encode, newest: UUID, screened: bool
) -> None:
    copies(tmp_path, batch, newest=newest)
    evidence = read(tmp_path, screened=screened)
    [log] = evidence.replicas("t", 0)
    assert f"broker-{1 if newest == FIRST else 2}" in log.files[0]
    assert [each.reason.split(",")[0] for each in evidence.ignored] == ["of an earlier topic 't'"] * 2


def test_the_metadata_log_tells_which_of_two_folders_is_of_the_present_topic(directory: Path, batch: Encode) -> None:
    copies(directory, batch, newest=FIRST)
    [log] = collect([directory]).replicas("t", 0)
    assert "broker-2" in log.files[0]
