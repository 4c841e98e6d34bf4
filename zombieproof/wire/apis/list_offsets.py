"""ListOffsets (2): where partitions begin and end, and where a time is in them.

Source: reference §6; KIP-79.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

LIST_OFFSETS = api_of_messages(ApiKey.LIST_OFFSETS)
