"""JoinGroup (11), versions 0 to 9: a member joins a group of the classic protocol.

The answer waits until all members have joined. From version 1 on it says for how long others wait for it, from 4 on a
new member gets its id first (KIP-394), from 5 on there are static members (KIP-345), from 7 on the type of the protocol
is told, and nothing where there is none, from 9 on who leads again may skip assigning (KIP-814). Why somebody joins
(version 8, KIP-800) is for logs of brokers alone. Source: ``JoinGroupRequest.java``, ``JoinGroupResponse.java``.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

JOIN_GROUP = api_of_messages(ApiKey.JOIN_GROUP)
