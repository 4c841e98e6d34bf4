"""What a step of the producer client wants done: the host clears it before the step and carries it out after."""

from dataclasses import dataclass
from enum import IntEnum

from zombieproof.model.fields import integer
from zombieproof.model.vocabulary import NONE, NOTHING


class Refusal(IntEnum):
    """Why a call of the application is refused; nothing was changed then."""

    ALLOWED = 0
    NOT_TRANSACTIONAL = 1
    ANOTHER_IS_PENDING = 2
    AFTER_ERROR = 3
    ILLEGAL = 4
    NOT_IN_TRANSACTION = 5
    NO_MEMBER = 6
    NOT_TWO_PHASE = 7
    NOTHING_PREPARED = 8


class Settlement(IntEnum):
    """What becomes of the call behind a request."""

    OPEN = 0
    SUCCEEDS = 1
    FAILS = 2


class Turn(IntEnum):
    """What becomes of the request whose turn it is."""

    WAITS = 0
    LEAVES = 1
    FAILS_UNSENT = 2
    IS_SKIPPED = 3


class Fate(IntEnum):
    """What becomes of a batch."""

    UNTOUCHED = 0
    STORED = 1
    REPEATED = 2
    SPLIT = 3
    FAILED = 4


class Joins(IntEnum):
    """What becomes of the partitions that a call or an answer is about."""

    NOTHING = 0
    HAVE_TO_ASK = 1
    JOIN = 2
    ARE_REFUSED = 3


@dataclass(slots=True)
class ProducerEffects:
    """What a step wants done, in the order in which a host does it.

    Of a call: `refusal`; `resumes`: it is the call that was not waited for, and gets the same result.
    Of the state: `illegal` names the event that the table did not have; `fails`: the failure at hand explains the state
    from now on; `gives_up`: what waits and is under way fails with it, and no answer is handled any more.
    Of batches: `fate`, with `base_offset` of one that is stored, NONE if it is not known where; `application_error`: as
    what error the failure of a batch reaches the producer; `fails_unsent` and `fails_batches`: those without a
    sequence, or all, fail as well.
    Of sequences: `forgets_sequences` and `forgets_partition`: all, or those of the partition, are gone; `adopts`: every
    partition is shown the new identity (`sequences.adopt`); `restarts`: every partition that wanted it begins again
    (`sequences.restart_if_wanted`); `renumbers`: what is in flight on the partition is numbered anew
    (`sequences.take_number`); `shifts`: what is in flight behind the batch moves down by so many; `producer_id`,
    `producer_epoch` and `base_sequence`: what a batch is numbered with.
    Of what joins: `joins`; `drops_new`: what has not asked yet will not; `ends`: nothing is joined any more.
    Of requests: `looks_up`: the coordinator has to be found first; `repeats`: the request waits again, `wait_ms` long;
    `settles`: the call behind it is over; `turn` and `version` of a request whose turn it is; `unsupported`: no version
    can say it. Then new ones: `sends`, an API key, and `sends_init` behind it, both for the same call; `raises_epoch`:
    that InitProducerId presents the identity that it raises; `committed` of EndTxn; `transaction_version` of `sends`.
    `starts_over`: the failure is an initialisation that was refused for lack of rights.
    """

    refusal: int = 0
    resumes: bool = False
    illegal: int = 0
    fails: bool = False
    gives_up: bool = False
    fate: int = 0
    base_offset: int = integer(NONE, width="i8")
    application_error: int = 0
    fails_unsent: bool = False
    fails_batches: bool = False
    forgets_sequences: bool = False
    forgets_partition: bool = False
    adopts: bool = False
    restarts: bool = False
    renumbers: bool = False
    shifts: int = 0
    producer_id: int = integer(NONE)
    producer_epoch: int = integer(NONE)
    base_sequence: int = integer(NONE)
    joins: int = 0
    drops_new: bool = False
    ends: bool = False
    looks_up: bool = False
    repeats: bool = False
    wait_ms: int = integer(0, width="i4")
    settles: int = 0
    turn: int = 0
    version: int = integer(NONE)
    unsupported: bool = False
    sends: int = integer(NONE)
    committed: bool = False
    transaction_version: int = 0
    sends_init: bool = False
    raises_epoch: bool = False
    starts_over: bool = False


def clear(effects: ProducerEffects) -> None:
    """Nothing is wanted."""
    effects.refusal = Refusal.ALLOWED
    effects.resumes = False
    effects.illegal = NOTHING
    effects.fails = False
    effects.gives_up = False
    effects.fate = Fate.UNTOUCHED
    effects.base_offset = NONE
    effects.application_error = 0
    effects.fails_unsent = False
    effects.fails_batches = False
    effects.forgets_sequences = False
    effects.forgets_partition = False
    effects.adopts = False
    effects.restarts = False
    effects.renumbers = False
    effects.shifts = 0
    effects.producer_id = NONE
    effects.producer_epoch = NONE
    effects.base_sequence = NONE
    effects.joins = Joins.NOTHING
    effects.drops_new = False
    effects.ends = False
    effects.looks_up = False
    effects.repeats = False
    effects.wait_ms = 0
    effects.settles = Settlement.OPEN
    effects.turn = Turn.WAITS
    effects.version = NONE
    effects.unsupported = False
    effects.sends = NONE
    effects.committed = False
    effects.transaction_version = 0
    effects.sends_init = False
    effects.raises_epoch = False
    effects.starts_over = False
