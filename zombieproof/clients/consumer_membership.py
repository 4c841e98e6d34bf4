"""A member of a group of the consumer protocol (KIP-848): heartbeats say what it reads, answers what it gets.

Theory of operation: one task beats, as often as the broker says. A heartbeat whose answer was lost is followed by one
that says all there is to say. The broker assigns; nobody waits for others. What the application has is said when it
has changed, at once: what it gives back others wait for. A static member that goes leaves its place.
Source: KIP-848; ``ConsumerHeartbeatRequestManager.java``, ``ConsumerMembershipManager.java``.
"""

from collections.abc import Iterable

from zombieproof.clients.consumer_errors import ConsumerFailure, FencedInstance, GroupRefused
from zombieproof.clients.group_link import GroupLink, MemberReaction, reaction_to
from zombieproof.clients.settings import ConsumerSettings
from zombieproof.clients.tasks import Pause, Steps, Task, Tasks
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer
from zombieproof.model.vocabulary import NONE

VERSION = 0
JOINS, LEAVES, LEAVES_PLACE = 0, -1, -2
"""The epochs with which a member comes and goes, the last with the intention to come back."""


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
        self._owned: tuple[TopicPartition, ...] = ()
        self._said_owned: tuple[TopicPartition, ...] | None = None
        self._is_pausing = False
        self._beat: Task[None] | None = None
        self._failure: ConsumerFailure | None = None
        self._polled_ms = self._now_ms

    @property
    def _now_ms(self) -> int:
        return self._tasks.transport.now_ms()

    @property
    def metadata(self) -> GroupMetadata:
        """Group, member and its epoch."""
        epoch = self.epoch if self.epoch > JOINS else NONE
        return GroupMetadata(self._link.group, epoch, self.member, self._settings.group_instance_id)

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
        self._owned = tuple(sorted(owned))
        self._beat = self._tasks.start(self._beating())

    def taken(self, partitions: Iterable[TopicPartition], *, gave_back: bool) -> None:
        """The application has what was assigned: the next heartbeat says so, and goes out at once."""
        self.news, self._owned = None, tuple(sorted(partitions))
        if self._is_pausing and self._owned != self._said_owned:
            self._stop_beating()

    def forget(self) -> None:
        """It is no member any more."""
        self.epoch, self.is_lost, self.news, self._says_all = JOINS, True, None, True
        self._owned, self._said_owned = (), None

    def stop(self) -> None:
        """Does not beat."""
        self._stop_beating()

    def leave(self) -> Task[None] | None:
        """Go."""
        self._stop_beating()
        leaving = self._tasks.start(self._leaving()) if self.member and self.epoch > JOINS else None
        self.epoch, self.news, self.is_lost, self._topics, self._says_all = JOINS, None, False, (), True
        self._owned, self._said_owned = (), None
        return leaving

    def _stop_beating(self) -> None:
        if self._beat is not None:
            self._tasks.stop(self._beat)
            self._beat, self._is_pausing = None, False

    # ---------------------------------------------------------------- beating

    def _beating(self) -> Steps[None]:
        """Until the member is none any more."""
        while True:
            request = self._next_beat()
            answer = yield from self._link.ask(request)
            if not isinstance(answer, ConsumerGroupHeartbeatAnswer):
                self._says_all = True
                continue
            reaction = reaction_to(answer.error)
            if reaction is MemberReaction.GO_ON:
                self._take(answer, request)
                yield from self._pausing(answer.heartbeat_interval_ms)
            elif reaction in (MemberReaction.AGAIN, MemberReaction.LOOK_UP):
                yield from self._link.come_again(reaction)
            elif reaction is MemberReaction.FENCED:
                self._failure = FencedInstance(
                    answer.error, f"instance {self._settings.group_instance_id} is another's"
                )
                break
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

    def _next_beat(self) -> ConsumerGroupHeartbeat:
        """What is new to the broker, or all."""
        settings, says_all = self._settings, self._says_all or self.epoch == JOINS
        owned = () if self.epoch == JOINS else self._owned
        return ConsumerGroupHeartbeat(
            VERSION,
            self._link.group,
            self.member,
            self.epoch,
            self._topics if says_all else None,
            settings.group_instance_id,
            settings.max_poll_interval_ms if says_all else NONE,
            None,
            settings.group_remote_assignor if says_all else None,
            owned if says_all or owned != self._said_owned else None,
        )

    def _last_beat(self) -> ConsumerGroupHeartbeat:
        instance = self._settings.group_instance_id
        epoch = LEAVES if instance is None else LEAVES_PLACE
        return ConsumerGroupHeartbeat(VERSION, self._link.group, self.member, epoch, instance=instance)

    def _take(self, answer: ConsumerGroupHeartbeatAnswer, request: ConsumerGroupHeartbeat) -> None:
        self.member, self.epoch, self._says_all = answer.member, answer.epoch, False
        if request.owned is not None:
            self._said_owned = request.owned
        if answer.assignment is not None:
            self.news = answer.assignment

    def _pausing(self, interval_ms: int) -> Steps[None]:
        due_ms, self._is_pausing = self._now_ms + interval_ms, True
        while self._now_ms < due_ms and not self._has_to_say:
            end_ms = self._polled_ms + self._settings.max_poll_interval_ms
            if self._now_ms >= end_ms:
                break
            yield Pause(min(due_ms, end_ms))
        self._is_pausing = False

    @property
    def _has_to_say(self) -> bool:
        """Whether the application has taken or given back something that the broker does not know."""
        return self.news is None and self.epoch > JOINS and self._owned != self._said_owned

    def _leaving(self) -> Steps[None]:
        yield from self._link.ask(self._last_beat())
