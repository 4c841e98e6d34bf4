"""Whoever comes to a listener that demands SASL says who he is first: over sockets, with tokens of every kind.

Errors and messages of sessions that end, of SCRAM and of what comes behind the handshake are those of Kafka 4.3.1.
"""

import asyncio
import hashlib
import hmac
import re
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from tests.wire.test_server import PATIENCE_S, Client, Served, serving
from zombieproof.broker.authorization import scram
from zombieproof.broker.authorization import session as session_module
from zombieproof.broker.authorization.access_list import AccessList, Entry
from zombieproof.broker.authorization.mechanisms import FOR_ANOTHER, WRONG
from zombieproof.broker.authorization.scram import HASHES, mechanism_of
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.messages.transactions import InitProducerId
from zombieproof.model.access import AclOperation, Permission, ResourceType
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire import connection
from zombieproof.wire.apis.sasl_authenticate import TOO_LATE
from zombieproof.wire.asking import entity_in, frame_of
from zombieproof.wire.entities import plain
from zombieproof.wire.security import Security

PASSWORDS = {"ann": "secret", "bob": "another", "a,b=c": "odd"}
SECURITY = Security({name: mechanism_of(name, PASSWORDS) for name in ("PLAIN", *HASHES)})
ONLY_PLAIN = Security({"PLAIN": mechanism_of("PLAIN", PASSWORDS)})
WRITE_X = (Permission.ALLOW, AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x")
ACCESS = frozenset({Entry("User:ann", *WRITE_X)})
INIT = InitProducerId(4, "x", 60_000)
GENERAL = "Authentication failed during {} due to invalid credentials with SASL mechanism {}"
NO_DELAY = Settings(connection_failed_authentication_delay_ms=0)


def token(user: str = "ann", password: str = "secret", acts_as: str = "") -> bytes:  # of nobody
    return f"{acts_as}\0{user}\0{password}".encode()


class Peer:
    """A client that says everything itself."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def ask(self, api: ApiKey, version: int, **values: Any) -> Any:
        self.client.writer.write(frame_of(api, version, values, 5, "me"))
        return entity_in(await self.client.frame(), api, version)

    async def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> tuple[int, tuple[str, ...]]:
        answer = await self.ask(ApiKey.SASL_HANDSHAKE, version, mechanism=mechanism)
        return plain(answer.error_code), answer.mechanisms

    async def say(self, data: bytes, version: int = 2) -> tuple[int, str | None, bytes, int]:
        answer = await self.ask(ApiKey.SASL_AUTHENTICATE, version, auth_bytes=data)
        lifetime = plain(getattr(answer, "session_lifetime", 0))
        return plain(answer.error_code), answer.error_message, answer.auth_bytes, lifetime

    async def login(self, user: str = "ann", password: str | None = None) -> tuple[int, str | None, bytes, int]:
        assert await self.handshake() == (0, tuple(sorted(SECURITY.mechanisms)))
        return await self.say(token(user, PASSWORDS[user] if password is None else password))

    async def init(self) -> int:
        return int((await self.client.ask(INIT)).error)

    async def is_ended(self) -> bool:
        try:
            return await self.client.is_ended()
        except ConnectionResetError:
            return True


def at(
    play: Callable[[Served], Any], settings: Settings = NO_DELAY, security: Security = SECURITY, **more: Any
) -> None:
    """Play with brokers in memory that ask who comes, and for rights."""

    async def run() -> None:
        with Embedded(durability=Durability.MEMORY, settings=settings, access=AccessList(ACCESS), **more) as embedded:
            async with asyncio.timeout(PATIENCE_S), serving(embedded, security=security) as served:
                await play(served)

    asyncio.run(run())


def test_who_logs_in_has_his_own_rights_and_no_others() -> None:
    async def play(served: Served) -> None:
        for user, error in (("ann", 0), ("bob", 53)):
            peer = Peer(await served.connect())
            assert await peer.login(user) == (0, "", b"", 0)
            assert await peer.init() == error
            # To say it twice is one too many, and changes nothing.
            assert await peer.handshake() == (34, ())
            assert (await peer.say(token("ann")))[:2] == (34, TOO_LATE)
            assert await peer.init() == error

    at(play)


def test_without_sasl_everybody_is_anonymous() -> None:
    async def play(served: Served) -> None:
        peer = Peer(await served.connect())
        assert (await peer.handshake(), (await peer.say(token()))[0]) == ((34, ()), 34)
        assert await peer.init() == 53

    at(play, security=Security())


@pytest.mark.parametrize("before", ["nothing", "versions"])
def test_a_request_before_authentication_is_the_end_and_not_answered(before: str) -> None:
    async def play(served: Served) -> None:
        peer = Peer(await served.connect())
        if before == "versions":
            answer = await peer.ask(ApiKey.API_VERSIONS, 0)
            assert {17, 36} <= {row.api_key for row in answer.api_keys}
        peer.client.send(INIT)
        assert await peer.is_ended()

    at(play)


def test_versions_are_told_once() -> None:
    async def play(served: Served) -> None:
        peer = Peer(await served.connect())
        assert (await peer.ask(ApiKey.API_VERSIONS, 0)).api_keys
        peer.client.writer.write(frame_of(ApiKey.API_VERSIONS, 0, {}, 5, "me"))
        assert await peer.is_ended()

    at(play)


def test_another_request_behind_the_handshake_is_refused_in_its_own_form() -> None:
    async def play(served: Served) -> None:
        for ask in (Peer.init, Peer.handshake):
            peer = Peer(await served.connect())
            await peer.handshake()
            assert await ask(peer) in (34, (34, ()))
            assert await peer.is_ended()
        peer = Peer(await served.connect())
        await peer.handshake()
        assert plain((await peer.ask(ApiKey.DESCRIBE_CLUSTER, 0)).error_code) == 34
        assert await peer.is_ended()

    at(play)


@pytest.mark.parametrize("mechanism", ["GSSAPI", "plain", "", "SCRAM-SHA-256"])
def test_a_mechanism_that_is_not_offered_is_refused_with_those_that_are(mechanism: str) -> None:
    async def play(served: Served) -> None:
        peer = Peer(await served.connect())
        assert await peer.handshake(mechanism) == (33, ("PLAIN",))
        assert await peer.is_ended()

    at(play, security=ONLY_PLAIN)


PLAIN_FAULTS = [
    (token(password="wrong"), WRONG),  # a wrong one
    (token("eve"), WRONG),
    (token(acts_as="bob"), FOR_ANOTHER),
    (b"", GENERAL.format("authentication", "PLAIN")),
    (b"\0ann", GENERAL.format("authentication", "PLAIN")),
    (b"\xff\0ann\0secret", GENERAL.format("authentication", "PLAIN")),
    (token() + b"\0", GENERAL.format("authentication", "PLAIN")),
]


@pytest.mark.parametrize(("data", "message"), PLAIN_FAULTS)
def test_a_wrong_token_is_told_and_is_the_end(data: bytes, message: str) -> None:
    async def play(served: Served) -> None:
        peer = Peer(await served.connect())
        await peer.handshake()
        assert await peer.say(data) == (58, message, b"", 0)
        assert await peer.is_ended()
        other = Peer(await served.connect())
        assert (await other.login())[0] == 0

    at(play)


def test_who_fails_waits_for_the_answer_and_asks_nothing_meanwhile() -> None:
    async def play(served: Served) -> None:
        peer, loop = Peer(await served.connect()), asyncio.get_running_loop()
        await peer.handshake()
        since = loop.time()
        again = frame_of(ApiKey.SASL_AUTHENTICATE, 2, {"auth_bytes": token()}, 6, "me")
        peer.client.writer.write(frame_of(ApiKey.SASL_AUTHENTICATE, 2, {"auth_bytes": b"x"}, 5, "me") + again)
        assert plain(entity_in(await peer.client.frame(), ApiKey.SASL_AUTHENTICATE, 2).error_code) == 58
        assert loop.time() - since >= DELAY_S
        assert await peer.is_ended()

    at(play, Settings(connection_failed_authentication_delay_ms=int(DELAY_S * 1000)))


DELAY_S = 0.2


@pytest.mark.parametrize("data", [token(), token(password="wrong"), b"", b"\0" * 100])  # a wrong one
def test_tokens_without_a_header(data: bytes) -> None:
    async def play(served: Served) -> None:
        peer = Peer(await served.connect())
        assert (await peer.handshake(version=0))[0] == 0
        peer.client.writer.write(struct.pack(">i", len(data)) + data)
        if data != token():
            assert await peer.is_ended()
            return
        assert await peer.client.frame() == b""
        assert await peer.init() == 0

    at(play)


def test_before_authentication_frames_are_short() -> None:
    most = Settings(sasl_server_max_receive_size=1000, connection_failed_authentication_delay_ms=0)

    async def play(served: Served) -> None:
        peer = Peer(await served.connect())
        peer.client.writer.write(struct.pack(">i", 1001))
        assert await peer.is_ended()
        peer = Peer(await served.connect())
        assert (await peer.login())[0] == 0
        long = InitProducerId(4, "x" * 2000, 60_000)
        assert (await peer.client.ask(long)).error == 53

    at(play, most)


# ---------------------------------------------------------------- SCRAM


class Scrammer:
    """The client's side of RFC 5802, written for itself."""

    def __init__(self, mechanism: str, user: str = "ann", password: str = "secret") -> None:  # of nobody
        self.name, self.password = HASHES[mechanism], password
        self.bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r=abc"

    def first(self) -> bytes:
        return f"n,,{self.bare}".encode()

    def final(self, answer: bytes, more: str = "") -> bytes:
        said = answer.decode()
        theirs, salt, count = said.split(",")
        salted = hashlib.pbkdf2_hmac(self.name, self.password.encode(), b64decode(salt[2:]), int(count[2:]))
        client = hmac.digest(salted, b"Client Key", self.name)
        unproved = f"c=biws,{theirs}{more}"
        auth = f"{self.bare},{said},{unproved}".encode()
        signature = hmac.digest(hashlib.new(self.name, client).digest(), auth, self.name)
        self.proof = b64encode(hmac.digest(hmac.digest(salted, b"Server Key", self.name), auth, self.name))
        shown = b64encode(bytes(a ^ b for a, b in zip(client, signature, strict=True)))
        return f"{unproved},p=".encode() + shown


@pytest.mark.parametrize("mechanism", HASHES)
@pytest.mark.parametrize("user", PASSWORDS)
def test_scram_proves_that_both_know_the_password(mechanism: str, user: str) -> None:
    async def play(served: Served) -> None:
        peer, scram = Peer(await served.connect()), Scrammer(mechanism, user, PASSWORDS[user])
        await peer.handshake(mechanism)
        error, _, answer, _ = await peer.say(scram.first())
        assert (error, answer[:5]) == (0, b"r=abc")
        assert int(answer.rsplit(b"i=")[1]) >= 4096
        assert await peer.say(scram.final(answer)) == (0, "", b"v=" + scram.proof, 0)
        assert await peer.init() == (0 if user == "ann" else 53)

    at(play)


Change = Callable[[bytes], bytes]
FIRST_FAULTS: list[tuple[str, Change]] = [
    ("unknown user", lambda data: data.replace(b"ann", b"eve")),
    ("no nonce", lambda data: data.replace(b",r=abc", b"")),
    ("empty", lambda data: b""),
    ("no text", lambda data: b"\xff" + data),
    ("channel binding is demanded", lambda data: b"p=tls-unique" + data[1:]),
    ("an odd escape", lambda data: data.replace(b"ann", b"a=2Dnn")),
    ("a delegation token", lambda data: data + b",tokenauth=true"),
    ("the second token first", lambda data: b"c=biws,r=abc,p=AAAA"),
]
FINAL_FAULTS: list[tuple[str, Change]] = [
    ("wrong nonce", lambda data: data.replace(b"r=abc", b"r=abd")),
    ("longer nonce", lambda data: data.replace(b"r=abc", b"r=xabc")),
    ("bad base64", lambda data: re.sub(rb"p=.*", b"p=A!BC", data)),
    ("short proof", lambda data: re.sub(rb"p=.*", b"p=AAAA", data)),
    ("no proof", lambda data: re.sub(rb",p=.*", b"", data)),
    ("another channel", lambda data: data.replace(b"c=biws", b"c=eSws")),
    ("the first token again", lambda data: b"n,,n=ann,r=abc"),
    ("empty", lambda data: b""),
]


@pytest.mark.parametrize(("fault", "change"), FIRST_FAULTS)
def test_a_first_token_that_is_wrong_says_nothing_of_why(fault: str, change: Change) -> None:
    async def play(served: Served) -> None:
        peer = Peer(await served.connect())
        await peer.handshake("SCRAM-SHA-256")
        told = await peer.say(change(Scrammer("SCRAM-SHA-256").first()))
        assert told == (58, GENERAL.format("authentication", "SCRAM-SHA-256"), b"", 0)
        assert await peer.is_ended()

    at(play)


@pytest.mark.parametrize(("fault", "change"), [*FINAL_FAULTS, ("wrong password", lambda data: data)])
def test_a_second_token_that_is_wrong_says_nothing_of_why(fault: str, change: Change) -> None:
    async def play(served: Served) -> None:
        scram = Scrammer("SCRAM-SHA-512", password="wrong" if fault == "wrong password" else "secret")  # of nobody
        peer = Peer(await served.connect())
        await peer.handshake("SCRAM-SHA-512")
        _, _, answer, _ = await peer.say(scram.first())
        told = await peer.say(change(scram.final(answer)))
        assert told == (58, GENERAL.format("authentication", "SCRAM-SHA-512"), b"", 0)
        assert await peer.is_ended()

    at(play)


def test_a_nonce_that_is_not_the_brokers_proves_nothing() -> None:
    """Nor does one that only begins like it, though the proof is made of it (CVE-2024-56128)."""

    async def play(served: Served) -> None:
        scram_ = Scrammer("SCRAM-SHA-256")
        peer = Peer(await served.connect())
        await peer.handshake("SCRAM-SHA-256")
        _, _, answer, _ = await peer.say(scram_.first())
        assert (await peer.say(scram_.final(answer, "more")))[0] == 58

    at(play)


def test_nobody_acts_as_somebody_else_by_scram() -> None:
    async def play(served: Served) -> None:
        for name, message in (("bob", FOR_ANOTHER), ("ann", None)):
            peer = Peer(await served.connect())
            await peer.handshake("SCRAM-SHA-256")
            told = await peer.say(f"n,a={name},n=ann,r=abc".encode())
            assert told[:2] == ((0, "") if message is None else (58, message))

    at(play)


def test_a_nonce_is_never_used_twice() -> None:
    async def play(served: Served) -> None:
        nonces = set()
        for _ in range(3):
            peer = Peer(await served.connect())
            await peer.handshake("SCRAM-SHA-256")
            nonces.add((await peer.say(Scrammer("SCRAM-SHA-256").first()))[2])
        assert len(nonces) == 3

    at(play)


# ---------------------------------------------------------------- sessions that end


def test_who_proves_again_who_he_is_stays_and_who_does_not_is_sent_away() -> None:
    clock = ManualClock()
    limited = Settings(connections_max_reauth_ms=5000, connection_failed_authentication_delay_ms=0)

    async def play(served: Served) -> None:
        peer, late = Peer(await served.connect()), Peer(await served.connect())
        for each in (peer, late):
            assert await each.login() == (0, "", b"", 5000)
        clock.advance(4000)
        assert await peer.login() == (0, "", b"", 5000)
        clock.advance(500)
        assert await peer.handshake() == (34, ()), "not twice in a second"
        clock.advance(1500)
        assert await peer.init() == 0
        late.client.send(INIT)
        assert await late.is_ended()

    at(play, limited, clock=clock)


@pytest.mark.parametrize("change", ["user", "password", "mechanism", "no mechanism", "nothing"])
def test_who_proves_it_again_is_who_he_was(change: str) -> None:
    limited = Settings(connections_max_reauth_ms=5000, connection_failed_authentication_delay_ms=0)

    async def play(served: Served) -> None:
        peer = Peer(await served.connect())
        await peer.login()
        if change == "user":
            words = "Cannot change principals during re-authentication from User.ann: User.bob"
            assert await peer.login("bob") == (58, words, b"", 0)
        elif change == "password":
            assert (await peer.login("ann", "wrong"))[:2] == (58, WRONG)
        elif change == "mechanism":
            assert (await peer.handshake("SCRAM-SHA-256"))[0] == 0
            peer.client.writer.write(
                frame_of(ApiKey.SASL_AUTHENTICATE, 2, {"auth_bytes": Scrammer("SCRAM-SHA-256").first()}, 5, "me")
            )
        elif change == "no mechanism":
            peer.client.writer.write(frame_of(ApiKey.SASL_HANDSHAKE, 1, {"mechanism": "GSSAPI"}, 5, "me"))
        else:
            assert (await peer.login())[0] == 0
            assert await peer.init() == 0
            return
        assert await peer.is_ended()

    at(play, limited)


# ---------------------------------------------------------------- that a check can fail

MUTANTS: list[tuple[ModuleType, str, str, Callable[[], None]]] = [
    (
        scram,
        ' or found["nonce"] != self._nonce',
        "",
        test_a_nonce_that_is_not_the_brokers_proves_nothing,
    ),
    (
        scram,
        "if not hmac.compare_digest(hashlib.new(name, client_key).digest(), known.stored_key):",
        "if False:",
        lambda: test_a_second_token_that_is_wrong_says_nothing_of_why("wrong password", lambda data: data),
    ),
    (
        scram,
        'if found["acts_as"] not in (None, user):',
        "if False:",
        test_nobody_acts_as_somebody_else_by_scram,
    ),
    (
        scram,
        'b64encode(self.mechanism.nonce(NONCE_BYTES)).decode().rstrip("=")',
        '"same"',
        test_a_nonce_is_never_used_twice,
    ),
    (
        scram,
        ' or BY_TOKEN in found["extensions"].lower()',
        "",
        lambda: test_a_first_token_that_is_wrong_says_nothing_of_why("a token", FIRST_FAULTS[6][1]),
    ),
    (
        connection,
        "min(most_bytes, self._most_bytes)",
        "self._most_bytes",
        test_before_authentication_frames_are_short,
    ),
    (
        connection,
        "return self.gate.principal",
        'return Principal("ann")',
        test_who_logs_in_has_his_own_rights_and_no_others,
    ),
    (
        session_module,
        "self.principal is not None and evaluated.user not in",
        "False and evaluated.user not in",
        lambda: test_who_proves_it_again_is_who_he_was("user"),
    ),
    (
        session_module,
        "self._is_changed = mechanism != self._mechanism",
        "self._is_changed = False",
        lambda: test_who_proves_it_again_is_who_he_was("mechanism"),
    ),
    (
        session_module,
        "now_ms > self._ends_ms",
        "False",
        test_who_proves_again_who_he_is_stays_and_who_does_not_is_sent_away,
    ),
    (
        session_module,
        "now_ms - self._begun_ms < LEAST_BETWEEN_MS",
        "False",
        test_who_proves_again_who_he_is_stays_and_who_does_not_is_sent_away,
    ),
]


@pytest.mark.parametrize(("module", "before", "after", "check"), MUTANTS)
def test_a_listener_that_does_otherwise_is_found(
    module: ModuleType, before: str, after: str, check: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    assert source.count(before) == 1, before
    space: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source.replace(before, after), str(module.__file__), "exec"), space)
    for kind in KINDS:
        if kind.__module__ == module.__name__:
            for name, value in vars(space[kind.__name__]).items():
                if isinstance(value, FunctionType | property) and name in vars(kind):
                    monkeypatch.setattr(kind, name, value)
    monkeypatch.setattr("tests.wire.test_authentication.PATIENCE_S", 2.0)
    with pytest.raises((AssertionError, TimeoutError)):
        check()


KINDS = (scram.ScramExchange, session_module.Session, connection.Connection)
