"""Two producer instances, one transactional id."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import DECIDED_AGAIN, FORGOTTEN_MARKER, fenced_by_its_own_copy
from zombieproof.checker.transactions.vocabulary import Op

_OF_INSTANCES = ("no_two_live_producers_share_an_identity", "nothing_of_an_older_instance_takes_effect")
_TWO = (((Op.SEND_0, Op.SEND_1, Op.COMMIT),), ((Op.SEND_0, Op.COMMIT),))

_NO_OTHER_FAULT = dict.fromkeys(("lost", "doubled", "doubled_batches", "late", "crashes"), 0)

ZOMBIE_TAKEOVER = transaction_scenario(
    "zombie_takeover",
    "A zombie producer continues its transaction while its successor initialises. Producer B calls InitProducerId "
    "with the transactional id of producer A, which does not notice. Everything that A still sends must have no "
    "effect, or belong to a transaction that is aborted.",
    _TWO,
    distinct=7_506_469,
    always=(*ALWAYS, *_OF_INSTANCES),
    sometimes=("a_zombie_is_fenced", "two_transactions_commit", "a_commit_comes_too_late"),
    lost=1,
    doubled=1,
    doubled_batches=1,
    late=1,
    crashes=1,
    mutants=(
        Mutant(
            "init_grants_the_same_epoch_again",
            breaks="no_two_live_producers_share_an_identity",
            steps=4,
            without=("init_raises_epoch",),
        ),
        Mutant("end_txn_ignores_epoch", breaks="only_its_owner_ends_a_transaction", steps=11, without=("strict_end",)),
        Mutant(
            "a_decision_that_counts_as_failed_is_taken_again",
            breaks="a_transaction_has_one_decision",
            steps=10,
            bounds={**_NO_OTHER_FAULT, "unknown_appends": 1},
            known=DECIDED_AGAIN,
        ),
        Mutant(
            "a_deposed_coordinator_marks_what_was_forgotten",
            breaks="epochs_never_go_down",
            steps=11,
            bounds={**_NO_OTHER_FAULT, "forgotten": 1, "deposed": 1},
            bug="B14",
            known=FORGOTTEN_MARKER,
        ),
        Mutant(
            "a_marker_outlives_its_coordinator_and_is_not_remembered",
            breaks="epochs_never_go_down",
            steps=11,
            bounds={**_NO_OTHER_FAULT, "forgotten": 1, "failovers": 1},
            bug="B14",
            known=FORGOTTEN_MARKER,
        ),
    ),
)

KIP98_TAKEOVER = transaction_scenario(
    "kip98_takeover",
    "Fencing by the original rules of Kafka 0.11: no verification, and the same epoch for all transactions of a "
    "producer. Producer B initialises A's transactional id while a record of A is in flight. The abort marker must "
    "have the bumped epoch, so that the record is refused after it.",
    _TWO,
    distinct=1_755,
    always=(*ALWAYS, *_OF_INSTANCES),
    sometimes=("a_zombie_is_fenced", "two_transactions_commit"),
    rules="kip98",
    lost=1,
    mutants=(
        Mutant(
            "takeover_aborts_under_the_old_epoch",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=8,
            without=("fence_bump",),
            bug="B10",
        ),
        Mutant(
            "a_takeover_fences_nothing",
            breaks="nothing_of_an_older_instance_takes_effect",
            steps=9,
            without=("fence_bump",),
            bug="B10",
        ),
        Mutant(
            "leader_ignores_epoch",
            breaks="epochs_never_go_down",
            steps=8,
            without=("epoch_fencing",),
        ),
    ),
)

EPOCH_RECOVERY = transaction_scenario(
    "epoch_recovery",
    "A producer recovers from a lost batch by bumping its epoch (KIP-360, transaction version 0). It gives up the "
    "batch, aborts, and calls InitProducerId with its producer id and epoch. The response is lost, or another "
    "producer initialises the id in between: a retry gets the same response as the first request, and a fenced "
    "producer gets an error.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)), ((Op.SEND_0, Op.COMMIT),)),
    distinct=188_345,
    always=(*ALWAYS, *_OF_INSTANCES),
    sometimes=("a_zombie_is_fenced", "two_transactions_commit", "a_transaction_aborts"),
    changes={"transaction_version": 0},
    lost=2,
    late=1,
    mutants=(
        Mutant(
            "the_client_raises_no_epoch",
            breaks="only_what_was_asked_to_commit_is_committed",
            steps=17,
            without=("kip360",),
        ),
    ),
)

CRASH_AND_RESTART = transaction_scenario(
    "crash_and_restart",
    "A producer crashes at any moment and restarts with the same transactional id, even between its commit and the "
    "response. Its earlier requests are still in flight. The new instance aborts what was left open, and finds the "
    "outcome of what was decided.",
    (((Op.SEND_0, Op.SEND_1, Op.COMMIT), (Op.SEND_0, Op.COMMIT), (Op.SEND_1, Op.COMMIT)),),
    distinct=958_282,
    always=(*ALWAYS, *_OF_INSTANCES),
    sometimes=("two_transactions_commit", "a_fence_aborts_what_a_crash_left_open"),
    crashes=2,
    lost=1,
    doubled=1,
    in_flight=2,
    mutants=(
        fenced_by_its_own_copy(10),
        Mutant(
            "a_restart_aborts_under_the_old_epoch",
            breaks="only_what_was_asked_to_commit_is_committed",
            steps=16,
            without=("fence_bump", "init_raises_epoch"),
            rules="kip98",
        ),
    ),
)
