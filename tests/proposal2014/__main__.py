"""``python -m tests.proposal2014``: explore each reading both ways, and the contrast; write docs/proposal-2014.md."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.proposal2014.exploring import Outcome, explored, witness
from tests.proposal2014.page import (
    PAGE,
    STORIES,
    contrast,
    promises,
    readings_table,
    scenarios,
    stories_page,
    story,
    with_parts,
)
from zombieproof.checker.proposal2014.contrast import CONTRAST as OF_2014
from zombieproof.checker.proposal2014.readings import OTHERWISE
from zombieproof.checker.proposal2014.scenarios import CRASH, FAILOVER, LOST, RESTART, ZOMBIE
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.sides import Found, Side, found
from zombieproof.checker.sides import explored as explored_side
from zombieproof.checker.transactions.scenarios.contrast import CONTRAST as OF_KAFKA

ROOT = Path(__file__).resolve().parents[2]

_SMALL: Final[Mapping[str, int]] = {"blocks": 1}
TOLD: Final[Mapping[str, tuple[Scenario, tuple[str, ...], str, Mapping[str, int]]]] = {
    "two first starts": (ZOMBIE, (), "somebody_is_left", {"blocks": 1, "readers": 0}),
    "a generation that is not stored": (
        CRASH,
        ("starts_store_their_generation",),
        "a_message_is_in_its_transaction_once",
        {"readers": 0},
    ),
    "a begin that lingers": (FAILOVER, ("begin_is_deduplicated",), "a_begun_transaction_lingers", _SMALL),
    "an abort that overtakes": (
        LOST,
        ("leaders_are_told", "leaders_remember_finished"),
        "readers_are_caught_up",
        {"blocks": 1, "lost": 0},
    ),
    "a crash within a delivery": (RESTART, ("deliveries_are_counted",), "nothing_is_delivered_twice", {}),
    "offsets before begin": (ZOMBIE, ("offsets_are_fetched_behind_begin",), "each_block_is_committed_once", {}),
}
"""The stories that the page tells: their scenario, what is off, what is broken or reached, and bounds."""


def pages(outcomes: Sequence[Outcome]) -> dict[Path, str]:
    """Both pages, of what was found where readings are the other way.

    Raises:
        MissingMarkers: the page has no place for a part.
    """
    parts = {
        "scenarios": scenarios(),
        "promises": promises(),
        "open readings": readings_table(outcomes, is_open=True),
        "sentences of the text": readings_table(outcomes, is_open=False),
        "contrast": contrast(_sides(OF_2014), _sides(OF_KAFKA)),
        **{name: story(witness(*asked)) for name, asked in TOLD.items()},
    }
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    return {PAGE: with_parts(text, parts), STORIES: stories_page(outcomes)}


def _sides(sides: Sequence[Side]) -> list[tuple[Side, Found]]:
    return [(side, found(side, explored_side(side))) for side in sides]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: 1 where a page says something else, and nothing is to be written."""
    parser = argparse.ArgumentParser(prog="python -m tests.proposal2014", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page would differ")
    checks = parser.parse_args(arguments).check
    differs = 0
    for path, text in pages([explored(each) for each in OTHERWISE]).items():
        place = ROOT / path
        if not checks:
            place.write_text(text, encoding="utf-8")
            continue
        committed = place.read_text(encoding="utf-8") if place.exists() else ""
        lines = list(difflib.unified_diff(committed.splitlines(), text.splitlines(), str(path), "found", lineterm=""))
        sys.stderr.writelines(f"{line}\n" for line in lines)
        differs += bool(lines)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
