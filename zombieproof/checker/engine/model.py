"""What the engine explores: a `Model`, with its promises. The same functions run interpreted and compiled."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Final, Literal, get_args

from zombieproof.checker.engine.orders import NO_ORDER, Order
from zombieproof.checker.engine.sorts import Sort

Kind = Literal["always", "sometimes", "at_rest", "leads_to"]

MOST_CODES: Final = 31
MOST_TASKS: Final = 63


class Malformed(ValueError):
    """A model or scenario that cannot be. `what` is the text or the keyword in its source that the message is about."""

    def __init__(self, message: str, what: str = "") -> None:
        super().__init__(message)
        self.what = what


def near(name: str, names: Iterable[str]) -> str:
    """What would have been legal in place of `name`: what is close to it, or all."""
    names = list(names)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(names) or 'none'}"


@dataclass(frozen=True)
class Promise:
    """A named sentence about states: `holds(state) -> bool`, or `holds(state, setup) -> bool`.

    An *always* promise has to hold in every reachable state; a *sometimes* promise in at least one, so that a
    scenario that never gets anywhere is noticed; an *at rest* promise in every state in which nothing more can happen
    but new faults, so that what is left unfinished for ever is noticed. A *leads to* promise does not hold in a state
    in which something is owed, and is broken where it may be owed for ever, although all who can act do (`fairness`).
    `text` says it in words, `source` where it is written.
    """

    name: str
    kind: Kind
    holds: Callable[..., bool]
    text: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        name: Any = self.name
        if not isinstance(name, str) or not name.isidentifier():
            raise Malformed(f"the name of a promise is {self.name!r}; give words joined by underscores", str(self.name))
        if self.kind not in get_args(Kind):
            raise Malformed(
                f"promise {self.name!r}: its kind is {self.kind!r}; give always, sometimes, at_rest or leads_to",
                str(self.kind),
            )
        if not callable(self.holds):
            raise Malformed(f"promise {self.name!r}: holds is {self.holds!r}; give a function of a state", "holds")

    @property
    def parameters(self) -> str:
        """What `holds` is called with: "state" or "state, setup"."""
        return ", ".join(("state", "setup")[: self.holds.__code__.co_argcount])

    def judge(self, state: Any, setup: Any) -> bool:
        """Whether the promise holds in a state; interpreted."""
        return bool(self.holds(*(state, setup)[: self.holds.__code__.co_argcount]))


def no_normal_form(state: Any, setup: Any) -> None:
    """Leave the state as it is: for models whose states have one form only."""


def no_bound(state: Any, setup: Any) -> int:
    """Return 0: for models whose records can hold everything that may happen."""
    return 0


def try_all(state: Any, setup: Any, part: int) -> int:
    """Return all bits: for models in which each action is tried in every state."""
    return -1


def each_for_itself(state: Any, action: int, setup: Any) -> int:
    """Return a task of its own for each action: for models of few actions, each of which somebody else takes."""
    return action + 1


def tell_all_apart(setup: Any) -> tuple[Sort, ...]:
    """Return nothing: for models of whose parts no two are alike."""
    return ()


def no_order(setup: Any) -> Order:
    """Return nothing: for models in which everything may depend on everything."""
    return NO_ORDER


def by_number(action: int) -> tuple[str, int]:
    """Return the number: for models whose actions are told apart by their descriptions alone."""
    return "action", action


def by_its_number(machine: int, subject: int) -> str:
    """Return the number of the subject: for models whose subjects have no names."""
    return str(subject)


@dataclass(frozen=True)
class Model:
    """A system whose states are records.

    Attributes:
        name: what it is called in messages.
        state: record class of a state.
        setup: record class of what is constant during a run (rules, bounds, programs); every function gets it.
        trail: record class of what one step did; all zero before a step and no part of a state. If it has a field
            `moves`, an array of records with `machine`, `state`, `event`, and a field `count`, the first `count`
            moves of each step are counted for the coverage.
        actions: actions are numbered 0 to `actions` - 1.
        step: `step(state, action, setup, trail) -> bool`. False: the action is disabled and the state untouched.
            True: the state is now the successor.
        worth_trying: `worth_trying(state, setup, part) -> int`: of the actions from 64 * `part` on, which are worth a
            try in a state in normal form: 64 bits, the first action's is the lowest. Whatever is left out has to be
            disabled: so a model saves the engine the trouble to find out.
        tasks: `tasks(state, action, setup) -> int`: who acts in an action that is enabled in a state in normal form, a
            process or a message under way, from 1 to `MOST_TASKS`; 0 for nobody who has to. Where a task can act for
            ever it acts some time, by one action or another. Only asked for *leads to* promises, and never for faults.
        normalise: `normalise(state, setup)`: the normal form, applied to each successor.
        describe: `describe(state, action, setup) -> str`: the action in one line; interpreted only.
        initial: `initial(setup) -> state`: the initial state, in normal form; interpreted only.
        promises: what is judged in every reachable state.
        bound_hit: `bound_hit(state, setup) -> int`: a code from 1 to 31 if a capacity of the record was exceeded on
            the way to this state, else 0. Such a state is counted, but neither judged nor expanded, and nothing
            *holds* any more: the run is inconclusive.
        bounds: what the codes of `bound_hit` mean, in words.
        coverage: how many machines, states and events there are in `moves`.
        faults: the numbers of the actions that are faults: what may happen, and need not. A state is at rest where no
            other action is enabled.
        sizes: lengths and widths that differ from what the record classes declare (see `layout`).
        sorts: `sorts(setup)`: which parts of a state may change places under this setup (see `symmetry`); interpreted.
        order: `order(setup)`: where the actions of one part are enough under this setup (see `orders`); interpreted.
        followed: the order that exploration follows: none, but in what `reductions` makes of a model.
        names: `names(action)`: the name of the action's kind, and its argument, as stories and traces hold them;
            interpreted only.
        subjects: `subjects(machine, subject)`: who it is that a move in `moves` is about; interpreted only.

    Raises:
        Malformed: a record is no dataclass, something is no function, or promises or bounds cannot be.
    """

    name: str
    state: type
    setup: type
    trail: type
    actions: int
    step: Callable[..., bool]
    describe: Callable[..., str]
    initial: Callable[..., Any]
    promises: tuple[Promise, ...]
    normalise: Callable[..., None] = no_normal_form
    worth_trying: Callable[..., int] = try_all
    tasks: Callable[..., int] = each_for_itself
    bound_hit: Callable[..., int] = no_bound
    bounds: Mapping[int, str] = field(default_factory=dict)
    coverage: tuple[int, int, int] = (0, 0, 0)
    faults: frozenset[int] = frozenset()
    sizes: Mapping[tuple[type, str], Any] = field(default_factory=dict)
    sorts: Callable[..., tuple[Sort, ...]] = tell_all_apart
    order: Callable[..., Order] = no_order
    followed: Order = NO_ORDER
    names: Callable[[int], tuple[str, int]] = by_number
    subjects: Callable[[int, int], str] = by_its_number

    def __post_init__(self) -> None:
        who = f"model {self.name!r}"
        for what in ("state", "setup", "trail"):
            cls = getattr(self, what)
            if not isinstance(cls, type) or not is_dataclass(cls):
                shown = cls.__name__ if isinstance(cls, type) else repr(cls)
                raise Malformed(f"{who}: {what} is {shown}; give a slotted dataclass of integers and records", what)
        functions = ("step", "describe", "initial", "normalise", "worth_trying", "tasks", "bound_hit", "sorts", "order")
        for what in (*functions, "names", "subjects"):
            if not callable(getattr(self, what)):
                raise Malformed(f"{who}: {what} is {getattr(self, what)!r}; give a function", what)
        if not isinstance(self.actions, int):
            raise Malformed(f"{who}: actions is {self.actions!r}; give how many there are", "actions")
        faults: Any = self.faults
        for action in faults:
            if not isinstance(action, int) or not 0 <= action < self.actions:
                raise Malformed(
                    f"{who}: faults has {action!r}; give numbers of actions, 0 to {self.actions - 1}", "faults"
                )
        self._check_promises(who)
        codes: Any = self.bounds
        for code in codes:
            if not isinstance(code, int) or not 1 <= code <= MOST_CODES:
                raise Malformed(f"{who}: bounds has the code {code!r}; give 1 to {MOST_CODES}", "bounds")

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """All that is compiled of the model."""
        judges = (promise.holds for promise in self.promises)
        wanted = (self.worth_trying, self.tasks, self.followed.is_ready)
        return (self.step, *wanted, self.normalise, self.bound_hit, *judges)

    def _check_promises(self, who: str) -> None:
        promises: Any = self.promises
        if not isinstance(promises, tuple):
            comma = ": behind a single one stands a comma, promises=(Promise(...),)"
            raise Malformed(f"{who}: promises is no tuple{comma}", "promises")
        seen: set[str] = set()
        for promise in promises:
            if not isinstance(promise, Promise):
                raise Malformed(f"{who}: promises holds {promise!r}; each is a Promise(...)", "promises")
            if promise.name in seen:
                raise Malformed(f"{who}: two promises are named {promise.name!r}; rename one", promise.name)
            seen.add(promise.name)
