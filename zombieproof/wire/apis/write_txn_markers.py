"""WriteTxnMarkers (27), versions 1 and 2: a coordinator ends a transaction in partitions; so may an administrator.

Version 2 says by which transaction version (KIP-1228). Source: reference §2.12, §3.5.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

WRITE_TXN_MARKERS = api_of_messages(ApiKey.WRITE_TXN_MARKERS)
