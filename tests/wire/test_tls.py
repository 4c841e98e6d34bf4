"""TLS at a listener: who shows a certificate is who it says, and whatever is no TLS ends its own connection only."""

import asyncio
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.wire.test_authentication import NO_DELAY, PASSWORDS, Peer, token
from tests.wire.test_server import PATIENCE_S, Client, Served, serving
from zombieproof.broker.authorization.access_list import AccessList, Entry
from zombieproof.broker.authorization.scram import mechanism_of
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.model.access import AclOperation, Permission, ResourceType
from zombieproof.wire.certificates import TlsError, server_context, subject_of
from zombieproof.wire.peer import Limits
from zombieproof.wire.security import Security

WRITE_X = (Permission.ALLOW, AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x")
USER = "CN=ann,OU=billing,O=Example"
ACCESS = frozenset({Entry(f"User:{USER}", *WRITE_X), Entry("User:ann", *WRITE_X)})
LIMITS = Limits(handshake_s=0.3)


class Authority:
    """Who vouches for the server and for clients, and the files that say so."""

    def __init__(self, folder: Path) -> None:
        self.ca, self.folder = trustme.CA(), folder
        self.ca.cert_pem.write_to_path(folder / "ca.pem")
        mine = self.ca.issue_cert("localhost")
        self.cert, self.key = folder / "cert.pem", folder / "key.pem"
        mine.private_key_pem.write_to_path(self.key)
        self.cert.write_bytes(b"".join(each.bytes() for each in mine.cert_chain_pems))

    def security(self, asks_clients: bool = False, sasl: bool = False) -> Security:
        context = server_context(self.cert, self.key, self.folder / "ca.pem" if asks_clients else None)
        return Security({"PLAIN": mechanism_of("PLAIN", PASSWORDS)} if sasl else {}, context)

    def client(self, issuer: trustme.CA | None = None, shows: bool = True) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.ca.configure_trust(context)
        if shows:
            issued = (issuer or self.ca).issue_cert(
                "ann@example.org", common_name="ann", organization_name="Example", organization_unit_name="billing"
            )
            issued.configure_cert(context)
        return context


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


def at(play: Any, security: Security) -> None:
    async def run() -> None:
        with Embedded(durability=Durability.MEMORY, settings=NO_DELAY, access=AccessList(ACCESS)) as embedded:
            async with asyncio.timeout(PATIENCE_S), serving(embedded, LIMITS, security) as served:
                await play(served)

    asyncio.run(run())


async def connected(served: Served, context: ssl.SSLContext | None) -> Peer:
    host, port = served.server.addresses[1]
    name = None if context is None else "localhost"
    client = Client(*await asyncio.open_connection(host, port, ssl=context, server_hostname=name), served.names)
    served.clients.append(client)
    return Peer(client)


def test_who_shows_a_certificate_is_who_it_says(authority: Authority) -> None:
    async def play(served: Served) -> None:
        assert await (await connected(served, authority.client())).init() == 0

    at(play, authority.security(asks_clients=True))


def test_who_need_show_none_is_anonymous(authority: Authority) -> None:
    async def play(served: Served) -> None:
        assert await (await connected(served, authority.client())).init() == 53

    at(play, authority.security())


@pytest.mark.parametrize("wrong", ["shows none", "of another authority"])
def test_whom_nobody_vouches_for_does_not_come_in(authority: Authority, wrong: str) -> None:
    context = authority.client(trustme.CA(), shows=wrong != "shows none")

    async def play(served: Served) -> None:
        # From TLS 1.3 on a client is told behind its own handshake.
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await (await connected(served, context)).init()
        assert await (await connected(served, authority.client())).init() == 0

    at(play, authority.security(asks_clients=True))


def test_with_sasl_over_tls_who_logs_in_counts_and_not_his_certificate(authority: Authority) -> None:
    async def play(served: Served) -> None:
        for user, error in (("ann", 0), ("bob", 53)):
            peer = await connected(served, authority.client())
            await peer.handshake()
            assert (await peer.say(token(user, PASSWORDS[user])))[0] == 0
            assert await peer.init() == error

    at(play, authority.security(asks_clients=True, sasl=True))


@pytest.mark.parametrize("data", [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x0a" + b"\0" * 10])
def test_whatever_is_no_tls_ends_its_own_connection_only(authority: Authority, data: bytes) -> None:
    """Plain text, half a handshake, and nothing at all: the last two when their time is over."""

    async def play(served: Served) -> None:
        peer = await connected(served, None)
        peer.client.writer.write(data)
        await peer.client.writer.drain()
        answer = await peer.client.reader.read()
        assert not answer or answer[0] == TLS_ALERT
        assert not served.server.connections
        assert await (await connected(served, authority.client())).init() == 0

    at(play, authority.security(asks_clients=True))


TLS_ALERT = 0x15


def test_a_client_that_speaks_tls_to_plain_text_is_sent_away(authority: Authority) -> None:
    async def play(served: Served) -> None:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await connected(served, authority.client())
        assert await (await connected(served, None)).init() == 53

    at(play, Security())


def test_old_versions_of_tls_are_not_spoken(authority: Authority) -> None:
    assert authority.security().tls is not None
    assert authority.security().tls.minimum_version == ssl.TLSVersion.TLSv1_2  # type: ignore[union-attr]  # there is one


# ---------------------------------------------------------------- names

N = NameOID
NAMES: list[tuple[list[list[tuple[Any, str]]], str]] = [
    (
        [[(N.COUNTRY_NAME, "DE")], [(N.ORGANIZATION_NAME, "Ex, Inc.")], [(N.COMMON_NAME, "ann")]],
        r"CN=ann,O=Ex\, Inc.,C=DE",
    ),
    ([[(N.COMMON_NAME, ' a=b#c+d"e\\f<g>h;i ')]], r"CN=\ a\=b\#c\+d\"e\\f\<g\>h\;i\ "),
    (
        [[(N.COMMON_NAME, "#ann")], [(N.EMAIL_ADDRESS, "a@b.c")], [(N.USER_ID, "u1")]],
        r"UID=u1,1.2.840.113549.1.9.1=#16056140622e63,CN=\#ann",
    ),
    (
        [[(N.COMMON_NAME, "änn ö")], [(N.ORGANIZATIONAL_UNIT_NAME, "x"), (N.LOCALITY_NAME, "y")]],
        "L=y+OU=x,CN=änn ö",
    ),
    (
        [
            [(N.DOMAIN_COMPONENT, "org")],
            [(N.STATE_OR_PROVINCE_NAME, "BW")],
            [(N.STREET_ADDRESS, "Weg 1")],
            [(N.SERIAL_NUMBER, "77")],
            [(N.GIVEN_NAME, "Ann")],
            [(N.TITLE, "Dr")],
        ],
        "2.5.4.12=#0c024472,2.5.4.42=#0c03416e6e,2.5.4.5=#13023737,STREET=Weg 1,ST=BW,DC=org",
    ),
    ([[(N.COMMON_NAME, "a  b")]], "CN=a  b"),
    ([], ""),
    ([[(N.COMMON_NAME, "a/b'(c):?_@!~*&%$")]], "CN=a/b'(c):?_@!~*&%$"),
]
"""Subjects, and what Java 17 makes of each (``X509Certificate.getSubjectX500Principal().getName()``)."""


@pytest.mark.parametrize(("parts", "name"), NAMES)
def test_the_name_of_a_certificate_is_written_as_java_does(parts: list[list[tuple[Any, str]]], name: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    rows = [x509.RelativeDistinguishedName([x509.NameAttribute(*each) for each in row]) for row in parts]
    built = x509.CertificateBuilder(
        x509.Name([x509.NameAttribute(N.COMMON_NAME, "ca")]),
        x509.Name(rows),
        key.public_key(),
        300,
        datetime(2020, 1, 1, tzinfo=UTC),
        datetime(2040, 1, 1, tzinfo=UTC),
    )
    assert subject_of(built.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)) == name


# ---------------------------------------------------------------- files


def test_files_of_which_no_tls_can_be_made_are_named(authority: Authority, tmp_path: Path) -> None:
    nothing, locked, ca = tmp_path / "nothing.pem", tmp_path / "locked.pem", authority.folder / "ca.pem"
    nothing.write_text("nothing")
    key, other = ec.generate_private_key(ec.SECP256R1()), tmp_path / "other.pem"
    secret = BestAvailableEncryption(b"secret")
    locked.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret))
    other.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    for files, words in (
        ((tmp_path / "no.pem", None, None), "no.pem: there is no such file"),
        ((authority.cert, nothing, None), "legal are a certificate in PEM and its key"),
        ((nothing, authority.key, None), "legal are a certificate in PEM and its key"),
        ((authority.cert, None, None), "in a file of its own or in the same"),
        ((authority.cert, other, None), "mismatch"),
        ((authority.cert, locked, None), "the key has a password"),
        ((authority.cert, authority.key, nothing), "nothing.pem: .*legal are certificates in PEM"),
    ):
        with pytest.raises(TlsError, match=words):
            server_context(*files)
    assert server_context(authority.cert, authority.key, ca).verify_mode == ssl.CERT_REQUIRED
