"""InitProducerId 6 with KeepPreparedTxn, and everything behind it: reference §11.2 (kip939)."""

from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions import transition
from zombieproof.model.decisions.add_partitions_to_txn import decide_add_partitions_to_txn
from zombieproof.model.decisions.end_txn import completion_of, decide_after_append, decide_end_txn
from zombieproof.model.decisions.init_producer_id import (
    TIMEOUT_MS_OF_TWO_PHASE_COMMIT,
    decide_init_front_door,
    decide_init_producer_id,
)
from zombieproof.model.decisions.keep_prepared import (
    Grant,
    decide_keep_front_door,
    decide_keep_prepared,
    granted,
    owner_epoch,
    owner_producer_id,
)
from zombieproof.model.decisions.producer_client import (
    decide_prepare,
    event_of_completion,
    event_of_initialisation,
)
from zombieproof.model.decisions.transaction_timeout import decide_timeout, is_timed_out
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import (
    NONE,
    CoordinatorEvent,
    Error,
    ProducerEvent,
    ProducerState,
    Row,
    TransactionState,
)
from zombieproof.statemachines.coordinator import COORDINATOR

RULES = preset("kip939")


def txn(**changes: Any) -> Transaction:
    facts = {
        "known": True,
        "state": int(TransactionState.ONGOING),
        "producer_id": 10,
        "producer_epoch": 1,
        "last_producer_epoch": 0,
        "previous_producer_id": 10,
        "partitions": 0b01,
        "timeout_ms": TIMEOUT_MS_OF_TWO_PHASE_COMMIT,
        "start_ms": 500,
        "client_transaction_version": 2,
    }
    return Transaction(**(facts | changes))


def ask(epoch: int, producer_id: int = 10, committed: int = 1, version: int = 5, partitions: int = 0b10) -> Any:
    return SimpleNamespace(
        producer_id=producer_id, producer_epoch=epoch, committed=committed, version=version, partitions=partitions
    )


KEPT = {"next_producer_id": 10, "next_producer_epoch": 2}
LadderRow = tuple[str, dict[str, int], Row, int, int]
NOTHING_TO_KEEP = {"known": False, "pending_state": int(TransactionState.COMPLETE_ABORT), "state": 3, "rotates": 1}


def keep_the(facts: dict[str, int]) -> Verdict:
    wrong = dict(facts)
    exhausted = wrong.pop("rotates") == 1
    return decide_keep_prepared(txn(**wrong, producer_epoch=32766 if exhausted else 1), RULES, NONE)


def end_the(facts: dict[str, int]) -> Verdict:
    request = ask(facts["epoch"], facts["producer_id"], version=facts["version"])
    return decide_end_txn(txn(state=facts["state"], **KEPT), request, RULES, True, NONE)


def add_to_the(facts: dict[str, int]) -> Verdict:
    return decide_add_partitions_to_txn(txn(**KEPT), ask(facts["epoch"], version=4), RULES)


END_OF_NOTHING = {"epoch": 1, "producer_id": 11, "version": 4, "state": 2}
LADDERS: dict[str, tuple[Any, Any, tuple[LadderRow, ...]]] = {
    "keep": (
        keep_the,
        NOTHING_TO_KEEP,
        (
            ("the id is not known", {"known": True}, Row.NOT_KNOWN, Error.INVALID_TXN_STATE, 0),
            ("a transition is under way", {"pending_state": NONE}, Row.I8, Error.CONCURRENT_TRANSACTIONS, 0),
            ("the outcome is decided", {"state": 0}, Row.I10, Error.CONCURRENT_TRANSACTIONS, 0),
            ("nothing is open", {"state": 1}, Row.KEPT, Error.INVALID_TXN_STATE, 0),
            ("no producer id is left", {"rotates": 0}, Row.KEPT, Error.COORDINATOR_LOAD_IN_PROGRESS, 0),
            ("nothing", {}, Row.KEPT, Error.NONE, CoordinatorEvent.KEEP),
        ),
    ),
    "end": (
        end_the,
        END_OF_NOTHING,
        (
            ("a request of version 0 rules", {"version": 5}, Row.KEPT, Error.INVALID_TXN_STATE, 0),
            ("the outcome is decided", {"state": 1}, Row.KEPT, Error.CONCURRENT_TRANSACTIONS, 0),
            ("another producer id", {"producer_id": 10}, Row.KEPT, Error.INVALID_PRODUCER_ID_MAPPING, 0),
            ("not the latest epoch", {"epoch": 2}, Row.KEPT, Error.PRODUCER_FENCED, 0),
            ("nothing", {}, Row.KEPT, Error.NONE, CoordinatorEvent.COMMIT),
        ),
    ),
    "add": (
        add_to_the,
        {"epoch": 2},
        (
            ("asked for by who keeps it", {"epoch": 3}, Row.KEPT, Error.INVALID_TXN_STATE, 0),
            ("an epoch that nobody has", {"epoch": 1}, Row.P5, Error.PRODUCER_FENCED, 0),
            ("nothing", {}, Row.P8, Error.NONE, CoordinatorEvent.ADD_PARTITION),
        ),
    ),
}
"""Name -> how to ask, a question with every fault, rows: (fault, its repair, guard, error, event)."""


@pytest.mark.parametrize("name", LADDERS)
def test_the_first_fault_answers(name: str) -> None:
    decide, facts, rows = LADDERS[name]
    for fault, repair, row, error, event in rows:
        verdict = decide(facts)
        assert (fault, verdict.row, verdict.error, verdict.event) == (fault, row, error, event)
        facts = facts | repair


def move(memory: Transaction, verdict: Verdict) -> None:
    """Prepare, append and complete, as a host does."""
    assert verdict.error == Error.NONE
    target = Transaction()
    state = COORDINATOR.target(TransactionState(memory.state), CoordinatorEvent(verdict.event))
    transition.prepare(memory, verdict, int(state), 60_000, 1000, target)
    memory.pending_state = int(state)
    assert transition.is_valid(memory, target)
    transition.complete(memory, target)


def keep(memory: Transaction, new_producer_id: int = NONE) -> Grant:
    move(memory, decide_keep_prepared(memory, RULES, new_producer_id))
    return granted(memory)


def test_each_participant_that_keeps_the_transaction_gets_the_next_epoch() -> None:
    memory = txn()
    assert [keep(memory) for _ in range(5)] == [Grant(10, epoch, 10, 1) for epoch in (2, 3, 4, 5, 6)]
    assert (memory.state, memory.partitions, memory.start_ms) == (TransactionState.ONGOING, 0b01, 500)
    assert memory.timeout_ms == TIMEOUT_MS_OF_TWO_PHASE_COMMIT


@pytest.mark.parametrize("committed", [0, 1])
def test_the_latest_participant_ends_it_and_goes_on_behind_its_own_epoch(committed: int) -> None:
    memory = txn()
    keep(memory)
    keep(memory)
    request = ask(3, committed=committed)
    move(memory, decide_end_txn(memory, request, RULES, True, NONE))
    assert (memory.producer_id, memory.producer_epoch, memory.next_producer_id, memory.next_producer_epoch) == (
        *(10, 2),
        *(10, 4),
    )
    answer = decide_after_append(memory, request, memory.state)
    assert (answer.error, answer.producer_id, answer.producer_epoch) == (Error.NONE, 10, 4)
    move(memory, completion_of(memory))
    assert granted(memory) == Grant(10, 4, NONE, NONE)
    again = decide_end_txn(memory, request, RULES, True, NONE)
    assert (again.error, again.producer_id, again.producer_epoch) == (Error.NONE, 10, 4)


def test_who_lost_the_answer_to_its_end_may_initialise_with_its_own_epoch() -> None:
    memory = txn()
    keep(memory)
    move(memory, decide_end_txn(memory, ask(2), RULES, True, NONE))
    move(memory, completion_of(memory))
    verdict = decide_init_producer_id(memory, ask(2), RULES, NONE)
    assert (verdict.row, verdict.producer_epoch) == (Row.I11E, 3)


def test_an_exhausted_epoch_brings_a_new_producer_id_while_the_transaction_keeps_its_own() -> None:
    memory = txn(producer_epoch=32765)
    assert keep(memory) == Grant(10, 32766, 10, 32765)
    assert keep(memory, 11) == Grant(11, 0, 10, 32765)
    assert (owner_producer_id(memory), owner_epoch(memory)) == (11, 0)


def test_a_transaction_outlives_several_producer_ids() -> None:
    memory = txn(producer_epoch=32766)
    assert keep(memory, 11) == Grant(11, 0, 10, 32766)
    memory.next_producer_epoch = 32766  # as after as many more
    assert keep(memory, 12) == Grant(12, 0, 10, 32766)


@pytest.mark.parametrize(
    ("start", "owner", "final"),
    [
        pytest.param(32765, (11, 0), (11, 1), id="rotated when it was kept"),
        pytest.param(32764, (10, 32766), (11, 0), id="rotated when it was ended"),
    ],
)
def test_the_retry_of_an_end_is_recognised_across_the_change_of_producer_id(
    start: int, owner: tuple[int, int], final: tuple[int, int]
) -> None:
    memory = txn(producer_epoch=start)
    keep(memory)
    assert keep(memory, 11 if start == 32765 else NONE)[:2] == owner
    request = ask(owner[1], owner[0])
    move(memory, decide_end_txn(memory, request, RULES, True, 11))
    assert (memory.producer_id, memory.producer_epoch) == (10, start + 1), "the pair that markers carry"
    answer = decide_after_append(memory, request, memory.state)
    assert (answer.error, answer.producer_id, answer.producer_epoch) == (Error.NONE, *final)
    move(memory, completion_of(memory))
    assert (memory.producer_id, memory.producer_epoch, memory.previous_producer_id) == (*final, 10)
    again = decide_end_txn(memory, request, RULES, True, NONE)
    assert (again.error, again.producer_id, again.producer_epoch) == (Error.NONE, *final)


def test_a_retry_is_recognised_where_three_producer_ids_take_part() -> None:
    """Markers carry the first, the owner went by the second, and the third is the next."""
    memory = txn(next_producer_id=11, next_producer_epoch=32766)
    request = ask(32766, 11)
    move(memory, decide_end_txn(memory, request, RULES, True, 12))
    assert (memory.producer_id, memory.previous_producer_id, memory.next_producer_id) == (10, 11, 12)
    assert decide_after_append(memory, request, memory.state).error == Error.NONE
    move(memory, completion_of(memory))
    again = decide_end_txn(memory, request, RULES, True, NONE)
    assert (again.error, again.producer_id, again.producer_epoch) == (Error.NONE, 12, 0)


def test_without_a_producer_id_to_rotate_to_an_end_is_tried_again() -> None:
    verdict = decide_end_txn(txn(next_producer_id=11, next_producer_epoch=32766), ask(32766, 11), RULES, True, NONE)
    assert verdict.error == Error.COORDINATOR_LOAD_IN_PROGRESS


def test_the_answer_to_somebody_else_than_the_owner_is_not_success() -> None:
    memory = txn(**KEPT)
    move(memory, decide_end_txn(memory, ask(2), RULES, True, NONE))
    assert decide_after_append(memory, ask(7, 12), memory.state).error == Error.INVALID_PRODUCER_ID_MAPPING
    assert decide_after_append(memory, ask(7), memory.state).error == Error.PRODUCER_FENCED


@pytest.mark.parametrize("state", [TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
@pytest.mark.parametrize("committed", [0, 1])
def test_while_an_outcome_is_prepared_every_end_is_to_be_asked_again(state: TransactionState, committed: int) -> None:
    verdict = decide_end_txn(txn(state=int(state)), ask(1, committed=committed), RULES, True, NONE)
    assert verdict.error == Error.CONCURRENT_TRANSACTIONS
    assert decide_end_txn(txn(state=int(state)), ask(1), preset("newest"), True, NONE).error == Error.PRODUCER_FENCED


def test_partitions_added_under_the_first_epoch_leave_the_next_pair_alone() -> None:
    memory = txn(**KEPT)
    move(memory, decide_add_partitions_to_txn(memory, ask(1, version=4), RULES))
    assert (memory.partitions, granted(memory)) == (0b11, Grant(10, 2, 10, 1))


def test_a_producer_that_does_not_keep_it_fences_and_aborts_it() -> None:
    memory = txn(**KEPT)
    fence = decide_init_producer_id(memory, ask(NONE, NONE), RULES, NONE)
    assert (fence.row, fence.event, fence.producer_epoch) == (Row.I12, CoordinatorEvent.FENCE, 2)
    memory.pending_state = int(TransactionState.PREPARE_EPOCH_FENCE)
    abort = ask(2, committed=0)
    verdict = decide_end_txn(memory, abort, RULES, False, NONE)
    memory.pending_state = NONE
    move(memory, verdict)
    assert decide_after_append(memory, abort, memory.state).error == Error.NONE
    move(memory, completion_of(memory))
    assert (memory.state, granted(memory)) == (TransactionState.COMPLETE_ABORT, Grant(10, 3, NONE, NONE))


def test_it_has_no_time_out() -> None:
    assert not is_timed_out(txn(), 10**15)
    assert is_timed_out(txn(timeout_ms=60_000), 10**15)
    assert decide_timeout(txn(), 10, RULES).event == CoordinatorEvent.FENCE, "the scan is what spares it"


@pytest.mark.parametrize(("version", "next_pair"), [(2, (10, 2)), (0, (NONE, NONE))])
def test_the_next_pair_survives_a_load_where_the_log_can_hold_it(version: int, next_pair: tuple[int, int]) -> None:
    rules = preset("kip939")
    rules.transaction_version = version
    memory = Transaction()
    transition.load(memory, txn(**KEPT), -1, rules)
    assert (memory.next_producer_id, memory.next_producer_epoch) == next_pair


@pytest.mark.parametrize(
    ("rules", "error"), [("newest", Error.UNSUPPORTED_VERSION), ("4.3", Error.UNSUPPORTED_VERSION), ("kip939", 0)]
)
def test_keeping_is_refused_where_the_rule_is_not_in_force(rules: str, error: int) -> None:
    assert (
        decide_init_front_door(True, False, True, True, True, NONE, 900_000, kip939=preset(rules).kip939).error == error
    )


def test_who_names_a_producer_id_has_nothing_to_take_over() -> None:
    assert (decide_keep_front_door(True).error, decide_keep_front_door(False).error) == (
        Error.INVALID_REQUEST,
        Error.NONE,
    )


# ---------------------------------------------------------------- the client


def test_a_client_prepares_only_an_open_transaction_of_a_two_phase_commit() -> None:
    assert decide_prepare(True, ProducerState.IN_TRANSACTION) == Error.NONE
    assert decide_prepare(False, ProducerState.IN_TRANSACTION) == Error.INVALID_TXN_STATE
    assert decide_prepare(True, ProducerState.READY) == Error.INVALID_TXN_STATE


@pytest.mark.parametrize(
    ("keeps", "ongoing", "event"),
    [
        (True, 10, ProducerEvent.PREPARE),
        (True, NONE, ProducerEvent.INITIALIZED),
        (False, 10, ProducerEvent.INITIALIZED),
    ],
)
def test_a_client_that_kept_a_transaction_begins_prepared(keeps: bool, ongoing: int, event: ProducerEvent) -> None:
    assert event_of_initialisation(keeps, ongoing) == event


@pytest.mark.parametrize(("told", "event"), [((10, 1), "COMMIT"), ((10, 2), "ABORT"), ((11, 1), "ABORT")])
def test_a_prepared_transaction_is_committed_only_if_the_outer_commit_tells_of_it(
    told: tuple[int, int], event: str
) -> None:
    assert ProducerEvent(event_of_completion(10, 1, *told)).name == event
