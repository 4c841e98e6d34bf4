"""InitProducerId (22), versions 0 to 6: a producer takes a transactional id, or gets a producer id alone.

From version 3 on a producer says which id and epoch it has (KIP-360), from 4 on it may be answered 90 where older ones
are answered 47, from 5 on 120, and version 6 keeps a prepared transaction (KIP-939); that one is offered only where
``unstable.api.versions.enable`` is set. Source: reference §2.7, §7.5.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

INIT_PRODUCER_ID = api_of_messages(ApiKey.INIT_PRODUCER_ID)
