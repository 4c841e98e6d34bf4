"""Whoever has his answer is told before what else follows from his request is done."""

from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.formats.batches import Marker
from zombieproof.messages.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
    TransactionToAdd,
)
from zombieproof.model.vocabulary import Error

SETTINGS = Settings(transaction_state_log_num_partitions=1)
PLACE = ("t", 0)


def markers(embedded: Embedded) -> list[Marker]:
    (broker,) = embedded.cluster.brokers.values()
    return [batch.marker for batch in broker.partitions.replicas[PLACE].log.read() if batch.marker is not None]


def test_a_commit_is_answered_before_its_marker_is_written() -> None:
    with Embedded(topics={"t": 1}, settings=SETTINGS, durability=Durability.MEMORY) as embedded:
        began = embedded.ask(InitProducerId(4, "x", 60_000))
        assert isinstance(began, InitProducerIdAnswer)
        whose = (began.producer_id, began.producer_epoch)
        embedded.ask(AddPartitionsToTxn(3, (TransactionToAdd("x", *whose, (PLACE,)),)))
        found = list[tuple[object, int]]()
        embedded.submit(
            EndTxn(4, "x", *whose, committed=True), None, lambda answer: found.append((answer, len(markers(embedded))))
        )
        embedded.pump()
        ((answer, written),) = found
        assert isinstance(answer, EndTxnAnswer)
        assert answer.error == Error.NONE
        assert written == 0, "whoever waits for a commit does not wait for markers"
        assert [marker.committed for marker in markers(embedded)] == [True]
