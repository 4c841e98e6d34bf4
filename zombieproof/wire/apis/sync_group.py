"""SyncGroup (14): a member asks what it gets, its leader says what everybody gets.

Source: KIP-345, KIP-559.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

SYNC_GROUP = api_of_messages(ApiKey.SYNC_GROUP)
