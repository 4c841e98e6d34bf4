"""What a real Kafka made of batches, by `tests.answers.recorder.stored`: the same answers, the same bytes on disk."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import crc32c
import pytest

from tests.answers.recorder import batches
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition import record_checks
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.formats.compression import Codec
from zombieproof.formats.encoding import read_batch
from zombieproof.formats.record_batch import TimestampType, header_at
from zombieproof.messages.partitions import Produce, ProduceAnswer, Produced, SentBatch
from zombieproof.model.vocabulary import NONE

Json = dict[str, Any]
RECORDING = Path(__file__).with_name("stored_batches.gz")
FEW = Settings(transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1)
CODECS = {"gzip": Codec.GZIP, "snappy": Codec.SNAPPY, "lz4": Codec.LZ4, "zstd": Codec.ZSTD, "uncompressed": Codec.NONE}
STAMPS = {"LogAppendTime": TimestampType.LOG_APPEND_TIME}


def recorded() -> list[Json]:
    with gzip.open(RECORDING, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def config_of(settings: dict[str, str]) -> LogConfig:
    """The settings of a topic by Kafka's names."""
    kinds: dict[str, Any] = {"message.timestamp.type": STAMPS.__getitem__, "compression.type": CODECS.__getitem__}
    named = {
        name.replace(".", "_"): kinds.get(name, str if "policy" in name else int)(value)
        for name, value in settings.items()
    }
    return LogConfig(**named)


def sent_of(data: bytes) -> SentBatch:
    """A batch as it came over a wire."""
    is_corrupt = crc32c.crc32c(data[21:]) != int.from_bytes(data[17:21], "big")
    whole = data[:17] + crc32c.crc32c(data[21:]).to_bytes(4, "big") + data[21:]
    batch = read_batch(whole)
    return SentBatch(replace(batch, base_offset=NONE), batch.base_offset, is_corrupt)


class Ours:
    """A broker whose topics have the settings of the recorded ones, over logs on disk."""

    def __init__(self, folder: Path, rows: list[Json]) -> None:
        self.clock, self.folder = ManualClock(rows[0]["asked_ms"]), folder
        configs = {row["topic"]: config_of(row["config"]) for row in rows}
        self.embedded = Embedded(
            folder,
            topics=dict.fromkeys(configs, 1),
            settings=FEW,
            clock=self.clock,
            durability=Durability.PAGE_CACHE,
            configs=configs,
        )
        self.sizes = Counter[str]()

    def ask(self, row: Json) -> tuple[Produced, bytes]:
        """The answer to a batch, and what lies on the disk for it."""
        topic, stamp_ms = row["topic"], row["log_append_time_ms"]
        is_stamped = stamp_ms != NONE and row["stored"] != ""
        self.clock.advance((stamp_ms if is_stamped else row["asked_ms"]) - self.clock.now_ms())
        answer = self.embedded.ask(Produce(11, None, -1, {(topic, 0): (sent_of(bytes.fromhex(row["sent"])),)}))
        assert isinstance(answer, ProduceAnswer)
        data = (self.folder / "broker-1" / f"{topic}-0" / "00000000000000000000.log").read_bytes()
        begins, self.sizes[topic] = self.sizes[topic], len(data)
        return answer.partitions[topic, 0], data[begins:]


def differences(folder: Path) -> Iterator[str]:
    """What a real broker answered and stored otherwise."""
    rows = recorded()
    ours = Ours(folder, rows)
    for row in rows:
        told, data = ours.ask(row)
        theirs = bytes.fromhex(row["stored"])
        said = (told.error, told.base_offset, told.log_start_offset, told.record_errors, told.message)
        message = told.message if row["name"].startswith("no key") and told.record_errors else row["message"] or ""
        expected = (
            row["error"],
            row["base_offset"],
            row["log_start_offset"],
            tuple(index for index, _ in row["record_errors"]),
            message,
        )
        where = f"{row['topic']}, {row['name']}"
        if said != expected:
            yield f"{where}: answered {said}, a real broker {expected}"
        if told.log_append_time_ms != row["log_append_time_ms"]:
            yield f"{where}: stamped {told.log_append_time_ms}, a real broker {row['log_append_time_ms']}"
        if is_repacked(row) and data and theirs:
            if contents(data) != contents(theirs):
                yield f"{where}: stored {contents(data)}, a real broker {contents(theirs)}"
        elif data != theirs:
            yield f"{where}: stored {data.hex()}, a real broker {theirs.hex()}"
    ours.embedded.abandon()


def is_repacked(row: Json) -> bool:
    """Whether the broker packs the records anew: two libraries need not pack them into the same bytes."""
    wanted = row["config"].get("compression.type")
    return wanted is not None and CODECS[wanted] != header_at(bytes.fromhex(row["sent"]), 0).codec


def contents(data: bytes) -> tuple[object, ...]:
    """What a batch says, but for its length and checksum."""
    header, batch = header_at(data, 0), read_batch(data)
    return header._replace(length=0, crc=0), tuple(batch.records)


def test_batches_are_answered_and_stored_as_by_a_real_broker(tmp_path: Path) -> None:
    assert list(differences(tmp_path / "data")) == []
    assert len(recorded()) > 100


def test_what_was_asked_is_what_stands_here() -> None:
    """A question that is changed has to be asked again."""
    rows = recorded()
    now_ms = rows[0]["asked_ms"]
    asked = [(topic, name) for topic, name, _ in batches.cases(now_ms)]
    assert [(row["topic"], row["name"]) for row in rows] == asked
    assert all(row["config"] == batches.SETTINGS[row["topic"]] for row in rows)


def believes_clients(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(record_checks, "must_look", lambda *_: False)


def never_stamps(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogConfig, "stamps", property(lambda _: False))


def keeps_what_clients_stamped(patch: pytest.MonkeyPatch) -> None:
    placed = Replica._placed
    patch.setattr(
        Replica, "_placed", lambda self, batch: replace(placed(self, batch), timestamp_type=batch.timestamp_type)
    )


def packs_nothing_anew(patch: pytest.MonkeyPatch) -> None:
    placed = Replica._placed

    def kept(self: Replica, batch: Any) -> Any:
        self.config = replace(self.config, compression_type=None)
        return placed(self, batch)

    patch.setattr(Replica, "_placed", kept)


def forgets_the_time_of_duplicates(patch: pytest.MonkeyPatch) -> None:
    duplicate = Replica._duplicate
    patch.setattr(Replica, "_duplicate", lambda self, *of: replace(duplicate(self, *of), log_append_time_ms=NONE))


@pytest.mark.parametrize(
    "mutant",
    [believes_clients, never_stamps, keeps_what_clients_stamped, packs_nothing_anew, forgets_the_time_of_duplicates],
    ids=lambda mutant: mutant.__name__,
)
def test_a_leader_that_does_otherwise_is_noticed(mutant: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    assert next(differences(tmp_path / "data"), "") != ""
