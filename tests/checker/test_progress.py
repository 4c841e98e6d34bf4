"""Who has to act in the transaction model, and epochs in their normal form: what goes on for ever rests on both."""

import copy
from itertools import product

import pytest

from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.model import MOST_TASKS
from zombieproof.checker.scenario import UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions import epochs, tasks
from zombieproof.checker.transactions.action_kinds import ACTIONS, FAULTS, Action
from zombieproof.checker.transactions.budget import Budget
from zombieproof.checker.transactions.capacities import CLIENTS, IDS, NODES, PARTITIONS
from zombieproof.checker.transactions.model import TRANSACTIONS, setup_of
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.setup import Bounds
from zombieproof.checker.transactions.state import LogRecord, Message, State
from zombieproof.checker.transactions.vocabulary import Kind, Op
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE

MARKERS = [
    Message(Kind.MARKER, live, client=k, partition=p, node=n)
    for live, k, p, n in product((False, True), range(IDS), range(PARTITIONS), range(NODES))
]
BATCHES = [
    Message(Kind.PRODUCE, live, client=c, partition=p)
    for live, c, p in product((False, True), range(CLIENTS), range(PARTITIONS))
]
REQUESTS = [Message(Kind.END_TXN, live, client=c) for live, c in product((False, True), range(CLIENTS))]


def test_no_two_messages_that_can_be_told_apart_share_a_task_with_each_other_or_with_a_process() -> None:
    state, setup = State(), setup_of(Rules(), Bounds(), Budget(), ())
    of_processes = {
        tasks.tasks(state, action, setup)
        for action, (kind, _) in enumerate(ACTIONS)
        if action not in FAULTS and kind not in (Action.DELIVER, Action.ANSWER_COMMIT)
    }
    of_messages = [tasks.of_message(message) for message in (*MARKERS, *BATCHES, *REQUESTS)]
    assert len(set(of_messages)) == len(of_messages)
    assert not of_processes & set(of_messages)
    assert {1 <= task <= tasks.LAST <= MOST_TASKS for task in (*of_messages, *of_processes)} == {True}


def test_an_answer_is_the_same_message_on_its_way_back() -> None:
    for message in (*BATCHES, *REQUESTS):
        back = copy.deepcopy(message)
        back.answered, back.error = True, 47
        assert tasks.of_message(back) == tasks.of_message(message)


def named(epoch: int) -> State:
    """A state in which an epoch is named at each place that can name one."""
    state = State()
    state.durable[0] = Transaction(True, producer_id=0, producer_epoch=epoch, last_producer_epoch=epoch)
    state.nodes[1].cache[0] = Transaction(True, producer_epoch=epoch, next_producer_epoch=epoch)
    state.clients[0].producer_epoch = epoch
    state.messages[0] = Message(Kind.PRODUCE, live=True, producer_epoch=epoch)
    state.partitions[0].entries[0].producer_epoch = epoch
    state.partitions[1].entries[0].guard_epoch = epoch
    state.partitions[1].end = 1
    state.partitions[1].log[0] = LogRecord(producer_epoch=epoch)
    return state


LAYOUT = layout_of(TRANSACTIONS.state, TRANSACTIONS.sizes)


def test_epochs_are_counted_from_one_where_fenced_instances_are_started_anew() -> None:
    asked = setup_of(Rules(), Bounds(restarts=1), Budget(), ())
    for epoch, low in ((0, 0), (1, 1), (2, 1), (7, 1)):
        state = named(epoch)
        epochs.lower(state, asked)
        assert LAYOUT.leaves(state) == LAYOUT.leaves(named(low))
        assert epochs.lowered_between(named(epoch), state) == epoch - low


@pytest.mark.parametrize("place", range(8))
def test_each_place_that_names_a_lower_epoch_keeps_the_others_where_they_are(place: int) -> None:
    state = named(5)
    txn, cached = state.durable[0], state.nodes[1].cache[0]
    match place:
        case 0:
            txn.producer_epoch = 1
        case 1:
            txn.last_producer_epoch = 1
        case 2:
            cached.next_producer_epoch = 1
        case 3:
            state.clients[0].producer_epoch = 1
        case 4:
            state.messages[0].producer_epoch = 1
        case 5:
            state.partitions[0].entries[0].producer_epoch = 1
        case 6:
            state.partitions[1].entries[0].guard_epoch = 1
        case 7:
            state.partitions[1].log[0].producer_epoch = 1
    before = LAYOUT.leaves(state)
    epochs.lower(state, setup_of(Rules(), Bounds(restarts=1), Budget(), ()))
    assert LAYOUT.leaves(state) == before


def test_who_does_not_ask_keeps_epochs_and_nobody_is_lowered_where_none_is_named() -> None:
    state = named(7)
    epochs.lower(state, setup_of(Rules(), Bounds(), Budget(), ()))
    assert LAYOUT.leaves(state) == LAYOUT.leaves(named(7))
    empty = named(NONE)
    epochs.lower(empty, setup_of(Rules(), Bounds(restarts=1), Budget(), ()))
    assert LAYOUT.leaves(empty) == LAYOUT.leaves(named(NONE))


def test_only_scenarios_that_name_restarts_have_them() -> None:
    assert [name for name, each in SCENARIOS.items() if "restarts" in each.bounds] == ["late_commit", "mutual_fencing"]
    with pytest.raises(UnknownBound, match="there is no bound 'restarts'"):
        SCENARIOS["timeout"].own_bounds({"restarts": 1})
    own = transaction_scenario("own", "A story.", (((Op.SEND_0, Op.COMMIT),),), sometimes=(), restarts=1)
    assert own.bounds["restarts"] == 1
