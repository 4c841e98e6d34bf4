"""How a consumer reaches the coordinator of its group, and what an error of it means to a member.

Source: ``AbstractCoordinator.java``, ``ConsumerCoordinator.java``.
"""

from collections.abc import Mapping
from enum import Enum, auto

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.clients.settings import ConsumerSettings
from zombieproof.clients.tasks import Ask, Pause, Steps
from zombieproof.clients.transactional_requests import GROUP
from zombieproof.clients.transport import Transport
from zombieproof.messages.groups import CoordinatorFound, FindCoordinator
from zombieproof.model.vocabulary import Error

FIND_COORDINATOR_VERSION = 6
MOST_DOUBLINGS = 31


class MemberReaction(Enum):
    """What a member does about an error."""

    GO_ON = auto()
    AGAIN = auto()
    """The same once more, a little later."""
    LOOK_UP = auto()
    """The same at another coordinator."""
    REJOIN = auto()
    """It joins the next generation."""
    BEGIN_ANEW = auto()
    """It is no member any more: what it had is lost."""
    RENEW = auto()
    """The same as who it is by now; if that is who it was, it is no member any more."""
    FENCED = auto()
    """Another one has its instance."""
    REFUSED = auto()
    """Somebody has to do something about it."""


REACTIONS: Mapping[int, MemberReaction] = {
    Error.NONE: MemberReaction.GO_ON,
    Error.COORDINATOR_LOAD_IN_PROGRESS: MemberReaction.AGAIN,
    Error.UNKNOWN_TOPIC_OR_PARTITION: MemberReaction.AGAIN,
    Error.UNSTABLE_OFFSET_COMMIT: MemberReaction.AGAIN,
    Error.REQUEST_TIMED_OUT: MemberReaction.AGAIN,
    Error.COORDINATOR_NOT_AVAILABLE: MemberReaction.LOOK_UP,
    Error.NOT_COORDINATOR: MemberReaction.LOOK_UP,
    Error.REBALANCE_IN_PROGRESS: MemberReaction.REJOIN,
    Error.MEMBER_ID_REQUIRED: MemberReaction.REJOIN,
    Error.ILLEGAL_GENERATION: MemberReaction.BEGIN_ANEW,
    Error.UNKNOWN_MEMBER_ID: MemberReaction.BEGIN_ANEW,
    Error.FENCED_MEMBER_EPOCH: MemberReaction.BEGIN_ANEW,
    Error.STALE_MEMBER_EPOCH: MemberReaction.RENEW,
    Error.GROUP_ID_NOT_FOUND: MemberReaction.BEGIN_ANEW,
    Error.FENCED_INSTANCE_ID: MemberReaction.FENCED,
}
"""What is not here is REFUSED."""


def reaction_to(error: int) -> MemberReaction:
    """What a member does about an error."""
    return REACTIONS.get(error, MemberReaction.REFUSED)


class GroupLink:
    """The coordinator of one group, looked up when it is not known."""

    def __init__(self, transport: Transport, settings: ConsumerSettings, group: str) -> None:
        self._transport, self._settings, self.group = transport, settings, group
        self.node: int | None = None
        self._failures, self._has_backed_off = 0, False

    def ask(self, request: Request, timeout_ms: int | None = None) -> Steps[Answer | None]:
        """Ask the coordinator; None: it could not be found, or did not answer, and a back-off is over."""
        timeout_ms = self._settings.request_timeout_ms if timeout_ms is None else timeout_ms
        if not self._has_backed_off:
            self._failures = 0
        self._has_backed_off = False
        if self.node is None:
            yield from self._look_up()
        if self.node is None:
            return None
        answer = yield Ask(self.node, request, timeout_ms)
        if answer is None:
            self.node = None
            yield self.back_off()
        return answer

    def _look_up(self) -> Steps[None]:
        request = FindCoordinator(FIND_COORDINATOR_VERSION, self.group, GROUP)
        answer = yield Ask(None, request, self._settings.request_timeout_ms)
        if isinstance(answer, CoordinatorFound) and answer.error == Error.NONE:
            self.node = answer.node
        else:
            yield self.back_off()

    def come_again(self, reaction: MemberReaction) -> Steps[None]:
        """Wait a little before the same is asked again; at a coordinator that is looked up, where it is another one."""
        if reaction is MemberReaction.LOOK_UP:
            self.node = None
        yield self.back_off()

    def back_off(self) -> Pause:
        """A pause before something is tried again: twice as long each time, up to a limit (KIP-580)."""
        settings = self._settings
        grown_ms = settings.retry_backoff_ms << min(self._failures, MOST_DOUBLINGS)
        self._failures, self._has_backed_off = self._failures + 1, True
        pause_ms = max(settings.retry_backoff_ms, min(grown_ms, settings.retry_backoff_max_ms))
        return Pause(self._transport.now_ms() + pause_ms)
