"""An application: orders are read, priced, and written as invoices, each exactly once. Or so its author thinks.

It is written for confluent-kafka, as applications are; nothing in it knows of a test.
"""

from confluent_kafka import Consumer, Message, Producer, TopicPartition

ORDERS, INVOICES = "orders", "invoices"


class Pricing:
    """A worker: each batch of orders becomes a batch of invoices, in a transaction."""

    def __init__(self, bootstrap: str, transactional_id: str = "pricing-1") -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "pricing",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self.producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id})
        self.producer.init_transactions(10)
        self.consumer.subscribe([ORDERS])

    def price(self, orders: int) -> None:
        """Price so many orders."""
        taken: list[Message] = []
        while len(taken) < orders:
            message = self.consumer.poll(10)
            if message is None or message.error():
                raise TimeoutError(f"{len(taken)} of {orders} orders came: {message and message.error()}")
            taken.append(message)
        self.producer.begin_transaction()
        for message in taken:
            self.producer.produce(INVOICES, b"invoice for " + message.value(), message.key())
        self.end(taken[-1].offset() + 1)

    def end(self, offset: int) -> None:
        """All is written: say so, and how far it is."""
        self.producer.commit_transaction(10)
        # The mistake: a crash here, and the next worker prices the same orders again.
        self.consumer.commit(offsets=[TopicPartition(ORDERS, 0, offset)], asynchronous=False)

    def close(self) -> None:
        """Leave the group."""
        self.consumer.close()


class RepairedPricing(Pricing):
    """The same worker, which says how far it is in the transaction that holds what it wrote."""

    def end(self, offset: int) -> None:
        """Both, or nothing."""
        offsets = [TopicPartition(ORDERS, 0, offset)]
        self.producer.send_offsets_to_transaction(offsets, self.consumer.consumer_group_metadata(), 10)
        self.producer.commit_transaction(10)
