"""LeaveGroup (13), versions 0 to 5: members leave a group of the classic protocol.

One member up to version 2, whose error is that of the answer; many from version 3 on, also static ones by their
instance alone (KIP-345). Why somebody leaves (version 5, KIP-800) is for logs of brokers alone.
Source: ``LeaveGroupRequest.java``, ``LeaveGroupResponse.java``.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

LEAVE_GROUP = api_of_messages(ApiKey.LEAVE_GROUP)
