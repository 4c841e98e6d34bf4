"""What the coordinator's log tells about a producer id, as far as a partition's log has to be read with it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zombieproof.model.vocabulary import TransactionVersion
from zombieproof.traces.judging.histories.coordinator_history import IdHistory

Key = tuple[int, int]
"""Producer id and epoch."""


@dataclass(slots=True)
class CoordinatorFacts:
    """Transaction versions of data and markers, by producer id and epoch, and who owns a producer id."""

    data: dict[Key, int] = field(default_factory=dict)
    markers: dict[Key, int] = field(default_factory=dict)
    owners: dict[int, IdHistory] = field(default_factory=dict)
    unclear: set[int] = field(default_factory=set)
    """Producer ids with a transaction of which an epoch is not known."""
    judged_clear: dict[Key, bool] = field(default_factory=dict)
    """What `_is_clear` has found: a log asks for each of its transactions, and all logs have the same ones."""

    def is_foreign_data(self, producer_id: int, epoch: int) -> bool:
        """Whether the coordinator has no transaction in which a producer of this epoch could have written."""
        return (producer_id, epoch) not in self.data and self._is_clear(producer_id, epoch)

    def is_foreign_marker(self, producer_id: int, epoch: int) -> bool:
        """Whether the coordinator has decided no transaction under this epoch."""
        return (producer_id, epoch) not in self.markers and self._is_clear(producer_id, epoch)

    def _is_clear(self, producer_id: int, epoch: int) -> bool:
        key = (producer_id, epoch)
        if key not in self.judged_clear:
            owner = self.owners.get(producer_id)
            is_whole = owner is not None and owner.is_whole(producer_id, epoch)
            self.judged_clear[key] = is_whole and producer_id not in self.unclear
        return self.judged_clear[key]


def facts_of(histories: Iterable[IdHistory]) -> CoordinatorFacts:
    """Put together what partitions have to be read with.

    An epoch that ended under both transaction versions, or may have, is judged by the older rules.
    """
    facts = CoordinatorFacts()
    for history in histories:
        for producer_id in history.producer_ids:
            facts.owners.setdefault(producer_id, history)
        for txn in history.transactions:
            _note(history, facts, facts.data, txn.producer_id, txn.data_epoch, txn.data_version)
            if txn.decided:
                _note(history, facts, facts.markers, txn.producer_id, txn.marker_epoch, txn.version)
    return facts


def _note(
    history: IdHistory,
    facts: CoordinatorFacts,
    versions: dict[Key, int],
    producer_id: int,
    epoch: int | None,
    version: int,
) -> None:
    if epoch is None:
        facts.unclear.add(producer_id)
        return
    key = (producer_id, epoch)
    version = version if history.is_whole(*key) else int(TransactionVersion.TV0)
    versions[key] = min(versions.get(key, version), version)
