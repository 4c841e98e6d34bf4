"""Threads that wait for a cluster: one drives, each of the others is woken once, when it has what it waits for."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.broker.store.disk import RealDisk
from zombieproof.broker.turns import Turns, Waiter
from zombieproof.formats.batches import Batch, Record
from zombieproof.messages.partitions import Produce, ProduceAnswer, SentBatch
from zombieproof.model.vocabulary import Error

LONG_S = 60.0
FEW = Settings(transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1)


def never() -> bool:
    return False


def test_the_first_drives_and_hands_over_to_the_one_who_waits_longest() -> None:
    turns, waiters = Turns(), [Waiter(never) for _ in range(3)]
    for waiter in waiters:
        turns.come(waiter)
    assert [waiter.drives for waiter in waiters] == [True, False, False]
    shared = [turns.is_shared]
    turns.leave(waiters[0])
    assert [waiter.drives for waiter in waiters[1:]] == [True, False]
    turns.sleep(waiters[1], LONG_S)
    turns.leave(waiters[1])
    turns.leave(waiters[2])
    shared.append(turns.is_shared)
    assert shared == [True, False]
    turns.come(last := Waiter(never))
    assert last.drives, "nobody else does any more"


def test_only_whose_wait_is_over_is_woken() -> None:
    turns, over = Turns(), set[int]()

    def until(number: int) -> Callable[[], bool]:
        return lambda: number in over

    driver, *others = (Waiter(until(number)) for number in range(4))
    for waiter in (driver, *others):
        turns.come(waiter)
    over |= {0, 2}
    turns.wake()
    began = time.monotonic()
    turns.sleep(others[1], LONG_S)
    assert time.monotonic() - began < LONG_S / 2, "it was woken before it slept"
    assert [waiter.gate.locked() for waiter in others] == [True] * 3, "the others sleep on"
    assert not any(waiter.drives for waiter in others)


def test_who_gives_up_while_he_is_woken_keeps_nobody_waiting() -> None:
    turns = Turns()
    driver, other, third = (Waiter(never) for _ in range(3))
    for waiter in (driver, other, third):
        turns.come(waiter)
    turns.sleep(other, 0.001)
    turns.leave(other)
    turns.leave(driver)
    assert third.drives, "who has left is not handed anything"


def test_whoever_leaves_with_the_driving_that_he_was_just_handed_hands_it_on() -> None:
    turns = Turns()
    driver, other, third = (Waiter(never) for _ in range(3))
    for waiter in (driver, other, third):
        turns.come(waiter)
    turns.leave(driver)
    turns.leave(other)  # its time was over as well
    assert third.drives


class CountingDisk(RealDisk):
    """Says which threads sync, and how often."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.syncs = list[str]()

    def sync(self, path: str) -> None:
        self.syncs.append(threading.current_thread().name)
        super().sync(path)


def produced(embedded: Embedded, partition: int) -> None:
    batch = Batch(records=(Record(None, b"v"),), timestamp_ms=embedded.clock.now_ms())
    answer = embedded.ask(Produce(12, None, -1, {("t", partition): (SentBatch(batch),)}))
    assert isinstance(answer, ProduceAnswer)
    assert answer.partitions["t", partition].error == Error.NONE


def test_threads_share_syncs_and_logs_are_synced_side_by_side(tmp_path: Path) -> None:
    disk, threads, rounds = CountingDisk(tmp_path), 16, 20
    with Embedded(topics={"t": threads}, settings=FEW, disk=disk) as embedded:
        disk.syncs.clear()
        begun = list[int]()
        begin = embedded._begin_sync

        def counted() -> object:
            found = begin()
            begun.append(sum(len(each.parts) for _, each in found))
            return found

        embedded._begin_sync = counted  # type: ignore[method-assign,assignment]  # counts group commits

        def work(partition: int) -> None:
            for _ in range(rounds):
                produced(embedded, partition)

        workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    groups = [count for count in begun if count]
    assert sum(groups) == threads * rounds, "each append was synced before it was answered"
    assert len(groups) < threads * rounds / 2, "several at a time"
    assert any(name.startswith("zombieproof-sync") for name in disk.syncs), "and side by side"


def test_who_waits_sees_the_end_of_the_cluster_at_once() -> None:
    with Embedded(topics={"t": 1}, settings=FEW, durability=Durability.MEMORY) as embedded:
        embedded.start()
        found = list[bool]()
        waits = threading.Thread(target=lambda: found.append(embedded.wait_until(never, 60_000)))
        waits.start()
        time.sleep(0.05)
        began = time.monotonic()
    waits.join(LONG_S)
    assert found == [False]
    assert time.monotonic() - began < LONG_S / 2


def test_a_failure_of_the_driver_is_everybodys() -> None:
    embedded = Embedded(topics={"t": 1}, settings=FEW, durability=Durability.MEMORY)
    failures = list[BaseException]()

    def work() -> None:
        try:
            embedded.wait_until(never, 60_000)
        except BaseException as failure:  # noqa: BLE001  # whatever it is, it is looked at below
            failures.append(failure)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()

    def fails(_: object) -> None:
        raise KeyError("an answer that cannot be taken")

    batch = Batch(records=(Record(None, b"v"),), timestamp_ms=embedded.clock.now_ms())
    embedded.submit(Produce(12, None, -1, {("t", 0): (SentBatch(batch),)}), None, fails)
    for worker in workers:
        worker.join(LONG_S)
    assert [type(failure) for failure in failures] == [KeyError] * 3
    with pytest.raises(KeyError):
        embedded.pump()
    embedded.abandon()
