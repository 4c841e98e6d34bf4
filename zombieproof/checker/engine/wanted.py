"""Which reductions there are, by name: what can be said of them before anything is compiled."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from zombieproof.checker.engine.model import Malformed, near

SYMMETRY: Final = "symmetry"
ORDER: Final = "order"
REDUCTIONS: Final = (SYMMETRY, ORDER)


def check_reductions(wanted: Collection[str]) -> None:
    """See that there are such reductions; raises Malformed."""
    for name in wanted:
        if name not in REDUCTIONS:
            raise Malformed(f"there is no reduction {name!r}; {near(name, REDUCTIONS)}", name)
