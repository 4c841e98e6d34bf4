"""SyncGroup (14), versions 0 to 5: a member asks what it gets, its leader says what everybody gets.

From version 3 on there are static members (KIP-345), from 5 on a member has to say what it takes the protocol to be,
and is told it (KIP-559). Source: ``SyncGroupRequest.java``, ``KafkaApis.handleSyncGroupRequest``.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

SYNC_GROUP = api_of_messages(ApiKey.SYNC_GROUP)
