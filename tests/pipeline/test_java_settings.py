"""Settings of Java's client are those of librdkafka, or refused with what to use; and none of it shows a secret."""

import base64
import json
import logging
import pickle
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipeline.java_client import WRITTEN, texts
from zombieproof.pipeline.java_names import (
    REFUSED,
    RENAMED,
    SAME,
    SECURITY,
    WITHOUT_COUNTERPART,
    rename_settings,
    table,
)
from zombieproof.pipeline.java_settings import (
    KAFKAS,
    OIDC_HANDLERS,
    RETRIEVERS,
    IamTokens,
    RedactedSettings,
    parse_jaas,
    translate_settings,
)
from zombieproof.pipeline.settings import IllegalSetting

SECRET = "s3cr3t"  # in tests only
QUIET = logging.getLogger("tests.pipeline.quiet")
BROKERS = {"bootstrap.servers": "b:9092"}
SASL_SSL = {**BROKERS, "security.protocol": "SASL_SSL"}
PLAIN = f"{KAFKAS}plain.PlainLoginModule"
SCRAM = f"{KAFKAS}scram.ScramLoginModule"
OAUTH = f"{KAFKAS}oauthbearer.OAuthBearerLoginModule"
KRB5 = "com.sun.security.auth.module.Krb5LoginModule"
IAM = "software.amazon.msk.auth.iam.IAMLoginModule"
LOGIN = f'required username="ann" password="{SECRET}";'

# ---------------------------------------------------------------- JAAS


def test_jaas_is_read_as_kafka_reads_it() -> None:
    rows = json.loads(WRITTEN.read_text(encoding="utf-8"))["jaas"]
    assert [text for text, _ in rows] == list(texts()), "python -m tests.pipeline.java_client writes it again"
    assert sum(answer is not None for _, answer in rows) > 100  # the rest is refused
    for text, answer in rows:
        assert read(text) == answer, text


def read(text: str) -> list[object] | None:
    try:
        module = parse_jaas(text)
    except IllegalSetting:
        return None
    return [module.name, module.flag, dict(module.options)]


def quoted(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{plain}"'


@given(st.dictionaries(st.from_regex(r"[a-zA-Z_$][\w$.-]*", fullmatch=True), st.text(st.characters(codec="utf-8"))))
def test_any_value_can_be_quoted(options: dict[str, str]) -> None:
    options = {name: value for name, value in options.items() if name.isascii()}
    text = f"a.B required {' '.join(f'{name}={quoted(value)}' for name, value in options.items())};"
    assert parse_jaas(text).options == options


@given(st.text(alphabet="\"'\\=; /*\n-.1a", max_size=20), st.text(alphabet="\"'\\=; /*\n-.1a", max_size=20))
def test_whatever_is_malformed_is_refused_without_a_word_of_it(before: str, after: str) -> None:
    text = f"{PLAIN} required username={before}{SECRET}{after} password={after}{SECRET}{before};"
    settings = {**SASL_SSL, "sasl.mechanism": "PLAIN", "sasl.jaas.config": text}
    assert SECRET not in told(settings)
    assert SECRET not in repr(RedactedSettings(settings))


def told(settings: Mapping[str, Any]) -> str:
    """The error that settings end in, or nothing."""
    try:
        translate_settings(settings)
    except IllegalSetting as error:
        return f"{error!r} {error.__cause__!r} {error.__context__!r}"
    return ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('a.B required password="s3cr3t"', r"character 31: the semicolon at the end is missing"),
        ('a.B required password="s3cr3t;', r"character 23: the quote is not closed"),
        ("a.B required password=123s3cr3t;", r"character 23: the value of an option is missing, or needs quotes"),
        ('a.B password="s3cr3t";', r"character 5: after the class comes one of required"),
        ('a.B required password "s3cr3t";', r"character 23: the = after the name"),
        ('a.B required a="1"; c.D required b="s3cr3t";', r"character 21: there is more after the first"),
        ('a.B required a="1", b="s3cr3t";', r"character 19: the name of an option"),
        ("", r"character 1: the class of a login module is missing"),
    ],
)
def test_malformed_jaas_is_told_by_its_place(text: str, said: str) -> None:
    with pytest.raises(IllegalSetting, match=said) as refused:
        parse_jaas(text)
    assert SECRET not in str(refused.value)
    assert 'legal is: CLASS required NAME="VALUE"' in str(refused.value)


# ---------------------------------------------------------------- logins

ENDPOINT = {"sasl.oauthbearer.token.endpoint.url": "https://idp/token"}
OIDC = {"sasl.login.callback.handler.class": OIDC_HANDLERS[0], **ENDPOINT}
TOKENS = {"sasl.oauthbearer.method": "oidc", **ENDPOINT}
CLIENT = {"sasl.oauthbearer.client.id": "me", "sasl.oauthbearer.client.secret": SECRET}
USER = {"sasl.username": "ann", "sasl.password": SECRET}


@pytest.mark.parametrize(
    ("mechanism", "jaas", "more", "becomes"),
    [
        ("PLAIN", f"{PLAIN} {LOGIN}", {}, USER),
        ("PLAIN", f"kafkashaded.{PLAIN} {LOGIN}", {}, USER),
        (
            "PLAIN",
            f'{PLAIN} required username="$ConnectionString" password="Endpoint=sb://n.example/;Key=a+b/{SECRET}=";',
            {},
            {"sasl.username": "$ConnectionString", "sasl.password": f"Endpoint=sb://n.example/;Key=a+b/{SECRET}="},
        ),
        ("SCRAM-SHA-256", f"{SCRAM} {LOGIN}", {}, USER),
        ("SCRAM-SHA-512", f"\n {SCRAM}\n  {LOGIN}\n", {}, USER),
        ("OAUTHBEARER", f'{OAUTH} required clientId="me" clientSecret="{SECRET}";', OIDC, {**TOKENS, **CLIENT}),
        (
            "OAUTHBEARER",
            (
                f'shaded.{OAUTH} required clientId=me clientSecret="{SECRET}" scope="a b" '
                'extension_logicalCluster="lkc-1" extension_identityPoolId="p";'
            ),
            {**OIDC, "sasl.login.callback.handler.class": f"shaded.{OIDC_HANDLERS[1]}"},
            {
                **TOKENS,
                **CLIENT,
                "sasl.oauthbearer.scope": "a b",
                "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=p",
            },
        ),
        (
            "OAUTHBEARER",
            f"{OAUTH} required;",
            {
                **OIDC,
                "sasl.oauthbearer.client.credentials.client.id": "me",
                "sasl.oauthbearer.client.credentials.client.secret": SECRET,
            },
            {**TOKENS, **CLIENT},
        ),
        (
            "OAUTHBEARER",
            f"{OAUTH} required;",
            {**OIDC, "sasl.oauthbearer.jwt.retriever.class": list(RETRIEVERS)[2]},
            {**TOKENS, "sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer"},
        ),
        (
            "OAUTHBEARER",
            f'{OAUTH} required unsecuredLoginStringClaim_sub="ann";',
            {},
            {
                "enable.sasl.oauthbearer.unsecure.jwt": True,
                "sasl.oauthbearer.config": "principal=ann lifeSeconds=3600",
            },
        ),
        (
            "GSSAPI",
            f'{KRB5} required useKeyTab=true storeKey=true keyTab="/k.keytab" principal="me/h@EXAMPLE.ORG";',
            {"sasl.kerberos.service.name": "kafka"},
            {
                "sasl.kerberos.service.name": "kafka",
                "sasl.kerberos.keytab": "/k.keytab",
                "sasl.kerberos.principal": "me/h@EXAMPLE.ORG",
            },
        ),
        (
            "GSSAPI",
            f"{KRB5} required useTicketCache=true serviceName=kafka;",
            {},
            {"sasl.kerberos.service.name": "kafka", "sasl.kerberos.min.time.before.relogin": 0},
        ),
    ],
)
def test_a_login_of_java(mechanism: str, jaas: str, more: dict[str, str], becomes: dict[str, Any]) -> None:
    given_settings = {**SASL_SSL, "sasl.mechanism": mechanism, "sasl.jaas.config": jaas, **more}
    assert translate_settings(given_settings) == {**SASL_SSL, "sasl.mechanism": mechanism, **becomes}
    assert translate_settings(pickle.loads(pickle.dumps(rename_settings(given_settings)))) == translate_settings(
        given_settings
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sasl.jaas.config": f"my.Module {LOGIN}"}, "this login module cannot be translated; legal are org.apache"),
        ({"sasl.jaas.config": f"{SCRAM} {LOGIN}"}, "sasl.mechanism is PLAIN, and sasl.jaas.config names ScramLoginM"),
        ({"sasl.mechanism": ""}, "sasl.mechanism is GSSAPI, and .* legal with it is PLAIN: set sasl.mechanism"),
        ({"security.protocol": "SSL"}, "security.protocol is SSL, which does not log in; legal are SASL_PLAINTEXT"),
        ({"security.protocol": "TLS"}, "security.protocol is TLS; legal are PLAINTEXT, SSL"),
        ({"sasl.username": "ann"}, "say the same; leave one of them out"),
        ({"sasl.jaas.config": f'{PLAIN} required username="ann";'}, "option password is missing or empty"),
        ({"sasl.jaas.config": f'{PLAIN} required username="a" {SECRET}="b";'}, "option number 2 cannot be translated"),
        (
            {"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": f'{SCRAM} required tokenauth="true";'},
            "tokenauth is for delegation tokens",
        ),
        ({"sasl.client.callback.handler.class": "my.Handler"}, "sasl.client.callback.handler.class: this class"),
        ({"sasl.login.callback.handler.class": "my.Handler"}, "are for OAUTHBEARER, and sasl.mechanism is PLAIN"),
        ({"sasl.jaas.config": "", "sasl.login.callback.handler.class": "my.H"}, "sasl.jaas.config is missing"),
        ({"sasl.kerberos.kinit.cmd": "/usr/bin/kinit"}, "Java's is a path, librdkafka's a command line"),
    ],
)
def test_a_login_that_cannot_be(changed: dict[str, str], said: str) -> None:
    given_settings = {**SASL_SSL, "sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{PLAIN} {LOGIN}", **changed}
    refused(given_settings, said)


def refused(settings: Mapping[str, Any], said: str) -> None:
    with pytest.raises(IllegalSetting, match=said) as caught:
        translate_settings(settings)
    assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"


@pytest.mark.parametrize(
    ("options", "changed", "said"),
    [
        ("clientId=me", {}, "clientSecret is missing; say it there, or as sasl.oauthbearer.client.credentials.client"),
        ("clientId=me clientSecret=s3cr3t ssl.truststore.location='/none'", {}, "/none: cannot be read"),
        ("clientId=me clientSecret=s3cr3t", {"sasl.oauthbearer.token.endpoint.url": "file:///t"}, "legal is https"),
        ("clientId=me clientSecret=s3cr3t", {"sasl.login.callback.handler.class": "my.H"}, "azure_imds"),
        ("clientId=me clientSecret=s3cr3t", {"sasl.login.callback.handler.class": ""}, "tokens without signature"),
        ("clientId=me clientSecret=s3cr3t", {"sasl.oauthbearer.client.id": "you"}, "say the same; leave one of them"),
        ("clientId=me clientSecret=s3cr3t", {"sasl.oauthbearer.jwt.retriever.class": "my.R"}, "ClientCredentialsJwt"),
        ('clientId=me clientSecret=s3cr3t extension_a="b,c"', {}, "has a comma"),
        ("clientId=me clientSecret=s3cr3t other=x", {}, "option number 3 cannot be translated; legal are clientId"),
        ('unsecuredLoginStringClaim_sub="a b"', {"sasl.login.callback.handler.class": ""}, "has a space"),
    ],
)
def test_tokens_that_cannot_be(options: str, changed: dict[str, str], said: str) -> None:
    jaas = {"sasl.jaas.config": f"{OAUTH} required {options};", "sasl.mechanism": "OAUTHBEARER"}
    refused({**SASL_SSL, **jaas, **OIDC, **changed}, said)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("useKeyTab=true keyTab='/k'", "option principal is missing"),
        ("useKeyTab=true keyTab='/k' principal='a;rm'", "principal has a character that kinit cannot be given"),
        ("", "neither useKeyTab=true nor useTicketCache=true"),
        ("useTicketCache=true", "sasl.kerberos.service.name is missing"),
        ("useTicketCache=true ticketCache='/c'", "option number 2 cannot be translated; legal are useKeyTab"),
    ],
)
def test_kerberos_that_cannot_be(options: str, said: str) -> None:
    refused({**SASL_SSL, "sasl.mechanism": "GSSAPI", "sasl.jaas.config": f"{KRB5} required {options};"}, said)


# ---------------------------------------------------------------- Amazon MSK

MSK = {
    "bootstrap.servers": "b-1.demo.abc.c2.kafka.eu-west-1.amazonaws.com:9098",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "AWS_MSK_IAM",
    "sasl.jaas.config": f"{IAM} required;",
    "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
}


@pytest.fixture
def signer(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """A module in place of Amazon's, of the same functions, that keeps what it was asked."""
    asked: list[tuple[Any, ...]] = []

    def sign(name: str) -> Callable[..., tuple[str, int]]:
        def signed(*words: Any) -> tuple[str, int]:
            asked.append((name, *words))
            return f"token-{len(asked)}", 1_700_000_000_500

        return signed

    module = ModuleType("aws_msk_iam_sasl_signer")
    names = ("", "_from_profile", "_from_role_arn")
    provider = {f"generate_auth_token{each}": staticmethod(sign(each)) for each in names}
    module.MSKAuthTokenProvider = type("MSKAuthTokenProvider", (), provider)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", module)
    return asked


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ("", ("", "eu-west-1")),
        ('awsProfileName="dev"', ("_from_profile", "eu-west-1", "dev")),
        ('awsRoleArn="arn:r"', ("_from_role_arn", "eu-west-1", "arn:r", None)),
        ('awsRoleArn="arn:r" awsRoleSessionName="s"', ("_from_role_arn", "eu-west-1", "arn:r", "s")),
    ],
)
def test_iam_is_a_token_provider(signer: list[tuple[Any, ...]], options: str, asked: tuple[str, ...]) -> None:
    found = translate_settings({**MSK, "sasl.jaas.config": f"shaded.{IAM} required {options};"})
    tokens = found.pop("oauth_cb")
    assert found == {**{name: MSK[name] for name in list(MSK)[:2]}, "sasl.mechanism": "OAUTHBEARER"}
    assert signer == [], "signed before a client is built"
    tokens.sign_first()
    assert [tokens(""), tokens("")] == [("token-1", 1_700_000_000.5), ("token-2", 1_700_000_000.5)]
    assert signer == [asked] * 2


def test_iam_over_oauthbearer_is_the_same(signer: list[tuple[Any, ...]]) -> None:
    changed = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{OAUTH} required awsProfileName=dev;",
        "sasl.login.callback.handler.class": "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler",
    }
    client_handler = "sasl.client.callback.handler.class"
    found = translate_settings({name: value for name, value in {**MSK, **changed}.items() if name != client_handler})
    assert isinstance(found["oauth_cb"], IamTokens)
    found["oauth_cb"]("")
    assert signer == [("_from_profile", "eu-west-1", "dev")]


def test_the_region_is_that_of_the_environment_where_brokers_have_other_names(
    signer: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    refused({**MSK, **BROKERS}, "the region is unknown: .* set AWS_REGION on the driver and on each executor")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    translate_settings({**MSK, **BROKERS})["oauth_cb"]("")
    assert signer == [("", "us-east-2")]


def test_a_missing_signer_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    refused(
        MSK, r"aws_msk_iam_sasl_signer is not installed; pip install 'zombieproof\[msk\]' on the driver and on each"
    )


def test_missing_credentials_are_told_when_a_client_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def sign(_region: str) -> Any:
        raise RuntimeError("no credentials")

    module = ModuleType("aws_msk_iam_sasl_signer")
    module.MSKAuthTokenProvider = type("P", (), {"generate_auth_token": staticmethod(sign)})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", module)
    with pytest.raises(IllegalSetting, match=r"no token can be signed \(RuntimeError\); legal are credentials"):
        translate_settings(MSK)["oauth_cb"].sign_first()


def test_amazons_own_signer_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(
        "aws_msk_iam_sasl_signer.MSKAuthTokenProvider", reason="Amazon's signer is not installed (extra `msk`)"
    )
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    token, expires = translate_settings(MSK)["oauth_cb"]("")
    signed = base64.urlsafe_b64decode(f"{token}==")
    assert signed.startswith(b"https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect")
    assert 600 < expires - time.time() < 1000


# ---------------------------------------------------------------- names


def test_names_of_java_become_those_of_librdkafka() -> None:
    java = {"fetch.max.wait.ms": "100", "buffer.memory": "33554432", "receive.buffer.bytes": "-1", "linger.ms": "7"}
    found = rename_settings({**BROKERS, **java})
    assert found == {
        **BROKERS,
        "fetch.wait.max.ms": "100",
        "queue.buffering.max.kbytes": "32768",
        "socket.receive.buffer.bytes": "0",
        "linger.ms": "7",
    }
    assert rename_settings(found) == found


@pytest.mark.parametrize(
    ("given_settings", "said"),
    [
        ({"fetch.max.wait.ms": "1", "fetch.wait.max.ms": "2"}, "are two names of one setting; leave one of them out"),
        ({"buffer.memory": "much"}, "buffer.memory is not a number"),
        ({"auto.offset.reset": "earliest"}, "auto.offset.reset is a setting of .* use the option startingOffsets"),
        ({"ssl.endpoint.identification.algorithm": "ldaps"}, "is ldaps; legal are https, and nothing"),
        ({"ssl.cipher.suites": "TLS_AES_128_GCM_SHA256"}, "ssl.cipher.suites has Java's names"),
        ({"ssl.truststore.location": "/t"}, "security.protocol is PLAINTEXT, which does not encrypt; legal are SSL"),
    ],
)
def test_what_is_refused(given_settings: dict[str, str], said: str) -> None:
    refused({**BROKERS, **given_settings}, said)


@pytest.mark.parametrize("name", WITHOUT_COUNTERPART)
def test_each_setting_without_counterpart_is_refused_by_name_with_what_to_do(name: str) -> None:
    with pytest.raises(IllegalSetting, match=rf"^{re.escape(name)} is a setting .*: (leave it out|use) ?"):
        rename_settings({**BROKERS, name: SECRET})


def test_an_empty_algorithm_is_none() -> None:
    settings = {**BROKERS, "ssl.endpoint.identification.algorithm": ""}
    assert translate_settings(settings)["ssl.endpoint.identification.algorithm"] == "none"


def test_each_setting_of_javas_clients_is_in_the_table() -> None:
    """Those of producer and consumer of Kafka 4.3.1."""
    kafka = pytest.importorskip("zombieproof.pipeline.kafka", reason="confluent-kafka is not installed (extra `spark`)")
    names = json.loads(WRITTEN.read_text(encoding="utf-8"))["settings"]
    known = {*SAME, *RENAMED, *WITHOUT_COUNTERPART, *kafka.OURS, *(name for group, _ in SECURITY for name in group)}
    assert len(names) > 100
    assert [name for name in names if name not in known] == []


def test_each_name_has_one_meaning() -> None:
    names = [*SAME, *RENAMED, *(name for group, _ in (*REFUSED, *SECURITY) for name in group)]
    assert len(names) == len(set(names))
    assert not {new for new, _, _ in RENAMED.values()} & set(names)


def test_librdkafka_knows_each_name_that_is_passed_on_and_none_that_is_refused() -> None:
    kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed (extra `spark`)")

    def is_known(name: str) -> bool:
        try:
            kafka.Producer({name: "x=y"}, logger=QUIET)
        except kafka.KafkaException as error:
            return "No such configuration property" not in str(error)
        return True

    assert [name for name in (*SAME, *(new for new, _, _ in RENAMED.values())) if not is_known(name)] == []
    assert not any(map(is_known, ("fetch.max.wait.ms", "buffer.memory", "key.deserializer", "ssl.protocol")))


def test_the_page_has_the_table(repository_root: Path) -> None:
    page = (repository_root / "docs" / "pipeline.md").read_text(encoding="utf-8")
    assert table() in page, "docs/pipeline.md: put there what zombieproof.pipeline.java_names.table() returns"


# ---------------------------------------------------------------- secrets


def test_settings_as_text_show_no_secret() -> None:
    names = (
        *("sasl.password", "sasl.jaas.config", "ssl.key.pem", "ssl.keystore.key", "ssl.key.password"),
        *("ssl.truststore.password", "sasl.oauthbearer.client.secret", "sasl.oauthbearer.config"),
        *("sasl.oauthbearer.assertion.private.key.passphrase", "sasl.oauthbearer.assertion.private.key.pem"),
    )
    settings = RedactedSettings({**BROKERS, **dict.fromkeys(names, SECRET)})
    for text in (repr(settings), str(settings), f"{settings}", repr(pickle.loads(pickle.dumps(settings)))):
        assert SECRET not in text
        assert "b:9092" in text
    assert SECRET not in repr(parse_jaas(f"{PLAIN} {LOGIN}"))
