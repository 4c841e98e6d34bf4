"""The producer client: moves that answers lead to, and what a failure makes of the producer.

Theory of operation: a failure ends the transaction (only abort is left) or the producer. A move that the table does not
have is a mistake of ours where an answer asked for it: the producer is then at its end, as Kafka's poisons itself.
Source: reference §5.1, §5.5, §5.6; ``TransactionManager.transitionTo``, ``abortableErrorIfPossible``,
``maybeTransitionToErrorState``.
"""

from zombieproof.model.decisions.producer_client import event_of_reaction, wants_raised_epoch
from zombieproof.model.vocabulary import NOTHING, ProducerEvent, ProducerState
from zombieproof.statemachines.kernel import ILLEGAL
from zombieproof.statemachines.notes import PRODUCER_TABLE, MachineIndex, Notes, move
from zombieproof.statemachines.producer.effects import ProducerEffects
from zombieproof.statemachines.producer.records import Producer


def happen(producer: Producer, event: int, effects: ProducerEffects, notes: Notes) -> bool:
    """An answer moves the producer by `event`; False if it cannot. A producer at its end handles nothing."""
    if producer.state == ProducerState.FATAL_ERROR:
        return False
    if PRODUCER_TABLE[producer.state][event] != ILLEGAL:
        producer.state = move(notes, MachineIndex.PRODUCER, producer.state, event)
        return True
    move(notes, MachineIndex.PRODUCER, producer.state, event)
    effects.illegal = event
    effects.gives_up = True
    producer.state = move(notes, MachineIndex.PRODUCER, producer.state, ProducerEvent.FATAL_FAILURE)
    return False


def fail(producer: Producer, reaction: int, api: int, effects: ProducerEffects, notes: Notes) -> None:
    """A failure: `api` names what was asked, NONE if nothing was.

    Whether a raised epoch is wanted is decided in the state in which the failure finds the producer.
    """
    if wants_raised_epoch(reaction, api, producer.state, producer.transaction_version):
        producer.bump = True
    event = event_of_reaction(producer.state, reaction)
    if event != NOTHING and happen(producer, event, effects, notes):
        effects.fails = True
    if producer.state == ProducerState.FATAL_ERROR:
        producer.raises = False
        effects.gives_up = True
