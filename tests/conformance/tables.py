"""What is on file about single cases: which are not applicable, which wait, and for which text a test was written."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

FOLDER = Path(__file__).parent
NOT_APPLICABLE = FOLDER / "not_applicable.yaml"
NOTES = FOLDER / "notes.yaml"
LATER = FOLDER / "later.yaml"
WRITTEN_FOR = FOLDER / "written_for.json"


def not_applicable() -> dict[str, str]:
    """Id -> why the case is about something that is left out on purpose."""
    return _texts(NOT_APPLICABLE)


def later() -> dict[str, str]:
    """Id -> ``later: durable: why`` or ``later: wire: why``; such a case is open."""
    return _texts(LATER)


@cache
def notes() -> dict[str, str]:
    """Note of a case -> where it is shown, or why it asserts nothing."""
    return _texts(NOTES)


def written_for() -> dict[str, str]:
    """Id -> digest of the text that its written test, or its row in one of the tables, was written for."""
    return dict(json.loads(WRITTEN_FOR.read_text("utf-8")))


def accept(digests: Mapping[str, str]) -> None:
    """Put the digests on file, in place of all others."""
    WRITTEN_FOR.write_text(json.dumps(dict(sorted(digests.items())), indent=1) + "\n", "utf-8")


def _texts(file: Path) -> dict[str, str]:
    return {str(key): str(value) for key, value in (yaml.safe_load(file.read_text("utf-8")) or {}).items()}
