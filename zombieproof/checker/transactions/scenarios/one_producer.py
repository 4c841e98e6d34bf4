"""One producer without a rival: whatever it gives up, and whatever is forgotten, it goes on, ends, or is told."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

_ONE = (Op.SEND_0, Op.COMMIT)
_LOOP = (Op.FETCH, Op.SEND_0, Op.OFFSETS, Op.COMMIT)

GIVEN_UP_RECORD = transaction_scenario(
    "given_up_record",
    "A producer gives its record up before anybody knows of the transaction, and aborts: there is nothing to end, and "
    "the coordinator says so without ending the producer. The record, and a copy of each marker, arrive whenever.",
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
    "The only member of a group reads an input, writes an output and commits its position in one transaction; it may "
    "abort the first one, and does it again while the markers of the first are on their way. The group coordinator is "
    "told to ask again later, and so is the member.",
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
    "The coordinator forgets a transactional id that is idle, and its producer, which is alive, goes on with it. It is "
    "told that nobody knows its identity, and that is the end of it.",
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
    "A producer at transaction version 2 has two records to one partition in flight. The leader changes, the first one "
    "is given up, and copies overtake each other: what joins the transaction first has to begin with sequence 0.",
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
