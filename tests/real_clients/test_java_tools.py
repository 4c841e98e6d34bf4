"""`kafka-transactions` and `kafka-consumer-groups` print at brokers of ours what they print at Kafka."""

import json
from collections.abc import Mapping

import pytest

from tests.real_clients.java_tools import CLIENT, KEPT, QUESTIONS, asked, in_common, scene
from tests.real_clients.scenarios import Stage

KAFKA: Mapping[str, list[str]] = json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("client", [CLIENT], indirect=True)
def test_tools_print_what_they_print_at_kafka(stage: Stage) -> None:
    client = stage.begin()
    scene(client)
    assert asked(stage.broker.bootstrap, client) == KAFKA


def test_every_question_was_asked_of_kafka() -> None:
    assert list(KAFKA) == list(QUESTIONS)


def test_what_runs_have_in_common_keeps_states_and_errors_apart() -> None:
    table = ["TransactionalId Coordinator ProducerId TransactionState", "open 1 1000 Ongoing"]
    assert in_common(table) == ["TransactionalId Coordinator ProducerId TransactionState", "open * * Ongoing"]
    assert in_common([table[0], "open 0 7 Ongoing"]) == in_common(table)
    assert in_common([table[0], "open 1 1000 CompleteCommit"]) != in_common(table)
    assert in_common(["Error: no group a"]) != in_common(["Error: no group b"])
