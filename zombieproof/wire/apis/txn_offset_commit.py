"""TxnOffsetCommit (28), versions 0 to 6: offsets of a group within a transaction.

Version 3 adds the member and its generation (KIP-447), from version 5 on the group joins the transaction by it
(KIP-890), version 6 names topics by id (KIP-1319). Rows are answered as those of OffsetCommit. Source: reference §4.1.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages
from zombieproof.wire.apis.offset_commit import to_values

TXN_OFFSET_COMMIT = api_of_messages(ApiKey.TXN_OFFSET_COMMIT, to_values=to_values)
