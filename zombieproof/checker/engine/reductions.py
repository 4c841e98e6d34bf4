"""Reductions: a smaller model with the same verdicts, and what its exploration says of the model itself.

*symmetry*: of states that differ only in who is who one is explored (`symmetry`). The verdict is the same, and so is
the length of a shortest counterexample.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from zombieproof.checker.engine.model import Malformed, Model, near
from zombieproof.checker.engine.result import Result
from zombieproof.checker.engine.symmetry import symmetric
from zombieproof.checker.engine.unfolding import unfold

SYMMETRY: Final = "symmetry"
REDUCTIONS: Final = (SYMMETRY,)


@dataclass(frozen=True)
class Reduced:
    """A model and the smaller one that is explored for it.

    `used` says what is alike, in words; `unused` what is declared alike and is not used, and why not.
    """

    model: Model
    smaller: Model
    setup: object
    used: tuple[str, ...]
    unused: Mapping[str, str]

    def of_the_model(self, result: Result) -> Result:
        """The result of exploring the smaller model, with paths that the model itself takes. Raises ModelFault."""
        violated = result.violated
        if violated is not None and violated.actions is not None:
            violated = replace(violated, actions=self._path(violated.actions))
        witnesses = {name: self._path(actions) for name, actions in result.witnesses.items()}
        return replace(result, violated=violated, witnesses=witnesses)

    def _path(self, actions: list[int]) -> list[int]:
        if self.smaller.normalise is self.model.normalise:
            return actions
        return unfold(self.model, self.smaller, self.setup, actions)


def reduced(model: Model, setup: object, judged: Collection[str], wanted: Collection[str]) -> Reduced:
    """Return what is explored for a model when the promises of these names are judged, with the reductions wanted.

    Raises:
        Malformed: there is no such reduction, or a declaration of the model cannot be.
    """
    check_reductions(wanted)
    smaller, unused = model, dict[str, str]()
    used: tuple[str, ...] = ()
    if SYMMETRY in wanted:
        found = symmetric(model, setup, judged)
        smaller, used, unused = found.model, tuple(sort.name for sort in found.used), dict(found.unused)
    return Reduced(model, smaller, setup, used, unused)


def check_reductions(wanted: Collection[str]) -> None:
    """See that there are such reductions; raises Malformed."""
    for name in wanted:
        if name not in REDUCTIONS:
            raise Malformed(f"there is no reduction {name!r}; {near(name, REDUCTIONS)}", name)
