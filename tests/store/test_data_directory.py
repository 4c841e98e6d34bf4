"""Directories that cannot be opened are refused with what to do, and nothing in them is touched."""

import os
import shutil
import threading
from pathlib import Path
from uuid import UUID

import pytest

from tests.store.workloads import SETTINGS
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.data_directory import DataDirectoryError
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.config import Durability
from zombieproof.broker.store.disk import RealDisk
from zombieproof.broker.store.fault_disk import Fault, FaultDisk, Plan
from zombieproof.broker.store.known_logs import LOG_STATES, read_log_states
from zombieproof.broker.store.log_directory import LogDirectory
from zombieproof.formats.batches import Batch, Record
from zombieproof.messages.partitions import Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, Error

INIT = InitProducerId(5, None, 60_000, NONE, NONE)


def contents(path: Path) -> dict[str, bytes | None]:
    return {str(each): each.read_bytes() if each.is_file() else None for each in sorted(path.rglob("*"))}


def opened(path: Path, **arguments: object) -> Embedded:
    return Embedded(path, topics={"t": 1}, settings=SETTINGS, **arguments)  # type: ignore[arg-type]  # as they are


def refused(path: Path, error: type[Exception], *words: str) -> None:
    """Opening `path` fails with these words in the message, and changes nothing."""
    before = contents(path.parent)
    with pytest.raises(error) as caught:
        opened(path)
    for word in (path.name, *words):
        assert word in str(caught.value), caught.value
    after = contents(path.parent)
    assert {name: data for name, data in after.items() if not name.endswith(".lock")} == {
        name: data for name, data in before.items() if not name.endswith(".lock")
    }


def test_a_directory_is_made_and_found_again(tmp_path: Path) -> None:
    for _ in range(2):
        with opened(tmp_path / "new" / "deep") as embedded:
            assert embedded.cluster.metadata.count("t") == 1


def test_a_file_is_no_data_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", DataDirectoryError, "is a file", "a data directory is a folder")


def test_a_folder_with_something_else_in_it_is_no_data_directory(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    refused(tmp_path / "mine", DataDirectoryError, "is not empty", "cluster.json")


def test_a_directory_of_another_version_is_left_alone(tmp_path: Path) -> None:
    opened(tmp_path / "d").close()
    file = tmp_path / "d" / "cluster.json"
    file.write_text(file.read_text().replace('"format": 1', '"format": 2'))
    refused(
        tmp_path / "d", Damaged, "cluster.json", "in format 2", "1 is read", "Open it with the version that wrote it"
    )


@pytest.mark.parametrize("text", ["", "{", '{"format": 1}', "[]"])
def test_a_damaged_cluster_file_is_refused(tmp_path: Path, text: str) -> None:
    opened(tmp_path / "d").close()
    (tmp_path / "d" / "cluster.json").write_text(text)
    refused(tmp_path / "d", Damaged, "cluster.json", "Nothing was changed")


def test_a_directory_in_use_is_refused_until_it_is_closed(tmp_path: Path) -> None:
    with opened(tmp_path / "d"):
        refused(tmp_path / "d", DataDirectoryError, "another process uses it")
    opened(tmp_path / "d").close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere: a false answer is tested instead")
def test_a_directory_without_permission_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir(mode=0o500)
    refused(tmp_path / "d", DataDirectoryError, "may not be written")


def test_a_directory_that_may_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    refused(tmp_path / "d", DataDirectoryError, "may not be written", "give the right")


@pytest.mark.parametrize("name", ["recovery-point-offset-checkpoint", "log-state-checkpoint"])
def test_a_damaged_checkpoint_is_rebuilt(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    opened(tmp_path / "d").close()
    file = tmp_path / "d" / "broker-1" / name
    before = file.read_bytes()
    file.write_bytes(before.replace(b"0", b"zero", 1))
    opened(tmp_path / "d").close()
    assert [name in each for each in caplog.messages] == [True]
    after = file.read_bytes()
    if name == LOG_STATES:
        assert read_log_states(after).generation > read_log_states(before).generation
        assert read_log_states(after).logs == read_log_states(before).logs
    else:
        assert after == before


def test_a_folder_of_another_topic_is_refused(tmp_path: Path) -> None:
    directory = LogDirectory(RealDisk(tmp_path), "d", ManualClock())
    directory.open_store(("t", 0), UUID(int=1))
    with pytest.raises(
        Damaged, match=r"d/t-0/partition.metadata: the folder holds the topic with the id AAAAAAAAAAAAAAAAAAAAAQ"
    ):
        directory.open_store(("t", 0), UUID(int=2))


def test_a_log_is_not_opened_in_the_folder_of_a_deleted_topic() -> None:
    disk = FaultDisk()
    directory = LogDirectory(disk, "d", ManualClock())
    directory.open_store(("t", 0), UUID(int=1))
    directory.let_go({"t"})
    disk.plan = Plan(disk.operations + 1, Fault.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        directory.discard()
    assert directory.open_store(("t", 0), UUID(int=2)).log.offline is None
    assert [name.partition(".")[0] for name in disk.listed("d") if name.startswith("t-")] == ["t-0", "t-0"]


def test_a_directory_of_another_cluster_is_refused(tmp_path: Path) -> None:
    opened(tmp_path / "a").close()
    opened(tmp_path / "b").close()
    (tmp_path / "b" / "broker-1" / "meta.properties").write_bytes(
        (tmp_path / "a" / "broker-1" / "meta.properties").read_bytes()
    )
    with pytest.raises(Damaged, match=r"meta.properties: cluster.id is .* it is another's"):
        opened(tmp_path / "b")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "ä", "x" * 250])
def test_a_topic_name_that_kafka_refuses_is_refused(tmp_path: Path, name: str) -> None:
    with opened(tmp_path / "d") as embedded:
        before = contents(tmp_path)
        with pytest.raises(ValueError, match="letters, digits, dots, underscores and hyphens"):
            embedded.create_topic(name)
        assert contents(tmp_path) == before
        embedded.create_topic("x" * 249)
        with pytest.raises(ValueError, match="there is a topic"):
            embedded.create_topic("x" * 249)
        with pytest.raises(ValueError, match="at least 1"):
            embedded.create_topic("none", 0)
    with pytest.raises(ValueError, match="letters"):
        Embedded(topics={name: 1}, settings=SETTINGS)


def test_a_topic_that_was_made_later_is_there_again(tmp_path: Path) -> None:
    with opened(tmp_path / "d") as embedded:
        embedded.create_topic("later", 3)
    with opened(tmp_path / "d") as embedded:
        assert embedded.cluster.metadata.count("later") == 3


def test_a_producer_id_is_never_given_twice(tmp_path: Path) -> None:
    given = []
    for way in ("close", "abandon", "close"):
        embedded = opened(tmp_path / "d", durability=Durability.FSYNC)
        for _ in range(3):
            answer = embedded.ask(INIT)
            assert isinstance(answer, InitProducerIdAnswer)
            if answer.error == Error.NONE:
                given.append(answer.producer_id)
        getattr(embedded, way)()
    assert len(given) >= 6
    assert len(set(given)) == len(given)


def test_threads_that_wait_share_a_cluster(tmp_path: Path) -> None:
    given: list[int] = []
    with opened(tmp_path / "d") as embedded:
        embedded.ask(INIT)

        def ask() -> None:
            for _ in range(50):
                answer = embedded.ask(INIT)
                assert isinstance(answer, InitProducerIdAnswer)
                given.append(answer.producer_id)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(given)) == len(given) == 200


def test_timers_run_by_themselves_when_there_is_a_thread_for_them() -> None:
    embedded = Embedded(topics={"t": 1}, settings=SETTINGS)
    embedded.start()
    answers: list[object] = []
    arrived = threading.Event()

    def done(answer: object) -> None:
        answers.append(answer)
        arrived.set()

    embedded.submit(INIT, None, done)
    assert arrived.wait(10)
    embedded.close()
    assert isinstance(answers[0], InitProducerIdAnswer)


def test_nothing_is_written_after_a_directory_was_closed(tmp_path: Path) -> None:
    embedded = opened(tmp_path / "d")
    embedded.ask(INIT)
    embedded.close()
    before = contents(tmp_path)
    assert embedded.pump() is False
    assert embedded.wait_until(lambda: False, 1 << 40) is False
    assert contents(tmp_path) == before
    opened(tmp_path / "d").close()


def test_a_cluster_that_is_closed_takes_no_requests() -> None:
    embedded = Embedded(topics={"t": 1}, settings=SETTINGS)
    embedded.close()
    embedded.close()
    with pytest.raises(RuntimeError, match="was closed"):
        embedded.ask(INIT)


def test_a_broker_whose_folder_is_gone_ends_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its disk is lost: checkpoints fail as well, by their timer, and the other brokers continue."""
    clock = ManualClock()
    embedded = Embedded(tmp_path / "d", nodes=3, topics={"t": 3}, clock=clock)
    assert _written(embedded, 1) == Error.NONE
    shutil.rmtree(tmp_path / "d" / "broker-1")
    for _ in range(3):
        assert _written(embedded, 2) == Error.NONE
        clock.advance(2_000)
        embedded.pump()
    assert "broker-1" in caplog.text
    embedded.abandon()


def _written(embedded: Embedded, node: int) -> int:
    number = next(each for each in range(3) if embedded.cluster.metadata.leader_of(("t", each)).node == node)
    batch = SentBatch(Batch(records=(Record(None, b"v"),)))
    answer = embedded.ask(Produce(9, None, -1, {("t", number): (batch,)}), node)
    assert isinstance(answer, ProduceAnswer)
    return answer.partitions["t", number].error
