"""What is answered without asking a broker asks for rights too: as a real Kafka with its authorizer answered."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.wire.questions_rights import RIGHTS, TOPIC, USERS, questions
from tests.wire.raw import Socket
from tests.wire.recorder_rights import FILE, answers_of, as_row
from zombieproof.broker.authorization.access_list import AccessList
from zombieproof.broker.authorization.mechanisms import Plain
from zombieproof.statemachines import authorizing
from zombieproof.wire.api import Around
from zombieproof.wire.running import Running
from zombieproof.wire.security import Security

KEPT: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


def ours() -> Iterator[dict[str, Any]]:
    access = AccessList(frozenset(RIGHTS), frozenset({f"User:{USERS[-1]}"}))
    plain = Security({"PLAIN": Plain({user: user for user in USERS})})
    with Running(access=access, security=plain) as running:
        running.topics(**{TOPIC: 1})
        [address] = running.server.addresses.values()
        for question, told in answers_of(lambda: Socket(*address)):
            yield as_row(question, told)


def differences() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Where ours is another answer."""
    return [(mine, kafkas) for mine, kafkas in zip(ours(), KEPT, strict=True) if mine != kafkas]


def test_users_are_answered_as_by_kafka() -> None:
    assert [(each.user, each.api.name) for each in questions()] == [(row["user"], row["api"]) for row in KEPT]
    assert differences() == []


@pytest.mark.parametrize(
    "fault", ["nobody is asked for rights on the cluster", "bits say everything", "topics are told"]
)
def test_a_right_that_is_not_asked_for_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault.startswith("nobody"):
        monkeypatch.setattr(authorizing, "fact_enters", lambda _: 0)
    elif fault.startswith("bits"):
        monkeypatch.setattr(Around, "operations", lambda *_: 8096)
    else:
        monkeypatch.setattr(authorizing, "row_of_topics", lambda _: 0)
    assert differences()
