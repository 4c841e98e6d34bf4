"""Two consumers of a group at three brokers, of which any is killed, with connections that end: everything is read.

A random walk; the seed is the test's name. In the end all is read and committed, and each partition has its reader.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.clients.readers import GROUP, cluster_of, numbers, values, write
from zombieproof.clients import group_link
from zombieproof.clients.consumer import Consumer
from zombieproof.clients.consumer_errors import CommitRefused, RebalanceUnderWay, TimedOut
from zombieproof.clients.group_link import MemberReaction
from zombieproof.clients.transport import ClusterTransport
from zombieproof.model.vocabulary import Error

PARTITIONS = [("t", number) for number in range(3)]
EVERY = {f"{number}-{i}" for _, number in PARTITIONS for i in range(10)}
TOLD = (CommitRefused, RebalanceUnderWay, TimedOut)
"""What may happen to a commit while brokers and members come and go."""


STRATEGIES: Mapping[str, dict[str, Any]] = {
    "range,cooperative-sticky": {"partition.assignment.strategy": "range,cooperative-sticky"},
    "cooperative-sticky": {"partition.assignment.strategy": "cooperative-sticky"},
    "roundrobin": {"partition.assignment.strategy": "roundrobin"},
    "uniform": {"group.protocol": "consumer"},
    "range of brokers": {"group.protocol": "consumer", "group.remote.assignor": "range"},
}
"""Who assigns, and how: the first three are the members of classic groups."""


class Walk:
    """One walk of `steps` steps, after which everybody lives and reads on."""

    def __init__(self, seed: int, strategy: str) -> None:
        self.random, self.strategy = random.Random(seed), strategy
        self.cluster = cluster_of({"t": 3}, nodes=3)
        self.transport = ClusterTransport(self.cluster)
        for _, number in PARTITIONS:
            write(self.transport, *(f"{number}-{i}" for i in range(10)), partition=number)
        self.consumers = [self.consumer() for _ in range(2)]
        self.read = Counter[str]()
        self.happened = Counter[str]()

    def consumer(self) -> Consumer:
        chosen = {"enable.auto.commit": False, "max.poll.records": 2, **STRATEGIES[self.strategy]}
        found = Consumer(self.transport, {**GROUP, **chosen})
        found.subscribe("t")
        return found

    def go(self, steps: int) -> "Walk":
        for _ in range(steps):
            self.disturb(self.random.random())
            self.work(self.random.choice(self.consumers), self.random.choice([0, 10, 500, 3000]))
        for node in sorted(set(range(1, 4)) - set(self.cluster.brokers)):
            self.cluster.start(node)
        for _ in range(150):
            for consumer in self.consumers:
                self.work(consumer, 500)
        return self

    def disturb(self, chance: float) -> None:
        up = sorted(self.cluster.brokers)
        down = sorted(set(range(1, 4)) - set(up))
        place = self.random.randrange(2)
        if chance < 0.1 and len(up) > 2:
            self.happened["a broker was killed"] += 1
            self.cluster.kill(self.random.choice(up))
        elif chance < 0.25 and down:
            self.cluster.start(self.random.choice(down))
        elif chance < 0.3:
            self.happened["a consumer crashed"] += 1
            self.consumers[place].crash()
            self.consumers[place] = self.consumer()
        elif chance < 0.35:
            self.consumers[place].close(timeout_ms=1000)
            self.consumers[place] = self.consumer()
        elif chance < 0.5 and self.cluster.network.in_flight:
            self.happened["a message was lost"] += 1
            self.cluster.network.lose(self.random.choice(self.cluster.network.in_flight))

    def work(self, consumer: Consumer, timeout_ms: int) -> None:
        try:
            self.read.update(values(consumer.poll(timeout_ms)))
            if self.random.random() < 0.7:
                consumer.commit(timeout_ms=5000)
        except TOLD as told:
            self.happened[type(told).__name__] += 1

    def faults(self) -> Iterator[str]:
        """What is wrong in the end."""
        missing = EVERY - set(self.read)
        if missing:
            yield f"never read: {sorted(missing)}"
        committed = self.consumers[0].committed(PARTITIONS)
        for partition, at in committed.items():
            if at is None or at.offset != 10:
                yield f"{partition} is committed up to {at}"
        if sorted(number for each in self.consumers for number in numbers(each)) != [0, 1, 2]:
            yield f"assigned is {[numbers(each) for each in self.consumers]}"


def seeds(first: int, last: int) -> list[tuple[int, str]]:
    strategies = tuple(STRATEGIES)
    return [(seed, strategies[seed % len(strategies)]) for seed in range(first, last)]


@pytest.mark.parametrize(("seed", "strategy"), seeds(150, 162))
def test_everything_is_read_and_committed_whoever_comes_and_goes(seed: int, strategy: str) -> None:
    assert list(Walk(seed, strategy).go(60).faults()) == []


@pytest.mark.slow
@pytest.mark.long("[60]", "[90]", "[120]")
@pytest.mark.parametrize("first", range(0, 150, 30))
def test_many_walks(first: int) -> None:
    happened = Counter[str]()
    for seed, strategy in seeds(first, first + 30):
        walk = Walk(seed, strategy).go(60)
        assert list(walk.faults()) == [], seed
        happened += walk.happened
    assert {"a broker was killed", "a consumer crashed", "a message was lost"} <= happened.keys()


def test_a_member_that_takes_a_coordinator_that_moved_for_the_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {**group_link.REACTIONS, Error.NOT_COORDINATOR: MemberReaction.GO_ON}
    monkeypatch.setattr(group_link, "REACTIONS", wrong)
    # A member of the other protocol would beat without end: such an answer has no interval.
    classic = [each for each in seeds(150, 162) if "group.protocol" not in STRATEGIES[each[1]]]
    assert [fault for seed, strategy in classic for fault in _faults(seed, strategy)] != []


def _faults(seed: int, strategy: str) -> list[str]:
    try:
        return list(Walk(seed, strategy).go(60).faults())
    except Exception as failure:  # noqa: BLE001  # a walk that breaks is noticed as well
        return [str(failure)]
