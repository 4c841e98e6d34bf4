"""Recorded sequences are answered through sockets as in process."""

from pathlib import Path

import pytest

from zombieproof.broker.authorization.principals import Principal
from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.over_wire import OverWire
from zombieproof.conformance.recording import read
from zombieproof.conformance.runner import play
from zombieproof.conformance.tally import play_all
from zombieproof.messages.transactions import EndTxnAnswer
from zombieproof.wire.connection import Connection

HERE = Path(__file__).parent.parent / "answers"
EVERY_NTH = 12
EVERY = [each for name in ("sample", "neighbours") for each in read(HERE / f"{name}.jsonl.gz")]
WITH_USERS = [each for each in EVERY if each.sequence.security is not None]
SEQUENCES = [each for each in EVERY if each.sequence.security is None]


def test_a_recorded_sequence_is_answered_through_sockets_as_it_was_recorded() -> None:
    chosen = SEQUENCES[::EVERY_NTH] + WITH_USERS[::EVERY_NTH]
    differences = [play(each, OverWire).difference for each in chosen]
    assert len(WITH_USERS) > EVERY_NTH
    assert not any(differences)


@pytest.mark.slow
def test_every_recorded_sequence_is_answered_through_sockets_as_it_was_recorded() -> None:
    differences = [play(each, OverWire).difference for each in EVERY]
    assert not any(differences)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["acl-tv0", "acl-tv2", "kafka-4.4.0-acl-tv2", "kafka-4.4.0-groups-tv2"])
def test_recordings_of_users_and_of_4_4_are_answered_through_sockets_as_in_process(
    shared_folder: Path, name: str
) -> None:
    [tally] = play_all([shared_folder / "recordings" / f"{name}.jsonl.gz"], OverWire)
    assert tally.differences == []
    assert tally.damaged == []
    assert tally.sequences > 20


def test_whoever_logged_in_counts_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes everybody for the super user answers otherwise than was recorded."""
    monkeypatch.setattr(Connection, "principal", Principal("root"))
    assert any(play(each, OverWire).difference for each in WITH_USERS[::EVERY_NTH])


def test_an_answer_that_gets_lost_on_the_way_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    told = OverWire.ask
    chosen = next(each for each in SEQUENCES if any(step.api == "EndTxn" for step in each.sequence.steps))

    def forgetful(self: InProcess, *asked: object) -> object:
        answer = told(self, *asked)  # type: ignore[arg-type]  # as it was asked
        return EndTxnAnswer(7) if isinstance(answer, EndTxnAnswer) else answer

    monkeypatch.setattr(OverWire, "ask", forgetful)
    assert play(chosen, OverWire).difference is not None
