"""DescribeTransactions (65), version 0: what a coordinator knows of transactional ids.

Source: reference §2.16; KIP-664.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

DESCRIBE_TRANSACTIONS = api_of_messages(ApiKey.DESCRIBE_TRANSACTIONS)
