"""The steps of the coordinator: records in, new records and effects out. What decisions say is tested with them."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, Error, Row, TransactionState
from zombieproof.statemachines.coordinator import (
    appends,
    completion,
    ends,
    fences,
    init_producer_id,
    joins,
    listings,
    loading,
    outcomes,
)
from zombieproof.statemachines.coordinator.completion import MarkerAnswer, MarkerOutcome, Route, Standing
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects, clear
from zombieproof.statemachines.coordinator.records import (
    DecidedFacts,
    IdRequest,
    InitRequest,
    Office,
    Operation,
    PendingTransition,
)
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move

S = TransactionState
EPOCH, FRESH, NOW = 5, 4000, 1_000
IN_OFFICE = Office(False, True, EPOCH, FRESH, NOW)
LOADING = Office(True, False, NONE, FRESH, NOW)
ELSEWHERE = Office(False, False, NONE, FRESH, NOW)
ANEW = IN_OFFICE._replace(coordinator_epoch=EPOCH + 1)
TV0 = Rules(transaction_version=0)
BITS = 0b101


def known(state: S = S.ONGOING, **fields: Any) -> Transaction:
    """An id of producer 7, epoch 3, with two partitions where it is open or decided."""
    idle = state in (S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT)
    held = Transaction(known=True, state=state, producer_id=7, producer_epoch=3, timeout_ms=60_000, start_ms=10)
    held.partitions = 0 if idle else BITS
    held.last_update_ms = 10
    held.client_transaction_version = 2
    return replace(held, **fields)


@dataclass
class Bench:
    """One id with what its steps read and write."""

    txn: Transaction = field(default_factory=known)
    rules: Rules = field(default_factory=Rules)
    office: Office = IN_OFFICE
    pending: PendingTransition = field(default_factory=PendingTransition)
    effects: CoordinatorEffects = field(default_factory=CoordinatorEffects)
    notes: Notes = field(default_factory=Notes)

    def init(self, **fields: Any) -> CoordinatorEffects:
        request = InitRequest(4, NONE, NONE, 60_000, max_timeout_ms=900_000)._replace(**fields)
        clear(self.effects)
        init_producer_id.init_producer_id(
            self.txn, self.pending, request, self.office, self.rules, self.effects, self.notes
        )
        return self.effects

    def join(self, partitions: int = 0b1000, version: int = 3, epoch: int = 3) -> CoordinatorEffects:
        request = IdRequest(version, 7, epoch, False, partitions)
        clear(self.effects)
        joins.add_partitions(self.txn, self.pending, request, self.office, self.rules, self.effects, self.notes)
        return self.effects

    def end(self, committed: bool = True, version: int = 5, epoch: int = 3) -> CoordinatorEffects:
        request = IdRequest(version, 7, epoch, committed)
        clear(self.effects)
        ends.end_txn(self.txn, self.pending, request, self.office, self.rules, self.effects, self.notes)
        return self.effects

    def end_by_server(self) -> CoordinatorEffects:
        clear(self.effects)
        ends.end_by_server(self.txn, self.pending, self.office, self.rules, self.effects, self.notes)
        return self.effects

    def told(self, error: int = 0) -> CoordinatorEffects:
        clear(self.effects)
        outcomes.append_answered(self.txn, self.pending, error, self.office, self.rules, self.effects, self.notes)
        return self.effects

    def look(self) -> CoordinatorEffects:
        clear(self.effects)
        ends.look_again(self.txn, self.pending, self.office, self.effects, self.notes)
        return self.effects

    def complete(self, coordinator_epoch: int = EPOCH, is_driven: bool = True) -> CoordinatorEffects:
        clear(self.effects)
        facts = DecidedFacts(coordinator_epoch, 77, is_driven)
        completion.complete(self.txn, self.pending, facts, self.office, self.rules, self.effects, self.notes)
        return self.effects

    @property
    def rows(self) -> list[tuple[Decision, Row]]:
        return [(Decision(each.decision), Row(each.row)) for each in self.notes.decisions[: self.notes.decision_count]]


WANTED = {"owes_end": 1, "owes_look": 1, "appends": 1, "replies": 1, "sends_markers": 1, "retries": 1, "drops": 1}


def wanted(effects: CoordinatorEffects) -> set[str]:
    return {name for name in WANTED if getattr(effects, name)}


# ---------------------------------------------------------------- the look-up comes behind the request alone


@pytest.mark.parametrize(
    ("office", "error"), [(LOADING, Error.COORDINATOR_LOAD_IN_PROGRESS), (ELSEWHERE, Error.NOT_COORDINATOR)]
)
def test_who_is_not_the_coordinator_says_so_and_changes_nothing(office: Office, error: Error) -> None:
    for ask in (Bench.init, Bench.join, Bench.end):
        bench = Bench(office=office)
        effects = ask(bench)
        assert (wanted(effects), effects.error) == ({"replies"}, error)
        assert bench.txn == known()


def test_a_request_that_is_wrong_by_itself_is_refused_before_anybody_looks_up() -> None:
    bench = Bench(office=ELSEWHERE)
    assert bench.init(id_is_empty=1).error == Error.INVALID_REQUEST
    joins.add_partitions(
        bench.txn, bench.pending, IdRequest(3, 7, 3, has_id=False), ELSEWHERE, bench.rules, bench.effects, bench.notes
    )
    assert bench.effects.error == Error.INVALID_REQUEST
    ends.end_txn(
        bench.txn, bench.pending, IdRequest(5, 7, 3, has_id=False), ELSEWHERE, bench.rules, bench.effects, bench.notes
    )
    assert bench.effects.error == Error.INVALID_REQUEST
    assert bench.rows == [
        (Decision.INIT_PRODUCER_ID, Row.I2),
        (Decision.ADD_PARTITIONS, Row.P1),
        (Decision.END_TXN, Row.T1),
    ]


# ---------------------------------------------------------------- InitProducerId


def test_an_unknown_id_is_held_with_a_fresh_producer_id_before_anything_is_logged() -> None:
    bench = Bench(Transaction())
    effects = bench.init()
    assert (wanted(effects), effects.holds, effects.takes_producer_id) == ({"appends"}, 1, 1)
    assert (bench.txn.producer_id, bench.txn.producer_epoch, bench.txn.pending_state) == (FRESH, NONE, S.EMPTY)
    assert (bench.pending.operation, bench.pending.coordinator_epoch) == (Operation.GRANT, EPOCH)
    assert wanted(bench.told()) == {"replies"}
    assert (effects.error, effects.producer_id, effects.producer_epoch) == (0, FRESH, 0)


def test_without_a_producer_id_an_unknown_id_is_not_held() -> None:
    bench = Bench(Transaction(), office=IN_OFFICE._replace(next_producer_id=NONE))
    effects = bench.init()
    assert (effects.error, effects.holds, effects.lacks_producer_id) == (Error.COORDINATOR_LOAD_IN_PROGRESS, 0, 1)
    assert bench.txn == Transaction()


def test_a_producer_without_an_id_takes_a_producer_id_and_nothing_else() -> None:
    bench = Bench(Transaction(), office=ELSEWHERE)
    effects = bench.init(has_id=0)
    assert (wanted(effects), effects.takes_producer_id) == ({"replies"}, 1)
    assert (effects.producer_id, effects.producer_epoch) == (FRESH, 0)


def test_a_producer_id_is_taken_only_where_the_epoch_is_used_up() -> None:
    assert not Bench(known(S.COMPLETE_COMMIT)).init().takes_producer_id
    rotating = Bench(known(S.COMPLETE_COMMIT, producer_epoch=32766))
    assert rotating.init().takes_producer_id
    assert rotating.pending.target.producer_id == FRESH


@pytest.mark.parametrize(("rules", "at_once"), [(Rules(), False), (TV0, True)])
def test_a_takeover_fences_and_owes_the_abort_that_makes_it_durable(rules: Rules, at_once: bool) -> None:
    bench = Bench(rules=rules)
    assert wanted(bench.init()) == {"owes_end"}
    assert (bench.txn.pending_state, bench.txn.producer_epoch) == (S.PREPARE_EPOCH_FENCE, 3)
    assert (bench.pending.operation, bench.pending.producer_epoch) == (Operation.END_BY_INIT, 4)
    assert wanted(bench.end_by_server()) == {"appends"}
    assert (bench.txn.pending_state, bench.txn.producer_epoch) == (S.PREPARE_ABORT, 4 if at_once else 3)
    assert wanted(bench.told()) == {"owes_look"}
    effects = bench.look()
    assert (wanted(effects), effects.error) == ({"replies", "sends_markers"}, Error.CONCURRENT_TRANSACTIONS)
    assert (bench.txn.producer_epoch, bench.txn.pending_state) == (4, S.COMPLETE_ABORT)


def test_the_answer_is_in_the_words_of_its_version() -> None:
    stale = {"producer_id": 8, "producer_epoch": 1}
    assert Bench(known(S.EMPTY)).init(version=4, **stale).error == Error.PRODUCER_FENCED
    assert Bench(known(S.EMPTY)).init(version=3, **stale).error == Error.INVALID_PRODUCER_EPOCH
    assert Bench().join(version=1, epoch=2).error == Error.INVALID_PRODUCER_EPOCH
    assert Bench().end(version=1, epoch=2).error == Error.INVALID_PRODUCER_EPOCH


# ---------------------------------------------------------------- appends


def test_nothing_is_in_memory_before_its_append_has_its_outcome() -> None:
    bench = Bench()
    assert wanted(bench.join()) == {"appends"}
    assert (bench.txn.partitions, bench.txn.pending_state) == (BITS, S.ONGOING)
    assert bench.pending.target.partitions == BITS | 0b1000
    assert (wanted(bench.told()), bench.effects.error) == ({"replies"}, 0)
    assert (bench.txn.partitions, bench.txn.pending_state) == (BITS | 0b1000, NONE)


def test_a_failed_append_gives_the_pending_state_up_and_says_what_the_log_said() -> None:
    bench = Bench()
    bench.join()
    effects = bench.told(Error.NOT_ENOUGH_REPLICAS)
    assert (wanted(effects), effects.error) == ({"replies"}, Error.COORDINATOR_NOT_AVAILABLE)
    assert bench.txn == known()


@pytest.mark.parametrize("error", [Error.NONE, Error.NOT_ENOUGH_REPLICAS])
@pytest.mark.parametrize("office", [LOADING, ELSEWHERE, ANEW], ids=["loading", "elsewhere", "another epoch"])
def test_an_outcome_that_finds_another_coordinator_leaves_memory_alone(office: Office, error: Error) -> None:
    bench = Bench()
    bench.end()
    before = replace(bench.txn)
    bench.office = office
    effects = bench.told(error)
    assert bench.txn == before
    assert effects.error != Error.NONE
    assert bench.rows[-1] == (Decision.END_TXN, Row.F1)


@pytest.mark.parametrize(
    ("office", "txn", "row"),
    [(ELSEWHERE, known(), Row.G1), (IN_OFFICE, Transaction(), Row.G2), (ANEW, known(), Row.G3)],
)
def test_a_refused_append_leaves_its_pending_state(office: Office, txn: Transaction, row: Row) -> None:
    bench = Bench()
    bench.join()
    pending_state = txn.pending_state = S.ONGOING
    assert appends.may_append(txn, bench.pending, office, bench.rules, bench.notes) == Error.NOT_COORDINATOR
    assert bench.rows[-1] == (Decision.LOG_APPEND, row)
    bench.txn, bench.office = txn, office
    outcomes.append_ended(txn, bench.pending, Error.NOT_COORDINATOR, office, bench.rules, bench.effects, bench.notes)
    assert txn.pending_state == pending_state


def test_a_record_that_cannot_be_written_fails_the_whole_request_and_stays_pending() -> None:
    bench = Bench(rules=TV0)
    effects = bench.join(version=4)
    assert (effects.throws, effects.appends, effects.error) == (1, 0, Error.UNSUPPORTED_VERSION)
    assert bench.txn.pending_state == S.ONGOING


def test_a_durable_record_that_may_not_follow_changes_and_answers_nothing() -> None:
    bench = Bench()
    bench.join()
    bench.txn.pending_state = NONE
    assert wanted(bench.told()) == set()
    assert (bench.notes.contradicts, bench.txn) == (1, known())


def test_a_move_that_the_table_does_not_have_is_noted_with_what_was_wanted() -> None:
    notes = Notes()
    assert move(notes, MachineIndex.COORDINATOR, S.PREPARE_COMMIT, 1) == S.PREPARE_COMMIT
    assert (notes.illegal, notes.count) == (1 + MachineIndex.COORDINATOR, 0)
    assert (notes.illegal_state, notes.illegal_event) == (S.PREPARE_COMMIT, 1)


# ---------------------------------------------------------------- ends


def test_an_end_is_answered_and_its_markers_set_out_when_it_was_looked_at_again() -> None:
    bench = Bench()
    assert wanted(bench.end()) == {"appends"}
    assert wanted(bench.told()) == {"owes_look"}
    assert (bench.txn.state, bench.txn.pending_state) == (S.PREPARE_COMMIT, NONE)
    effects = bench.look()
    assert wanted(effects) == {"replies", "sends_markers"}
    assert (effects.error, effects.producer_id, effects.producer_epoch) == (0, 7, 4)
    assert bench.txn.pending_state == S.COMPLETE_COMMIT


def test_a_rotated_identity_is_told_with_the_end_and_held_with_the_completion() -> None:
    bench = Bench(known(producer_epoch=32766))
    assert bench.end(epoch=32766).takes_producer_id
    bench.told()
    assert (bench.look().producer_id, bench.effects.producer_epoch) == (FRESH, 0)
    assert (bench.txn.producer_id, bench.txn.producer_epoch) == (7, 32767)
    bench.txn.partitions = 0
    bench.complete()
    bench.told()
    assert (bench.txn.producer_id, bench.txn.producer_epoch, bench.txn.state) == (FRESH, 0, S.COMPLETE_COMMIT)


@pytest.mark.parametrize(
    ("office", "row", "error"),
    [(ELSEWHERE, Row.F2, Error.NOT_COORDINATOR), (ANEW, Row.F3, Error.NOT_COORDINATOR)],
)
def test_a_decision_that_another_coordinator_has_now_is_not_driven(office: Office, row: Row, error: Error) -> None:
    bench = Bench()
    bench.end()
    bench.told()
    bench.office = office
    effects = bench.look()
    assert (wanted(effects), effects.error, bench.rows[-1]) == ({"replies"}, error, (Decision.END_TXN, row))


def test_a_decision_that_somebody_else_goes_on_with_is_not_driven_twice() -> None:
    bench = Bench()
    bench.end()
    bench.told()
    bench.txn.pending_state = S.COMPLETE_COMMIT
    assert (wanted(bench.look()), bench.effects.error) == ({"replies"}, Error.CONCURRENT_TRANSACTIONS)


@pytest.mark.parametrize(("rules", "flag", "epoch"), [(Rules(), 0, 3), (TV0, 1, 4)])
def test_a_fence_whose_abort_failed_is_remembered_where_it_counts_at_once(rules: Rules, flag: int, epoch: int) -> None:
    bench = Bench(rules=rules)
    bench.init()
    bench.end_by_server()
    assert bench.told(Error.NOT_ENOUGH_REPLICAS).error == Error.COORDINATOR_NOT_AVAILABLE
    txn = bench.txn
    assert (txn.state, txn.pending_state, txn.failed_epoch_fence, txn.producer_epoch) == (S.ONGOING, NONE, flag, epoch)


def test_a_fence_that_cannot_be_ended_is_given_up() -> None:
    bench = Bench(known(producer_epoch=32766), office=IN_OFFICE._replace(next_producer_id=NONE))
    bench.init()
    effects = bench.end_by_server()
    assert (effects.error, effects.lacks_producer_id) == (Error.COORDINATOR_LOAD_IN_PROGRESS, 1)
    assert bench.txn.pending_state == NONE


def test_a_client_that_takes_a_fence_over_leaves_nothing_to_the_server() -> None:
    bench = Bench()
    fences.time_out(bench.txn, bench.pending, 7, bench.rules, bench.effects, bench.notes)
    server, bench.pending = bench.pending, PendingTransition()
    assert wanted(bench.end(committed=False)) == {"appends"}
    bench.pending = server
    assert (wanted(bench.end_by_server()), bench.effects.error) == (set(), Error.CONCURRENT_TRANSACTIONS)
    assert bench.txn.pending_state == S.PREPARE_ABORT


# ---------------------------------------------------------------- time-outs, expiry, load


def test_a_sweep_looks_again_at_what_it_remembers() -> None:
    assert fences.is_candidate(known(), 60_011)
    assert not fences.is_candidate(known(), 60_010)
    for txn, ends_pass, owes_end in (
        (known(), 0, 1),
        (known(producer_id=8), 0, 0),
        (known(pending_state=S.ONGOING), 0, 0),
        (known(S.EMPTY), 1, 0),
        (Transaction(), 0, 0),
    ):
        bench = Bench(txn)
        fences.time_out(txn, bench.pending, 7, bench.rules, bench.effects, bench.notes)
        assert (bench.effects.ends_pass, bench.effects.owes_end) == (ends_pass, owes_end)


def test_an_unused_id_is_dropped_when_its_tombstone_is_durable() -> None:
    bench = Bench(known(S.COMPLETE_ABORT))
    for unused_for_ms, appends_it in ((NOW, 0), (NOW - 10, 1)):
        clear(bench.effects)
        loading.expire(bench.txn, bench.pending, unused_for_ms, IN_OFFICE, bench.rules, bench.effects, bench.notes)
        assert bench.effects.appends == appends_it
    assert bench.txn.pending_state == S.DEAD
    assert (wanted(bench.told()), bench.txn) == ({"drops"}, Transaction())


def test_a_load_keeps_what_the_log_holds_and_drives_what_is_decided() -> None:
    held = known(S.PREPARE_COMMIT, last_producer_epoch=2, failed_epoch_fence=1, pending_state=S.COMPLETE_COMMIT)
    logged = Transaction()
    loading.write(logged, held, Rules())
    assert (logged.last_producer_epoch, logged.failed_epoch_fence, logged.partitions) == (NONE, 0, BITS)
    for rules, drives in ((Rules(), 1), (with_switches(Rules(), off=["reload_drives_markers"]), 0)):
        txn, effects = Transaction(), CoordinatorEffects()
        loading.load(txn, logged, rules, effects)
        assert (effects.sends_markers, txn.pending_state, txn.last_producer_epoch) == (drives, S.COMPLETE_COMMIT, NONE)


@pytest.mark.parametrize(
    ("is_loading", "present", "installed"),
    [(False, NONE, False), (True, NONE, True), (True, 4, True), (True, 6, False)],
)
def test_a_load_is_installed_unless_its_partition_was_lost_or_is_here_anew(
    is_loading: bool, present: int, installed: bool
) -> None:
    assert loading.installs(is_loading, present, 5) == installed


# ---------------------------------------------------------------- markers and completion


def decided(**fields: Any) -> Bench:
    return Bench(known(S.PREPARE_COMMIT, pending_state=S.COMPLETE_COMMIT, last_producer_epoch=2, **fields))


def test_a_completion_waits_for_the_last_marker_and_carries_the_time_of_the_decision() -> None:
    bench = decided()
    completion.strike_off(bench.txn, 0b100, EPOCH, IN_OFFICE)
    assert (wanted(bench.complete()), bench.effects.finishes) == (set(), 0)
    completion.strike_off(bench.txn, 0b001, EPOCH, IN_OFFICE)
    assert (wanted(bench.complete()), bench.effects.finishes) == ({"appends"}, 1)
    assert (bench.pending.target.state, bench.pending.target.last_update_ms) == (S.COMPLETE_COMMIT, 77)


def test_a_completion_is_appended_by_who_drives_it_only() -> None:
    bench = decided(partitions=0)
    assert wanted(bench.complete(is_driven=False)) == set()
    assert (wanted(bench.complete(coordinator_epoch=EPOCH - 1)), bench.effects.finishes) == (set(), 1)
    assert bench.rows[-1] == (Decision.MARKER_DELIVERY, Row.C4)


def test_partitions_are_not_struck_off_the_list_of_another_coordinator() -> None:
    bench = decided()
    completion.strike_off(bench.txn, BITS, EPOCH - 1, IN_OFFICE)
    assert bench.txn.partitions == BITS


@pytest.mark.parametrize(
    ("error", "retries", "pending_state"),
    [
        (Error.NOT_ENOUGH_REPLICAS, 1, S.COMPLETE_COMMIT),
        (Error.NOT_LEADER_OR_FOLLOWER, 0, NONE),
        (Error.MESSAGE_TOO_LARGE, 0, NONE),
    ],
)
def test_only_a_completion_that_was_not_available_is_tried_again(
    error: Error, retries: int, pending_state: int
) -> None:
    bench = decided(partitions=0)
    bench.complete()
    assert (bench.told(error).retries, bench.txn.pending_state) == (retries, pending_state)


@pytest.mark.parametrize(
    ("exists", "is_live", "rules", "routed"),
    [
        (True, True, Rules(), (Route.SEND, MarkerOutcome.WRITTEN)),
        (True, False, Rules(), (Route.WAIT, MarkerOutcome.WRITTEN)),
        (False, False, Rules(), (Route.SKIP, MarkerOutcome.WRITTEN)),
        (True, False, with_switches(Rules(), off=["marker_waits_for_leader"]), (Route.SKIP, MarkerOutcome.WRITTEN)),
    ],
)
def test_a_marker_goes_to_its_leader_waits_or_is_not_needed(
    exists: bool, is_live: bool, rules: Rules, routed: tuple[Route, MarkerOutcome]
) -> None:
    assert completion.route(exists, is_live, Standing(0, True, EPOCH), EPOCH, rules, Notes()) == routed


def test_a_marker_that_is_not_needed_counts_for_nothing_where_the_coordinator_has_moved_on() -> None:
    for standing in (Standing(Error.NOT_COORDINATOR, False, NONE), Standing(0, True, EPOCH + 1)):
        assert completion.route(False, False, standing, EPOCH, Rules(), Notes()).outcome == MarkerOutcome.FORGET


@pytest.mark.parametrize(
    ("errors", "outcomes_of_each", "flags"),
    [
        ((0, 0), "WW", (0, 0, 0)),
        ((0, 6), "WR", (0, 1, 0)),
        ((6, 47), "RF", (1, 0, 0)),
        ((6, 2, 0), "RI", (0, 0, 1)),
    ],
    ids=["written", "one again", "fenced", "internal error"],
)
def test_an_answer_forgets_sends_again_or_stops(
    errors: tuple[int, ...], outcomes_of_each: str, flags: tuple[int, int, int]
) -> None:
    answer = MarkerAnswer()
    completion.begin_answer(answer, MarkerOutcome.WRITTEN, False, True)
    said = ""
    for error in errors:
        said += "WRFI"[completion.handle_partition(answer, error, Notes())]
        if answer.stops:
            break
    completion.end_answer(answer)
    assert (said, (answer.forgets, answer.sends_again, answer.stops)) == (outcomes_of_each, flags)


@pytest.mark.parametrize(
    ("standing", "is_lost", "names_it", "flags"),
    [
        (MarkerOutcome.WRITTEN, True, False, (0, 1, 0)),
        (MarkerOutcome.WRITTEN, False, False, (0, 0, 1)),
        (MarkerOutcome.FORGET, False, True, (1, 0, 0)),
        (MarkerOutcome.FORGET, True, False, (1, 0, 0)),
        (MarkerOutcome.INTERNAL_ERROR, False, True, (0, 0, 1)),
    ],
)
def test_what_counts_before_the_errors_of_an_answer(
    standing: MarkerOutcome, is_lost: bool, names_it: bool, flags: tuple[int, int, int]
) -> None:
    answer = MarkerAnswer(1, True, True, True, True)
    completion.begin_answer(answer, standing, is_lost, names_it)
    assert (answer.forgets, answer.sends_again, answer.stops) == flags


# ---------------------------------------------------------------- verification and listings


def test_verification_looks_at_what_is_durable_and_not_at_what_is_pending() -> None:
    bench = Bench(known(pending_state=S.PREPARE_COMMIT))
    for mask, error in ((0b1, Error.NONE), (0b10, Error.TRANSACTION_ABORTABLE)):
        clear(bench.effects)
        joins.verify_partition(
            bench.txn, IdRequest(5, 7, 3, False, mask), IN_OFFICE, bench.rules, bench.effects, bench.notes
        )
        assert (wanted(bench.effects), bench.effects.error) == ({"replies"}, error)


def test_a_description_judges_the_id_then_the_place_then_the_transaction() -> None:
    assert listings.describe(known(), True, ELSEWHERE, Notes()) == Error.INVALID_REQUEST
    assert listings.describe(known(), False, ELSEWHERE, Notes()) == Error.NOT_COORDINATOR
    assert listings.describe(Transaction(), False, IN_OFFICE, Notes()) == Error.TRANSACTIONAL_ID_NOT_FOUND
    assert listings.describe(known(), False, IN_OFFICE, Notes()) == Error.NONE
    assert listings.begin_list(True, False, Notes()) == Error.COORDINATOR_LOAD_IN_PROGRESS
    assert listings.begin_list(False, False, Notes()) == Error.INVALID_REGULAR_EXPRESSION
    assert not listings.shows(known(), NOW, NOW, True)
    assert listings.shows(known(), NOW, NOW - 11, True)
