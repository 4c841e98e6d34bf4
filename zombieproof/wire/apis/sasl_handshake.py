"""SaslHandshake (17), versions 0 and 1: a client names the mechanism by which it says who it is.

It is answered by whoever speaks for a broker (`wire.gate`), with the mechanisms that there are; one that is none of
them is error 33, and the end. Version 1 is followed by SaslAuthenticate, 0 by bare tokens. Where nobody has to say who
he is, or has said it already, it is error 34, unless sessions have an end (``connections.max.reauth.ms``).
Source: KIP-43, KIP-152; ``KafkaApis.handleSaslHandshakeRequest``.
"""

from typing import Any

from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_facts


def told(entity: Any, version: int, around: Around) -> Values:
    """Nobody was to say it now."""
    return {"error_code": Error.ILLEGAL_SASL_STATE, "mechanisms": ()}


SASL_HANDSHAKE = api_of_facts(ApiKey.SASL_HANDSHAKE, range(2), told)
