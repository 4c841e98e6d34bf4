"""A producer's record with what its steps want and note: records in, effects out."""

from dataclasses import fields

from zombieproof.model.vocabulary import ProducerState
from zombieproof.statemachines.notes import Notes
from zombieproof.statemachines.producer.effects import ProducerEffects, clear
from zombieproof.statemachines.producer.records import Numbering, Producer, ProducerHost


class Stand:
    """One producer under producer id 7, epoch 2, by transaction version 1, in `state`."""

    def __init__(self, state: ProducerState = ProducerState.READY, transaction_version: int = 1) -> None:
        self.producer = Producer(int(state), 7, 2, transaction_version=transaction_version)
        self.numbering = Numbering(True, 7, 2)
        self.effects, self.notes = ProducerEffects(), Notes()
        self.host = ProducerHost(cluster_version=transaction_version, retry_backoff_ms=100)

    @property
    def state(self) -> ProducerState:
        return ProducerState(self.producer.state)

    def in_state(self, state: ProducerState) -> "Stand":
        self.producer.state = int(state)
        return self

    def wanted(self) -> dict[str, int]:
        """The effects that are not what `clear` leaves; and they are cleared."""
        wants = {f.name: getattr(self.effects, f.name) for f in fields(self.effects)}
        clear(self.effects)
        return {name: int(value) for name, value in wants.items() if value != getattr(self.effects, name)}

    def moves(self) -> list[tuple[int, int]]:
        """(event, target) of what was noted; and it is forgotten."""
        taken = [(noted.event, noted.target) for noted in self.notes.moves[: self.notes.count]]
        self.notes.count = 0
        return taken
