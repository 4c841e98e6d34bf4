"""What a broker asks before a partition's log is looked at: Produce, in its order over partitions; and reads.

Theory of operation: a Produce request passes three doors. `enters` looks at each partition alone, `identities_enter` at
what is left together, `may_ask` at who leads; then the coordinator is asked (``verification``). When its word is there
each partition that nobody refused comes to the log (`lands`), which is the last place where a client's batch is told
apart from others; ``batches.append`` follows.
Source: reference §3.2, §14; ``KafkaApis.handleProduceRequest``, ``ReplicaManager.appendToLocalLog``.
"""

from typing import NamedTuple

from zombieproof.model.decisions.fetch import error_of_read, error_of_topic, error_of_topic_name
from zombieproof.model.decisions.log_validation import FITS, Fit
from zombieproof.model.decisions.produce import (
    allows_codec,
    decide_produce_batch,
    decide_produce_front_door,
    decide_produce_place,
    tells_log_start,
)
from zombieproof.model.decisions.write_txn_markers import error_of_marker_place
from zombieproof.model.records import AppendVerdict, IncomingBatch
from zombieproof.model.vocabulary import NONE, Error, Row
from zombieproof.statemachines.notes import Decision, Notes, note
from zombieproof.statemachines.partition_leader.effects import PartitionEffects, answer


class Entrance(NamedTuple):
    """What is seen of one partition of a Produce request when it comes.

    `any_transactional` and `has_transactional_id` are of the whole request; `batches` is how many there are for the
    partition, `is_zstd` whether the first of them is packed by it; `id_is_known`: version 13 names topics by id.
    """

    any_transactional: bool
    has_transactional_id: bool
    batches: int
    exists: bool
    id_is_known: bool
    version: int
    is_zstd: bool


def enters(entrance: Entrance, effects: PartitionEffects, notes: Notes) -> None:
    """One partition of a Produce request, looked at alone (W1 to W3)."""
    verdict = decide_produce_front_door(
        entrance.any_transactional,
        entrance.has_transactional_id,
        1,
        entrance.batches,
        entrance.exists,
        entrance.id_is_known,
        allows_codec(entrance.version, entrance.is_zstd),
    )
    _pass_or_refuse(verdict, effects, notes)


def identities_enter(identities: int, effects: PartitionEffects, notes: Notes) -> None:
    """The (producer id, epoch) pairs of what is left of the request, looked at together (W4): refused, all are."""
    _pass_or_refuse(decide_produce_front_door(True, True, identities, 1), effects, notes)


def can_open_transaction(batch: IncomingBatch) -> bool:
    """Whether a coordinator may have to be asked about a batch: one without a producer id opens nothing."""
    return batch.transactional and batch.producer_id != NONE


def may_ask(leads: bool, effects: PartitionEffects, notes: Notes) -> None:
    """Who does not lead the partition asks nobody about it."""
    _pass_or_refuse(decide_produce_place(NONE, False, leads), effects, notes)


class Landing(NamedTuple):
    """What is seen of a client's batch when it comes to the log; `is_consistent`: as many records as it says.

    `base_offset` is what the batch itself says, `is_corrupt`: its checksum does not match; `fit`: what
    ``log_validation`` says of it.
    """

    acks: int
    is_internal: bool
    leads: bool
    control: bool
    is_consistent: bool
    in_sync: int
    min_in_sync: int
    base_offset: int
    is_corrupt: bool
    fit: Fit = FITS


def lands(batch: IncomingBatch, landing: Landing, effects: PartitionEffects, notes: Notes) -> None:
    """A client's batch that nobody refused comes to the log: whether this is the place, and the batch whole."""
    verdict = decide_produce_place(landing.acks, landing.is_internal, landing.leads)
    reached = False
    if verdict.error == Error.NONE:
        reached = True
        verdict = decide_produce_batch(
            batch,
            landing.control,
            landing.is_consistent,
            landing.acks == NONE,
            landing.in_sync,
            landing.min_in_sync,
            landing.base_offset,
            landing.is_corrupt,
            landing.fit,
        )
    _pass_or_refuse(verdict, effects, notes)
    effects.tells_log_start = effects.answers and tells_log_start(verdict.error, reached)


def _pass_or_refuse(verdict: AppendVerdict, effects: PartitionEffects, notes: Notes) -> None:
    if verdict.error == Error.NONE:
        effects.goes_on = True
        return
    note(notes, Decision.PRODUCE, verdict.row, verdict.error)
    answer(effects, verdict.error, verdict.row)


def takes_record(leads: bool, in_sync: int, min_in_sync: int) -> int:
    """Whether a log takes a record of its own broker (a transition of a transactional id): the log's error, or NONE."""
    return error_of_marker_place(True, leads, in_sync, min_in_sync)


class ReadPlace(NamedTuple):
    """What a broker knows of a partition that is read; `needs_leader`: no other replica answers such a request.

    `said_epoch`: that of the leader that the request means, NONE: it does not say it; `leader_epoch`: that of the one
    there is.
    `is_legal`: its topic may be called so; only DescribeProducers looks.
    `is_offline`: its log is damaged here, and nothing of it is served.
    """

    exists: bool
    by_unknown_id: bool
    has_replica: bool
    leads: bool
    needs_leader: bool
    said_epoch: int = NONE
    leader_epoch: int = NONE
    is_legal: bool = True
    is_offline: bool = False


class ReadDoor(NamedTuple):
    """An error or NONE; `is_unknown` where no log was asked, because there is no such partition."""

    error: int
    is_unknown: bool


def reads(place: ReadPlace, notes: Notes) -> ReadDoor:
    """Fetch, ListOffsets or DescribeProducers of one partition reaches a broker."""
    if not place.exists and place.by_unknown_id:
        return ReadDoor(error_of_topic(False, True), True)
    error = error_of_topic_name(place.is_legal)
    if error == Error.NONE:
        error = error_of_read(
            place.exists,
            place.has_replica,
            place.leads,
            place.needs_leader,
            place.said_epoch,
            place.leader_epoch,
            place.is_offline,
        )
    note(notes, Decision.FETCH, Row.NO_ROW, error)
    return ReadDoor(error, not place.exists)
