"""Consume, transform, produce: the input position is part of the transaction."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import GUARD_TAKEN, POSITIONS_BESIDE
from zombieproof.checker.transactions.vocabulary import Op

_LOOP = (Op.FETCH, Op.SEND_0, Op.OFFSETS, Op.COMMIT)

CONSUME_TRANSFORM_PRODUCE = transaction_scenario(
    "consume_transform_produce",
    "A group replaces a member that is still running. Two members, each with its own transactional id, read an "
    "input, write an output and commit the input offset in one transaction. The group considers the first member "
    "dead and assigns its input to the second; the first continues. Each input gets exactly one committed output.",
    ((_LOOP,), (_LOOP,)),
    distinct=658_413,
    always=(
        *ALWAYS,
        "each_input_has_one_committed_output",
        "no_input_is_passed_over",
        "offsets_in_memory_are_the_fold_of_their_log",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("offsets_are_committed", "offsets_are_pending_across_a_rebalance", "a_transaction_aborts"),
    ids=(0, 1),
    grouped=1,
    rebalances=1,
    lost=1,
    doubled_batches=1,
    mutants=(
        Mutant(
            "stale_members_may_commit_offsets",
            breaks="each_input_has_one_committed_output",
            steps=29,
            without=("kip447_fence",),
            bug="B07",
        ),
        Mutant(
            "pending_offsets_are_not_waited_for",
            breaks="each_input_has_one_committed_output",
            steps=29,
            without=("kip447_stable",),
            bug="B08",
        ),
    ),
)

PASSED_MEMBER = transaction_scenario(
    "passed_member",
    "A replaced group member must not reset the group's offset. The group considers the first of two members dead "
    "during its first transaction, and the second member reads and commits all three inputs. Requests of the first "
    "member are still in flight.",
    ((_LOOP,), (_LOOP, _LOOP, _LOOP)),
    distinct=80_032,
    always=(
        *ALWAYS,
        "a_committed_position_never_goes_back",
        "each_input_has_one_committed_output",
        "no_input_is_passed_over",
        "offsets_in_memory_are_the_fold_of_their_log",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("offsets_are_committed", "offsets_are_pending_across_a_rebalance", "two_transactions_commit"),
    ids=(0, 1),
    grouped=1,
    inputs=3,
    rebalances=1,
    mutants=(
        Mutant(
            "who_was_passed_takes_the_position_back",
            breaks="a_committed_position_never_goes_back",
            steps=42,
            without=("kip447_fence",),
            bug="B07",
        ),
    ),
)

KEPT_POSITION = transaction_scenario(
    "kept_position",
    "A group member fetches its offset once and then continues from memory, as a polling consumer does. There are "
    "three inputs. The group coordinator changes, and a response is lost. The next offset commit arrives while the "
    "markers of the previous transaction are in flight.",
    ((_LOOP, _LOOP, _LOOP),),
    distinct=6_347,
    always=(
        *ALWAYS,
        "a_committed_position_never_goes_back",
        "each_input_has_one_committed_output",
        "no_input_is_passed_over",
        "offsets_in_memory_are_the_fold_of_their_log",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("offsets_are_committed", "two_transactions_commit"),
    grouped=1,
    inputs=3,
    keeps_position=1,
    lost=1,
    leader_changes=1,
    mutants=(
        Mutant(
            "a_late_offset_commit_takes_the_guard_of_the_next",
            breaks="an_unrivalled_producer_is_never_fenced",
            steps=23,
            bounds={"doubled_batches": 1, "lost": 0, "leader_changes": 0},
            known=GUARD_TAKEN,
        ),
        Mutant(
            "an_application_without_an_answer_begins_its_work_again",
            breaks="each_input_has_one_committed_output",
            steps=30,
            bounds={"ends_given_up": 1, "leader_changes": 0},
        ),
    ),
)

PLAIN_COMMIT = transaction_scenario(
    "plain_commit",
    "A consumer commits offsets both in its transactions and by itself, because auto-commit was left on. The "
    "leader of the offsets partition changes. The group must know what its log says, whichever commit came last; "
    "but an input may be skipped.",
    ((_LOOP, _LOOP),),
    distinct=34_468,
    always=(*ALWAYS, "each_input_has_one_committed_output", "offsets_in_memory_are_the_fold_of_their_log"),
    sometimes=("offsets_are_committed", "a_position_is_committed_beside_one_that_waits"),
    grouped=1,
    plain_commits=1,
    may_abort=1,
    timeouts=1,
    leader_changes=1,
    lost=1,
    mutants=(
        Mutant(
            "a_position_beside_the_transaction_passes_over_its_input",
            breaks="no_input_is_passed_over",
            steps=4,
            known=POSITIONS_BESIDE,
        ),
        Mutant(
            "a_new_group_coordinator_forgets_the_position",
            breaks="offsets_in_memory_are_the_fold_of_their_log",
            steps=5,
            without=("leader_reads_log",),
        ),
    ),
)

LATE_OFFSET_COMMIT = transaction_scenario(
    "late_offset_commit",
    "A delayed offset commit is refused and must not drop pending offsets (the rules of Kafka 3.9, with one "
    "change). A group member reads an input, writes an output and commits its offset in one transaction. It gives "
    "up its record, aborts with a bumped epoch, and repeats the work; a copy of its first offset commit is still "
    "in flight and is refused. The pending offset of the second transaction must not be lost with it.",
    ((_LOOP, _LOOP, _LOOP),),
    distinct=42_678,
    always=(
        *ALWAYS,
        "each_input_has_one_committed_output",
        "no_input_is_passed_over",
        "offsets_in_memory_are_the_fold_of_their_log",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("offsets_are_committed", "a_transaction_aborts", "a_new_leader_knows_an_open_transaction"),
    rules="3.9",
    changes={"refused_commit_keeps_pending": 1},
    grouped=1,
    late=1,
    doubled_batches=1,
    leader_changes=1,
    mutants=(
        Mutant(
            "a_refused_commit_takes_along_what_waits",
            breaks="offsets_in_memory_are_the_fold_of_their_log",
            steps=26,
            without=("refused_commit_keeps_pending",),
        ),
        Mutant(
            "a_committed_position_is_forgotten",
            breaks="each_input_has_one_committed_output",
            steps=47,
            without=("refused_commit_keeps_pending",),
            bug="B74",
        ),
    ),
)
