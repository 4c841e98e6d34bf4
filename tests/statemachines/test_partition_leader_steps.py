"""Steps of the partition leader: records in, records and effects out."""

import copy
from typing import Any, NamedTuple

import pytest

from zombieproof.model.records import ProducerEntry
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Isolation, Mode, Origin, PartitionEvent, Row
from zombieproof.model.vocabulary import PartitionState as S
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes
from zombieproof.statemachines.partition_leader import batches, forgetting, front_door, markers, offsets, verification
from zombieproof.statemachines.partition_leader.effects import PartitionEffects, clear
from zombieproof.statemachines.partition_leader.verification import Arrival

RULES = Rules()


class Batch(NamedTuple):
    producer_epoch: int = 5
    base_sequence: int = 0
    last_sequence: int = 0
    transactional: bool = True
    producer_id: int = 7


class Marker(NamedTuple):
    committed: bool = True
    producer_epoch: int = 5
    coordinator_epoch: int = 3
    transaction_version: int = 0
    producer_id: int = 7


ASKS_GENERIC = Arrival(Mode.GENERIC, of_group=False, token=44)


def arrive(
    entry: ProducerEntry, batch: Batch, arrival: Arrival = ASKS_GENERIC, rules: Rules = RULES
) -> tuple[PartitionEffects, Notes]:
    effects, notes = PartitionEffects(), Notes()
    verification.arrives(entry, batch, arrival, rules, effects, notes)
    return effects, notes


def land(
    entry: ProducerEntry, batch: Batch, guard: int = 0, origin: Origin = Origin.CLIENT, rules: Rules = RULES
) -> PartitionEffects:
    effects = PartitionEffects()
    batches.append(entry, batch, guard, origin, rules, effects, Notes())
    return effects


def written(entry: ProducerEntry, batch: Batch, offset: int, event: int = PartitionEvent.BEGIN) -> None:
    batches.appended(entry, batch, offset, offset, event, RULES, Notes())


def in_transaction(epoch: int = 5, offset: int = 10) -> ProducerEntry:
    entry = ProducerEntry()
    written(entry, Batch(epoch), offset)
    return entry


# ---------------------------------------------------------------- verification


def test_the_first_batch_of_a_transaction_is_asked_about_under_a_new_guard() -> None:
    entry = ProducerEntry()
    effects, notes = arrive(entry, Batch())
    assert (effects.asks, effects.goes_on, effects.answers, effects.guard, effects.takes_token) == (1, 0, 0, 44, 1)
    assert (entry.guard, entry.guard_epoch, entry.state, entry.known) == (44, 5, S.VERIFYING, 0)
    assert [(move.machine, move.state, move.target) for move in notes.moves[: notes.count]] == [
        (MachineIndex.PARTITION_LEADER, S.NO_ENTRY, S.VERIFYING)
    ]
    assert notes.decisions[0].decision == Decision.VERIFICATION


def test_another_batch_waits_for_the_same_answer_and_takes_no_new_guard() -> None:
    entry = ProducerEntry()
    arrive(entry, Batch())
    effects, _ = arrive(entry, Batch(base_sequence=1, last_sequence=1), ASKS_GENERIC._replace(token=45))
    assert (effects.asks, effects.guard, effects.takes_token) == (1, 44, 0)


def test_a_batch_of_an_open_transaction_goes_on_without_a_guard() -> None:
    effects, _ = arrive(in_transaction(), Batch(base_sequence=1, last_sequence=1))
    assert (effects.asks, effects.goes_on, effects.guard) == (0, 1, verification.NO_GUARD)


@pytest.mark.parametrize("of_group", [False, True])
def test_a_batch_that_is_too_old_is_refused_before_anybody_is_asked(of_group: bool) -> None:
    entry = in_transaction(epoch=6)
    before = copy.deepcopy(entry)
    effects, notes = arrive(entry, Batch(epoch := 5), ASKS_GENERIC._replace(of_group=of_group))
    assert epoch < entry.producer_epoch
    assert (effects.asks, effects.goes_on, effects.answers) == (0, 0, 1)
    assert (effects.error, effects.row) == (Error.INVALID_PRODUCER_EPOCH, Row.STEP_2)
    assert (entry, notes.count) == (before, 0)


@pytest.mark.parametrize(
    ("of_group", "mode", "word", "told"),
    [
        (False, Mode.GENERIC, Error.NOT_COORDINATOR, Error.NOT_ENOUGH_REPLICAS),
        (False, Mode.GENERIC, Error.CONCURRENT_TRANSACTIONS, Error.NOT_ENOUGH_REPLICAS),
        (False, Mode.ADD, Error.CONCURRENT_TRANSACTIONS, Error.CONCURRENT_TRANSACTIONS),
        (True, Mode.ADD, Error.NETWORK_EXCEPTION, Error.COORDINATOR_LOAD_IN_PROGRESS),
        (True, Mode.ADD, Error.NOT_COORDINATOR, Error.NOT_COORDINATOR),
    ],
)
def test_a_word_that_refuses_is_told_to_each_kind_of_sender_in_its_way(
    of_group: bool, mode: Mode, word: Error, told: Error
) -> None:
    effects = PartitionEffects()
    verification.concludes(word, 44, Arrival(mode, of_group, 0), effects)
    assert (effects.answers, effects.goes_on, effects.error, effects.cause) == (1, 0, told, word)


def test_a_good_word_lets_the_batch_go_on_under_its_guard() -> None:
    effects = PartitionEffects()
    verification.concludes(Error.NONE, 44, ASKS_GENERIC, effects)
    assert (effects.answers, effects.goes_on, effects.guard) == (0, 1, 44)


def test_what_a_coordinator_says_is_translated_where_it_sets_out() -> None:
    assert verification.word_of_coordinator(Error.PRODUCER_FENCED, Mode.ADD) == Error.INVALID_PRODUCER_EPOCH
    assert verification.word_of_coordinator(Error.TRANSACTION_ABORTABLE, Mode.DEFAULT) == Error.INVALID_TXN_STATE


@pytest.mark.parametrize(
    ("version", "of_group", "mode"), [(11, False, 1), (12, False, 2), (4, True, 1), (5, True, 2), (3, True, 0)]
)
def test_the_version_says_how_a_partition_joins(version: int, of_group: bool, mode: int) -> None:
    modes = (Mode.DEFAULT, Mode.GENERIC, Mode.ADD)
    assert verification.mode_of(version, of_group) == modes[mode]


# ---------------------------------------------------------------- at the log


def test_the_log_looks_again_at_the_guard() -> None:
    entry = ProducerEntry()
    arrive(entry, Batch())
    assert land(entry, Batch(), guard=43).error == Error.INVALID_TXN_STATE
    accepted = land(entry, Batch(), guard=44)
    assert (accepted.appends, accepted.answers, accepted.event) == (1, 0, PartitionEvent.BEGIN)


def test_a_marker_between_the_word_and_the_log_voids_the_guard() -> None:
    entry = ProducerEntry()
    arrive(entry, Batch())
    markers.in_log(entry, Marker(committed=False), 0, RULES, PartitionEffects(), Notes())
    refused = land(entry, Batch(), guard=44)
    assert (refused.appends, refused.answers, refused.error) == (0, 1, Error.INVALID_TXN_STATE)


def test_nothing_is_remembered_before_the_batch_has_its_offset() -> None:
    entry = ProducerEntry()
    arrive(entry, Batch())
    before = copy.deepcopy(entry)
    event = land(entry, Batch(), guard=44).event
    assert entry == before
    written(entry, Batch(), 10, event)
    assert (entry.known, entry.state, entry.txn_first_offset, entry.guard) == (1, S.IN_TRANSACTION, 10, 0)


@pytest.mark.parametrize(
    ("entry", "transactional", "event"),
    [
        (ProducerEntry(), True, PartitionEvent.BEGIN),
        (ProducerEntry(), False, PartitionEvent.APPEND),
        (in_transaction(), True, PartitionEvent.CONTINUE),
    ],
)
def test_a_batch_does_the_same_whether_it_is_appended_or_met_in_a_log(
    entry: ProducerEntry, transactional: bool, event: PartitionEvent
) -> None:
    led, followed = copy.deepcopy(entry), copy.deepcopy(entry)
    batch = Batch(base_sequence=entry.batch_count, last_sequence=entry.batch_count, transactional=transactional)
    unverified = with_switches(RULES, off=["verification"])
    effects = land(led, batch, rules=unverified)
    assert effects.event == event
    written(led, batch, 20, effects.event)
    batches.in_log(followed, batch, 20, 20, RULES, PartitionEffects(), Notes())
    assert led == followed


def test_a_duplicate_is_answered_with_where_it_is() -> None:
    entry = in_transaction(offset=10)
    effects = land(entry, Batch())
    assert (effects.appends, effects.answers, effects.error, effects.duplicate_of) == (0, 1, Error.NONE, 10)


def test_a_batch_of_nobody_is_judged_by_nobody() -> None:
    notes, effects = Notes(), PartitionEffects()
    batches.append(ProducerEntry(), Batch(producer_id=NONE), 0, Origin.CLIENT, RULES, effects, notes)
    assert (effects.appends, effects.event, notes.decision_count) == (1, NOTHING, 0)


def test_plain_data_inside_a_transaction_contradicts_what_is_known() -> None:
    entry, effects, notes = in_transaction(), PartitionEffects(), Notes()
    before = copy.deepcopy(entry)
    batches.in_log(entry, Batch(transactional=False, base_sequence=1, last_sequence=1), 11, 11, RULES, effects, notes)
    assert (notes.contradicts, effects.error, entry) == (1, Error.INVALID_TXN_STATE, before)


# ---------------------------------------------------------------- markers


def marked(entry: ProducerEntry, marker: Marker, rules: Rules = RULES) -> PartitionEffects:
    effects = PartitionEffects()
    markers.arrives(entry, marker, Origin.COORDINATOR, rules, effects, Notes())
    return effects


def test_a_marker_ends_what_is_open_and_says_since_when() -> None:
    entry, effects = in_transaction(offset=10), PartitionEffects()
    accepted = marked(entry, Marker())
    assert (accepted.appends, accepted.event) == (1, PartitionEvent.COMMIT_MARKER)
    markers.appended(entry, Marker(), 12, accepted.event, RULES, effects, Notes())
    assert (effects.ended_from, entry.txn_first_offset, entry.state, entry.coordinator_epoch) == (10, NONE, S.IDLE, 3)


def test_the_same_marker_again_is_written_and_ends_nothing() -> None:
    entry = in_transaction()
    markers.in_log(entry, Marker(), 12, RULES, PartitionEffects(), Notes())
    again, effects = marked(entry, Marker()), PartitionEffects()
    assert again.appends
    markers.appended(entry, Marker(), 13, again.event, RULES, effects, Notes())
    assert effects.ended_from == NONE


@pytest.mark.parametrize(
    ("marker", "error", "row"),
    [
        (Marker(producer_epoch=4), Error.INVALID_PRODUCER_EPOCH, Row.M1),
        (Marker(coordinator_epoch=2), Error.TRANSACTION_COORDINATOR_FENCED, Row.M4),
    ],
)
def test_a_marker_that_is_too_old_is_refused(marker: Marker, error: Error, row: Row) -> None:
    entry = in_transaction()
    markers.in_log(entry, Marker(), 12, RULES, PartitionEffects(), Notes())
    effects = marked(entry, marker)
    assert (effects.appends, effects.answers, effects.error, effects.row) == (0, 1, error, row)
    markers.in_log(entry, marker, 13, RULES, effects, Notes())
    assert entry.producer_epoch == marker.producer_epoch, "what lies in a log counts"


def test_a_marker_that_lies_in_a_log_ends_what_is_open_whatever_it_says() -> None:
    entry, effects, notes = in_transaction(offset=10), PartitionEffects(), Notes()
    markers.in_log(entry, Marker(producer_epoch=4), 12, RULES, effects, notes)
    assert (entry.state, entry.txn_first_offset, effects.ended_from, notes.count) == (S.IDLE, NONE, 10, 1)


@pytest.mark.parametrize(
    ("place", "error"),
    [
        (markers.MarkerPlace(False, False, 0, 1, Error.NOT_LEADER_OR_FOLLOWER), Error.UNKNOWN_TOPIC_OR_PARTITION),
        (markers.MarkerPlace(True, False, 0, 1, Error.NOT_LEADER_OR_FOLLOWER), Error.NOT_LEADER_OR_FOLLOWER),
        (markers.MarkerPlace(True, True, 1, 2, Error.NOT_LEADER_OR_FOLLOWER), Error.NOT_ENOUGH_REPLICAS),
        (markers.MarkerPlace(True, True, 2, 2, Error.NOT_LEADER_OR_FOLLOWER), Error.NOT_LEADER_OR_FOLLOWER),
        (markers.MarkerPlace(True, True, 2, 2), Error.NONE),
        (markers.MarkerPlace(False, True, 2, 2, 0, NONE), Error.UNKNOWN_TOPIC_OR_PARTITION),
        (markers.MarkerPlace(True, True, 2, 2, 0, NONE), Error.UNKNOWN_SERVER_ERROR),
        (markers.MarkerPlace(True, True, 2, 2, 0, -2), Error.UNKNOWN_SERVER_ERROR),
        (markers.MarkerPlace(True, True, 2, 2, 0, 7, NONE), Error.UNKNOWN_SERVER_ERROR),
        (markers.MarkerPlace(True, True, 2, 2, 0, 7, -2), Error.INVALID_PRODUCER_EPOCH),
        (markers.MarkerPlace(True, True, 2, 2, 0, 7, 32_767), Error.NONE),
    ],
)
def test_the_place_of_a_marker_is_looked_at_before_its_group(place: markers.MarkerPlace, error: Error) -> None:
    effects = PartitionEffects()
    markers.front_door(place, effects)
    assert (effects.error, effects.goes_on) == (error, int(error == Error.NONE))


@pytest.mark.parametrize(
    ("first", "committed", "undecided", "listed", "stable"),
    [(10, False, NONE, 1, 13), (10, False, 4, 1, 4), (10, True, NONE, 0, 13), (NONE, False, NONE, 0, 13)],
)
def test_only_an_aborted_transaction_with_data_is_listed(
    first: int, committed: bool, undecided: int, listed: int, stable: int
) -> None:
    assert markers.ended(first, 12, committed, undecided) == (first, listed, stable)


def test_until_2_8_a_marker_without_data_was_a_transaction_of_its_own() -> None:
    assert markers.ended_from(NONE, 12, preset("2.7")) == 12
    assert markers.ended_from(NONE, 12, RULES) == NONE


# ---------------------------------------------------------------- forgetting


@pytest.mark.parametrize(
    ("entry", "silence", "event", "state"),
    [
        (in_transaction(), forgetting.Silence(0, NONE, 10_000, 10), NOTHING, S.IN_TRANSACTION),
        (ProducerEntry(known=True, state=S.IDLE), forgetting.Silence(0, NONE, 9, 10), NOTHING, S.IDLE),
        (
            ProducerEntry(known=True, state=S.IDLE),
            forgetting.Silence(0, NONE, 10, 10),
            PartitionEvent.EXPIRE_PRODUCER,
            S.NO_ENTRY,
        ),
        (
            ProducerEntry(known=True, state=S.VERIFYING, guard=1),
            forgetting.Silence(9, 0, 10, 10),
            PartitionEvent.EXPIRE_VERIFICATION,
            S.IDLE,
        ),
        (ProducerEntry(known=True, state=S.VERIFYING, guard=1), forgetting.Silence(0, 5, 10, 10), NOTHING, S.VERIFYING),
    ],
)
def test_a_sweep_forgets_who_was_silent_and_what_was_not_used(
    entry: ProducerEntry, silence: forgetting.Silence, event: int, state: S
) -> None:
    assert forgetting.sweep(entry, silence, Notes()) == event
    assert entry.state == state


def test_who_loses_its_memory_knows_nothing() -> None:
    entry = in_transaction()
    arrive(entry, Batch(producer_epoch=6))
    forgetting.lose_memory(entry)
    assert entry == ProducerEntry()


# ---------------------------------------------------------------- what the partition adds up

REACH = offsets.Reach(log_start=3, high_watermark=9, log_end=12)


@pytest.mark.parametrize(
    ("undecided", "unsettled", "first", "stable"),
    [(NONE, NONE, NONE, 9), (5, NONE, 5, 5), (5, 4, 4, 4), (NONE, 4, 4, 4), (1, NONE, 3, 3), (10, NONE, 10, 9)],
)
def test_the_earliest_transaction_holds_everything_behind_it_back(
    undecided: int, unsettled: int, first: int, stable: int
) -> None:
    assert offsets.readable(undecided, unsettled, REACH) == (first, stable)


@pytest.mark.parametrize(
    ("offset", "isolation", "read"),
    [
        (2, Isolation.READ_COMMITTED, (Error.OFFSET_OUT_OF_RANGE, NONE, 0, NONE)),
        (13, Isolation.READ_UNCOMMITTED, (Error.OFFSET_OUT_OF_RANGE, NONE, 0, NONE)),
        (3, Isolation.READ_COMMITTED, (0, 5, 1, 12)),
        (3, Isolation.READ_UNCOMMITTED, (0, 9, 0, 12)),
        (3, Isolation.READ_COMMITTED_BUFFERING, (0, 9, 0, 12)),
    ],
)
def test_what_a_fetch_gets(offset: int, isolation: Isolation, read: tuple[int, ...]) -> None:
    assert offsets.fetch(offset, isolation, offsets.readable(5, NONE, REACH), REACH, RULES) == read


def test_the_search_for_aborted_transactions_ends_where_everything_was_stable() -> None:
    assert offsets.listing(2, 5, 6, 4, 6) == (1, 1)
    assert offsets.listing(2, 5, 4, 4, 6) == (1, 0)
    assert offsets.listing(6, 7, 8, 4, 6) == (0, 1)
    assert offsets.listing(2, 3, 4, 4, 6) == (0, 0)


def test_a_time_behind_what_may_be_read_has_no_offset() -> None:
    stable = offsets.readable(5, NONE, REACH)
    found = [offsets.offset_for_time(at, Isolation.READ_COMMITTED, stable, REACH, RULES) for at in (4, 5, NONE)]
    assert found == [4, NONE, NONE]


# ---------------------------------------------------------------- doors


def entered(**changed: Any) -> PartitionEffects:
    effects = PartitionEffects()
    entrance = front_door.Entrance(True, True, 1, True, True, 12, is_zstd=False)._replace(**changed)
    front_door.enters(entrance, effects, Notes())
    return effects


def test_the_doors_of_produce_are_passed_in_their_order() -> None:
    wrong = {"has_transactional_id": 0, "id_is_known": 0, "exists": 0, "batches": 2}
    rows = []
    while wrong:
        rows.append(entered(**wrong).row)
        del wrong[next(iter(wrong))]
    assert rows == [Row.W1, Row.W2, Row.W2, Row.W3]
    assert entered().goes_on


@pytest.mark.parametrize(("version", "error"), [(6, Error.UNSUPPORTED_COMPRESSION_TYPE), (7, Error.NONE)])
def test_zstd_comes_in_newer_requests_only(version: int, error: Error) -> None:
    assert entered(version=version, is_zstd=True).error == error
    assert entered(version=version).error == Error.NONE


def test_two_identities_refuse_what_is_left_of_the_request() -> None:
    effects = PartitionEffects()
    front_door.identities_enter(2, effects, Notes())
    assert (effects.answers, effects.row) == (1, Row.W4)


def test_who_does_not_lead_asks_nobody() -> None:
    effects = PartitionEffects()
    front_door.may_ask(False, effects, Notes())
    assert (effects.goes_on, effects.error) == (0, Error.NOT_LEADER_OR_FOLLOWER)


def test_only_a_numbered_batch_of_a_transaction_may_have_to_be_asked_about() -> None:
    assert front_door.can_open_transaction(Batch())
    assert not front_door.can_open_transaction(Batch(producer_id=NONE))
    assert not front_door.can_open_transaction(Batch(transactional=False))


@pytest.mark.parametrize(
    ("changed", "error", "tells_log_start"),
    [
        ({"acks": 2}, Error.INVALID_REQUIRED_ACKS, 0),
        ({"is_internal": 1}, Error.INVALID_TOPIC_EXCEPTION, 0),
        ({"leads": 0}, Error.NOT_LEADER_OR_FOLLOWER, 0),
        ({"in_sync": 1}, Error.NOT_ENOUGH_REPLICAS, 1),
        ({"base_offset": 1}, Error.INVALID_RECORD, 1),
        ({"is_corrupt": 1}, Error.CORRUPT_MESSAGE, 0),
        ({"control": 1}, Error.INVALID_RECORD, 1),
        ({}, Error.NONE, 0),
    ],
)
def test_where_a_clients_batch_lands(changed: dict[str, Any], error: Error, tells_log_start: int) -> None:
    landing = front_door.Landing(-1, False, True, False, True, 2, 2, 0, False)._replace(**changed)
    effects = PartitionEffects()
    front_door.lands(Batch(), landing, effects, Notes())
    assert (effects.error, effects.tells_log_start, effects.goes_on) == (
        error,
        tells_log_start,
        int(error == Error.NONE),
    )


@pytest.mark.parametrize(
    ("place", "door"),
    [
        (front_door.ReadPlace(False, True, False, False, False), (Error.UNKNOWN_TOPIC_ID, 1)),
        (front_door.ReadPlace(False, False, False, False, False), (Error.UNKNOWN_TOPIC_OR_PARTITION, 1)),
        (front_door.ReadPlace(True, False, False, False, False), (Error.NOT_LEADER_OR_FOLLOWER, 0)),
        (front_door.ReadPlace(True, False, True, False, False), (Error.NONE, 0)),
        (front_door.ReadPlace(True, False, True, False, True), (Error.NOT_LEADER_OR_FOLLOWER, 0)),
        (front_door.ReadPlace(True, False, True, True, True), (Error.NONE, 0)),
    ],
)
def test_who_may_be_read(place: front_door.ReadPlace, door: tuple[int, int]) -> None:
    assert front_door.reads(place, Notes()) == door


def test_cleared_effects_are_new_ones() -> None:
    effects, _ = arrive(ProducerEntry(), Batch())
    effects.error = effects.cause = effects.event = effects.duplicate_of = effects.ended_from = 1
    effects.answers = effects.tells_log_start = effects.appends = effects.goes_on = True
    clear(effects)
    assert effects == PartitionEffects()
