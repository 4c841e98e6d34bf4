"""Ids whose newest states are lost: after a repair each goes on, wherever its log was cut."""

from contextlib import suppress

import pytest

from tests.store.clients import Client, NoAnswer, Notebook
from tests.store.damages import boundaries
from tests.store.workloads import DATA, T0, Stage, open_on
from zombieproof.broker import repairing
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.repairing import Repairs
from zombieproof.broker.store.fault_disk import Fate, Fault, FaultDisk, Plan, PowerLost
from zombieproof.messages.partitions import (
    DescribeProducers,
    DescribeProducersAnswer,
    Fetch,
    FetchAnswer,
    MarkerToWrite,
    WriteTxnMarkers,
)
from zombieproof.model.vocabulary import NONE, Error, Isolation

LATER_MS = 44_000_000
STATES = "broker-1/__transaction_state-0"


def stopped(*, is_clean: bool) -> FaultDisk:
    """A directory with three transactions of two ids: one partition, both, and none of the records in one."""
    disk = FaultDisk()
    stage = Stage(disk, Notebook(), 0)
    for name in ("a", "b"):
        client = stage.client(name)
        for number in range(3):
            client.begin(f"{name} {number}")
            for partition in DATA[: 1 + number % 2]:
                assert client.send(partition, f"{name} {number} {partition}") == Error.NONE
            assert client.end(committed=number != 1) == Error.NONE
    stage.clock.advance(2_000)
    while stage.embedded.pump():
        pass
    (stage.embedded.close if is_clean else stage.embedded.abandon)()
    disk.close()
    return disk


def goes_on(disk: FaultDisk, name: str) -> bool:
    """Whether a new client of an id can write a transaction."""
    embedded = open_on(disk, ManualClock(LATER_MS))
    try:
        client = Client(embedded, Notebook(), "after", name)
        client.init()
        client.begin("after")
        errors = {client.send(T0, "after"), client.end(committed=True)}
    except NoAnswer:
        return False
    finally:
        embedded.abandon()
        disk.close()
    return errors == {Error.NONE}


def cuts(disk: FaultDisk) -> list[tuple[str, int]]:
    """Every end of a batch at which a log of states can be cut."""
    names = sorted(name for name in disk.listed(STATES) if name.endswith(".log"))
    last = f"{STATES}/{[name for name in names if disk.size(f'{STATES}/{name}')][-1]}"
    return [(last, at) for at in boundaries(disk.read(last))]


@pytest.mark.parametrize("is_clean", [True, False])
def test_ids_go_on_after_a_repair_wherever_the_log_of_their_states_is_cut(is_clean: bool) -> None:
    whole, refused = stopped(is_clean=is_clean), 0
    for path, at in cuts(whole):
        disk = whole.copy()
        disk.truncate(path, at)
        repaired = Repairs(disk, "kept").apply()
        assert all("the newest epochs in the data" in each.loses for each in repaired), at
        refused += len(repaired)
        assert [goes_on(disk, name) for name in ("a", "b")] == [True, True], at
    # After a kill, a last batch that was not recorded yet may be one that was never written.
    assert refused >= len(cuts(whole)) - (not is_clean)


def test_without_the_epochs_of_the_data_an_id_stays_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repairing, "continued", lambda *_: None)
    whole, locked = stopped(is_clean=True), 0
    for path, at in cuts(whole):
        disk = whole.copy()
        disk.truncate(path, at)
        Repairs(disk, "kept").apply()
        locked += not (goes_on(disk, "a") and goes_on(disk, "b"))
    assert locked > 0


def test_ids_go_on_after_a_repair_that_was_interrupted_and_is_run_again() -> None:
    whole = stopped(is_clean=True)
    path, at = cuts(whole)[1]
    damaged = whole.copy()
    damaged.truncate(path, at)
    once = damaged.copy()
    Repairs(once, "kept").apply()
    for operation in range(1, once.operations + 1):
        disk = damaged.copy()
        disk.plan = Plan(operation, Fault.CRASH)
        with suppress(PowerLost):
            Repairs(disk, "kept").apply()
        left = disk.survivor(Fate.KEPT)
        Repairs(left, "kept again").apply()
        assert [goes_on(left, name) for name in ("a", "b")] == [True, True], operation


def test_an_open_transaction_of_lost_states_can_be_aborted_as_the_page_says() -> None:
    disk = FaultDisk()
    stage = Stage(disk, Notebook(), 0)
    client = stage.client("a")
    client.begin("1")
    client.send(T0, "committed")
    client.end(committed=True)
    client.begin("2")
    client.send(T0, "open")
    while stage.embedded.pump():
        pass
    stage.embedded.close()
    disk.close()
    for path, at in cuts(disk):
        damaged = disk.copy()
        damaged.truncate(path, at)
        Repairs(damaged, "kept").apply()
        embedded = open_on(damaged, ManualClock(LATER_MS))
        described = embedded.ask(DescribeProducers(0, (T0,)))
        assert isinstance(described, DescribeProducersAnswer)
        [hanging] = [each for each in described.partitions[T0].producers if each.txn_start_offset != NONE]
        abort = MarkerToWrite(hanging.producer_id, hanging.producer_epoch, False, hanging.coordinator_epoch, (T0,))
        embedded.ask(WriteTxnMarkers(1, (abort,)))
        with suppress(NoAnswer):  # Where the id stays locked, nothing is added.
            after = Client(embedded, Notebook(), "after", "a")
            after.init()
            after.begin("3")
            after.send(T0, "after")
            after.end(committed=True)
        answer = embedded.ask(Fetch(12, Isolation.READ_COMMITTED, {T0: 0}))
        embedded.abandon()
        assert isinstance(answer, FetchAnswer)
        aborted = answer.partitions[T0].aborted
        assert aborted == ((hanging.producer_id, hanging.txn_start_offset),), at
