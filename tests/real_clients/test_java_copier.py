"""Kafka's `TransactionalMessageCopier`, a tool of its system tests, copies each record once, though it is killed."""

import random
import time
from pathlib import Path

import pytest

from tests.real_clients.java import BROKERS, COPIER, JAVA, begun, waits_for
from tests.real_clients.processes import PATIENCE_S, Client, Process
from tests.real_clients.scenarios import COPIES, Stage, read, reader


def fill_plainly(client: Client) -> None:
    """Input in both partitions, outside of any transaction: the copier takes the end of the log for a count."""
    client.ask("producer", name="fills", id=None)
    for number in range(COPIES):
        client.ask("send", name="fills", topic="input", partition=number % 2, value=str(number))


def copier(stage: Stage, folder: Path, *options: str, partition: int = 0) -> Process:
    """One that copies what is in a partition now, seven records in a transaction, and aborts some of those.

    It asks for its place before it takes its id, so that offsets of a killed one keep it waiting until they time out.
    """
    return begun(
        stage.client,
        COPIER,
        folder,
        *("--broker-list", stage.broker.bootstrap, "--input-topic", "input", "--output-topic", "output"),
        *("--input-partition", str(partition), "--consumer-group", "copies", "--transaction-size", "7"),
        *("--transactional-id", f"copier {partition}", "--enable-random-aborts"),
        *("--transaction-timeout", "5000", *options),
    )


@pytest.mark.slow
@pytest.mark.parametrize("client", JAVA, indirect=True)
@pytest.mark.parametrize("brokers", BROKERS)
def test_each_record_is_copied_once_by_copiers_that_are_killed(stage: Stage, tmp_path: Path, brokers: str) -> None:
    observer = stage.begin(BROKERS[brokers])
    fill_plainly(observer)
    moments = random.Random(brokers)
    for partition in (0, 1):
        for _ in range(2):
            with copier(stage, tmp_path, partition=partition) as killed:
                waits_for(killed, "totalProcessed", times=2)
                time.sleep(moments.uniform(0, 0.05))
        with copier(stage, tmp_path, partition=partition) as last:
            assert last.process.wait(PATIENCE_S) == 0, last.errors.read_text()[-2_000:]
    reader(observer, "r")
    assert read(observer, "r", COPIES) == sorted(str(number) for number in range(COPIES))


@pytest.mark.slow
@pytest.mark.parametrize("client", JAVA, indirect=True)
def test_each_record_is_copied_once_by_a_group_of_copiers(stage: Stage, tmp_path: Path) -> None:
    observer = stage.begin()
    fill_plainly(observer)
    with copier(stage, tmp_path, "--group-mode", "--use-group-metadata") as only:
        assert only.process.wait(PATIENCE_S) == 0, only.errors.read_text()[-2_000:]
    reader(observer, "r")
    assert read(observer, "r", COPIES) == sorted(str(number) for number in range(COPIES))
