"""What one replica remembers of the producers of its partition, and what follows from it.

Theory of operation: `judge` asks a decision and changes nothing; `record` says that the batch is in the log, and only
then memory changes. What is in the log is folded in the same way (origin REPLICATION), by followers as it comes, and
by a leader that starts again; snapshots shorten that.
Source: reference §3.1, §3.3 to §3.7; ``ProducerStateManager.java``, ``ProducerAppendInfo.java``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.snapshots import MemorySnapshots, Snapshots, SnapshotStore, encode, entry_of
from zombieproof.formats.batches import Batch
from zombieproof.model.decisions.fetch import (
    earlier_offset,
    is_replicated,
    last_stable_offset_at_abort,
    not_below_log_start,
)
from zombieproof.model.decisions.produce import (
    decide_append,
    decide_expiry,
    evolve_append,
    evolve_expiry,
    is_late,
    should_expire,
)
from zombieproof.model.decisions.verification import SENTINEL, decide_verification, evolve_verification
from zombieproof.model.decisions.write_txn_markers import decide_marker, evolve_marker, first_offset_of_ended
from zombieproof.model.records import AppendVerdict, ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Mode, Origin, PartitionEvent
from zombieproof.statemachines.partition_leader import PARTITION_LEADER


class TokenSource(Protocol):
    """Where verification guards come from: numbers above 0 that no two verifications share."""

    def next(self) -> int:
        """A token that was never given before."""
        ...


class Verification(NamedTuple):
    """What a batch that may open a transaction gets: an error, or a guard and whether the coordinator is asked."""

    error: int
    row: int
    guard: int
    asks: bool


class CompletedTransaction(NamedTuple):
    """A transaction that a marker ended, and what was stable when its marker was written."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool
    last_stable_offset: int


@dataclass(slots=True)
class Remembered:
    """A producer's entry with its times (ms): of its last batch or marker, and of its verification entry."""

    entry: ProducerEntry = field(default_factory=ProducerEntry)
    last_timestamp_ms: int = NONE
    verified_ms: int = NONE


def _begins(known: Remembered) -> int:
    return known.entry.txn_first_offset


@dataclass(frozen=True, slots=True)
class _Marker:
    producer_id: int
    producer_epoch: int
    committed: int
    coordinator_epoch: int
    transaction_version: int


def _marker_of(batch: Batch) -> _Marker:
    told = batch.marker
    if told is None:
        raise ValueError("a batch without a marker ends no transaction")
    return _Marker(
        batch.producer_id,
        batch.producer_epoch,
        1 if told.committed else 0,
        told.coordinator_epoch,
        told.transaction_version,
    )


class ProducerStates:
    """The producers of one replica.

    Args:
        subject: the partition's name, for the journal.
        store: where snapshots are kept; in memory unless said.
    """

    def __init__(
        self,
        subject: str,
        rules: Rules,
        settings: Settings,
        clock: Clock,
        journal: Journal,
        store: SnapshotStore | None = None,
    ) -> None:
        self.rules = rules
        self._subject, self._settings, self._clock, self._journal = subject, settings, clock, journal
        self.snapshots = Snapshots(MemorySnapshots() if store is None else store)
        self._producers: dict[int, Remembered] = {}
        self._unreplicated: dict[int, int] = {}
        self._open: dict[int, Remembered] = {}
        self._snapshot_offset = 0
        self.map_end_offset = 0

    def blank(self) -> "ProducerStates":
        """States that know nothing yet, with a journal of their own: to fold a log beside these."""
        return ProducerStates(self._subject, self.rules, self._settings, self._clock, Journal())

    # ---------------------------------------------------------------- reading

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(producer_id for producer_id, known in self._producers.items() if known.entry.known))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def get(self, producer_id: int) -> ProducerEntry | None:
        """What is known of a producer id; its verification entry is in it too."""
        known = self._producers.get(producer_id)
        return None if known is None else known.entry

    def last_timestamp_ms(self, producer_id: int) -> int:
        """When the last batch or marker of a producer id was written, as it says itself; NONE if it is unknown."""
        known = self._producers.get(producer_id)
        return NONE if known is None else known.last_timestamp_ms

    @property
    def first_undecided_offset(self) -> int:
        """Where the earliest open transaction begins, or NONE."""
        return next(iter(self._open), NONE)

    def first_unstable_offset(self, log_start: int = 0) -> int:
        """Where the earliest transaction begins that is open, or whose marker is not replicated yet; or NONE."""
        unreplicated = min(self._unreplicated, default=NONE)
        return not_below_log_start(earlier_offset(self.first_undecided_offset, unreplicated), log_start)

    def has_late_transaction(self) -> bool:
        """Whether the earliest open transaction hangs (KIP-664)."""
        first = self.first_undecided_offset
        if first == NONE:
            return False
        return is_late(
            self._open[first].last_timestamp_ms, self._clock.now_ms(), self._settings.transaction_max_timeout_ms
        )

    # ---------------------------------------------------------------- verification

    def begin_verification(self, batch: Batch, mode: Mode, tokens: TokenSource) -> Verification:
        """The guard with which `batch` may come behind the coordinator's word, or why it may not be asked."""
        known = self._producers.get(batch.producer_id) or Remembered()
        entry = known.entry
        verdict = decide_verification(entry, batch, mode, self.rules)
        self._note("verification", verdict, batch.producer_id)
        if verdict.event == NOTHING:
            return Verification(verdict.error, verdict.guard, SENTINEL, asks=False)
        self._producers[batch.producer_id] = known
        state = self._move(entry, batch.producer_id, verdict.event)
        if entry.guard == SENTINEL:
            known.verified_ms = self._clock.now_ms()
        token = tokens.next() if entry.guard == SENTINEL else entry.guard
        guard = evolve_verification(entry, batch, mode, token, state)
        return Verification(Error.NONE, verdict.guard, guard, asks=True)

    # ---------------------------------------------------------------- batches

    def judge(self, batch: Batch, guard: int, origin: Origin) -> AppendVerdict:
        """What becomes of a batch with a producer id. Nothing changes."""
        entry = self._entry_or_blank(batch.producer_id)
        if batch.marker is not None:
            verdict = decide_marker(entry, _marker_of(batch), origin, self.rules)
            self._note("write_txn_markers", verdict, batch.producer_id)
        else:
            verdict = decide_append(entry, batch, guard, origin, self.rules)
            self._note("produce", verdict, batch.producer_id)
        return verdict

    def record(self, batch: Batch, event: int) -> CompletedTransaction | None:
        """`batch` is in the log at its offset, and `event` happened to its producer id.

        Returns the transaction that the batch ended, which is also stable once its marker is replicated.
        """
        known = self._producers.setdefault(batch.producer_id, Remembered())
        state = self._move(known.entry, batch.producer_id, event)
        known.last_timestamp_ms = batch.timestamp_ms if batch.timestamp_ms != NONE else self._clock.now_ms()
        self.map_end_offset = batch.last_offset + 1
        was_open_since = known.entry.txn_first_offset
        if batch.marker is None:
            evolve_append(known.entry, batch, batch.base_offset, batch.last_offset, state, self.rules)
            self._keep_open(known, was_open_since)
            return None
        open_since = evolve_marker(known.entry, _marker_of(batch), event, state)
        self._keep_open(known, was_open_since)
        first = first_offset_of_ended(open_since, batch.base_offset, self.rules)
        if first == NONE:
            return None
        stable = last_stable_offset_at_abort(batch.base_offset, self.first_undecided_offset)
        self._unreplicated[first] = batch.last_offset
        aborted = not batch.marker.committed
        return CompletedTransaction(batch.producer_id, first, batch.last_offset, aborted, stable)

    def replay(self, batch: Batch) -> CompletedTransaction | None:
        """Fold a batch that is in the log, whatever it says: a follower's copy, or one's own after a restart.

        Raises:
            ValueError: no log holds such a batch (plain data inside its producer's open transaction).
        """
        if batch.producer_id == NONE or batch.is_empty_control:
            self.map_end_offset = batch.last_offset + 1
            return None
        entry = self._entry_or_blank(batch.producer_id)
        if batch.marker is not None:
            verdict = decide_marker(entry, _marker_of(batch), Origin.REPLICATION, self.rules)
        else:
            verdict = decide_append(entry, batch, SENTINEL, Origin.REPLICATION, self.rules)
        if verdict.error != Error.NONE:
            raise ValueError(
                f"{self._subject}: the batch of producer id {batch.producer_id} at offset {batch.base_offset} "
                f"cannot be in a log ({Error(verdict.error).name}); the log is damaged"
            )
        return self.record(batch, verdict.event)

    def _keep_open(self, known: Remembered, was_open_since: int) -> None:
        """The open transactions stay in the order in which they begin: a new one begins at the end of the log."""
        if known.entry.txn_first_offset != was_open_since:
            self._open.pop(was_open_since, None)
            if known.entry.txn_first_offset != NONE:
                self._open[known.entry.txn_first_offset] = known

    # ---------------------------------------------------------------- offsets

    def on_high_watermark(self, high_watermark: int) -> None:
        """Everything below `high_watermark` is replicated: transactions that have ended there are stable."""
        if self._unreplicated:
            left = self._unreplicated.items()
            self._unreplicated = {first: end for first, end in left if not is_replicated(end, high_watermark)}

    def on_log_start(self, log_start: int) -> None:
        """Everything below `log_start` is gone; producers are remembered all the same."""
        self.on_high_watermark(log_start)

    # ---------------------------------------------------------------- forgetting

    def expire(self) -> None:
        """Forget who was silent, and guards that were unused, for ``producer.id.expiration.ms``."""
        now, limit = self._clock.now_ms(), self._settings.producer_id_expiration_ms
        for producer_id, known in list(self._producers.items()):
            silent = 1 if should_expire(known.entry, known.last_timestamp_ms, now, limit) else 0
            old = 1 if known.verified_ms != NONE and now - known.verified_ms >= limit else 0
            event = decide_expiry(known.entry, silent, old)
            if event != NOTHING:
                evolve_expiry(known.entry, event, self._move(known.entry, producer_id, event))
                if event == PartitionEvent.EXPIRE_PRODUCER:
                    del self._producers[producer_id]

    # ---------------------------------------------------------------- snapshots and truncation

    def take_snapshot(self) -> None:
        """Keep what is known, unless nothing came since the last snapshot."""
        if self.map_end_offset <= self._snapshot_offset:
            return
        known = ((producer_id, self._producers[producer_id]) for producer_id in self)
        data = encode((producer_id, each.entry, each.last_timestamp_ms) for producer_id, each in known)
        self.snapshots.write(self.map_end_offset, data)
        self._snapshot_offset = self.map_end_offset

    def truncate_and_reload(self, log_start: int, log_end: int) -> None:
        """Be what the newest snapshot between `log_start` and `log_end` says; the log from there is to be replayed.

        Where memory ends at `log_end` already it is kept as it is.
        """
        self.snapshots.keep_between(log_start + 1, log_end)
        if self.map_end_offset == log_end:
            self.on_log_start(log_start)
            return
        self.reload(log_start)

    def reload(self, log_start: int) -> None:
        """Be what the newest snapshot says, but for producers that are due to be forgotten."""
        self._producers.clear()
        self._unreplicated.clear()
        loaded = self.snapshots.load_newest()
        self._snapshot_offset = self.map_end_offset = log_start if loaded is None else loaded[0]
        now, limit = self._clock.now_ms(), self._settings.producer_id_expiration_ms
        for told in () if loaded is None else loaded[1]:
            entry = entry_of(told)
            if not should_expire(entry, told.last_timestamp_ms, now, limit):
                self._producers[told.producer_id] = Remembered(entry, told.last_timestamp_ms)
        known = (each for each in self._producers.values() if each.entry.txn_first_offset != NONE)
        self._open = {each.entry.txn_first_offset: each for each in sorted(known, key=_begins)}

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget everything: the log begins anew at `offset`."""
        self._producers.clear()
        self._open.clear()
        self._unreplicated.clear()
        self.snapshots.delete_all()
        self._snapshot_offset = 0
        self.map_end_offset = offset

    def truncate_fully_and_look_again(self) -> None:
        """Forget everything, also the snapshots that are known; what is in the store besides is known then."""
        self.truncate_fully_and_start_at(0)
        self.snapshots.look_again()

    # ---------------------------------------------------------------- small helpers

    def _entry_or_blank(self, producer_id: int) -> ProducerEntry:
        known = self._producers.get(producer_id)
        return ProducerEntry() if known is None else known.entry

    def _move(self, entry: ProducerEntry, producer_id: int, event: int) -> int:
        return self._journal.move(PARTITION_LEADER, f"{self._subject} producer {producer_id}", entry.state, event)

    def _note(self, decision: str, verdict: AppendVerdict, producer_id: int) -> None:
        self._journal.decided(decision, verdict.guard, verdict.error, f"{self._subject} producer {producer_id}")
