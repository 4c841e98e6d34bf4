"""The offsets of one ``__consumer_offsets`` partition: committed ones, and those that wait for a marker.

Everything here is a fold of the partition's log: `replay` for each offset record, `end` for each marker; but for what
`refused` does by old rules. A waiting offset belongs to a producer id, whatever its epoch; a committed one knows where
in the log it was committed.
Source: reference §4.2, §4.3; ``OffsetMetadataManager.replay``, ``replayEndTransactionMarker``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from zombieproof.broker.cluster.journal import Journal
from zombieproof.formats.batches import OffsetKey, OffsetValue
from zombieproof.model.records import GroupOffset, PendingOffset
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING
from zombieproof.statemachines.group_coordinator import offsets
from zombieproof.statemachines.group_coordinator.offsets import Meaning

NOTHING_COMMITTED = OffsetValue(NONE, "")


@dataclass(slots=True)
class Committed:
    """The committed offset of one key, and the value that its record has."""

    record: GroupOffset = field(default_factory=GroupOffset)
    value: OffsetValue = NOTHING_COMMITTED


@dataclass(slots=True)
class Waiting:
    """An offset that waits for the marker of its producer id."""

    record: PendingOffset = field(default_factory=PendingOffset)
    value: OffsetValue = NOTHING_COMMITTED


@dataclass(slots=True)
class OffsetStore:
    """Committed offsets by key, and waiting ones by producer id and key."""

    _committed: dict[OffsetKey, Committed] = field(default_factory=dict)
    _waiting: dict[int, dict[OffsetKey, Waiting]] = field(default_factory=dict)
    _open: dict[OffsetKey, set[int]] = field(default_factory=dict)

    def committed(self, key: OffsetKey) -> OffsetValue | None:
        """The committed offset of `key`."""
        found = self._committed.get(key)
        return None if found is None else found.value

    def committed_keys(self, group: str) -> Iterator[OffsetKey]:
        """The keys of a group that have a committed offset."""
        return (key for key in tuple(self._committed) if key.group == group)

    def keys(self, group: str) -> tuple[OffsetKey, ...]:
        """The keys of a group that have a committed offset, then those of which one only waits."""
        committed = dict.fromkeys(self.committed_keys(group))
        return tuple(committed | dict.fromkeys(key for key in self._open if key.group == group))

    def pending_transactions(self, key: OffsetKey) -> int:
        """How many producer ids have an offset of `key` that waits."""
        return len(self._open.get(key, ()))

    def transactions_of(self, group: str) -> int:
        """How many producer ids have any offset of `group` that waits."""
        return len({producer_id for key, ids in self._open.items() if key.group == group for producer_id in ids})

    def waiting(self, producer_id: int) -> dict[OffsetKey, OffsetValue]:
        """What waits for the marker of a producer id."""
        return {key: waiting.value for key, waiting in self._waiting.get(producer_id, {}).items()}

    def replay(
        self,
        offset: int,
        producer_id: int,
        key: OffsetKey,
        value: OffsetValue | None,
        journal: Journal,
        *,
        reaches_waiting: bool = True,
    ) -> None:
        """The record at `offset` of the log is an offset commit, or the tombstone of one.

        Without a producer id it counts at once, also where its batch calls itself transactional. `reaches_waiting`: a
        tombstone ends what waits as well.
        """
        meaning = offsets.meaning_of(value is not None, producer_id)
        if value is None or meaning == Meaning.TOMBSTONE:
            self._remove(key, journal, reaches_waiting=reaches_waiting)
        elif meaning == Meaning.COMMITTED:
            known = self._committed[key] = Committed(value=value)
            offsets.is_committed(known.record, value.offset, offset)
        else:
            waiting = self._waiting.setdefault(producer_id, {}).setdefault(key, Waiting())
            offsets.waits(waiting.record, value.offset, offset, journal.begin())
            journal.take(_named(producer_id, key))
            waiting.value = value
            self._open.setdefault(key, set()).add(producer_id)

    def end(self, producer_id: int, committed: bool, journal: Journal) -> None:
        """The marker of a producer id: what waited for it counts now, or is gone."""
        ended = self._waiting.pop(producer_id, {})
        if not ended:
            offsets.ends(GroupOffset(), PendingOffset(), committed, journal.begin())
            journal.take(str(producer_id))
        for key, waiting in ended.items():
            self._close(producer_id, key)
            known = self._committed.get(key, Committed())
            before = known.record.record_offset
            offsets.ends(known.record, waiting.record, committed, journal.begin())
            journal.take(_named(producer_id, key))
            if known.record.record_offset != before:
                known.value = waiting.value
                self._committed[key] = known

    def refused(self, producer_id: int, keys: Iterable[OffsetKey], rules: Rules, journal: Journal) -> None:
        """The log has refused a producer id's offsets of these keys."""
        waiting = self._waiting.get(producer_id, {})
        for key in keys:
            found = waiting.get(key, Waiting())
            event = offsets.is_refused(found.record, rules, journal.begin())
            journal.take(_named(producer_id, key))
            if event != NOTHING:
                del waiting[key]
                self._close(producer_id, key)

    def _remove(self, key: OffsetKey, journal: Journal, *, reaches_waiting: bool) -> None:
        known = self._committed.pop(key, Committed())
        for producer_id in sorted(self._open.get(key, ())) if reaches_waiting else ():
            waiting = self._waiting[producer_id].pop(key)
            self._close(producer_id, key)
            offsets.is_deleted(known.record, waiting.record, journal.begin())
            journal.take(_named(producer_id, key))

    def _close(self, producer_id: int, key: OffsetKey) -> None:
        ids = self._open[key]
        ids.discard(producer_id)
        if not ids:
            del self._open[key]
        if not self._waiting.get(producer_id, True):
            del self._waiting[producer_id]


def _named(producer_id: int, key: OffsetKey) -> str:
    return f"{key.group}/{key.topic}-{key.partition} of {producer_id}"
