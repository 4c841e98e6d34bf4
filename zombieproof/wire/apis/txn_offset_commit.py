"""TxnOffsetCommit (28), versions 0 to 5: offsets of a group within a transaction.

From version 3 on with the member and its generation (KIP-447), from 5 on the group joins by it (KIP-890).
Source: reference §4.1.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

TXN_OFFSET_COMMIT = api_of_messages(ApiKey.TXN_OFFSET_COMMIT)
