"""ConsumerGroupHeartbeat (68), versions 0 and 1: a member of a group of the consumer protocol.

Source: KIP-848.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

CONSUMER_GROUP_HEARTBEAT = api_of_messages(ApiKey.CONSUMER_GROUP_HEARTBEAT)
