"""Administrators are answered as a real Kafka 4.3.1 answered them: bytes in, bytes out."""

from typing import Any

from tests.wire.questions_admin import SETTINGS, Question
from tests.wire.raw import Ours
from tests.wire.recorder import answers_of, recorded
from zombieproof.broker.cluster.cluster import Cluster


def ours() -> list[tuple[Question, Any]]:
    return list(answers_of(Ours(Cluster(1, settings=SETTINGS))))


def test_every_answer_is_the_one_that_kafka_gave() -> None:
    given, kafkas = ours(), recorded()
    assert [[each.api.name, each.version] for each, _ in given] == [row[:2] for row in kafkas], "record them again"
    wrong = [
        (each.api.name, each.version, each.values, answer, told)
        for (each, answer), (_, _, told) in zip(given, kafkas, strict=True)
        if (answer != told) is not bool(each.differs)
    ]
    assert wrong == [], f"{len(wrong)} of {len(given)}"


def test_there_are_answers_to_compare() -> None:
    kafkas = recorded()
    assert len(kafkas) > 200
    assert {"CREATE_TOPICS", "METADATA"} <= {row[0] for row in kafkas}
