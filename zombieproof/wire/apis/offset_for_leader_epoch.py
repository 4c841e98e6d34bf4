"""OffsetForLeaderEpoch (23), versions 2 to 4: where the records of a leader end.

A consumer that has heard of another leader asks so whether what it has read is still there (KIP-320); from version 3
on it says that it is no replica. Source: ``OffsetsForLeaderEpochRequest.java``.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

OFFSET_FOR_LEADER_EPOCH = api_of_messages(ApiKey.OFFSET_FOR_LEADER_EPOCH)
