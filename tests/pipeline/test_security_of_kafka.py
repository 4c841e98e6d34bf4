"""The pipeline's client logs in at a real Kafka by each login of Java's that is translated (`make pipeline-kafka`)."""

import socket
import sys
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import pytest

pytest.importorskip(
    "confluent_kafka", reason="confluent-kafka, the client of the pipeline, is not installed (extra `spark`)"
)

from confluent_kafka import admin

from tests.jvm.kafka_node import QUICK, node
from tests.pipeline.stores import KEY_PASSWORD, PASSWORD, Stores
from tests.pipeline.test_security import MODULES, OWN, SECRET, commits_and_reads, refusal, tokens, trusting
from tests.pipeline.tokens import AUDIENCE, Issuer, issuer
from tests.pipeline.topics import make_topics
from zombieproof.pipeline.java_settings import KAFKAS
from zombieproof.pipeline.kafka import checked, producer_for

CHECKS_TOKENS = f"{KAFKAS}oauthbearer.OAuthBearerValidatorCallbackHandler"


class Secured(NamedTuple):
    """A node of Kafka: where users log in by SASL, and where by certificates."""

    sasl: str
    tls: str
    stores: Stores
    endpoint: Issuer


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    if not request.config.getoption("real_kafka"):
        pytest.skip("--real-kafka is not given: logins at a real Kafka are part of `make pipeline-kafka`")
    stores, sasl, tls = Stores(tmp_path_factory.mktemp("stores")), free_port(), free_port()
    together = stores.folder / "server-with-key.pem"
    together.write_text(stores.server_pkcs8 + stores.server_cert.read_text())
    users = f'{KAFKAS}plain.PlainLoginModule required user_ann="{SECRET}";'
    with issuer() as endpoint:
        more = {
            "listeners": f"PLAINTEXT://127.0.0.1:@PORT@,CONTROLLER://127.0.0.1:@CONTROLLER@,"
            f"SASL_SSL://127.0.0.1:{sasl},SSL://127.0.0.1:{tls}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:@PORT@,SASL_SSL://127.0.0.1:{sasl},SSL://127.0.0.1:{tls}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL",
            "sasl.enabled.mechanisms": f"{','.join(MODULES)},OAUTHBEARER",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": users,
            "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": f"{KAFKAS}scram.ScramLoginModule required;",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{KAFKAS}scram.ScramLoginModule required;",
            "listener.name.sasl_ssl.oauthbearer.sasl.jaas.config": (
                f"{KAFKAS}oauthbearer.OAuthBearerLoginModule required;"
            ),
            "listener.name.sasl_ssl.oauthbearer.sasl.server.callback.handler.class": CHECKS_TOKENS,
            "sasl.oauthbearer.jwks.endpoint.url": f"{endpoint.address}/keys",
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(together),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(stores.ca),
            "listener.name.ssl.ssl.client.auth": "required",
        }
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={endpoint.address}/keys"
        with node(tmp_path_factory.mktemp("kafka"), options=(*QUICK, allowed), more=more) as address:
            make_topics(address, t=1)
            asked = admin.AdminClient({"bootstrap.servers": address})
            for each in (admin.ScramMechanism.SCRAM_SHA_256, admin.ScramMechanism.SCRAM_SHA_512):
                kept = admin.ScramCredentialInfo(each, 4096)
                change = admin.UserScramCredentialUpsertion("ann", kept, SECRET.encode())
                for answer in asked.alter_user_scram_credentials([change]).values():
                    answer.result()
            yield Secured(f"127.0.0.1:{sasl}", f"127.0.0.1:{tls}", stores, endpoint)


def settings_of(kafka: Secured, mechanism: str, password: str = SECRET) -> dict[str, Any]:
    login = (
        tokens(kafka.endpoint)
        if mechanism == "OAUTHBEARER"
        else {
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{MODULES[mechanism]} required username="ann" password="{password}";',
        }
    )
    return {"bootstrap.servers": kafka.sasl, "security.protocol": "SASL_SSL", **login}


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [("PLAIN", "JKS"), ("SCRAM-SHA-256", "PKCS12"), ("SCRAM-SHA-512", "PEM"), ("OAUTHBEARER", "PEM")],
)
def test_a_user_logs_in(kafka: Secured, mechanism: str, kind: str) -> None:
    commits_and_reads(checked({**settings_of(kafka, mechanism), **trusting(kafka.stores, kind)}))


def test_a_user_logs_in_by_a_token_provider(kafka: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with AWS IAM; this provider signs tokens that this broker takes."""

    def sign(region: str) -> tuple[str, int]:
        assert region == "eu-west-1"
        return kafka.endpoint.token("ann", "consume"), int(time.time() * 1000) + 300_000

    module = ModuleType("aws_msk_iam_sasl_signer")
    module.MSKAuthTokenProvider = type("P", (), {"generate_auth_token": staticmethod(sign)})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", module)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    login = {
        "bootstrap.servers": kafka.sasl,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
    }
    commits_and_reads(checked({**login, **trusting(kafka.stores, "PEM")}))


@pytest.mark.parametrize("kind", OWN)
def test_a_user_with_a_certificate(kafka: Secured, kind: str) -> None:
    own = {**trusting(kafka.stores, "PEM"), **OWN[kind](kafka.stores)}
    commits_and_reads(checked({"bootstrap.servers": kafka.tls, "security.protocol": "SSL", **own}))


@pytest.mark.parametrize("mechanism", MODULES)
def test_a_wrong_password_is_told(kafka: Secured, mechanism: str) -> None:
    settings = {**settings_of(kafka, mechanism, "wr0ng"), **trusting(kafka.stores, "PEM")}
    assert "uthentication failed" in refusal(settings, lambda given: producer_for(given, "x"))


def test_a_client_without_certificate_is_told(kafka: Secured) -> None:
    settings = {"bootstrap.servers": kafka.tls, "security.protocol": "SSL", **trusting(kafka.stores, "PEM")}
    assert "certificate" in refusal(settings, lambda given: producer_for(given, "x"))


def test_passwords_are_in_no_line_of_a_log(kafka: Secured, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    settings = {**settings_of(kafka, "PLAIN"), **trusting(kafka.stores, "JKS"), "debug": "all"}
    producer = producer_for(settings, "x")
    producer.list_topics("t", 10.0)
    producer.flush(1.0)
    assert caplog.records, "librdkafka's lines would be there"
    assert not any(word in caplog.text for word in (SECRET, PASSWORD, KEY_PASSWORD))
