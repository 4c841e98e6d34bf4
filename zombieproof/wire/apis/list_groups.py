"""ListGroups (16), versions 0 to 5: the groups that one broker coordinates.

From version 4 on by their states (KIP-518), from 5 on by their types (KIP-848).
Source: ``ListGroupsRequest.json``, ``GroupCoordinatorShard.listGroups``.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

LIST_GROUPS = api_of_messages(ApiKey.LIST_GROUPS)
