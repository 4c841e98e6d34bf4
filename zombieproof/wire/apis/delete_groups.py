"""DeleteGroups (42), versions 0 to 3: groups are gone, with their offsets.

Version 3 has a message beside each error; a broker fills it for errors of streams groups only, so here it is null.

Source: KIP-229.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

DELETE_GROUPS = api_of_messages(ApiKey.DELETE_GROUPS)
