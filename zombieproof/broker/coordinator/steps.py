"""How this broker runs the steps of the coordinator's machine: look up, hand in, tell the journal what was noted.

Source: ``zombieproof.statemachines.coordinator``.
"""

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.coordinator.effects import Append
from zombieproof.broker.coordinator.producer_ids import ProducerIds
from zombieproof.broker.coordinator.store import TransactionStore
from zombieproof.broker.coordinator.waiting import Waiter
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines import notes as noting
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects, clear
from zombieproof.statemachines.coordinator.records import Office, PendingTransition
from zombieproof.statemachines.notes import Notes


class InvalidTransition(Exception):
    """A durable record that may not follow what is in memory: in Kafka an ``IllegalStateException`` (§2.4)."""


class Steps:
    """What every step of a coordinator needs. `effects` are those of the last step, until the next one begins.

    The scratch records are used again for each step, and are no part of a copy.
    """

    __slots__ = ("_partition", "clock", "effects", "journal", "notes", "producer_ids", "rules", "store")

    def __init__(
        self, rules: Rules, clock: Clock, journal: Journal, producer_ids: ProducerIds, store: TransactionStore
    ) -> None:
        self.rules, self.clock, self.journal = rules, clock, journal
        self.producer_ids, self.store = producer_ids, store
        self.effects, self.notes, self._partition = CoordinatorEffects(), Notes(), NONE

    def __reduce__(self) -> tuple[type["Steps"], tuple[Rules, Clock, Journal, ProducerIds, TransactionStore]]:
        return Steps, (self.rules, self.clock, self.journal, self.producer_ids, self.store)

    def begin(self, transactional_id: str) -> tuple[Transaction, Office]:
        """A step about an id comes: its transaction (a new one that is not known, if there is none), and the office."""
        clear(self.effects)
        noting.clear(self.notes, 0)
        place, transaction = self.store.find(transactional_id)
        self._partition, peeked = place.partition, self.producer_ids.peek()
        fresh = NONE if peeked is None else peeked
        now_ms = self.clock.now_ms()
        office = Office(place.is_loading, place.leads, place.coordinator_epoch, fresh, now_ms)
        return transaction or Transaction(), office

    def end(self, transactional_id: str, transaction: Transaction, subject: str | None = None) -> None:
        """The step is through: tell the journal, and carry out what concerns ids.

        Raises:
            IllegalTransition: the step wanted a move that the table does not have.
            InvalidTransition: a durable record may not follow what is in memory.
        """
        self.journal.take(transactional_id if subject is None else subject, self.notes)
        if self.notes.contradicts:
            raise InvalidTransition(
                f"{transactional_id!r}: the log holds a record that may not follow {transaction}; "
                "its transition was not pending, or is of another producer"
            )
        if self.effects.takes_producer_id or self.effects.lacks_producer_id:
            self.producer_ids.next()
        if self.effects.holds:
            self.store.insert(self._partition, transactional_id, transaction)
        elif self.effects.drops:
            self.store.drop(self._partition, transactional_id)

    def append(self, transactional_id: str, pending: PendingTransition, waiter: Waiter) -> list[Append]:
        """What the step wants appended, on its way into the log."""
        if not self.effects.appends:
            return []
        return [self.store.send(self._partition, transactional_id, pending, waiter)]
