"""DeleteRecords (21), versions 0 to 2: records up to an offset are gone.

Source: KIP-107.
"""

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages

DELETE_RECORDS = api_of_messages(ApiKey.DELETE_RECORDS)
