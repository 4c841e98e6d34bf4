"""What was read from the jars of a release has a home here; what has none is named, with what to do."""

from dataclasses import replace

import pytest

from tests.model.kafka_versions import FILE, Release, homeless, releases, written
from zombieproof.model.features import FEATURES, NOT_TOLD, features_of
from zombieproof.model.releases import RELEASES, line_of

pytest.importorskip("kio", reason="kio (extra `wire`) is missing; what is offered is made with it")

READ = {line: each for line, each in releases().items() if each.release}
NEWEST = releases()[RELEASES[-1]]


def test_the_newest_line_was_read_from_its_jars() -> None:
    assert set(READ) == {"4.3", "4.4"}
    assert [line_of(each.release) for each in READ.values()] == list(READ)
    for each in READ.values():
        assert (len(each.of_brokers) > 70, len(each.features), len(each.settings) > 60) == (True, 7, True)


@pytest.mark.parametrize("line", READ)
def test_everything_in_a_release_has_a_home(line: str) -> None:
    assert list(homeless(READ[line])) == []


def test_what_is_new_in_4_4_is_what_the_reference_says() -> None:
    old, new = READ["4.3"].apis, READ["4.4"].apis
    assert {name: row[1:] for name, row in new.items() if row != old.get(name)} == {
        "ApiVersions": [0, 5, 5],
        "TxnOffsetCommit": [0, 6, 6],
        "DeleteGroups": [0, 3, 3],
        "StreamsGroupHeartbeat": [0, 1, 1],
        "StreamsGroupDescribe": [0, 1, 1],
        "StreamsGroupTopologyDescriptionUpdate": [0, 0, 0],
        "UnregisterController": [0, 0, 0],
    }
    assert set(old) <= set(new)
    assert {line: each.features["metadata.version"][-1] for line, each in READ.items()} == {"4.3": 30, "4.4": 33}
    assert {line: each.features["share.version"][-1] for line, each in READ.items()} == {"4.3": 1, "4.4": 2}
    assert all(each.features["transaction.version"] == [0, 2, 2] for each in READ.values())


CHANGED: dict[str, tuple[Release, str]] = {
    "an API": (
        replace(NEWEST, apis={**NEWEST.apis, "Wonder": [950, 0, 0, 0]}, of_brokers=[*NEWEST.of_brokers, 950]),
        "Wonder (950) is neither served nor in NOT_SERVED of zombieproof.wire.not_served",
    ),
    "a version of an API": (
        replace(NEWEST, apis={**NEWEST.apis, "EndTxn": [26, 0, 6, 6]}),
        "EndTxn (26) has versions 0 to 6, here (0, 5): see model/api_versions.py",
    ),
    "a version of an API that is not served": (
        replace(NEWEST, apis={**NEWEST.apis, "ShareFetch": [78, 1, 3, 3]}),
        "ShareFetch (78) has versions 1 to 3: enter them in zombieproof.wire.not_served",
    ),
    "a feature": (
        replace(NEWEST, features={**NEWEST.features, "wonder.version": [0, 1, 1]}),
        "feature wonder.version is unknown: enter it into FEATURES or NOT_TOLD of zombieproof.model.features",
    ),
    "a level of a feature": (
        replace(NEWEST, features={**NEWEST.features, "transaction.version": [0, 3, 3]}),
        "feature transaction.version has levels 0 to 3: say so in FEATURES of zombieproof.model.features",
    ),
    "a setting": (
        replace(NEWEST, settings={**NEWEST.settings, "transaction.wonder": "7"}),
        "setting transaction.wonder is unknown: enter it into Settings, or into WITHOUT_A_PART with the reason",
    ),
    "a default": (
        replace(NEWEST, settings={**NEWEST.settings, "transaction.max.timeout.ms": "60000"}),
        "setting transaction.max.timeout.ms is 60000 by default, and 900000 in zombieproof.broker.cluster.settings",
    ),
}


@pytest.mark.parametrize(("changed", "told"), CHANGED.values(), ids=CHANGED)
def test_what_is_new_in_a_release_is_named(changed: Release, told: str) -> None:
    assert list(homeless(changed)) == [told]


def test_a_feature_is_told_or_left_out_and_never_both() -> None:
    assert not set(FEATURES) & set(NOT_TOLD)
    assert features_of("3.9") == {"metadata.version": (1, 21)}, "as a real 3.9.1 answered"
    assert features_of("3.2") == {}


def test_what_is_written_is_what_is_on_file() -> None:
    assert written(releases()) == FILE.read_text(encoding="utf-8")
