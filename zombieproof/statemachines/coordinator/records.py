"""What the steps of a coordinator read and write beside the transaction: inputs, what the host knows, what is pending.

A `PendingTransition` is what a coordinator goes on with when its append has an outcome: plain data, of which a host
keeps one for each append that is under way. Only who waits for the answer (a ticket, a connection) is the host's.

Source: reference §2.5 to §2.14.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from zombieproof.model.fields import integer
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import NONE


class Operation(IntEnum):
    """What asked for a transition, and so what follows its append."""

    NOTHING = 0
    GRANT = 1
    JOIN = 2
    JOIN_OFFSETS = 3
    END_BY_CLIENT = 4
    END_BY_INIT = 5
    END_BY_TIMEOUT = 6
    COMPLETE = 7
    EXPIRE = 8


@dataclass(slots=True)
class PendingTransition:
    """A transition on its way into the log.

    `target` is the record that it makes true, `coordinator_epoch` that under which it was prepared. Of an end:
    `version` says by which rules, `producer_id`, `producer_epoch` and `committed` what was asked (the look behind the
    append compares them), `fences` if a fence preceded it. `asked_version` is the version of the request that is
    answered: of END_BY_INIT another one than that of the end.
    """

    operation: int = 0
    coordinator_epoch: int = integer(NONE)
    asked_version: int = 0
    version: int = 0
    producer_id: int = integer(NONE)
    producer_epoch: int = integer(NONE)
    committed: bool = False
    partitions: int = 0
    fences: bool = False
    target: Transaction = field(default_factory=Transaction)


class Office(NamedTuple):
    """What a coordinator's host knows when it calls a step: how it stands to the id's partition, and its surroundings.

    `next_producer_id` is the one that would be handed out next, NONE if there is none now.
    """

    is_loading: bool
    leads: bool
    coordinator_epoch: int
    next_producer_id: int
    now_ms: int


class InitRequest(NamedTuple):
    """InitProducerId, with the broker's settings that judge it."""

    version: int
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    has_id: bool = True
    id_is_empty: bool = False
    enable_2pc: bool = False
    keep_prepared: bool = False
    two_phase_commit_enabled: bool = False
    max_timeout_ms: int = 1


class IdRequest(NamedTuple):
    """AddPartitionsToTxn, AddOffsetsToTxn or EndTxn about one id: `partitions` is a mask."""

    version: int
    producer_id: int
    producer_epoch: int
    committed: bool = False
    partitions: int = 0
    has_id: bool = True


class DecidedFacts(NamedTuple):
    """What a host keeps of a decided transaction: when and under which coordinator epoch it began to drive it.

    `is_driven` while it is the one that sends the markers and has not appended the completion yet.
    """

    coordinator_epoch: int
    decided_ms: int
    is_driven: bool
