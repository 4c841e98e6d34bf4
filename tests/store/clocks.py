"""Clocks that jump, go back or stand still, and clients and coordinators that sleep past a time-out."""

from random import Random

from tests.store.clients import Client, Notebook, read_all
from tests.store.crashing import Reached
from tests.store.workloads import DATA, SETTINGS
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Replicas
from zombieproof.broker.embedded import Embedded
from zombieproof.formats.topics import TRANSACTION_STATE, TopicPartition
from zombieproof.model.vocabulary import Error, Isolation
from zombieproof.traces.history.judge import judge

START_MS = 1 << 41
JUMPS_MS = (-86_400_000, -61_000, -1, 0, 0, 1, 59_999, 60_001, 900_001, 7 * 86_400_000)
TOGETHER = 100
"""So many schedules have one cluster, and one history."""
COORDINATOR: TopicPartition = (TRANSACTION_STATE, 0)
FENCED = frozenset({Error.INVALID_PRODUCER_EPOCH, Error.PRODUCER_FENCED, Error.INVALID_TXN_STATE})


def clock_schedules(schedules: int, seed: int) -> Reached:
    """So many short transactions, each between jumps of the clock, at brokers in memory."""
    reached = Reached()
    for first in range(0, schedules, TOGETHER):
        chance, clock, notes = Random(f"{seed} {first}"), ManualClock(START_MS), Notebook()
        embedded = Embedded(topics={"t": 2}, settings=SETTINGS, clock=clock)
        for number in range(min(TOGETHER, schedules - first)):
            _schedule(embedded, clock, notes, chance, f"x{number}")
            reached.counts["schedules"] += 1
        clock.advance(2 * max(JUMPS_MS))
        for number in range(min(TOGETHER, schedules - first)):
            Client(embedded, notes, f"last {number}", f"x{number}").init()
        for partition in DATA:
            read_all(embedded, notes, f"reader of {partition[1]}", partition, Isolation.READ_COMMITTED)
        embedded.abandon()
        found = judge(notes.as_history()).findings
        reached.findings += [f"seed {seed}, schedules from {first}: {each.anomaly}: {each.message}" for each in found]
    return reached


def _schedule(embedded: Embedded, clock: ManualClock, notes: Notebook, chance: Random, name: str) -> None:
    client = Client(embedded, notes, f"p{name}", name)
    client.init()
    client.begin(f"t{name}")
    for step in range(chance.randint(1, 3)):
        clock.advance(max(chance.choice(JUMPS_MS), -clock.now_ms()))
        client.send(chance.choice(DATA), f"{name}-{step}")
        if chance.random() < 0.5:
            embedded.cluster.sweep()
    clock.advance(max(chance.choice(JUMPS_MS), -clock.now_ms()))
    client.end(committed=chance.random() < 0.7)


def paused_producers(cycles: int) -> Reached:
    """A producer sleeps past its transaction's time-out, and goes on: nothing of what it then does may count."""
    reached, clock, notes = Reached(), ManualClock(START_MS), Notebook()
    embedded = Embedded(topics={"t": 2}, settings=SETTINGS, clock=clock)
    for cycle in range(cycles):
        client = Client(embedded, notes, f"p{cycle}", f"x{cycle % 7}")
        client.init(timeout_ms=60_000)
        client.begin(f"t{cycle}")
        client.send(DATA[cycle % 2], f"v{cycle}")
        clock.advance(60_001)
        embedded.cluster.sweep()
        error = client.send(DATA[cycle % 2], f"late {cycle}") if cycle % 3 else int(Error.NONE)
        ended = client.end(committed=True)
        if ended not in FENCED or (cycle % 3 and error == Error.NONE):
            reached.findings.append(
                f"cycle {cycle}: a producer that slept was told {Error(error).name}, {Error(ended).name}"
            )
        reached.counts["paused producers"] += 1
    return _read_and_judge(reached, embedded, notes)


def paused_coordinators(cycles: int) -> Reached:
    """A coordinator is deposed while it sleeps, wakes past the time-out, and answers from what it remembers."""
    reached, clock, notes = Reached(), ManualClock(START_MS), Notebook()
    topics: dict[str, int | Replicas] = {"t": [(1, 2, 3), (2, 3, 1)], TRANSACTION_STATE: [(1, 2, 3)]}
    embedded = Embedded(nodes=3, topics=topics, settings=SETTINGS, clock=clock)
    cluster = embedded.cluster
    for cycle in range(cycles):
        client = OnNodes(embedded, notes, f"p{cycle}", f"x{cycle % 7}")
        client.init(timeout_ms=60_000)
        client.begin(f"t{cycle}")
        client.send(DATA[cycle % 2], f"v{cycle}")
        old = cluster.leader_of(COORDINATOR)
        assert old is not None
        cluster.elect(COORDINATOR, old_resigns=False)
        clock.advance(60_001 if cycle % 2 else 1)
        cluster.brokers[old].abort_timed_out_transactions()
        client.forced = old if cycle % 3 else None
        client.end(committed=cycle % 5 != 0)
        cluster.resign(old)
        cluster.sweep()
        reached.counts["paused coordinators"] += 1
    for number in range(7):
        OnNodes(embedded, notes, f"last {number}", f"x{number}").init()
    return _read_and_judge(reached, embedded, notes)


class OnNodes(Client):
    """A client that knows who leads what; `forced`: it asks this coordinator, deposed or not."""

    forced: int | None = None

    def _node(self, request: object) -> int | None:
        name = type(request).__name__
        if name == "Produce":
            (partition,) = request.partitions  # type: ignore[attr-defined]  # it is a Produce
            return self.embedded.cluster.leader_of(partition)
        forced, self.forced = self.forced, None
        return forced if forced is not None else self.embedded.cluster.leader_of(COORDINATOR)


def _read_and_judge(reached: Reached, embedded: Embedded, notes: Notebook) -> Reached:
    embedded.cluster.sweep()
    for partition in DATA:
        node = embedded.cluster.leader_of(partition)
        read_all(embedded, notes, f"reader of {partition[1]}", partition, Isolation.READ_COMMITTED, node)
    embedded.abandon()
    found = judge(notes.as_history()).findings
    reached.findings += [f"{each.anomaly}: {each.message}" for each in found]
    return reached
