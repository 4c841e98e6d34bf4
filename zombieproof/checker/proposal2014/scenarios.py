"""Scenarios of the 2014 proposal."""

from collections.abc import Mapping
from dataclasses import fields

from zombieproof.checker.proposal2014.model import PROPOSAL2014
from zombieproof.checker.proposal2014.promises import PROMISES
from zombieproof.checker.proposal2014.state import LATE, Budget, Setup
from zombieproof.checker.scenario import Mutant, Scenario, UnknownBound
from zombieproof.model.proposal2014.records import DATA
from zombieproof.model.proposal2014.rules import Rules, readings

READINGS = tuple(reading.name for reading in readings())
_FAULTS = tuple(each.name for each in fields(Budget))
_CHOICES = tuple(each.name for each in fields(Setup) if each.name not in ("rules", "budget"))
_LIMITS = {
    "instances": (1, 2),
    "own_ids": (0, 1),
    "grouped": (0, 1),
    "groups": (1, 2),
    "blocks": (1, 3),
    "partitions": (1, DATA),
    "records": (1, 2),
    "starts": (1, 3),
    "readers": (0, DATA),
    "read_committed": (0, 1),
    "late": (0, LATE),
}


def _setup(_: object, bounds: Mapping[str, int]) -> Setup:
    for name, (least, most) in _LIMITS.items():
        if not least <= bounds[name] <= most:
            raise UnknownBound(f"proposal2014: {name}={bounds[name]} is out of range; give {least} to {most}", name)
    return Setup(
        rules=Rules(**{name: bounds[name] for name in READINGS}),
        budget=Budget(**{name: bounds[name] for name in _FAULTS}),
        **{name: bounds[name] for name in _CHOICES},
    )


ALWAYS = tuple(
    promise.name
    for promise in PROMISES
    if promise.kind == "always" and promise.name not in ("somebody_is_left", "cleaning_keeps_what_is_delivered_last")
)
AT_REST = ("nothing_is_left_unfinished", "readers_are_caught_up")


def _scenario(  # a scenario is data: each of its fields has a name here
    name: str,
    story: str,
    sometimes: tuple[str, ...],
    *,
    distinct: int = 0,
    without: tuple[str, ...] = (),
    at_rest: tuple[str, ...] = (*AT_REST, "all_input_is_copied"),
    leads_to: tuple[str, ...] = (),
    mutants: tuple[Mutant, ...] = (),
    **bounds: int,
) -> Scenario:
    plain = Setup()
    own = {name: int(getattr(plain, name)) for name in _CHOICES}
    own |= {**dict.fromkeys(_FAULTS, 0), **dict.fromkeys(READINGS, 1), **bounds}
    return Scenario(
        name=name,
        story=story,
        always=tuple(promise for promise in ALWAYS if promise not in without),
        at_rest=at_rest,
        leads_to=leads_to,
        sometimes=sometimes,
        distinct=distinct,
        bounds=own,
        readings=READINGS,
        model=lambda _: PROPOSAL2014,
        setup=_setup,
        mutants=mutants,
        faults=_FAULTS,
    )


_COPIED = "everything_is_copied"
_IN_ORDER = "transactions_of_a_producer_are_delivered_in_their_order"
_ONCE = "each_block_is_committed_once"
_TOLD = "what_a_producer_hears_is_so"
_UNFINISHED = "nothing_is_left_unfinished"
_EVERYWHERE = "what_is_committed_is_committed_everywhere"
_WATERMARK = "the_high_watermark_is_not_past_what_is_unfinished"
_DONE = "all_input_is_copied"
_TO_AN_END = ("every_transaction_ends", "readers_catch_up", "all_input_is_copied_some_time")


_HOLDS = "buffering_starts_with_payload"
_WAITS = "begin_waits_for_the_last"
_REMEMBERS = "leaders_remember_finished"
_STORES = "starts_store_their_generation"
_DEDUPLICATED = "begin_is_deduplicated"
_FETCHES = "offsets_are_fetched_behind_begin"
_STOPS = "cleaning_stops_at_watermark"
_GENERATIONS = "no_older_generation_appends_behind_a_newer_one"

_BOTH = (
    "as documented; the text itself says so: two first starts find no generation, and both are closed; Kafka's "
    "coordinator assigns epochs, so that one of the two continues (KIP-98)"
)
_AGAIN = (
    "as documented; after a restart both find the same stored generation and take the same next one: they close each "
    "other each time that they start together, here twice"
)
_CONNECTIONS = (
    "as documented; no log records which process a coordinator or leader has admitted: if both are new, the second of "
    "two processes with one generation is mistaken for the first, and joins its transaction"
)
_BEHIND = (
    "as documented, and more; a reader that has read a message of a transaction, and reaches its control record after "
    "both were cleaned away, holds the message forever, and always restarts before it"
)
_BY_OFFSET = (
    "by design; the cleaner works by offsets, readers by commits: of two transactions that overlap, the cleaner may "
    "remove the one that is delivered last; in Kafka both work by offsets"
)


def _off(name: str, breaks: str, steps: int, *readings: str) -> Mutant:
    """A scenario with some readings the other way."""
    return Mutant(name, breaks, steps, bounds=dict.fromkeys(readings, 0))


COPY = _scenario(
    "proposal_copy",
    "One producer copies two blocks of input to two partitions, each block in a transaction with its input offsets. "
    "The application may abort one. Readers of both partitions buffer until the control record.",
    (_COPIED, "a_transaction_is_aborted", "a_block_is_copied_anew"),
    blocks=2,
    partitions=2,
    readers=2,
    aborts=1,
    distinct=34_582,
    mutants=(
        _off("deliver_before_the_control_record", "only_what_is_committed_is_delivered", 8, _HOLDS),
        _off("begin_while_the_last_is_carried_out", _IN_ORDER, 31, _WAITS),
        _off("abort_without_control_records", _UNFINISHED, 20, "aborts_have_control_records"),
        _off("final_record_before_acknowledgements", _EVERYWHERE, 13, "acknowledged_before_final"),
    ),
)

LOST = _scenario(
    "proposal_lost_answers",
    "A response or an acknowledgement is lost, and a request arrives after its sender has given up. One producer "
    "copies two blocks. Payload in doubt is aborted and sent again under another TxId; other requests are repeated.",
    (_COPIED, "a_transaction_is_aborted", "a_block_is_copied_anew", "a_control_record_is_doubled"),
    leads_to=_TO_AN_END,
    blocks=2,
    lost=1,
    late=1,
    distinct=128_393,
    mutants=(
        _off("send_again_what_is_in_doubt", "a_message_is_in_its_transaction_once", 8, "doubt_aborts"),
        _off("commit_before_payload_is_there", "a_committed_transaction_is_whole", 9, "commit_waits_for_payload"),
        _off("take_a_lost_answer_for_an_abort", _TOLD, 11, "commits_are_resent"),
        _off("refuse_an_end_that_comes_again", _TOLD, 12, "ends_are_idempotent"),
        _off("forget_what_is_finished", _TOLD, 14, "finished_are_remembered"),
        _off("deliver_at_a_second_control_record", "nothing_is_delivered_twice", 16, "second_controls_are_ignored"),
        _off("keep_pending_transactions_only", _DONE, 19, _REMEMBERS),
        _off("learn_of_a_transaction_from_its_payload", "readers_catch_up", 34, _REMEMBERS, "leaders_are_told"),
    ),
)

CRASH = _scenario(
    "proposal_crash_and_restart",
    "A producer crashes at any point and restarts with its next generation; its transaction may time out. Its open "
    "transaction is aborted, and its block is copied once.",
    (_COPIED, "a_transaction_is_aborted", "a_block_is_copied_anew", "a_control_record_has_no_message"),
    leads_to=_TO_AN_END,
    blocks=2,
    crashes=1,
    starts=2,
    timeouts=1,
    distinct=85_452,
    mutants=(
        _off("store_the_generation_with_the_next_commit", _DONE, 15, "starts_store_their_generation"),
        _off("commit_the_generation_with_the_state", "a_message_is_in_its_transaction_once", 14, _STORES),
    ),
)

FAILOVER = _scenario(
    "proposal_coordinator_failover",
    "The coordinator fails over once; its high watermark was stored earlier. A response is lost. The new coordinator "
    "completes prepared transactions, and transactions that had only begun continue there.",
    (_COPIED, "a_control_record_is_doubled", "a_new_coordinator_carries_on"),
    leads_to=_TO_AN_END,
    blocks=2,
    failovers=1,
    watermark_checkpoints=1,
    lost=1,
    distinct=93_077,
    mutants=(
        _off("wait_for_whom_nobody_asked", _UNFINISHED, 26, "prepared_are_redone"),
        _off("leave_an_abort_unrecorded", _WATERMARK, 11, "aborted_is_recorded"),
        _off("final_record_before_acknowledgements", _UNFINISHED, 17, "acknowledged_before_final"),
        _off("decide_in_memory", "a_transaction_has_one_end", 15, "prepares_are_recorded"),
        _off("begin_anew_without_time_outs", "every_transaction_ends", 9, _DEDUPLICATED, "time_outs_are_recorded"),
    ),
)

WATERMARK = _scenario(
    "proposal_failover_from_the_watermark",
    "The coordinator fails over, and the new one reads the journal from the stored high watermark, as the text says; "
    "it does not know transactions finished before that. A producer crashes, and may restart. No response is lost, so "
    "no request names an unknown TxId.",
    (_COPIED, "a_new_coordinator_carries_on", "a_transaction_is_aborted"),
    distinct=84_590,
    leads_to=_TO_AN_END,
    blocks=2,
    failovers=1,
    watermark_checkpoints=2,
    crashes=1,
    starts=2,
    finished_are_remembered=0,
    mutants=(_off("wait_for_whom_nobody_asked", "every_transaction_ends", 12, "prepared_are_redone"),),
)

TWO_GROUPS = _scenario(
    "proposal_two_groups",
    "Two producers copy the input of two consumer groups, whose offsets are in one partition. Each group continues "
    "after its own committed offset.",
    (_COPIED, "the_offsets_of_the_group_are_not_told"),
    distinct=633_108,
    blocks=2,
    readers=0,
    instances=2,
    own_ids=1,
    groups=2,
    mutants=(
        _off("one_last_commit_for_all_groups", _ONCE, 34, "last_commit_is_of_a_group"),
        _off("go_back_in_the_input", "the_group_goes_on_behind_what_is_committed", 25, "last_commit_is_of_a_group"),
    ),
)

ABANDONED = _scenario(
    "proposal_abandoned_transaction",
    "An abandoned transaction is ended by its timeout, even at a coordinator that did not begin it. A request arrives "
    "late, the coordinator fails over, and a transaction times out.",
    (_COPIED, "a_transaction_is_aborted", "a_begun_transaction_lingers"),
    blocks=1,
    failovers=1,
    late=1,
    timeouts=1,
    distinct=358_801,
    mutants=(_off("keep_time_outs_in_memory", _UNFINISHED, 20, "time_outs_are_recorded"),),
)

ZOMBIE = _scenario(
    "proposal_zombie",
    "A second process starts with the producerId of the first. If it finds the generation of the first, it fences it; "
    "if both find none, the coordinator closes both, and none is left.",
    (_COPIED, "an_instance_is_closed", "two_instances_have_one_generation", "the_offsets_of_the_group_are_not_told"),
    at_rest=AT_REST,
    blocks=2,
    instances=2,
    distinct=16_440,
    mutants=(
        Mutant("two_first_starts", "somebody_is_left", 12, known=_BOTH),
        Mutant("nobody_copies", _DONE, 16, known=_BOTH),
        Mutant(
            "start_again_at_the_same_time",
            "all_input_is_copied_some_time",
            24,
            bounds={"starts": 2, "blocks": 1, "readers": 0},
            known=_AGAIN,
        ),
        Mutant(
            "nobody_remembers_a_connection",
            "a_message_is_in_its_transaction_once",
            15,
            bounds={"failovers": 1, "leader_changes": 1},
            known=_CONNECTIONS,
        ),
        _off("fetch_offsets_before_begin", _ONCE, 22, "offsets_are_fetched_behind_begin"),
        _off("go_back_in_the_input", "the_group_goes_on_behind_what_is_committed", 33, _FETCHES),
        _off("admit_two_connections", _ONCE, 28, "one_connection"),
        _off("forget_generations", _GENERATIONS, 20, "generations_are_kept"),
        _off("fence_nobody", _GENERATIONS, 20, "coordinator_fences", "leaders_fence"),
        _off("fence_at_the_coordinator_only", _GENERATIONS, 14, "leaders_fence", _WAITS),
        _off("tell_offsets_while_they_are_pending", _ONCE, 20, "fetch_waits", _WAITS),
    ),
)

LEADER = _scenario(
    "proposal_leader_failover",
    "A partition has a new leader, which reads its log and gets the open transactions announced again. A request "
    "arrives late, and a transaction times out.",
    (_COPIED, "a_transaction_is_aborted"),
    leads_to=_TO_AN_END,
    blocks=1,
    leader_changes=1,
    late=1,
    timeouts=1,
    distinct=218_821,
    mutants=(_off("know_of_no_transaction", _UNFINISHED, 20, "new_leaders_read_their_logs"),),
)

ZOMBIE_AT_A_NEW_LEADER = _scenario(
    "proposal_zombie_at_a_new_leader",
    "A zombie's delayed payload arrives at a new leader. Records in the log have no generation, so the leader knows "
    "only what the coordinator announces.",
    ("an_instance_is_closed", "a_transaction_is_aborted"),
    at_rest=(_UNFINISHED,),
    blocks=1,
    readers=0,
    instances=2,
    leader_changes=1,
    late=1,
    distinct=415_958,
    mutants=(_off("fence_at_leaders_only", _GENERATIONS, 19, "coordinator_fences"),),
)

INTERLEAVED = _scenario(
    "proposal_interleaved",
    "Two producers, and one without transactions, write to one partition. A reader gets plain messages at their "
    "offsets, and each transaction as a whole at its control record.",
    (
        _COPIED,
        "a_later_commit_is_delivered_first",
        "a_message_overtakes_an_open_transaction",
        "plain_and_transactions_are_mixed",
    ),
    grouped=0,
    instances=2,
    own_ids=1,
    records=2,
    plain_messages=1,
    distinct=26_688,
    mutants=(
        _off("deliver_before_the_control_record", "a_transaction_is_delivered_in_one_piece", 11, _HOLDS),
        Mutant("take_everything", "only_what_is_committed_is_delivered", 7, bounds={"read_committed": 0}),
        _off("deliver_by_offset", "transactions_are_delivered_in_the_order_of_their_commits", 22, _HOLDS),
    ),
)

UNCOMMITTED = _scenario(
    "proposal_read_uncommitted",
    "Two producers write to one partition, and one may abort. A read_uncommitted reader gets each message at its "
    "offset, and no control records.",
    (_COPIED, "a_message_is_delivered_before_its_end", "a_transaction_is_aborted"),
    distinct=36_342,
    without=(
        "only_what_is_committed_is_delivered",
        "a_transaction_is_delivered_in_one_piece",
        "transactions_are_delivered_in_the_order_of_their_commits",
    ),
    grouped=0,
    instances=2,
    own_ids=1,
    aborts=1,
    read_committed=0,
    mutants=(_off("final_record_before_acknowledgements", _EVERYWHERE, 8, "acknowledged_before_final"),),
)

RESTART = _scenario(
    "proposal_reader_restart",
    "A reader stores a checkpoint at any point, crashes, and restarts from it: with three numbers, each message is "
    "delivered once. Producers are those of proposal_interleaved.",
    (_COPIED, "a_reader_restarts_within_a_delivery"),
    grouped=0,
    instances=2,
    own_ids=1,
    records=2,
    plain_messages=1,
    reader_checkpoints=1,
    reader_crashes=1,
    distinct=304_640,
    mutants=(
        _off("store_two_numbers_within_a_delivery", "nothing_is_delivered_twice", 18, "deliveries_are_counted"),
        _off("restart_where_it_was", "nothing_is_passed_over", 15, "restarts_at_first_pending"),
    ),
)

CLEANED = _scenario(
    "proposal_cleaned",
    "The log cleaner cleans a partition once, between two transactions or after them. All messages have one key: the "
    "last one stays, and the offsets of the group do not go back.",
    (_COPIED, "a_message_is_cleaned_away"),
    at_rest=(_UNFINISHED, _DONE),
    blocks=2,
    plain_messages=1,
    cleanings=1,
    distinct=1_353,
    mutants=(
        Mutant("a_reader_behind_the_cleaner", "readers_are_caught_up", 29, known=_BEHIND),
        _off("clean_control_records_away", _ONCE, 23, "controls_stay"),
    ),
)

CLEANED_INTERLEAVED = _scenario(
    "proposal_cleaned_interleaved",
    "Two producers write messages of one key to one partition, one aborts, and the log cleaner runs. It keeps the "
    "last message in the log, but readers deliver another one last.",
    (_COPIED, "a_message_is_cleaned_away", "a_transaction_is_aborted"),
    grouped=0,
    instances=2,
    own_ids=1,
    readers=0,
    plain_messages=1,
    aborts=1,
    cleanings=1,
    distinct=102_732,
    mutants=(
        Mutant("the_last_by_offset_stays", "cleaning_keeps_what_is_delivered_last", 11, known=_BY_OFFSET),
        Mutant(
            "the_last_by_offset_stays_past_the_watermark",
            "cleaning_keeps_what_is_delivered_last",
            11,
            bounds={"cleaning_stops_at_watermark": 0},
            known=_BY_OFFSET,
        ),
        _off("clean_for_what_is_aborted", "cleaning_keeps_the_newest_message", 11, "only_committed_supersede"),
        _off("clean_for_what_is_pending", "cleaning_keeps_the_newest_message", 8, "only_committed_supersede", _STOPS),
    ),
)
