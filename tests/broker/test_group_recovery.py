"""At any step, a coordinator that only reads the log answers as the one that handled every request.

But for what Kafka too keeps only in memory: a generation whose assignment has not come yet, ids that were only given
out, and groups whose only commit had nothing to write.
"""

import copy

from hypothesis import given
from hypothesis import strategies as st

from tests.broker.group_host import GROUP, A, B, GroupHost
from zombieproof.broker.group.classic_group import ClassicGroup
from zombieproof.formats.batches import GroupValue, OffsetKey, OffsetValue
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import JoinGroup, JoinGroupAnswer, OffsetDelete, OffsetsDeleted, SyncGroup
from zombieproof.model.vocabulary import ClassicGroupState, Error

PRODUCERS = (1, 2, 3)
REBALANCE_MS = 300_000
UNDER_WAY = (ClassicGroupState.PREPARING_REBALANCE, ClassicGroupState.COMPLETING_REBALANCE)
STEPS = st.one_of(
    st.tuples(st.just("txn_commit"), st.sampled_from(PRODUCERS), st.sampled_from([A, B])),
    st.tuples(st.just("commit"), st.sampled_from([A, B])),
    st.tuples(st.just("end"), st.sampled_from(PRODUCERS), st.booleans()),
    st.tuples(st.just("delete"), st.sampled_from([A, B])),
    st.tuples(st.sampled_from(["join", "sync", "leave", "beat", "quit", "wait", "expire"])),
)


class Life:
    """A coordinator to which things happen; epochs of producers rise with each marker."""

    def __init__(self) -> None:
        self.host = GroupHost()
        self.epochs = dict.fromkeys(PRODUCERS, 0)
        self.offset = 0
        self.member, self.generation = "", 0

    def step(self, name: str, *arguments: object) -> None:
        """One request, marker or sweep; refusals are as good as any other answer."""
        getattr(self, name)(*arguments)

    def txn_commit(self, producer_id: int, partition: TopicPartition) -> None:
        self.offset += 1
        self.host.txn_commit((partition, self.offset), producer_id=producer_id, epoch=self.epochs[producer_id])

    def commit(self, partition: TopicPartition) -> None:
        self.offset += 1
        self.host.commit((partition, self.offset), member=self.member, generation=self.generation or -1)

    def end(self, producer_id: int, committed: bool) -> None:
        self.epochs[producer_id] += 1
        self.host.end(producer_id, committed=committed, epoch=self.epochs[producer_id])

    def delete(self, partition: TopicPartition) -> None:
        self.host.ask(OffsetDelete(0, GROUP, (partition,)), OffsetsDeleted)

    def join(self) -> None:
        """Whoever is left over from before `quit` is waited for."""
        number = self.host.send(JoinGroup(3, GROUP, self.member))
        self.host.advance(REBALANCE_MS if number not in self.host.answers else 0)
        joined = self.host.answers.pop(number)
        assert isinstance(joined, JoinGroupAnswer)
        if joined.error == Error.NONE:
            self.member, self.generation = joined.member, joined.generation

    def sync(self) -> None:
        """Whoever does not lead may wait for ever."""
        self.host.answers.pop(self.host.send(SyncGroup(3, GROUP, self.generation, self.member)), None)

    def leave(self) -> None:
        self.host.leave(self.member)
        self.member, self.generation = "", 0

    def beat(self) -> None:
        beat = self.host.beat(self.member, self.generation)
        if beat.error == Error.NONE:
            self.member, self.generation = beat.member, beat.epoch

    def quit(self) -> None:
        self.host.beat(self.member, -1)
        self.member, self.generation = "", 0

    def wait(self) -> None:
        self.host.advance(self.host.place.settings.offsets_retention_minutes * 20_000)

    def expire(self) -> None:
        self.host.coordinator.expire_offsets()


Picture = tuple[
    dict[OffsetKey, tuple[OffsetValue | None, int]], dict[int, dict[TopicPartition, int]], GroupValue | None
]


def picture(host: GroupHost) -> Picture:
    """What a coordinator knows, as far as it is durable."""
    store = host.coordinator.store(0)
    assert store is not None
    keys = [OffsetKey(GROUP, *partition) for partition in (A, B)]
    offsets = {key: (store.offsets.committed(key), store.offsets.pending_transactions(key)) for key in keys}
    group = store.groups.get(GROUP)
    value = None if group is None else group.value()
    if isinstance(group, ClassicGroup) and group.state in UNDER_WAY:
        value = None
    return offsets, {producer_id: host.waiting(producer_id) for producer_id in PRODUCERS}, value


@given(st.lists(STEPS, max_size=20))
def test_memory_is_the_fold_of_the_log(steps: list[tuple[str, object]]) -> None:
    life = Life()
    for name, *arguments in steps:
        life.step(name, *arguments)
        known = picture(life.host)
        twin = copy.deepcopy(life.host)
        twin.restart()
        read = picture(twin)
        assert read[:2] == known[:2]
        if known[2] is not None:
            assert read[2] == known[2]


def test_a_coordinator_that_forgets_is_noticed() -> None:
    life = Life()
    life.step("txn_commit", 1, A)
    life.step("beat")
    known, twin = picture(life.host), copy.deepcopy(life.host)
    twin.replica.log.truncate(1)
    twin.restart()
    assert picture(twin)[:2] == known[:2]
    assert picture(twin)[2] != known[2]
    twin.replica.log.truncate(0)
    twin.restart()
    assert picture(twin)[1] != known[1]
