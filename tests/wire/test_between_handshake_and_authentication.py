"""A request between SaslHandshake and SaslAuthenticate is refused in the form in which Kafka refuses it."""

import pytest

pytest.importorskip("kio", reason="kio (extra `wire`) is missing")

from tests.wire.raw import Socket
from tests.wire.recorder_between import CLOSED, answers_of, recorded
from zombieproof.broker.authorization.access_list import AccessList
from zombieproof.broker.authorization.mechanisms import Plain
from zombieproof.broker.cluster.settings import Settings
from zombieproof.wire.running import Running
from zombieproof.wire.security import Security


def test_every_request_is_refused_as_by_kafka() -> None:
    settings = Settings(connection_failed_authentication_delay_ms=0)
    plain = Security({"PLAIN": Plain({"root": "root"})})
    with Running(settings=settings, access=AccessList(frozenset(), frozenset()), security=plain) as running:
        [address] = running.server.addresses.values()
        ours = list(answers_of(lambda: Socket(*address)))
    kept = recorded()
    assert [(row["api"], row["version"]) for row in ours] == [(row["api"], row["version"]) for row in kept]
    assert [pair for pair in zip(ours, kept, strict=True) if pair[0] != pair[1]] == []


def test_the_real_kafka_answered_and_did_not_only_close() -> None:
    told = [row["answer"] for row in recorded()]
    assert len(told) > 150
    assert sum(answer != CLOSED for answer in told) > len(told) // 2
