"""TxnOffsetCommit (28), versions 0 to 6: offsets of a group within a transaction.

Version 3 adds the member and its generation (KIP-447), from version 5 on the group joins the transaction by it
(KIP-890), version 6 names topics by id (KIP-1319). Source: reference §4.1.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

TXN_OFFSET_COMMIT = api_of_messages(ApiKey.TXN_OFFSET_COMMIT)
