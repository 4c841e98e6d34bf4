"""JoinGroup (11): a member joins a group of the classic protocol.

Source: reference §4.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

JOIN_GROUP = api_of_messages(ApiKey.JOIN_GROUP)
