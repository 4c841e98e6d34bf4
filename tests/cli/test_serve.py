"""`zombieproof serve` says where it listens, answers there, and ends in order; what makes no sense is wrong usage."""

import errno
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from zombieproof.broker.authorization.scram import mechanism_of
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.broker.store.fault_disk import Fault, FaultDisk, Plan
from zombieproof.cli.listeners import may_advertise, may_listen
from zombieproof.cli.serve import HELP, _serve_until_the_end
from zombieproof.formats.batches import Batch, Record
from zombieproof.messages.transactions import InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.asking import answer_in, entity_in, frame_of, request_frame
from zombieproof.wire.names import TopicNames
from zombieproof.wire.security import Security

COMMAND = (
    sys.executable,
    "-c",
    "import sys; from zombieproof.cli import main; sys.exit(main())",
    "serve",
    "--port",
    "0",
)
LISTENS = re.compile(r"listening on 127\.0\.0\.1:(\d+)\n")
PATIENCE_S = 30


@contextmanager
def serving(*arguments: str, brokers: int = 1) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A process that serves, and the ports of its brokers."""
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ports = []
        for _ in range(brokers):
            found = LISTENS.fullmatch(line := process.stdout.readline())
            assert found, line
            ports.append(int(found[1]))
        yield process, ports
    finally:
        process.kill()
        process.communicate()


def initialized(port: int) -> InitProducerIdAnswer:
    request, names = InitProducerId(4, "x", 60_000), TopicNames()
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
        connection.sendall(request_frame(request, 1, "me", names))
        with connection.makefile("rb") as file:
            answer = answer_in(file.read(int.from_bytes(file.read(4), "big")), request, names)
    assert isinstance(answer, InitProducerIdAnswer)
    return answer


@pytest.mark.parametrize("kind", Durability, ids=lambda kind: kind.value)
def test_it_says_what_each_durability_loses(kind: Durability) -> None:
    said = " ".join(HELP.split())
    assert f"{kind.value} {kind.loses}" in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_until_it_is_told_to_end(number: int) -> None:
    with serving() as (process, [port]):
        assert initialized(port).producer_epoch == 0
        os.kill(process.pid, number)
        _, told = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, told) == (0, "")


def test_what_is_in_a_directory_is_there_the_next_time_also_after_a_kill(tmp_path: Path) -> None:
    for epoch in range(3):
        with serving("--data", str(tmp_path / "data")) as (_, [port]):
            assert initialized(port).producer_epoch == epoch


def test_three_brokers_say_where_each_of_them_listens() -> None:
    with serving("--brokers", "3", brokers=3) as (_, ports):
        answers = [initialized(port).error for port in ports]
    assert sorted(answers) == [0, 16, 16], "one of them coordinates the id"


def test_a_run_is_written_down_and_can_be_judged(tmp_path: Path, run: Any) -> None:
    trace = tmp_path / "run.jsonl"
    with serving("--trace", str(trace)) as (process, [port]):
        initialized(port)
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    assert run("replay", str(trace)).code == 0


def test_a_plan_is_played_and_told_of_at_the_end(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("faults: [{name: once, request: {api: InitProducerId}, inject_error: COORDINATOR_NOT_AVAILABLE}]\n")
    for asks, code in ((1, 0), (0, 1)):
        with serving("--plan", str(plan)) as (process, [port]):
            for _ in range(asks):
                assert initialized(port).error == 15
            os.kill(process.pid, signal.SIGTERM)
            told, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == code
        assert ("fired at" if asks else "never fired: once") in told


def test_a_story_is_served(run: Any) -> None:
    with serving("--story", "late_end_txn") as (_, [port]):
        assert initialized(port).error == 0
    outcome = run("serve", "--story", "late_ent_txn")
    assert outcome.code == 2
    assert "late_end_txn" in outcome.err


NO_USERS = "users: {'*': {rights: [{allow: WRITE, transactional_id: x}]}}"
USERS = "users: {ann: {password: secret, mechanism: SCRAM-SHA-256, rights: [{allow: WRITE, transactional_id: x}]}}"


def test_users_of_a_file_log_in_and_others_are_sent_away(tmp_path: Path) -> None:
    file = tmp_path / "acls.yaml"
    file.write_text(USERS, encoding="utf-8")
    with serving("--acl", str(file)) as (_, [port]), socket.create_connection(("127.0.0.1", port), PATIENCE_S) as one:
        one.sendall(frame_of(ApiKey.SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"}, 1, "me"))
        with one.makefile("rb") as stream:
            answer = entity_in(stream.read(int.from_bytes(stream.read(4), "big")), ApiKey.SASL_HANDSHAKE, 1)
            assert (answer.error_code.value, answer.mechanisms) == (33, ("SCRAM-SHA-256",))
            assert not stream.read(1)


def test_without_passwords_everybody_is_anonymous_and_has_its_rights(tmp_path: Path) -> None:
    file = tmp_path / "acls.yaml"
    for text, error in ((NO_USERS, 0), (NO_USERS.replace("x}", "y}"), 53)):
        file.write_text(text, encoding="utf-8")
        with serving("--acl", str(file)) as (_, [port]):
            assert initialized(port).error == error


def test_other_addresses_are_for_those_who_say_who_they_are(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "acls.yaml"
    file.write_text(NO_USERS, encoding="utf-8")
    outcome = run("serve", "--host", "0.0.0.0", "--acl", str(file))
    assert (outcome.code, outcome.out) == (2, "")
    assert "is not a loopback address" in outcome.err
    may_listen("0.0.0.0", Security({"PLAIN": mechanism_of("PLAIN", {})}))
    may_listen("0.0.0.0", Security(tls=ssl.create_default_context()))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "::0", ""])
def test_at_every_address_brokers_need_a_name_to_tell(run: Any, host: str, tmp_path: Path) -> None:
    file = tmp_path / "acls.yaml"
    file.write_text(USERS, encoding="utf-8")
    outcome = run("serve", "--host", host, "--acl", str(file))
    assert (outcome.code, outcome.out) == (2, "")
    assert "stands for every address of this machine" in outcome.err
    assert "(--advertised-host NAME)" in outcome.err
    may_advertise(host, "kafka.example")


@pytest.mark.parametrize("name", ["kafka.example", "localhost", "10.0.0.7", "::1", "fe80::1%eth0", "a_b-c"])
def test_a_name_or_an_address_can_be_told(name: str) -> None:
    may_advertise("127.0.0.1", name)


QUORUM = {"topics": ({"topic_name": "__cluster_metadata", "partitions": ({"partition_index": 0},)},)}
TOLD: tuple[tuple[ApiKey, int, dict[str, Any]], ...] = (
    (ApiKey.METADATA, 12, {"topics": (), "allow_auto_topic_creation": False}),
    (ApiKey.DESCRIBE_CLUSTER, 1, {"endpoint_type": 1}),
    (ApiKey.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": ("g",)}),
    (ApiKey.FIND_COORDINATOR, 3, {"key_type": 1, "key": "x"}),
    (ApiKey.DESCRIBE_QUORUM, 2, QUORUM),
)


def addresses_told(port: int) -> set[tuple[str, str, int]]:
    """The answers that tell addresses, and what they tell."""
    told = set()
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection, connection.makefile("rb") as file:
        for api, version, values in TOLD:
            connection.sendall(frame_of(api, version, values, 1, "me"))
            answer = entity_in(file.read(int.from_bytes(file.read(4), "big")), api, version)
            told |= {(f"{api.name} {version}", *each) for each in _addresses_in(answer)}
    return told


def _addresses_in(value: Any) -> Iterator[tuple[str, int]]:
    if isinstance(value, tuple):
        for each in value:
            yield from _addresses_in(each)
    elif is_dataclass(value):
        named = {each.name: getattr(value, each.name) for each in fields(value)}
        if "port" in named:
            yield named["host"], int(named["port"])
        for each in fields(value):
            yield from _addresses_in(getattr(value, each.name))


def test_clients_are_told_of_another_host_than_that_which_is_listened_at() -> None:
    for arguments, host in ((("--advertised-host", "kafka.example"), "kafka.example"), ((), "127.0.0.1")):
        with serving("--brokers", "2", *arguments, brokers=2) as (_, ports):
            told = addresses_told(ports[0])
        assert {(at, port) for _, at, port in told} == {(host, each) for each in ports}
        assert {what for what, _, _ in told} == {f"{api.name} {version}" for api, version, _ in TOLD}


def test_a_port_that_is_taken_is_wrong_usage(run: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        outcome = run("serve", "--port", str(port))
    assert outcome.code == 2
    assert re.search(
        rf"port {port} of 127\.0\.0\.1 is already in use; choose another with --port, or --port 0", outcome.err
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--config", "transaction.max.timeout=3"), "did you mean transaction.max.timeout.ms?"),
        (("--config", "a"), "'a' is not KEY=VALUE"),
        (("--config", "request.timeout.ms=x"), "a number is needed"),
        (("--config", "delete.topic.enable=perhaps"), "it can be true or false"),
        (("--config", "message.max.bytes=1", "--config", "message.max.bytes=2"), "message.max.bytes is given twice"),
        (("--config", "group.consumer.heartbeat.interval.ms=99999"), "legal is 5000 to 15000"),
        (("--host", "0.0.0.0"), "is not a loopback address"),
        (("--host", "example.org"), "is not a loopback address"),
        (("--host", "0.0.0.0"), "require a login (--acl FILE, users with passwords), or use TLS"),
        (("--advertised-host", "0.0.0.0"), "--advertised-host 0.0.0.0 stands for every address of a machine"),
        (("--advertised-host", "::"), "stands for every address of a machine"),
        (("--advertised-host", ""), "stands for every address of a machine"),
        (("--advertised-host", "example.org:9092"), "without a port"),
        (("--advertised-host", "a b"), "'a b' is not a valid host name"),
        (("--acl", "no-such.yaml"), "--acl no-such.yaml: cannot be read"),
        (("--tls-key", __file__), "--tls-key and --tls-client-ca need --tls-cert"),
        (("--tls-cert", "no-such.pem"), "TLS: no-such.pem: there is no such file"),
        (("--tls-cert", __file__), "legal are a certificate in PEM"),
        (("--durability", "fsync"), "needs a folder to write to: add --data DIR"),
        (("--durability", "memory", "--data", "here"), "writes nothing: omit --data"),
        (("--release", "3.9", "--transaction-version", "2"), "legal: 0 (others need"),
        (("--release", "12.0"), "unknown Kafka release '12.0'"),
        (("--topic", "a/b"), "has a character that Kafka does not take"),
        (("--topic", "a=0"), "is not a number of partitions; give NAME or NAME=3"),
        (("--data", __file__), "a data directory is a folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_makes_no_sense_is_wrong_usage(run: Any, arguments: tuple[str, ...], says: str) -> None:
    outcome = run("serve", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err


def test_a_directory_of_another_number_of_brokers_is_refused(run: Any, tmp_path: Path) -> None:
    Embedded(tmp_path / "data", nodes=2).close()
    outcome = run("serve", "--brokers", "3", "--data", str(tmp_path / "data"))
    assert outcome.code == 2
    assert "the directory of a cluster of 2 brokers, not of 3: start it with 2 brokers" in outcome.err


@pytest.mark.parametrize("fault", [Fault.ENOSPC, Fault.EIO])
def test_a_stop_on_a_disk_that_fails_ends_with_0_and_a_line(
    fault: Fault, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    disk = FaultDisk()
    cluster = Embedded(disk=disk, topics={"t": 1}, clock=ManualClock())

    def fill_up(*_: object) -> int:
        cluster.cluster.stores[1, ("t", 0)].log.append(
            Batch(records=(Record(b"k", b"v"),), timestamp_ms=1, leader_epoch=0)
        )
        disk.plan, disk.operations = Plan(1, fault, repeats=True), 1
        return 0

    monkeypatch.setattr("zombieproof.cli.serve._serve", fill_up)
    assert _serve_until_the_end(cluster, ("127.0.0.1", None), 0, None, None) == 0
    assert "The logs were not closed cleanly" in capsys.readouterr().err


def test_a_start_on_a_full_disk_names_the_file_and_the_bytes(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.pwrite", refuse)
    outcome = run("serve", "--data", str(tmp_path / "data"))
    assert outcome.code == 2
    assert re.search(r"cluster\.json\.tmp: No space left on device \(while writing [\d,]+ bytes\)", outcome.err)


def test_without_its_library_it_says_what_to_install(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zombieproof.cli.extras.find_spec", lambda _: None)
    outcome = run("serve")
    assert outcome.code == 2
    assert "pip install 'zombieproof[wire]'" in outcome.err
