"""Deviations are few and proven."""

from pathlib import Path

import pytest

from zombieproof.conformance.deviations import SHARE, deviations, too_many
from zombieproof.conformance.recording import read

SAMPLE = Path(__file__).with_name("sample.jsonl.gz")


def test_no_more_deviate_than_may(sample: list[dict[str, object]]) -> None:
    listed = deviations()
    assert not too_many(len(listed), 6083)
    assert not set(listed) & {str(sequence["id"]) for sequence in sample}
    assert len(list(read(SAMPLE))) == len(sample)


def test_the_share_is_0_2_percent() -> None:
    assert SHARE == 0.002
    assert [too_many(listed, 6083) for listed in (0, 12, 13)] == [False, False, True]


@pytest.mark.parametrize("text", ["[a]", "r-1-2:", "r-1-2: ''", "7: proof"])
def test_what_is_no_proof_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "deviations.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match="is no proof; legal is, for each sequence id, the text"):
        deviations(file)


def test_a_proof_is_read(tmp_path: Path) -> None:
    file = tmp_path / "deviations.yaml"
    file.write_text("r-1-2: asked twice, answered 51 and 0\n")
    assert deviations(file) == {"r-1-2": "asked twice, answered 51 and 0"}
