"""SASL mechanisms SCRAM-SHA-256 and SCRAM-SHA-512: a client proves that it knows a password, and never says it.

Behaviour: the first token names the user and a nonce of the client; it is answered with that nonce and one of the
broker, the salt and the iterations of the user. The second one proves the password by them; the answer to it proves
that the broker knows him, too. Whatever is wrong is told in the same general words, but for the wish to act as
somebody else. Channel binding is not looked at, as in Kafka; extensions are ignored, but for the one of delegation
tokens, of which there are none.
Source: RFC 5802, RFC 7677; ``ScramSaslServer.java``, ``ScramMessages.java``.
"""

import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from zombieproof.broker.authorization.mechanisms import FOR_ANOTHER, INVALID, Evaluated, Mechanism, Plain, refused
from zombieproof.model.vocabulary import Evaluation

HASHES: Final[Mapping[str, str]] = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
ITERATIONS: Final = 4096
"""How often a password is hashed: the least that Kafka takes, and what it takes by default."""

SALT_BYTES, NONCE_BYTES = 20, 20

_VALUE, _PRINTABLE = r"[\x01-\x2b\x2d-\x7f]+", r"[\x21-\x2b\x2d-\x7e]+"
_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS = rf"(?:,[A-Za-z]+={_VALUE})*"
FIRST: Final = re.compile(
    rf"n,(?:a=(?P<acts_as>{_NAME}))?,(?:m={_VALUE},)?(?P<bare>n=(?P<name>{_NAME}),r=(?P<nonce>{_PRINTABLE})"
    rf"(?P<extensions>{_EXTENSIONS}))"
)
FINAL: Final = re.compile(
    rf"(?P<unproved>c=(?P<channel>{_BASE64}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})"
)
BY_TOKEN: Final = ",tokenauth=true"  # noqa: S105  # it opens nothing


class Credential(NamedTuple):
    """What a broker keeps of a password."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes


def credential_of(mechanism: str, password: str, salt: bytes, iterations: int = ITERATIONS) -> Credential:
    """What is kept of a password under a mechanism."""
    name = HASHES[mechanism]
    salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", name)
    stored_key, server_key = hashlib.new(name, client_key).digest(), hmac.digest(salted, b"Server Key", name)
    return Credential(salt, iterations, stored_key, server_key)


@dataclass(frozen=True, slots=True)
class Scram:
    """One of both: its name, and what is kept of the passwords of the users that may come by it."""

    name: str
    credentials: Mapping[str, Credential]
    nonce: Callable[[int], bytes] = secrets.token_bytes

    def begin(self) -> "ScramExchange":
        """A connection has named it."""
        return ScramExchange(self)


@dataclass(slots=True)
class ScramExchange:
    """The two tokens of one connection."""

    mechanism: Scram
    _user: str = ""
    _said: str = ""
    _nonce: str = ""
    _known: Credential | None = field(default=None, repr=False)

    def evaluate(self, token: bytes) -> Evaluated:
        """The first token, or the second."""
        try:
            text = token.decode()
        except UnicodeDecodeError:
            return refused(INVALID)
        return self._first(text) if self._known is None else self._final(text, self._known)

    def _first(self, text: str) -> Evaluated:
        found = FIRST.fullmatch(text)
        user = None if found is None else user_of(found["name"])
        known = None if user is None else self.mechanism.credentials.get(user)
        if found is None or user is None or known is None or BY_TOKEN in found["extensions"].lower():
            return refused(INVALID)
        if found["acts_as"] not in (None, user):
            return refused(FOR_ANOTHER)
        self._user, self._known = user, known
        self._nonce = found["nonce"] + b64encode(self.mechanism.nonce(NONCE_BYTES)).decode().rstrip("=")
        answer = f"r={self._nonce},s={b64encode(known.salt).decode()},i={known.iterations}"
        self._said = f"{found['bare']},{answer}"
        return Evaluated(Evaluation.CHALLENGED, answer.encode())

    def _final(self, text: str, known: Credential) -> Evaluated:
        found = FINAL.fullmatch(text)
        if found is None or found["nonce"] != self._nonce:
            return refused(INVALID)
        name, said = HASHES[self.mechanism.name], f"{self._said},{found['unproved']}".encode()
        signature, proof = hmac.digest(known.stored_key, said, name), b64decode(found["proof"])
        if len(proof) != len(signature):
            return refused(INVALID)
        client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
        if not hmac.compare_digest(hashlib.new(name, client_key).digest(), known.stored_key):
            return refused(INVALID)
        proved = b64encode(hmac.digest(known.server_key, said, name))
        return Evaluated(Evaluation.ACCEPTED, b"v=" + proved, self._user)


def mechanism_of(name: str, passwords: Mapping[str, str]) -> Mechanism:
    """The mechanism of a name, for users with these passwords; of those of SCRAM only hashes are kept."""
    if name not in HASHES:
        return Plain(passwords)
    salted = {user: credential_of(name, each, secrets.token_bytes(SALT_BYTES)) for user, each in passwords.items()}
    return Scram(name, salted)


def user_of(name: str) -> str | None:
    """The user that a name in a message is: commas and equals signs are spelled out; None: another sign is."""
    name = name.replace("=2C", ",")
    return None if "=" in name.replace("=3D", "") else name.replace("=3D", "=")
