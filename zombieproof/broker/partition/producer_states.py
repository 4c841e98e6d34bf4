"""What one replica remembers of the producers of its partition.

Theory of operation: the steps of the partition leader (``statemachines.partition_leader``) judge and remember; here
their records are kept by producer id, with the times that they go by. `judge` changes nothing; `record` says that the
batch is in the log, and only then memory changes. What is in a log is folded by followers as it comes, and by a leader
that starts again; snapshots shorten that.
Source: reference §3.1, §3.7; ``ProducerStateManager.java``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple, Protocol

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.snapshots import MemorySnapshots, Snapshots, SnapshotStore, encode, entry_of
from zombieproof.formats.batches import Batch, DataHeader
from zombieproof.model.records import ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Mode, Origin, PartitionEvent
from zombieproof.statemachines.partition_leader import batches, cleaning, forgetting, markers, offsets, verification
from zombieproof.statemachines.partition_leader.effects import PartitionEffects, clear


class TokenSource(Protocol):
    """Where verification guards come from: numbers above 0 that no two verifications share."""

    def next(self) -> int:
        """A token that was never given before."""
        ...


class Verification(NamedTuple):
    """What a batch that may open a transaction gets: an error, or a guard and whether the coordinator is asked.

    `error` is what its sender is told, `cause` that error before it was translated.
    """

    error: int
    cause: int
    row: int
    guard: int
    asks: bool


class Judged(NamedTuple):
    """What becomes of a batch: it is appended, and `event` happens to its producer id; or it is not.

    With error NONE it is a duplicate then, and `duplicate_of` the last offset of the batch that is in the log.
    """

    appends: bool
    error: int
    row: int
    event: int
    duplicate_of: int


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


_UNKNOWN = ProducerEntry()
"""What is known of a producer id of which nothing is known; only ever judged by."""


@dataclass(frozen=True, slots=True)
class _Marker:
    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    transaction_version: int


def _marker_of(batch: Batch) -> _Marker:
    marker = batch.marker
    if marker is None:
        raise ValueError("a batch without a marker ends no transaction")
    return _Marker(
        batch.producer_id,
        batch.producer_epoch,
        marker.committed,
        marker.coordinator_epoch,
        marker.transaction_version,
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
        self._effects = PartitionEffects()
        self._token = verification.NO_GUARD
        self._snapshot_offset = 0
        self.map_end_offset = 0

    def blank(self) -> "ProducerStates":
        """States that know nothing yet, with a journal of their own: to fold a log beside these."""
        return ProducerStates(self._subject, self.rules, self._settings, self._clock, Journal())

    def as_of(self, offset: int, read: Callable[[int], Iterable[Batch | DataHeader]]) -> "ProducerStates":
        """What was known at `offset`, beside these: the newest snapshot up to there, and what `read` gives then."""
        found, kept = self.blank(), self.snapshots.newest_up_to(offset)
        if kept is not None:
            found.snapshots.write(kept[0], kept[1])
            found.reload(0)
        for batch in takewhile(lambda each: each.last_offset < offset, read(found.map_end_offset)):
            found.replay(batch)
        return found

    # ---------------------------------------------------------------- reading

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(producer_id for producer_id, known in self._producers.items() if known.entry.known))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def get(self, producer_id: int) -> ProducerEntry | None:
        """What is known of a producer id; its verification entry is in it too."""
        known = self._producers.get(producer_id)
        return None if known is None else known.entry

    def items(self) -> Iterator[tuple[int, ProducerEntry]]:
        """Every producer id that is known, with what is known of it."""
        return ((producer_id, self._producers[producer_id].entry) for producer_id in self)

    def last_timestamp_ms(self, producer_id: int) -> int:
        """When the last batch or marker of a producer id was written, as it says itself; NONE if it is unknown."""
        known = self._producers.get(producer_id)
        return NONE if known is None else known.last_timestamp_ms

    @property
    def first_undecided_offset(self) -> int:
        """Where the earliest open transaction begins, or NONE."""
        return next(iter(self._open), NONE)

    def readable(self, reach: offsets.Reach) -> offsets.Readable:
        """How far the partition is stable, of whose log there is `reach`."""
        return offsets.readable(self.first_undecided_offset, min(self._unreplicated, default=NONE), reach)

    def has_late_transaction(self) -> bool:
        """Whether the earliest open transaction hangs (KIP-664)."""
        first = self.first_undecided_offset
        if first == NONE:
            return False
        limit = self._settings.transaction_max_timeout_ms
        return forgetting.hangs(self._open[first].last_timestamp_ms, self._clock.now_ms(), limit)

    # ---------------------------------------------------------------- verification

    def begin_verification(
        self, batch: Batch, mode: Mode, tokens: TokenSource, *, of_group: bool = False
    ) -> Verification:
        """The guard with which `batch` may come behind the coordinator's word, or why it may not be asked.

        `of_group`: the batch is of a group coordinator, whose clients are told errors in another way.
        """
        known = self._producers.get(batch.producer_id) or Remembered()
        if self._token == verification.NO_GUARD:
            self._token = tokens.next()
        arrival, effects = verification.Arrival(mode, of_group, self._token), self._begin()
        verification.arrives(known.entry, batch, arrival, self.rules, effects, self._journal.begin())
        self._journal.take(self._named(batch.producer_id))
        if effects.asks:
            self._producers[batch.producer_id] = known
        if effects.takes_token:
            self._token = verification.NO_GUARD
            known.verified_ms = self._clock.now_ms()
        return Verification(effects.error, effects.cause, effects.row, effects.guard, asks=effects.asks)

    # ---------------------------------------------------------------- batches

    def judge(self, batch: Batch, guard: int, origin: Origin) -> Judged:
        """What becomes of a batch. Nothing changes."""
        known = self._producers.get(batch.producer_id)
        entry = _UNKNOWN if known is None else known.entry
        effects, notes = self._begin(), self._journal.begin()
        if batch.marker is not None:
            markers.arrives(entry, _marker_of(batch), origin, self.rules, effects, notes)
        else:
            batches.append(entry, batch, guard, origin, self.rules, effects, notes)
        self._journal.take(self._named(batch.producer_id))
        return Judged(effects.appends, effects.error, effects.row, effects.event, effects.duplicate_of)

    def record(self, batch: Batch, event: int) -> CompletedTransaction | None:
        """`batch` is in the log at its offset, and `event` happened to its producer id.

        Returns the transaction that the batch ended, which is also stable once its marker is replicated.
        """
        if batch.producer_id == NONE:
            return self.replay(batch)
        known, effects, notes = self._known(batch), self._begin(), self._journal.begin()
        was_open_since = known.entry.txn_first_offset
        if batch.marker is None:
            first, last = batch.base_offset, batch.last_offset
            batches.appended(known.entry, batch, first, last, event, self.rules, notes)
        else:
            marker = _marker_of(batch)
            markers.appended(known.entry, marker, batch.base_offset, event, self.rules, effects, notes)
        return self._recorded(batch, was_open_since)

    def replay(self, batch: Batch | DataHeader) -> CompletedTransaction | None:
        """Fold a batch that is in the log, whatever it says: a follower's copy, or one's own after a restart.

        Raises:
            ValueError: no log holds such a batch (plain data inside its producer's open transaction).
        """
        if batch.producer_id == NONE or batch.is_empty_control:
            self.map_end_offset = batch.last_offset + 1
            return None
        known, effects, notes = self._known(batch), self._begin(), self._journal.begin()
        was_open_since = known.entry.txn_first_offset
        if batch.marker is None:
            first, last = batch.base_offset, batch.last_offset
            batches.in_log(known.entry, batch, first, last, self.rules, effects, notes)
        else:
            markers.in_log(known.entry, _marker_of(batch), batch.base_offset, self.rules, effects, notes)
        if notes.contradicts:
            raise ValueError(
                f"{self._subject}: the batch of producer id {batch.producer_id} at offset {batch.base_offset} "
                f"cannot be in a log ({Error(effects.error).name}); the log is damaged"
            )
        return self._recorded(batch, was_open_since)

    def fold(self, batches: Iterable[Batch | DataHeader]) -> Iterator[CompletedTransaction]:
        """As `replay`, of all batches that a log has of producers: what is newest of each is known then.

        A batch that says what the one before of its producer id has said does not move anything: of several only the
        last is remembered.
        """
        said: dict[int, tuple[int, bool]] = {}
        newest: dict[int, Batch | DataHeader] = {}
        for batch in batches:
            producer_id = batch.producer_id
            if batch.marker is None and not batch.is_empty_control:
                says = batch.producer_epoch, batch.transactional
                if said.get(producer_id) == says:
                    newest[producer_id] = batch
                    continue
                said[producer_id] = says
            else:
                said.pop(producer_id, None)
            if producer_id in newest:
                self.replay(newest.pop(producer_id))
            completed = self.replay(batch)
            if completed is not None:
                yield completed
        for batch in sorted(newest.values(), key=lambda each: each.base_offset):
            self.replay(batch)

    def _known(self, batch: Batch | DataHeader) -> Remembered:
        known = self._producers.get(batch.producer_id)
        if known is None:
            known = self._producers[batch.producer_id] = Remembered()
        return known

    def _recorded(self, batch: Batch | DataHeader, was_open_since: int) -> CompletedTransaction | None:
        """The step has remembered the batch."""
        self._journal.take(self._named(batch.producer_id))
        known = self._producers[batch.producer_id]
        self._keep_open(known, was_open_since)
        known.last_timestamp_ms = batch.timestamp_ms if batch.timestamp_ms != NONE else self._clock.now_ms()
        self.map_end_offset = batch.last_offset + 1
        first = self._effects.ended_from
        if batch.marker is None or first == NONE:
            return None
        ended = markers.ended(first, batch.base_offset, batch.marker.committed, self.first_undecided_offset)
        self._unreplicated[first] = batch.last_offset
        return CompletedTransaction(
            batch.producer_id, first, batch.last_offset, ended.is_listed, ended.last_stable_offset
        )

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
            left, rules = self._unreplicated.items(), self.rules
            self._unreplicated = {
                first: end for first, end in left if not offsets.is_settled(end, high_watermark, rules)
            }

    def on_log_start(self, log_start: int) -> None:
        """Everything below `log_start` is gone; before Kafka 2.4 so are the producers whose last data was there."""
        for producer_id, known in list(self._producers.items()):
            if not cleaning.stays_known(known.entry, log_start, self.rules):
                del self._producers[producer_id]
        self.on_high_watermark(log_start)

    # ---------------------------------------------------------------- forgetting

    def expire(self) -> None:
        """Forget who was silent, and guards that were unused, for ``producer.id.expiration.ms``."""
        for producer_id, known in list(self._producers.items()):
            event = forgetting.sweep(known.entry, self._silence(known), self._journal.begin())
            if event != NOTHING:
                self._journal.take(self._named(producer_id))
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
        if self.map_end_offset == log_end or not forgetting.reloads_when_cut(self.rules):
            self.on_log_start(log_start)
            return
        self.reload(log_start)

    def reload(self, log_start: int) -> None:
        """Be what the newest snapshot says, but for producers that are due to be forgotten."""
        self._producers.clear()
        self._unreplicated.clear()
        loaded = self.snapshots.load_newest()
        self._snapshot_offset = self.map_end_offset = log_start if loaded is None else loaded[0]
        for entry in () if loaded is None else loaded[1]:
            known = Remembered(entry_of(entry), entry.last_timestamp_ms)
            if not forgetting.is_due(known.entry, self._silence(known)):
                self._producers[entry.producer_id] = known
        still_open = (each for each in self._producers.values() if each.entry.txn_first_offset != NONE)
        self._open = {each.entry.txn_first_offset: each for each in sorted(still_open, key=_begins)}

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

    def _silence(self, known: Remembered) -> forgetting.Silence:
        now_ms, limit_ms = self._clock.now_ms(), self._settings.producer_id_expiration_ms
        return forgetting.Silence(known.last_timestamp_ms, known.verified_ms, now_ms, limit_ms)

    def _begin(self) -> PartitionEffects:
        """The effects of the next step."""
        clear(self._effects)
        return self._effects

    def _named(self, producer_id: int) -> str:
        return f"{self._subject} producer {producer_id}"
