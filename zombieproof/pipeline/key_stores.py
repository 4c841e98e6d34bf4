"""Read trusted certificates and private keys from the stores of Kafka's Java client: PEM, PKCS12 and JKS.

librdkafka takes PEM. No error shows a secret.
"""

import base64
import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from zombieproof.pipeline.settings import IllegalSetting

STORES: Final = ("JKS", "PKCS12", "PEM")
BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]+)-----END \1-----")


def _pem(label: str, der: bytes) -> str:
    text = base64.b64encode(der).decode()
    lines = "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"


@dataclass(frozen=True, slots=True)
class _Store:
    """Content of a key store: trusted certificates, and private keys (PEM label and DER) with their chains."""

    trusted: tuple[bytes, ...] = ()
    keys: tuple[tuple[str, bytes, tuple[bytes, ...]], ...] = field(default=(), repr=False)


def _blocks(text: str, subject: str) -> tuple[list[bytes], list[tuple[str, bytes]]]:
    """Return certificates and keys of a text in PEM, of which the lines may be joined by spaces."""
    certificates, keys = [], []
    for label, body in BLOCK.findall(text):
        try:
            der = base64.b64decode("".join(body.split()), validate=True)
        except ValueError:
            raise IllegalSetting(f"{subject}: a block is not valid base64; legal is PEM as openssl writes it") from None
        if label.endswith("PRIVATE KEY"):
            keys.append((label, der))
        elif label.endswith("CERTIFICATE"):
            certificates.append(der)
    return certificates, keys


def _element(data: bytes, at: int = 0) -> tuple[int, int, int]:
    """Return tag, begin of the content and end of the DER element at `at`.

    Raises:
        ValueError, IndexError: there is none.
    """
    tag, length, begin = data[at], data[at + 1], at + 2
    if length & 0x80:
        count = length & 0x7F
        length, begin = int.from_bytes(data[begin : begin + count]), begin + count
    if begin + length > len(data):
        raise ValueError("cut short")
    return tag, begin, begin + length


def _elements(data: bytes) -> list[tuple[int, bytes, bytes]]:
    """Return tag, content and the whole of each element within the outermost one."""
    _, at, end = _element(data)
    found = []
    while at < end:
        tag, begin, past = _element(data, at)
        found.append((tag, data[begin:past], data[at:past]))
        at = past
    return found


def _names(certificate: bytes) -> tuple[bytes, bytes]:
    """Return issuer and subject of a certificate, in DER."""
    parts = _elements(_elements(certificate)[0][2])
    first = 1 if parts[0][0] == 0xA0 else 0  # the version, which the first one leaves out
    return parts[first + 2][2], parts[first + 4][2]


def read_trusted(location: Any, password: Any, kind: Any, inline: Any = None, *, subject: str) -> str:
    """Return the certificates of a trust store as one text in PEM."""
    store = _read_store(location, password, kind, inline, subject)
    found = (*store.trusted, *(chain[0] for _, _, chain in store.keys if chain))
    try:
        is_root = [issuer == own for issuer, own in map(_names, found)]
    except (ValueError, IndexError):
        raise IllegalSetting(f"{subject}: a certificate cannot be read; legal are X.509 certificates") from None
    if not found:
        raise IllegalSetting(f"{subject}: it has no trusted certificate; legal is at least one")
    if not any(is_root):
        raise IllegalSetting(
            f"{subject}: none of its certificates is a root (signed by itself). Java trusts any certificate of the "
            "store, OpenSSL only chains that end at a root: add the certificate of the root authority, with keytool "
            "-importcert, or to ssl.ca.location"
        )
    return "".join(_pem("CERTIFICATE", each) for each in found)


def read_own(settings: dict[str, Any]) -> dict[str, Any]:
    """Take a key store and its settings out, and return the client's certificate and key."""
    location, password, kind, key_password = (
        settings.pop(name, None)
        for name in ("ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.type", "ssl.key.password")
    )
    key, chain = settings.pop("ssl.keystore.key", None), settings.pop("ssl.keystore.certificate.chain", None)
    if (key is None) != (chain is None):
        raise IllegalSetting("ssl.keystore.key and ssl.keystore.certificate.chain belong together; say both")
    inline = None if key is None else f"{key}\n{chain}"
    store = _read_store(
        location, password, kind, inline, "ssl.keystore", None if key_password is None else str(key_password)
    )
    if len(store.keys) != 1 or not store.keys[0][2]:
        raise _several_keys(len(store.keys))
    label, der, certificates = store.keys[0]
    return {
        "ssl.certificate.pem": "".join(_pem("CERTIFICATE", each) for each in certificates),
        "ssl.key.pem": _pem(label, der),
    }


def _several_keys(found: int) -> IllegalSetting:
    return IllegalSetting(
        f"ssl.keystore: it has {found} private keys; legal is one, with its certificate: keep that of this client, "
        "with keytool -importkeystore -srcalias ALIAS"
    )


def _read_store(
    location: Any, password: Any, kind: Any, inline: Any, subject: str, key_password: str | None = None
) -> _Store:
    """Read a store from its file, or from the text in the settings."""
    wanted = str(kind or "").upper()
    if wanted not in ("", *STORES):
        raise IllegalSetting(f"{subject}.type is {wanted}; legal are {', '.join(STORES)}: convert it with keytool")
    if inline is not None:
        if location is not None or wanted not in ("", "PEM"):
            raise IllegalSetting(
                f"{subject}: certificates are given as text, together with a location or the type {wanted}; legal is "
                f"text with {subject}.type=PEM, or a location"
            )
        return _from_pem(str(inline), password, subject, key_password)
    if not location:
        raise IllegalSetting(f"{subject}.location is missing, and other settings of it are given; say where it is")
    where = f"{subject}.location {location}"
    try:
        data = Path(str(location)).read_bytes()
    except OSError as error:
        raise IllegalSetting(
            f"{where}: cannot be read ({error.strerror}); legal is a file on the driver and on each executor"
        ) from None
    is_pem = b"-----BEGIN " in data
    if is_pem != (wanted == "PEM" if wanted else is_pem):
        raise IllegalSetting(f"{where}: {subject}.type is {wanted}, and the file is not; say the type that it has")
    if is_pem:
        return _from_pem(data.decode("utf-8", "replace"), password, where, key_password)
    given = None if password is None else str(password)
    opens_keys = subject == "ssl.keystore"
    if data[:4] == JKS:
        return _from_jks(data, given, key_password, where, opens_keys=opens_keys)
    if data[:1] == b"\x30":
        return _from_pkcs12(data, given, key_password, where, opens_keys=opens_keys)
    raise IllegalSetting(f"{where}: the file is not JKS, PKCS12 or PEM; convert it with keytool -importkeystore")


def _from_pem(text: str, password: Any, subject: str, key_password: str | None) -> _Store:
    if password is not None:
        raise IllegalSetting(
            f"{subject}: a password for the store is given, and it is PEM, which has none; leave it out "
            "(ssl.key.password is for an encrypted private key)"
        )
    certificates, keys = _blocks(text, subject)
    if not keys:
        return _Store(trusted=tuple(certificates))
    return _Store(keys=tuple((*_decrypted(*key, key_password, subject), tuple(certificates)) for key in keys))


def _decrypted(label: str, der: bytes, password: str | None, subject: str) -> tuple[str, bytes]:
    if label != "ENCRYPTED PRIVATE KEY":
        return label, der
    if password is None:
        raise IllegalSetting(f"{subject}: the private key is encrypted, and ssl.key.password is missing; say it")
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  # optional
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415  # optional

    try:
        key = serialization.load_der_private_key(der, password.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _wrong_password(subject, "ssl.key.password") from None
    return "PRIVATE KEY", _pkcs8(key)


def _pkcs8(key: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415  # optional

    encoded: bytes = key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return encoded


def _wrong_password(subject: str, name: str) -> IllegalSetting:
    return IllegalSetting(f"{subject}: the password is wrong, or the file is damaged; say the right {name}")


KEY_BAGS: Final = (bytes.fromhex("060b2a864886f70d010c0a0101"), bytes.fromhex("060b2a864886f70d010c0a0102"))
"""The object ids of private keys in PKCS12, plain and encrypted; they stand before each key, and are not encrypted."""


def _from_pkcs12(
    data: bytes, password: str | None, key_password: str | None, subject: str, *, opens_keys: bool
) -> _Store:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  # optional
    from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415  # optional

    if key_password is not None and key_password != password:
        raise IllegalSetting(
            f"{subject}: ssl.key.password differs from the password of the store; legal is the same, as in every "
            "PKCS12 store that keytool writes: leave ssl.key.password out"
        )
    try:
        found = pkcs12.load_pkcs12(data, None if password is None else password.encode())
        certificates = [_der_of(each.certificate) for each in (found.cert, *found.additional_certs) if each is not None]
    except (ValueError, UnsupportedAlgorithm) as error:
        if "password" in str(error):
            raise _wrong_password(subject, f"{subject.partition('.location')[0]}.password") from None
        raise IllegalSetting(
            f"{subject}: the file is damaged, or has an algorithm that OpenSSL does not have; legal is a PKCS12 store "
            "with RSA or EC keys, as keytool writes it"
        ) from None
    if opens_keys and (keys := sum(map(data.count, KEY_BAGS))) > 1:
        raise _several_keys(keys)
    if found.key is None:
        return _Store(trusted=tuple(certificates))
    if found.cert is None:
        raise IllegalSetting(f"{subject}: its private key has no certificate; legal is a key with its chain")
    chain, others = certificates[:1], certificates[1:]
    while (issuer := _names(chain[-1])[0]) != _names(chain[-1])[1]:
        following = [each for each in others if _names(each)[1] == issuer]
        if not following:
            break
        chain.append(following[0])
        others = [each for each in others if each not in chain]
    return _Store(tuple(others), (("PRIVATE KEY", _pkcs8(found.key), tuple(chain)),))


def _der_of(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415  # optional

    encoded: bytes = certificate.public_bytes(Encoding.DER)
    return encoded


# ---------------------------------------------------------------- JKS

JKS: Final = b"\xfe\xed\xfe\xed"
KEY, CERTIFICATE = 1, 2
SEAL: Final = b"Mighty Aphrodite"
"""Java's key stores end with a hash over the password, these words and all that comes before."""
HASH: Final = 20


class _Fields:
    """The fields of a JKS file, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, len(JKS)

    def take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise ValueError("cut short")
        self._at += size
        return taken

    def number(self, size: int = 4) -> int:
        return int.from_bytes(self.take(size))

    def certificate(self, version: int) -> bytes:
        if version > 1:
            self.take(self.number(2))
        return self.take(self.number())


def _from_jks(data: bytes, password: str | None, key_password: str | None, subject: str, *, opens_keys: bool) -> _Store:
    """Read a key store of Java's own format: https://docs.oracle.com/javase/8/docs/technotes/guides/security/."""
    if password is not None:
        sealed = hashlib.sha1(password.encode("utf-16-be") + SEAL + data[:-HASH], usedforsecurity=False).digest()
        if sealed != data[-HASH:]:
            raise _wrong_password(subject, f"{subject.partition('.location')[0]}.password")
    fields, trusted, keys = _Fields(data[:-HASH]), [], []
    try:
        version = fields.number()
        for _ in range(fields.number()):
            kind = fields.number()
            fields.take(fields.number(2))
            fields.take(8)
            if kind == KEY:
                sealed_key = fields.take(fields.number())
                chain = tuple(fields.certificate(version) for _ in range(fields.number()))
                keys.append((sealed_key, chain))
            elif kind == CERTIFICATE:
                trusted.append(fields.certificate(version))
            else:
                raise ValueError("unknown entry")
    except ValueError:
        raise IllegalSetting(f"{subject}: the file is damaged; legal is a JKS store as keytool writes it") from None
    if not opens_keys:
        return _Store((*trusted, *(chain[0] for _, chain in keys if chain)))
    if len(keys) > 1:
        raise _several_keys(len(keys))
    secret = key_password if key_password is not None else password
    if keys and secret is None:
        raise IllegalSetting(f"{subject}: ssl.keystore.password is missing; say it")
    opened = tuple(("PRIVATE KEY", _jks_key(sealed_key, secret or "", subject), chain) for sealed_key, chain in keys)
    return _Store(tuple(trusted), opened)


def _jks_key(sealed: bytes, password: str, subject: str) -> bytes:
    """Decrypt a private key of JKS: salt, key XOR a stream of SHA-1 hashes, and a hash of the key."""
    try:
        data = _elements(sealed)[1][1]
    except (ValueError, IndexError):
        raise IllegalSetting(f"{subject}: the private key is damaged; legal is one that keytool has written") from None
    secret = password.encode("utf-16-be")
    block, body, seal = data[:HASH], data[HASH:-HASH], data[-HASH:]
    found = bytearray()
    for at in range(0, len(body), HASH):
        block = hashlib.sha1(secret + block, usedforsecurity=False).digest()
        found += bytes(left ^ right for left, right in zip(body[at : at + HASH], block, strict=False))
    if hashlib.sha1(secret + found, usedforsecurity=False).digest() != seal:
        raise _wrong_password(subject, "ssl.key.password")
    return bytes(found)
