"""A connection that has to be authenticated, without I/O: what comes on it, and what is to be done about it.

Theory of operation: whoever reads the connection says what has come (`arrives`); the step says whether it is answered,
goes on or ends the connection (`statemachines.connection`). While `takes_bare_tokens`, frames have no header, and the
whole of each is a token. What goes on is a request of `principal`. Where sessions have an end (`most_ms`), a client is
told when; a handshake before that begins anew, and the principal stays.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.broker.authorization.mechanisms import Evaluated, Exchange, Mechanism, refused
from zombieproof.broker.authorization.principals import LOOPBACK, Principal
from zombieproof.broker.cluster.journal import Journal
from zombieproof.model.vocabulary import NONE, ApiKey
from zombieproof.statemachines.connection import arriving
from zombieproof.statemachines.connection.arriving import Arrival, ConnectionRecord

NO_TOKEN = refused("")
LEAST_BETWEEN_MS = 1000
"""So long a client waits at least before it proves again who it is (``MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS``)."""


class Said(NamedTuple):
    """What has come: a request of an API (`api` NONE: a token without header), as far as it concerns authentication.

    `is_understood`: its version is; `is_valid`: an ApiVersions names its software as it may; `mechanism` of a
    SaslHandshake; `token` of a SaslAuthenticate, or the one without header.
    """

    api: int
    version: int = 0
    is_understood: bool = True
    is_valid: bool = True
    mechanism: str = ""
    token: bytes = b""


class Told(NamedTuple):
    """What is to be done: the answer (if `answers`) with its `error`, and what stands in it; then the end, if `closes`.

    `passes`: it is nothing of authentication, and goes on to the broker. `mechanisms` for SaslHandshake; `token`,
    `message` and `lifetime_ms` (0: without an end) for SaslAuthenticate. The answer to an ApiVersions or another
    request has the error in its own form.
    """

    error: int
    answers: bool
    passes: bool
    closes: bool
    mechanisms: tuple[str, ...] = ()
    token: bytes = b""
    message: str = ""
    lifetime_ms: int = 0


def _never() -> int:
    """The time where nothing ends."""
    return 0


@dataclass(slots=True)
class Session:
    """One connection. `mechanisms` are those that its listener has, by name; `host` is the address of the client.

    `most_ms`: how long it may be before who is there proves it again, by the time that `now_ms` tells; 0: for ever.
    """

    mechanisms: Mapping[str, Mechanism]
    journal: Journal = field(default_factory=Journal)
    host: str = LOOPBACK
    most_ms: int = 0
    now_ms: Callable[[], int] = _never
    principal: Principal | None = None
    _record: ConnectionRecord = field(default_factory=ConnectionRecord)
    _exchange: Exchange | None = None
    _mechanism: str = ""
    _is_changed: bool = False
    _ends_ms: int = 0
    _begun_ms: int | None = None

    def arrives(self, said: Said) -> Told:
        """Something has come."""
        evaluated, was_agreed = self._evaluated(said), self.is_agreed
        was_authenticated = self.is_authenticated
        reaction = arriving.arrives(self._record, self._arrival(said, evaluated), self.journal.begin())
        self.journal.take(self.host)
        if self.is_agreed and not was_agreed:
            self._begin(said.mechanism)
        lifetime_ms = self._accept(evaluated) if self.is_authenticated and not was_authenticated else 0
        names = said.api == ApiKey.SASL_HANDSHAKE and not was_agreed and not self.is_authenticated
        return Told(
            reaction.error,
            reaction.answers,
            reaction.passes,
            self.is_closed,
            tuple(self.mechanisms) if names else (),
            b"" if reaction.error else evaluated.token,
            self._message(evaluated) if reaction.error and said.api == ApiKey.SASL_AUTHENTICATE else "",
            lifetime_ms,
        )

    def _arrival(self, said: Said, evaluated: Evaluated) -> Arrival:
        now_ms, ends = self.now_ms(), self.most_ms > 0
        return Arrival(
            said.api,
            said.version,
            said.is_understood,
            said.is_valid,
            said.mechanism in self.mechanisms,
            evaluated.evaluation,
            self._is_changed,
            self._is_another(evaluated),
            ends,
            ends and self.is_authenticated and now_ms > self._ends_ms,
            self._begun_ms is not None and now_ms - self._begun_ms < LEAST_BETWEEN_MS,
        )

    def _begin(self, mechanism: str) -> None:
        """Tokens of a mechanism come next."""
        if self.principal is not None:
            self._begun_ms = self.now_ms()
            self._is_changed = mechanism != self._mechanism
        self._exchange, self._mechanism = self.mechanisms[mechanism].begin(), mechanism

    def _accept(self, evaluated: Evaluated) -> int:
        """It is known who is there; returned is for how long."""
        self._exchange = None
        if self.principal is None:
            self.principal = Principal(evaluated.user, self.host)
        self._ends_ms = self.now_ms() + self.most_ms
        return self.most_ms

    def _evaluated(self, said: Said) -> Evaluated:
        is_token = said.api == (NONE if self.takes_bare_tokens else ApiKey.SASL_AUTHENTICATE)
        if self._exchange is None or not is_token or not said.is_understood:
            return NO_TOKEN
        return self._exchange.evaluate(said.token)

    def _is_another(self, evaluated: Evaluated) -> bool:
        return self.principal is not None and evaluated.user not in ("", self.principal.name)

    def _message(self, evaluated: Evaluated) -> str:
        """What is said to a token that is not accepted."""
        who, is_another = self.principal, self._is_another(evaluated)
        if who is not None and is_another:
            change = f"{who.kind}.{who.name}: {who.kind}.{evaluated.user}"
            return f"Cannot change principals during re-authentication from {change}"
        doing = "authentication" if who is None else "re-authentication"
        general = f"Authentication failed during {doing} due to invalid credentials with SASL mechanism"
        return evaluated.message or f"{general} {self._mechanism}"

    @property
    def is_agreed(self) -> bool:
        """Whether tokens of a mechanism are exchanged."""
        return arriving.is_agreed(self._record)

    @property
    def is_closed(self) -> bool:
        """Whether nothing that comes is read any more."""
        return arriving.is_closed(self._record)

    @property
    def is_authenticated(self) -> bool:
        """Whether it is known who is at the other end."""
        return arriving.is_authenticated(self._record)

    @property
    def takes_bare_tokens(self) -> bool:
        """Whether what comes next has no header."""
        return arriving.takes_bare_tokens(self._record)
