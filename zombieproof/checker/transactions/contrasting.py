"""How Kafka's protocol is set against the proposal of 2014: an exploration of one promise, and how it came out.

The promises that tell the two apart (``zombieproof.model.contrasts``) have a model of their own, so that the others
stay as they are. It is compiled for itself, the first time that one of its promises is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.model import Model, Promise
from zombieproof.checker.engine.result import Result
from zombieproof.checker.request import Request, chosen
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.transactions.model import TRANSACTIONS
from zombieproof.model import contrasts, progress
from zombieproof.model.rules import Rules

Found = Literal["holds", "broken", "reached", "not reached", "inconclusive"]

SOMEBODY = "somebody_has_got_through"

_WITNESSES = (
    contrasts.a_producer_id_has_two_transactions_open,
    contrasts.a_marker_ends_nothing,
    contrasts.a_finished_commit_is_asked_for_at_a_new_coordinator,
    contrasts.what_commits_last_is_read_first,
    contrasts.a_reader_waits_before_what_is_committed,
)

IN_CONTRAST: Final = replace(
    TRANSACTIONS,
    name="transactions_in_contrast",
    promises=(
        *(Promise(each.__name__, "sometimes", each, (each.__doc__ or "").strip()) for each in _WITNESSES),
        Promise(
            SOMEBODY,
            "at_rest",
            progress.somebody_gets_through,
            "Where nothing more can happen, some application was told how its transaction ended.",
        ),
    ),
)
"""The model of transactions with other promises: they are owed to nobody."""


@dataclass(frozen=True, slots=True)
class KafkaSide:
    """One exploration of Kafka's protocol, judged by one promise.

    Attributes:
        aspect: the first column of reference §10.11.
        promise: its name, in `IN_CONTRAST` or `TRANSACTIONS`.
        expected: how it comes out; `steps` is the length of the shortest way to where it is broken or reached, 0 if
            there is none.
        distinct: the number of distinct states, pinned.
        sentence: what that shows.
        rules: the preset; `without`: switches that are off.
        bounds: those that are not the scenario's own.
    """

    aspect: str
    scenario: Scenario
    promise: str
    expected: Found
    distinct: int
    sentence: str
    steps: int = 0
    rules: str = "newest"
    without: tuple[str, ...] = ()
    bounds: Mapping[str, int] = field(default_factory=dict)

    @property
    def model(self) -> Model:
        """The model that has the promise."""
        return IN_CONTRAST if any(each.name == self.promise for each in IN_CONTRAST.promises) else TRANSACTIONS

    @property
    def setup(self) -> object:
        """What is constant while it is explored."""
        rules, bounds = self._chosen()
        return self.scenario.setup(rules, bounds)

    def _chosen(self) -> tuple[Rules, dict[str, int]]:
        return chosen(self.scenario, Request(rules=self.rules, off=self.without, bounds=self.bounds))


def explored(side: KafkaSide) -> Result:
    """Explore it."""
    return explore(side.model, side.setup, promises=(side.promise,))


def actions(side: KafkaSide, result: Result) -> list[int] | None:
    """The shortest way to where the promise is broken or reached; None if there is none."""
    if side.promise in result.witnesses:
        return result.witnesses[side.promise]
    return result.violated.actions if result.violated is not None else None


def found(side: KafkaSide, result: Result) -> Found:
    """How the promise came out."""
    if result.verdict == "inconclusive":
        return "inconclusive"
    if side.promise in result.witnesses:
        return "reached"
    if result.violated is None:
        return "holds"
    return "not reached" if result.violated.actions is None else "broken"
