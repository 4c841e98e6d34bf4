"""What is in the log is enough: followers, restarts and truncation lose nothing that Kafka keeps.

What Kafka too keeps in memory only: guards, and of the remembered batches all but the newest.
"""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.broker.partitions import Place, data, end, plain
from zombieproof.broker.partition.log import MemoryLog
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.partition.snapshots import MemorySnapshots
from zombieproof.model.decisions.produce import newest_sequence
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE, Error, Isolation, Mode, Origin

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("transactional"), st.integers(1, 3), st.integers(1, 3)),
        st.tuples(st.just("idempotent"), st.integers(1, 3), st.integers(1, 3)),
        st.tuples(st.just("plain"), st.just(0), st.integers(1, 2)),
        st.tuples(st.sampled_from(["commit", "abort"]), st.integers(1, 3), st.integers(0, 1)),
        st.tuples(st.just("roll"), st.just(0), st.just(0)),
        st.tuples(st.just("time"), st.just(0), st.integers(1, 50)),
    ),
    max_size=30,
)


@dataclass
class Walk:
    """A leader that random clients and coordinators talk to, and whether it is restarted the easy way."""

    rules: Rules = field(default_factory=Rules)
    place: Place = field(init=False)
    leader: Replica = field(init=False)

    def __post_init__(self) -> None:
        self.place = Place(rules=self.rules)
        self.leader = self.place.leader()

    def take(self, step: tuple[str, int, int]) -> None:
        """One step; what is refused is refused."""
        what, producer_id, number = step
        if what == "time":
            self.place.clock.advance(number)
        elif what == "roll":
            self.leader.roll()
        elif what == "plain":
            self.leader.append(plain(number), 0, Origin.CLIENT)
        elif what in ("commit", "abort"):
            epoch = self.epoch(producer_id) + number
            end(self.leader, producer_id, committed=what == "commit", epoch=epoch, coordinator=number)
        else:
            self.write(producer_id, number, transactional=what == "transactional")

    def write(self, producer_id: int, count: int, *, transactional: bool) -> None:
        """The next batch of a producer, verified if it has to be."""
        entry = self.leader.producers.get(producer_id)
        first = 0 if entry is None else newest_sequence(entry) + 1
        batch = data(producer_id, first, count, epoch=self.epoch(producer_id), transactional=transactional)
        guard = self.leader.begin_verification(batch, Mode.ADD).guard if transactional else 0
        self.leader.append(batch, guard, Origin.CLIENT)

    def epoch(self, producer_id: int) -> int:
        """The epoch that the leader knows, or the first."""
        entry = self.leader.producers.get(producer_id)
        return 0 if entry is None or entry.producer_epoch == NONE else entry.producer_epoch

    def another(self) -> Replica:
        """A replica on an empty disk."""
        return replace(self.place, log=MemoryLog(), snapshots=MemorySnapshots()).replica()


def known(replica: Replica) -> object:
    """Everything that readers and administrators can see."""
    return (
        replica.describe_producers(),
        tuple(replica.aborted),
        replica.last_stable_offset,
        replica.first_unstable_offset,
        replica.fetch(replica.log.start_offset, Isolation.READ_COMMITTED),
    )


@given(STEPS, st.sampled_from(["newest", "3.9", "0.11.0"]))
def test_a_follower_knows_what_its_leader_knows(steps: list[tuple[str, int, int]], rules: str) -> None:
    walk = Walk(preset(rules))
    follower = walk.another()
    for step in steps:
        before = walk.leader.log.end_offset
        walk.take(step)
        for batch in walk.leader.log.read(before):
            follower.replicate(batch)
        assert known(follower) == known(walk.leader)


@given(STEPS, st.lists(st.sampled_from(["", "", "clean", "kill"]), max_size=30))
def test_a_restart_at_any_step_changes_no_answer(steps: list[tuple[str, int, int]], restarts: list[str]) -> None:
    """Beside the walk that is restarted another one is not: both get the same answers all the way."""
    restarted, other = Walk(), Walk()
    for number, step in enumerate(steps):
        for walk in (restarted, other):
            walk.take(step)
        how = restarts[number] if number < len(restarts) else ""
        if how:
            if how == "clean":
                restarted.leader.stop()
            restarted.leader = restarted.place.restart(clean=how == "clean")
            restarted.leader.lead(0)
        assert known(restarted.leader) == known(other.leader)
        assert list(restarted.leader.log.read()) == list(other.leader.log.read())


@given(STEPS, st.integers(0, 30))
def test_truncation_leaves_what_the_rest_of_the_log_says(steps: list[tuple[str, int, int]], cut: int) -> None:
    walk = Walk()
    for step in steps:
        walk.take(step)
    batches = list(walk.leader.log.read())
    kept = batches[:cut]
    fresh = walk.another()
    for batch in kept:
        fresh.replicate(batch)
    walk.leader.truncate(kept[-1].last_offset + 1 if kept else 0)
    assert known(walk.leader) == known(fresh)


def test_a_transaction_that_had_ended_stays_stable_when_what_is_behind_it_is_cut_off() -> None:
    walk = Walk()
    walk.write(1, 1, transactional=True)
    walk.take(("commit", 1, 0))
    walk.take(("plain", 0, 1))
    walk.leader.truncate(2)
    assert walk.leader.last_stable_offset == 2


def test_a_leader_that_does_not_read_its_log_forgets_what_is_open() -> None:
    """The twin: without the fold the comparisons above would fail."""
    walk = Walk(with_switches(Rules(), off=["verification"]))
    walk.write(1, 2, transactional=True)
    forgetful = walk.place.replica()
    assert known(forgetful) != known(walk.leader)
    forgetful.recover(clean=False)
    assert known(forgetful) == known(walk.leader)


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_keeps_the_newest_batch_and_loses_the_guard(clean: bool) -> None:
    walk = Walk()
    walk.write(1, 1, transactional=False)
    walk.write(1, 1, transactional=False)
    waiting = data(2, 0)
    guard = walk.leader.begin_verification(waiting, Mode.ADD).guard
    if clean:
        walk.leader.stop()
    leader = walk.place.restart(clean=clean)
    answers = [
        Error(leader.append(batch, given, Origin.CLIENT).error)
        for batch, given in (
            (data(1, 1, transactional=False), 0),
            (data(1, 0, transactional=False), 0),
            (waiting, guard),
        )
    ]
    assert answers == [Error.NONE, Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.INVALID_TXN_STATE]
