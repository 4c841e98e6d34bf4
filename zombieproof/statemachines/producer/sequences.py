"""The producer client: the sequences of its partitions.

Theory of operation: a partition is numbered under one (producer id, epoch). When the producer gets another identity,
the partition keeps its numbering until nothing is in flight there, and then begins again at 0. A *local bump* (only
without a transactional id) raises the epoch without asking anybody and numbers what is in flight on the partitions
that wanted it anew: the host hands each batch in flight, in order, to `take_number`.
Source: reference §5.6; ``TxnPartitionMap.java``, ``TxnPartitionEntry.java``; KIP-360.
"""

from zombieproof.model.decisions.producer_batches import DrainStanding, advance, may_be_sent
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ProducerState
from zombieproof.statemachines.producer.effects import ProducerEffects
from zombieproof.statemachines.producer.records import Joining, Numbering, Producer, ProducerHost


def sequence_behind(sequence: int, records: int, rules: Rules) -> int:
    """The sequence that is `records` further: behind the largest comes 0."""
    return advance(sequence, records, rules)


def is_stale(producer: Producer, numbering: Numbering) -> bool:
    """Whether the partition was last numbered under another identity than the present one."""
    same_id = numbering.producer_id == producer.producer_id
    return not same_id or numbering.producer_epoch != producer.producer_epoch


def forget(numbering: Numbering) -> None:
    """The partition begins again at 0; that it wanted a raised epoch stays so."""
    numbering.known = False
    numbering.producer_id = NONE
    numbering.producer_epoch = NONE
    numbering.next_sequence = 0
    numbering.last_acked_sequence = NONE
    numbering.last_acked_offset = NONE
    numbering.unresolved = NONE


def restart(producer: Producer, numbering: Numbering, effects: ProducerEffects) -> None:
    """Number from 0, under the present identity; what is in flight first."""
    numbering.known = True
    numbering.producer_id = int(producer.producer_id)
    numbering.producer_epoch = int(producer.producer_epoch)
    numbering.next_sequence = 0
    numbering.last_acked_sequence = NONE
    effects.renumbers = True


def take_number(numbering: Numbering, records: int, rules: Rules, effects: ProducerEffects) -> None:
    """A batch takes the next sequences."""
    effects.producer_id = int(numbering.producer_id)
    effects.producer_epoch = int(numbering.producer_epoch)
    effects.base_sequence = int(numbering.next_sequence)
    numbering.next_sequence = advance(numbering.next_sequence, records, rules)


def number(
    producer: Producer, numbering: Numbering, records: int, in_flight: int, rules: Rules, effects: ProducerEffects
) -> None:
    """A batch leaves for the first time: it gets its identity and its sequences.

    Before, a partition that was last numbered under another identity begins again at 0.
    """
    if is_stale(producer, numbering) and in_flight == 0:
        restart(producer, numbering, effects)
    numbering.known = True
    take_number(numbering, records, rules, effects)


def may_leave(
    producer: Producer,
    numbering: Numbering,
    base_sequence: int,
    in_flight: int,
    lowest_in_flight: int,
    joining: int,
    host: ProducerHost,
) -> bool:
    """Whether the first waiting batch of a partition may leave; `base_sequence` NONE: it never left before.

    `lowest_in_flight` is the smallest sequence in flight there, NONE if there is none.
    """
    joined = producer.state != ProducerState.FATAL_ERROR and (not host.transactional or joining == Joining.JOINED)
    standing = DrainStanding(
        joined=joined,
        has_producer_id=producer.producer_id != NONE,
        has_sequence=base_sequence != NONE,
        in_flight=in_flight,
        is_stale=is_stale(producer, numbering),
        is_unresolved=numbering.unresolved != NONE,
        is_lowest_in_flight=in_flight > 0 and lowest_in_flight == base_sequence,
    )
    return may_be_sent(standing)


def adopt(producer: Producer, numbering: Numbering, in_flight: int, effects: ProducerEffects) -> None:
    """The producer has a new identity: what was numbered while there was none is numbered under it."""
    if numbering.producer_id == NONE and in_flight > 0:
        restart(producer, numbering, effects)


def restart_if_wanted(producer: Producer, numbering: Numbering, effects: ProducerEffects) -> None:
    """The epoch was raised: a partition that wanted it begins again under it, and nothing there is unresolved."""
    if numbering.wants_bump:
        numbering.wants_bump = False
        numbering.unresolved = NONE
        restart(producer, numbering, effects)
