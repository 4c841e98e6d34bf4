"""A member of a group of the consumer protocol (KIP-848): heartbeats say what it reads, answers what it gets.

Theory of operation: one task beats, as often as the broker says. A heartbeat whose answer was lost is followed by one
that says all there is to say. The broker assigns; nobody waits for others.
Source: KIP-848; ``ConsumerHeartbeatRequestManager.java``, ``ConsumerMembershipManager.java``.
"""

from collections.abc import Iterable

from zombieproof.clients.consumer_errors import ConsumerFailure, GroupRefused
from zombieproof.clients.group_link import GroupLink, MemberReaction, reaction_to
from zombieproof.clients.settings import ConsumerSettings
from zombieproof.clients.tasks import Pause, Steps, Task, Tasks
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer
from zombieproof.model.vocabulary import NONE

VERSION = 0
JOINS, LEAVES = 0, -1
"""The epochs with which a member comes and goes."""


class ConsumerMembership:
    """One member.

    Args:
        link: the way to the coordinator of its group.
        tasks: where its heartbeats are under way.
    """

    keeps_partitions = True

    def __init__(self, settings: ConsumerSettings, link: GroupLink, tasks: Tasks) -> None:
        self._settings, self._link, self._tasks = settings, link, tasks
        self.member, self.epoch = "", JOINS
        self.is_lost = False
        self.news: tuple[TopicPartition, ...] | None = None
        self._topics: tuple[str, ...] = ()
        self._says_all = True
        self._beat: Task[None] | None = None
        self._failure: ConsumerFailure | None = None
        self._polled_ms = self._now_ms

    @property
    def _now_ms(self) -> int:
        return self._tasks.transport.now_ms()

    @property
    def metadata(self) -> GroupMetadata:
        """Group, member and its epoch."""
        return GroupMetadata(self._link.group, self.epoch if self.epoch > JOINS else NONE, self.member)

    @property
    def wants_preparation(self) -> bool:
        """Whether it is to join, and does not yet."""
        return bool(self._topics) and self._beat is None and self._failure is None

    def subscribe(self, topics: Iterable[str]) -> None:
        """Read these topics: the next heartbeat says so, and goes out at once."""
        self._topics, self._says_all = tuple(sorted(set(topics))), True
        self._stop_beating()

    def is_polled(self) -> None:
        """The application lives."""
        self._polled_ms = self._now_ms

    def look(self) -> None:
        """Whether the group takes the member.

        Raises:
            ConsumerFailure: it does not.
        """
        if self._failure is not None:
            raise self._failure

    def begin(self, owned: Iterable[TopicPartition]) -> None:
        """Join, or go on."""
        self._beat = self._tasks.start(self._beating())

    def taken(self, partitions: Iterable[TopicPartition], *, gave_back: bool) -> None:
        """The application has what was assigned."""
        self.news = None

    def forget(self) -> None:
        """It is no member any more."""
        self.epoch, self.is_lost, self.news, self._says_all = JOINS, True, None, True

    def stop(self) -> None:
        """Does not beat."""
        self._stop_beating()

    def leave(self) -> Task[None] | None:
        """Go."""
        self._stop_beating()
        leaving = self._tasks.start(self._leaving()) if self.member and self.epoch > JOINS else None
        self.epoch, self.news, self.is_lost, self._topics, self._says_all = JOINS, None, False, (), True
        return leaving

    def _stop_beating(self) -> None:
        if self._beat is not None:
            self._tasks.stop(self._beat)
            self._beat = None

    # ---------------------------------------------------------------- beating

    def _beating(self) -> Steps[None]:
        """Until the member is none any more."""
        while True:
            topics = self._topics if self._says_all else None
            request = ConsumerGroupHeartbeat(VERSION, self._link.group, self.member, self.epoch, topics)
            answer = yield from self._link.ask(request)
            if not isinstance(answer, ConsumerGroupHeartbeatAnswer):
                self._says_all = True
                continue
            reaction = reaction_to(answer.error)
            if reaction is MemberReaction.GO_ON:
                self._take(answer)
                yield from self._pausing(answer.heartbeat_interval_ms)
            elif reaction in (MemberReaction.AGAIN, MemberReaction.LOOK_UP):
                yield from self._link.come_again(reaction)
            elif reaction is MemberReaction.REFUSED or self.epoch == JOINS:
                self._failure = GroupRefused(answer.error, f"group {self._link.group} does not take the member")
                break
            else:
                self.forget()
                break
            if self._now_ms >= self._polled_ms + self._settings.max_poll_interval_ms:
                yield from self._leaving()
                self.forget()
                break
        self._beat = None

    def _take(self, answer: ConsumerGroupHeartbeatAnswer) -> None:
        self.member, self.epoch, self._says_all = answer.member, answer.epoch, False
        if answer.assignment is not None:
            self.news = answer.assignment

    def _pausing(self, interval_ms: int) -> Steps[None]:
        due_ms = self._now_ms + interval_ms
        while self._now_ms < due_ms:
            end_ms = self._polled_ms + self._settings.max_poll_interval_ms
            if self._now_ms >= end_ms:
                return
            yield Pause(min(due_ms, end_ms))

    def _leaving(self) -> Steps[None]:
        yield from self._link.ask(ConsumerGroupHeartbeat(VERSION, self._link.group, self.member, LEAVES))
