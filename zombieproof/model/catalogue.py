"""The catalogue of promises: everything that Kafka's protocol is judged by here, wherever it is judged.

A promise is a named sentence. Of the same promise there can be several forms, because a checker knows more than a log
does: `form_of` names the one that it says in other words, as far as its evidence goes. Forms keep their names in
reports, in JSON and in documents.

- In a *state* (of the checker, or a live cluster projected onto one) a promise is a predicate of ``promises`` or
  ``witnesses``: it returns a bool, and its docstring is the sentence.
- In a *recording* it is judged while logs are folded and compared (``zombieproof.traces.judging``), which finds the
  place where it is broken, if the evidence has what the promise `needs`.

Source: reference §12.1; ``bugs.md`` (names of violated promises); KIP-98, KIP-447, KIP-890.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from zombieproof.model import durability as d
from zombieproof.model import endings as e
from zombieproof.model import folds as f
from zombieproof.model import progress as g
from zombieproof.model import promises as p
from zombieproof.model import witnesses as w

Kind = Literal["always", "sometimes", "at_rest", "leads_to"]


class Where(StrEnum):
    """Where a promise is judged."""

    STATE = "state"
    """In every state that the checker reaches."""
    CLUSTER = "cluster"
    """After every step of a live cluster that walks at random, projected onto a state (tests/broker)."""
    RECORDING = "recording"
    """In what real clusters left behind."""


class Needs(StrEnum):
    """A kind of evidence."""

    TRANSACTION_LOG = "__transaction_state"
    PARTITION = "a data partition"
    OFFSETS_LOG = "__consumer_offsets"
    CLIENT = "what applications were told"
    REPLICAS = "two copies of a partition"
    ABORTED_INDEX = "the index of aborted transactions"
    COORDINATOR_LINES = "the DEBUG log of the coordinator"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """One promise of the catalogue.

    Attributes:
        name: what reports call it.
        sentence: the promise in one sentence.
        source: where it is written.
        kind: *always* (in every state, in every history), *sometimes* (in some state: a scenario in which it never
            holds does not test what it says), *at rest* (in every state in which nothing more can happen but new
            faults) or *leads to* (not in states that owe something, which must not go on for ever).
        where: where it is judged.
        broken_by: what breaks it: a mutant of a scenario, or the recording or made history (tests/traces/replay) that
            does; of a *sometimes* promise the state before anything happened, in which none holds.
        predicate: a function of a state that returns a bool; None for what is judged in recordings alone.
        needs: the kinds of evidence without which a recording tells nothing about it.
        form_of: the name of the promise that this says of recordings, if there is one of states.
    """

    name: str
    sentence: str
    source: str
    kind: Kind
    where: tuple[Where, ...]
    broken_by: str
    predicate: Callable[[p.State], bool] | None = None
    needs: tuple[Needs, ...] = ()
    form_of: str = ""

    def holds(self, state: p.State) -> bool:
        """Whether a state keeps it.

        Raises:
            ValueError: it is judged in recordings alone.
        """
        if self.predicate is None:
            raise ValueError(f"{self.name} is judged in recordings, not in states; those of states are IN_STATES")
        return self.predicate(state)


def _of_states(holds: Callable[[p.State], bool], source: str, broken_by: str, *, live: bool = True) -> Guarantee:
    """An *always* promise of states; `live`: walks of a live cluster are judged by it too."""
    where = (Where.STATE, Where.CLUSTER) if live else (Where.STATE,)
    return Guarantee(holds.__name__, _sentence(holds), source, "always", where, broken_by, holds)


def _at_rest(holds: Callable[[p.State], bool], source: str, broken_by: str) -> Guarantee:
    return Guarantee(holds.__name__, _sentence(holds), source, "at_rest", (Where.STATE,), broken_by, holds)


def _leads_to(holds: Callable[[p.State], bool], source: str, broken_by: str) -> Guarantee:
    return Guarantee(holds.__name__, _sentence(holds), source, "leads_to", (Where.STATE,), broken_by, holds)


def _witness(holds: Callable[[p.State], bool]) -> Guarantee:
    return Guarantee(
        holds.__name__, _sentence(holds), "not vacuous", "sometimes", (Where.STATE,), "the initial state", holds
    )


def _of_recordings(
    name: str, sentence: str, source: str, needs: tuple[Needs, ...], broken_by: str, form_of: str = ""
) -> Guarantee:
    return Guarantee(name, sentence, source, "always", (Where.RECORDING,), broken_by, None, needs, form_of)


def _sentence(holds: Callable[[p.State], bool]) -> str:
    return (holds.__doc__ or "").strip()


CATALOGUE: tuple[Guarantee, ...] = (
    # ---- always, in states
    _of_states(
        p.only_what_was_asked_to_commit_is_committed,
        "KIP-98; bugs.md NoAbortedRead",
        "a_restart_aborts_under_the_old_epoch",
    ),
    _of_states(p.an_acknowledged_commit_loses_nothing, "KIP-98; bugs.md NoLostAckedWrite", "timeout_keeps_the_epoch"),
    _of_states(p.a_transaction_is_all_or_nothing, "KIP-98; bugs.md Atomicity", "timeout_splits_the_transaction"),
    _of_states(
        p.every_open_transaction_is_known_to_its_coordinator,
        "KIP-890, KIP-664; bugs.md LSOProgress",
        "ids_expire_in_the_middle_of_a_transaction",
    ),
    _of_states(
        p.a_decided_transaction_is_driven_to_its_end,
        "reference §2.12, Z6; bugs.md LivenessOfInit",
        "a_loaded_decision_is_not_driven",
    ),
    _of_states(
        p.a_question_waits_only_behind_another,
        "KIP-890; reference §3.4",
        "what_waits_is_forgotten_by_the_channel",
        live=False,
    ),
    _of_states(
        p.what_is_pending_is_under_way,
        "reference §2.6, §2.12; bugs.md LivenessOfInit",
        "what_is_loaded_pending_is_left_alone",
    ),
    _of_states(
        p.a_transaction_has_one_decision, "reference §12.1 (c), (l); bugs.md SingleOutcome", "a_late_end_decides_again"
    ),
    _of_states(
        p.only_its_owner_ends_a_transaction, "KIP-98, fencing zombies; bugs.md Fencing", "end_txn_ignores_epoch"
    ),
    _of_states(
        p.no_machine_leaves_its_table, "reference §2.3; bugs.md IllegalTransition", "an_open_transaction_is_buried"
    ),
    _of_states(p.no_durable_record_contradicts_memory, "reference §2.4", "a_fence_raises_the_epoch_twice"),
    _of_states(p.epochs_never_go_down, "reference §12.1 (b), (e); bugs.md EpochMonotonicity", "leader_ignores_epoch"),
    _of_states(
        p.sequences_follow_each_other, "reference §12.1 (f); KIP-98", "leader_checks_neither_duplicates_nor_sequences"
    ),
    _of_states(p.every_batch_is_written_once, "KIP-98; bugs.md ExactlyOnce", "leader_recognises_no_duplicates"),
    _of_states(
        p.each_input_has_one_committed_output,
        "KIP-447; bugs.md ExactlyOnce",
        "pending_offsets_are_not_waited_for",
        live=False,
    ),
    _of_states(
        p.no_input_is_passed_over,
        "KIP-98, KIP-447; bugs.md ExactlyOnce",
        "a_position_beside_the_transaction_passes_over_its_input",
        live=False,
    ),
    _of_states(
        p.a_committed_position_never_goes_back,
        "KIP-447; bugs.md ExactlyOnce",
        "who_was_passed_takes_the_position_back",
        live=False,
    ),
    _of_states(
        p.offsets_of_a_commit_outlive_an_earlier_deletion,
        "KIP-98; bugs.md B80, OffsetAtomicity",
        "a_deletion_discards_what_is_committed_later",
        live=False,
    ),
    _of_states(f.memory_is_the_fold_of_the_log, "reference §3.7", "a_new_leader_knows_nothing"),
    _of_states(
        f.sequences_in_memory_are_the_fold_of_their_log,
        "reference §3.7, §3.8",
        "the_last_sequence_goes_with_its_record",
        live=False,
    ),
    _of_states(
        f.offsets_in_memory_are_the_fold_of_their_log,
        "reference §4.2; bugs.md OffsetAtomicity",
        "a_refused_commit_takes_along_what_waits",
    ),
    _of_states(
        p.no_two_live_producers_share_an_identity,
        "reference §12.1 (b); bugs.md PidUniqueness",
        "init_grants_the_same_epoch_again",
    ),
    _of_states(
        p.what_was_decided_outside_is_not_aborted,
        "KIP-939; bugs.md B70, DurabilityOfDecision",
        "a_time_out_aborts_what_is_stored",
        live=False,
    ),
    _of_states(
        p.nothing_of_an_older_instance_takes_effect,
        "KIP-98, fencing zombies; bugs.md Fencing",
        "a_takeover_fences_nothing",
        live=False,
    ),
    _of_states(
        p.an_unrivalled_producer_is_never_fenced,
        "bugs.md LivenessOfProducer",
        "a_rotation_is_forgotten_by_a_failover",
        live=False,
    ),
    _of_states(
        p.a_reader_gets_committed_records_only,
        "reference §12.1 (i); bugs.md NoAbortedRead, NoUncommittedRead",
        "reader_ignores_the_last_stable_offset",
    ),
    _of_states(p.a_reader_misses_nothing_committed, "reference §12.1 (i)", "skipping_never_ends"),
    _of_states(p.both_readers_agree, "reference §6", "the_broker_lists_no_aborted_transactions"),
    _of_states(
        d.what_was_acknowledged_stays_in_the_log,
        "reference §3.5, §4.1 (O10); DelayedProduce",
        "the_leader_answers_when_it_has_appended",
        live=False,
    ),
    _of_states(
        d.nothing_that_was_read_is_lost,
        "reference §3.6; ReplicaManager.readFromLog",
        "readers_read_to_the_end_of_the_log",
        live=False,
    ),
    # ---- at rest, in states
    _at_rest(
        e.a_decided_transaction_is_complete,
        "reference §2.12; bugs.md LivenessOfInit",
        "a_new_leader_refuses_the_marker_for_ever",
    ),
    _at_rest(
        e.what_is_open_can_time_out,
        "KIP-664, KIP-890; bugs.md LSOProgress",
        "a_late_record_hangs",
    ),
    _at_rest(e.nobody_waits_for_ever, "bugs.md LivenessOfProducer", "what_waits_has_no_answer"),
    _at_rest(
        e.an_acknowledged_commit_is_visible,
        "KIP-98; bugs.md LSOProgress",
        "a_skipped_marker_hides_what_is_committed",
    ),
    # ---- leads to, in states
    _leads_to(
        g.every_open_transaction_is_decided, "KIP-98; bugs.md LSOProgress", "an_abandoned_transaction_stays_open"
    ),
    _leads_to(
        g.every_decided_transaction_completes, "reference §2.12; bugs.md LivenessOfInit", "a_marker_is_refused_for_ever"
    ),
    _leads_to(g.the_last_stable_offset_advances, "KIP-664; bugs.md LSOProgress", "readers_wait_for_ever"),
    _leads_to(g.a_producer_is_never_stuck, "bugs.md LivenessOfProducer", "a_producer_waits_for_ever"),
    _leads_to(
        g.every_request_is_answered,
        "bugs.md B79, LivenessOfProducer",
        "a_recreated_topic_is_asked_for_by_its_old_id",
    ),
    _leads_to(g.somebody_gets_through, "bugs.md LivenessOfInit", "two_instances_fence_each_other_for_ever"),
    # ---- sometimes, in states
    _witness(w.a_transaction_commits),
    _witness(w.a_transaction_aborts),
    _witness(w.two_transactions_commit),
    _witness(w.a_zombie_is_fenced),
    _witness(w.a_producer_is_fenced),
    _witness(w.a_fence_aborts_what_a_crash_left_open),
    _witness(w.a_commit_comes_too_late),
    _witness(w.a_commit_that_nobody_heard_of_is_decided),
    _witness(w.a_commit_that_timed_out_is_decided),
    _witness(w.a_partition_begins_again_under_a_raised_epoch),
    _witness(w.a_stored_transaction_is_taken_up),
    _witness(w.a_transaction_commits_behind_a_refusal),
    _witness(w.a_hanging_transaction_is_aborted_by_hand),
    _witness(w.a_prepared_transaction_is_taken_over),
    _witness(w.a_stale_coordinator_still_answers),
    _witness(w.offsets_are_committed),
    _witness(w.offsets_are_pending_across_a_rebalance),
    _witness(w.a_position_is_committed_beside_one_that_waits),
    _witness(w.offsets_are_deleted),
    _witness(w.the_producer_id_rotates),
    _witness(w.a_guard_is_out_while_a_marker_arrives),
    _witness(w.a_reader_skips_and_delivers),
    _witness(w.a_buffering_reader_holds_back),
    _witness(w.a_partition_is_without_a_leader_while_a_marker_waits),
    _witness(w.a_new_leader_knows_an_open_transaction),
    _witness(w.two_batches_are_remembered),
    _witness(w.an_id_is_forgotten),
    _witness(w.a_question_waits),
    _witness(w.a_newer_question_takes_the_place),
    _witness(w.an_answer_comes_behind_a_marker),
    _witness(w.a_coordinator_has_used_up_a_block),
    _witness(w.a_new_coordinator_hands_out_producer_ids),
    _witness(d.a_record_is_not_replicated),
    _witness(d.a_marker_holds_the_stable_offset_back),
    _witness(d.an_election_loses_records),
    _witness(w.a_marker_is_appended_behind_the_bound_of_a_fetch),
    _witness(w.a_fetch_meets_what_the_cleaner_has_left),
    _witness(w.a_new_leader_reads_a_cleaned_log),
    _witness(w.a_transaction_is_open_that_begins_below_its_log),
    _witness(w.a_record_is_sent_again_that_retention_has_dropped),
    # ---- in recordings, the ones that explain most first: findings are reported in this order
    _of_recordings(
        "every_listed_partition_has_its_marker",
        "When a transaction is complete, each partition that it lists has its marker.",
        "reference §2.12, §12.1 (d); KIP-98",
        (Needs.TRANSACTION_LOG, Needs.PARTITION),
        "09-offline-partition-commit, 30-tampered-abort-marker-removed",
        "every_open_transaction_is_known_to_its_coordinator",
    ),
    _of_recordings(
        "a_new_epoch_begins_behind_a_marker",
        "Data of a newer epoch begins its own transaction: what an older epoch left open has its marker before it.",
        "reference §3.3.2, §12.1 (e)",
        (Needs.PARTITION,),
        "09-offline-partition-commit, of which only e-0 is given",
        "every_open_transaction_is_known_to_its_coordinator",
    ),
    _of_recordings(
        "same_outcome_on_every_partition",
        "A transaction ends in the same way on each of its partitions: as the coordinator decided.",
        "reference §12.1 (c); KIP-98, atomicity",
        (Needs.PARTITION,),
        "two transactions, the marker of one partition turned",
        "a_transaction_is_all_or_nothing",
    ),
    _of_recordings(
        "committed_offsets_follow_their_transaction",
        "Offsets that a transaction commits count exactly when the transaction is committed.",
        "reference §4.3, §12.1 (j); KIP-98, KIP-447",
        (Needs.TRANSACTION_LOG, Needs.OFFSETS_LOG),
        "a transaction with offsets of a group, the marker of the offsets turned",
        "a_transaction_is_all_or_nothing",
    ),
    _of_recordings(
        "marker_only_where_the_transaction_was",
        "A marker is written only to partitions that its transaction lists.",
        "reference §2.12",
        (Needs.TRANSACTION_LOG, Needs.PARTITION),
        "33-tampered-marker-on-unlisted-partition",
    ),
    _of_recordings(
        "marker_follows_a_decision",
        "Each marker carries out a decision of the coordinator, under the epoch of that decision.",
        "reference §2.12, §12.1 (c)",
        (Needs.TRANSACTION_LOG, Needs.PARTITION),
        "two transactions, a marker that nobody decided or of another epoch",
        "a_transaction_has_one_decision",
    ),
    _of_recordings(
        "no_open_transaction_that_nobody_owns",
        "Transactional data belongs to a transaction that the coordinator knows; otherwise nobody ever ends it.",
        "reference §1 (hanging transaction), §3.4; KIP-890",
        (Needs.TRANSACTION_LOG, Needs.PARTITION),
        "10-hanging, 13-hanging-admin-abort",
        "every_open_transaction_is_known_to_its_coordinator",
    ),
    _of_recordings(
        "sequences_follow_each_other",
        "The sequences of a producer on a partition follow each other without a gap: no record is lost.",
        "reference §3.3.1, §12.1 (f); KIP-98",
        (Needs.PARTITION,),
        "32-tampered-sequence-gap",
        "sequences_follow_each_other",
    ),
    _of_recordings(
        "each_sequence_is_appended_once",
        "Each (producer id, epoch, sequence) is appended once to a partition: no record is doubled.",
        "reference §3.3 A1, §12.1 (f); KIP-98",
        (Needs.PARTITION,),
        "22-pid-expiration-duplicate",
        "every_batch_is_written_once",
    ),
    _of_recordings(
        "epochs_never_go_down",
        "The epoch of a producer id never goes down, neither on a partition nor in the coordinator's log.",
        "reference §3.3 A4, §3.5 M1 and M2, §12.1 (b) and (e)",
        (Needs.PARTITION,),
        "31-tampered-marker-epoch-lowered",
        "epochs_never_go_down",
    ),
    _of_recordings(
        "coordinator_epochs_never_go_down",
        "The coordinator epoch of the markers of a producer id never goes down on a partition.",
        "reference §3.5 M4",
        (Needs.PARTITION,),
        "two transactions, the first markers by a later coordinator",
        "epochs_never_go_down",
    ),
    _of_recordings(
        "no_plain_data_inside_a_transaction",
        "While a producer has a transaction open on a partition, all its data there is transactional.",
        "reference §3.3 A6",
        (Needs.PARTITION,),
        "two transactions, plain data of the same producer inside a third",
    ),
    _of_recordings(
        "states_follow_the_table",
        "The states of a transactional id, and those that a producer client reports, follow the tables of legal moves.",
        "reference §2.3, §5.1, §12.1 (a)",
        (Needs.TRANSACTION_LOG,),
        "34-tampered-ongoing-removed",
        "no_machine_leaves_its_table",
    ),
    _of_recordings(
        "records_are_what_decisions_write",
        "Producer id, epoch, partitions and time-out of each record of the coordinator are what a decision writes.",
        "reference §2.3 (table of prepare functions), §2.4",
        (Needs.TRANSACTION_LOG,),
        "two transactions, a PrepareCommit that lists a partition less",
        "no_durable_record_contradicts_memory",
    ),
    _of_recordings(
        "what_the_application_was_told_is_what_the_logs_say",
        "What an application was told to be committed is visible as a whole, what it was told to be aborted is not, "
        "and what was acknowledged is there.",
        "reference §2.10 (F5), §12.1 (i) and (l); KIP-98",
        (Needs.CLIENT, Needs.PARTITION),
        "12-delayed-abort",
        "an_acknowledged_commit_loses_nothing",
    ),
    _of_recordings(
        "all_or_nothing",
        "Of what an application wrote between begin and end, all becomes visible or nothing.",
        "KIP-98, atomicity",
        (Needs.CLIENT, Needs.PARTITION),
        "a transaction without an answer, one of its markers turned",
        "a_transaction_is_all_or_nothing",
    ),
    _of_recordings(
        "replicas_agree",
        "Copies of a partition hold the same batch wherever they hold one of the same offset and leader epoch.",
        "reference §3.7; Kafka's replication",
        (Needs.REPLICAS,),
        "two copies of a partition, a marker of one of them turned",
    ),
    _of_recordings(
        "the_aborted_index_is_what_the_log_says",
        "The index of aborted transactions has one entry for each that was aborted with data, and no other.",
        "reference §3.6, §12.1 (h)",
        (Needs.PARTITION, Needs.ABORTED_INDEX),
        "two transactions, an entry of the index lost or moved",
    ),
    _of_recordings(
        "the_coordinator_wrote_what_it_did",
        "Each transition that a coordinator reported as complete is in its log.",
        "reference §2.4, §2.6",
        (Needs.TRANSACTION_LOG, Needs.COORDINATOR_LINES),
        "two transactions, one line of the DEBUG log with another epoch",
    ),
)
"""Every promise, each judged somewhere and seen broken."""

IN_STATES: Mapping[str, Guarantee] = {each.name: each for each in CATALOGUE if each.predicate is not None}
"""By name, those that a state is judged by."""

IN_RECORDINGS: Mapping[str, Guarantee] = {each.name: each for each in CATALOGUE if Where.RECORDING in each.where}
"""By name, those that a recorded history is judged by, in the order in which findings are reported."""
