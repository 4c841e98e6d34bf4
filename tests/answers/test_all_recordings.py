"""Every recording that lies beside the clone is answered as it was recorded."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from zombieproof.conformance.deviations import deviations, too_many
from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.recording import Recorded, read
from zombieproof.conformance.runner import play

NAMES = (
    *("directed-tv0", "directed-tv1", "directed-tv2", "random-tv0", "random-tv1", "random-tv2", "unverified-tv0"),
    *("restarts-tv0", "restarts-tv1", "restarts-tv2", "expiry-tv0", "expiry-tv2", "failover-tv0", "failover-tv2"),
    *("kafka-3.9.1-directed-tv0", "kafka-3.9.1-random-tv0", "corner-cases", "acl-tv0", "acl-tv2"),
    *("kafka-4.4.0-directed-tv0", "kafka-4.4.0-directed-tv1", "kafka-4.4.0-directed-tv2", "kafka-4.4.0-acl-tv2"),
    *("kafka-4.4.0-random-tv0", "kafka-4.4.0-random-tv1", "kafka-4.4.0-random-tv2", "kafka-4.4.0-groups-tv2"),
)
LARGE = ("random-tv0", "random-tv1", "random-tv2")
"""More than 1,500 sequences each."""
WEARING = tuple(name for name in NAMES if "directed" in name)
"""Recordings with sequences that use up every epoch of a producer id, which takes seconds each."""


def file_of(shared_folder: Path, name: str) -> Path:
    return shared_folder / "recordings" / f"{name}.jsonl.gz"


def test_no_recording_is_forgotten(shared_folder: Path) -> None:
    there = {file.name.removesuffix(".jsonl.gz") for file in (shared_folder / "recordings").glob("*.jsonl.gz")}
    assert there == set(NAMES)


def wears_out_an_epoch(recorded: Recorded) -> bool:
    return any(getattr(step.request, "repeat", 1) > 1 for step in recorded.sequence.steps)


def differences(sequences: Iterable[Recorded]) -> list[tuple[str, int]]:
    """Where answers differ, but for what is listed as a deviation."""
    found = [play(each, InProcess).difference for each in sequences]
    told = [(each.id, each.step) for each in found if each is not None]
    listed = deviations()
    assert not too_many(len(told), 8133)
    return [(name, step) for name, step in told if name not in listed]


@pytest.mark.slow
@pytest.mark.long(*(f"[{name}]" for name in LARGE))
@pytest.mark.parametrize("name", NAMES)
def test_every_sequence_is_equal(shared_folder: Path, name: str) -> None:
    every = [each for each in read(file_of(shared_folder, name)) if not wears_out_an_epoch(each)]
    assert len(every) > (20 if name != "corner-cases" else 4)
    assert differences(every) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_every_fourth_sequence_of_a_large_recording_is_equal(shared_folder: Path, name: str) -> None:
    some = list(read(file_of(shared_folder, name)))[::4]
    assert len(some) > 390
    assert differences(some) == []


@pytest.mark.deep
@pytest.mark.parametrize("name", WEARING)
def test_every_sequence_that_wears_out_an_epoch_is_equal(shared_folder: Path, name: str) -> None:
    every = [each for each in read(file_of(shared_folder, name)) if wears_out_an_epoch(each)]
    assert len(every) > 2
    assert differences(every) == []


@pytest.mark.parametrize("name", NAMES)
def test_one_tampered_answer_in_a_recording_is_found(shared_folder: Path, name: str) -> None:
    recorded = next(each for each in read(file_of(shared_folder, name)) if has_an_error(each))
    steps = recorded.sequence.steps
    number = max(i for i, step in enumerate(steps) if "error" in step.answer)
    answer: Any = json.loads(json.dumps(steps[number].answer))
    answer["error"] += 1
    changed = steps[number].model_copy(update={"answer": answer})
    tampered = recorded.sequence.model_copy(update={"steps": (*steps[:number], changed, *steps[number + 1 :])})
    difference = play(Recorded(recorded.file, recorded.line, tampered), InProcess).difference
    assert difference is not None
    assert (difference.step, difference.expected["error"]) == (number + 1, answer["error"])
    assert play(recorded, InProcess).difference is None


def has_an_error(recorded: Recorded) -> bool:
    """Whether some answer has an error of its own, and the sequence is short enough to be played twice."""
    return not wears_out_an_epoch(recorded) and any("error" in step.answer for step in recorded.sequence.steps)
