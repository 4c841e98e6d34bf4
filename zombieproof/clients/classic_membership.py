"""A member of a group of the classic protocol: it joins, assigns where it leads, asks for its assignment, and beats.

Theory of operation: joining is one task and beating another, of which one is under way at a time. A heartbeat tells
that the others join again, or that the member is none any more. Whoever is not polled for ``max.poll.interval.ms`` goes
by itself; a static instance (KIP-345) only falls silent, so that its place is kept for a session. With assignors that
are all cooperative a member keeps what it has while it joins again, and joins once more when it has given something
back (KIP-429).
Source: ``AbstractCoordinator.java``, ``ConsumerCoordinator.java``.
"""

from collections.abc import Iterable, Mapping

from zombieproof.clients.assignors import ASSIGNORS, COOPERATIVE, Subscriber
from zombieproof.clients.consumer_errors import ConsumerFailure, FencedInstance, GroupRefused
from zombieproof.clients.group_link import GroupLink, MemberReaction, reaction_to
from zombieproof.clients.settings import ConsumerSettings
from zombieproof.clients.tasks import Pause, Steps, Task, Tasks
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.formats.consumer_protocol import (
    Assignment,
    Subscription,
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import (
    CONSUMERS,
    GroupError,
    GroupProtocol,
    Heartbeat,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    Leaver,
    MemberAssignment,
    SyncGroup,
    SyncGroupAnswer,
)
from zombieproof.model.vocabulary import NONE

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, LEAVE_VERSION = 9, 5, 4, 5
JOIN_SLACK_MS = 5_000
"""So much longer than the rebalance may take a JoinGroup is waited for."""

Joined = tuple[TopicPartition, ...] | None
"""What a member got; None: it was none any more when it asked."""


class ClassicMembership:
    """One member.

    Args:
        link: the way to the coordinator of its group.
        tasks: where what it does in the background is under way.
    """

    def __init__(self, settings: ConsumerSettings, link: GroupLink, tasks: Tasks) -> None:
        self._settings, self._link, self._tasks = settings, link, tasks
        self.member, self.generation = "", NONE
        self.is_lost = False
        self.news: Joined = None
        self._topics: tuple[str, ...] = ()
        self._owned: tuple[TopicPartition, ...] = ()
        self._wants_to_join = False
        self._join: Task[Joined] | None = None
        self._beat: Task[None] | None = None
        self._failure: ConsumerFailure | None = None
        self._polled_ms = self._now_ms
        self._counts: Mapping[str, int] | None = None

    @property
    def _now_ms(self) -> int:
        return self._tasks.transport.now_ms()

    @property
    def metadata(self) -> GroupMetadata:
        """Group, generation, member and instance."""
        return GroupMetadata(self._link.group, self.generation, self.member, self._settings.group_instance_id)

    @property
    def keeps_partitions(self) -> bool:
        """Whether all assignors that it knows are cooperative."""
        return COOPERATIVE.issuperset(self._settings.partition_assignment_strategy)

    @property
    def wants_preparation(self) -> bool:
        """Whether it is to join, and does not yet."""
        self._look_at_join()
        return self._wants_to_join and self._join is None and self.news is None

    # ---------------------------------------------------------------- what the consumer says

    def subscribe(self, topics: Iterable[str]) -> None:
        """Read these topics from the next generation on."""
        self._topics = tuple(sorted(set(topics)))
        self._wants_to_join = True

    def is_polled(self) -> None:
        """The application lives."""
        self._polled_ms = self._now_ms

    def look(self) -> None:
        """A leader looks whether topics have grown.

        Raises:
            ConsumerFailure: the group does not take the member, or another one has its instance.
        """
        if self._failure is not None:
            raise self._failure
        if self._counts is not None and self._counts != self._partition_counts(self._counts):
            self._counts, self._wants_to_join = None, True

    def begin(self, owned: Iterable[TopicPartition]) -> None:
        """Join, or join again."""
        self._stop_beating()
        self._owned, self._wants_to_join = tuple(owned), False
        self._join = self._tasks.start(self._joining())

    def taken(self, partitions: Iterable[TopicPartition], *, gave_back: bool) -> None:
        """The application has what was assigned; who gave something back joins again, for others wait for it."""
        self._owned, self.news = tuple(partitions), None
        if gave_back and self.keeps_partitions:
            self._wants_to_join = True
        if self._beat is None and self._join is None:
            self._beat = self._tasks.start(self._beating())

    def forget(self) -> None:
        """It is no member of any generation."""
        self.member, self.generation, self.is_lost, self.news = "", NONE, True, None
        self._owned, self._wants_to_join, self._counts = (), True, None

    def stop(self) -> None:
        """Neither joins nor beats."""
        self._stop_beating()
        if self._join is not None:
            self._tasks.stop(self._join)
            self._join = None

    def leave(self) -> Task[None] | None:
        """Go; a static instance keeps its place."""
        self.stop()
        leaves = self.member != "" and self._settings.group_instance_id is None
        leaving = self._tasks.start(self._leaving()) if leaves else None
        self.member, self.generation, self._wants_to_join = "", NONE, False
        self._owned, self.news, self.is_lost, self._counts = (), None, False, None
        return leaving

    def _stop_beating(self) -> None:
        if self._beat is not None:
            self._tasks.stop(self._beat)
            self._beat = None

    # ---------------------------------------------------------------- joining

    def _look_at_join(self) -> None:
        join = self._join
        if join is None or not join.is_over:
            return
        self._join = None
        try:
            self.news = join.take()
        except ConsumerFailure as failure:
            self._failure = failure
            raise
        if self.news is None:
            self.forget()

    def _joining(self) -> Steps[Joined]:
        had = self.member
        while True:
            timeout_ms = self._settings.max_poll_interval_ms + JOIN_SLACK_MS
            answer = yield from self._link.ask(self._join_request(), timeout_ms)
            if not isinstance(answer, JoinGroupAnswer):
                continue
            reaction = reaction_to(answer.error)
            if reaction is MemberReaction.GO_ON:
                self.member, self.generation = answer.member, answer.generation
                joined = yield from self._syncing(answer)
                if joined is not None:
                    return joined
            elif reaction is MemberReaction.BEGIN_ANEW and had:
                return None
            elif reaction is MemberReaction.REJOIN:
                self.member = answer.member or self.member
            elif reaction is MemberReaction.BEGIN_ANEW:
                self.member = ""
            else:
                yield from self._again_or_fail(reaction, answer.error)

    def _again_or_fail(self, reaction: MemberReaction, error: int) -> Steps[None]:
        group = f"group {self._link.group}"
        if reaction is MemberReaction.FENCED:
            raise FencedInstance(error, f"{group}: instance {self._settings.group_instance_id} is another consumer now")
        if reaction is MemberReaction.REFUSED:
            raise GroupRefused(
                error,
                f"{group} does not take a member of session.timeout.ms "
                f"{self._settings.session_timeout_ms} and assignors "
                f"{', '.join(self._settings.partition_assignment_strategy)}",
            )
        yield from self._link.come_again(reaction)

    def _join_request(self) -> JoinGroup:
        settings = self._settings
        said = write_subscription(Subscription(self._topics, self._owned, self.generation))
        return JoinGroup(
            JOIN_VERSION,
            self._link.group,
            self.member,
            settings.group_instance_id,
            settings.session_timeout_ms,
            settings.max_poll_interval_ms,
            CONSUMERS,
            tuple(GroupProtocol(name, said) for name in settings.partition_assignment_strategy),
        )

    def _syncing(self, joined: JoinGroupAnswer) -> Steps[Joined]:
        """Ask for the assignment, with that of all others where the member leads; None: join again."""
        assignments = self._assigned(joined)
        while True:
            request = SyncGroup(
                SYNC_VERSION,
                self._link.group,
                self.generation,
                self.member,
                self._settings.group_instance_id,
                assignments,
                joined.protocol_type,
                joined.protocol,
            )
            answer = yield from self._link.ask(request, self._settings.max_poll_interval_ms + JOIN_SLACK_MS)
            if not isinstance(answer, SyncGroupAnswer):
                continue
            reaction = reaction_to(answer.error)
            if reaction is MemberReaction.GO_ON:
                return read_assignment(answer.assignment).partitions
            if reaction in (MemberReaction.REJOIN, MemberReaction.BEGIN_ANEW):
                return None
            yield from self._again_or_fail(reaction, answer.error)

    def _assigned(self, joined: JoinGroupAnswer) -> tuple[MemberAssignment, ...]:
        if joined.leader != self.member:
            self._counts = None
            return ()
        members = {each.member: Subscriber(read_subscription(each.metadata), each.instance) for each in joined.members}
        topics = {topic for member in members.values() for topic in member.subscription.topics}
        self._tasks.transport.refresh_metadata()
        self._counts = self._partition_counts(topics)
        if joined.skips_assignment:
            return ()
        assigned = ASSIGNORS[joined.protocol or ""](members, self._counts)
        return tuple(
            MemberAssignment(name, write_assignment(Assignment(tuple(partitions))))
            for name, partitions in assigned.items()
        )

    def _partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        known = self._tasks.transport.metadata().partitions
        return {topic: known.get(topic, 0) for topic in topics}

    # ---------------------------------------------------------------- beating

    def _beating(self) -> Steps[None]:
        settings, beat_ms = self._settings, self._now_ms + self._settings.heartbeat_interval_ms
        while True:
            yield Pause(min(beat_ms, self._polled_ms + settings.max_poll_interval_ms))
            if self._now_ms >= self._polled_ms + settings.max_poll_interval_ms:
                if settings.group_instance_id is None:
                    yield from self._leaving()
                self.forget()
                break
            if self._now_ms < beat_ms:
                continue
            request = Heartbeat(
                HEARTBEAT_VERSION, self._link.group, self.generation, self.member, settings.group_instance_id
            )
            answer = yield from self._link.ask(request)
            beat_ms = self._now_ms + settings.heartbeat_interval_ms
            if isinstance(answer, GroupError) and self._heard(answer.error):
                break
        self._beat = None

    def _heard(self, error: int) -> bool:
        """What a heartbeat was answered; whether that is the end of beating."""
        reaction = reaction_to(error)
        if reaction is MemberReaction.REJOIN:
            self._wants_to_join = True
        elif reaction is MemberReaction.BEGIN_ANEW:
            self.forget()
        elif reaction is MemberReaction.FENCED:
            self._failure = FencedInstance(error, f"group {self._link.group}: its place is another consumer's")
            self.forget()
        elif reaction is MemberReaction.REFUSED:
            self._failure = GroupRefused(error, f"group {self._link.group} does not take a heartbeat")
        elif reaction is MemberReaction.LOOK_UP:
            self._link.node = None
        return reaction not in (MemberReaction.GO_ON, MemberReaction.AGAIN, MemberReaction.LOOK_UP)

    def _leaving(self) -> Steps[None]:
        yield from self._link.ask(LeaveGroup(LEAVE_VERSION, self._link.group, "", (Leaver(self.member),)))
