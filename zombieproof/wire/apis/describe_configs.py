"""DescribeConfigs (32), versions 1 to 4: settings of topics (type 2) and of the broker that is asked (4).

Each with its source, from version 1 on with its synonyms, from 3 on with its type; documentation is null. The broker
without a number is what was changed in all of them while they ran. Of settings that Kafka's brokers have and brokers
here have not nothing is told; loggers (8), client metrics (16) and groups (32) are refused like types that there are
not.
Source: ``ConfigHelper.scala``; KIP-133, KIP-226, KIP-569.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

DESCRIBE_CONFIGS = api_of_messages(ApiKey.DESCRIBE_CONFIGS)
