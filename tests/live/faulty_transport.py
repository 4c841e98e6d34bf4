"""A way to a cluster in this process that loses, doubles and holds messages as a test says.

What is lost is a connection, with everything that is on its way there: on one connection nothing overtakes.
"""

from collections.abc import Callable
from typing import Literal

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import CLIENT, Message
from zombieproof.clients.transport import ClusterTransport
from zombieproof.messages.partitions import Produce

Fate = Literal["arrives", "is lost", "is doubled", "is held"]
Plan = Callable[[Message], Fate]
"""What becomes of a message between a client and a broker, asked once for each."""


def arrives(_: Message) -> Fate:
    return "arrives"


class FaultyTransport(ClusterTransport):
    """`plan` decides about every message of clients; `seen` are the requests that were sent, with copies."""

    def __init__(self, cluster: Cluster, plan: Plan = arrives) -> None:
        super().__init__(cluster)
        self.plan = plan
        self.seen: list[Message] = []
        self.held: list[Message] = []
        self._asked: set[tuple[int, bool]] = set()

    def deliver(self) -> bool:
        network = self.cluster.network
        while network.in_flight:
            message = network.in_flight[0]
            if CLIENT not in (message.sender, message.receiver) or message.body is None:
                break
            key = message.number, message.is_answer
            if key in self._asked:
                break
            self._asked.add(key)
            if not message.is_answer:
                self.seen.append(message)
            fate = self.plan(message)
            if fate == "is lost":
                self.cut(message.sender if message.is_answer else message.receiver)
            elif fate == "is doubled":
                network.double(message)
                self._asked.add((network.in_flight[-1].number, False))
            elif fate == "is held":
                network.in_flight.remove(message)
                self.held.append(message)
            else:
                break
        return super().deliver()

    def cut(self, node: int) -> None:
        """The connections to a node end: what is on its way is lost, and who waits sees the end."""
        network = self.cluster.network
        ends = {CLIENT, node}
        network.in_flight = [
            each for each in network.in_flight if {each.sender, each.receiver} != ends or each.body is None
        ]
        for exchange in network.exchanges.values():
            if exchange.node == node and not exchange.is_over:
                network.answer(exchange.number, node, CLIENT, None)

    def release(self) -> None:
        """What was held is in flight again."""
        self.cluster.network.in_flight += self.held
        self.held = []

    @property
    def produces(self) -> list[Produce]:
        """The Produce requests that were sent."""
        return [message.body for message in self.seen if isinstance(message.body, Produce)]
