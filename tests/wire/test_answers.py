"""What a real Kafka answered in each version, byte for byte asked: brokers of ours answer the same, field by field."""

from functools import cache
from typing import Any

import pytest

pytest.importorskip("kio", reason="kio (extra `wire`) is missing; recordings of tests/answers are replayed without")

from tests.wire.recorder import played, recorded
from tests.wire.scenes.every import SCENES, versions_of
from tests.wire.sides import Ours
from zombieproof.model.releases import transaction_version_of

BY_NAME = {scene.name: scene for scene in SCENES}
KEPT = {(row["kafka"], row["scene"], row["version"]): row["answers"] for row in recorded()}


@cache
def _ours(release: str) -> Ours:
    return Ours(release, transaction_version_of(release, None))


@pytest.mark.parametrize(("kafka", "scene", "version"), KEPT, ids=str)
def test_an_answer_is_kafkas(kafka: str, scene: str, version: int) -> None:
    got = played(_ours(kafka), BY_NAME[scene], version, "")
    kept, why = KEPT[kafka, scene, version], BY_NAME[scene].differs.get(f"{kafka} {version}")
    if why is not None:
        assert got != kept, f"is equal: {why}"
        return
    for number, (ours, theirs) in enumerate(zip(got, kept, strict=True)):
        assert ours == theirs, f"answer {number + 1} of {len(kept)}"


def test_every_scene_was_played_in_every_version() -> None:
    every = {
        (kafka, scene.name, version) for kafka in {each[0] for each in KEPT} for scene, version in versions_of(kafka)
    }
    assert every == KEPT.keys()


def test_another_answer_is_found() -> None:
    """The comparison is one that can fail."""
    (kafka, scene, version), answers = next(iter(KEPT.items()))
    got: list[list[Any]] = played(_ours(kafka), BY_NAME[scene], version, "again-")
    assert got == answers
    got[0][2]["error_code"] += 1
    assert got != answers
