"""AlterConfigs (33), versions 0 to 2: all that is said of a resource's settings; the rest is as if never said.

What is changed of one broker changes in all of them. A resource that is named twice is refused (42); Kafka 4.3 does not
answer then. Source: ``ConfigAdminManager.scala``; KIP-133.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

ALTER_CONFIGS = api_of_messages(ApiKey.ALTER_CONFIGS)
