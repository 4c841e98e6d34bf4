"""Cases altered in one place, and what may be said of each.

An alteration is a case, what was done to it, and the outcomes that are right. An unknown word anywhere makes a case not
runnable, and the reason names it. An expectation that was emptied, or replaced by another, is never met.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.conformance.cases import Case
from tests.conformance.runner import Outcome

UNKNOWN = "zzyzx"
"""A word that nobody knows."""

MISPLACED = "epoch"
"""A word that every suite knows, and that is nowhere a value."""

EMPTY: tuple[object, ...] = ({}, [], None, "", " ")
PARTS = ("given", "when", "expect")
NOT_RUNNABLE = frozenset({Outcome.NOT_RUNNABLE})
NOT_MET = frozenset({Outcome.NOT_RUNNABLE, Outcome.FAILED})
ANY = frozenset({Outcome.NOT_RUNNABLE, Outcome.FAILED, Outcome.MET})


@dataclass(frozen=True, slots=True)
class Alteration:
    """A case that was changed: `what` says how, `names` is a word that the reason has to name ("" if none)."""

    case: Case
    what: str
    legal: frozenset[Outcome]
    names: str = ""


def alterations(case: Case) -> Iterator[Alteration]:
    """Every alteration of a case."""
    for make in (_unknown_words, _unknown_keys, _emptied, _errors, _other_values, _missing, _notes):
        yield from make(case)


def _places(value: Any, change: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
    """`value` with one part of it changed, at every place; a change that yields nothing leaves its place alone."""
    yield from change(value)
    if isinstance(value, dict):
        for key, part in value.items():
            yield from ({**value, key: other} for other in _places(part, change))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in _places(part, change))


def _everywhere(case: Case, change: Callable[[Any], Iterator[Any]], parts: tuple[str, ...] = PARTS) -> Iterator[Case]:
    for part in parts:
        yield from (replace(case, **{part: other}) for other in _places(getattr(case, part), change))


def _unknown_words(case: Case) -> Iterator[Alteration]:
    def change(value: Any) -> Iterator[Any]:
        yield UNKNOWN
        if isinstance(value, str):
            yield f"{value} {UNKNOWN}"
            yield f"{UNKNOWN} {value}"
            yield f"{value}; {UNKNOWN}"
            yield f"{value}, {UNKNOWN}"

    for other in _everywhere(case, change):
        yield Alteration(other, "a word that nobody knows", NOT_RUNNABLE, UNKNOWN)


def _unknown_keys(case: Case) -> Iterator[Alteration]:
    def change(value: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            yield {**value, UNKNOWN: 1}
            yield {UNKNOWN: None, **value}

    for other in _everywhere(case, change):
        yield Alteration(other, "a key that nobody knows", NOT_RUNNABLE, UNKNOWN)


def _emptied(case: Case) -> Iterator[Alteration]:
    for nothing in EMPTY:
        yield Alteration(replace(case, expect=nothing), f"expect is {nothing!r}", NOT_MET)

    def change(value: Any) -> Iterator[Any]:
        if isinstance(value, dict | list | str) and value:
            yield type(value)()
            yield None

    for other in _everywhere(case, change, ("expect",)):
        yield Alteration(other, "a part of expect is empty", NOT_MET)


def _errors(case: Case) -> Iterator[Alteration]:
    yield Alteration(replace(case, expect={"error": "NO_SUCH_ERROR"}), "no error", NOT_RUNNABLE)
    yield Alteration(replace(case, expect="NO_SUCH_ERROR"), "no error", NOT_RUNNABLE)
    yield Alteration(replace(case, expect={"error": "INVALID_REGULAR_EXPRESSION"}), "another error", ANY)
    for error in ("NONE", "STALE_BROKER_EPOCH"):
        yield Alteration(replace(case, expect={"error": error}), "another error", ANY if error == "NONE" else NOT_MET)
    yield Alteration(replace(case, expect={"error": None}), "no error", NOT_MET)
    yield Alteration(replace(case, expect={"error": 49}), "a number for an error", NOT_MET)
    yield Alteration(replace(case, expect={"error": []}), "a list for an error", NOT_MET)


def _other_values(case: Case) -> Iterator[Alteration]:
    def change(value: Any) -> Iterator[Any]:
        for other in (987, -5, True, None, [7], {"epoch": 987}, "987"):
            if other != value or type(other) is not type(value):
                yield other

    def misplace(value: Any) -> Iterator[Any]:
        if isinstance(value, str) and MISPLACED not in value:
            yield MISPLACED

    for other in _everywhere(case, lambda value: iter((2.5, [], {}, *change(value))), ("given", "when")):
        yield Alteration(other, "another value in given or when", ANY)
    for other in _everywhere(case, change, ("expect",)):
        yield Alteration(other, "another value in expect", NOT_MET)
    for other in _everywhere(case, misplace, ("expect",)):
        yield Alteration(other, "a word of another place in expect", NOT_RUNNABLE)


def _missing(case: Case) -> Iterator[Alteration]:
    def change(value: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            yield from ({key: part for key, part in value.items() if key != gone} for gone in value)
        elif isinstance(value, list):
            yield from (value[:index] + value[index + 1 :] for index in range(len(value)))

    for other in _everywhere(case, change, ("given", "when")):
        yield Alteration(other, "a part is missing", ANY)
    for other in _everywhere(case, change, ("expect",)):
        yield Alteration(other, "a part of expect is missing", ANY)


def _notes(case: Case) -> Iterator[Alteration]:
    note = "the moon is full"
    yield Alteration(replace(case, note=f"{case.note} {UNKNOWN}".strip()), "a note of the case", NOT_RUNNABLE, UNKNOWN)
    if isinstance(case.expect, dict):
        yield Alteration(replace(case, expect={**case.expect, "note": note}), "a note in expect", NOT_RUNNABLE, "moon")
    yield Alteration(replace(case, expect={"note": note}), "only a note in expect", NOT_RUNNABLE, "moon")
    yield Alteration(replace(case, id=f"my case / 7, é, {case.id}"), "a free id", frozenset({Outcome.MET}))
