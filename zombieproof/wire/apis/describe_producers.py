"""DescribeProducers (61), version 0: which producers a partition's leader or follower remembers.

Source: reference §2.16; KIP-664.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

DESCRIBE_PRODUCERS = api_of_messages(ApiKey.DESCRIBE_PRODUCERS)
