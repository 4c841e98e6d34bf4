"""AddOffsetsToTxn (25), versions 0 to 4: the offsets of a group join a transaction.

Source: reference §2.8.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

ADD_OFFSETS_TO_TXN = api_of_messages(ApiKey.ADD_OFFSETS_TO_TXN)
