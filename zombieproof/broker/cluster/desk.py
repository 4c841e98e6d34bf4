"""Where the parts of a broker leave what has to wait, ask other brokers, and answer.

Theory of operation: a part that cannot finish hands over an operation, and gets it back through `go_on` (what it has
judged) or `handle` (what its request was answered with; None: the connection was lost, or the time is over), in the
step that changed what it waited for. An operation that raises an error then ends alone (`failed`): the step is that of
another request. Whoever hangs up is not answered; what waited for him is dropped.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from zombieproof.broker.authorization.door import Visit
from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.network import CLIENT, Answer, Network, Request
from zombieproof.broker.cluster.operations import (
    Answered,
    Asking,
    HeldAnswer,
    Judged,
    Need,
    OfRequest,
    Operation,
)
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.cluster.waiting import FOR_EVER, Key, Waits
from zombieproof.broker.partition.service import PartitionService
from zombieproof.messages.partitions import ConnectionClosed
from zombieproof.messages.schema import in_version
from zombieproof.model.access import AclOperation, ResourceType
from zombieproof.model.vocabulary import Error


@dataclass(slots=True)
class Desk:
    """The desk of one broker. `requesters`: who sent which request that is not answered yet, and in which version.

    `visits`: those of them that came in by a door that asks for rights.
    """

    node_id: int
    network: Network
    clock: Clock
    settings: Settings
    partitions: PartitionService
    go_on: Callable[[Judged, Answer | int], None]
    handle: Callable[[Asking, Answer | None], None]
    failed: Callable[[object, int | None, Exception], None]
    waits: Waits[Operation] = field(default_factory=Waits)
    requesters: dict[int, tuple[int, int]] = field(default_factory=dict)
    visits: dict[int, Visit] = field(default_factory=dict)

    def may(self, number: int, operation: AclOperation, resource: ResourceType, name: str) -> bool:
        """Whether the sender of request `number` may do something; where nobody asks for rights, everybody may."""
        visit = self.visits.get(number)
        return visit is None or visit.may(operation, resource, name)

    # ---------------------------------------------------------------- waiting

    def wait(self, operation: Judged, keys: tuple[Key, ...], until_ms: int = FOR_EVER) -> None:
        """Go on with `operation` now, or when one of `keys` has changed, or at a time."""
        result = operation.judge(self.partitions, self.clock.now_ms(), is_over=False)
        if result is None:
            self.waits.add(operation, keys, until_ms)
        else:
            self.go_on(operation, result)

    def changed(self, key: Key) -> None:
        """Whoever waits for a change of `key` looks again."""
        for ticket in self.waits.tickets(key):
            operation = self.waits.get(ticket)
            if isinstance(operation, Judged):
                self._look_again(ticket, operation, is_over=False, changed=key)

    def end_waits(self) -> None:
        """What has waited for long enough goes on as it can."""
        for ticket in self.waits.overdue(self.clock.now_ms()):
            operation = self.waits.get(ticket)
            if isinstance(operation, Judged):
                self._look_again(ticket, operation, is_over=True)
            elif operation is not None and not isinstance(operation, Answered):
                self.waits.remove(ticket)
                self._hand_over(operation, None)

    def _look_again(self, ticket: int, operation: Judged, is_over: bool, changed: Key | None = None) -> None:
        try:
            result = operation.judge(self.partitions, self.clock.now_ms(), is_over, changed)
            if result is not None:
                self.waits.remove(ticket)
                self.go_on(operation, result)
        except Exception as error:  # noqa: BLE001  # `failed` raises what it does not contain
            self.waits.remove(ticket)
            self.failed(operation, operation.number if isinstance(operation, OfRequest) else None, error)

    def _hand_over(self, operation: Asking, answer: Answer | None) -> None:
        try:
            self.handle(operation, answer)
        except Exception as error:  # noqa: BLE001  # `failed` raises what it does not contain
            self.failed(operation, None, error)

    def timeout(self) -> int:
        """When a request or an append that begins now has waited for too long."""
        return self.clock.now_ms() + self.settings.request_timeout_ms

    # ---------------------------------------------------------------- requests to other brokers

    def ask(self, node: int, request: Request, operation: Asking) -> None:
        """Send a request; `operation` waits for the answer."""
        number = self.network.request(self.node_id, node, request)
        self.waits.add(operation, (number,), self.timeout())

    def answered(self, number: int, answer: Answer | None) -> None:
        """A request of this broker is answered, None: the connection was lost; nothing happens if nobody waits."""
        for ticket in self.waits.tickets(number):
            operation = self.waits.get(ticket)
            if isinstance(operation, Asking):
                self.waits.remove(ticket)
                self._hand_over(operation, answer)

    # ---------------------------------------------------------------- answers

    def answer(self, number: int, answer: Answer | ConnectionClosed | None) -> None:
        """Answer request `number`, in its version; None: it gets no answer."""
        sender, version = self.requesters.pop(number, (None, 0))
        visit = self.visits.pop(number, None)
        if visit is not None:
            answer = visit.complete(answer)
        if answer is None:
            self.network.leave_unanswered(number)
        if answer is not None and sender is not None:
            body = None if isinstance(answer, ConnectionClosed) else in_version(answer, version)
            self.network.answer(number, self.node_id, sender, body)

    def answer_when_durable(self, number: int, answer: Answer, needs: tuple[Need, ...]) -> None:
        """Answer request `number` when everything is durable that the answer depends on, which it may be already."""
        for need in needs:
            if need.error(self.partitions, is_over=False) != Error.NONE:
                break
        else:
            self.answer(number, answer)
            return
        self.wait(HeldAnswer(number, answer, needs), (*(need.partition for need in needs), number), self.timeout())

    def close_connection(self, number: int) -> None:
        """Whoever sent request `number` sees the connection end; what waits for the request is dropped."""
        sender, _ = self.requesters.get(number, (CLIENT, 0))
        self.disconnected(number)
        self.network.answer(number, self.node_id, sender, None)

    def disconnected(self, number: int) -> None:
        """Nobody waits for the answer to request `number` any more. What it has done stays done."""
        self.requesters.pop(number, None)
        self.visits.pop(number, None)
        for ticket in self.waits.tickets(number):
            self.waits.remove(ticket)
