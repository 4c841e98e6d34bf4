"""Appends to the transaction log take their time, and anything may happen meanwhile."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import told_from_memory
from zombieproof.checker.transactions.vocabulary import Op

APPENDS_UNDER_WAY = transaction_scenario(
    "appends_under_way",
    "Appends to the transaction log take time. Before an append completes, the coordinator may lose its partition "
    "and be elected again, with or without noticing, or crash. The append fails, or is durable although it was "
    "reported as failed. Before and after each append, the coordinator must check that it is still the one that "
    "prepared it.",
    (((Op.SEND_0, Op.COMMIT),),),
    distinct=10_334,
    always=(*ALWAYS, "a_decided_transaction_is_driven_to_its_end", "what_is_pending_is_under_way"),
    sometimes=(
        "a_transaction_commits",
        "a_prepared_transaction_is_taken_over",
        "a_stale_coordinator_still_answers",
    ),
    appends_travel=1,
    deposed=2,
    failed_appends=1,
    unknown_appends=1,
    mutants=(
        told_from_memory(13),
        Mutant(
            "markers_of_a_coordinator_of_before_count",
            breaks="epochs_never_go_down",
            steps=18,
            without=("marker_coordinator_epoch",),
            bounds={"deposed": 1},
        ),
        Mutant(
            "a_decision_found_in_the_log_is_not_driven",
            breaks="a_decided_transaction_is_driven_to_its_end",
            steps=14,
            without=("reload_drives_markers",),
        ),
        Mutant(
            "what_is_loaded_pending_is_left_alone",
            breaks="what_is_pending_is_under_way",
            steps=14,
            without=("reload_drives_markers",),
        ),
    ),
)
