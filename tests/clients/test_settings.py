"""Settings have Kafka's names and defaults; what does not exist or does not go together is refused with the rule."""

import re
from typing import Any

import pytest

from zombieproof.clients.settings import ClientSettings, ProducerSettings, SettingsError
from zombieproof.formats.compression import Codec


def test_left_alone_they_are_those_of_kafka_4() -> None:
    settings = ProducerSettings()
    assert {name: getattr(settings, name.replace(".", "_")) for name in ProducerSettings.names()} == {
        "client.id": "",
        "request.timeout.ms": 30_000,
        "retry.backoff.ms": 100,
        "retry.backoff.max.ms": 1000,
        "metadata.max.age.ms": 300_000,
        "transactional.id": None,
        "enable.idempotence": True,
        "acks": -1,
        "retries": 2147483647,
        "max.in.flight.requests.per.connection": 5,
        "transaction.timeout.ms": 60_000,
        "transaction.two.phase.commit.enable": False,
        "delivery.timeout.ms": 120_000,
        "linger.ms": 5,
        "batch.size": 16_384,
        "compression.type": Codec.NONE,
        "buffer.memory": 33_554_432,
        "max.block.ms": 60_000,
        "max.request.size": 1_048_576,
        "partitioner.ignore.keys": False,
    }


def test_both_forms_of_a_name_and_values_as_texts_are_the_same_setting() -> None:
    by_kafkas_name = ProducerSettings({"transactional.id": "x", "linger.ms": "0", "acks": "all"})
    assert by_kafkas_name == ProducerSettings(transactional_id="x", linger_ms=0, acks=-1)
    assert ProducerSettings({"linger.ms": 1}, transactional_id="x").transactional_id == "x"
    assert ProducerSettings(compression_type="zstd").compression_type == Codec.ZSTD


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"linger.mss": 1}, "linger.mss is no setting of ProducerSettings: did you mean linger.ms?"),
        ({"xyzzy": 1}, "xyzzy is no setting of ProducerSettings: there are acks, batch.size,"),
        ({"bootstrap.servers": "b:1"}, "brokers are reached through the transport"),
        ({"transaction.max.timeout.ms": 1}, "it is a setting of the brokers"),
        ({"transactional.id": ""}, "transactional.id: '' is refused: String should have at least 1 character"),
        ({"linger.ms": -1}, "linger.ms: -1 is refused: Input should be greater than or equal to 0"),
        ({"linger.ms": True}, "linger.ms: True is refused: legal is a number"),
        ({"linger.ms": "soon"}, "linger.ms: 'soon' is refused: Input should be a valid integer"),
        (
            {"batch.size": 1 << 31},
            "batch.size: 2147483648 is refused: Input should be less than or equal to 2147483647",
        ),
        ({"request.timeout.ms": 0}, "request.timeout.ms: 0 is refused"),
        ({"acks": 2}, "acks: 2 is refused: legal is all, -1, 0, 1"),
        ({"acks": True}, "acks: True is refused: legal is all, -1, 0, 1"),
        ({"compression.type": "zip"}, "compression.type: 'zip' is refused: legal is none, gzip, snappy, lz4, zstd"),
        ({"enable.idempotence": True, "acks": 1}, "enable.idempotence=true needs acks=all, not 1"),
        ({"enable.idempotence": True, "retries": 0}, "enable.idempotence=true needs retries above 0"),
        ({"max.in.flight.requests.per.connection": 6}, "needs max.in.flight.requests.per.connection of 1 to 5, not 6"),
        ({"transactional.id": "x", "enable.idempotence": False}, "transactional.id 'x' needs enable.idempotence=true"),
        ({"transactional.id": "x", "acks": "1"}, "transactional.id 'x' needs enable.idempotence=true"),
        ({"transactional.id": "x", "retries": "0"}, "transactional.id 'x' needs enable.idempotence=true"),
        ({"delivery.timeout.ms": 30_004}, "30004 must not be less than linger.ms 5 + request.timeout.ms 30000"),
        (
            {"transaction.two.phase.commit.enable": True, "transaction.timeout.ms": 1},
            "transaction.timeout.ms cannot be set with transaction.two.phase.commit.enable=true",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_the_rule(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(says)):
        ProducerSettings(settings)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(SettingsError, match=r"linger\.ms: -2 .*; batch\.size: -1 "):
        ProducerSettings(linger_ms=-2, batch_size=-1)


def test_a_setting_is_given_once() -> None:
    with pytest.raises(SettingsError, match=re.escape("linger.ms is given twice")):
        ProducerSettings({"linger.ms": 1}, linger_ms=1)


@pytest.mark.parametrize("settings", [{"acks": 1}, {"acks": "0"}, {"retries": 0}, {"retries": "0"}])
def test_idempotence_that_nobody_asked_for_is_switched_off_as_in_kafka(settings: dict[str, Any]) -> None:
    assert not ProducerSettings(settings).enable_idempotence
    assert ProducerSettings(settings, max_in_flight_requests_per_connection=9).retries >= 0


@pytest.mark.parametrize(
    "settings",
    [
        {"delivery.timeout.ms": 30_005},
        {"max.in.flight.requests.per.connection": 1},
        {"enable.idempotence": True, "acks": "all", "retries": 1},
        {"transaction.two.phase.commit.enable": True, "transactional.id": "x"},
        {"batch.size": 0, "linger.ms": 0, "buffer.memory": 0, "max.block.ms": 0},
    ],
)
def test_the_nearest_that_is_legal_is_taken(settings: dict[str, Any]) -> None:
    assert isinstance(ProducerSettings(settings), ClientSettings)


def test_a_delivery_time_that_was_left_alone_is_long_enough() -> None:
    assert ProducerSettings(request_timeout_ms=200_000).delivery_ms == 200_005
    assert ProducerSettings(request_timeout_ms=2147483647).delivery_ms == 2147483647


def test_settings_do_not_change() -> None:
    settings = ProducerSettings()
    with pytest.raises(ValueError, match="frozen"):
        settings.linger_ms = 1


def test_every_client_has_the_same_names_for_the_same_things() -> None:
    assert set(ClientSettings.names()) < set(ProducerSettings.names())
