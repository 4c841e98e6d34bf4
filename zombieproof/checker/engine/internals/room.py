"""Room for deep calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final, TypeVar

Result = TypeVar("Result")


def with_room(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function deep in which many calls are made: compiling or lowering.

    Python 3.11 and 3.12 keep the frames of a thread in pieces of 16 KiB, and get and give back a piece with each call
    that does not fit into the last one: a loop that happens to stand there takes 6 CPU s longer to compile a model.
    A frame that asks for much gets a piece in which those of all that it calls have room.
    """
    return function(*arguments)


_SLOTS: Final = 70_000
"""Of 8 bytes: more than half a MiB, so that the piece is of 1 MiB."""

with contextlib.suppress(AttributeError, TypeError, ValueError):  # without it, compiling is slower, and that is all
    with_room.__code__ = with_room.__code__.replace(co_stacksize=_SLOTS)
