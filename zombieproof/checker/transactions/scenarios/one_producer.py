"""One producer without a rival: whatever it gives up, and whatever is forgotten, it goes on, ends, or is told."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

_ONE = (Op.SEND_0, Op.COMMIT)
_LOOP = (Op.FETCH, Op.SEND_0, Op.OFFSETS, Op.COMMIT)

GIVEN_UP_RECORD = transaction_scenario(
    "given_up_record",
    "A producer aborts before any broker knows of its transaction, because it gave up its only record. There is "
    "nothing to end; the coordinator says so, and the producer can continue. The record, and a copy of each "
    "marker, may arrive at any time.",
    ((_ONE, _ONE),),
    distinct=588,
    always=(*ALWAYS, "a_decided_transaction_is_driven_to_its_end", "an_unrivalled_producer_is_never_fenced"),
    sometimes=("two_transactions_commit", "a_transaction_aborts"),
    late=1,
    doubled_markers=1,
    may_abort=1,
    mutants=(
        Mutant(
            "an_abort_of_nothing_is_refused",
            breaks="an_unrivalled_producer_is_never_fenced",
            steps=6,
            without=("end_by_request_version",),
        ),
        Mutant(
            "what_an_older_epoch_left_open_takes_a_new_record",
            breaks="a_decided_transaction_is_driven_to_its_end",
            steps=11,
            without=("epoch_aware_ongoing",),
        ),
        Mutant(
            "a_copy_of_a_marker_ends_the_next_transaction",
            breaks="an_acknowledged_commit_loses_nothing",
            steps=17,
            without=("marker_strict",),
        ),
    ),
)

ONE_MEMBER = transaction_scenario(
    "one_member",
    "The only member of a group consumes, transforms and produces in transactions. It may abort the first one, and "
    "repeats the work while the markers of the first are in flight. The group coordinator and the member both get "
    "retriable errors.",
    ((_LOOP, _LOOP),),
    distinct=8_311,
    always=(*ALWAYS, "each_input_has_one_committed_output", "an_unrivalled_producer_is_never_fenced"),
    sometimes=("offsets_are_committed", "a_transaction_aborts"),
    grouped=1,
    late=1,
    lost=1,
    may_abort=1,
    mutants=(
        Mutant(
            "an_offset_commit_that_should_be_repeated_ends_the_member",
            breaks="an_unrivalled_producer_is_never_fenced",
            steps=15,
            without=("commit_retries_by_class",),
        ),
        Mutant(
            "a_marker_takes_the_guard_of_the_next_transaction",
            breaks="an_unrivalled_producer_is_never_fenced",
            steps=19,
            without=("guard_keep_same_epoch",),
            bug="B32",
        ),
    ),
)

FORGOTTEN_ID = transaction_scenario(
    "forgotten_id",
    "The coordinator forgets an idle transactional id whose producer is alive and continues. The producer gets an "
    "error, because its producer id is unknown, and that is fatal.",
    ((_ONE, _ONE),),
    distinct=36,
    sometimes=("two_transactions_commit", "a_producer_is_fenced"),
    expirations=1,
    mutants=(
        Mutant(
            "an_unknown_producer_aborts_for_ever",
            breaks="nobody_waits_for_ever",
            steps=9,
            without=("mapping_fatal",),
        ),
    ),
)

FIRST_SEQUENCE = transaction_scenario(
    "first_sequence",
    "The first record of a partition in a transaction must have sequence 0 (transaction version 2). A producer has "
    "two records in flight to one partition. The leader changes, the first record is given up, and copies overtake "
    "each other.",
    (((Op.SEND_0, Op.SEND_0, Op.COMMIT),),),
    distinct=590,
    always=(*ALWAYS, "an_unrivalled_producer_is_never_fenced"),
    sometimes=("a_transaction_commits", "a_transaction_aborts"),
    in_flight=2,
    leader_changes=1,
    late=1,
    doubled_batches=1,
    mutants=(
        Mutant(
            "a_transaction_begins_in_the_middle",
            breaks="sequences_follow_each_other",
            steps=8,
            without=("tv2_first_seq_zero",),
        ),
    ),
)
