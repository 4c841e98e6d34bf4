"""Rows of the machines of the 2014 proposal that no scenario takes, with the reason (see ``checker.uncovered``)."""

from collections.abc import Mapping
from typing import Final

_FORGOTTEN: Final = "a leader remembers what is finished (`leaders_remember_finished`): mutants take it"

UNCOVERED: Final[Mapping[tuple[str, str, str], str]] = {
    ("proposal2014_coordinator", "PREPARED_ABORT", "LEAVE_UNRECORDED"): (
        "an abort has its final record (`aborted_is_recorded`): a mutant takes it"
    ),
    ("proposal2014_producer", "ABORTING", "HEAR_COMMITTED"): (
        "whoever aborts has not asked for a commit, and nobody else has the TxId (`one_connection`): a mutant takes it"
    ),
    ("proposal2014_producer", "CLOSED", "START"): (
        "who is closed is started again by hand only, without end: a known story takes it"
    ),
    ("proposal2014_producer", "CLOSED", "CRASH"): "where instances are closed none crashes: both leave it to a start",
    ("proposal2014_leader", "UNKNOWN", "APPEND_CONTROL_AND_FORGET"): _FORGOTTEN,
    ("proposal2014_leader", "PENDING", "APPEND_CONTROL_AND_FORGET"): _FORGOTTEN,
}
"""(machine, state, event) -> why no scenario takes this row."""
