"""OffsetCommit (8), versions 2 to 10: the offsets of a group outside of any transaction.

Versions 2 to 4 may say for how long they are kept, from 6 on there is the leader epoch of the record (KIP-320), from 7
on a static member says which it is (KIP-345), from 9 on members of the consumer protocol commit (KIP-848), from 10 on
topics have ids. No metadata is empty metadata. Source: reference §4; ``OffsetCommitRequest.json``.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

OFFSET_COMMIT = api_of_messages(ApiKey.OFFSET_COMMIT)
