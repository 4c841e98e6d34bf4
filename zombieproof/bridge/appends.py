"""The appends of a twin's coordinators that are under way: in which place of a state each stands, and who waits for it.

The checker gives an append the first free place and keeps it there; a live one is known by its broker and a number.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.bridge.clusters import UnderWay, appends_of
from zombieproof.bridge.commands import COORDINATORS
from zombieproof.bridge.requests import TRANSACTIONAL_IDS
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Message as LiveMessage
from zombieproof.broker.coordinator.waiting import Requester
from zombieproof.checker.transactions.capacities import APPENDS
from zombieproof.model.records import Transaction


class Place(NamedTuple):
    """An append by its broker and the number that it has there; `label` is that of the request that asked for it."""

    node: int
    number: int
    label: int


@dataclass(slots=True)
class Appends:
    """What is beside the cluster of them. `asked` are the requests that coordinators may not have answered."""

    places: list[Place | None] = field(default_factory=lambda: [None] * APPENDS)
    asked: dict[int, LiveMessage] = field(default_factory=dict)

    def update(self, cluster: Cluster, label: int = 0) -> None:
        """Free the places of what is over, and place what is new; a request that asked for it now has `label`."""
        there = appends_of(cluster)
        places = [None if place is None or place[:2] not in there else place for place in self.places]
        known = {place[:2] for place in places if place is not None}
        new = [key for key in there if key not in known]
        for node, number in sorted(new, key=lambda key: (key[0], TRANSACTIONAL_IDS.index(there[key].transactional_id))):
            asks = isinstance(there[node, number].waiter, Requester)
            assert None in places, f"the state holds {APPENDS} appends under way"
            places[places.index(None)] = Place(node, number, label if asks else 0)
        self.places = places
        waits = {each.waiter.ticket for each in there.values() if isinstance(each.waiter, Requester)}
        self.asked = {number: live for number, live in self.asked.items() if number in waits}

    def waiting(self, cluster: Cluster) -> Iterator[tuple[int, LiveMessage]]:
        """Each request that waits for an append, with the place of that."""
        there = appends_of(cluster)
        for i, place in enumerate(self.places):
            waiter = None if place is None or place[:2] not in there else there[place[:2]].waiter
            if isinstance(waiter, Requester) and waiter.ticket in self.asked:
                yield i, self.asked[waiter.ticket]

    def in_place(self, cluster: Cluster) -> list[tuple[Place, UnderWay] | None]:
        """For each place the append that stands there."""
        there = appends_of(cluster)
        return [None if each is None or each[:2] not in there else (each, there[each[:2]]) for each in self.places]


def forget_fresh_metadata(cluster: Cluster, deposed: int, known: Sequence[Transaction]) -> None:
    """A deposed coordinator forgets what it has just made up of an id; `known` is what it held before, by id.

    So does the checker's, in the same step: it can never log it, and its append is refused because of that.
    """
    coordinator = cluster.brokers[deposed].coordinator
    for transactional_id in list(coordinator.entries(COORDINATORS[1])):
        if not known[TRANSACTIONAL_IDS.index(transactional_id)].known:
            coordinator._store.drop(COORDINATORS[1], transactional_id)
