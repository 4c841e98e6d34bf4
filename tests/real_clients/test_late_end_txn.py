"""KAFKA-17754 with real clients: a copy of an EndTxn that is late commits half of the next transaction, or does not.

With transaction version 1 a copy cannot be told from the EndTxn of the transaction that is open when it arrives. With
version 2 each transaction has an epoch of its own, for clients that speak EndTxn 5; for others nothing has changed.
"""

from pathlib import Path

import pytest
import yaml

from tests.real_clients.install import INSTALLERS
from tests.real_clients.known import SPEAKS_END_TXN_5
from tests.real_clients.scenarios import Stage, commit, read, reader
from zombieproof.wire.plan.stories import story


@pytest.mark.sample("confluent-kafka")
@pytest.mark.parametrize("client", INSTALLERS, indirect=True)
def test_with_transaction_version_1_an_aborted_record_is_readable(stage: Stage) -> None:
    assert committed_after_a_late_end(stage, "--story", "late_end_txn") == ["aborted", "committed", "next"]


@pytest.mark.sample("franz-go")
@pytest.mark.parametrize("client", INSTALLERS, indirect=True)
def test_with_transaction_version_2_it_is_hidden_from_who_speaks_end_txn_5(stage: Stage, tmp_path: Path) -> None:
    told = {"topics": {"late": 2}, "transaction_version": 2}
    faults = story("late_end_txn").model_dump(mode="json", exclude_unset=True)["faults"]
    plan = tmp_path / "plan.yaml"
    plan.write_text(yaml.safe_dump({"name": "the same with version 2", **told, "faults": faults}))
    hides = stage.client in SPEAKS_END_TXN_5
    expected = ["committed", "next"] if hides else ["aborted", "committed", "next"]
    assert committed_after_a_late_end(stage, "--plan", str(plan)) == expected


def committed_after_a_late_end(stage: Stage, *plan: str) -> list[str]:
    """What readers of committed records read when the application has committed, aborted and committed.

    The copy of the first EndTxn comes when the first record of the second transaction is acknowledged.
    """
    client = stage.begin(plan)
    client.ask("producer", name="p", id="id")
    commit(client, "p", "committed", topic="late")
    client.ask("begin", name="p")
    client.ask("send", name="p", topic="late", partition=0, value="aborted")
    client.ask("send", name="p", topic="late", partition=1, value="aborted as well")
    client.ask("abort", name="p")
    commit(client, "p", "next", topic="late")
    reader(client, "r", topic="late")
    found = read(client, "r", 2)
    said = stage.broker.end()
    assert stage.broker.process.returncode == 0, said
    return found
