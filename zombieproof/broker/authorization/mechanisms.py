"""SASL mechanisms: who a token says its sender is, and whether that is so.

A mechanism begins an exchange for each connection (`begin`); an exchange is handed the tokens of the client, and says
what it makes of each. Here is PLAIN, whose one token holds user and password; `scram` is another.
Source: RFC 4616; ``PlainSaslServer.java``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import NamedTuple, Protocol

from zombieproof.model.vocabulary import Evaluation


class Evaluated(NamedTuple):
    """What is made of a token; `user` if it was accepted, `message` what the client is told if not."""

    evaluation: Evaluation
    token: bytes = b""
    user: str = ""
    message: str = ""


class Exchange(Protocol):
    """The tokens of one connection."""

    def evaluate(self, token: bytes) -> Evaluated:
        """A token has come."""
        ...


class Mechanism(Protocol):
    """One way to say who one is."""

    def begin(self) -> Exchange:
        """A connection has named it."""
        ...


def refused(message: str) -> Evaluated:
    """A token that is not accepted."""
    return Evaluated(Evaluation.REFUSED, message=message)


PARTS = 3
INVALID = ""
"""The message of a token whose fault is not told: whoever asks hears in general words that it is none."""

WRONG = "Authentication failed: Invalid username or password"
FOR_ANOTHER = "Authentication failed: Client requested an authorization id that is different from username"


@dataclass(frozen=True, slots=True)
class Plain:
    """PLAIN: the passwords of the users that may come by it. It is its own exchange: there is but one token."""

    passwords: Mapping[str, str]

    def begin(self) -> "Plain":
        """Nothing has to be remembered."""
        return self

    def evaluate(self, token: bytes) -> Evaluated:
        """The token is who acts (or nothing), the user and the password, with a NUL between them."""
        try:
            parts = token.decode().split("\0")
        except UnicodeDecodeError:
            return refused(INVALID)
        if len(parts) != PARTS or not parts[1] or not parts[2]:
            return refused(INVALID)
        acts_as, user, password = parts
        known = self.passwords.get(user)
        # Who is unknown takes as long as who is wrong.
        is_right = compare_digest((password if known is None else known).encode(), password.encode())
        if known is None or not is_right:
            return refused(WRONG)
        if acts_as not in ("", user):
            return refused(FOR_ANOTHER)
        return Evaluated(Evaluation.ACCEPTED, user=user)
