"""Reductions: a smaller model with the same verdicts, and what its exploration says of the model itself.

*symmetry*: of states that differ only in who is who one is explored (`symmetry`). The verdict is the same, and so is
the length of a shortest counterexample.

*order*: where what one part does next meets nothing that others do, only that is explored (`orders`). The verdict is
the same; a counterexample may be longer than the shortest one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from zombieproof.checker.engine.model import Malformed, Model
from zombieproof.checker.engine.orders import Order
from zombieproof.checker.engine.result import Result
from zombieproof.checker.engine.symmetry import symmetric
from zombieproof.checker.engine.unfolding import unfold
from zombieproof.checker.engine.wanted import ORDER, SYMMETRY, check_reductions

NOTHING_ALIKE: Final = "no parts are alike in this setup"
NEEDS_ALL: Final = "what is owed for ever is found in the whole graph"
NO_ORDER_DECLARED: Final = "the model declares no order of its actions"


@dataclass(frozen=True)
class Reduced:
    """A model and the smaller one that is explored for it.

    `used`: reduction -> what of it is used, in words, such as "clients". `unused`: reduction -> what is not, and why.
    One that is wanted is in one of them at least.
    """

    model: Model
    smaller: Model
    setup: object
    used: Mapping[str, tuple[str, ...]]
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
    if any(promise.kind == "leads_to" and promise.name in judged for promise in model.promises):
        return Reduced(model, model, setup, {}, dict.fromkeys(wanted, NEEDS_ALL))
    smaller, used, unused = model, dict[str, tuple[str, ...]](), dict[str, str]()
    if SYMMETRY in wanted:
        found = symmetric(model, setup, judged)
        smaller = found.model
        if found.used:
            used[SYMMETRY] = tuple(sort.name for sort in found.used)
        if found.unused or not found.used:
            unused[SYMMETRY] = "; ".join(f"{name}: {why}" for name, why in found.unused.items()) or NOTHING_ALIKE
    if ORDER in wanted:
        order = model.order(setup)
        _check(model, order)
        if why := _why_not(order, judged):
            unused[ORDER] = why
        else:
            smaller, used[ORDER] = _ordered(smaller, order), (order.name,)
    return Reduced(model, smaller, setup, used, unused)


def _check(model: Model, order: Order) -> None:
    """Raise Malformed for clusters that cannot be, and for a question that cannot be asked of them."""
    legal = ["state", "setup", "cluster"]
    if order.clusters and order.is_ready.__code__.co_argcount != len(legal):
        raise Malformed(
            f"{model.name}: the order of {order.name}: is_ready has {order.is_ready.__code__.co_argcount} parameters; "
            f"give {len(legal)}, ({', '.join(legal)})"
        )
    seen: set[int] = set()
    for action in (action for cluster in order.clusters for action in cluster):
        if not 0 <= action < model.actions:
            raise Malformed(
                f"{model.name}: the order of {order.name}: there is no action {action}; give 0 to {model.actions - 1}"
            )
        if action in seen:
            raise Malformed(f"{model.name}: the order of {order.name}: action {action} is in two clusters; give one")
        seen.add(action)


def _why_not(order: Order, judged: Collection[str]) -> str:
    """Why an order cannot be followed; "" if it can."""
    if not order.clusters:
        return NO_ORDER_DECLARED
    seeing = sorted(order.seen_by & set(judged))
    return f"{', '.join(seeing)} may be judged differently in between" if seeing else ""


def _ordered(model: Model, order: Order) -> Model:
    """The model that follows an order, made once: it is compiled by its identity."""
    key = (id(model), order.name)
    if key not in _followers:
        _followers[key] = replace(model, name=f"{model.name}, {order.name} one after the other", followed=order)
    return _followers[key]


_followers: Final[dict[tuple[int, str], Model]] = {}
