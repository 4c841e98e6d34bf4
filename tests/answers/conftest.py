"""Sequences as JSON, to be changed and played again."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.recording import Recorded, Sequence
from zombieproof.conformance.runner import Played, play

SAMPLE = Path(__file__).with_name("sample.jsonl.gz")

Json = dict[str, Any]
Play = Callable[[Json], Played]


@pytest.fixture(scope="session")
def sample() -> list[Json]:
    """The sequences that ship."""
    with gzip.open(SAMPLE, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture
def play_json() -> Play:
    """Play one sequence against a new cluster in this process."""

    def run(sequence: Json) -> Played:
        return play(Recorded("a test", 1, Sequence.model_validate_json(json.dumps(sequence))), InProcess)

    return run


@pytest.fixture
def one(sample: list[Json]) -> Json:
    """A short sequence with InitProducerId, Produce and EndTxn, to be changed."""
    suits = (s for s in sample if {"InitProducerId", "Produce", "EndTxn"} <= {step["api"] for step in s["steps"]})
    shortest = min(suits, key=lambda sequence: len(json.dumps(sequence)))
    copy: Json = json.loads(json.dumps(shortest))
    return copy
