"""OffsetCommit (8): the offsets of a group outside of any transaction.

From version 10 on topics have ids (KIP-848). Source: reference §4.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

OFFSET_COMMIT = api_of_messages(ApiKey.OFFSET_COMMIT)
