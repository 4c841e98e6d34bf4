"""The pipeline's client logs in over TLS with Java's settings; a refused client reports the reason."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "confluent_kafka", reason="confluent-kafka, the client of the pipeline, is not installed (extra `spark`)"
)

from tests.pipeline.stores import KEY_PASSWORD, NAME_OF_CLIENT, PASSWORD, Stores, keytool
from tests.pipeline.tokens import Issuer, issuer
from zombieproof.broker.authorization.access_list import AccessList, Entry
from zombieproof.broker.authorization.scram import mechanism_of
from zombieproof.model.access import AclOperation, Permission, ResourceType
from zombieproof.pipeline.java_settings import KAFKAS, OIDC_HANDLERS, translate_settings
from zombieproof.pipeline.kafka import checked, client, consumer_for, producer_for
from zombieproof.pipeline.settings import IllegalSetting
from zombieproof.pipeline.spark.options import source_options
from zombieproof.wire.certificates import server_context
from zombieproof.wire.running import Running
from zombieproof.wire.security import Security

pytestmark = pytest.mark.slow

SECRET = "ann-s3cr3t"  # in tests only
MODULES = {
    "PLAIN": f"kafkashaded.{KAFKAS}plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{KAFKAS}scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{KAFKAS}scram.ScramLoginModule",
}
RIGHTS = frozenset(
    Entry(f"User:{user}", Permission.ALLOW, operation, resource, name)
    for user in ("ann", NAME_OF_CLIENT)
    for operation, resource, name in (
        (AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x"),
        (AclOperation.WRITE, ResourceType.TOPIC, "t"),
        (AclOperation.READ, ResourceType.TOPIC, "t"),
        (AclOperation.READ, ResourceType.GROUP, "g"),
    )
)
PATIENCE_S = 10.0


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"))


@contextmanager
def served(stores: Stores, *, sasl: bool) -> Iterator[Running]:
    """A broker over TLS, which users log in to by SASL, or else by their certificates."""
    mechanisms = {name: mechanism_of(name, {"ann": SECRET}) for name in MODULES} if sasl else {}
    tls = server_context(stores.server_cert, stores.server_key, None if sasl else stores.ca)
    with Running(access=AccessList(RIGHTS), security=Security(mechanisms, tls)) as running:
        running.topics(t=1)
        yield running


@pytest.fixture(scope="module")
def by_password(stores: Stores) -> Iterator[Running]:
    with served(stores, sasl=True) as running:
        yield running


@pytest.fixture(scope="module")
def by_certificate(stores: Stores) -> Iterator[Running]:
    with served(stores, sasl=False) as running:
        yield running


def trusting(stores: Stores, kind: str, ca: Path | None = None, alias: str = "root") -> dict[str, Any]:
    password = {} if kind == "PEM" else {"ssl.truststore.password": PASSWORD}
    return {
        "ssl.truststore.location": str(stores.trusting(kind, ca, alias)),
        "ssl.truststore.type": kind,
        **password,
    }


def login(broker: Running, mechanism: str, password: str = SECRET) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{MODULES[mechanism]} required username="ann" password="{password}";',
    }


def commits_and_reads(settings: Mapping[str, Any]) -> None:
    """Commit a record in a transaction, and read it."""
    producer = producer_for(settings, "x")
    producer.list_topics("t", PATIENCE_S)
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    told: list[Any] = []
    producer.produce("t", b"v", on_delivery=lambda error, message: told.append((error, message.offset())))
    producer.commit_transaction(PATIENCE_S)
    ((error, offset),) = told
    assert error is None
    consumer = consumer_for(settings, "g")
    try:
        consumer.assign([client.TopicPartition("t", 0, offset)])
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        assert (message.error(), message.value(), message.offset()) == (None, b"v", offset)
    finally:
        consumer.close()


# ---------------------------------------------------------------- logins


@pytest.mark.parametrize(
    ("mechanism", "kind"), [("PLAIN", "JKS"), ("SCRAM-SHA-256", "PKCS12"), ("SCRAM-SHA-512", "PEM")]
)
def test_a_user_with_a_password(by_password: Running, stores: Stores, mechanism: str, kind: str) -> None:
    commits_and_reads(checked({**login(by_password, mechanism), **trusting(stores, kind)}))


OWN: dict[str, Callable[[Stores], dict[str, Any]]] = {
    "PEM": lambda stores: {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(stores.pem),
        "ssl.key.password": KEY_PASSWORD,
    },
    "PKCS12": lambda stores: {
        "ssl.keystore.type": "pkcs12",
        "ssl.keystore.location": str(stores.p12),
        "ssl.keystore.password": PASSWORD,
    },
    "JKS": lambda stores: {
        "ssl.keystore.location": str(stores.jks()),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": KEY_PASSWORD,
    },
    "text": lambda stores: {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": stores.encrypted_key,
        "ssl.keystore.certificate.chain": stores.chain.replace("\n", " "),
        "ssl.key.password": KEY_PASSWORD,
    },
}
"""The client's key and its chain, in each form that Java's client takes."""


@pytest.mark.parametrize("kind", OWN)
def test_a_user_with_a_certificate(by_certificate: Running, stores: Stores, kind: str) -> None:
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": stores.ca.read_text()}
    settings = {"bootstrap.servers": by_certificate.bootstrap, "security.protocol": "SSL", **trust, **OWN[kind](stores)}
    commits_and_reads(checked(settings))
    found = translate_settings(settings)
    chain = "".join(found["ssl.certificate.pem"].split())
    assert chain.startswith("".join(stores.chain.split())), "the chain is not all there, or not in order"
    assert not any(name.startswith(("ssl.keystore", "ssl.truststore", "ssl.key.password")) for name in found)


# ---------------------------------------------------------------- refused logins


def refusal(settings: Mapping[str, Any], served_by: Any) -> str:
    """Return the error of a client's first call; its code ends a delivery."""
    refused: Any = None
    try:
        served_by(settings).list_topics("t", 1.0)
    except client.KafkaException as error:
        refused = error.args[0]
    gc.collect()  # the client is in frames of the error, and would keep connecting while its broker stops
    assert refused is not None
    assert refused.name() == "_AUTHENTICATION"
    assert not refused.retriable()
    assert SECRET not in repr(refused)
    return str(refused.str())


CLIENTS = [
    pytest.param(lambda settings: producer_for(settings, "x"), id="producer"),
    pytest.param(lambda settings: consumer_for(settings, "g"), id="consumer"),
]


@pytest.mark.parametrize("of", CLIENTS)
def test_a_wrong_password_is_told(by_password: Running, stores: Stores, of: Any) -> None:
    settings = {**login(by_password, "SCRAM-SHA-512", "wr0ng"), **trusting(stores, "PEM")}
    assert "uthentication failed" in refusal(settings, of)


@pytest.mark.parametrize("of", CLIENTS)
def test_a_wrong_client_secret_is_told(of: Any) -> None:
    with issuer() as endpoint:
        settings = {"bootstrap.servers": "127.0.0.1:9", "security.protocol": "SASL_PLAINTEXT"}
        assert "token" in refusal({**settings, **tokens(endpoint, "wr0ng")}, of)
        assert endpoint.asked[0]["secret"] == "wr0ng"


@pytest.mark.parametrize("of", CLIENTS)
def test_a_broker_that_is_not_trusted_is_told(by_password: Running, stores: Stores, of: Any) -> None:
    settings = {**login(by_password, "PLAIN"), **trusting(stores, "PEM", stores.other_ca)}
    assert "certificate verify failed" in refusal(settings, of)


def test_the_name_of_a_broker_has_to_be_in_its_certificate_unless_that_is_turned_off(stores: Stores) -> None:
    mechanisms = {"PLAIN": mechanism_of("PLAIN", {"ann": SECRET})}
    tls = server_context(stores.misnamed_cert, stores.misnamed_key, None)
    with Running(access=AccessList(RIGHTS), security=Security(mechanisms, tls)) as running:
        running.topics(t=1)
        settings = {**login(running, "PLAIN"), **trusting(stores, "PEM")}
        assert "certificate verify failed" in refusal(settings, lambda given: producer_for(given, "x"))
        commits_and_reads(checked({**settings, "ssl.endpoint.identification.algorithm": ""}))


# ---------------------------------------------------------------- stores that cannot be read


def refused(settings: Mapping[str, Any], said: str) -> None:
    with pytest.raises(IllegalSetting, match=said) as caught:
        translate_settings({"bootstrap.servers": "b:9092", "security.protocol": "SSL", **settings})
    shown = f"{caught.value!r} {caught.value.__cause__!r}"
    assert PASSWORD not in shown
    assert KEY_PASSWORD not in shown


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_wrong_password_of_a_store_is_told(stores: Stores, kind: str) -> None:
    trust = {**trusting(stores, kind), "ssl.truststore.password": "wr0ng"}
    refused(
        trust, r"trusted-root\.\w+: the password is wrong, or the file is damaged; say the right ssl\.truststore\.p"
    )
    refused({**OWN[kind](stores), "ssl.keystore.password": "wr0ng"}, "the right ssl.keystore.password|ssl.key.password")


@pytest.mark.parametrize("kind", ["JKS", "PEM", "text"])
def test_a_wrong_password_of_a_key_is_told(stores: Stores, kind: str) -> None:
    refused(
        {**OWN[kind](stores), "ssl.key.password": "wr0ng"}, r"the password is wrong, .* the right ssl\.key\.password"
    )


def test_a_store_of_java_that_is_cut_short_is_told_at_every_byte(stores: Stores, tmp_path: Path) -> None:
    whole = stores.jks().read_bytes()
    cut = tmp_path / "cut.jks"
    for size in range(0, len(whole), 7):
        cut.write_bytes(whole[:size])
        own = {**OWN["JKS"](stores), "ssl.keystore.location": str(cut)}
        refused(own, "is not JKS|password is wrong, or the file is damaged")
        del own["ssl.keystore.password"]
        refused(own, "is not JKS|is damaged|has 0 private keys")


def test_a_store_in_pkcs12_that_is_cut_short_or_changed_is_told(stores: Stores, tmp_path: Path) -> None:
    whole, cut = stores.p12.read_bytes(), tmp_path / "cut.p12"
    own = {**OWN["PKCS12"](stores), "ssl.keystore.location": str(cut)}
    for size in range(0, len(whole), 37):
        for data in (whole[:size], whole[:size] + bytes([whole[size] ^ 1]) + whole[size + 1 :]):
            cut.write_bytes(data)
            refused(
                own, "is not JKS|password is wrong, or the file is damaged|the file is damaged, or has an algorithm"
            )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ssl.truststore.location": "/nowhere"}, r"ssl\.truststore\.location /nowhere: cannot be read \(No such file"),
        ({"ssl.truststore.type": "JKS"}, r"ssl\.truststore\.type is JKS, and the file is not; say the type"),
        ({"ssl.truststore.type": "BKS"}, "type is BKS; legal are JKS, PKCS12, PEM: convert it with keytool"),
        ({"ssl.truststore.password": PASSWORD}, "a password for the store is given, and it is PEM, which has none"),
        ({"ssl.truststore.certificates": "x"}, "certificates are given as text, together with a location"),
        ({"ssl.ca.location": "/ca.pem"}, r"ssl\.truststore\.location and ssl\.ca\.location say the same"),
        ({"ssl.keystore.key": "x"}, "belong together; say both"),
        ({"ssl.keystore.password": PASSWORD}, r"ssl\.keystore\.location is missing"),
    ],
)
def test_stores_that_cannot_be(stores: Stores, changed: dict[str, str], said: str) -> None:
    refused({**trusting(stores, "PEM"), **changed}, said)


def test_the_issuer_of_tokens_has_a_trust_store_of_its_own(stores: Stores) -> None:
    jaas = (
        f'{KAFKAS}oauthbearer.OAuthBearerLoginModule required clientId="ann" clientSecret="{SECRET}" '
        f'ssl.truststore.location="{stores.ca}" ssl.truststore.type="PEM";'
    )
    login = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": jaas,
        "sasl.login.callback.handler.class": OIDC_HANDLERS[0],
        "sasl.oauthbearer.token.endpoint.url": "https://issuer/token",
    }
    found = translate_settings({"bootstrap.servers": "b:9092", "security.protocol": "SASL_SSL", **login})
    assert found["https.ca.pem"] == stores.ca.read_text()
    assert "ssl.ca.pem" not in found


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_key_store_with_two_keys_is_refused(stores: Stores, tmp_path: Path, kind: str) -> None:
    """Java chooses one for each broker; librdkafka has one."""
    two = tmp_path / "two"
    two.write_bytes((stores.jks() if kind == "JKS" else stores.p12).read_bytes())
    keytool(
        *("-genkeypair", "-alias", "second", "-keyalg", "EC", "-dname", "CN=second"),
        *("-keystore", two, "-storetype", kind, "-storepass", PASSWORD),
    )
    refused(
        {**OWN[kind](stores), "ssl.keystore.location": str(two)},
        "it has 2 private keys; legal is one, with its certificate: keep that of this client, with keytool",
    )


def test_a_key_store_that_keytool_has_made_in_pkcs12(stores: Stores, tmp_path: Path) -> None:
    own = tmp_path / "own.p12"
    keytool(
        *("-genkeypair", "-alias", "own", "-keyalg", "RSA", "-dname", "CN=own", "-keystore", own),
        *("-storetype", "PKCS12", "-storepass", PASSWORD),
    )
    settings = {"bootstrap.servers": "b:9092", "security.protocol": "SSL", "ssl.keystore.location": str(own)}
    found = translate_settings({**settings, "ssl.keystore.password": PASSWORD, "ssl.key.password": PASSWORD})
    producer_for(settings | {"ssl.keystore.password": PASSWORD}, "x")
    assert found["ssl.key.pem"].startswith("-----BEGIN PRIVATE KEY-----\n")
    assert found["ssl.certificate.pem"].count("BEGIN CERTIFICATE") == 1


def test_options_of_a_query_are_checked_before_it_starts(stores: Stores) -> None:
    options = {
        "kafka.bootstrap.servers": "b:9092",
        "kafka.group.id": "g",
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.location": str(stores.ca),
        "kafka.ssl.truststore.type": "PEM",
        "subscribe": "t",
    }
    found = source_options(options, streaming=True)
    assert found.settings["ssl.truststore.location"] == str(stores.ca)
    with pytest.raises(IllegalSetting, match=r"ssl\.truststore\.type is JKS, and the file is not"):
        source_options({**options, "kafka.ssl.truststore.type": "JKS"}, streaming=True)
    for name, value, said in (
        ("nosuch.setting", "1", r'No such configuration property: "nosuch\.setting"; legal are the settings of librdk'),
        ("compression.type", "best", 'Invalid value "best" for configuration property'),
        ("linger.ms", "soon", 'Invalid value for configuration property "queue.buffering.max.ms"|linger'),
    ):
        with pytest.raises(IllegalSetting, match=said):
            source_options({**options, f"kafka.{name}": value}, streaming=True)
    options |= {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.key.password": KEY_PASSWORD}
    assert KEY_PASSWORD not in repr(source_options(options, streaming=True))


def test_a_trust_store_without_a_root_is_refused(stores: Stores, tmp_path: Path) -> None:
    """OpenSSL would refuse each broker, where Java trusts any certificate of the store."""
    between, leaf = tmp_path / "between.pem", tmp_path / "leaf.pem"
    between.write_text(stores.between)
    leaf.write_bytes(stores.server_cert.read_bytes())
    for each in (between, leaf):
        refused(trusting(stores, "PEM", each), "none of its certificates is a root")
    between.write_text(stores.between + stores.ca.read_text())
    translate_settings({"bootstrap.servers": "b:9092", "security.protocol": "SSL", **trusting(stores, "PEM", between)})


def test_a_store_that_holds_nothing_useful_is_refused(stores: Stores, tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    refused({"ssl.truststore.location": str(empty)}, "is not JKS, PKCS12 or PEM; convert it with keytool")
    refused({"ssl.truststore.location": str(stores.server_key)}, "no trusted certificate|is a root")
    refused({"ssl.keystore.location": str(stores.ca)}, "it has 0 private keys")
    refused({**OWN["PEM"](stores), "ssl.key.password": None}, "encrypted, and ssl.key.password is missing")
    refused({**OWN["PKCS12"](stores), "ssl.key.password": KEY_PASSWORD}, "differs from the password of the store")


def test_settings_are_sent_to_executors_as_they_were_given(stores: Stores) -> None:
    """Keys stay in their files, and a renewed certificate is read by the next client."""
    given = {
        "bootstrap.servers": "b:9092",
        "security.protocol": "SSL",
        **OWN["PEM"](stores),
        "max.request.size": "9000",
    }
    found = checked(given)
    assert found.pop("message.max.bytes") == given.pop("max.request.size")
    assert found == given
    assert KEY_PASSWORD not in repr(found)


# ---------------------------------------------------------------- tokens


def tokens(endpoint: Issuer, secret: str = SECRET) -> dict[str, str]:
    return {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f'{KAFKAS}oauthbearer.OAuthBearerLoginModule required clientId="ann" '
        f'clientSecret="{secret}" scope="produce consume" extension_logicalCluster="lkc-1";',
        "sasl.login.callback.handler.class": f"kafkashaded.{OIDC_HANDLERS[1]}",
        "sasl.oauthbearer.token.endpoint.url": f"{endpoint.address}/token",
    }


def test_a_token_is_asked_for_with_client_credentials() -> None:
    """The embedded brokers do not have OAUTHBEARER; test_security_of_kafka.py logs in with the token."""
    with issuer() as endpoint:
        settings = {"bootstrap.servers": "127.0.0.1:9", "security.protocol": "SASL_PLAINTEXT", **tokens(endpoint)}
        asking = producer_for(checked(settings), "x")
        until = time.monotonic() + PATIENCE_S
        while not endpoint.asked and time.monotonic() < until:
            time.sleep(0.02)
        del asking
    assert endpoint.asked[0] == {
        "path": "/token",
        "scheme": "Basic",
        "user": "ann",
        "secret": SECRET,
        "grant_type": "client_credentials",
        "scope": "produce consume",
    }
