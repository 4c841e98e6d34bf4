"""zombieproof conform --bootstrap: what it says, what it leaves, how it ends, and what it takes for no broker."""

import gc
import gzip
import importlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.conform_wire.wrong import Wrong, served, told_of, way
from zombieproof.broker.cluster.network import Request
from zombieproof.cli import main
from zombieproof.conformance.outside import judge as judging
from zombieproof.conformance.outside import peer, scenarios
from zombieproof.formats.topics import INTERNAL_TOPICS
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire import entities
from zombieproof.wire.api import Address
from zombieproof.wire.asking import Asking

Json = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_main(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main(["conform", *map(str, arguments)])
        written = capsys.readouterr()
        return Outcome(int(code), written.out, written.err)

    return run_main


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the family of fencing, of which none waits."""
    every = [each for each in scenarios.families() if each.family == "fencing"]
    monkeypatch.setattr("zombieproof.cli.conform_outside.families", lambda: every)


@pytest.fixture
def sample(repository_root: Path) -> list[Json]:
    with gzip.open(repository_root / "tests/answers/sample.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def written(path: Path, sequences: list[Json]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in sequences))
    return path


def names_at(bootstrap: str) -> tuple[set[str], set[str]]:
    """The topics and the groups that a broker tells of."""
    asked = peer.Peer([address(bootstrap)])
    topics = asked.entity(ApiKey.METADATA, 12, {"topics": None}).topics
    groups = asked.entity(ApiKey.LIST_GROUPS, 4, {}).groups
    asked.close()
    return {row.name for row in topics} - INTERNAL_TOPICS, {row.group_id for row in groups}


def address(bootstrap: str) -> Address:
    host, _, port = bootstrap.rpartition(":")
    return Address(host, int(port))


# ---------------------------------------------------------------- verdicts


@pytest.mark.usefixtures("few")
def test_a_broker_that_is_right_is_exit_code_0(run: Run) -> None:
    with served() as bootstrap:
        outcome = run("--bootstrap", bootstrap)
        told = run("--bootstrap", bootstrap, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    first, second, *_, last = outcome.out.splitlines()
    assert first == (
        f"{bootstrap} has the API versions of Kafka 4.3, transaction.version 2; testing it with 6 sequences of requests"
    )
    assert "creates topics, transactional ids and groups whose names begin with zombieproof-conform-" in second
    assert "transactional ids cannot be deleted" in second
    assert last == "6 of 6 conform"
    data = json.loads(told.out)
    assert data["counts"] == {"conforms": 6, "deviates": 0, "not applicable": 0, "not judged": 0}
    assert (data["bootstrap"], data["speaks_as"], data["transaction_version"]) == (bootstrap, "4.3", 2)
    assert data["prefix"] in told.err
    assert (data["left"], data["ended"], data["damaged"]) == ({"topics": [], "groups": []}, "", [])


@pytest.mark.usefixtures("few")
def test_a_deviation_is_exit_code_1_and_is_told_with_the_bug_that_it_matches(run: Run) -> None:
    with served(way("says yes")) as bootstrap:
        outcome = run("--bootstrap", bootstrap)
        data = json.loads(run("--bootstrap", bootstrap, "--json").out)
    assert outcome.code == 1
    said = outcome.out
    assert "fencing: a_zombie_ends_nothing\n  rule      Whoever has an older epoch" in said
    assert '  asked     step 5: EndTxn 4 {"transactional_id": "x0", "pid": "p0", "epoch": 0, "committed": true}' in said
    assert '  expected  {"error": "PRODUCER_FENCED"}\n  got       {"error": 0}\n' in said
    assert "  matches   B01 KAFKA-17754: a delayed EndTxn(COMMIT) completes a later transaction" in said
    found = next(each for each in data["judged"] if each["name"] == "a_zombie_ends_nothing")
    assert (found["verdict"], found["step"], found["bugs"]) == ("deviates", 5, ["B01"])


def test_every_run_has_names_of_its_own() -> None:
    with served() as bootstrap:
        one = peer.Peer([address(bootstrap)])
        made = {judging.Judge(one, None).prefix for _ in range(50)}  # type: ignore[arg-type]  # nobody asks it
        one.close()
    assert len(made) == 50


# ---------------------------------------------------------------- recordings


@pytest.mark.slow
def test_recorded_sequences_are_played_and_what_cannot_be_is_counted_with_the_reason(
    run: Run, sample: list[Json], tmp_path: Path
) -> None:
    some = sample[::12]
    path = written(tmp_path / "some.jsonl", some)
    with served() as bootstrap:
        outcome = run("--bootstrap", bootstrap, "--recording", path, "--json")
    data = json.loads(outcome.out)
    assert (outcome.code, data["counts"]["deviates"], data["counts"]["not judged"]) == (0, 0, 0)
    assert data["counts"]["conforms"] >= 5
    for sequence, found in zip(some, data["judged"], strict=True):
        apis = {step["api"] for step in sequence["steps"]}
        if sequence["tv"] != 2 or apis & {"Restart", "Move", "Stop", "Kill"}:
            assert found["verdict"] == "not applicable"
    reasons = {each["why"] for each in data["judged"] if each["verdict"] == "not applicable"}
    assert any(each.startswith("transaction.version ") for each in reasons)
    assert all(reasons)


def playable(sample: list[Json]) -> Json:
    """A sequence that can be played outside, and ends a transaction."""
    faults = {"Restart", "Move", "Stop", "Kill", "Return", "Wait", "WriteTxnMarkers", "DescribeProducers"}
    return next(
        each
        for each in sample
        if each["tv"] == 2
        and "security" not in each
        and len(each["config"]) <= 5
        and not faults & {step["api"] for step in each["steps"]}
        and any(step["api"] == "EndTxn" for step in each["steps"])
    )


def test_an_answer_that_is_not_the_recorded_one_deviates(run: Run, sample: list[Json], tmp_path: Path) -> None:
    sequence = playable(sample)
    step = next(i for i, each in enumerate(sequence["steps"]) if each["api"] == "EndTxn")
    sequence["steps"][step]["answer"]["error"] += 1
    with served() as bootstrap:
        outcome = run("--bootstrap", bootstrap, "--recording", written(tmp_path / "one.jsonl", [sequence]), "--json")
    (found,) = json.loads(outcome.out)["judged"]
    assert (outcome.code, found["verdict"], found["step"]) == (1, "deviates", step + 1)
    assert found["expected"]["error"] == found["got"]["error"] + 1


def unlike(sequence: Json, **changes: Any) -> Json:
    return {**sequence, **changes}


def with_first_step(sequence: Json, **changes: Any) -> Json:
    return {**sequence, "steps": [{**sequence["steps"][0], **changes}, *sequence["steps"][1:]]}


NOT_APPLICABLE: dict[str, tuple[Callable[[Json], Json], str]] = {
    "users": (lambda one: unlike(one, security={"mechanism": "PLAIN", "super": [], "acls": []}), "users and rights"),
    "another feature level": (lambda one: unlike(one, tv=0), "transaction.version 0: the broker is at 2"),
    "another release": (lambda one: unlike(one, kafka="4.0.0"), "release 4.0.0: the broker speaks as 4.3 does"),
    "another setting": (
        lambda one: unlike(one, config={"transaction.max.timeout.ms": 5}),
        "setting transaction.max.timeout.ms=5: the broker has 900000",
    ),
    "several nodes": (lambda one: unlike(one, config={"nodes": 3}), "setting nodes: brokers outside are as they are"),
    "a node": (lambda one: with_first_step(one, node="coordinator"), "a fault: "),
    "an answer that is waited for later": (lambda one: with_first_step(one, later="a"), "whether an answer is still"),
    "an internal topic": (
        lambda one: with_first_step(
            one,
            api="Fetch",
            version=11,
            request={"isolation": "read_committed", "partitions": [["__consumer_offsets", 0, 0]]},
        ),
        "Fetch in an internal topic: others live there",
    ),
    "the group without a name": (
        lambda one: with_first_step(
            one,
            api="OffsetCommit",
            version=8,
            request={"group": "", "generation": -1, "member": "", "offsets": [["t0", 0, 1, ""]]},
        ),
        "the group without a name may be somebody's",
    ),
    "a restart": (
        lambda one: with_first_step(one, api="Restart", version=0, request={"how": "clean"}),
        "a fault: brokers outside are neither restarted nor moved",
    ),
}


@pytest.mark.parametrize("name", NOT_APPLICABLE)
def test_what_cannot_be_played_outside_is_not_applicable_and_proves_nothing(
    run: Run, sample: list[Json], tmp_path: Path, name: str
) -> None:
    make, why = NOT_APPLICABLE[name]
    path = written(tmp_path / "one.jsonl", [make(playable(sample))])
    with served() as bootstrap:
        outcome = run("--bootstrap", bootstrap, "--recording", path)
        assert names_at(bootstrap)[0] == {"theirs"}
    assert outcome.code == 3
    assert f"  1  {why}" in outcome.out
    assert outcome.out.splitlines()[-1] == "0 of 0 conform; 1 not applicable"


def test_a_damaged_line_is_named_and_the_others_are_played(run: Run, sample: list[Json], tmp_path: Path) -> None:
    path = tmp_path / "damaged.jsonl"
    path.write_text("{\n" + json.dumps(playable(sample)) + "\n")
    with served() as bootstrap:
        outcome = run("--bootstrap", bootstrap, "--recording", path)
    assert outcome.code == 3
    assert f"cannot be read: {path}, line 1: invalid JSON" in outcome.out
    assert "1 of 1 conform" in outcome.out


def test_a_release_can_be_named_that_a_broker_does_not_say(run: Run, sample: list[Json], tmp_path: Path) -> None:
    sequence = unlike(playable(sample), kafka="4.0.0")
    path = written(tmp_path / "one.jsonl", [sequence])
    with served() as bootstrap:
        told = json.loads(run("--bootstrap", bootstrap, "--recording", path, "--release", "4.0.0", "--json").out)
    assert told["speaks_as"] == "4.0.0"
    assert told["judged"][0]["verdict"] != "not applicable"


# ---------------------------------------------------------------- what is left


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", ["right", "says yes"])
def test_nothing_is_left_and_nothing_else_is_touched(run: Run, name: str) -> None:
    with told_of(Wrong() if name == "right" else way(name)) as (bootstrap, cluster, _):
        run("--bootstrap", bootstrap)
        assert names_at(bootstrap) == ({"theirs"}, set())
        assert cluster.open_transactions == 0


@pytest.mark.parametrize("at", [1, 12, 13, 14, 15, 16])
def test_what_was_made_is_taken_away_when_a_run_is_interrupted(
    run: Run, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    asked = 0

    def interrupts(self: Any, *arguments: Any, **more: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == at:
            raise KeyboardInterrupt
        return told(self, *arguments, **more)

    told = Asking.receive
    monkeypatch.setattr(Asking, "receive", interrupts)
    with told_of() as (bootstrap, cluster, _):
        assert run("--bootstrap", bootstrap).code == 130
        assert asked >= at
        monkeypatch.undo()
        assert names_at(bootstrap) == ({"theirs"}, set())
        assert cluster.open_transactions == 0


class Interrupting:
    """A field that is interrupted while its class is made: Python 3.11 makes a RuntimeError of that."""

    def __set_name__(self, owner: type, name: str) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("at", range(1, 9))
def test_what_was_made_is_taken_away_when_a_run_is_interrupted_while_it_imports_a_message(
    run: Run, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    asked = 0

    def interrupts(name: str) -> Any:
        nonlocal asked
        if threading.current_thread() is threading.main_thread():
            asked += 1
            if asked == at:
                type("Message", (), {"field": Interrupting()})
        return imported(name)

    imported = importlib.import_module
    with told_of() as (bootstrap, cluster, _):
        monkeypatch.setattr("zombieproof.wire.entities.import_module", interrupts)
        entities.entity_class.cache_clear()
        outcome = run("--bootstrap", bootstrap)
        assert (outcome.code, "Traceback" in outcome.err) == (130, False)
        assert asked >= at
        monkeypatch.undo()
        assert names_at(bootstrap) == ({"theirs"}, set())
        assert cluster.open_transactions == 0


INTERRUPTED = "zombieproof: interrupted"


def terminated(bootstrap: str, after_s: float) -> tuple[int, str]:
    """Exit code and stderr of a run that is told to end so long after it has made its first topic."""
    command = [sys.executable, "-c", "import sys; from zombieproof.cli import main; sys.exit(main())"]
    program = subprocess.Popen(
        [*command, "conform", "--bootstrap", bootstrap, "--level", "full"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ,
        text=True,
    )
    try:
        until = time.monotonic() + 30
        while names_at(bootstrap)[0] == {"theirs"} and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(after_s)
        program.send_signal(signal.SIGTERM)
        _, err = program.communicate(timeout=60)
    finally:
        program.kill()
        program.wait()
    return program.returncode, err.strip()


def test_a_run_that_is_terminated_takes_away_what_it_has_made() -> None:
    with served() as bootstrap:
        assert terminated(bootstrap, 0) == (130, INTERRUPTED)
        assert names_at(bootstrap) == ({"theirs"}, set())


@pytest.mark.deep
def test_so_does_one_that_is_terminated_at_any_moment() -> None:
    # Messages are imported when they are first used: of the first tenths of a second a good part.
    chance = random.Random(13)
    with served() as bootstrap:
        for moment in range(20):
            after_s = chance.uniform(0, 0.5 if moment % 3 else 2)
            assert terminated(bootstrap, after_s) == (130, INTERRUPTED), after_s
            assert names_at(bootstrap) == ({"theirs"}, set()), after_s


@pytest.fixture
def outlived() -> Iterator[None]:
    """SIGTERM does nothing to these tests, but where the command hears it.

    Hypothesis looks on when garbage is collected, and Python forgets an interrupt that falls into such a call.
    """
    before, looking_on = signal.signal(signal.SIGTERM, lambda *_: None), gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = looking_on
    signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
# Python leaves the file of a module open that it reads when an interrupt comes.
@pytest.mark.filterwarnings(
    r"ignore:Exception ignored in. <_io.FileIO name='.*\.pyc:pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.filterwarnings(r"ignore:unclosed file .*\.pyc:ResourceWarning")
@pytest.mark.usefixtures("outlived")
def test_so_does_a_run_in_this_process_at_any_moment(run: Run) -> None:
    chance = random.Random(13)

    def terminate(after_s: float) -> None:
        while signal.getsignal(signal.SIGTERM) is not signal.default_int_handler:
            time.sleep(0.001)
        time.sleep(after_s)
        os.kill(os.getpid(), signal.SIGTERM)

    with told_of() as (bootstrap, cluster, _):
        for _ in range(30):
            after_s = chance.uniform(0, 0.2)
            thread = threading.Thread(target=terminate, args=(after_s,))
            thread.start()
            code = run("--bootstrap", bootstrap, "--level", "full").code
            thread.join()
            assert code == 130, after_s
            assert names_at(bootstrap) == ({"theirs"}, set()), after_s
            assert cluster.open_transactions == 0
    gc.collect()  # here, and not in the middle of another test


@pytest.mark.usefixtures("few")
def test_topics_that_cannot_be_deleted_are_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer.Peer, "delete", lambda self, topics: list(topics))
    with served() as bootstrap:
        outcome = run("--bootstrap", bootstrap)
    assert "could not be deleted: topics zombieproof-conform-" in outcome.out


# ---------------------------------------------------------------- no broker


@contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Somebody who takes connections, and does with each what `answer` does."""
    taken = list[socket.socket]()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                taken.append(connection)
                answer(connection)

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    for each in taken:
        each.close()
    thread.join(10)


def hears_nothing(connection: socket.socket) -> None:
    """It is silent."""


def hangs_up(connection: socket.socket) -> None:
    connection.recv(1)
    connection.close()


def answers(data: bytes) -> Callable[[socket.socket], None]:
    def answer(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(data)

    return answer


NO_BROKERS: dict[str, tuple[Callable[[socket.socket], None], str]] = {
    "silence": (hears_nothing, "nothing was answered within 0.2 s; give the address of a broker's plaintext listener"),
    "an end": (hangs_up, "the connection was ended instead of an answer to ApiVersions; a listener with TLS does so"),
    "another protocol": (answers(b"220 mail.example\r\n"), "this is no broker of Kafka: an answer of "),
    "the answer to another request": (
        answers((8).to_bytes(4, "big") + (77).to_bytes(4, "big") + b"\0\0\0\0"),
        "this is no broker of Kafka: an answer to request 77; the oldest that is not answered is 1",
    ),
    "half an answer": (
        answers((6).to_bytes(4, "big") + (1).to_bytes(4, "big") + b"\0\0"),
        "this is no broker of Kafka: ApiVersionsResponse: ",
    ),
}


@pytest.mark.parametrize("name", NO_BROKERS)
def test_whoever_is_no_broker_is_exit_code_3(run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(peer.Peer.__init__, "__defaults__", (0.2,))
    answer, why = NO_BROKERS[name]
    with listening(answer) as bootstrap:
        outcome = run("--bootstrap", bootstrap)
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith(f"zombieproof: {bootstrap}: ")
    assert why in outcome.err


def test_a_web_server_is_no_broker(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer.Peer.__init__, "__defaults__", (0.2,))

    class Quiet(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as http.server calls it
            """Nobody reads it."""

    server = HTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        outcome = run("--bootstrap", f"127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
    assert outcome.code == 3
    assert "give the address of a broker's plaintext listener" in outcome.err


def test_a_port_where_nobody_listens_is_exit_code_3(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        bootstrap = f"127.0.0.1:{server.getsockname()[1]}"
    outcome = run("--bootstrap", bootstrap)
    assert (outcome.code, outcome.err) == (3, f"zombieproof: {bootstrap}: Connection refused\n")


def test_of_several_addresses_the_first_that_answers_is_asked(run: Run, few: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = f"127.0.0.1:{server.getsockname()[1]}"
    with served() as bootstrap:
        assert run("--bootstrap", f"{nobody},{bootstrap}").code == 0


@pytest.mark.usefixtures("few")
def test_a_broker_that_goes_away_is_exit_code_3_and_what_may_be_left_is_said(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "PATIENCE_S", 0.5)
    heard = 0

    def hears(request: Request) -> Request:
        nonlocal heard
        heard += 1
        if heard == 25:
            threading.Thread(target=background.close).start()
        return request

    with told_of(Wrong(hears=hears)) as (bootstrap, _, background):
        outcome = run("--bootstrap", bootstrap)
    assert outcome.code == 3
    assert "stopped early: " in outcome.out
    assert "topics and groups whose names begin with zombieproof-conform-" in outcome.out


# ---------------------------------------------------------------- usage


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--bootstrap", "127.0.0.1"), "--bootstrap: '127.0.0.1' is not HOST:PORT; give for example 127.0.0.1:9092"),
        (("--bootstrap", ""), "--bootstrap: '' is not HOST:PORT"),
        (("--bootstrap", "127.0.0.1:0"), "0 is not a valid port; give 1 to 65535"),
        (("--bootstrap", "127.0.0.1:65536"), "65536 is not a valid port; give 1 to 65535"),
        (("--bootstrap", "127.0.0.1:9092,"), "--bootstrap: '' is not HOST:PORT"),
        (("--bootstrap", "http://127.0.0.1:9092"), "is not HOST:PORT"),
        (("--bootstrap", "kafka.example:9092"), "kafka.example:9092, which is not this machine"),
        (("--bootstrap", "10.0.0.1:9092"), "which is not this machine"),
        (("--bootstrap", "127.0.0.1:9,[2001:db8::1]:9092"), "[2001:db8::1]:9092, which is not this machine"),
        (("--bootstrap", "127.0.0.1:9", "--level", "deep"), "there is no level named 'deep'; there are: smoke, full"),
        (("--bootstrap", "127.0.0.1:9", "--release", "1.9"), "--release: unknown Kafka release '1.9'"),
        (("--bootstrap", "127.0.0.1:9", "--recording", "nowhere.jsonl"), "nowhere.jsonl: there is no such file"),
        (("--level", "full"), "--level needs a running broker: add --bootstrap HOST:PORT"),
        (("--yes",), "--yes needs a running broker"),
        (("--release", "3.9"), "--release needs a running broker"),
    ],
)
def test_wrong_usage_is_exit_code_2(run: Run, arguments: tuple[str, ...], why: str) -> None:
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert why in outcome.err


def test_a_cluster_that_names_brokers_elsewhere_is_refused_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    describe = peer.Peer.describe

    def elsewhere(self: peer.Peer, topics: Any) -> None:
        describe(self, topics)
        self.brokers[7] = Address("broker.example", 9092)

    with served() as bootstrap:
        monkeypatch.setattr(peer.Peer, "describe", elsewhere)
        outcome = run("--bootstrap", bootstrap)
        monkeypatch.undo()
        assert names_at(bootstrap)[0] == {"theirs"}
    assert outcome.code == 2
    assert "the cluster advertises broker.example:9092, which is not this machine" in outcome.err
