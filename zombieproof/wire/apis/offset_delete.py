"""OffsetDelete (47), version 0: some offsets of a group are gone.

Source: KIP-496.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

OFFSET_DELETE = api_of_messages(ApiKey.OFFSET_DELETE)
