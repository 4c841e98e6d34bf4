"""Rows of the machines of the protocol that no scenario takes, with the reason (see ``checker.uncovered``)."""

from collections.abc import Mapping
from typing import Final

_KIP_939: Final = "transactions that an outer two-phase commit prepares, which no release has whole (KIP-939)"
_NO_REFUSAL: Final = "no decision refuses InitProducerId abortably: only missing rights do, which are not modelled"
_NOTHING_ASKED: Final = "the client waits for no answer in this state, so that none can be fatal"

UNCOVERED: Final[Mapping[tuple[str, str, str], str]] = {
    ("coordinator", "ONGOING", "KEEP"): _KIP_939,
    ("producer", "UNINITIALIZED", "FATAL_FAILURE"): _NOTHING_ASKED,
    ("producer", "INITIALIZING", "ABORTABLE_FAILURE"): _NO_REFUSAL,
    ("producer", "INITIALIZING", "PREPARE"): _KIP_939,
    ("producer", "READY", "RESET"): "only before KIP-360 does an idempotent producer ask for a new identity",
    ("producer", "IN_TRANSACTION", "PREPARE"): _KIP_939,
    ("producer", "PREPARED_TRANSACTION", "COMMIT"): _KIP_939,
    ("producer", "PREPARED_TRANSACTION", "ABORT"): _KIP_939,
    ("producer", "PREPARED_TRANSACTION", "FATAL_FAILURE"): _KIP_939,
    (
        "producer",
        "COMMITTING_TRANSACTION",
        "BUMP_EPOCH",
    ): "a raised epoch is asked for by a failure, and then only abort is left",
    ("producer", "ABORTABLE_ERROR", "RESET"): _NO_REFUSAL,
    ("partition_leader", "VERIFYING", "APPEND"): "a producer with a transactional id sends no plain batches",
    (
        "partition_leader",
        "IN_TRANSACTION",
        "EXPIRE_VERIFICATION",
    ): "takes a takeover besides; producer_expiration has one producer",
    (
        "group_coordinator",
        "PENDING",
        "TAKE_BACK",
    ): "only without refused_commit_keeps_pending: the mutants of late_offset_commit take it",
}
"""(machine, state, event) -> why no scenario takes this row."""
