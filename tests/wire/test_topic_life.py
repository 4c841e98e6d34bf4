"""Clients of a topic that is deleted and created again are told what a real Kafka tells them."""

from typing import Any

import pytest

from tests.wire.questions_topic_life import ACTS, OurLine, World
from tests.wire.recorder_topic_life import recorded
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.fault_disk import FaultDisk
from zombieproof.model.vocabulary import Error

RECORDED = recorded()
SETTINGS = Settings(
    transaction_state_log_num_partitions=2, offsets_topic_num_partitions=2, group_initial_rebalance_delay_ms=0
)


def in_order(value: Any) -> Any:
    """An answer without the order of its rows."""
    if isinstance(value, dict):
        return {key: in_order(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted((in_order(each) for each in value), key=repr)
    return value


def counted(value: Any) -> Any:
    """An assignment, of which only the number of partitions is certain: Kafka goes by the order of a hash table."""
    if isinstance(value, dict):
        sizes = {key: len(each) for key, each in value.items() if key == "partitions"}
        return {key: counted(each) for key, each in value.items()} | sizes
    return sorted(map(counted, value), key=repr) if isinstance(value, list) else value


def as_ours(label: str, answer: Any) -> Any:
    """What Kafka has told, where ours need not tell the same."""
    if label.startswith("Fetch") and label.endswith("that waited"):
        # Kafka completes a fetch when the first of its partitions is gone: which others are gone by then is chance.
        for topic in answer["responses"]:
            for row in topic["partitions"]:
                row["error_code"] = int(Error.UNKNOWN_TOPIC_OR_PARTITION)
    return in_order(answer)


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "with a data directory"])
@pytest.mark.parametrize("act", ACTS)
def test_clients_are_told_what_kafka_tells_them(act: str, stored: bool) -> None:
    clock = ManualClock()
    disk = FaultDisk() if stored else None
    with Embedded(settings=SETTINGS, clock=clock, disk=disk) as brokers:

        def rest(seconds: float) -> None:
            clock.advance(int(seconds * 1000))
            while brokers.pump():
                pass

        world = World(lambda: OurLine(brokers, lambda milliseconds: rest(milliseconds / 1000)), rest)
        for (label, expected), (asked, answer) in zip(RECORDED[act], ACTS[act](world), strict=True):
            assert asked == label
            form = counted if "two members" in act else in_order
            assert form(world.told(answer)) == form(as_ours(label, expected)), label


def test_every_act_was_recorded() -> None:
    assert list(RECORDED) == list(ACTS)
