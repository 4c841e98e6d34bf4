"""Messages between clients and brokers, and between brokers: a bag from which whoever drives the cluster delivers.

Source: DESIGN §5: a message can be late, doubled, lost.
"""

from dataclasses import dataclass, field

from zombieproof.broker.authorization.principals import Principal
from zombieproof.messages.admin import AdminAnswer, AdminRequest
from zombieproof.messages.controller import AllocateProducerIds, AllocateProducerIdsAnswer
from zombieproof.messages.groups import CoordinatorFound, FindCoordinator, GroupAnswer, GroupRequest
from zombieproof.messages.partitions import PartitionAnswer, PartitionRequest
from zombieproof.messages.transactions import TransactionAnswer, TransactionRequest

CLIENT = -2
"""The sender of requests that come from outside the cluster: no number that a node can have, and not nobody."""


CLIENT_IN_TRACES = 0
"""The same in a trace: nodes of runs with a trace begin at 1."""


def number_in_traces(sender: int) -> int:
    """Return the number that a trace has for a sender or receiver."""
    return CLIENT_IN_TRACES if sender == CLIENT else sender


Request = TransactionRequest | PartitionRequest | GroupRequest | FindCoordinator | AllocateProducerIds | AdminRequest
Answer = TransactionAnswer | PartitionAnswer | GroupAnswer | CoordinatorFound | AllocateProducerIdsAnswer | AdminAnswer


@dataclass(frozen=True, slots=True)
class Message:
    """A request on its way to a node, or (`is_answer`) the answer to the request of the same `number`.

    An answer without `body` says that the connection was closed: the node went down or refused to go on. `principal`
    is who the client is; None: he has not said it. Of brokers nobody asks.
    """

    number: int
    sender: int
    receiver: int
    body: Request | Answer | None
    is_answer: bool = False
    principal: Principal | None = None


@dataclass(slots=True)
class Exchange:
    """A request of a client and what came of it. `is_closed`: the connection ended instead of an answer."""

    number: int
    node: int
    request: Request
    answer: Answer | None = None
    is_closed: bool = False

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.answer is not None or self.is_closed


@dataclass(slots=True)
class Network:
    """Every message in flight, in the order in which it was sent.

    `over`: the numbers of exchanges for which nobody has to wait any more, for whoever asks for them by giving a list.
    """

    in_flight: list[Message] = field(default_factory=list)
    exchanges: dict[int, Exchange] = field(default_factory=dict)
    over: list[int] | None = None
    _numbers: int = 0

    def request(self, sender: int, receiver: int, body: Request, principal: Principal | None = None) -> int:
        """Put a request in flight; returned is its number."""
        self._numbers += 1
        self.in_flight.append(Message(self._numbers, sender, receiver, body, principal=principal))
        if sender == CLIENT:
            self.exchanges[self._numbers] = Exchange(self._numbers, receiver, body)
        return self._numbers

    def answer(self, number: int, sender: int, receiver: int, body: Answer | None) -> None:
        """Put the answer to request `number` in flight; None closes the connection."""
        self.in_flight.append(Message(number, sender, receiver, body, is_answer=True))

    def arrive(self, message: Message) -> None:
        """An answer reaches its client. What comes twice changes nothing."""
        exchange = self.exchanges.get(message.number)
        if exchange is None or exchange.is_over:
            return
        if message.body is None:
            exchange.is_closed = True
        elif not isinstance(message.body, Request):
            exchange.answer = message.body
        self._end(message.number)

    def leave_unanswered(self, number: int) -> None:
        """Request `number` gets no answer, and its client waits for none."""
        if self.exchanges.pop(number, None) is not None:
            self._end(number)

    def _end(self, number: int) -> None:
        if self.over is not None:
            self.over.append(number)

    def lose(self, message: Message) -> None:
        """`message` does not arrive: whoever waits for the answer to its request sees the connection end."""
        self.in_flight.remove(message)
        waits = message.receiver if message.is_answer else message.sender
        loses = message.sender if message.is_answer else message.receiver
        self.answer(message.number, loses, waits, None)

    def double(self, message: Message) -> None:
        """A request was sent twice: nobody waits for the answer to the copy, which arrives whenever it is delivered.

        Raises:
            ValueError: `message` is an answer, or the end of a connection.
        """
        if message.is_answer or message.body is None or not isinstance(message.body, Request):
            raise ValueError(f"{message} is no request; only requests are sent twice")
        number = self.request(message.sender, message.receiver, message.body, message.principal)
        self.exchanges.pop(number, None)

    def cut_off(self, node: int) -> None:
        """`node` is gone with what was on its way to it, or from it, or was being worked on: who waits sees the end."""
        lost = [message for message in self.in_flight if node in (message.sender, message.receiver)]
        self.in_flight = [message for message in self.in_flight if message not in lost]
        for message in lost:
            if not message.is_answer and message.receiver == node and message.sender != node:
                self.answer(message.number, node, message.sender, None)
            elif message.is_answer and message.sender == node and message.receiver != node:
                self.answer(message.number, node, message.receiver, None)
        on_its_way = {message.number for message in self.in_flight}
        for exchange in self.exchanges.values():
            if exchange.node == node and not exchange.is_over and exchange.number not in on_its_way:
                self.answer(exchange.number, node, CLIENT, None)
