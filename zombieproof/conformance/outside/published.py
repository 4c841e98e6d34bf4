"""Published bugs that scenarios name, by their numbers (docs/bugs.md)."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import yaml

PUBLISHED: Final = Path(__file__).with_name("published.yaml")


@cache
def published() -> Mapping[str, str]:
    """Number -> what went wrong, and where it was reported."""
    found: dict[str, str] = yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))
    return found
