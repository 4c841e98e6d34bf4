"""What is not modelled is said in full."""

from dataclasses import astuple

import pytest

from zombieproof.model.omissions import CHECKER, MEMORY_ONLY, MODEL, OMISSIONS, REPLAY, MemoryOnly, Omission


@pytest.mark.parametrize("omission", OMISSIONS, ids=lambda omission: omission.what[:40])
def test_an_omission_says_what_why_where_and_with_what_consequence(omission: Omission) -> None:
    assert omission.part in (MODEL, CHECKER, REPLAY)
    assert all(text and text == text.strip() and not text.endswith(".") for text in astuple(omission))


@pytest.mark.parametrize("fact", MEMORY_ONLY, ids=lambda fact: fact.what[:40])
def test_what_only_memory_holds_says_where_and_with_what_consequence_and_by_whose_word(fact: MemoryOnly) -> None:
    assert all(text and text == text.strip() and not text.endswith(".") for text in astuple(fact))


def test_nothing_is_in_memory_only_twice() -> None:
    assert len({fact.what for fact in MEMORY_ONLY}) == len(MEMORY_ONLY)


def test_nothing_is_left_out_twice() -> None:
    assert len({omission.what for omission in OMISSIONS}) == len(OMISSIONS)


@pytest.mark.parametrize(
    "word", ["authorisation", "KIP-939", "high watermark", "compaction", "quotas", "consumer group", "time"]
)
def test_what_people_ask_for_first_is_there(word: str) -> None:
    assert any(word in omission.what for omission in OMISSIONS)
