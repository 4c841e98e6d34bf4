"""Topic partitions, and the topics that Kafka keeps for itself."""

TRANSACTION_STATE = "__transaction_state"
CONSUMER_OFFSETS = "__consumer_offsets"
INTERNAL_TOPICS = frozenset({TRANSACTION_STATE, CONSUMER_OFFSETS})

TopicPartition = tuple[str, int]
