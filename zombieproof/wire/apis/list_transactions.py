"""ListTransactions (66), versions 0 to 2: the transactional ids of one coordinator.

From version 1 on by how long they are open, in 2 by a pattern (KIP-1152). Source: reference §2.16.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

LIST_TRANSACTIONS = api_of_messages(ApiKey.LIST_TRANSACTIONS)
