"""Transaction versions 0 and 1, which clusters run until somebody raises them, under every kind of fault.

Both end a transaction by the epoch that it was opened under; they differ in what a record of the coordinator holds. A
copy of an EndTxn that comes late is what version 2 repairs (``two_transactions``), so none is sent twice here.
"""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

_TV0 = {"transaction_version": 0}
_TV1 = {"transaction_version": 1}
_ONE = (Op.SEND_0, Op.COMMIT)
_BOTH = (Op.SEND_0, Op.SEND_1, Op.COMMIT)
_OF_IDENTITIES = (*ALWAYS, "no_two_live_producers_share_an_identity")
_OF_COORDINATORS = (
    *ALWAYS,
    "a_decided_transaction_is_driven_to_its_end",
    "what_is_pending_is_under_way",
    "an_unrivalled_producer_is_never_fenced",
)

VERSION_0_CRASH = transaction_scenario(
    "version_0_crash",
    "A producer crashes twice at any moment (transaction version 0). It restarts with the same transactional id, "
    "and the new instance aborts what was left open. A record that it gave up is still in flight.",
    ((_BOTH, _ONE, _ONE),),
    distinct=94_574,
    always=_OF_IDENTITIES,
    sometimes=("two_transactions_commit", "a_transaction_aborts", "a_fence_aborts_what_a_crash_left_open"),
    changes=_TV0,
    crashes=2,
    late=1,
    mutants=(
        Mutant(
            "a_restart_fences_nothing",
            breaks="an_acknowledged_commit_loses_nothing",
            steps=18,
            without=("fence_bump",),
        ),
        Mutant(
            "the_client_keeps_its_epoch",
            breaks="only_what_was_asked_to_commit_is_committed",
            steps=17,
            without=("kip360",),
        ),
    ),
)

VERSION_1_TAKEOVER = transaction_scenario(
    "version_1_takeover",
    "A second producer initialises the transactional id of a running one (transaction version 1). Producer A is in "
    "a transaction and continues. Either of them crashes, and responses are lost.",
    ((_BOTH,), (_ONE,)),
    distinct=38_394,
    always=_OF_IDENTITIES,
    sometimes=("a_zombie_is_fenced", "two_transactions_commit", "a_commit_comes_too_late"),
    changes=_TV1,
    lost=1,
    crashes=1,
    mutants=(
        Mutant(
            "an_end_of_a_zombie_counts", breaks="only_its_owner_ends_a_transaction", steps=13, without=("strict_end",)
        ),
        Mutant(
            "a_zombie_splits_its_transaction",
            breaks="a_transaction_is_all_or_nothing",
            steps=18,
            without=("fence_bump",),
        ),
    ),
)

_SEEN_BY_COORDINATORS = (
    "two_transactions_commit",
    "a_prepared_transaction_is_taken_over",
    "a_stale_coordinator_still_answers",
)
_STORY_OF_FAILOVER = (
    "The coordinator crashes, or is replaced and answers from memory (transaction version {}). An append is durable "
    "although it was reported as failed. The new coordinator reads the log, in which a record of this version has {}."
)

VERSION_0_FAILOVER = transaction_scenario(
    "version_0_failover",
    _STORY_OF_FAILOVER.format(0, "one producer id"),
    ((_BOTH, (Op.SEND_1, Op.COMMIT)),),
    distinct=75_976,
    always=_OF_COORDINATORS,
    sometimes=_SEEN_BY_COORDINATORS,
    changes=_TV0,
    failovers=1,
    deposed=1,
    unknown_appends=1,
    lost=1,
    mutants=(
        Mutant(
            "a_repeated_batch_makes_the_client_start_over",
            breaks="an_unrivalled_producer_is_never_fenced",
            steps=15,
            without=("duplicate_check",),
        ),
        Mutant(
            "a_loaded_decision_stays_half_done",
            breaks="a_decided_transaction_is_complete",
            steps=25,
            without=("reload_drives_markers",),
        ),
    ),
)

VERSION_1_FAILOVER = transaction_scenario(
    "version_1_failover",
    _STORY_OF_FAILOVER.format(1, "the previous, the current and the next producer id"),
    ((_BOTH, (Op.SEND_1, Op.COMMIT)),),
    distinct=73_149,
    always=_OF_COORDINATORS,
    sometimes=_SEEN_BY_COORDINATORS,
    changes=_TV1,
    failovers=1,
    deposed=1,
    unknown_appends=1,
    lost=1,
    mutants=(
        Mutant(
            "a_late_marker_of_a_deposed_coordinator_commits_the_next_transaction",
            breaks="only_what_was_asked_to_commit_is_committed",
            steps=24,
            without=("marker_coordinator_epoch",),
        ),
    ),
)

VERSION_0_EXPIRATION = transaction_scenario(
    "version_0_expiration",
    "An idle transactional id expires (transaction version 0). Its producer returns, or another one initialises "
    "the id. Up to 3.9, a client whose producer id is unknown aborts and gets a new one, and its application gets "
    "the error, even for a committed transaction.",
    ((_ONE, _ONE), (_ONE,)),
    distinct=10_280,
    always=_OF_IDENTITIES,
    sometimes=("an_id_is_forgotten", "a_zombie_is_fenced", "two_transactions_commit"),
    changes=_TV0,
    expirations=1,
    lost=1,
    mutants=(
        Mutant(
            "what_is_committed_is_told_as_aborted",
            breaks="a_transaction_has_one_decision",
            steps=15,
            without=("mapping_fatal",),
        ),
        Mutant(
            "who_takes_the_id_has_the_same_epoch",
            breaks="no_two_live_producers_share_an_identity",
            steps=4,
            without=("init_raises_epoch",),
        ),
    ),
)

VERSION_1_TIMEOUT = transaction_scenario(
    "version_1_timeout",
    "The coordinator times out two transactions of a producer that does not notice (transaction version 1). A "
    "record that the producer gave up is in flight.",
    ((_BOTH, _ONE),),
    distinct=5_825,
    sometimes=("two_transactions_commit", "a_commit_comes_too_late", "a_producer_is_fenced"),
    changes=_TV1,
    timeouts=2,
    late=1,
    lost=1,
    mutants=(
        Mutant(
            "a_time_out_fences_nobody", breaks="a_transaction_has_one_decision", steps=16, without=("timeout_bump",)
        ),
        Mutant("nobody_is_asked", breaks="what_is_open_can_time_out", steps=19, without=("verification",)),
    ),
)

VERSION_0_LEADER_FAILOVER = transaction_scenario(
    "version_0_leader_failover",
    "The leaders of both partitions change, even during a verification (transaction version 0). A record that the "
    "producer gave up arrives at the new leader.",
    ((_BOTH, (Op.SEND_1, Op.COMMIT)),),
    distinct=5_280,
    always=(*ALWAYS, "an_unrivalled_producer_is_never_fenced"),
    sometimes=("two_transactions_commit", "a_transaction_aborts", "a_guard_is_out_while_a_marker_arrives"),
    changes=_TV0,
    leader_changes=2,
    late=1,
    lost=1,
    mutants=(
        Mutant(
            "the_new_leader_trusts_an_answer_of_before",
            breaks="what_is_open_can_time_out",
            steps=20,
            without=("verification_guard",),
        ),
        Mutant(
            "the_new_leader_remembers_no_sequence",
            breaks="sequences_follow_each_other",
            steps=11,
            without=("leader_reads_log",),
        ),
    ),
)

VERSION_1_EVERY_FAULT = transaction_scenario(
    "version_1_every_fault",
    "One fault of each kind (transaction version 1): the producer crashes, its transaction times out, the "
    "coordinator fails over, the id expires, a response is lost.",
    ((_ONE, _ONE),),
    distinct=73_374,
    always=_OF_IDENTITIES,
    sometimes=("two_transactions_commit", "a_prepared_transaction_is_taken_over", "an_id_is_forgotten"),
    changes=_TV1,
    crashes=1,
    timeouts=1,
    failovers=1,
    expirations=1,
    lost=1,
    mutants=(
        Mutant(
            "init_keeps_the_epoch", breaks="a_transaction_has_one_decision", steps=14, without=("init_raises_epoch",)
        ),
        Mutant(
            "a_marker_is_not_waited_for",
            breaks="an_acknowledged_commit_loses_nothing",
            steps=14,
            without=("markers_before_completion",),
        ),
    ),
)
