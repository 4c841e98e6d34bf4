"""DescribeGroups (15), versions 0 to 6: groups of the classic protocol, with their members.

From version 4 on static members say which they are (KIP-345); in version 6 a group that is not there is an error, and
no dead group (KIP-1043). From version 3 on it is told, where that is asked for, what one may do with a group.
Source: ``DescribeGroupsRequest.json``, ``KafkaApis.handleDescribeGroupsRequest``.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages, with_operations

DESCRIBE_GROUPS = api_of_messages(ApiKey.DESCRIBE_GROUPS, to_values=with_operations)
