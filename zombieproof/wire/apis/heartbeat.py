"""Heartbeat (12), versions 0 to 4: a member of a group of the classic protocol is alive.

Static members say who they are from version 3 on (KIP-345).
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

HEARTBEAT = api_of_messages(ApiKey.HEARTBEAT)
