"""What is left of a log when it is cleaned or shortened, and what is kept of producers: asked batch by batch.

Theory of operation: a pass goes over a log from its start, with what is known of its producers and of the transactions
that were aborted; its host tells it for each batch whether one of its transaction was met before, and writes what is
left. Offsets never change. A leader that begins folds the newest snapshot of producers, and the log behind it.
Source: reference §3.7, §3.8; ``Cleaner.java``, ``UnifiedLog.java``, ``ProducerStateManager.java``.
"""

from typing import NamedTuple

from zombieproof.model.decisions.log_cleaning import (
    MarkerFate,
    end_of_pass,
    fate_of_marker,
    is_last_of_producer,
    opened_in_snapshot,
    outlives_records,
    record_goes,
    retained_from,
    stays_listed,
    stays_without_records,
)
from zombieproof.model.decisions.produce import drop_guard, forget_batches
from zombieproof.model.records import CachedBatch, ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, PartitionState
from zombieproof.statemachines.partition_leader.offsets import Reach, Readable


class MarkerMet(NamedTuple):
    """A marker in a pass; see ``log_cleaning.fate_of_marker``."""

    committed: bool
    has_data: bool
    is_empty: bool
    has_horizon: bool
    is_past: bool


class MarkerLeft(NamedTuple):
    """What becomes of it: it stays as it is, gets a delete horizon, or is lost; readers are told of it still or not."""

    stays: bool
    gets_horizon: bool
    is_listed: bool


class LastOfBatch(NamedTuple):
    """The end of a batch: its last offset, and the epoch of its producer; `control`: it has a marker, or had."""

    last_offset: int
    producer_epoch: int
    control: bool


def reach_of_pass(stable: Readable, reach: Reach, rules: Rules) -> int:
    """The offset up to which the cleaner may go."""
    return end_of_pass(stable.last_stable, reach.high_watermark, rules)


def loses_record(is_aborted: bool, is_superseded: bool) -> bool:
    """A record in a pass: whether it goes."""
    return record_goes(is_aborted, is_superseded)


def left_of_marker(marker: MarkerMet, rules: Rules) -> MarkerLeft:
    """A marker in a pass: what is left of it."""
    fate = fate_of_marker(marker.has_data, marker.is_empty, marker.has_horizon, marker.is_past, rules)
    is_listed = not marker.is_empty and stays_listed(marker.committed, marker.has_data)
    return MarkerLeft(fate != MarkerFate.LOSES_IT, fate == MarkerFate.GETS_HORIZON, is_listed)


def is_kept_empty(
    known: bool, known_data_offset: int, known_epoch: int, batch: LastOfBatch, end_of_pass: int, rules: Rules
) -> bool:
    """Whether a batch that has lost its records stays without them; of its producer, if `known`, what is known last."""
    is_last = known and is_last_of_producer(
        known_data_offset, known_epoch, batch.last_offset, batch.control, batch.producer_epoch
    )
    return stays_without_records(is_last, batch.last_offset + 1 == end_of_pass, rules)


def start_of_retained(segment_start: int, reach: Reach) -> int:
    """Where a log begins whose segments below `segment_start` are too old, or too many."""
    return retained_from(segment_start, reach.log_start, reach.high_watermark)


def stays_known(entry: ProducerEntry, log_start: int, rules: Rules) -> bool:
    """Whether a producer is known still, when the log begins at `log_start` from now on."""
    return outlives_records(last_data_offset(entry), log_start, rules)


def last_data_offset(entry: ProducerEntry) -> int:
    """The offset of the last data that is known of a producer; NONE: only a marker is."""
    return int(entry.batches[entry.batch_count - 1].last_offset) if entry.batch_count > 0 else NONE


def keep(entry: ProducerEntry, kept: ProducerEntry, rules: Rules) -> None:
    """What a snapshot keeps of a producer: its newest batch, its epochs, its open transaction; no verification."""
    forget_batches(kept)
    drop_guard(kept)
    kept.known = entry.known
    kept.producer_epoch = entry.producer_epoch
    kept.coordinator_epoch = entry.coordinator_epoch
    kept.txn_first_offset = opened_in_snapshot(entry.txn_first_offset, rules)
    kept.state = _state_of(kept)
    if entry.batch_count > 0:
        _copy(entry.batches[entry.batch_count - 1], kept.batches[0])
        kept.batch_count = 1


def recall(kept: ProducerEntry, entry: ProducerEntry) -> None:
    """A leader that begins knows of a producer what a snapshot has kept."""
    forget_batches(entry)
    drop_guard(entry)
    entry.known = kept.known
    entry.producer_epoch = kept.producer_epoch
    entry.coordinator_epoch = kept.coordinator_epoch
    entry.txn_first_offset = kept.txn_first_offset
    entry.state = kept.state
    if kept.batch_count > 0:
        _copy(kept.batches[0], entry.batches[0])
        entry.batch_count = 1


def _state_of(kept: ProducerEntry) -> int:
    if not kept.known:
        return int(PartitionState.NO_ENTRY)
    return int(PartitionState.IDLE if kept.txn_first_offset == NONE else PartitionState.IN_TRANSACTION)


def _copy(source: CachedBatch, target: CachedBatch) -> None:
    target.last_sequence = source.last_sequence
    target.last_offset = source.last_offset
    target.offset_delta = source.offset_delta
