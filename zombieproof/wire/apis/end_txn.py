"""EndTxn (26), versions 0 to 5: a transaction is committed or aborted.

From version 5 on the answer has the producer id and epoch to go on with (KIP-890). Source: reference §2.10, §2.11.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

END_TXN = api_of_messages(ApiKey.END_TXN)
