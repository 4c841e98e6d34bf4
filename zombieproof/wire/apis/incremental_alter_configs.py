"""IncrementalAlterConfigs (44), versions 0 and 1: settings are set, deleted, appended to, or subtracted from.

What is changed of one broker changes in all of them. Source: ``ConfigAdminManager.scala``; KIP-339.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

INCREMENTAL_ALTER_CONFIGS = api_of_messages(ApiKey.INCREMENTAL_ALTER_CONFIGS)
