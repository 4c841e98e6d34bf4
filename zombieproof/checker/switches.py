"""What each switch of `Rules` is good for in the scenarios: whose number of states it changes, or why nothing is seen.

A switch counts when turning it changes the pinned number of states of a registered scenario, and when a mutant that
turns it and no other switch breaks a promise. To *turn* a switch is to take it away where the rules of a scenario have
it, and to add it where they have not. `COUNTED` pins one scenario for each switch, a small one that changes; `WHY_NOT`
says of the others, and of those that break nothing, why that is so. ``turning`` explores both: a count is the pinned
one, and a switch without one changes nothing in any scenario up to `SMALL` states.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from zombieproof.checker.scenario import Mutant, Scenario
from zombieproof.model.rules import switches

SMALL: Final = 2_500
"""Distinct states up to which a scenario is explored to see that a switch changes nothing."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A scenario, and how many distinct states it has when one switch is turned."""

    scenario: str
    distinct: int


COUNTED: Final[Mapping[str, Counted]] = {
    "duplicate_check": Counted("late_produce", 597),
    "sequence_check": Counted("first_sequence", 627),
    "epoch_fencing": Counted("late_produce", 670),
    "markers_before_completion": Counted("forgotten_id", 49),
    "reload_drives_markers": Counted("rotation_failover", 1_863),
    "memory_follows_log": Counted("failed_fence", 11_220),
    "refused_append_clears_pending": Counted("failed_fence", 2_187),
    "completion_is_appended_again": Counted("failed_fence", 2_798),
    "leader_reads_log": Counted("first_sequence", 1_112),
    "answers_wait": Counted("cut_batches", 3_084),
    "watermark_bound": Counted("cut_transaction", 9_689),
    "stable_waits_for_marker": Counted("cut_transaction", 9_086),
    "cut_log_reloads": Counted("cut_batches", 1_092),
    "init_raises_epoch": Counted("late_produce", 409),
    "skipping_ends": Counted("skipping_reader", 140),
    "only_idle_ids_expire": Counted("forgotten_id", 60),
    "stable_bound": Counted("skipping_reader", 253),
    "kip360": Counted("forgotten_owner", 187),
    "kip447_fence": Counted("consume_transform_produce", 717_238),
    "kip447_stable": Counted("one_member", 14_282),
    "kip588": Counted("last_epoch", 60),
    "mapping_fatal": Counted("forgotten_id", 40),
    "commit_retries_by_class": Counted("one_member", 8_660),
    "timeout_bump": Counted("forgotten_owner", 393),
    "fence_bump": Counted("kip98_takeover", 3_075),
    "fence_failed_flag": Counted("failed_fence", 4_446),
    "strict_end": Counted("forgotten_owner", 324),
    "forgotten_partition_changes_identity": Counted("forgotten_partition", 1_767),
    "only_the_same_end_is_resumed": Counted("commit_asked_again", 8_128),
    "ended_call_keeps_result": Counted("commit_asked_again", 13_889),
    "verification": Counted("forgotten_owner", 150),
    "questions_follow": Counted("waiting_questions", 35_186),
    "verification_guard": Counted("late_produce", 509),
    "guard_lowest_seq": Counted("reader", 496_666),
    "pending_first": Counted("forgotten_owner", 283),
    "epoch_aware_ongoing": Counted("forgotten_id", 33),
    "stale_epoch_first": Counted("forgotten_owner", 223),
    "guard_keep_same_epoch": Counted("forgotten_id", 44),
    "tv2_first_seq_zero": Counted("first_sequence", 663),
    "single_fence_bump": Counted("last_epoch", 102),
    "fence_rotation": Counted("exhausted_fence", 129),
    "persist_prev_next": Counted("rotation_failover", 7_537),
    "marker_strict": Counted("given_up_record", 598),
    "marker_retry_relax": Counted("last_epoch", 126),
    "marker_coordinator_epoch": Counted("rotation_failover", 11_418),
    "marker_waits_for_leader": Counted("leaderless_partition", 2_711),
    "init_clears_start": Counted("version_1_every_fault", 73_479),
    "end_by_request_version": Counted("late_produce", 476),
    "completion_keeps_last_epoch": Counted("rotation_failover", 7_161),
    "last_epoch_recovery": Counted("last_epoch", 122),
    "pid_block_order": Counted("producer_id_blocks", 126_160),
    "commit_waits_for_replicas": Counted("offsets_under_way", 34_682),
    "failed_commit_leaves_nothing": Counted("offsets_under_way", 83_907),
    "generation_is_recorded_first": Counted("offsets_under_way", 110_329),
    "block_recorded_first": Counted("recorded_blocks", 89_323),
    "refused_commit_keeps_pending": Counted("late_offset_commit", 45_562),
    "unknown_producer_id": Counted("forgotten_by_2_4", 113),
    "unknown_after_marker": Counted("forgotten_by_2_4", 113),
    "kip939": Counted("delayed_commit", 898),
    "aborted_list": Counted("cleaned_log_of_version_0", 1_009),
    "aborted_list_last": Counted("fetches_in_steps", 1_714),
    "cleaner_stops_at_stable": Counted("cleaned_offsets", 3_666),
    "marker_outlives_data": Counted("cleaned_log", 83_092),
    "last_batch_outlives_records": Counted("cleaned_log_of_version_0", 1_312),
    "snapshot_keeps_open": Counted("shortened_log", 7_123),
    "late_commit_is_fenced": Counted("late_commit", 78),
    "persist_last_epoch": Counted("repeated_init", 7_469),
    "marker_keeps_newer_guard": Counted("repeated_marker", 374),
    "deletion_waits_for_offsets": Counted("deleted_group", 15_952),
    "commit_by_topic_id": Counted("recreated_input", 3_308),
    "retry_looks_topic_ids_up": Counted("recreated_input", 3_308),
    "producers_outlive_records": Counted("shortened_for_readers", 1_180),
}
"""Switch -> a small scenario whose number of states it changes, and that number."""

WHY_NOT: Final[Mapping[str, str]] = {
    "kip588": "the client aborts, or ends for good; both keep what is promised to a producer that was fenced",
    "refused_init_starts_over": "only missing rights refuse an InitProducerId so, and nobody in a scenario lacks any",
    "retries_by_class": "coordinators of scenarios answer with the retriable errors that clients always named",
    "commit_waits_for_load": "a coordinator of a scenario loads in one step, in which it answers nobody",
    "kip1050": "an application of a scenario is told that it failed, and not by which error",
    "fence_failed_flag": "without it a fence that fails uses epochs up, and another producer id follows sooner",
    "end_refuses_higher_epoch": "a coordinator that knows a lower epoch than the client is deposed, and cannot append",
    "abortable_code": "by either error a batch outside of its transaction leaves the client only an abort",
    "stale_epoch_first": "without it the leader asks the coordinator first, and the client aborts all the same",
    "marker_needs_data": "readers of scenarios learn from the log what is aborted, and not from an index",
    "abort_120_fatal": "no coordinator answers an abort with TRANSACTION_ABORTABLE",
    "upgrade_bump": "the transaction version of a cluster is constant during a run",
    "init_clears_start": "the start that stays in memory is replaced when the next transaction begins",
    "client_version_in_records": "clients join by a request of their own only at transaction version 0 or 1",
    "completion_keeps_last_epoch": "it answers an InitProducerId that is sent again; without it the client asks anew",
    "unload_by_epoch": "loads and resignations of scenarios are single steps: no step reads the switch",
    "absent_group_generation": "the group of a scenario is always there",
    "loaded_tombstone_ends_pending": "with deletion_waits_for_offsets nothing is pending when a group is deleted",
    "commit_by_topic_id": "by name a repeated request finds the topic that exists now, so nothing is lost without it",
    "given_back_id_rebalances": "members of groups are no part of scenarios: no step reads the switch",
    "offset_keeps_topic_id": "offsets of scenarios are of one topic: no step reads the switch",
    "txn_offset_keeps_topic_id": "offsets of scenarios are of one topic: no step reads the switch",
    "full_group_keeps_static_place": "members of groups are no part of scenarios: no step reads the switch",
    "emptied_group_assigns_at_once": "members of groups are no part of scenarios: no step reads the switch",
    "refused_append_is_for_all": "offsets of scenarios have no metadata that could be too long",
    "unknown_producer_id": "the client gets another identity or epoch by either error, and sends again",
    "unknown_after_marker": "the client gets another identity or epoch by either error, and sends again",
    "kip939": "no release has it whole; here it answers an end under way otherwise, which the client repeats",
}
"""Switch -> why no scenario has another number of states when it is turned, or why none then breaks a promise."""


def takes(mutant: Mutant, switch: str) -> bool:
    """Whether a mutant turns this switch, and no other."""
    names = {facts.name for facts in switches()}
    turned = {*mutant.without, *(name for name in mutant.changes if name in names)}
    return turned == {switch}


def mutants_of(switch: str, scenarios: Iterable[Scenario]) -> list[tuple[Scenario, Mutant]]:
    """The mutants that turn a switch and no other, the one with the shortest story first."""
    found = [(scenario, mutant) for scenario in scenarios for mutant in scenario.mutants if takes(mutant, switch)]
    return sorted(found, key=lambda pair: pair[1].steps)
