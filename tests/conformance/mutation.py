"""Cases with one part of *expect* made wrong: none of them may be met."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.conformance.cases import Case
from tests.conformance.phrases import STATES
from zombieproof.model.vocabulary import Error


def mutants(case: Case) -> Iterator[Case]:
    """Every number one higher, every state, error and boolean another one: one change a mutant."""
    for wrong in _changed(case.expect):
        yield replace(case, expect=wrong)


def _changed(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from ({**value, key: wrong} for wrong in _changed(part))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from ([*value[:index], wrong, *value[index + 1 :]] for wrong in _changed(part))
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        yield from _changed_text(value)


def _changed_text(text: str) -> Iterator[str]:
    for name in STATES:
        if re.search(rf"\b{name}\b", text):
            yield re.sub(rf"\b{name}\b", "Ongoing" if name != "Ongoing" else "CompleteAbort", text)
    for error in Error:
        if re.search(rf"\b{error.name}\b", text):
            other = Error.OPERATION_NOT_ATTEMPTED if error != Error.OPERATION_NOT_ATTEMPTED else Error.NONE
            yield re.sub(rf"\b{error.name}\b", other.name, text)
    if text == "IllegalStateException":
        yield "nothing"
    for match in re.finditer(r"\d+", text):
        yield f"{text[: match.start()]}{int(match[0]) + 1}{text[match.end() :]}"
