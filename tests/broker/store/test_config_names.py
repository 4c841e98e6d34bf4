"""Settings of topics by Kafka's names: read, refused with what would be legal, and kept by the data directory."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from zombieproof.broker.data_directory import DataDirectoryError
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.config_names import NAMES, config_named, named
from zombieproof.formats.compression import Codec
from zombieproof.formats.record_batch import TimestampType
from zombieproof.messages.partitions import DeleteTopics

SOME = LogConfig(
    segment_bytes=1 << 20,
    cleanup_policy="compact,delete",
    min_cleanable_dirty_ratio=0.25,
    message_timestamp_type=TimestampType.LOG_APPEND_TIME,
    compression_type=Codec.ZSTD,
)


def test_what_is_not_the_default_is_named_as_kafka_names_it() -> None:
    assert named(LogConfig()) == {}
    assert named(SOME) == {
        "segment.bytes": "1048576",
        "cleanup.policy": "compact,delete",
        "min.cleanable.dirty.ratio": "0.25",
        "message.timestamp.type": "LogAppendTime",
        "compression.type": "zstd",
    }
    assert config_named(named(SOME)) == SOME


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_comes_back(name: str) -> None:
    attribute, words = NAMES[name], {"compression_type": Codec.NONE, "cleanup_policy": "compact"}
    default = getattr(LogConfig(), attribute)
    other = words.get(attribute) or (TimestampType.LOG_APPEND_TIME if "type" in attribute else default + 1)
    other = Codec.NONE if attribute == "compression_type" else other
    config = replace(LogConfig(), **{attribute: other})  # type: ignore[arg-type]  # each has the type of its field
    assert list(named(config)) == [name]
    assert config_named(named(config)) == config
    assert len(NAMES) == len(fields(LogConfig))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"segment.byte": "1"},
            "'segment.byte' is no setting of a topic here, did you mean segment.bytes?; there are ",
        ),
        ({"": "1"}, "'' is no setting of a topic here; there are cleanup.policy, compression.type, "),
        ({"segment.bytes": "many"}, "segment.bytes is 'many', and a number is needed"),
        ({"retention.ms": "1.5"}, "retention.ms is '1.5', and a number is needed"),
        (
            {"compression.type": "brotli"},
            "compression.type is 'brotli'; it can be producer, uncompressed, gzip,",
        ),
        ({"cleanup.policy": "Compact"}, "cleanup.policy is 'Compact'; it can be delete, compact, compact,delete"),
        (
            {"message.timestamp.type": "create"},
            "message.timestamp.type is 'create'; it can be CreateTime, ",
        ),
    ],
)
def test_what_is_no_setting_is_refused_with_what_is_legal(settings: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the text is looked at
        config_named(settings)
    assert str(error.value).startswith(says)


@pytest.mark.slow
def test_a_data_directory_keeps_the_settings_of_its_topics(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Embedded(data, topics={"t": 1, "u": 1}, configs={"t": SOME}) as embedded:
        embedded.create_topic("later", 1, LogConfig(retention_ms=5))
    with Embedded(data, default_config=LogConfig(segment_ms=9)) as again:
        configs = {topic: again.directories[1].logs[topic, 0].config for topic in ("t", "u", "later")}
        assert configs == {"t": SOME, "u": LogConfig(segment_ms=9), "later": LogConfig(retention_ms=5)}
        assert again.cluster.brokers[1].partitions.replicas["t", 0].config == SOME
    with Embedded(data, configs={"t": LogConfig(segment_ms=7)}):
        pass
    with Embedded(data) as altered:
        assert altered.directories[1].logs["t", 0].config == LogConfig(segment_ms=7), "what was given last is kept"


def test_a_setting_that_nobody_knows_is_told_with_its_place(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Embedded(data, topics={"t": 1}, configs={"t": SOME}):
        pass
    file = data / "cluster.json"
    before = file.read_text().replace("segment.bytes", "segment.bits")
    file.write_text(before)
    with pytest.raises((Damaged, DataDirectoryError), match=r"topics\.t\.config: .*'segment\.bits' is no setting"):
        Embedded(data)
    assert file.read_text() == before


def test_a_new_topic_of_a_name_has_nothing_of_the_one_before(tmp_path: Path) -> None:
    with Embedded(tmp_path / "data", topics={"t": 1}, configs={"t": SOME}) as embedded:
        assert embedded.ask(DeleteTopics(5, ("t",))) is not None
        embedded.create_topic("t")
        assert embedded.directories[1].logs["t", 0].config == LogConfig()
