"""The versions of every API, against Kafka's own schemas of every line, and what real brokers offered."""

import json
from pathlib import Path

import pytest

from tests.model.kafka_versions import known
from zombieproof.model.api_versions import offered_versions, understood_versions
from zombieproof.model.releases import RELEASES, UnknownRelease
from zombieproof.model.vocabulary import ApiKey

OF_BROKERS: dict[str, dict[str, list[int]]] = json.loads(
    Path(__file__).with_name("versions_of_brokers.json").read_text(encoding="utf-8")
)
"""ApiVersions of real brokers: release -> key -> oldest and newest."""

BETWEEN_BROKERS = {ApiKey.ALLOCATE_PRODUCER_IDS}
"""Not offered to clients."""

SCHEMAS = {line: {row[0]: row[1:] for row in apis.values()} for line, apis in known().items()}
PRODUCE_SAID_FROM = 0
"""What a broker says is the oldest Produce that it takes, whatever it takes (KAFKA-18659)."""


def test_every_line_is_compared() -> None:
    assert [*SCHEMAS] == list(RELEASES)
    assert set(OF_BROKERS) == {"3.9.1", "4.3.1", "4.4.0"}


@pytest.mark.parametrize("line", SCHEMAS)
def test_what_a_line_understands_is_what_its_schemas_have(line: str) -> None:
    for api in set(ApiKey) - BETWEEN_BROKERS:
        oldest, newest, stable = SCHEMAS[line].get(api, (0, -1, -1))
        has_none = stable < 0  # that one line has an unstable API, and nothing stable of it, is as if it had none
        assert understood_versions(line, api) == (None if has_none else range(oldest, newest + 1)), api.name


@pytest.mark.parametrize("line", SCHEMAS)
def test_what_a_line_offers_is_what_is_stable_in_it(line: str) -> None:
    for api in set(ApiKey) - BETWEEN_BROKERS - {ApiKey.PRODUCE}:
        oldest, newest, stable = SCHEMAS[line].get(api, (0, -1, -1))
        assert offered_versions(line, api) == (None if stable < 0 else range(oldest, stable + 1)), api.name
        if stable >= 0:
            assert offered_versions(line, api, unstable=True) == range(oldest, newest + 1), api.name


@pytest.mark.parametrize("release", OF_BROKERS)
def test_what_is_offered_is_what_a_real_broker_offered(release: str) -> None:
    for api in set(ApiKey) - BETWEEN_BROKERS:
        said = OF_BROKERS[release].get(str(int(api)))
        assert offered_versions(release, api) == (None if said is None else range(said[0], said[1] + 1)), api.name
    assert OF_BROKERS["4.3.1"]["0"][0] == PRODUCE_SAID_FROM
    assert understood_versions("4.3.1", ApiKey.PRODUCE) == range(3, 14)


def test_a_release_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownRelease, match=r"unknown Kafka release '5\.0'"):
        offered_versions("5.0", ApiKey.FETCH)
    assert offered_versions("0.11.0", ApiKey.CONSUMER_GROUP_HEARTBEAT) is None
