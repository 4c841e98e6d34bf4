"""A connection that has to be authenticated, without I/O: what comes on it, and what is to be done about it.

Theory of operation: whoever reads the connection says what has come (`arrives`); the step says whether it is answered,
goes on or ends the connection (`statemachines.connection`). While `takes_bare_tokens`, frames have no header, and the
whole of each is a token. What goes on is a request of `principal`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.broker.authorization.mechanisms import Evaluated, Exchange, Mechanism
from zombieproof.broker.authorization.principals import LOOPBACK, Principal
from zombieproof.broker.cluster.journal import Journal
from zombieproof.model.vocabulary import NONE, ApiKey, Evaluation
from zombieproof.statemachines.connection import arriving
from zombieproof.statemachines.connection.arriving import Arrival, ConnectionRecord

NO_TOKEN = Evaluated(Evaluation.REFUSED)


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

    `passes`: it is nothing of authentication, and goes on to the broker. `mechanisms` for SaslHandshake; `token` and
    `message` for SaslAuthenticate. The answer to an ApiVersions or another request has the error in its own form.
    """

    error: int
    answers: bool
    passes: bool
    closes: bool
    mechanisms: tuple[str, ...] = ()
    token: bytes = b""
    message: str = ""


@dataclass(slots=True)
class Session:
    """One connection. `mechanisms` are those that its listener has, by name; `host` is the address of the client."""

    mechanisms: Mapping[str, Mechanism]
    journal: Journal = field(default_factory=Journal)
    host: str = LOOPBACK
    principal: Principal | None = None
    _record: ConnectionRecord = field(default_factory=ConnectionRecord)
    _exchange: Exchange | None = None

    def arrives(self, said: Said) -> Told:
        """Something has come."""
        evaluated = self._evaluated(said)
        arrival = Arrival(
            said.api,
            said.version,
            said.is_understood,
            said.is_valid,
            said.mechanism in self.mechanisms,
            evaluated.evaluation,
        )
        was_agreed = self._exchange is not None
        reaction = arriving.arrives(self._record, arrival, self.journal.begin())
        self.journal.take(self.host)
        if self.is_authenticated and self.principal is None:
            self.principal = Principal(evaluated.user, self.host)
        if self._is_agreed and self._exchange is None:
            self._exchange = self.mechanisms[said.mechanism].begin()
        return Told(
            reaction.error,
            reaction.answers,
            reaction.passes,
            self.is_closed,
            () if was_agreed else tuple(self.mechanisms),
            evaluated.token,
            evaluated.message,
        )

    def _evaluated(self, said: Said) -> Evaluated:
        is_token = said.api == (NONE if self.takes_bare_tokens else ApiKey.SASL_AUTHENTICATE)
        if self._exchange is None or self.principal is not None or not is_token:
            return NO_TOKEN
        return self._exchange.evaluate(said.token)

    @property
    def _is_agreed(self) -> bool:
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
