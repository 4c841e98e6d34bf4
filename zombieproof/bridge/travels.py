"""The steps of a twin in which something happens between its brokers: to appends of coordinators, to producer ids."""

from collections.abc import Callable, Mapping

from zombieproof.bridge.answers import answer_client
from zombieproof.bridge.clusters import COORDINATOR_NODES
from zombieproof.bridge.commands import COMMANDS, COORDINATORS
from zombieproof.bridge.names import leading_log
from zombieproof.bridge.twin import Twin
from zombieproof.checker.transactions.action_kinds import AT_APPENDS, Action
from zombieproof.checker.transactions.state import Allocation, UnderWay
from zombieproof.checker.transactions.vocabulary import Phase, Stage
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.coordinator.records import Operation
from zombieproof.statemachines.producer_ids import ProducerIdBlocks

BUDGETS = {
    Action.FAIL_APPEND: "failed_appends",
    Action.DOUBT_APPEND: "unknown_appends",
    Action.REJECT_APPEND: "hard_appends",
    Action.CLOSE_LOG: "hard_appends",
    Action.LOSE_BLOCK: "lost",
    Action.DOUBLE_BLOCK: "doubled",
}
"""Faults between brokers, and the budgets that they are taken from."""


def may_try_between_brokers(twin: Twin, kind: Action, i: int) -> bool:
    """Whether there is an append, or something to say of producer ids, that this may happen to."""
    state = twin.state
    if kind in BUDGETS and getattr(twin.beside.budget, BUDGETS[kind]) == 0:
        return False
    if kind not in AT_APPENDS:
        return i < len(state.allocations) and MAY_HAPPEN[kind](state.allocations[i], state.blocks[i])
    return i < len(state.appends) and _may_happen(twin, kind, state.appends[i])


def _may_happen(twin: Twin, kind: Action, append: UnderWay) -> bool:
    if kind == Action.TELL_APPEND:
        return append.phase in (Phase.ANSWERED, Phase.COMPLETED)
    return append.phase == Phase.PREPARED and (kind not in BUDGETS or append.node == twin.state.coordinator)


MAY_HAPPEN: Mapping[Action, Callable[[Allocation, ProducerIdBlocks], bool]] = {
    Action.ALLOCATE_BLOCK: lambda between, blocks: bool(between.asked),
    Action.LOSE_BLOCK: lambda between, blocks: bool(between.asked),
    Action.GIVE_BLOCK: lambda between, blocks: between.first != NONE,
    Action.DOUBLE_BLOCK: lambda between, blocks: between.first != NONE and between.late == NONE,
    Action.GIVE_LATE_BLOCK: lambda between, blocks: (
        between.late != NONE and bool(blocks.is_asked_for) and blocks.next_size == 0
    ),
}
"""What may happen between a broker and the controller, and when."""


def at_append(twin: Twin, kind: Action, i: int) -> bool:
    """An append is made, or its outcome told; who waits for that is answered."""
    found = twin.beside.appends.in_place(twin.cluster)[i]
    assert found is not None, "there is an append in that place"
    place, append = found
    ends = len(leading_log(twin.cluster, COORDINATORS))
    if not COMMANDS[kind](twin.cluster, place.node, append.number) and kind in BUDGETS:
        return False
    _spend(twin, kind)
    by_client = append.pending.operation == Operation.END_BY_CLIENT
    twin.remember_decisions(ends, place.label, by_client=by_client)
    for flight in twin.flights:
        if flight is not None and flight.message.stage == Stage.APPENDING and flight.message.error == i + 1:
            answer_client(twin, flight, is_lost=False)
    return True


def at_block(twin: Twin, kind: Action, i: int) -> bool:
    """The controller hears, answers, or is heard."""
    COMMANDS[kind](twin.cluster, COORDINATOR_NODES[i])
    _spend(twin, kind)
    return True


def _spend(twin: Twin, kind: Action) -> None:
    if kind in BUDGETS:
        setattr(twin.beside.budget, BUDGETS[kind], getattr(twin.beside.budget, BUDGETS[kind]) - 1)
