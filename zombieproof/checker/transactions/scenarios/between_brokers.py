"""What brokers ask each other takes its time: the questions of leaders to coordinators, and blocks of producer ids."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

WAITING_QUESTIONS = transaction_scenario(
    "waiting_questions",
    "Verification requests wait in a queue, because a leader sends one at a time to a coordinator. Two producers "
    "write to one partition. The first gives up its record, aborts, and writes again with its next epoch, so its "
    "new verification meets the old one in the queue. The connection breaks, and responses arrive after a marker.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_0,)), ((Op.SEND_0,),)),
    distinct=32_302,
    always=(*ALWAYS, "a_question_waits_only_behind_another", "an_unrivalled_producer_is_never_fenced"),
    sometimes=(
        "a_question_waits",
        "a_newer_question_takes_the_place",
        "an_answer_comes_behind_a_marker",
        "a_transaction_commits",
        "a_transaction_aborts",
    ),
    ids=(0, 1),
    verification_queue=1,
    late=1,
    lost=1,
    mutants=(
        Mutant(
            "what_waits_is_forgotten_by_the_channel",
            breaks="a_question_waits_only_behind_another",
            steps=9,
            without=("questions_follow",),
        ),
        Mutant(
            "what_waits_has_no_answer",
            breaks="nobody_waits_for_ever",
            steps=10,
            without=("questions_follow",),
        ),
        Mutant(
            "an_answer_counts_for_another_guard",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=11,
            without=("verification_guard",),
            changes={"transaction_version": 0},
        ),
    ),
)

RECORDED_BLOCKS = transaction_scenario(
    "recorded_blocks",
    "Blocks of producer ids survive a crash of the controller. Two producers get their ids from a coordinator "
    "whose block has one id. After a restart the broker has no block and asks for one; the controller reserves it "
    "and answers once its log has it. The controller crashes before that, and its successor starts from the log. "
    "No id is assigned twice.",
    (((),), ((),)),
    distinct=21_451,
    always=(*ALWAYS, "no_two_live_producers_share_an_identity", "an_unrivalled_producer_is_never_fenced"),
    sometimes=("a_coordinator_has_used_up_a_block", "a_new_coordinator_hands_out_producer_ids"),
    ids=(0, 1),
    id_blocks=1,
    failovers=2,
    controller_changes=1,
    mutants=(
        Mutant(
            "a_block_is_handed_out_before_it_is_recorded",
            breaks="no_two_live_producers_share_an_identity",
            steps=10,
            without=("block_recorded_first",),
        ),
    ),
)

PRODUCER_ID_BLOCKS = transaction_scenario(
    "producer_id_blocks",
    "Two producers must never get the same producer id. Their coordinator has a block of one id and asks the "
    "controller for the next. The response is delayed, duplicated or lost, and the coordinator crashes; its "
    "successor gets its own block.",
    (((),), ((),)),
    distinct=130_797,
    always=(*ALWAYS, "no_two_live_producers_share_an_identity", "an_unrivalled_producer_is_never_fenced"),
    sometimes=("a_coordinator_has_used_up_a_block", "a_new_coordinator_hands_out_producer_ids"),
    ids=(0, 1),
    id_blocks=1,
    failovers=1,
    lost=1,
    doubled=1,
    mutants=(
        Mutant(
            "a_late_block_is_used_again",
            breaks="no_two_live_producers_share_an_identity",
            steps=8,
            without=("pid_block_order",),
        ),
    ),
)
