"""AddPartitionsToTxn (24), versions 0 to 5: partitions join a transaction.

Versions 0 to 3 come from producers, with one transaction in place of a list; from version 4 on brokers ask, for many
at once, and may only ask whether partitions are in (KIP-890). Source: reference §2.8, §2.9.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

ADD_PARTITIONS_TO_TXN = api_of_messages(ApiKey.ADD_PARTITIONS_TO_TXN)
