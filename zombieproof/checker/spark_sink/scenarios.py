"""Scenarios of Spark's environment: exact sinks, plans and writes that they refuse, and sinks that only seem exact."""

from collections.abc import Mapping
from dataclasses import fields

from zombieproof.checker.scenario import Mutant, Scenario, UnknownBound
from zombieproof.checker.spark_sink.model import SPARK_SINK
from zombieproof.checker.spark_sink.state import PARTITIONS, RECORDS, Budget, Key, Modes, Reads, Setup, Sink

_EXACT = (
    "no_record_is_in_the_output_twice",
    "what_is_done_is_in_the_output",
    "what_the_group_has_passed_is_in_the_output",
    "no_machine_leaves_its_table",
)
_ATOMIC = (*_EXACT, "a_batch_is_all_or_nothing")
_FAULTS = tuple(each.name for each in fields(Budget))
_CHOICES = tuple(each.name for each in fields(Setup) if each.name != "budget")
_LIMITS = {
    "sink": max(Sink),
    "key": max(Key),
    "reads": max(Reads),
    "modes": max(Modes),
    "partitions": PARTITIONS,
    "records": RECORDS,
    "batch_records": RECORDS,
    "starting_offset": RECORDS - 1,
}
_AT_LEAST_ONE = ("sink", "partitions", "records", "batch_records")


def _setup(_: object, bounds: Mapping[str, int]) -> Setup:
    for name in _CHOICES:
        most = int(_LIMITS.get(name, 1))
        least = 1 if name in _AT_LEAST_ONE else 0
        if not least <= bounds[name] <= most:
            raise UnknownBound(f"spark: {name}={bounds[name]} is out of range; give {least} to {most}", name)
    sink, reads = bounds["sink"], bounds["reads"]
    if reads == Reads.KINDS and (sink, bounds["partitions"]) != (Sink.BATCH, 1):
        raise UnknownBound(
            f"spark: reads={reads} are two queries of one partition; give sink=1 and partitions=1", "reads"
        )
    if reads not in (Reads.PARTITIONS, Reads.KINDS) and (sink > Sink.PARTITION or bounds["partitions"] != PARTITIONS):
        raise UnknownBound(f"spark: reads={reads} are two reads; give sink=1 or sink=2, and partitions=2", "reads")
    if reads >= Reads.WRITES and bounds["key"] > Key.POSITIONS:
        raise UnknownBound(f"spark: reads={reads} are two writes that share positions; give key=1", "reads")
    if reads == Reads.WRITES and sink != Sink.BATCH:
        raise UnknownBound(f"spark: reads={reads} are two writes by a driver; give sink=1", "reads")
    if bounds["modes"] != Modes.ONE:
        _check_modes(bounds)
    budget = Budget(**{name: bounds[name] for name in _FAULTS})
    return Setup(**{name: bounds[name] for name in _CHOICES}, budget=budget)


def _check_modes(bounds: Mapping[str, int]) -> None:
    asked = bounds["sink"], bounds["key"], bounds["reads"], bounds["partitions"], bounds["fences_first"]
    if asked not in ((Sink.BATCH, Key.POSITIONS, 0, 1, 1), (Sink.PARTITION, Key.POSITIONS, 0, 1, 1)):
        raise UnknownBound(
            f"spark: modes={bounds['modes']} are modes batch and partition of a query that reads one partition; give "
            "sink=1 or sink=2, key=1, reads=0, partitions=1 and fences_first=1",
            "modes",
        )


def _bounds(sink: Sink, key: Key, **changed: int) -> dict[str, int]:
    plain = Setup(sink=int(sink), key=int(key))
    return {
        **{name: int(getattr(plain, name)) for name in _CHOICES},
        **dict.fromkeys(_FAULTS, 0),
        **changed,
    }


def _scenario(
    name: str,
    story: str,
    bounds: Mapping[str, int],
    sometimes: tuple[str, ...],
    *,
    distinct: int,
    always: tuple[str, ...] = _EXACT,
    mutants: tuple[Mutant, ...],
) -> Scenario:
    return Scenario(
        name=name,
        story=story,
        always=always,
        at_rest=("every_record_is_in_the_output_once",),
        sometimes=sometimes,
        distinct=distinct,
        bounds=bounds,
        model=lambda _: SPARK_SINK,
        setup=_setup,
        mutants=mutants,
        faults=_FAULTS,
    )


_DELIVERED = "every_record_is_delivered"
_FOUND = "a_delivery_finds_its_rows_delivered"
_FENCED = "a_zombie_is_fenced"

_TWICE = "no_record_is_in_the_output_twice"
_LOST = "what_is_done_is_in_the_output"


def _left_out(late: int, doubled: int) -> tuple[Mutant, ...]:
    """An exact sink without one of the three things that make it so, and the lengths of two shortest ways."""
    return (
        Mutant("look_up_before_fencing", _TWICE, late, bounds={"fences_first": 0}),
        Mutant("deliver_without_a_key", _TWICE, doubled, bounds={"key": int(Key.NOTHING)}),
        Mutant(
            "commit_positions_outside_the_transaction",
            "what_the_group_has_passed_is_in_the_output",
            7,
            bounds={"offsets_inside": 0},
        ),
    )


SPARK_BATCH_SINK = _scenario(
    "spark_batch_sink",
    "A query copies two partitions in batches; the driver commits each batch in one transaction, together with the "
    "positions of the source. Drivers crash, a second one starts on the same checkpoint, answers are lost, the sink's "
    "commit raises although it took effect, a transaction times out, and the checkpoint is lost.",
    _bounds(Sink.BATCH, Key.POSITIONS, crashes=2, second_drivers=1, lost=1, raised=1, timeouts=1, lost_checkpoints=1),
    (
        _DELIVERED,
        _FOUND,
        _FENCED,
        "an_abort_finds_its_rows_delivered",
        "a_new_query_goes_on_where_the_lost_one_was",
    ),
    always=_ATOMIC,
    distinct=136_090,
    mutants=(
        *_left_out(late=15, doubled=15),
        Mutant(
            "know_batches_by_number",
            _LOST,
            17,
            bounds={"key": int(Key.BATCH), "begins_at_group": 0},
        ),
        Mutant(
            "positions_run_ahead_of_the_output",
            "every_record_is_in_the_output_once",
            11,
            bounds={"offsets_inside": 0},
        ),
        Mutant("begin_anew_without_a_checkpoint", "a_batch_is_all_or_nothing", 12, bounds={"begins_at_group": 0}),
    ),
)


SPARK_PARTITION_SINK = _scenario(
    "spark_partition_sink",
    "Each task copies one partition of the source and commits its rows and position under the id of that partition. "
    "The driver crashes while attempts of its tasks go on, answers and messages are lost, and so is the checkpoint: "
    "the new query begins where the partitions are.",
    _bounds(Sink.PARTITION, Key.POSITIONS, batch_records=1, crashes=1, orphans=1, lost=1, lost_checkpoints=1),
    (_DELIVERED, _FOUND, _FENCED, "a_new_query_goes_on_where_the_lost_one_was"),
    distinct=2_194_046,
    mutants=(
        Mutant(
            "shuffle_before_the_sink",
            "what_the_group_has_passed_is_in_the_output",
            8,
            bounds={"shuffled": 1, "checks_plan": 0},
        ),
        *_left_out(late=16, doubled=15),
    ),
)

SPARK_TASK_ATTEMPTS = _scenario(
    "spark_task_attempts",
    "The attempts of one partition's task, in two batches: they fail anywhere, run twice at a time, outlive their "
    "driver, lose their message to it, and their transactions time out. Tasks of other partitions share nothing with "
    "them but the driver.",
    _bounds(
        Sink.PARTITION,
        Key.POSITIONS,
        partitions=1,
        batch_records=1,
        crashes=1,
        orphans=1,
        extra_attempts=1,
        failed_attempts=1,
        lost=1,
        timeouts=1,
        lost_checkpoints=1,
    ),
    (_DELIVERED, _FOUND, _FENCED),
    distinct=417_109,
    mutants=_left_out(late=14, doubled=14),
)

SPARK_TWO_DRIVERS = _scenario(
    "spark_two_drivers",
    "Two drivers run the same query on one checkpoint, which Spark notices only behind the sink. Each starts an "
    "attempt of the partition's task; one of them crashes and leaves its attempt, answers are lost, and a transaction "
    "times out.",
    _bounds(
        Sink.PARTITION,
        Key.POSITIONS,
        partitions=1,
        batch_records=1,
        crashes=1,
        orphans=1,
        second_drivers=1,
        lost=1,
        timeouts=1,
    ),
    (_DELIVERED, _FOUND, _FENCED),
    distinct=194_276,
    mutants=_left_out(late=15, doubled=15),
)

SPARK_IDENTITY_SINK = _scenario(
    "spark_identity_sink",
    "The rows of a batch carry no positions of the source (an aggregation, a join), so the driver commits the query "
    "and the number of the batch with them. Drivers crash, a second one starts, answers are lost, the sink's commit "
    "raises; when the checkpoint is lost the batches of the new query cannot be compared, and the sink refuses them.",
    _bounds(
        Sink.BATCH,
        Key.QUERY_AND_BATCH,
        begins_at_group=0,
        crashes=2,
        second_drivers=1,
        lost=1,
        raised=1,
        timeouts=1,
        lost_checkpoints=1,
    ),
    (_DELIVERED, _FOUND, _FENCED, "an_abort_finds_its_rows_delivered", "a_delivery_is_refused"),
    always=(_TWICE, _LOST, "no_machine_leaves_its_table"),
    distinct=130_826,
    mutants=(
        Mutant("know_batches_by_number", _LOST, 17, bounds={"key": int(Key.BATCH)}),
        Mutant("look_up_before_fencing", _TWICE, 15, bounds={"fences_first": 0}),
    ),
)

SPARK_NAIVE_SINK = _scenario(
    "spark_naive_sink",
    "Each attempt of a task commits a transaction of its own, as sinks do that only know that Spark calls `write`. It "
    "is exact as long as nothing goes wrong; each of its mutants is one fault.",
    _bounds(Sink.NAIVE, Key.NOTHING, batch_records=1),
    (_DELIVERED,),
    distinct=230,
    mutants=(
        Mutant("the_driver_crashes", _TWICE, 16, bounds={"crashes": 1}),
        Mutant("an_attempt_runs_twice", _TWICE, 14, bounds={"extra_attempts": 1}),
        Mutant("an_attempt_fails_behind_its_commit", _TWICE, 15, bounds={"failed_attempts": 1}),
        Mutant("an_attempts_message_is_lost", _TWICE, 15, bounds={"lost": 1}),
    ),
)

SPARK_TWO_PHASE_SINK = _scenario(
    "spark_two_phase_sink",
    "Tasks leave their transactions open, the driver records its decision and ends one after the other. It survives "
    "crashes of the driver, because a batch that is decided is not written again. What it does not survive are its "
    "mutants: transactions that do not wait for the driver, attempts that come late, an abort that trusts Spark.",
    _bounds(Sink.TWO_PHASE, Key.NOTHING, decides=1, crashes=2),
    (_DELIVERED, "a_decided_batch_is_finished_by_the_next_driver"),
    distinct=1_314,
    mutants=(
        Mutant("end_without_a_decision", _TWICE, 32, bounds={"decides": 0}),
        Mutant("a_prepared_transaction_times_out", _LOST, 21, bounds={"timeouts": 1}),
        Mutant("trust_the_abort", _LOST, 27, bounds={"trusts_abort": 1, "raised": 1}),
        Mutant("an_attempt_takes_the_id_again", _LOST, 22, bounds={"extra_attempts": 1}),
        Mutant("the_checkpoint_is_lost", _LOST, 25, bounds={"lost_checkpoints": 1}),
    ),
)

_REFUSED_AT_START = "a_query_is_refused_at_the_start"

SPARK_REFUSED_PLANS = _scenario(
    "spark_refused_plans",
    "A query is started in mode partition, and its plan is a union of two branches of one load(). The sink refuses to "
    "start it. Each mutant starts a plan that loses rows without an error, because rows of different tasks, reads or "
    "batches share one position of the source.",
    _bounds(Sink.PARTITION, Key.POSITIONS, reads=int(Reads.BRANCHES), records=3),
    (_REFUSED_AT_START,),
    distinct=2,
    mutants=(
        Mutant("branches_in_mode_partition", _LOST, 15, bounds={"checks_plan": 0}),
        Mutant(
            "loads_of_one_topic",
            _LOST,
            16,
            bounds={"checks_plan": 0, "sink": int(Sink.BATCH), "reads": int(Reads.LOADS)},
        ),
        Mutant(
            "rows_of_an_earlier_batch",
            _LOST,
            19,
            bounds={"checks_plan": 0, "sink": int(Sink.BATCH), "reads": int(Reads.PARTITIONS), "holds_back": 1},
        ),
    ),
)

SPARK_BRANCHES = _scenario(
    "spark_branches",
    "The same union of two branches in mode batch: the driver commits both in one transaction, so both can share one "
    "position. Drivers crash, a second one starts, answers are lost, and the checkpoint is lost, or is replaced by an "
    "older copy whose batches are then larger: rows below the position are left out.",
    _bounds(
        Sink.BATCH,
        Key.POSITIONS,
        reads=int(Reads.BRANCHES),
        crashes=1,
        second_drivers=1,
        lost=1,
        lost_checkpoints=1,
        old_checkpoints=1,
    ),
    (_DELIVERED, _FOUND, _FENCED, "a_batch_is_written_that_an_older_checkpoint_repeats"),
    distinct=126_140,
    mutants=_left_out(late=15, doubled=15),
)

SPARK_ANY_PLAN = _scenario(
    "spark_any_plan",
    "The plan is a union of two loads of one topic, each at its own speed, and keeps rows for later batches. The "
    "driver commits the query, and number and rows of the batch. Drivers crash, a second one starts, answers are lost, "
    "and an older copy replaces the checkpoint: the newest batch is recognised, and other batches that were written "
    "before are refused.",
    _bounds(
        Sink.BATCH,
        Key.QUERY_AND_BATCH,
        begins_at_group=0,
        reads=int(Reads.LOADS),
        holds_back=1,
        records=3,
        batch_records=3,
        crashes=1,
        second_drivers=1,
        lost=1,
        old_checkpoints=1,
    ),
    (
        _DELIVERED,
        _FOUND,
        _FENCED,
        "a_delivery_is_refused",
        "a_batch_is_written_that_an_older_checkpoint_repeats",
    ),
    always=(_TWICE, _LOST, "no_machine_leaves_its_table"),
    distinct=205_701,
    mutants=(
        Mutant("know_batches_by_number", _LOST, 18, bounds={"compares_rows": 0}),
        Mutant("take_a_smaller_number_for_written", _LOST, 27, bounds={"compares_numbers": 0}),
        Mutant("look_up_before_fencing", _TWICE, 15, bounds={"fences_first": 0}),
    ),
)

SPARK_OLDER_CHECKPOINT = _scenario(
    "spark_older_checkpoint",
    "A plan keeps a row for later, so that a batch may have no rows, and the driver commits query and number of every "
    "batch, also of one without rows. Drivers crash, a second one starts, answers are lost, and an older copy replaces "
    "the checkpoint: no number is passed over, so that batches of another size than before are refused.",
    _bounds(
        Sink.BATCH,
        Key.QUERY_AND_BATCH,
        begins_at_group=0,
        holds_back=1,
        partitions=1,
        records=3,
        batch_records=3,
        crashes=1,
        second_drivers=1,
        lost=1,
        old_checkpoints=1,
    ),
    (
        _DELIVERED,
        _FOUND,
        _FENCED,
        "a_delivery_is_refused",
        "a_batch_is_written_that_an_older_checkpoint_repeats",
    ),
    always=(_TWICE, _LOST, "no_machine_leaves_its_table"),
    distinct=182_341,
    mutants=(Mutant("leave_out_batches_without_rows", _TWICE, 22, bounds={"delivers_empty": 0}),),
)

SPARK_TWO_QUERIES = _scenario(
    "spark_two_queries",
    "Two queries in one group read the same partition and write to different outputs. The group belongs to the first "
    "one that commits. The other one is refused, at its start or by its first delivery. Drivers crash, answers and the "
    "checkpoint of the first query are lost, and a transaction times out.",
    _bounds(Sink.BATCH, Key.POSITIONS, reads=int(Reads.QUERIES), crashes=1, lost=1, timeouts=1, lost_checkpoints=1),
    (_DELIVERED, _FOUND, _FENCED, "a_delivery_is_refused", _REFUSED_AT_START),
    distinct=101_864,
    mutants=(
        Mutant("take_any_position_for_its_own", _LOST, 15, bounds={"compares_writes": 0}),
        Mutant("begin_after_any_position", _LOST, 10, bounds={"checks_group": 0}),
    ),
)

SPARK_TWO_WRITES = _scenario(
    "spark_two_writes",
    "A function of foreachBatch writes each batch to two outputs under one group. The second write finds the position "
    "of the first, and is refused. Drivers crash, a second one starts, answers are lost, and a transaction times out.",
    _bounds(Sink.BATCH, Key.POSITIONS, reads=int(Reads.WRITES), crashes=2, second_drivers=1, lost=1, timeouts=1),
    (_FOUND, _FENCED, "a_delivery_is_refused"),
    distinct=12_094,
    mutants=(Mutant("take_any_position_for_its_own", _LOST, 13, bounds={"compares_writes": 0}),),
)

SPARK_EXPIRED_POSITIONS = _scenario(
    "spark_expired_positions",
    "The group loses its positions: they expire, or the group is deleted. Every position is also in the progress "
    "topic, which is compacted and keeps it. Drivers crash, a second one starts, and answers and the checkpoint are "
    "lost.",
    _bounds(
        Sink.BATCH,
        Key.POSITIONS,
        crashes=1,
        second_drivers=1,
        lost=1,
        lost_checkpoints=1,
        expiries=1,
    ),
    (
        _DELIVERED,
        _FOUND,
        _FENCED,
        "a_batch_is_found_by_the_progress_topic",
        "a_new_query_goes_on_where_the_lost_one_was",
    ),
    distinct=34_449,
    mutants=(
        Mutant("know_positions_by_the_group_alone", _TWICE, 16, bounds={"keeps_progress": 0}),
        Mutant("look_up_before_fencing", _TWICE, 15, bounds={"fences_first": 0}),
    ),
)

SPARK_RECREATED_TOPIC = _scenario(
    "spark_recreated_topic",
    "The topic of the source is deleted and created again, with new records at the old offsets. The query is refused: "
    "offsets in the checkpoint and positions of the group carry the id of the topic before. Drivers crash, and answers "
    "and the checkpoint are lost.",
    _bounds(
        Sink.BATCH,
        Key.POSITIONS,
        crashes=1,
        second_drivers=1,
        lost=1,
        lost_checkpoints=1,
        recreated_topics=1,
    ),
    (_DELIVERED, _FOUND, _FENCED, _REFUSED_AT_START),
    distinct=35_585,
    mutants=(Mutant("know_topics_by_name", _LOST, 12, bounds={"compares_topics": 0}),),
)

SPARK_TWO_MODES = _scenario(
    "spark_two_modes",
    "Two drivers run one query on one checkpoint: the first delivers in mode batch, the second in mode partition, "
    "under different transactional ids. Each claims the group before it delivers, under the id of the claim before, "
    "and mode batch fences the tasks of mode partition. Drivers crash, attempts outlive them, answers are lost, a "
    "transaction times out, and the positions of the group expire.",
    _bounds(
        Sink.BATCH,
        Key.POSITIONS,
        modes=int(Modes.TWO_WITH_OWN_IDS),
        partitions=1,
        batch_records=1,
        crashes=1,
        orphans=1,
        second_drivers=1,
        lost=1,
        timeouts=1,
        expiries=1,
    ),
    (_DELIVERED, _FOUND, _FENCED, "a_mode_takes_over_from_the_other"),
    distinct=464_294,
    mutants=(
        Mutant("deliver_without_a_claim", _TWICE, 15, bounds={"claims": 0}),
        Mutant("claim_under_its_own_id", _TWICE, 25, bounds={"claims_under_holder": 0}),
        Mutant("claim_first_under_its_own_id", _TWICE, 25, bounds={"shares_first_claim": 0}),
        Mutant("leave_tasks_of_the_other_mode", _TWICE, 25, bounds={"fences_tasks": 0}),
    ),
)

SPARK_BATCH_QUERY = _scenario(
    "spark_batch_query",
    "A stream and a batch query copy one partition to the same output under one group. The stream begins at the "
    "second record, and the batch query reads some of the last records. Neither knows which rows below the position of "
    "the other are written, so the second one is refused. Drivers crash, answers and the checkpoint of the stream are "
    "lost, and a transaction times out.",
    _bounds(
        Sink.BATCH,
        Key.POSITIONS,
        reads=int(Reads.KINDS),
        partitions=1,
        records=3,
        batch_records=3,
        starting_offset=1,
        crashes=1,
        lost=1,
        timeouts=1,
        lost_checkpoints=1,
    ),
    (_DELIVERED, _FOUND, _FENCED, "a_delivery_is_refused", _REFUSED_AT_START),
    distinct=128_268,
    mutants=(
        Mutant("continue_after_a_batch_query", _LOST, 15, bounds={"stream_compares_kinds": 0}),
        Mutant("leave_out_rows_below_a_stream", _LOST, 15, bounds={"batch_query_compares_kinds": 0}),
    ),
)

SPARK_STARTS_AT_LATEST = _scenario(
    "spark_starts_at_latest",
    "A query in mode partition has startingOffsets latest. When its checkpoint is lost, one partition may have no "
    "position yet: there the new query would begin after records that no task has written, so it is refused. The "
    "driver crashes, and attempts of its tasks go on.",
    _bounds(
        Sink.PARTITION, Key.POSITIONS, starts_at_latest=1, batch_records=1, crashes=1, orphans=1, lost_checkpoints=1
    ),
    (_DELIVERED, _FOUND, _FENCED, "a_new_query_goes_on_where_the_lost_one_was", _REFUSED_AT_START),
    distinct=237_977,
    mutants=(
        Mutant("begin_at_latest_without_a_position", _LOST, 12, bounds={"checks_start": 0}),
        Mutant(
            "begin_at_latest_whatever_the_position",
            "every_record_is_in_the_output_once",
            11,
            bounds={"checks_start": 0, "begins_at_group": 0},
        ),
    ),
)
