"""What is not modelled is said in full."""

from dataclasses import astuple

import pytest

from zombieproof.model.omissions import CHECKER, MODEL, OMISSIONS, REPLAY, Omission


@pytest.mark.parametrize("omission", OMISSIONS, ids=lambda omission: omission.what[:40])
def test_an_omission_says_what_why_where_and_with_what_consequence(omission: Omission) -> None:
    assert omission.part in (MODEL, CHECKER, REPLAY)
    assert all(text and text == text.strip() and not text.endswith(".") for text in astuple(omission))


def test_nothing_is_left_out_twice() -> None:
    assert len({omission.what for omission in OMISSIONS}) == len(OMISSIONS)


@pytest.mark.parametrize(
    "word", ["authorisation", "KIP-939", "high watermark", "compaction", "quotas", "consumer group", "time"]
)
def test_what_people_ask_for_first_is_there(word: str) -> None:
    assert any(word in omission.what for omission in OMISSIONS)
