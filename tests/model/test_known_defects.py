"""The table of defects of Kafka's own releases: it agrees with presets, and no other text names older releases."""

import re
from pathlib import Path

import pytest

from zombieproof.model.known_defects import KNOWN_DEFECTS, KnownDefect, defect
from zombieproof.model.releases import RELEASES, line_of
from zombieproof.model.rules import preset

ROOT = Path(__file__).parents[2]
RULES = ("known_defects.py", "rules.py", "rules.md")
"""The table itself, and the switches of rules, which presets are made of: the last test here holds them against it."""
TEXTS = [
    *sorted(path for path in (ROOT / "zombieproof").rglob("*.py") if path.name not in RULES),
    *sorted((ROOT / "zombieproof").rglob("*.yaml")),
    *sorted(path for path in (ROOT / "docs").glob("*.md") if path.name not in RULES),
    ROOT / "README.md",
    *sorted((ROOT / "examples").glob("*.py")),
]
RELEASE = re.compile(r"(?<![\d.§-])[1-9]\.\d{1,2}(?:\.\d{1,2})?(?![\d.]*\d)")
AROUND = 1
"""Lines before and after the one that names a defect: a sentence may begin and end there."""


def stale(text: str, each: KnownDefect) -> list[str]:
    """The lines that name a defect and a release of it, and not the newest one."""
    lines = text.split("\n")
    named = re.compile("|".join(rf"\b{name}\b" for name in (each.bug, *each.issues)))
    newest = {each.last, line_of(each.last)}
    found = []
    for number, line in enumerate(lines):
        if not named.search(line):
            continue
        # A row of a table is a text of its own.
        near = [line] if line.startswith("|") else lines[max(0, number - AROUND) : number + AROUND + 1]
        releases = set(RELEASE.findall(" ".join(near)))
        recent = {release for release in releases if release.startswith("4.") and release not in newest}
        if recent and not releases & newest:
            found.append(" ".join(near))
    return found


@pytest.mark.parametrize("each", KNOWN_DEFECTS, ids=lambda each: each.bug)
def test_no_text_names_an_older_release_as_the_newest_with_a_defect(each: KnownDefect) -> None:
    wrong = {path: found for path in TEXTS if (found := stale(path.read_text(), each))}
    assert not wrong, "the newest affected release is that of zombieproof/model/known_defects.py"


def test_a_text_that_was_left_behind_is_found() -> None:
    each = defect("B73")
    assert stale("Kafka 4.3.1 takes it for deleted and skips\nits marker (KAFKA-20734).", each)
    assert not stale("Kafka 4.1 to 4.4.0 takes it for deleted and skips\nits marker (KAFKA-20734).", each)
    assert not stale("Kafka 4.3.1 said so.\n\n\nKAFKA-20734 is open.", each)


@pytest.mark.parametrize("each", [each for each in KNOWN_DEFECTS if each.rule], ids=lambda each: each.bug)
def test_presets_of_affected_releases_lack_the_rule(each: KnownDefect) -> None:
    lacking = [line for line in RELEASES if not getattr(preset(line), each.rule)]
    assert (lacking[0], lacking[-1]) == (line_of(each.first), line_of(each.last))


def test_an_unknown_defect_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(KeyError, match="B99 is not a known defect of Kafka; those are B73"):
        defect("B99")


def test_releases_are_said_in_words() -> None:
    assert defect("B75").releases == "Kafka 4.0 to 4.4.0, at transaction version 2"
    assert defect("B79").span == "4.4.0"
