"""The sink that Spark's own words lead to: each attempt of a task commits for itself. Workers import this."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from zombieproof.pipeline.kafka import producer_for
from zombieproof.pipeline.sink import Row

CALL_S = 30.0


class Reached(Enum):
    """How far an attempt is."""

    BEGUN = "it has no id"
    SENT = "its rows are acknowledged"
    COMMITTED = "they are committed"


def opened(settings: Mapping[str, Any], rows: Sequence[Row], transactional_id: str) -> Any:
    """A producer with a transaction in which rows are acknowledged."""
    producer = producer_for(settings, transactional_id)
    producer.init_transactions(CALL_S)
    producer.begin_transaction()
    for row in rows:
        producer.produce(row.topic, row.value, row.key)
    left = producer.flush(CALL_S)
    assert left == 0, f"{left} rows are on their way after {CALL_S:g} s"
    return producer


def commit_alone(settings: Mapping[str, Any], rows: Sequence[Row], comes_by: Callable[[Reached], None]) -> None:
    """Commit rows under an id that nobody had; it comes by points at which it may be made to stand or to fail."""
    comes_by(Reached.BEGUN)
    producer = opened(settings, rows, f"naive-{uuid.uuid4().hex}")
    comes_by(Reached.SENT)
    producer.commit_transaction(CALL_S)
    comes_by(Reached.COMMITTED)
