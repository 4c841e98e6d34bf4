"""ConsumerGroupDescribe (69), versions 0 and 1: groups of the consumer protocol, with their members.

Version 1 says of a member which protocol it speaks: here all speak KIP-848, and none has a rack. Where that is
asked for it is told what one may do with a group.
Source: KIP-848, KIP-1099; ``ConsumerGroupDescribeResponse.json``.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages, with_operations

CONSUMER_GROUP_DESCRIBE = api_of_messages(ApiKey.CONSUMER_GROUP_DESCRIBE, to_values=with_operations)
