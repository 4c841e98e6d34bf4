"""Steps that a program is asked for and answers, one line of JSON each: what a client does, in its own words.

A request is ``{"do": STEP, ...}``; the answer is ``{"ok": RESULT}``, or ``{"error": NAME, "says": TEXT}`` with the name
that the client has for the error. Every program knows these steps, whatever its language:

======================================================= =============================================================
``version``                                             the client's own version
``producer name id timeout_ms``                         a transactional producer, its id taken
``begin name``, ``commit name``, ``abort name``         a transaction
``send name topic partition value``                     one record; answered when the broker has acknowledged it
``reader name group topic isolation``                   a member of a group, from the earliest record on
``read name count within_ms``                           the values of the next so many records, or of those that came
``copier name id group source target``                  a reader of committed records and a producer, for copies
``copy name count ends``                                one transaction: so many records, their offsets; commit or abort
``loop name``                                           copies for ever; after each transaction ``{"copied": COUNT}``
``committed group topic partition``                     the committed offset of a group; null: none
======================================================= =============================================================

A copy of a record goes to the partition of the same number, with ``copy of`` before the value.
A program ends with its input.
"""

import json
import sys
from collections.abc import Callable
from typing import Any


def copy_of(value: str) -> str:
    """What a copier makes of a value."""
    return f"copy of {value}"


def tell(**said: Any) -> None:
    """One line to whoever started the program."""
    print(json.dumps(said), flush=True)  # noqa: T201  # a line of standard output is how it answers


def serve(steps: Any, name_of: Callable[[Exception], str]) -> None:
    """Do what is asked for until there is no more: each step is a method of `steps`."""
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            tell(ok=getattr(steps, asked.pop("do"))(**asked))
        except Exception as error:  # noqa: BLE001  # whatever a client raises is its answer
            tell(error=name_of(error), says=f"{type(error).__name__}: {error}")
