"""Recorded sequences are answered through sockets as in process."""

from pathlib import Path

import pytest

from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.over_wire import OverWire
from zombieproof.conformance.recording import RecordingError, read
from zombieproof.conformance.runner import play
from zombieproof.messages.transactions import EndTxnAnswer

HERE = Path(__file__).parent.parent / "answers"
EVERY_NTH = 12
EVERY = [each for name in ("sample", "neighbours") for each in read(HERE / f"{name}.jsonl.gz")]
SEQUENCES = [each for each in EVERY if each.sequence.security is None]
"""All but those with users and rights, which are asked in process: the server authenticates nobody."""


def test_a_recorded_sequence_is_answered_through_sockets_as_it_was_recorded() -> None:
    differences = [play(each, OverWire).difference for each in SEQUENCES[::EVERY_NTH]]
    assert not any(differences)


@pytest.mark.slow
def test_every_recorded_sequence_is_answered_through_sockets_as_it_was_recorded() -> None:
    differences = [play(each, OverWire).difference for each in SEQUENCES]
    assert not any(differences)


def test_users_are_refused_by_name_and_not_let_in_as_somebody_else() -> None:
    with_users = next(each for each in EVERY if each.sequence.security is not None)
    with pytest.raises(RecordingError, match="the server behind sockets authenticates nobody"):
        play(with_users, OverWire)


def test_an_answer_that_gets_lost_on_the_way_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    told = OverWire.ask
    chosen = next(each for each in SEQUENCES if any(step.api == "EndTxn" for step in each.sequence.steps))

    def forgetful(self: InProcess, *asked: object) -> object:
        answer = told(self, *asked)  # type: ignore[arg-type]  # as it was asked
        return EndTxnAnswer(7) if isinstance(answer, EndTxnAnswer) else answer

    monkeypatch.setattr(OverWire, "ask", forgetful)
    assert play(chosen, OverWire).difference is not None
