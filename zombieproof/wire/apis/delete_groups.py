"""DeleteGroups (42), versions 0 to 2: groups are gone, with their offsets.

Source: KIP-229.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

DELETE_GROUPS = api_of_messages(ApiKey.DELETE_GROUPS)
