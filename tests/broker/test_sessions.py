"""A connection whose other end is not known yet: what may come on it, and what is made of tokens."""

import pytest

from zombieproof.broker.authorization.mechanisms import Evaluated, Plain
from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.authorization.session import Said, Session
from zombieproof.broker.cluster.journal import KeptJournal
from zombieproof.model.vocabulary import NONE, ApiKey, Evaluation

PLAIN = Plain({"ann": "secret", "bob": "sécret"})
HANDSHAKE = Said(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN")
FETCH = Said(ApiKey.FETCH, 11)
VERSIONS = Said(ApiKey.API_VERSIONS, 3)


def token(user: str = "ann", password: str = "secret", acts_as: str = "") -> bytes:  # of nobody
    return f"{acts_as}\0{user}\0{password}".encode()


def login(data: bytes) -> Said:
    return Said(ApiKey.SASL_AUTHENTICATE, 2, token=data)


def session() -> Session:
    return Session({"PLAIN": PLAIN}, KeptJournal(), "10.0.0.7")


def test_who_logs_in_sends_what_follows() -> None:
    one = session()
    assert one.arrives(VERSIONS)[:4] == (0, True, False, False)
    assert one.arrives(HANDSHAKE).mechanisms == ("PLAIN",)
    assert not one.is_authenticated
    told = one.arrives(login(token()))
    assert (told.error, told.answers, told.closes, told.token, told.message) == (0, True, False, b"", "")
    assert one.principal == Principal("ann", "10.0.0.7")
    assert one.arrives(FETCH).passes
    assert one.arrives(VERSIONS).passes
    for again in (HANDSHAKE, login(token("bob", "sécret"))):
        told = one.arrives(again)
        assert (told.error, told.answers, told.closes, told.mechanisms) == (34, True, False, ())
    assert one.principal == Principal("ann", "10.0.0.7")


@pytest.mark.parametrize("said", [FETCH, VERSIONS, HANDSHAKE, login(token()), Said(NONE, token=token())])
def test_a_connection_that_was_closed_stays_so(said: Said) -> None:
    one = session()
    assert one.arrives(FETCH)[1:4] == (False, False, True)
    assert one.arrives(said)[1:4] == (False, False, True)
    assert one.principal is None


def test_versions_are_asked_for_once_unless_the_question_was_not_understood() -> None:
    one = session()
    assert one.arrives(VERSIONS._replace(is_understood=False)).error == 35
    assert one.arrives(VERSIONS._replace(is_valid=False)).error == 42
    assert one.arrives(VERSIONS).error == 0
    assert one.arrives(VERSIONS).closes


def test_what_comes_behind_the_handshake_is_told_so_and_is_the_end() -> None:
    for said in (FETCH, VERSIONS, HANDSHAKE):
        one = session()
        one.arrives(HANDSHAKE)
        told = one.arrives(said)
        assert (told.error, told.answers, told.passes, told.closes, told.mechanisms) == (34, True, False, True, ())


def test_tokens_without_a_header() -> None:
    one = session()
    assert one.arrives(HANDSHAKE._replace(version=0)).error == 0
    assert one.takes_bare_tokens
    told = one.arrives(Said(NONE, token=token()))
    assert (told.answers, told.token, one.takes_bare_tokens) == (True, b"", False)
    assert one.principal is not None
    for data in (token(password="wrong"), b"", b"\0" * 2, token() + b"\0"):  # a wrong one
        one = session()
        one.arrives(HANDSHAKE._replace(version=0))
        assert one.arrives(Said(NONE, token=data))[1:4] == (False, False, True)


class TwoRounds:
    """A mechanism that wants a second token."""

    def begin(self) -> "TwoRounds":
        self.seen = 0
        return self

    def evaluate(self, data: bytes) -> Evaluated:
        self.seen += 1
        if self.seen == 1:
            return Evaluated(Evaluation.CHALLENGED, b"more")
        return Evaluated(Evaluation.ACCEPTED, b"done", data.decode())


def test_a_mechanism_may_want_another_token() -> None:
    for version, said in ((1, login), (0, lambda data: Said(NONE, token=data))):
        one = Session({"TWO": TwoRounds()})
        one.arrives(Said(ApiKey.SASL_HANDSHAKE, version, mechanism="TWO"))
        told = one.arrives(said(b"a"))
        assert (told.error, told.answers, told.token, one.is_authenticated) == (0, True, b"more", False)
        told = one.arrives(said(b"zoe"))
        assert (told.token, str(one.principal)) == (b"done", "User:zoe")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "plain", "", "PLAIN "])
def test_another_mechanism_is_refused_with_those_that_there_are(mechanism: str) -> None:
    one = session()
    told = one.arrives(HANDSHAKE._replace(mechanism=mechanism))
    assert (told.error, told.mechanisms, told.closes) == (33, ("PLAIN",), True)


WRONG = "Authentication failed: Invalid username or password"
MALFORMED = "Authentication failed during authentication due to invalid credentials with SASL mechanism PLAIN"
FOR_ANOTHER = "Authentication failed: Client requested an authorization id that is different from username"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (token(password="wrong"), WRONG),  # a wrong one
        (token("eve"), WRONG),
        (token("ann", "Secret"), WRONG),
        (token("ann", "secret "), WRONG),
        (token("", "secret"), MALFORMED),
        (token("ann", ""), MALFORMED),
        (b"", MALFORMED),
        (b"ann\0secret", MALFORMED),
        (token() + b"\0x", MALFORMED),
        (b"\0\xff\xfe\0secret", MALFORMED),
        (token(acts_as="bob"), FOR_ANOTHER),
        (token(password="wrong", acts_as="bob"), WRONG),  # a wrong one
    ],
)
def test_a_token_that_is_wrong_is_told_so_in_kafkas_words(data: bytes, message: str) -> None:
    one = session()
    one.arrives(HANDSHAKE)
    told = one.arrives(login(data))
    assert (told.error, told.answers, told.closes, told.message) == (58, True, True, message)
    assert (one.principal, one.is_closed) == (None, True)


def test_passwords_and_names_are_texts_of_any_language() -> None:
    assert PLAIN.evaluate(token("bob", "sécret", "bob")).user == "bob"


def test_moves_and_refusals_are_in_the_journal() -> None:
    journal = KeptJournal()
    one = Session({"PLAIN": PLAIN}, journal)
    one.arrives(HANDSHAKE)
    one.arrives(login(token("eve")))
    assert [(each.machine, each.subject) for each in journal.moves] == [("connection", "127.0.0.1")] * 2
    assert [(each.decision, each.error) for each in journal.decisions] == [("authentication", 58)]
