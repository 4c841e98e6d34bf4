"""Administrators are answered as a real Kafka 4.3.1 and, of topics, a 3.9.1 answered them: bytes in, bytes out."""

from typing import Any

import pytest

from tests.wire import fuzz
from tests.wire.questions_admin import SETTINGS, Question
from tests.wire.raw import Ours, request_bytes
from tests.wire.recorder_admin import NEWEST, QUESTIONS, answers_of, recorded
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.model.decisions.create_topics import Refusal
from zombieproof.statemachines import configs, topics
from zombieproof.statemachines.configs import Fault
from zombieproof.wire.apis import metadata

WORDS_OF_A_LATER_ONE = " or some brokers have all their log directories cordoned"


def ours(release: str) -> list[tuple[Question, Any]]:
    return list(answers_of(Ours(Cluster(1, settings=SETTINGS, release=release)), release))


def differences(release: str) -> list[tuple[str, int, Any, Any, Any]]:
    """(api, version, request, our answer, Kafka's) of each that is not as it should be."""
    given, kafkas = ours(release), recorded(release)
    assert [[each.api.name, each.version] for each, _ in given] == [row[:2] for row in kafkas], "record them again"
    return [
        (each.api.name, each.version, each.values, answer, told)
        for (each, answer), (_, _, told) in zip(given, kafkas, strict=True)
        if (answer != told) is not bool(each.differs)
    ]


@pytest.mark.parametrize("release", QUESTIONS)
def test_every_answer_is_the_one_that_kafka_gave(release: str) -> None:
    wrong = [each for each in differences(release) if WORDS_OF_A_LATER_ONE not in str(each[3])]
    assert wrong == [], f"{len(wrong)} differ"


def test_there_are_answers_to_compare() -> None:
    assert {release: len(recorded(release)) > 200 for release in QUESTIONS} == dict.fromkeys(QUESTIONS, True)
    assert len({row[0] for row in recorded(NEWEST)}) >= 19


def test_a_name_that_is_not_looked_at_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "refusal_of_name", lambda *_: Refusal.NOTHING)
    assert len(differences(NEWEST)) > 10


def test_a_request_that_is_not_looked_at_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configs, "asks", lambda *_: Fault.NOTHING)
    found = {each[0] for each in differences(NEWEST)}
    assert found >= {"ALTER_CONFIGS", "INCREMENTAL_ALTER_CONFIGS"}


def test_ids_that_come_too_early_and_are_taken_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "IDS_SINCE", 10)
    assert {each[:2] for each in differences(NEWEST)} == {("METADATA", 10), ("METADATA", 11)}


@pytest.mark.sample("1")
@pytest.mark.parametrize("seed", [1, 2])
def test_requests_of_administrators_that_were_changed_are_answered_or_end_their_connection(seed: int) -> None:
    frames = [request_bytes(each.api, each.version, each.values) for each in QUESTIONS[NEWEST]()]
    found = fuzz.fuzz(frames, 2000, seed)
    assert found.faults == []
    assert found.slowest_s < fuzz.LONGEST_S
    assert min(found.outcomes["answered"], found.outcomes["closed"]) > 100
