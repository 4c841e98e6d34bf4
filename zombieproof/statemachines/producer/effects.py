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
    from now on; `gives_up`: what waits and is under way fails with it, and nobody hears an answer any more.
    Of batches: `fate`, with `base_offset` of one that is stored, NONE if it is not known where; `told`: the error as
    which the failure of a batch reaches the producer; `fails_unsent` and `fails_batches`: those without a sequence, or
    all, fail as well.
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
    resumes: int = 0
    illegal: int = 0
    fails: int = 0
    gives_up: int = 0
    fate: int = 0
    base_offset: int = integer(NONE, width="i8")
    told: int = 0
    fails_unsent: int = 0
    fails_batches: int = 0
    forgets_sequences: int = 0
    forgets_partition: int = 0
    adopts: int = 0
    restarts: int = 0
    renumbers: int = 0
    shifts: int = 0
    producer_id: int = integer(NONE)
    producer_epoch: int = integer(NONE)
    base_sequence: int = integer(NONE)
    joins: int = 0
    drops_new: int = 0
    ends: int = 0
    looks_up: int = 0
    repeats: int = 0
    wait_ms: int = integer(0, width="i4")
    settles: int = 0
    turn: int = 0
    version: int = integer(NONE)
    unsupported: int = 0
    sends: int = integer(NONE)
    committed: int = 0
    transaction_version: int = 0
    sends_init: int = 0
    raises_epoch: int = 0
    starts_over: int = 0


def clear(effects: ProducerEffects) -> None:
    """Nothing is wanted."""
    effects.refusal = Refusal.ALLOWED
    effects.resumes = 0
    effects.illegal = NOTHING
    effects.fails = 0
    effects.gives_up = 0
    effects.fate = Fate.UNTOUCHED
    effects.base_offset = NONE
    effects.told = 0
    effects.fails_unsent = 0
    effects.fails_batches = 0
    effects.forgets_sequences = 0
    effects.forgets_partition = 0
    effects.adopts = 0
    effects.restarts = 0
    effects.renumbers = 0
    effects.shifts = 0
    effects.producer_id = NONE
    effects.producer_epoch = NONE
    effects.base_sequence = NONE
    effects.joins = Joins.NOTHING
    effects.drops_new = 0
    effects.ends = 0
    effects.looks_up = 0
    effects.repeats = 0
    effects.wait_ms = 0
    effects.settles = Settlement.OPEN
    effects.turn = Turn.WAITS
    effects.version = NONE
    effects.unsupported = 0
    effects.sends = NONE
    effects.committed = 0
    effects.transaction_version = 0
    effects.sends_init = 0
    effects.raises_epoch = 0
    effects.starts_over = 0
