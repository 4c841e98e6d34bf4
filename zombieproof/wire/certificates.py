"""TLS at a listener: its certificate, whose certificates it believes, and the name of whoever shows one.

The name is the whole subject as Java writes it (RFC 2253): the last part first, known parts by their short names,
others by number with their bytes as they stand, which neither ``ssl`` nor libraries for certificates tell: so the few
values of DER around a subject are read here. Source: ``DefaultKafkaPrincipalBuilder.java``, ``X500Principal.getName``;
RFC 5280.
"""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
ESCAPED: Final = ',=+<>#;"\\'
TEXTS: Final = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1C: "utf-32-be", 0x1E: "utf-16-be"}
"""The tags of texts, and how each is written."""

EXPLICIT_VERSION, SEQUENCE, SHORTEST_LONG = 0xA0, 0x30, 0x80


class TlsError(ValueError):
    """Files of which no TLS can be made: which, and what is wrong."""


def server_context(certificate: Path, key: Path | None, client_ca: Path | None) -> ssl.SSLContext:
    """What a listener needs: its certificate and key, and (None: clients show none) who vouches for clients.

    Raises:
        TlsError: a file cannot be read, or is not what it should be; certificate and key do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for file in (certificate, key, client_ca):
        if file is not None and not file.is_file():
            raise TlsError(f"{file}: there is no such file; legal is one in PEM")
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as error:
        raise TlsError(
            f"{certificate}{'' if key is None else f' and {key}'}: {_words(error)}; legal are a certificate in PEM and "
            "its key without a password, in a file of its own or in the same"
        ) from error
    if client_ca is not None:
        try:
            context.load_verify_locations(client_ca)
        except OSError as error:
            raise TlsError(f"{client_ca}: {_words(error)}; legal are certificates in PEM") from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _no_password() -> str:
    raise ValueError("the key has a password")


def _words(error: Exception) -> str:
    reason = error.reason if isinstance(error, ssl.SSLError) else getattr(error, "strerror", None)
    return (reason or str(error) or "it cannot be read").replace("_", " ").lower()


# ---------------------------------------------------------------- names


class Part(NamedTuple):
    """A value of DER: its tag, where its bytes begin and end, and where it begins itself."""

    tag: int
    start: int
    end: int
    begin: int


def subject_of(certificate: bytes) -> str:
    """The subject of a certificate (DER) that was believed."""
    whole = _part(certificate, 0)
    fields = _parts(certificate, _part(certificate, whole.start))
    first = next(fields)
    before = 4 if first.tag == EXPLICIT_VERSION else 3  # number, signature, issuer, validity
    for _ in range(before):
        next(fields)
    names = list(_parts(certificate, next(fields)))
    return ",".join(
        "+".join(_attribute(certificate, each) for each in _parts(certificate, name)) for name in reversed(names)
    )


def _part(data: bytes, at: int) -> Part:
    size, start = data[at + 1], at + 2
    if size > SHORTEST_LONG:
        width = size - SHORTEST_LONG
        size, start = int.from_bytes(data[start : start + width], "big"), start + width
    return Part(data[at], start, start + size, at)


def _parts(data: bytes, whole: Part) -> Iterator[Part]:
    at = whole.start
    while at < whole.end:
        part = _part(data, at)
        yield part
        at = part.end


def _attribute(data: bytes, pair: Part) -> str:
    kind, value = _parts(data, pair)
    number = _number(data[kind.start : kind.end])
    if number not in KEYWORDS or value.tag not in TEXTS:
        return f"{number}=#{data[value.begin : value.end].hex()}"
    return f"{KEYWORDS[number]}={_escaped(data[value.start : value.end].decode(TEXTS[value.tag], 'replace'))}"


def _number(data: bytes) -> str:
    """An object identifier with dots."""
    found, value = list[int](), 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if byte < SHORTEST_LONG:
            found.append(value)
            value = 0
    first = min(found[0] // 40, 2)
    return ".".join(map(str, (first, found[0] - 40 * first, *found[1:])))


def _escaped(text: str) -> str:
    inner = text.strip(" ")
    before, after = len(text) - len(text.lstrip(" ")), len(text) - len(text.rstrip(" "))
    if not inner:
        return "\\ " * len(text)
    return "\\ " * before + "".join(f"\\{sign}" if sign in ESCAPED else sign for sign in inner) + "\\ " * after
