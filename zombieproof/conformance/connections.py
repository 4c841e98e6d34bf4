"""What a sequence says of users and rights, for a cluster in this process: its access list, and its connections."""

from collections.abc import Mapping
from typing import Final

from zombieproof.broker.authorization.access_list import AccessList, Entry
from zombieproof.broker.authorization.mechanisms import Plain
from zombieproof.broker.authorization.principals import USER, Principal
from zombieproof.broker.authorization.session import Said, Session
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.conformance.recording import Recorded
from zombieproof.conformance.subject import Authenticated, Closed, Credentials
from zombieproof.messages.refusals import refusal
from zombieproof.messages.registry import api_of
from zombieproof.model.access import AclOperation, PatternType, Permission, ResourceType
from zombieproof.model.api_versions import understood_versions
from zombieproof.model.vocabulary import NONE, ApiKey, Error

PASSWORD: Final = "right"  # noqa: S105  # nobody is kept out by it: recorded users have to have one
USERS: Final = ("root", "u0", "u1")
"""Those that recorded brokers knew, each by the same password."""

APIS: Mapping[str, int] = {
    "ApiVersions": ApiKey.API_VERSIONS,
    "SaslHandshake": ApiKey.SASL_HANDSHAKE,
    "SaslAuthenticate": ApiKey.SASL_AUTHENTICATE,
    "SaslToken": NONE,
}

RESOURCES: Mapping[str, ResourceType] = {
    "".join(word.capitalize() for word in each.name.split("_")): each for each in ResourceType
}


def understands(kafka: str, credentials: Credentials) -> bool:
    """Whether a broker of a release understands the version; a token without a header has none."""
    api = APIS[credentials.api]
    versions = range(1) if api == NONE else understood_versions(kafka, ApiKey(api))
    return versions is not None and credentials.version in versions


def access_of(recorded: Recorded) -> AccessList | None:
    """Who may do what in a sequence; None: nobody is asked."""
    security = recorded.sequence.security
    if security is None:
        return None
    entries = set()
    for user, permission, operation, resource, name, *prefixed in security.acls:
        pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
        kinds = Permission[permission], AclOperation[operation], RESOURCES[resource]
        entries.add(Entry(f"{USER}:{user}", *kinds, name, pattern))
    return AccessList(frozenset(entries), frozenset(f"{USER}:{name}" for name in security.super))


class Connections:
    """The connections of one sequence to brokers of a release, by the names that it gives them.

    One that was closed is opened anew.
    """

    def __init__(self, kafka: str, journal: Journal) -> None:
        self._kafka, self._journal = kafka, journal
        self._sessions: dict[str, Session] = {}

    def _session(self, name: str) -> Session:
        if name not in self._sessions:
            mechanisms = {"PLAIN": Plain(dict.fromkeys(USERS, PASSWORD))}
            self._sessions[name] = Session(mechanisms, self._journal)
        return self._sessions[name]

    def principal(self, name: str) -> Principal | None:
        """Who is at the other end."""
        return self._session(name).principal

    def authenticate(self, credentials: Credentials, name: str) -> Authenticated | Closed:
        """A step of authentication; one that meets a closed connection hears only that."""
        session, api = self._session(name), credentials.api
        if session.is_closed:
            return self._closed(name)
        is_understood = understands(self._kafka, credentials)
        said = Said(APIS[api], credentials.version, is_understood, True, credentials.mechanism, credentials.token)
        told = session.arrives(said)
        if told.passes:
            # Who is known may ask again what there is; whoever speaks for a broker answers.
            return Authenticated(int(Error.NONE if is_understood else Error.UNSUPPORTED_VERSION))
        return Authenticated(told.error, told.mechanisms, told.token) if told.answers else self._closed(name)

    def refusal(self, request: Request, name: str) -> Answer | Closed | None:
        """What a request is answered with by whoever asks who sends it; None: it goes on."""
        session = self._session(name)
        if session.is_closed:
            return self._closed(name)
        told = session.arrives(Said(api_of(type(request)).key, request.version))
        if told.passes:
            return None
        answer: Answer = refusal(request, told.error)
        return answer if told.answers else self._closed(name)

    def _closed(self, name: str) -> Closed:
        del self._sessions[name]
        return Closed()
