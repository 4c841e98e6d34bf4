"""Whoever has come to a listener that demands SASL: what he sends is read here until it is known who he is.

Theory of operation: each frame is said to the session (`broker.authorization.session`), which says what is to be done.
What is answered here goes back as the bytes of the answer (`Asked.data`), and what the answer ends, as the last of the
connection (`Asked.ends`); the rest goes on to the broker, as requests of the principal. Source: KIP-43, KIP-152;
``SaslServerAuthenticator.java``.
"""

from dataclasses import replace

from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.authorization.session import Said, Session, Told
from zombieproof.messages.refusals import refusal
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.wire.api import Values
from zombieproof.wire.apis import WIRE_APIS, api_versions
from zombieproof.wire.apis.sasl_authenticate import TOO_LATE
from zombieproof.wire.frames import SIZE, Header, read_header
from zombieproof.wire.front import Asked, Front

NO_HEADER = Header(NONE, 0, 0, None, 0)


class Gate:
    """The end of one connection at a listener that demands SASL.

    Args:
        front: who speaks for the broker.
        session: who is at the other end, as far as that is known.
    """

    def __init__(self, front: Front, session: Session) -> None:
        self._front, self._session = front, session

    @property
    def principal(self) -> Principal | None:
        """Who is at the other end; None: that is not known."""
        return self._session.principal

    @property
    def is_passed(self) -> bool:
        """Whether what comes next may be a request to the broker."""
        return self._session.is_authenticated

    def ask(self, frame: bytes) -> Asked:
        """What is asked; with the answer in it, if it is nothing to a broker.

        Raises:
            Malformed: it is no request, or none that the broker understands: the connection ends.
        """
        session = self._session
        if session.takes_bare_tokens:
            told = session.arrives(Said(NONE, token=frame))
            return Asked(NO_HEADER, None, (), _framed(told.token) if told.answers else None, told.closes)
        api = read_header(frame).api_key
        if not (session.is_authenticated or session.is_agreed or api in OF_STRANGERS):
            # What a stranger may not ask for is not read.
            session.arrives(Said(api))
            return Asked(NO_HEADER, None, (), None, True)
        asked = self._front.ask(frame, session.host)
        told = session.arrives(_said(asked))
        if told.passes:
            return asked
        if not told.answers:
            return replace(asked, messages=(), ends=True)
        return replace(asked, messages=(), data=self._answer(asked, told), ends=told.closes)

    def _answer(self, asked: Asked, told: Told) -> bytes:
        if asked.api == ApiKey.API_VERSIONS and told.error != Error.ILLEGAL_SASL_STATE:
            return self._front.versions(asked, compares_node=False)
        if asked.api not in WIRE_APIS:
            return self._front.told(asked, {"error_code": told.error})
        if asked.api in OF_AUTHENTICATION:
            return self._front.told(asked, _values(asked.api, told))
        refused = WIRE_APIS[asked.api].refused
        if refused is not None:
            return self._front.told(asked, refused(asked.entity, told.error))
        return self._front.answered(asked, tuple(refusal(each, told.error) for each in asked.messages))


OF_AUTHENTICATION = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
OF_STRANGERS = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE})
"""What may be asked before a mechanism is named."""


def _said(asked: Asked) -> Said:
    entity, version = asked.entity, asked.header.version
    if asked.api == ApiKey.API_VERSIONS:
        is_valid = entity is not None and api_versions.is_valid(entity, version)
        return Said(asked.api, version, entity is not None, is_valid)
    return Said(
        asked.api,
        version,
        mechanism=entity.mechanism if asked.api == ApiKey.SASL_HANDSHAKE else "",
        token=entity.auth_bytes if asked.api == ApiKey.SASL_AUTHENTICATE else b"",
    )


def _values(api: ApiKey, told: Told) -> Values:
    if api == ApiKey.SASL_HANDSHAKE:
        return {"error_code": told.error, "mechanisms": told.mechanisms}
    return {
        "error_code": told.error,
        "error_message": TOO_LATE if told.error == Error.ILLEGAL_SASL_STATE else told.message,
        "auth_bytes": told.token,
        "session_lifetime": told.lifetime_ms,
    }


def _framed(token: bytes) -> bytes:
    return SIZE.pack(len(token)) + token
