"""A path of the checker on live brokers and clients: step by step, and after each step both stand at the same place.

A path is a list of the model's actions, such as a counterexample. The checker's functions are interpreted on its state;
a `Twin` does the same at a live cluster, with live producers, under the same rules. Its projection is compared.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from zombieproof.bridge import commands, words
from zombieproof.bridge.beginning import first_twin
from zombieproof.bridge.names import OutOfScope
from zombieproof.bridge.producers import ClientsDiffer
from zombieproof.bridge.steps import may_try, step
from zombieproof.bridge.twin import Twin, copied
from zombieproof.broker.coordinator.steps import InvalidTransition
from zombieproof.checker.engine.hosts import difference
from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.replay import breaks
from zombieproof.checker.transactions.narration import describe
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.model.vocabulary import Error, Row
from zombieproof.statemachines.kernel import IllegalTransition
from zombieproof.statemachines.registry import ALL_MACHINES


class Arrival(Enum):
    """How a path ends on the live system."""

    ARRIVES = "arrives"
    DIFFERS = "differs"
    NO_LEVER = "no lever"


@dataclass(frozen=True, slots=True)
class LiveStep:
    """A step that was taken: what happens in the checker's words, and what the live parts decided, moved, hold."""

    number: int
    text: str
    did: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LiveRun:
    """What came of a path.

    Attributes:
        arrival: whether the live system stands where the checker stands after the last step.
        steps: those that were taken.
        at: the number of the step that differs, or for which there is no lever; 0: before the first.
        why: the first difference, or what there is no lever for; of an arrival what is to be said beside it.
        broken: the promises that the state of the live system breaks where it stands.
    """

    arrival: Arrival
    steps: tuple[LiveStep, ...]
    at: int = 0
    why: str = ""
    broken: tuple[str, ...] = ()


class _Over(Exception):
    """The path ends here."""

    def __init__(self, arrival: Arrival, why: str, broken: tuple[str, ...] = ()) -> None:
        super().__init__(why)
        self.arrival, self.why, self.broken = arrival, why, broken


def run_live(
    model: Model,
    setup: object,
    actions: Sequence[int],
    promises: Collection[str],
    *,
    live_producers: bool = True,
    hear: Callable[[LiveStep], None] | None = None,
) -> LiveRun:
    """Take a path of the model on the live system.

    Args:
        model: the checker's, with `setup`, what is constant; the live brokers follow its rules.
        actions: the path.
        promises: the names of those to judge where it ends.
        live_producers: False: the clients are the checker's, and only brokers are live.
        hear: is told each step when it is taken.

    Raises:
        ValueError: the model itself does not allow an action; the message names the step.
    """
    taken: list[LiveStep] = []
    try:
        path = _Path(model, setup, live_producers)
        for one in path.take(actions):
            taken.append(one)
            if hear is not None:
                hear(one)
    except _Over as over:
        at = len(taken) + 1 if taken or over.arrival is not Arrival.NO_LEVER else 0
        return LiveRun(over.arrival, tuple(taken), at, over.why, over.broken)
    state = path.twin.state
    broken = tuple(p.name for p in model.promises if p.name in promises and breaks(model, setup, p, state))
    return LiveRun(Arrival.ARRIVES, tuple(taken), broken=broken)


class _Path:
    """The checker's state and the twin, side by side."""

    def __init__(self, model: Model, setup: object, live_producers: bool) -> None:
        if not isinstance(setup, Setup):
            raise _Over(Arrival.NO_LEVER, f"{model.name} is a protocol that no live broker speaks")
        try:
            self.twin: Twin = first_twin(setup, live_producers=live_producers)
        except OutOfScope as error:
            raise _Over(Arrival.NO_LEVER, str(error)) from error
        self.model, self.setup = model, setup
        self.state: State = model.initial(setup)
        self.layout = layout_of(State, model.sizes)

    def take(self, actions: Sequence[int]) -> Iterator[LiveStep]:
        """Each step when it is taken, and compared."""
        for number, action in enumerate(actions, start=1):
            self._check(number, action)
            text = describe(self.state, action, self.setup)
            before = copied(self.state)
            if not self.model.step(self.state, action, self.setup, Trail()):
                raise ValueError(f"step {number}: action {action} is not possible here")
            self.model.normalise(self.state, self.setup)
            try:
                did = self._live(action, text)
            except (IllegalTransition, InvalidTransition) as refused:
                raise self._refused(before, str(refused), number == len(actions)) from refused
            yield LiveStep(number, text, did)

    def _check(self, number: int, action: int) -> None:
        if not 0 <= action < self.model.actions:
            raise ValueError(f"step {number}: there is no action {action}; legal: 0 to {self.model.actions - 1}")

    def _refused(self, before: State, refused: str, is_last: bool) -> _Over:
        """A live machine raises where the checker notes a move that no table has: nothing can follow."""
        ghost = self.state.ghost
        if (ghost.illegal, ghost.insane) == (before.ghost.illegal, before.ghost.insane):
            return _Over(Arrival.DIFFERS, f"only the live system refuses a move: {refused}")
        if not is_last:
            return _Over(Arrival.NO_LEVER, f"a live broker that refused a move takes no further step: {refused}")
        broken = "no_machine_leaves_its_table" if ghost.illegal else "no_durable_record_contradicts_memory"
        return _Over(Arrival.ARRIVES, f"the live system refuses the same move: {refused}", (broken,))

    def _live(self, action: int, text: str) -> tuple[str, ...]:
        """Do it live; what was done, in words."""
        self.twin.prepare()
        before = words.held(self.twin.cluster)
        try:
            if not may_try(self.twin, action) or not step(self.twin, action):
                raise _Over(Arrival.DIFFERS, f"{text}: the checker does it, and the live system has nothing to do")
            did = (*_did(self.twin), *words.changes(before, words.held(self.twin.cluster)))
            self.twin.refresh()
        except ClientsDiffer as differ:
            raise _Over(Arrival.DIFFERS, str(differ)) from differ
        except OutOfScope as error:
            raise _Over(Arrival.NO_LEVER, f"{text}: {error}") from error
        expected, reached = self.layout.pack(self.state), self.layout.pack(self.twin.state)
        if expected != reached:
            where = difference(self.layout, expected, reached)
            raise _Over(Arrival.DIFFERS, f"the checker and the live system differ: {where}")
        return did


def _did(twin: Twin) -> tuple[str, ...]:
    """What the brokers have decided and moved in this step."""
    journal = commands.journal_of(twin.cluster)
    decided = [
        f"{each.decision} of {each.subject}: {Error(each.error).name}"
        + (f" (row {each.row.name})" if each.row != Row.NO_ROW else "")
        for each in journal.decisions
    ]
    moved = []
    for each in journal.moves:
        machine = ALL_MACHINES[each.machine]
        states, event = machine.states, machine.events(each.event)
        move = f"{states(each.state).name} --{event.name}--> {states(each.target).name}"
        moved.append(f"{each.machine} {each.subject}: {move}")
    return (*decided, *moved)
