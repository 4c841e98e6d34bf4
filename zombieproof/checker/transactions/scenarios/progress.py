"""What has to happen some time, if all who can act do."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

_ALL = (
    "every_open_transaction_is_decided",
    "every_decided_transaction_completes",
    "the_last_stable_offset_advances",
    "a_producer_is_never_stuck",
)

MUTUAL_FENCING = transaction_scenario(
    "mutual_fencing",
    "Two instances of an application have the same transactional id and fence each other. The instance that "
    "initialises later fences the other, which stops, so one of them completes its transaction. If each restarts "
    "as soon as it is fenced, they may fence each other forever.",
    (((Op.SEND_0, Op.COMMIT),), ((Op.SEND_0, Op.COMMIT),)),
    sometimes=("a_zombie_is_fenced", "a_transaction_commits"),
    leads_to=(*_ALL, "somebody_gets_through"),
    distinct=328,
    restarts=0,
    mutants=(
        Mutant(
            "two_instances_fence_each_other_for_ever",
            breaks="somebody_gets_through",
            steps=36,
            bounds={"restarts": 1, "epoch_max": 3},
        ),
    ),
)

ALL_COMES_TO_AN_END = transaction_scenario(
    "all_comes_to_an_end",
    "After a bounded number of faults, everything that was started completes. A producer commits two transactions "
    "while partition leaders change, responses are lost and markers are duplicated. In the end every transaction "
    "is decided, complete and visible, and the producer is not stuck.",
    (((Op.SEND_0, Op.SEND_1, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),),
    always=(*ALWAYS, "an_unrivalled_producer_is_never_fenced"),
    sometimes=("two_transactions_commit",),
    leads_to=_ALL,
    leader_changes=1,
    leaderless=1,
    lost=1,
    doubled_markers=1,
    may_abort=1,
    distinct=13_623,
    mutants=(
        Mutant(
            "a_marker_is_refused_for_ever",
            breaks="every_decided_transaction_completes",
            steps=17,
            without=("marker_retry_relax",),
        ),
        Mutant(
            "a_producer_waits_for_ever", breaks="a_producer_is_never_stuck", steps=18, without=("epoch_aware_ongoing",)
        ),
        Mutant(
            "readers_wait_for_ever",
            breaks="the_last_stable_offset_advances",
            steps=22,
            without=("marker_waits_for_leader",),
        ),
        Mutant(
            "an_end_that_is_judged_by_another_version_ends_nothing",
            breaks="every_open_transaction_is_decided",
            steps=9,
            without=("end_by_request_version",),
            bounds={"late": 1},
        ),
        Mutant(
            "what_was_refused_is_pending_and_ends_nothing",
            breaks="every_open_transaction_is_decided",
            steps=9,
            without=("refused_append_clears_pending",),
            bounds={"unknown_appends": 1},
        ),
        Mutant(
            "a_late_copy_opens_a_transaction_that_nobody_ends",
            breaks="every_open_transaction_is_decided",
            steps=26,
            changes={"transaction_version": 1},
            bounds={"doubled": 1},
        ),
        Mutant(
            "an_abandoned_transaction_stays_open",
            breaks="every_open_transaction_is_decided",
            steps=19,
            bounds={"crashes": 1},
        ),
    ),
)
