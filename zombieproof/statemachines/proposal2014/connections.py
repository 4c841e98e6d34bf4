"""What a coordinator, and a leader, keep of a producerId: the newest generation, and who is connected with it.

Source: reference §10.7.
"""

from zombieproof.model.proposal2014.records import KnownProducer
from zombieproof.model.vocabulary import NONE


def connect(known: KnownProducer, instance: int, generation: int) -> None:
    """An instance is heard with its generation."""
    hear_of(known, generation)
    if generation == known.generation and known.connected == 0:
        known.connected = instance + 1


def hear_of(known: KnownProducer, generation: int) -> None:
    """There is this generation; a newer one is connected with nobody yet."""
    if generation > known.generation:
        known.generation = generation
        known.connected = 0
        known.closed = False


def forget(known: KnownProducer) -> None:
    """Nothing is known of the producerId."""
    known.generation = NONE
    known.connected = 0
    known.closed = False
