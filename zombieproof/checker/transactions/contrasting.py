"""Kafka's protocol where it is set against the proposal of 2014.

The promises that tell the two apart (``zombieproof.model.contrasts``) have a model of their own, so that the others
stay as they are. It is compiled for itself, the first time that one of its promises is asked for.
"""

from dataclasses import replace
from typing import Final

from zombieproof.checker.engine.model import Model, Promise
from zombieproof.checker.sides import Side
from zombieproof.checker.transactions.model import TRANSACTIONS
from zombieproof.model import contrasts, progress

SOMEBODY = "somebody_has_got_through"

_WITNESSES = (
    contrasts.a_producer_id_has_two_transactions_open,
    contrasts.a_marker_ends_nothing,
    contrasts.a_finished_commit_is_asked_for_at_a_new_coordinator,
    contrasts.what_commits_last_is_read_first,
    contrasts.a_reader_waits_before_what_is_committed,
)

IN_CONTRAST: Final = replace(
    TRANSACTIONS,
    name="transactions_in_contrast",
    promises=(
        *(Promise(each.__name__, "sometimes", each, (each.__doc__ or "").strip()) for each in _WITNESSES),
        Promise(
            SOMEBODY,
            "at_rest",
            progress.somebody_gets_through,
            "Where nothing more can happen, some application was told how its transaction ended.",
        ),
    ),
)
"""The model of transactions with other promises: they are owed to nobody."""


class KafkaSide(Side):
    """Kafka's side: its promises may be those of `IN_CONTRAST`."""

    @property
    def model(self) -> Model:
        """The model that has the promise."""
        return IN_CONTRAST if any(each.name == self.promise for each in IN_CONTRAST.promises) else TRANSACTIONS
