"""What came of a step is told: which answer set out, what its receiver makes of it, what was read, what went wrong."""

import copy
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.action_kinds import ACTIONS, Action
from zombieproof.checker.transactions.budget import Budget
from zombieproof.checker.transactions.model import TRANSACTIONS
from zombieproof.checker.transactions.setup import Bounds, Setup
from zombieproof.checker.transactions.state import LogRecord, Message, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.model.vocabulary import Error, LogEntry, Row, TransactionState
from zombieproof.report.consequences import consequences
from zombieproof.statemachines.notes import Decision, NotedDecision

FIRST = {kind: next(number for number, (each, _) in enumerate(ACTIONS) if each == kind) for kind in Action}
"""The first action of each kind: that on message, partition, id or client 0."""


@pytest.fixture
def setup() -> Setup:
    return Setup()


def answered(error: Error, *decided: tuple[Decision, Row, Error]) -> Trail:
    """The trail of a step that answered, after some decisions."""
    trail = Trail(answered=True, error=int(error), decision_count=len(decided))
    for place, (decision, row, said) in enumerate(decided):
        trail.decisions[place] = NotedDecision(int(decision), int(row), int(said))
    return trail


def state_with(*messages: Message) -> State:
    state = State()
    state.messages[: len(messages)] = messages
    return state


def end_txn(**fields: Any) -> Message:
    usual = {"kind": int(Kind.END_TXN), "live": True, "producer_id": 0, "producer_epoch": 0, "label": 1}
    return Message(**(usual | fields))


PRODUCE = {"kind": int(Kind.PRODUCE), "label": 1}
REFUSED = answered(Error.PRODUCER_FENCED, (Decision.END_TXN, Row.T5, Error.PRODUCER_FENCED))


@pytest.mark.parametrize(
    ("kind", "message", "trail", "after", "says"),
    [
        (Action.DELIVER, end_txn(), REFUSED, (), "A is answered PRODUCER_FENCED (row T5)"),
        (Action.DELIVER, end_txn(), REFUSED, (end_txn(),), "A is answered PRODUCER_FENCED (row T5), and asks again"),
        (
            Action.DELIVER,
            end_txn(),
            answered(Error.NOT_COORDINATOR),
            (end_txn(node=1),),
            "A is answered NOT_COORDINATOR, and asks node 1",
        ),
        (
            Action.DELIVER,
            end_txn(**PRODUCE),
            answered(Error.NOT_ENOUGH_REPLICAS),
            (end_txn(**PRODUCE),),
            "A is answered NOT_ENOUGH_REPLICAS, and sends it again",
        ),
        (Action.DELIVER, end_txn(), answered(Error.NONE), (), "A is answered NONE"),
        (
            Action.DELIVER,
            end_txn(live=False),
            REFUSED,
            (),
            "the answer is PRODUCER_FENCED (row T5), and nobody waits for it",
        ),
        (Action.LOSE_ANSWER, end_txn(), REFUSED, (end_txn(),), "the answer that is lost is PRODUCER_FENCED (row T5)"),
        (
            Action.DELIVER,
            end_txn(**PRODUCE, stage=int(Stage.TO_COORDINATOR)),
            answered(Error.INVALID_PRODUCER_EPOCH, (Decision.ADD_PARTITIONS, Row.P5, Error.PRODUCER_FENCED)),
            (),
            "the leader of p0 is answered INVALID_PRODUCER_EPOCH (row P5 for PRODUCER_FENCED)",
        ),
        (Action.DELIVER, end_txn(**PRODUCE), Trail(), (), "the leader of p0 asks the coordinator first"),
        (
            Action.DELIVER,
            end_txn(**PRODUCE),
            answered(Error.NONE, (Decision.PRODUCE, Row.A7, Error.NONE)),
            (),
            "it is taken for a duplicate: nothing is appended",
        ),
        (
            Action.DELIVER,
            Message(kind=int(Kind.MARKER), live=True),
            Trail(
                decision_count=1, decisions=[NotedDecision(9, int(Row.M4), int(Error.TRANSACTION_COORDINATOR_FENCED))]
            ),
            (),
            "it is refused: TRANSACTION_COORDINATOR_FENCED (row M4)",
        ),
    ],
)
def test_an_answer_is_told_with_what_its_receiver_makes_of_it(
    setup: Setup, kind: Action, message: Message, trail: Trail, after: tuple[Message, ...], says: str
) -> None:
    assert consequences(state_with(message), state_with(*after), setup, FIRST[kind], trail) == (says,)


def test_an_answer_that_travels_only_sets_out(setup: Setup) -> None:
    setup.bounds.answers_travel = 1
    after = state_with(end_txn(answered=True, error=int(Error.PRODUCER_FENCED)))
    says = "the answer PRODUCER_FENCED (row T5) sets out for A"
    assert consequences(state_with(end_txn()), after, setup, FIRST[Action.DELIVER], REFUSED) == (says,)


def test_a_partition_that_was_added_sends_the_batch_on_its_way(setup: Setup) -> None:
    added = end_txn(kind=int(Kind.ADD_PARTITIONS))
    says = consequences(
        state_with(added), state_with(end_txn(**PRODUCE)), setup, FIRST[Action.DELIVER], answered(Error.NONE)
    )
    assert says == ("A is answered NONE", "A's Produce (producer 0, epoch 0) sequence 0 to p0 sets out")


def test_a_commit_of_offsets_by_somebody_who_owns_nothing_any_more_is_told(setup: Setup) -> None:
    before = state_with(end_txn(kind=int(Kind.TXN_OFFSET_COMMIT), partition=2))
    before.group.owner, before.group.generation = 1, 4
    after = copy.deepcopy(before)
    after.partitions[2].log[0] = LogRecord(kind=int(LogEntry.OFFSET), label=1)
    after.partitions[2].end = 1
    says = consequences(before, after, setup, FIRST[Action.DELIVER], answered(Error.NONE))
    assert says[-1] == "it is accepted, although B owns the input in generation 4"


@pytest.mark.parametrize(
    ("owner", "says"),
    [
        (4, "the transaction that is ended was opened by B.1, and this request is about A.1"),
        (0, "the transaction that is ended was opened by nobody who is known, and this request is about A.1"),
    ],
)
def test_a_transaction_that_is_ended_by_another_names_both(setup: Setup, owner: int, says: str) -> None:
    before, after = state_with(end_txn()), State()
    before.ghost.owner[0] = after.ghost.owner[0] = owner
    after.ghost.usurped = True
    assert says in consequences(before, after, setup, FIRST[Action.DELIVER], answered(Error.NONE))


def test_a_move_that_no_table_has_is_told(setup: Setup) -> None:
    after = State()
    after.ghost.illegal = 3
    assert consequences(State(), after, setup, FIRST[Action.EXPIRE], Trail()) == (
        "the partition leader has no such move in its table",
    )


def test_a_check_that_a_coordinator_fails_names_error_guard_and_what_stays(setup: Setup) -> None:
    before = State()
    before.durable[0].known, before.durable[0].state = True, int(TransactionState.ONGOING)
    after = copy.deepcopy(before)
    after.ghost.insane = True
    trail = answered(Error.NONE, (Decision.END_TXN, Row.T6, Error.UNKNOWN_SERVER_ERROR))
    assert consequences(before, after, setup, FIRST[Action.TIME_OUT], trail) == (
        "the coordinator fails a check of its own: UNKNOWN_SERVER_ERROR (row T6); the largest epoch is 32767",
        "x0 stays ONGOING (producer -1, epoch -1)",
    )


def test_a_new_coordinator_tells_what_it_finds_and_whether_it_works_on_it(setup: Setup) -> None:
    after = State(coordinator=1)
    txn = after.nodes[1].cache[0]
    txn.known, txn.state, txn.producer_id, txn.producer_epoch = True, int(TransactionState.PREPARE_ABORT), 0, 1
    found = "it finds x0 as PREPARE_ABORT (producer 0, epoch 1)"
    said = consequences(State(), after, setup, FIRST[Action.FAIL_OVER], Trail())
    assert said == ("node 1 is the coordinator, with coordinator epoch 0", f"{found}; nobody sends its markers")
    after.nodes[1].driving[0] = 1
    assert consequences(State(), after, setup, FIRST[Action.DEPOSE], Trail())[1] == found


def test_a_new_leader_tells_what_it_knows_of_the_producers_in_its_log(setup: Setup) -> None:
    after = State()
    after.partitions[0].log[0] = LogRecord(kind=int(LogEntry.DATA), label=1)
    after.partitions[0].end = 1
    said = [consequences(after, after, setup, FIRST[Action.ELECT], Trail())[0]]
    entry = after.partitions[0].entries[0]
    entry.known, entry.producer_epoch = True, 2
    said.append(consequences(after, after, setup, FIRST[Action.CHANGE_LEADER], Trail())[0])
    entry.txn_first_offset = 0
    said.append(consequences(after, after, setup, FIRST[Action.CHANGE_LEADER], Trail())[0])
    assert said == [
        "the leader of p0 knows nothing of producer 0, whose records are in the log",
        "the leader of p0 knows producer 0, epoch 2: no transaction is open",
        "the leader of p0 knows producer 0, epoch 2: a transaction is open from offset 0 on",
    ]


def test_a_crash_leaves_behind_what_was_sent(setup: Setup) -> None:
    said = consequences(state_with(end_txn()), state_with(end_txn(live=False)), setup, FIRST[Action.CRASH], Trail())
    assert said == ("A's late EndTxn ABORT (producer 0, epoch 0) is still on its way",)


def test_the_markers_of_a_coordinator_that_is_gone_are_still_on_their_way(setup: Setup) -> None:
    marker = Message(kind=int(Kind.MARKER), live=True, producer_id=0, producer_epoch=1)
    late = Message(kind=int(Kind.MARKER), live=False, producer_id=0, producer_epoch=1)
    said = consequences(state_with(marker), state_with(late), setup, FIRST[Action.FAIL_OVER], Trail())
    assert said[1:] == ("the late ABORT marker (producer 0, epoch 1, coordinator epoch 0) to p0 is still on its way",)


def test_a_late_copy_that_goes_on_is_told_once(setup: Setup) -> None:
    here = end_txn(kind=int(Kind.TXN_OFFSET_COMMIT), partition=2, live=False)
    there = end_txn(kind=int(Kind.TXN_OFFSET_COMMIT), partition=2, live=False, stage=int(Stage.TO_COORDINATOR))
    said = consequences(state_with(here), state_with(there), setup, FIRST[Action.DELIVER], Trail())
    assert said == ("the group coordinator asks the coordinator first",)


# ---------------------------------------------------------------- any step


OF_TRANSACTIONS = [
    name for name, scenario in SCENARIOS.items() if scenario.model(scenario.bounds).name.startswith("transactions")
]


def walk(name: str, seed: int, steps: int) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Take enabled actions of a scenario at random: each with its words and what came of it."""
    chance = random.Random(f"{name} {seed}")
    scenario = SCENARIOS[name]
    bounds = {**scenario.bounds, "answers_travel": seed % 2}
    setup = scenario.setup(scenario.own_rules(mutant=chance.choice([None, *scenario.mutants])), bounds)
    assert isinstance(setup, Setup)
    state = TRANSACTIONS.initial(setup)
    for _ in range(steps):
        before, trail = copy.deepcopy(state), Trail()
        enabled = (
            action
            for action in chance.sample(range(len(ACTIONS)), len(ACTIONS))
            if TRANSACTIONS.step(state, action, setup, trail)
        )
        action = next(enabled, None)
        if action is None or state.overflow:
            return
        TRANSACTIONS.normalise(state, setup)
        yield action, TRANSACTIONS.describe(before, action, setup), consequences(before, state, setup, action, trail)


@pytest.mark.share(3)
@pytest.mark.sample(
    "forgotten_id",
    "two_idempotent_producers",
    "exhausted_fence",
    "plain_commit",
    "first_sequence",
    "last_epoch",
    "mutual_fencing",
    "forgotten_partition",
)
@pytest.mark.parametrize("name", OF_TRANSACTIONS)
def test_each_delivery_says_where_something_arrives_and_what_comes_of_it(name: str, arrives: re.Pattern[str]) -> None:
    deliveries = 0
    for seed in range(6):
        for action, text, said in walk(name, seed, 40):
            if ACTIONS[action][0] in (Action.DELIVER, Action.UNKNOWN_APPEND):
                deliveries += 1
                assert arrives.search(text), text
                assert said, text
    assert deliveries > 5


@pytest.mark.parametrize(
    ("bounds", "budget", "says"),
    [
        (Bounds(), Budget(), "A's InitProducerId arrives at the coordinator"),
        (Bounds(grouped=1), Budget(), "A's InitProducerId arrives at the transaction coordinator"),
        (Bounds(), Budget(failovers=1), "A's InitProducerId arrives at coordinator node 0"),
        (Bounds(grouped=1), Budget(deposed=1), "A's InitProducerId arrives at transaction coordinator node 0"),
    ],
)
def test_a_coordinator_has_a_number_where_there_are_several(bounds: Bounds, budget: Budget, says: str) -> None:
    state = state_with(Message(kind=int(Kind.INIT_PRODUCER_ID), live=True))
    state.nodes[0].believes = True
    assert TRANSACTIONS.describe(state, FIRST[Action.DELIVER], Setup(bounds=bounds, budget=budget)) == says


def test_a_node_that_is_deposed_or_none_any_more_is_told_apart() -> None:
    state = state_with(Message(kind=int(Kind.INIT_PRODUCER_ID), live=True))
    setup = Setup(budget=Budget(deposed=1))
    state.coordinator = 1
    says = "A's InitProducerId arrives at node 0 (no coordinator any more)"
    assert TRANSACTIONS.describe(state, FIRST[Action.DELIVER], setup) == says
    state.nodes[0].believes = True
    says = "A's InitProducerId arrives at node 0 (deposed, and does not know it)"
    assert TRANSACTIONS.describe(state, FIRST[Action.DELIVER], setup) == says
