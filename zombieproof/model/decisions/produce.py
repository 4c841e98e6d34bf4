"""Produce (API key 0, versions 3-13): data batches at the leader of a partition.

Behaviour: a batch with a producer id is a duplicate of a remembered one (success, nothing appended), or passes epoch,
verification, sequence and transaction checks and is appended, or is refused.
Versions: up to 10 the partition is verified by rule DEFAULT; 11 (GENERIC) may be answered with TRANSACTION_ABORTABLE;
12 and up join the transaction by themselves (ADD, transaction version 2).
Source: reference §3.2, §3.3; ``ProducerAppendInfo.java``, ``UnifiedLog.analyzeAndValidateProducerState``.
"""

from zombieproof.model.decisions.log_validation import FITS, Fit
from zombieproof.model.decisions.verdicts import append_accepted, append_duplicate, append_refused
from zombieproof.model.records import AppendVerdict, CachedBatch, IncomingBatch, ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Origin, PartitionEvent, Row

ZSTD_SINCE = 7
"""Batches packed by zstd come in this version and newer ones (KIP-110)."""
LATE_BUFFER_MS = 300_000
"""How much longer than the largest transaction timeout a transaction may be open (``LATE_TRANSACTION_BUFFER_MS``)."""


def decide_produce_front_door(
    any_transactional: bool,
    has_transactional_id: bool,
    identities: int,
    batches: int,
    topic_exists: bool = True,
    topic_id_is_known: bool = True,
    codec_is_allowed: bool = True,
) -> AppendVerdict:
    """Judge one partition of a Produce request (W1 to W4), before anybody is asked whether it is in the transaction.

    `identities` is how many (producer id, epoch) pairs the transactional batches of the request name, `batches` how
    many batches there are for the partition; `topic_id_is_known`: version 13 names topics by id. `codec_is_allowed`:
    see ``allows_codec``.
    """
    if any_transactional and not has_transactional_id:
        return append_refused(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Row.W1)
    if not topic_id_is_known:
        return append_refused(Error.UNKNOWN_TOPIC_ID, Row.W2)
    if not topic_exists:
        return append_refused(Error.UNKNOWN_TOPIC_OR_PARTITION, Row.W2)
    if batches > 0 and not codec_is_allowed:
        return append_refused(Error.UNSUPPORTED_COMPRESSION_TYPE, Row.W3)
    if batches != 1:
        return append_refused(Error.INVALID_RECORD, Row.W3)
    if any_transactional and identities > 1:
        return append_refused(Error.INVALID_PRODUCER_ID_MAPPING, Row.W4)
    return append_refused(Error.NONE, Row.NO_ROW)


def allows_codec(version: int, is_zstd: bool) -> bool:
    """Whether a request of this version may have a batch of this codec."""
    return version >= ZSTD_SINCE or not is_zstd


def decide_produce_place(acks: int, is_internal: bool, leads: bool) -> AppendVerdict:
    """Judge where a client's batch would go, once it is verified; a partition of an internal topic is no place for it.

    Verification comes first: a batch for ``__consumer_offsets`` may have joined its transaction (§14.1).
    """
    if acks not in (NONE, 0, 1):
        return append_refused(Error.INVALID_REQUIRED_ACKS, Row.UNKNOWN_ACKS)
    if is_internal:
        return append_refused(Error.INVALID_TOPIC_EXCEPTION, Row.INTERNAL_TOPIC)
    if not leads:
        return append_refused(Error.NOT_LEADER_OR_FOLLOWER, Row.NOT_THE_LEADER)
    return append_refused(Error.NONE, Row.NO_ROW)


def decide_produce_batch(  # noqa: PLR0913, PLR0917  # what Kafka looks at, each by itself
    batch: IncomingBatch,
    control: bool,
    is_consistent: bool,
    needs_all_replicas: bool,
    in_sync: int,
    min_in_sync: int,
    base_offset: int = 0,
    is_corrupt: bool = False,
    fit: Fit = FITS,
) -> AppendVerdict:
    """Judge a client's batch once it is verified, before the log is looked at (W7, W8).

    `base_offset` is what the batch itself says; `is_corrupt`: its checksum does not match; `is_consistent`: as many
    records as the header's offsets say. `needs_all_replicas`: acks=-1. `fit`: what ``log_validation`` says of it.
    """
    if needs_all_replicas and in_sync < min_in_sync:
        return append_refused(Error.NOT_ENOUGH_REPLICAS, Row.W7)
    if base_offset != 0:
        return append_refused(Error.INVALID_RECORD, Row.W8)
    if fit.is_too_large:
        return append_refused(Error.MESSAGE_TOO_LARGE, Row.TOO_LARGE)
    if is_corrupt:
        return append_refused(Error.CORRUPT_MESSAGE, Row.CORRUPT_BATCH)
    if control or not is_consistent or (batch.producer_id != NONE and batch.base_sequence < 0):
        return append_refused(Error.INVALID_RECORD, Row.W8)
    if fit.error_of_records != Error.NONE:
        return append_refused(fit.error_of_records, Row.RECORDS_REFUSED)
    if fit.fits_no_segment:
        return append_refused(Error.RECORD_LIST_TOO_LARGE, Row.TOO_LARGE)
    return append_refused(Error.NONE, Row.NO_ROW)


def tells_log_start(error: int, is_of_the_append: bool) -> bool:
    """Whether the answer for a refused partition carries the log's start offset: if the log itself was reached.

    `is_of_the_append`: the batch was refused behind verification (``ReplicaManager.appendToLocalLog``).
    """
    unknown = error in (
        Error.INVALID_TOPIC_EXCEPTION,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.CORRUPT_MESSAGE,
        Error.INVALID_REQUIRED_ACKS,
        Error.MESSAGE_TOO_LARGE,
        Error.RECORD_LIST_TOO_LARGE,
    )
    return is_of_the_append and not unknown


def has_open_transaction(entry: ProducerEntry, producer_epoch: int, rules: Rules) -> bool:
    """Whether a transaction that counts for a batch of this epoch is open (``ongoing`` in the reference).

    Before 4.0 any open transaction of the producer id counted.
    """
    if not entry.known or entry.txn_first_offset == NONE:
        return False
    return rules.epoch_aware_ongoing == 0 or entry.producer_epoch == producer_epoch


def decide_append(
    entry: ProducerEntry, batch: IncomingBatch, request_guard: int, origin: int, rules: Rules
) -> AppendVerdict:
    """Judge a data batch under the log's lock (A1 to A7, with S1 to S5).

    `request_guard` is the token that the request got before the coordinator was asked (0: nothing was asked).
    A follower and a leader that recovers (`origin` REPLICATION) accept whatever the log holds, but for A6.
    Events: APPEND (not transactional), BEGIN (opens a transaction), CONTINUE.
    """
    if origin == Origin.CLIENT and rules.duplicate_check == 1:
        duplicate_of = find_duplicate(entry, batch, rules)
        if duplicate_of != NONE:
            return append_duplicate(duplicate_of)
    leads = origin != Origin.REPLICATION
    if leads and batch.transactional and not has_open_transaction(entry, batch.producer_epoch, rules):
        if rules.stale_epoch_first == 1 and batch.producer_epoch < entry.producer_epoch:
            return append_refused(Error.INVALID_PRODUCER_EPOCH, Row.A2)
        if rules.verification == 1 and not _is_verified(entry, request_guard, rules):
            return append_refused(Error.INVALID_TXN_STATE, Row.A3)
    if leads and rules.epoch_fencing == 1 and batch.producer_epoch < entry.producer_epoch:
        return append_refused(Error.INVALID_PRODUCER_EPOCH, Row.A4)
    if origin == Origin.CLIENT and rules.sequence_check == 1:
        row = _broken_sequence_rule(entry, batch, rules)
        if row != Row.NO_ROW:
            return append_refused(_error_of_sequence_rule(entry, row, rules), row)
    if not batch.transactional:
        if entry.txn_first_offset != NONE:
            return append_refused(Error.INVALID_TXN_STATE, Row.A6)
        return append_accepted(Row.A7, PartitionEvent.APPEND)
    if entry.txn_first_offset != NONE:
        return append_accepted(Row.A7, PartitionEvent.CONTINUE)
    return append_accepted(Row.A7, PartitionEvent.BEGIN)


def find_duplicate(entry: ProducerEntry, batch: IncomingBatch, rules: Rules) -> int:
    """The last offset of the remembered batch with the same epoch and sequences, or NONE (A1)."""
    if not entry.known or batch.producer_epoch != entry.producer_epoch:
        return NONE
    for i in range(entry.batch_count):
        cached = entry.batches[i]
        if cached.last_sequence == batch.last_sequence and first_sequence(cached, rules) == batch.base_sequence:
            return int(cached.last_offset)
    return NONE


def first_sequence(cached: CachedBatch, rules: Rules) -> int:
    """The first sequence of a remembered batch: sequences wrap from `rules.sequence_max` to 0 (§3.1)."""
    if cached.last_sequence < cached.offset_delta:
        return int(rules.sequence_max - (cached.offset_delta - cached.last_sequence) + 1)
    return int(cached.last_sequence - cached.offset_delta)


def _is_verified(entry: ProducerEntry, request_guard: int, rules: Rules) -> bool:
    if rules.verification_guard == 0:
        return request_guard != 0
    return request_guard != 0 and entry.guard == request_guard


def _broken_sequence_rule(entry: ProducerEntry, batch: IncomingBatch, rules: Rules) -> int:
    """The row of §3.3.1 that refuses the batch, or NO_ROW."""
    first = batch.base_sequence
    if entry.guard != 0:
        unknown_past = entry.batch_count == 0
        if rules.tv2_first_seq_zero == 1 and entry.supports_epoch_bump and first != 0 and unknown_past:
            return int(Row.S1)
        if rules.guard_lowest_seq == 1 and first > entry.lowest_sequence:
            return int(Row.S2)
    if batch.producer_epoch != entry.producer_epoch:
        continues_unknown = entry.producer_epoch == NONE and rules.kip360 == 1
        if first == 0 or continues_unknown:
            return int(Row.NO_ROW)
        return int(Row.S3)
    if entry.producer_epoch == NONE:
        return int(Row.NO_ROW)
    last = newest_sequence(entry)
    wraps = last == rules.sequence_max and first == 0
    if first == last + 1 or wraps:
        return int(Row.NO_ROW)
    return int(Row.S5)


def _error_of_sequence_rule(entry: ProducerEntry, row: int, rules: Rules) -> int:
    """UNKNOWN_PRODUCER_ID, from 1.0 to 2.4, where it is unknown what would have been the next sequence (§3.3.1)."""
    forgotten = row == Row.S3 and entry.producer_epoch == NONE and rules.unknown_producer_id == 1
    only_a_marker = row == Row.S5 and entry.batch_count == 0 and rules.unknown_after_marker == 1
    return int(Error.UNKNOWN_PRODUCER_ID if forgotten or only_a_marker else Error.OUT_OF_ORDER_SEQUENCE_NUMBER)


def newest_sequence(entry: ProducerEntry) -> int:
    """The last sequence of the newest remembered batch, or NONE."""
    if entry.batch_count == 0:
        return NONE
    return int(entry.batches[entry.batch_count - 1].last_sequence)


def evolve_append(
    entry: ProducerEntry, batch: IncomingBatch, base_offset: int, last_offset: int, state: int, rules: Rules
) -> None:
    """The batch is in the log at `base_offset`..`last_offset`; `state` is what the table says (§3.3.2).

    An epoch change with an open transaction keeps the transaction: the data joins what is still open.
    """
    if not entry.known or entry.producer_epoch != batch.producer_epoch:
        entry.producer_epoch = batch.producer_epoch
        forget_batches(entry)
    entry.known = True
    entry.state = state
    _remember(entry, batch.last_sequence, last_offset - base_offset, last_offset, rules)
    if batch.transactional:
        if entry.txn_first_offset == NONE:
            entry.txn_first_offset = base_offset
        drop_guard(entry)


def _remember(entry: ProducerEntry, last_sequence: int, offset_delta: int, last_offset: int, rules: Rules) -> None:
    if entry.batch_count >= rules.cached_batches:
        for i in range(1, entry.batch_count):
            older, newer = entry.batches[i - 1], entry.batches[i]
            older.last_sequence = newer.last_sequence
            older.offset_delta = newer.offset_delta
            older.last_offset = newer.last_offset
        entry.batch_count -= 1
    newest = entry.batches[entry.batch_count]
    newest.last_sequence = last_sequence
    newest.offset_delta = offset_delta
    newest.last_offset = last_offset
    entry.batch_count += 1


def forget_batches(entry: ProducerEntry) -> None:
    """Nothing is remembered of earlier batches (a new epoch)."""
    for i in range(entry.batch_count):
        cached = entry.batches[i]
        cached.last_sequence = NONE
        cached.offset_delta = 0
        cached.last_offset = NONE
    entry.batch_count = 0


def drop_guard(entry: ProducerEntry) -> None:
    """Remove the verification entry."""
    entry.guard = 0
    entry.guard_epoch = NONE
    entry.lowest_sequence = NONE
    entry.supports_epoch_bump = False


def should_expire(entry: ProducerEntry, last_timestamp_ms: int, now_ms: int, expiration_ms: int) -> bool:
    """Whether a silent producer is forgotten (§3.7): never while its transaction is open."""
    return entry.txn_first_offset == NONE and now_ms - last_timestamp_ms >= expiration_ms


def is_late(last_timestamp_ms: int, now_ms: int, max_transaction_timeout_ms: int) -> bool:
    """Whether the earliest open transaction of a partition hangs: its producer was silent for too long (KIP-664)."""
    return last_timestamp_ms > 0 and now_ms - last_timestamp_ms > max_transaction_timeout_ms + LATE_BUFFER_MS


def decide_expiry(entry: ProducerEntry, producer_is_silent: bool, guard_is_old: bool) -> int:
    """The event that forgetting is: EXPIRE_PRODUCER, EXPIRE_VERIFICATION or NOTHING (§3.7, §3.4 step 8).

    `producer_is_silent` as ``should_expire`` says; `guard_is_old`: the verification entry was made that long ago. A
    producer that is being verified is kept until its guard is old too.
    """
    if entry.guard != 0:
        if not guard_is_old:
            return NOTHING
        forgotten = not entry.known or producer_is_silent
        return int(PartitionEvent.EXPIRE_PRODUCER if forgotten else PartitionEvent.EXPIRE_VERIFICATION)
    return int(PartitionEvent.EXPIRE_PRODUCER) if entry.known and producer_is_silent else NOTHING


def evolve_expiry(entry: ProducerEntry, event: int, state: int) -> None:
    """The guard, or the producer with its guard, is forgotten; `state` is what the table says."""
    drop_guard(entry)
    entry.state = state
    if event == PartitionEvent.EXPIRE_PRODUCER:
        forget_batches(entry)
        entry.known = False
        entry.producer_epoch = NONE
        entry.coordinator_epoch = NONE
