"""SaslAuthenticate (36), versions 0 to 2: a token of the mechanism that a client has named.

It is answered by whoever speaks for a broker (`wire.gate`), with the token of the broker, and from version 1 on with
how long the session lasts (``connections.max.reauth.ms``). What is not accepted is error 58, and the end, after
``connection.failed.authentication.delay.ms``. Where nobody has named a mechanism, it is error 34.
Source: KIP-152, KIP-368; ``KafkaApis.handleSaslAuthenticateRequest``.
"""

from typing import Any

from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_facts

TOO_LATE = "SaslAuthenticate request received after successful authentication"


def told(entity: Any, version: int, around: Around) -> Values:
    """Nobody was to say it now."""
    return {"error_code": Error.ILLEGAL_SASL_STATE, "error_message": TOO_LATE}


SASL_AUTHENTICATE = api_of_facts(ApiKey.SASL_AUTHENTICATE, range(3), told)
