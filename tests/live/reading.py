"""What consumers would read from a cluster in this process."""

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.journal import Journal
from zombieproof.clients.read_committed import FetchFilter
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import FetchAnswer
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Isolation


def values_of(
    cluster: Cluster, partition: TopicPartition, isolation: Isolation = Isolation.READ_COMMITTED
) -> list[bytes]:
    """The values of all records of a partition that a consumer gets now."""
    reader, values = FetchFilter(partition, isolation, Rules(), Journal()), list[bytes]()
    while True:
        answer = cluster.ask(reader.request(), cluster.leader_of(partition))
        assert isinstance(answer, FetchAnswer)
        before = reader.position
        for delivered in reader.read(answer.partitions[partition]):
            assert isinstance(delivered.record.value, bytes)
            values.append(delivered.record.value)
        if reader.position == before:
            return values
