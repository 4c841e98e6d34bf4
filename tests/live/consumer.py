"""A consumer of ours at a cluster of ours: Fetch and the client's filter, ListOffsets, OffsetFetch, group membership.

Every call is a generator for `Stage`: it yields what it waits for.
"""

from collections import deque
from dataclasses import dataclass, field, replace

from tests.live.stage import Stage, Waits, pause
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.clients.read_committed import FETCH_VERSION, Delivered, FetchFilter
from zombieproof.clients.transactional_requests import GROUP, GroupMetadata
from zombieproof.formats.batches import Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import (
    CoordinatorFound,
    FindCoordinator,
    GroupError,
    GroupLeft,
    Heartbeat,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetToCommit,
    SyncGroup,
    SyncGroupAnswer,
)
from zombieproof.messages.partitions import LATEST, Fetch, FetchAnswer, Fetched, ListOffsets, ListOffsetsAnswer
from zombieproof.model.vocabulary import NONE, Error, Isolation

BACKOFF_MS = 20
HEARTBEAT_MS = 10
FETCHED_RECORDS = 2000
"""How many records of a partition one answer may bring, stands for ``max.partition.fetch.bytes``."""


@dataclass(frozen=True, slots=True)
class Read:
    """A record that the application got, and where it was."""

    partition: TopicPartition
    offset: int
    record: Record


@dataclass(slots=True)
class Assignment:
    """One partition that is read: what the filter let pass and was not handed out, and what follows what was."""

    filter: FetchFilter
    position: int = 0
    buffer: deque[Delivered] = field(default_factory=deque)


@dataclass(slots=True)
class SharedAssignments:
    """What leaders say in SyncGroup, by generation and member. Requests hold none of it: it travels beside them."""

    partitions: tuple[TopicPartition, ...]
    by_generation: dict[int, dict[str, tuple[TopicPartition, ...]]] = field(default_factory=dict)

    def assign(self, generation: int, members: list[str]) -> None:
        """Deal the partitions out, by turns."""
        dealt = {member: self.partitions[i :: len(members)] for i, member in enumerate(members)}
        self.by_generation[generation] = dealt


def ask(stage: Stage, request: Request, node: int | None) -> Waits[Answer | None]:
    """Ask a node (None: any); None: it is down, or went down."""
    if not stage.cluster.brokers:
        return None
    exchange = stage.cluster.send(request, node)
    yield lambda: exchange.is_over
    del stage.cluster.network.exchanges[exchange.number]
    return exchange.answer


class LiveConsumer:
    """A consumer; `group` names whose offsets are its own. Assign partitions, or `join` its group."""

    def __init__(
        self,
        stage: Stage,
        *,
        isolation: Isolation = Isolation.READ_COMMITTED,
        group: str = "",
        shared: SharedAssignments | None = None,
    ) -> None:
        self.stage, self.isolation, self.group, self.shared = stage, isolation, group, shared
        self.assigned: dict[TopicPartition, Assignment] = {}
        self.member, self.generation = "", NONE
        self._heartbeat_ms = stage.now_ms

    # ---------------------------------------------------------------- reading

    def assign(self, *partitions: TopicPartition) -> None:
        """Read these partitions, from their beginning."""
        self.assigned = {partition: Assignment(self._filter(partition, 0)) for partition in partitions}

    def _filter(self, partition: TopicPartition, position: int) -> FetchFilter:
        return FetchFilter(partition, self.isolation, self.stage.client_rules, self.stage.cluster.journal, position)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at `offset`."""
        self.assigned[partition] = Assignment(self._filter(partition, offset), offset)

    def poll(self, max_records: int = 500, *, min_bytes: int = 1, max_wait_ms: int = 0) -> Waits[list[Read]]:
        """The next records, `max_records` at most; none if there are none yet, or a leader could not be asked."""
        if not any(one.buffer for one in self.assigned.values()):
            yield from self._fetch(min_bytes, max_wait_ms)
        read: list[Read] = []
        for partition, one in self.assigned.items():
            while one.buffer and len(read) < max_records:
                delivered = one.buffer.popleft()
                read.append(Read(partition, delivered.offset, delivered.record))
                one.position = delivered.offset + 1
        return read

    def _fetch(self, min_bytes: int, max_wait_ms: int) -> Waits[None]:
        for node, partitions in self._by_leader().items():
            positions = {tp: self.assigned[tp].filter.position for tp in partitions}
            request = Fetch(FETCH_VERSION, self.isolation, positions, min_bytes, max_wait_ms)
            answer = yield from ask(self.stage, request, node)
            for partition, fetched in answer.partitions.items() if isinstance(answer, FetchAnswer) else ():
                # What the consumer reads may have changed meanwhile.
                one = self.assigned.get(partition)
                if one is not None and fetched.error == Error.NONE and one.filter.position == positions[partition]:
                    one.buffer.extend(one.filter.read(_beginning_of(fetched)))

    def _by_leader(self) -> dict[int, list[TopicPartition]]:
        found: dict[int, list[TopicPartition]] = {}
        for partition in self.assigned:
            leader = self.stage.cluster.leader_of(partition)
            if leader is not None:
                found.setdefault(leader, []).append(partition)
        return found

    def read_all(self, *, min_bytes: int = 1, max_wait_ms: int = 0) -> Waits[list[Read]]:
        """Everything up to where the brokers let it read now."""
        read: list[Read] = []
        while True:
            more = yield from self.poll(min_bytes=min_bytes, max_wait_ms=max_wait_ms)
            read += more
            ends = yield from self.ends()
            if not more and all(one.filter.position >= ends[tp] for tp, one in self.assigned.items()):
                return read

    def ends(self) -> Waits[dict[TopicPartition, int]]:
        """Where each partition ends for this consumer."""
        ends: dict[TopicPartition, int] = {}
        while len(ends) < len(self.assigned):
            for node, partitions in self._by_leader().items():
                request = ListOffsets(5, self.isolation, dict.fromkeys(partitions, LATEST))
                answer = yield from ask(self.stage, request, node)
                if isinstance(answer, ListOffsetsAnswer):
                    ends |= {tp: row.offset for tp, row in answer.partitions.items() if row.error == Error.NONE}
            if len(ends) < len(self.assigned):
                yield from pause(self.stage, BACKOFF_MS)
        return ends

    # ---------------------------------------------------------------- offsets of the group

    def positions(self) -> tuple[OffsetToCommit, ...]:
        """What a transaction commits: the position behind what was handed out, for each partition."""
        return tuple(OffsetToCommit(tp, one.position, "") for tp, one in sorted(self.assigned.items()))

    @property
    def metadata(self) -> GroupMetadata:
        """Who commits: the group alone, or a member of a generation."""
        return GroupMetadata(self.group, self.generation, self.member)

    def rewind(self) -> Waits[None]:
        """Go back to the committed offsets. Unstable ones are waited for (KIP-447)."""
        partitions = tuple(self.assigned)
        while partitions:
            request = OffsetFetch(7, self.group, True, partitions)
            answer = yield from self._ask_coordinator(request)
            if isinstance(answer, OffsetFetchAnswer) and answer.error == Error.NONE:
                rows = answer.partitions
                if all(row.error == Error.NONE for row in rows.values()):
                    for partition, row in rows.items():
                        self.seek(partition, max(row.offset, 0))
                    return
            yield from pause(self.stage, BACKOFF_MS)

    def _ask_coordinator(self, request: Request) -> Waits[Answer | None]:
        found = yield from ask(self.stage, FindCoordinator(3, self.group, GROUP), None)
        if not isinstance(found, CoordinatorFound) or found.error != Error.NONE:
            return None
        return (yield from ask(self.stage, request, found.node))

    # ---------------------------------------------------------------- membership

    def join(self) -> Waits[None]:
        """Be a member of the group, and read what its leader says."""
        while not (yield from self._try_to_join()):
            yield from pause(self.stage, BACKOFF_MS)
        assert self.shared is not None, "a member shares its group's assignments"
        mine = self.shared.by_generation[self.generation][self.member]
        self.assign(*mine)
        yield from self.rewind()

    def _try_to_join(self) -> Waits[bool]:
        answer = yield from self._ask_coordinator(JoinGroup(5, self.group, self.member))
        if not isinstance(answer, JoinGroupAnswer):
            return False
        if answer.error in (Error.NONE, Error.MEMBER_ID_REQUIRED):
            self.member = answer.member
        elif answer.error == Error.UNKNOWN_MEMBER_ID:
            self.member = ""
        if answer.error != Error.NONE:
            return False
        self.generation = answer.generation
        if answer.leader == self.member and self.shared is not None:
            self.shared.assign(self.generation, self._members())
        return (yield from self._sync())

    def _members(self) -> list[str]:
        """Who is in the group; a leader's JoinGroup answer says so."""
        cluster = self.stage.cluster
        place, number = cluster.metadata.group_partition(self.group)
        leader = cluster.leader_of((place, number))
        store = None if leader is None else cluster.brokers[leader].groups.store(number)
        known = None if store is None else store.groups.get(self.group)
        return [self.member] if known is None else list(known.members)

    def _sync(self) -> Waits[bool]:
        answer = yield from self._ask_coordinator(SyncGroup(3, self.group, self.generation, self.member))
        self._heartbeat_ms = self.stage.now_ms
        return isinstance(answer, SyncGroupAnswer) and answer.error == Error.NONE

    def is_member(self) -> Waits[bool]:
        """What a heartbeat tells, now and then: whether the generation is still that of the group."""
        if self.stage.now_ms < self._heartbeat_ms + HEARTBEAT_MS:
            return True
        answer = yield from self._ask_coordinator(Heartbeat(3, self.group, self.generation, self.member))
        self._heartbeat_ms = self.stage.now_ms
        return not isinstance(answer, GroupError) or answer.error == Error.NONE

    def leave(self) -> Waits[None]:
        """Leave the group. For a member that was killed: what its coordinator does when its session is over."""
        while True:
            answer = yield from self._ask_coordinator(LeaveGroup(2, self.group, self.member))
            if isinstance(answer, GroupLeft) and answer.error in (Error.NONE, Error.UNKNOWN_MEMBER_ID):
                return
            yield from pause(self.stage, BACKOFF_MS)


def _beginning_of(fetched: Fetched) -> Fetched:
    """As much of an answer as one answer may bring, a batch at least."""
    records = taken = 0
    for batch in fetched.batches:
        taken += 1
        records += len(batch.records)
        if records >= FETCHED_RECORDS:
            break
    return replace(fetched, batches=fetched.batches[:taken])
