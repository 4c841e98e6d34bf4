"""CreatePartitions (37), versions 0 to 3: a topic has more partitions, wherever brokers put them or as they are told.

Source: ``KafkaApis.handleCreatePartitionsRequest``; KIP-195.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

CREATE_PARTITIONS = api_of_messages(ApiKey.CREATE_PARTITIONS)
