"""Rows of the machines of the Spark sink that no scenario takes, with the reason (see ``checker.uncovered``)."""

from collections.abc import Mapping
from typing import Final

_FATAL: Final = "rights, versions and settings that are wrong are not modelled"
_LOOK_UP: Final = "a look-up changes nothing: one that fails or is refused is not told apart from one that waits"
_TWO_LOST: Final = "takes two answers that are lost, and scenarios lose one"

UNCOVERED: Final[Mapping[tuple[str, str, str], str]] = {
    ("delivery", "FENCING", "BE_FENCED"): "who takes an id has the newest epoch",
    ("delivery", "FENCING", "FAIL"): _FATAL,
    ("delivery", "LOOKING_UP", "ASK_AGAIN"): _LOOK_UP,
    ("delivery", "LOOKING_UP", "BE_FENCED"): _LOOK_UP,
    ("delivery", "LOOKING_UP", "FAIL"): _LOOK_UP,
    (
        "delivery",
        "CLAIMING",
        "BE_FENCED",
    ): "a delivery whose claim is fenced reads the newest claim again",
    ("delivery", "CLAIMING", "FAIL"): _FATAL,
    ("delivery", "SENDING_ROWS", "FAIL"): _FATAL,
    ("delivery", "SENDING_OFFSETS", "FAIL"): _FATAL,
    ("delivery", "COMMITTING", "ABORT"): "a time-out fences in a scenario, as with transaction version 2",
    ("delivery", "COMMITTING", "FAIL"): _FATAL,
    ("delivery", "ABORTING", "ASK_AGAIN"): _TWO_LOST,
    ("delivery", "ABORTING", "FAIL"): _FATAL,
    ("delivery", "ABORTING", "GIVE_UP"): _TWO_LOST,
}
"""(machine, state, event) -> why no scenario takes this row."""
