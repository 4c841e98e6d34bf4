"""A counterexample as a story: what happened step by step, who decided by which row, which machines moved and why.

Finding is not explaining: the checker found a list of actions, here they are run again
(`zombieproof.checker.engine.replay`, interpreted and compiled side by side) and told. A `Story` is data; texts, JSON
and trace files are made from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zombieproof.checker.engine.model import Model
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.model.vocabulary import Error, Row
from zombieproof.report.consequences import consequences
from zombieproof.report.states import Line, ending
from zombieproof.statemachines.notes import Decision, MachineIndex, Move, Notes
from zombieproof.statemachines.registry import ALL_MACHINES

if TYPE_CHECKING:
    from zombieproof.checker.engine.layout import Layout
    from zombieproof.checker.engine.replay import ReplayedStep

DECISION_WORDS = {
    Decision.INIT_PRODUCER_ID: "InitProducerId",
    Decision.ADD_PARTITIONS: "AddPartitionsToTxn",
    Decision.ADD_OFFSETS: "AddOffsetsToTxn",
    Decision.VERIFY_PARTITIONS: "AddPartitionsToTxn, to verify",
    Decision.END_TXN: "EndTxn",
    Decision.TIMEOUT: "time-out",
    Decision.PRODUCE: "append",
    Decision.VERIFICATION: "verification",
    Decision.MARKER: "marker",
    Decision.TXN_OFFSET_COMMIT: "TxnOffsetCommit",
    Decision.OFFSET_FETCH: "OffsetFetch",
    Decision.EXPIRATION: "expiration",
    Decision.FETCH: "fetch",
    Decision.OFFSET_COMMIT: "OffsetCommit",
    Decision.LOOKUP: "look-up",
    Decision.LOG_APPEND: "append to the transaction log",
    Decision.MARKER_DELIVERY: "marker delivery",
    Decision.KEEP_PREPARED: "InitProducerId, to keep what is prepared",
    Decision.DESCRIBE_TRANSACTIONS: "DescribeTransactions",
    Decision.LIST_TRANSACTIONS: "ListTransactions",
    Decision.FIND_COORDINATOR: "FindCoordinator",
    Decision.JOIN_GROUP: "JoinGroup",
    Decision.SYNC_GROUP: "SyncGroup",
    Decision.HEARTBEAT: "Heartbeat",
    Decision.LEAVE_GROUP: "LeaveGroup",
    Decision.CONSUMER_GROUP_HEARTBEAT: "ConsumerGroupHeartbeat",
    Decision.OFFSET_DELETE: "OffsetDelete",
    Decision.DELETE_GROUPS: "DeleteGroups",
    Decision.AUTHORIZATION: "rights",
    Decision.AUTHENTICATION: "authentication",
}
"""A decision as Kafka's documents call the request, or what it decides about."""


@dataclass(frozen=True, slots=True)
class BeatDecision:
    """One decision: its name, the row of the reference that answered and the error that it gave."""

    decision: str
    row: str
    error: str

    @property
    def words(self) -> str:
        """The decision in words."""
        name = DECISION_WORDS[Decision[self.decision.upper()]]
        by = f" (row {self.row})" if self.row != Row.NO_ROW.name else ""
        said = "accepted" if self.error == Error.NONE.name else f"refused with {self.error}"
        return f"{name}: {said}{by}"


@dataclass(frozen=True, slots=True)
class BeatMove:
    """One move of one machine, with the reason that its table gives."""

    machine: str
    subject: str
    before: str
    event: str
    after: str
    why: str

    @property
    def words(self) -> str:
        """The move in words."""
        arrow = f"{self.before} --{self.event}--> {self.after}"
        return f"{self.machine.replace('_', ' ')} {self.subject}: {arrow}, because {self.why}"


@dataclass(frozen=True, slots=True)
class Beat:
    """One step of a story. `action` is its number in the model, `name` and `argument` say which it is."""

    number: int
    action: int
    name: str
    argument: int
    text: str
    decisions: tuple[BeatDecision, ...]
    moves: tuple[BeatMove, ...]
    changes: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Story:
    """The steps, what there is at the end, and by the number of a step the promises that are broken after it.

    `state` is the last state, `setup` what was constant, as the model's records. Where `repeats_from` is given, the
    beats behind the first so many lead back to where they begin, and repeat for ever; if there are none, the last state
    stays as it is for ever.
    """

    beats: tuple[Beat, ...]
    ending: tuple[Line, ...]
    broken: dict[int, tuple[str, ...]]
    state: Any
    setup: object
    repeats_from: int | None = None


def tell(
    model: Model,
    setup: object,
    actions: Iterable[int],
    promises: Collection[str],
    repeats_from: int | None = None,
) -> Story:
    """Run `actions` from the initial state and tell what happens; `promises` names those to judge after each step.

    Raises:
        HostsDisagree: interpreted and compiled actions differ: an error of this program.
        ActionDisabled: the model does not allow an action; the message names the step.
    """
    from zombieproof.checker.engine.replay import replay  # noqa: PLC0415  # it loads Numba, which only runs need

    return story_of(model, setup, replay(model, setup, actions), promises, repeats_from)


def story_of(
    model: Model,
    setup: object,
    steps: Iterable[ReplayedStep],
    promises: Collection[str],
    repeats_from: int | None = None,
) -> Story:
    """Tell the steps of a run."""
    from zombieproof.checker.engine.layout import layout_of  # noqa: PLC0415  # it loads NumPy
    from zombieproof.checker.engine.replay import breaks  # noqa: PLC0415  # it loads Numba

    steps = tuple(steps)
    layout = layout_of(model.state, model.sizes)
    initial = model.initial(setup)
    beats = tuple(_beat(number, step, model, setup, layout, initial) for number, step in enumerate(steps, start=1))
    judged = [promise for promise in model.promises if promise.name in promises]
    states = [initial, *(step.after for step in steps)]
    broken = {
        number: names
        for number, state in enumerate(states)
        if (names := tuple(p.name for p in judged if breaks(model, setup, p, state)))
    }
    last = states[-1]
    there = ending(last, setup) if isinstance(last, State) and isinstance(setup, Setup) else ()
    return Story(beats, there, broken, last, setup, repeats_from)


def _beat(number: int, step: ReplayedStep, model: Model, setup: object, layout: Layout, initial: Any) -> Beat:
    name, argument = model.names(step.action)
    moves = _moves(step.trail, model) if isinstance(step.trail, Notes) else ()
    decisions: tuple[BeatDecision, ...] = ()
    new: tuple[str, ...] = ()
    if isinstance(step.trail, Trail) and isinstance(setup, Setup):
        decisions = _decisions(step.trail)
        new = consequences(step.before, step.after, setup, step.action, step.trail)
    digest = state_digest(layout, initial, step.after)
    return Beat(number, step.action, name, argument, step.text, decisions, moves, new, digest)


def _decisions(trail: Trail) -> tuple[BeatDecision, ...]:
    return tuple(
        BeatDecision(Decision(d.decision).name.lower(), Row(d.row).name, Error(d.error).name)
        for d in trail.decisions[: trail.decision_count]
    )


def _moves(trail: Notes, model: Model) -> tuple[BeatMove, ...]:
    return tuple(_moved(move, model.subjects(move.machine, move.subject)) for move in trail.moves[: trail.count])


def _moved(move: Move, subject: str) -> BeatMove:
    machine = ALL_MACHINES[MachineIndex(move.machine).name.lower()]
    return BeatMove(
        machine.name,
        subject,
        machine.states(move.state).name,
        machine.events(move.event).name,
        machine.states(move.target).name,
        next(row.why for row in machine.rows if (row.state, row.event) == (move.state, move.event)),
    )


def state_digest(layout: Layout, initial: Any, state: Any) -> str:
    """A fingerprint of a state: of each leaf that is not as at the beginning, so that a new field changes nothing."""
    differing = [
        f"{path}={now}"
        for path, was, now in zip(layout.paths(), layout.leaves(initial), layout.leaves(state), strict=True)
        if was != now
    ]
    return hashlib.blake2b("\n".join(differing).encode(), digest_size=8).hexdigest()
