"""What the calls of an application do, and in which order they are refused (reference §5.2)."""

from collections.abc import Callable

import pytest

from tests.statemachines.producer.stand import Stand
from zombieproof.model.rules import Rules, preset
from zombieproof.model.vocabulary import NONE, ApiKey, ProducerEvent
from zombieproof.model.vocabulary import ProducerState as S
from zombieproof.statemachines.producer import calls
from zombieproof.statemachines.producer.effects import Joins, Settlement
from zombieproof.statemachines.producer.effects import Refusal as F
from zombieproof.statemachines.producer.records import Joining, Pending

Call = Callable[..., None]


def init(stand: Stand, pending: Pending = Pending.NOTHING, rules: Rules | None = None) -> None:
    calls.init_transactions(stand.producer, pending, stand.host, rules or Rules(), stand.effects, stand.notes)


def begin(stand: Stand, pending: Pending = Pending.NOTHING) -> None:
    calls.begin_transaction(stand.producer, pending, stand.host, stand.effects, stand.notes)


def send(stand: Stand, pending: Pending = Pending.NOTHING, joining: Joining = Joining.OUTSIDE) -> None:
    calls.send(stand.producer, joining, pending, stand.host, stand.effects)


def offsets(stand: Stand, pending: Pending = Pending.NOTHING, count: int = 2, alone: bool = False) -> None:
    calls.send_offsets(stand.producer, count, alone, pending, stand.host, stand.effects)


def commit(stand: Stand, pending: Pending = Pending.NOTHING, rules: Rules | None = None) -> None:
    calls.commit_transaction(stand.producer, pending, stand.host, rules or Rules(), stand.effects, stand.notes)


def abort(stand: Stand, pending: Pending = Pending.NOTHING, rules: Rules | None = None) -> None:
    calls.abort_transaction(stand.producer, pending, stand.host, rules or Rules(), stand.effects, stand.notes)


def prepare(stand: Stand, pending: Pending = Pending.NOTHING) -> None:
    calls.prepare_transaction(stand.producer, pending, stand.host, stand.effects, stand.notes)


LEGAL: dict[Call, set[S]] = {
    init: {S.UNINITIALIZED},
    begin: {S.READY},
    send: {S.IN_TRANSACTION},
    offsets: {S.IN_TRANSACTION},
    commit: {S.IN_TRANSACTION, S.PREPARED_TRANSACTION},
    abort: {S.IN_TRANSACTION, S.PREPARED_TRANSACTION, S.ABORTABLE_ERROR},
    prepare: {S.IN_TRANSACTION},
}
"""The column *requires* of the table in §5.2."""


@pytest.mark.parametrize("state", list(S), ids=lambda s: s.name)
@pytest.mark.parametrize("call", list(LEGAL), ids=lambda call: call.__name__)
def test_in_which_states_a_call_is_allowed(call: Call, state: S, stand: Stand) -> None:
    stand.in_state(state).host = stand.host._replace(two_phase_commit=True)
    call(stand, Pending.NOTHING)
    allowed = state in LEGAL[call]
    assert (stand.effects.refusal == F.ALLOWED) == allowed
    if not allowed:
        assert stand.state == state, "a refused call changes nothing"
        assert stand.moves() == []
        assert set(stand.wanted()) <= {"refusal", "illegal"}


@pytest.mark.parametrize("call", list(LEGAL), ids=lambda call: call.__name__)
def test_the_order_in_which_a_call_is_refused(call: Call, stand: Stand) -> None:
    """Each step repairs one thing: no transactional id, a call that was not waited for, an error, the wrong state."""
    stand.in_state(S.FATAL_ERROR).host = stand.host._replace(transactional=False, two_phase_commit=True)
    seen = []
    if call is not send:
        call(stand, Pending.ANOTHER)
        seen.append(stand.wanted()["refusal"])
    stand.host = stand.host._replace(transactional=True)
    call(stand, Pending.ANOTHER)
    seen.append(stand.wanted()["refusal"])
    call(stand, Pending.NOTHING)
    seen.append(stand.wanted()["refusal"])
    stand.in_state(S.COMMITTING_TRANSACTION)
    call(stand, Pending.NOTHING)
    last = stand.wanted()["refusal"]
    wrong_state = {send: F.NOT_IN_TRANSACTION, offsets: F.NOT_IN_TRANSACTION, prepare: F.NOT_TWO_PHASE}
    if call is send:
        assert seen == [F.AFTER_ERROR, F.AFTER_ERROR], "a record asks for the state first"
    else:
        assert seen == [F.NOT_TRANSACTIONAL, F.ANOTHER_IS_PENDING, F.AFTER_ERROR]
    assert last == wrong_state.get(call, F.ILLEGAL)


def test_a_record_waits_for_the_call_that_was_not_waited_for(stand: Stand) -> None:
    send(stand.in_state(S.IN_TRANSACTION), Pending.ANOTHER)
    assert stand.wanted() == {"refusal": F.ANOTHER_IS_PENDING}


def test_the_same_call_again_is_the_same_call(stand: Stand) -> None:
    commit(stand.in_state(S.COMMITTING_TRANSACTION), Pending.THE_SAME)
    assert stand.wanted() == {"resumes": 1}
    assert stand.moves() == []


ENDS = [(commit, S.COMMITTING_TRANSACTION), (abort, S.ABORTING_TRANSACTION)]


@pytest.mark.parametrize(("call", "under_way"), [*ENDS, (init, S.INITIALIZING)])
def test_the_same_call_behind_its_answer_gets_the_result_that_came(call: Call, under_way: S, stand: Stand) -> None:
    """The answer came before the application asked again: the producer is READY, and the call has ended."""
    call(stand.in_state(S.READY), Pending.THE_SAME)
    assert stand.wanted() == {"resumes": 1}
    before = Rules(ended_call_keeps_result=0)
    call(stand.in_state(S.READY), Pending.THE_SAME, before)
    assert stand.wanted()["refusal"] == F.ILLEGAL
    call(stand.in_state(under_way), Pending.THE_SAME, before)
    assert stand.wanted() == {"resumes": 1}


@pytest.mark.parametrize("state", [S.COMMITTING_TRANSACTION, S.READY])
def test_an_abort_never_takes_the_place_of_a_commit(state: S, stand: Stand) -> None:
    abort(stand.in_state(state), Pending.ANOTHER)
    assert stand.wanted() == {"refusal": F.ANOTHER_IS_PENDING}
    abort(stand.in_state(state), Pending.ANOTHER, Rules(only_the_same_end_is_resumed=0))
    assert stand.wanted() == {"resumes": 1}
    begin(stand.in_state(state), Pending.ANOTHER)
    assert stand.wanted() == {"refusal": F.ANOTHER_IS_PENDING}


def test_init_asks_for_an_identity(stand: Stand) -> None:
    init(stand.in_state(S.UNINITIALIZED))
    assert stand.wanted() == {"sends_init": 1}
    assert stand.state == S.INITIALIZING


@pytest.mark.parametrize(
    ("version", "joining", "joins", "started"),
    [
        (1, Joining.OUTSIDE, Joins.HAVE_TO_ASK, 0),
        (1, Joining.PENDING, Joins.NOTHING, 0),
        (1, Joining.JOINED, Joins.NOTHING, 0),
        (2, Joining.OUTSIDE, Joins.JOIN, 1),
        (2, Joining.JOINED, Joins.JOIN, 1),
    ],
)
def test_how_the_partition_of_a_record_joins(version: int, joining: Joining, joins: Joins, started: int) -> None:
    stand = Stand(S.IN_TRANSACTION, version)
    send(stand, joining=joining)
    assert stand.wanted().get("joins", Joins.NOTHING) == joins
    assert stand.producer.started == started


def test_without_a_transactional_id_nothing_joins(stand: Stand) -> None:
    stand.host = stand.host._replace(transactional=False)
    send(stand)
    assert stand.wanted() == {}


@pytest.mark.parametrize(("version", "api"), [(1, ApiKey.ADD_OFFSETS_TO_TXN), (2, ApiKey.TXN_OFFSET_COMMIT)])
def test_what_is_sent_for_offsets(version: int, api: ApiKey) -> None:
    stand = Stand(S.IN_TRANSACTION, version)
    offsets(stand)
    assert stand.wanted() == {"sends": api, "transaction_version": version}
    assert stand.producer.started == version - 1


def test_no_offsets_are_sent_at_once(stand: Stand) -> None:
    offsets(stand.in_state(S.IN_TRANSACTION), count=0)
    assert stand.wanted() == {"settles": Settlement.SUCCEEDS}


def test_a_generation_without_a_member_is_refused_before_all_else(stand: Stand) -> None:
    offsets(stand.in_state(S.FATAL_ERROR), Pending.ANOTHER, alone=True)
    assert stand.wanted() == {"refusal": F.NO_MEMBER}


@pytest.mark.parametrize("call", [commit, abort], ids=["commit", "abort"])
def test_an_end_sends_end_txn(call: Call, stand: Stand) -> None:
    call(stand.in_state(S.IN_TRANSACTION), Pending.NOTHING)
    wanted = stand.wanted()
    assert wanted.pop("committed", 0) == (call is commit)
    assert wanted.pop("drops_new", 0) == (call is abort)
    assert wanted == {"sends": ApiKey.END_TXN, "transaction_version": 1}


@pytest.mark.parametrize(("version", "raises"), [(1, 1), (2, 0)])
def test_a_wanted_epoch_waits_behind_the_end_unless_the_end_raises_it(version: int, raises: int) -> None:
    stand = Stand(S.ABORTABLE_ERROR, version)
    stand.producer.bump = True
    abort(stand)
    assert (stand.effects.sends_init, stand.effects.raises_epoch, stand.producer.raises) == (raises,) * 3


def test_version_2_is_learned_while_the_transaction_ends_which_follows_version_1_still(stand: Stand) -> None:
    stand.in_state(S.IN_TRANSACTION).host = stand.host._replace(cluster_version=2)
    commit(stand)
    assert stand.effects.transaction_version == 1
    assert stand.producer.transaction_version == 2
    assert (stand.producer.bump, stand.effects.raises_epoch) == (1, 1), "KAFKA-18227"
    before = Stand(S.IN_TRANSACTION)
    before.host = stand.host
    commit(before, rules=preset("3.9"))
    assert (before.producer.bump, before.effects.raises_epoch) == (0, 0)


def test_what_is_prepared_is_what_an_outer_commit_tells(stand: Stand) -> None:
    stand.in_state(S.IN_TRANSACTION).host = stand.host._replace(two_phase_commit=True)
    prepare(stand)
    assert (stand.producer.prepared_id, stand.producer.prepared_epoch) == (7, 2)
    assert stand.moves() == [(ProducerEvent.PREPARE, S.PREPARED_TRANSACTION)]


@pytest.mark.parametrize(
    ("told", "event"),
    [((7, 2), ProducerEvent.COMMIT), ((7, 3), ProducerEvent.ABORT), ((8, 2), ProducerEvent.ABORT)],
)
def test_a_prepared_transaction_is_committed_if_it_is_the_one(told: tuple[int, int], event: int, stand: Stand) -> None:
    producer = stand.in_state(S.PREPARED_TRANSACTION).producer
    producer.prepared_id, producer.prepared_epoch = 7, 2
    calls.complete_transaction(producer, *told, Pending.NOTHING, stand.host, Rules(), stand.effects, stand.notes)
    assert [moved for moved, _ in stand.moves()] == [event]
    assert stand.effects.committed == (event == ProducerEvent.COMMIT)


@pytest.mark.parametrize("state", [s for s in S if s != S.PREPARED_TRANSACTION], ids=lambda s: s.name)
def test_what_is_not_prepared_cannot_be_completed(state: S, stand: Stand) -> None:
    producer = stand.in_state(state).producer
    producer.prepared_id, producer.prepared_epoch = 7, 2
    calls.complete_transaction(producer, 7, 2, Pending.NOTHING, stand.host, Rules(), stand.effects, stand.notes)
    assert stand.wanted() == {"refusal": F.NOTHING_PREPARED}


@pytest.mark.parametrize("has_work", [False, True])
@pytest.mark.parametrize("state", list(S), ids=lambda s: s.name)
def test_close_aborts_what_is_open_once_everything_else_is_done(state: S, has_work: bool, stand: Stand) -> None:
    open_still = state in (S.IN_TRANSACTION, S.PREPARED_TRANSACTION, S.ABORTABLE_ERROR)
    assert calls.aborts_on_close(stand.in_state(state).producer, has_work) == (open_still and not has_work)


def test_close_by_force_is_the_end(stand: Stand) -> None:
    calls.close_by_force(stand.in_state(S.IN_TRANSACTION).producer, stand.effects, stand.notes)
    assert stand.state == S.FATAL_ERROR
    assert stand.wanted() == {"fails": 1, "gives_up": 1, "fails_batches": 1}


def test_a_new_instance_knows_nothing(stand: Stand) -> None:
    producer = stand.in_state(S.IN_TRANSACTION).producer
    producer.started = producer.bump = producer.raises = producer.coordinator_raises = True
    producer.prepared_id = producer.prepared_epoch = 3
    calls.forget(producer)
    assert producer == type(producer)(), "as it is made"
    assert producer.producer_id == NONE


def test_a_stored_transaction_is_taken_up_by_the_moves_of_the_table_and_nobody_is_asked() -> None:
    stand = Stand(S.UNINITIALIZED)
    stand.producer.prepared_id, stand.producer.prepared_epoch = 7, 3
    calls.resume_transaction(stand.producer, stand.host, stand.notes)
    events = [each.event for each in stand.notes.moves[: stand.notes.count]]
    assert events == [ProducerEvent.INIT_TRANSACTIONS, ProducerEvent.INITIALIZED, ProducerEvent.BEGIN]
    assert (stand.producer.state, stand.producer.producer_id, stand.producer.producer_epoch) == (S.IN_TRANSACTION, 7, 3)
    assert (stand.producer.started, stand.effects.sends_init, stand.notes.illegal) == (True, False, 0)
    commit(stand)
    assert (stand.effects.sends, stand.effects.committed) == (ApiKey.END_TXN, True)
