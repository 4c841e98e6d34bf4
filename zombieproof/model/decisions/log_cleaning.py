"""The log cleaner and retention (no API key): what is left of a log, and what stays known of who wrote what is gone.

Behaviour: the cleaner goes as far as everything is decided. A record goes when its transaction was aborted, or when a
newer committed one has its key. A marker stays as long as a pass meets a batch of its transaction; then it gets a
*delete horizon*, and goes in a pass behind it. The batch with the last sequence of a producer stays without records.
Retention drops whole segments below the high watermark, whosever transactions they are of; producers stay known.
Source: reference §3.7, §3.8; ``Cleaner.java``, ``CleanedTransactionMetadata.java``, ``UnifiedLog.java``
(`deletableSegments`), ``ProducerStateManager.java``; KIP-98, KIP-534.
"""

from enum import IntEnum

from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE


class MarkerFate(IntEnum):
    """What a pass makes of a marker; LOSES_IT: its batch goes, or stays empty."""

    STAYS = 0
    GETS_HORIZON = 1
    LOSES_IT = 2


def end_of_pass(last_stable: int, high_watermark: int, rules: Rules) -> int:
    """How far the cleaner may go at most: no transaction that is open is ever in a pass."""
    return int(last_stable if rules.cleaner_stops_at_stable == 1 else high_watermark)


def record_goes(is_aborted: bool, is_superseded: bool) -> bool:
    """Whether a pass removes a record: aborted ones at once, others when a newer committed one has their key."""
    return is_aborted or is_superseded


def fate_of_marker(has_data: bool, is_empty: bool, has_horizon: bool, is_past: bool, rules: Rules) -> int:
    """What a pass makes of a marker.

    Args:
        has_data: the pass has met a batch of its transaction, were it an empty one.
        is_empty: a pass before has taken the marker out of its batch.
        has_horizon: a pass before has met no batch of its transaction any more.
        is_past: nobody can have missed the marker that was to read it.
        rules: those in force.
    """
    if is_empty:
        return int(MarkerFate.LOSES_IT)
    if has_data and rules.marker_outlives_data == 1:
        return int(MarkerFate.STAYS)
    if has_horizon:
        return int(MarkerFate.LOSES_IT if is_past else MarkerFate.STAYS)
    return int(MarkerFate.GETS_HORIZON)


def stays_listed(committed: bool, has_data: bool) -> bool:
    """Whether readers must still be told of the transaction that a marker in the pass has ended."""
    return not committed and has_data


def stays_without_records(is_last_of_producer: bool, is_last_of_pass: bool, rules: Rules) -> bool:
    """Whether a batch without records is kept: for the sequence that it has, or for the end of what was cleaned."""
    return (is_last_of_producer and rules.last_batch_outlives_records == 1) or is_last_of_pass


def is_last_of_producer(
    known_data_offset: int, known_epoch: int, last_offset: int, is_control: bool, producer_epoch: int
) -> bool:
    """Whether a batch is what a producer is known by: its last data, or a marker where no data is known (NONE)."""
    if known_data_offset != NONE:
        return bool(last_offset == known_data_offset)
    return bool(is_control and producer_epoch == known_epoch)


def retained_from(segment_start: int, log_start: int, high_watermark: int) -> int:
    """Where a log begins when retention has dropped what is below `segment_start`: never beyond the high watermark."""
    return int(segment_start) if log_start < segment_start <= high_watermark else int(log_start)


def outlives_records(last_offset: int, log_start: int, rules: Rules) -> bool:
    """Whether a producer stays known whose last record is at `last_offset`, when the log begins at `log_start`."""
    return rules.producers_outlive_records == 1 or last_offset >= log_start


def opened_in_snapshot(txn_first_offset: int, rules: Rules) -> int:
    """Where a producer's open transaction begins, as a snapshot says it; NONE: none is."""
    return int(txn_first_offset) if rules.snapshot_keeps_open == 1 else NONE
