"""Messages on their way, under a plan: held back, doubled; of those between brokers also lost, or never there.

A late request has set out when it was sent: it is in flight all the time, so that whoever judges the run knows whose
it is, and it is lost with the broker that it goes to. Whoever drives the cluster lets `look` see what is in flight
before each delivery, so nothing arrives unseen.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from zombieproof.broker.cluster.network import CLIENT, Message, Request
from zombieproof.wire.plan.calls import Call
from zombieproof.wire.plan.kinds import Blackhole, Command, DelayOn, DisconnectOn, Duplicate, Effect
from zombieproof.wire.plan.player import Armed
from zombieproof.wire.plan.selection import Sender, Until

if TYPE_CHECKING:
    from zombieproof.wire.plan.play import Play


class Links:
    """The messages of a play."""

    def __init__(self, play: Play) -> None:
        self._play, self._cluster = play, play.embedded.cluster
        self._last = 0
        self._held: set[int] = set()
        self._asked: dict[int, tuple[Call, list[Armed]]] = {}
        self._answer_is_lost: set[int] = set()

    def holds(self, message: Message) -> bool:
        """Whether a message waits."""
        return not message.is_answer and message.number in self._held

    def look(self) -> None:
        """See what is in flight that was not there before."""
        for message in tuple(self._cluster.network.in_flight):
            if message.is_answer:
                self._see_answer(message)
            elif message.number > self._last:
                self._last = message.number
                if message.sender != CLIENT and isinstance(message.body, Request):
                    self._see(message, message.body)

    def _see(self, message: Message, body: Request) -> None:
        call = self._play.called(body, Sender.BROKER, message.receiver)
        for go_on in self._play.player.take_for_request(call, behind=False):
            go_on()
        met = self._play.met(call)
        self._asked[message.number] = call, met
        self._play.command(met, call, Effect.BEFORE)
        fate = next((each for each in met if not isinstance(each.fault.does, Command)), None)
        if fate is not None and message in self._cluster.network.in_flight:
            self._take_its_way(message, fate)

    def _take_its_way(self, message: Message, fate: Armed) -> None:
        match fate.fault.does:
            case DelayOn(until=until):
                self.hold(message.number, fate, until)
            case Blackhole():
                self._held.add(message.number)
            case DisconnectOn(effect=Effect.BEFORE):
                self._cluster.lose(message)
            case DisconnectOn():
                self._answer_is_lost.add(message.number)
            case Duplicate(until=until):
                self.double(message.number, fate, until)

    def hold(self, number: int, fate: Armed, until: Until, *, behind: bool = False) -> None:
        """A request in flight does not arrive before something is there."""
        self._held.add(number)
        self._play.wait(fate, until, partial(self._let_go, number), behind=behind)

    def double(self, number: int, fate: Armed, until: Until | None) -> None:
        """A request in flight is there twice; the copy may wait."""
        message = self._request(number)
        if message is not None:
            copy = self._cluster.double(message)
            self._last = max(self._last, copy.number)
            if until is not None:
                self.hold(copy.number, fate, until)

    def _let_go(self, number: int) -> None:
        """It arrives behind everything that is in flight now."""
        self._held.discard(number)
        message, in_flight = self._request(number), self._cluster.network.in_flight
        if message is not None:
            in_flight.remove(message)
            in_flight.append(message)

    def _request(self, number: int) -> Message | None:
        """The request of a number, if it is in flight."""
        found = (each for each in self._cluster.network.in_flight if each.number == number and not each.is_answer)
        return next(found, None)

    def _see_answer(self, message: Message) -> None:
        if message.number in self._answer_is_lost:
            self._answer_is_lost.discard(message.number)
            if message.body is not None:
                self._cluster.lose(message)
        known = self._asked.pop(message.number, None)
        if known is not None:
            call, met = known
            self._play.command(met, call, Effect.AFTER)
            self._play.answered(call)
