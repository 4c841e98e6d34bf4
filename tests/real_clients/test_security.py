"""Clients that others have written log in at a broker of ours, by SASL and over TLS, and have their users' rights."""

import asyncio
import gc
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trustme

from tests.real_clients import install
from zombieproof.broker.authorization.access_list import AccessList, Entry
from zombieproof.broker.authorization.scram import mechanism_of
from zombieproof.model.access import AclOperation, Permission, ResourceType
from zombieproof.wire.certificates import server_context
from zombieproof.wire.running import Running
from zombieproof.wire.security import Security

pytestmark = [
    # kafka-python loads its messages by what the standard library calls old, and leaves sockets open that were refused.
    pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PATIENCE_S = 20.0
PASSWORD = "ann-secret"  # of nobody
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
NAME_OF_CERTIFICATE = "CN=ann,OU=tests,O=Example"
RIGHTS = frozenset(
    Entry(f"User:{user}", Permission.ALLOW, operation, resource, name)
    for user in ("ann", NAME_OF_CERTIFICATE)
    for operation, resource, name in (
        (AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x"),
        (AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, "denied"),
        (AclOperation.WRITE, ResourceType.TOPIC, "t"),
        (AclOperation.READ, ResourceType.TOPIC, "t"),
        (AclOperation.READ, ResourceType.GROUP, "none"),
        (AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, "kafka-cluster"),
    )
)


class Login(NamedTuple):
    """How a client comes in: a mechanism ("": by its certificate), TLS or plain text, and by which password."""

    mechanism: str
    tls: bool = False
    password: str = PASSWORD

    @property
    def protocol(self) -> str:
        return {(True, True): "SASL_SSL", (True, False): "SASL_PLAINTEXT", (False, True): "SSL"}[
            bool(self.mechanism), self.tls
        ]


class Files:
    """Certificates of a broker and of a client."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.ca, self.cert, self.key = (str(folder / name) for name in ("ca.pem", "client.pem", "client.key"))
        authority.cert_pem.write_to_path(self.ca)
        mine = authority.issue_cert("127.0.0.1", "localhost")
        self.server_cert, self.server_key = folder / "server.pem", folder / "server.key"
        mine.cert_chain_pems[0].write_to_path(str(self.server_cert))
        mine.private_key_pem.write_to_path(str(self.server_key))
        ann = authority.issue_cert(
            "ann@example.org", common_name="ann", organization_name="Example", organization_unit_name="tests"
        )
        ann.cert_chain_pems[0].write_to_path(self.cert)
        ann.private_key_pem.write_to_path(self.key)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("certificates"))


@contextmanager
def served(login: Login, files: Files) -> Iterator[Running]:
    """A broker to which `login` is the way in."""
    mechanisms = {name: mechanism_of(name, {"ann": PASSWORD}) for name in MECHANISMS} if login.mechanism else {}
    client_ca = None if login.mechanism else Path(files.ca)
    tls = server_context(files.server_cert, files.server_key, client_ca) if login.tls else None
    with Running(access=AccessList(RIGHTS), security=Security(mechanisms, tls)) as running:
        running.topics(t=1, secret=1)
        yield running


# ---------------------------------------------------------------- each client: commit one record, and read it


def with_confluent(login: Login, broker: Running, files: Files, transactional_id: str, topic: str) -> list[bytes]:
    import confluent_kafka as kafka  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

    common = {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": login.protocol,
        **({"ssl.ca.location": files.ca} if login.tls else {}),
        **(
            {"sasl.mechanism": login.mechanism, "sasl.username": "ann", "sasl.password": login.password}
            if login.mechanism
            else {"ssl.certificate.location": files.cert, "ssl.key.location": files.key}
        ),
    }
    failed: list[str] = []
    producer = kafka.Producer(
        {**common, "transactional.id": transactional_id, "error_cb": lambda error: failed.append(error.str())}
    )
    try:
        producer.init_transactions(PATIENCE_S if login.password == PASSWORD else 2.0)
        producer.begin_transaction()
        producer.produce(topic, b"v", on_delivery=lambda error, _: failed.append(str(error)))
        producer.commit_transaction(PATIENCE_S)
    except kafka.KafkaException as error:
        raise Refused(f"{error} {failed}") from error
    consumer = kafka.Consumer({**common, "group.id": "none", "isolation.level": "read_committed"})
    consumer.assign([kafka.TopicPartition(topic, 0, 0)])
    message = consumer.poll(PATIENCE_S)
    consumer.close()
    assert message.error() is None
    return [message.value()]


def with_kafka_python(login: Login, broker: Running, files: Files, transactional_id: str, topic: str) -> list[bytes]:
    import kafka  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
    from kafka.errors import KafkaError  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

    common = {
        "bootstrap_servers": broker.bootstrap,
        "security_protocol": login.protocol,
        **({"ssl_cafile": files.ca} if login.tls else {}),
        **(
            {
                "sasl_mechanism": login.mechanism,
                "sasl_plain_username": "ann",
                "sasl_plain_password": login.password,
            }
            if login.mechanism
            else {"ssl_certfile": files.cert, "ssl_keyfile": files.key}
        ),
    }
    try:
        times = {"max_block_ms": 5000, "bootstrap_timeout_ms": 3000}
        producer = kafka.KafkaProducer(**common, **times, transactional_id=transactional_id)
        try:
            producer.init_transactions()
            producer.begin_transaction()
            producer.send(topic, b"v").get(PATIENCE_S)
            producer.commit_transaction()
        finally:
            producer.close(1)
        consumer = kafka.KafkaConsumer(**common, isolation_level="read_committed", auto_offset_reset="earliest")
    except KafkaError as error:
        raise Refused(repr(error)) from error
    consumer.assign([kafka.TopicPartition(topic, 0)])
    found = consumer.poll(PATIENCE_S * 1000)
    consumer.close()
    return [row.value for rows in found.values() for row in rows]


def with_aiokafka(login: Login, broker: Running, files: Files, transactional_id: str, topic: str) -> list[bytes]:
    import aiokafka  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
    from aiokafka.errors import KafkaError  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

    context = ssl.create_default_context(cafile=files.ca) if login.tls else None
    if context is not None and not login.mechanism:
        context.load_cert_chain(files.cert, files.key)
    common = {
        "bootstrap_servers": broker.bootstrap,
        "security_protocol": login.protocol,
        "ssl_context": context,
        "sasl_mechanism": login.mechanism or "PLAIN",
        "sasl_plain_username": "ann",
        "sasl_plain_password": login.password,
    }

    async def run() -> list[bytes]:
        producer = aiokafka.AIOKafkaProducer(**common, transactional_id=transactional_id)
        try:
            await producer.start()
            async with producer.transaction():
                await producer.send_and_wait(topic, b"v")
        finally:
            await producer.stop()
        consumer = aiokafka.AIOKafkaConsumer(**common, isolation_level="read_committed", auto_offset_reset="earliest")
        await consumer.start()
        consumer.assign([aiokafka.TopicPartition(topic, 0)])
        row = await asyncio.wait_for(consumer.getone(), PATIENCE_S)
        await consumer.stop()
        return [row.value]

    try:
        return asyncio.run(run())
    except KafkaError as error:
        raise Refused(repr(error)) from error


class Refused(Exception):
    """The client says that it may not."""


Client = Callable[[Login, Running, Files, str, str], list[bytes]]
CLIENTS: dict[str, Client] = {
    "confluent_kafka": with_confluent,
    "kafka": with_kafka_python,
    "aiokafka": with_aiokafka,
}


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """What a client has left open is closed here, where its warnings are expected."""
    yield
    gc.collect()


INSTALLED_AS = {"confluent_kafka": "confluent-kafka", "kafka": "kafka-python", "aiokafka": "aiokafka"}
"""The name of each at its registry."""


@pytest.fixture(params=CLIENTS)
def client(request: Any, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client that is here, or is installed beside, as the scenarios have it."""
    name = INSTALLED_AS[request.param]
    if install.is_ready(name):
        for beside in (install.CLIENTS / name / "venv" / "lib").glob("python3.*/site-packages"):
            monkeypatch.setattr(sys, "path", [*sys.path, str(beside)])
    if find_spec(request.param) is None:
        pytest.skip(f"{install.how_to(name)}: whether it logs in at a broker of ours is not tried here")
    return CLIENTS[request.param]


LOGINS = [Login(mechanism, tls) for mechanism in MECHANISMS for tls in (False, True)] + [Login("", tls=True)]


@pytest.mark.sample("SCRAM-SHA-256", "-SSL]")
@pytest.mark.parametrize("login", LOGINS, ids=lambda each: f"{each.protocol} {each.mechanism}".strip())
def test_a_client_logs_in_commits_and_reads(client: Client, login: Login, files: Files) -> None:
    with served(login, files) as broker:
        assert client(login, broker, files, "x", "t") == [b"v"]


@pytest.mark.sample("aiokafka-SCRAM-SHA-256")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_the_end_of_it(client: Client, mechanism: str, files: Files) -> None:
    login = Login(mechanism, password="wrong")  # a wrong one
    with served(login, files) as broker:
        with pytest.raises(Refused):
            client(login, broker, files, "x", "t")
        assert broker.do(lambda: broker.play.state_of("x")) is None, "it has asked for something"
    with served(login, files) as broker:
        client(login._replace(password=PASSWORD), broker, files, "x", "t")
        assert broker.do(lambda: broker.play.state_of("x")) is not None, "a right password would not be seen either"


@pytest.mark.parametrize(("transactional_id", "topic"), [("denied", "t"), ("x", "secret")])
def test_rights_count(client: Client, transactional_id: str, topic: str, files: Files) -> None:
    login = Login("SCRAM-SHA-256")
    with served(login, files) as broker, pytest.raises(Refused, match=r"(?i)authoriz"):
        client(login, broker, files, transactional_id, topic)
