"""SaslHandshake (API key 17), SaslAuthenticate (36) and ApiVersions (18) before it is known who is at the other end.

Behaviour: versions may be asked for once, unless the question was not understood; then a mechanism is named, and
tokens are exchanged. What is refused ends the connection: with an answer where the client can understand one, which is
where the request was read, else without.
Versions: SaslHandshake 0 is followed by tokens without a header, 1 by SaslAuthenticate.
A session may have an end (``connections.max.reauth.ms``): then the client proves again who it is before that, by
another handshake, as often as once a second; it stays who it was, by the mechanism that it came by (one that there is
not ends the connection, here without an answer). What comes behind the end of a session ends the connection.
Source: ``SaslServerAuthenticator.java``, ``KafkaChannel.maybeBeginServerReauthentication``,
``KafkaApis.handleSaslHandshakeRequest``; KIP-43, KIP-152, KIP-368, KIP-511.
"""

from typing import NamedTuple

from zombieproof.model.vocabulary import NONE, ApiKey, ConnectionEvent, ConnectionState, Error, Evaluation

FIRST_HANDSHAKE_WITH_HEADERS = 1


class Arrival(NamedTuple):
    """What has come: `api` NONE is a token without a header.

    `is_understood`: its version is; `is_valid`: an ApiVersions says by a legal name which software asks; `is_enabled`:
    a SaslHandshake names a mechanism that there is; `evaluation`: what the mechanism says to the token; `is_changed`:
    a client that is known would come by another mechanism than before, `is_another`: as another user. `ends`: its
    session has an end, which is over if `has_ended`; `is_too_soon`: within the last second it began to prove again
    who it is.
    """

    api: int
    version: int
    is_understood: bool
    is_valid: bool
    is_enabled: bool
    evaluation: int
    is_changed: bool
    is_another: bool
    ends: bool
    has_ended: bool
    is_too_soon: bool


class Reaction(NamedTuple):
    """What a broker does: the event of the connection, and the error of the answer, if there is one.

    `passes`: the request is none of these; it goes on.
    """

    event: int
    error: int
    answers: bool
    passes: bool


def _closes() -> Reaction:
    """The connection ends without an answer."""
    return Reaction(int(ConnectionEvent.CLOSE), int(Error.NONE), False, False)


def answers(event: int, error: int) -> Reaction:
    """There is an answer, and the event."""
    return Reaction(int(event), int(error), True, False)


def decide_arrival(state: int, arrival: Arrival) -> Reaction:
    """What a broker does about what has come on a connection."""
    if state == ConnectionState.CLOSED:
        return Reaction(int(ConnectionEvent.NOTHING), int(Error.NONE), False, False)
    if state == ConnectionState.AUTHENTICATED:
        return decide_behind_authentication(arrival)
    if state == ConnectionState.EXCHANGING_TOKENS:
        return decide_bare_token(arrival)
    if state == ConnectionState.AUTHENTICATING:
        return decide_token(arrival)
    if arrival.api == ApiKey.API_VERSIONS:
        return decide_versions(state, arrival)
    if arrival.api == ApiKey.SASL_HANDSHAKE:
        return decide_handshake(arrival)
    return _closes()


def decide_versions(state: int, arrival: Arrival) -> Reaction:
    """ApiVersions before the handshake: a question that was answered well is not answered again."""
    if state == ConnectionState.VERSIONS_TOLD:
        return _closes()
    if not arrival.is_understood:
        return answers(ConnectionEvent.NOTHING, Error.UNSUPPORTED_VERSION)
    if not arrival.is_valid:
        return answers(ConnectionEvent.NOTHING, Error.INVALID_REQUEST)
    return answers(ConnectionEvent.TELL_VERSIONS, Error.NONE)


def decide_handshake(arrival: Arrival) -> Reaction:
    """SaslHandshake: the answer names the mechanisms that there are, also where the one asked for is none of them."""
    if not arrival.is_understood:
        return _closes()
    if not arrival.is_enabled:
        return answers(ConnectionEvent.CLOSE, Error.UNSUPPORTED_SASL_MECHANISM)
    with_headers = arrival.version >= FIRST_HANDSHAKE_WITH_HEADERS
    return answers(ConnectionEvent.AGREE if with_headers else ConnectionEvent.AGREE_ON_TOKENS, Error.NONE)


def decide_token(arrival: Arrival) -> Reaction:
    """A request behind the handshake: only SaslAuthenticate is legal."""
    if not arrival.is_understood or arrival.api == NONE or arrival.is_changed:
        return _closes()
    if arrival.api != ApiKey.SASL_AUTHENTICATE:
        return answers(ConnectionEvent.CLOSE, Error.ILLEGAL_SASL_STATE)
    if is_refused(arrival):
        return answers(ConnectionEvent.CLOSE, Error.SASL_AUTHENTICATION_FAILED)
    return answers(event_of(arrival.evaluation), Error.NONE)


def decide_bare_token(arrival: Arrival) -> Reaction:
    """A token behind a handshake of version 0: there is no place for an error in the answer. A request is no token."""
    if arrival.api != NONE or arrival.is_changed or is_refused(arrival):
        return _closes()
    return answers(event_of(arrival.evaluation), Error.NONE)


def is_refused(arrival: Arrival) -> bool:
    """Whether a token is not accepted: it is wrong, or makes somebody else of who is known."""
    return arrival.evaluation == Evaluation.REFUSED or (
        arrival.evaluation == Evaluation.ACCEPTED and arrival.is_another
    )


def event_of(evaluation: int) -> int:
    """The event of a token that was not refused."""
    return int(ConnectionEvent.ACCEPT if evaluation == Evaluation.ACCEPTED else ConnectionEvent.CHALLENGE)


def decide_behind_authentication(arrival: Arrival) -> Reaction:
    """Who is known proves it again where his session has an end; else a request of authentication is one too many."""
    if arrival.ends and arrival.api == ApiKey.SASL_HANDSHAKE and not arrival.is_too_soon:
        return decide_handshake(arrival) if arrival.is_enabled else _closes()
    if arrival.has_ended:
        return _closes()
    if arrival.api in (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE):
        return answers(ConnectionEvent.NOTHING, Error.ILLEGAL_SASL_STATE)
    return Reaction(int(ConnectionEvent.NOTHING), int(Error.NONE), False, True)
