"""A test of an application, as one would write it; the fixture `txn_broker` sees what it does not ask.

    pip install 'zombieproof[wire]' confluent-kafka pytest
    python -m pytest examples/pytest_app

The application is right in every test, as far as the tests ask. The first fails all the same: offsets are committed
outside of the transaction. The others pass: the repaired application, also when its commit is answered by nobody.
"""

import pytest
from confluent_kafka import Producer
from pricing import INVOICES, ORDERS, Pricing, RepairedPricing

from zombieproof import TestedBrokers

EXPECTED = [b"invoice for %d" % number for number in range(5)]


def sell(broker: TestedBrokers) -> None:
    """Orders come in."""
    broker.topics(orders=1, invoices=1)
    shop = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(5):
        shop.produce(ORDERS, b"%d" % number)
    shop.flush(10)


def price(worker: Pricing) -> None:
    """All of them are priced."""
    try:
        worker.price(5)
    finally:
        worker.close()


def test_every_order_is_priced(txn_broker: TestedBrokers) -> None:
    """What it asks is so, and it fails."""
    sell(txn_broker)
    price(Pricing(txn_broker.bootstrap))
    assert [each.value for each in txn_broker.records(INVOICES)] == EXPECTED


def test_every_order_is_priced_exactly_once(txn_broker: TestedBrokers) -> None:
    """The same with the repaired application."""
    sell(txn_broker)
    price(RepairedPricing(txn_broker.bootstrap))
    assert [each.value for each in txn_broker.records(INVOICES)] == EXPECTED


@pytest.mark.txn_faults(plan={"faults": [{"request": {"api": "EndTxn"}, "disconnect_on": "after"}]})
def test_a_commit_that_nobody_answers_is_made_once(txn_broker: TestedBrokers) -> None:
    """The connection ends when the commit is made and before it is told: the client asks again."""
    sell(txn_broker)
    price(RepairedPricing(txn_broker.bootstrap))
    assert [each.value for each in txn_broker.records(INVOICES)] == EXPECTED
