"""OffsetFetch (9): the committed offsets of groups.

Source: reference §4.5.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

OFFSET_FETCH = api_of_messages(ApiKey.OFFSET_FETCH)
