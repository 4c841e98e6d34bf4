"""What scenarios may have besides: it is off where nobody asks for it, and does what it says where somebody does."""

from dataclasses import replace
from itertools import pairwise

import pytest

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.scenario import UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions import client_batches, group_deletion, operators, plain_commits
from zombieproof.checker.transactions.action_kinds import OTHER_FAULTS, Action
from zombieproof.checker.transactions.actions import _is_behind_another
from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.causes import has_cause
from zombieproof.checker.transactions.model import initial_state
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind
from zombieproof.model.folds import offsets_in_memory_are_the_fold_of_their_log
from zombieproof.model.promises import no_input_is_passed_over, offsets_of_a_commit_outlive_an_earlier_deletion
from zombieproof.model.vocabulary import LogEntry, PendingOffsetsState, ProducerState, TransactionState
from zombieproof.statemachines.group_coordinator import offsets

PARTS = {
    Action.REFUSE: "refused",
    Action.COMMIT_PLAINLY: "plain_commits",
    Action.ABORT_BY_HAND: "aborts_by_hand",
    Action.MISLEAD: "stale_lookups",
    Action.CLEAN: "compactions",
    Action.CLOSE_SEGMENT: "snapshots",
    Action.DROP_SEGMENTS: "retentions",
    Action.FORGET_PARTITION: "forgotten_partitions",
    Action.DELETE_GROUP: "group_deletions",
    Action.RECREATE_INPUT: "recreations",
}


def begun(name: str, **bounds: int) -> tuple[State, Setup]:
    scenario = SCENARIOS[name]
    setup = scenario.setup(scenario.own_rules(), scenario.own_bounds(bounds))
    assert isinstance(setup, Setup)
    return initial_state(setup), setup


@pytest.mark.parametrize("kind", PARTS)
def test_a_part_has_no_cause_where_its_budget_is_used_up(kind: Action) -> None:
    asks = next(each.name for each in SCENARIOS.values() if each.bounds.get(PARTS[kind]))
    assert has_cause(*_in_order(kind, *begun(asks)))
    assert not has_cause(*_in_order(kind, *begun(asks, **{PARTS[kind]: 0})))


def _in_order(kind: Action, state: State, setup: Setup) -> tuple[State, int, Setup]:
    return state, int(kind), setup


def test_all_of_them_are_named_here() -> None:
    assert set(PARTS) == {*OTHER_FAULTS, Action.ABORT_BY_HAND}


@pytest.mark.parametrize(
    ("name", "bound"), [("given_up_commit", "keeps_position"), ("hanging_transaction", "looks_first")]
)
def test_what_is_off_or_on_takes_no_other_number(name: str, bound: str) -> None:
    with pytest.raises(UnknownBound, match=f"{bound}=2 is neither off nor on; give 0 or 1"):
        SCENARIOS[name].own_bounds({bound: 2})


@pytest.mark.parametrize("bound", ["ends_given_up", "ends_timed_out", "resumptions", "stale_lookups"])
def test_what_is_about_coordinators_is_no_bound_of_who_has_none(bound: str) -> None:
    with pytest.raises(UnknownBound, match=f"there is no bound '{bound}'"):
        SCENARIOS["idempotent_producer"].own_bounds({bound: 1})


def test_only_who_has_no_transactional_id_forgets_a_partition() -> None:
    with pytest.raises(UnknownBound, match="there is no bound 'forgotten_partitions'"):
        SCENARIOS["one_transaction"].own_bounds({"forgotten_partitions": 1})


# ---------------------------------------------------------------- batches that are refused


def in_flight(state: State, *batches: tuple[int, int]) -> list[Message]:
    """Batches of client 0 to p0, by sequence and place."""
    for message, (sequence, place) in zip(state.messages, batches, strict=False):
        message.kind, message.live, message.producer_id, message.producer_epoch = Kind.PRODUCE, True, 0, 0
        message.value, message.detail = sequence, place
    return state.messages[: len(batches)]


def order(state: State, batches: list[Message]) -> list[int]:
    """The sequences in the order in which they arrive: each time whoever is behind nobody."""
    arrived = []
    while any(batch.live for batch in batches):
        (first,) = [batch for batch in batches if batch.live and not _is_behind_another(state, batch)]
        arrived.append(int(first.value))
        first.live = False
    return arrived


@pytest.mark.parametrize(
    ("places", "expected"),
    [((0, 0, 0), [0, 1, 2]), ((1, 0, 0), [1, 2, 0]), ((1, 2, 0), [2, 0, 1]), ((1, 0, 1), [1, 0, 2])],
)
def test_batches_arrive_by_place_and_then_by_sequence(places: tuple[int, ...], expected: list[int]) -> None:
    state, _ = begun("refused_batch")
    assert order(state, in_flight(state, *enumerate(places))) == expected


def test_who_is_sent_again_comes_behind_the_others_and_a_new_one_behind_it() -> None:
    state, _ = begun("refused_batch")
    first, second = in_flight(state, (0, 0), (1, 0))
    client_batches._fall_behind(state, first)
    assert (first.detail, second.detail, client_batches.place_behind(state, 0, 0)) == (1, 0, 1)
    client_batches._settle_places(state, 0, 0)
    assert (first.detail, second.detail) == (1, 0)


def test_places_that_say_what_sequences_say_are_forgotten() -> None:
    state, _ = begun("refused_batch")
    batches = in_flight(state, (0, 1), (1, 2))
    client_batches._settle_places(state, 0, 0)
    assert [batch.detail for batch in batches] == [0, 0]


# ---------------------------------------------------------------- groups and inputs that are deleted


def pending(name: str, **changes: int) -> tuple[State, Setup]:
    """An offset of client A's open transaction is pending; the rules are those of the scenario, with `changes`."""
    scenario = SCENARIOS[name]
    setup = scenario.setup(replace(scenario.own_rules(), **changes), scenario.bounds)
    assert isinstance(setup, Setup)
    state = initial_state(setup)
    record = state.partitions[OFFSETS].log[0]
    record.kind, record.label, record.value = LogEntry.OFFSET, 1, 1
    state.partitions[OFFSETS].end = 1
    offsets.waits(state.group.pending[0], 1, 0, Trail())
    return state, setup


def test_a_group_with_pending_offsets_is_deleted_by_the_rules_of_kafka_only() -> None:
    state, setup = pending("deleted_group")
    assert not group_deletion.delete_group(state, setup, Trail())
    assert (state.partitions[OFFSETS].end, state.budget.group_deletions) == (1, 1)
    state, setup = pending("deleted_group", deletion_waits_for_offsets=0)
    assert group_deletion.delete_group(state, setup, Trail())
    assert (state.partitions[OFFSETS].log[1].kind, state.budget.group_deletions) == (LogEntry.TOMBSTONE, 0)
    assert state.group.pending[0].state == PendingOffsetsState.NO_PENDING_OFFSETS
    assert not group_deletion.delete_group(state, setup, Trail()), "the group does not exist any more"


@pytest.mark.parametrize("is_decided", [False, True])
def test_offsets_that_are_deleted_after_their_decision_are_gone_for_good(is_decided: bool) -> None:
    state, setup = pending("deleted_group", deletion_waits_for_offsets=0)
    state.ghost.labels[0].decided = 1 if is_decided else 0
    assert group_deletion.delete_group(state, setup, Trail())
    assert offsets_of_a_commit_outlive_an_earlier_deletion(state), "nothing is committed yet"
    marker = state.partitions[OFFSETS].log[2]
    marker.kind = LogEntry.COMMIT
    state.partitions[OFFSETS].end = 3
    assert offsets_of_a_commit_outlive_an_earlier_deletion(state) is is_decided


def test_a_request_in_flight_names_the_input_topic_that_was_deleted() -> None:
    for by_id in (0, 1):
        state, setup = pending("recreated_input", commit_by_topic_id=by_id)
        message = state.messages[0]
        message.kind, message.live, message.partition = Kind.TXN_OFFSET_COMMIT, True, OFFSETS
        assert not group_deletion.is_outdated(state, message)
        assert group_deletion.recreate_input(state, setup, Trail())
        assert group_deletion.is_outdated(state, message) is bool(by_id)
        message.live = False
        assert not group_deletion.is_outdated(state, message)


@pytest.mark.parametrize(
    ("name", "bounds", "why"),
    [
        ("consume_transform_produce", {"group_deletions": 1}, "changes nothing where the group has members"),
        ("deleted_group", {"plain_commits": 1}, "group_deletions=1 and plain_commits=1 are not in one world"),
        ("deleted_group", {"compactions": 1}, "group_deletions=1 and compactions=1 are not in one world"),
        ("recreated_input", {"doubled_batches": 1}, "recreations=1 and doubled_batches=1 are not in one world"),
        ("recreated_input", {"ends_given_up": 1}, "recreations=1 and ends_given_up=1 are not in one world"),
    ],
)
def test_what_would_be_modelled_wrongly_beside_a_deletion_is_refused(
    name: str, bounds: dict[str, int], why: str
) -> None:
    with pytest.raises(UnknownBound, match=why):
        SCENARIOS[name].own_bounds(bounds)


def test_a_client_that_commits_by_name_recovers_from_a_recreated_input() -> None:
    """As the Java client 4.3.1 does, and that of 4.4.0 does not."""
    scenario = SCENARIOS["recreated_input"]
    promise = scenario.mutants[0].breaks
    for by_id, verdict in ((0, "holds"), (1, "violated")):
        rules = replace(scenario.own_rules(mutant=scenario.mutants[0]), commit_by_topic_id=by_id)
        setup = scenario.setup(rules, scenario.bounds)
        assert explore(scenario.model(scenario.bounds), setup, promises=(promise,)).verdict == verdict


# ---------------------------------------------------------------- offsets beside transactions


def reading(**bounds: int) -> tuple[State, Setup]:
    """Client A has fetched its position."""
    state, setup = begun("plain_commit", **bounds)
    client = state.clients[0]
    client.alive, client.state, client.generation = True, ProducerState.READY, 0
    return state, setup


def test_a_position_that_is_committed_beside_counts_at_once_and_passes_over_its_input() -> None:
    state, setup = reading()
    assert plain_commits.commit(state, setup, Trail(), 0)
    assert (state.group.committed.offset, state.partitions[OFFSETS].log[0].kind) == (1, LogEntry.PLAIN_OFFSET)
    assert offsets_in_memory_are_the_fold_of_their_log(state)
    assert not no_input_is_passed_over(state)


def test_a_member_of_a_generation_before_commits_nothing() -> None:
    state, setup = reading()
    state.group.generation = 1
    assert not plain_commits.commit(state, setup, Trail(), 0)
    assert (state.partitions[OFFSETS].end, state.budget.plain_commits) == (0, setup.budget.plain_commits)


def test_a_later_record_wins_whichever_kind_it_is() -> None:
    state, setup = reading(plain_commits=2)
    values = []
    for position in (0, 0):
        state.clients[0].position = position
        assert plain_commits.commit(state, setup, Trail(), 0)
        values.append(int(state.group.committed.record_offset))
    assert all(one < other for one, other in pairwise(values))


# ---------------------------------------------------------------- operators


def with_open(state: State, *, listed: bool) -> None:
    entry, txn = state.partitions[0].entries[0], state.nodes[0].cache[0]
    entry.txn_first_offset, entry.producer_epoch = 0, 3
    txn.known, txn.producer_id, txn.partitions = True, 0, 1
    txn.state = TransactionState.ONGOING if listed else TransactionState.COMPLETE_ABORT


@pytest.mark.parametrize(
    ("listed", "looks_first", "aborted"), [(True, 1, False), (True, 0, True), (False, 1, True), (False, 0, True)]
)
def test_who_looks_first_aborts_by_hand_what_no_coordinator_lists(
    listed: bool, looks_first: int, aborted: bool
) -> None:
    state, setup = begun("hanging_transaction", looks_first=looks_first)
    with_open(state, listed=listed)
    assert operators.abort_by_hand(state, setup, 0, 0) is aborted
    sent = [(m.producer_epoch, m.value, m.detail, m.live) for m in state.messages if m.kind == Kind.MARKER]
    assert sent == ([(3, 0, 0, False)] if aborted else [])


def test_nothing_is_aborted_by_hand_where_nothing_is_open() -> None:
    assert not operators.abort_by_hand(*begun("hanging_transaction"), 0, 0)


def test_who_is_misled_asks_the_other_node_and_what_it_waits_for_with_it() -> None:
    state, setup = begun("stale_lookup")
    client, (message, *_) = state.clients[0], state.messages
    client.alive, message.kind, message.live = True, Kind.END_TXN, True
    assert operators.mislead(state, setup, 0)
    assert (client.node, message.node, state.budget.stale_lookups) == (1, 1, setup.budget.stale_lookups - 1)
    assert not operators.mislead(state, setup, 0)
