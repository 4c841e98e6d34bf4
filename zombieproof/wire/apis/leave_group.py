"""LeaveGroup (13): members leave a group of the classic protocol.

One member up to version 2, many from version 3 on (KIP-345).
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

LEAVE_GROUP = api_of_messages(ApiKey.LEAVE_GROUP)
