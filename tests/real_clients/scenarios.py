"""What every client has to do at a broker of ours: scenarios in the steps of `programs/steps.py`, written once.

Each is one function of a `Stage`; its docstring is what the page of clients says of it.
"""

import random
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.real_clients.known import FENCED, REPEATS
from tests.real_clients.processes import PATIENCE_S, Client, Served, StepFailed
from tests.real_clients.programs.steps import copy_of

QUIET_MS = 1_000
"""So long nothing comes before it is held that nothing will."""

LOOP_ID = "id of the loop"

COPIES = 400
"""How many records go through a loop."""


class Stage:
    """A broker, and programs of one client at it.

    Args:
        client: the name of the client.
        folder: where logs and data go.

    Attributes:
        options: what every broker is given besides.
    """

    def __init__(self, client: str, folder: Path) -> None:
        self.client, self.folder = client, folder
        self.options: tuple[str, ...] = ()
        self.ends = ExitStack()
        self.broker: Served

    def serve(self, *options: str, port: int = 0) -> Served:
        """A broker with an input and an output topic of two partitions."""
        topics = ("--topic", "input=2", "--topic", "output=2")
        self.broker = self.ends.enter_context(Served(self.folder, *topics, *self.options, *options, port=port))
        return self.broker

    def start(self) -> Client:
        """A program of the client."""
        return self.ends.enter_context(Client(self.client, self.broker.bootstrap, self.folder))

    def begin(self, options: tuple[str, ...] = ()) -> Client:
        """A broker and one program."""
        self.serve(*options)
        return self.start()


def commit(client: Client, name: str, *values: str, topic: str = "output", partition: int = 0) -> None:
    """One committed transaction."""
    client.ask("begin", name=name)
    for value in values:
        client.ask("send", name=name, topic=topic, partition=partition, value=value)
    client.ask("commit", name=name)


def read(client: Client, name: str, count: int) -> list[str]:
    """So many records, and no more."""
    found = client.ask("read", name=name, count=count, within_ms=30_000)
    return sorted(found + client.ask("read", name=name, count=1, within_ms=QUIET_MS))


def reader(client: Client, name: str, isolation: str = "read_committed", topic: str = "output") -> None:
    """A reader in a group of its own."""
    client.ask("reader", name=name, group=f"group of {name}", topic=topic, isolation=isolation)


# ---------------------------------------------------------------- the scenarios


def commits(stage: Stage) -> None:
    """Commit: what transactions have committed is read, each record once."""
    client = stage.begin()
    client.ask("producer", name="p", id="id")
    commit(client, "p", "1", "2", "3")
    commit(client, "p", "4", partition=1)
    reader(client, "r")
    assert read(client, "r", 4) == ["1", "2", "3", "4"]


def aborts(stage: Stage) -> None:
    """Abort: what was aborted is in the log, and the same producer goes on with the next transaction."""
    client = stage.begin()
    client.ask("producer", name="p", id="id")
    client.ask("begin", name="p")
    client.ask("send", name="p", topic="output", partition=0, value="aborted")
    client.ask("abort", name="p")
    commit(client, "p", "committed")
    reader(client, "r")
    assert read(client, "r", 1) == ["committed"]
    reader(client, "u", "read_uncommitted")
    assert read(client, "u", 2) == ["aborted", "committed"]


def read_committed_hides(stage: Stage) -> None:
    """read_committed hides: open and aborted records are not read, committed ones when their transaction has ended."""
    client = stage.begin()
    for name in ("p", "q"):
        client.ask("producer", name=name, id=f"id of {name}")
        client.ask("begin", name=name)
        client.ask("send", name=name, topic="output", partition=0, value=f"of {name}")
    reader(client, "r")
    reader(client, "u", "read_uncommitted")
    assert read(client, "u", 2) == ["of p", "of q"]
    assert read(client, "r", 0) == []
    client.ask("commit", name="q")
    assert read(client, "r", 0) == [], "p's transaction is open, and its record comes first"
    client.ask("abort", name="p")
    assert read(client, "r", 1) == ["of q"]


def zombies_are_fenced(stage: Stage) -> None:
    """Zombie fenced: a producer whose id another process has taken commits nothing of what it had sent."""
    first, second = stage.begin(), stage.start()
    first.ask("producer", name="p", id="id")
    commit(first, "p", "before")
    first.ask("begin", name="p")
    first.ask("send", name="p", topic="output", partition=0, value="of the zombie")
    second.ask("producer", name="p", id="id")
    commit(second, "p", "after")
    with pytest.raises(StepFailed) as refused:
        first.ask("commit", name="p")
    assert refused.value.name in FENCED, str(refused.value)
    reader(second, "r")
    assert read(second, "r", 2) == ["after", "before"]


def offsets_are_in_the_transaction(stage: Stage) -> None:
    """Offsets in the transaction: offsets are committed with the output or not at all, and the copy goes on there."""
    client = stage.begin()
    client.ask("producer", name="p", id="id of the input")
    commit(client, "p", "1", "2", "3", topic="input")
    client.ask("copier", name="c", id="id", group="g", source="input", target="output")
    client.ask("copy", name="c", count=2, ends="abort")
    assert client.ask("committed", group="g", topic="input", partition=0) is None
    client.ask("copy", name="c", count=2, ends="commit")
    committed = _until(2, lambda: client.ask("committed", group="g", topic="input", partition=0))
    client.ask("copy", name="c", count=1, ends="commit")
    reader(client, "r")
    assert (committed, read(client, "r", 3)) == (2, [copy_of("1"), copy_of("2"), copy_of("3")])


def transactions_time_out(stage: Stage) -> None:
    """Time-out: a transaction that is open for too long is aborted by the broker, and its producer is told."""
    client = stage.begin()
    client.ask("producer", name="late", id="id", timeout_ms=1_500)
    client.ask("producer", name="q", id="another id")
    client.ask("begin", name="late")
    client.ask("send", name="late", topic="output", partition=0, value="late")
    commit(client, "q", "in time")
    reader(client, "r")
    assert client.ask("read", name="r", count=1, within_ms=30_000) == ["in time"], "read when the late one is aborted"
    with pytest.raises(StepFailed):
        client.ask("commit", name="late")
    client.ask("producer", name="p", id="id")
    commit(client, "p", "next")
    assert read(client, "r", 1) == ["next"]


def a_crashed_broker_is_found_again(stage: Stage) -> None:
    """Broker crashes: kill -9 of `serve` in and between transactions; the client goes on, nothing lost or doubled."""
    kept = ("--data", str(stage.folder / "data"), "--durability", "fsync")
    client = stage.begin(kept)
    client.ask("producer", name="p", id="id")
    reader(client, "r")
    commit(client, "p", "before")
    assert client.ask("read", name="r", count=1, within_ms=30_000) == ["before"]
    client.ask("begin", name="p")
    client.ask("send", name="p", topic="output", partition=0, value="open")
    stage.broker.kill()
    stage.serve(*kept, port=stage.broker.port)
    client.ask("send", name="p", topic="output", partition=1, value="after the crash")
    client.ask("commit", name="p")
    stage.broker.kill()
    client.ask("begin", name="p")
    client.tell("send", name="p", topic="output", partition=0, value="while it was away")
    stage.serve(*kept, port=stage.broker.port)
    try:
        client.answer()
        client.ask("commit", name="p")
    except StepFailed:
        assert stage.client in REPEATS, f"{stage.client} has to come through this by itself"
        client.ask("abort", name="p")
        commit(client, "p", "while it was away")
    written = ["after the crash", "before", "open", "while it was away"]
    since = {*written} - {"before"}
    assert since <= seen(client, "r", since)
    reader(client, "again")
    assert read(client, "again", 4) == written


def a_killed_client_goes_on(stage: Stage) -> None:
    """Client killed: kill -9 of the process at any moment of its loop, restarted; each input is copied once."""
    observer = stage.begin()
    fill(observer)
    moments = random.Random(stage.client)
    for _ in range(4):
        with Client(stage.client, stage.broker.bootstrap, stage.folder) as killed:
            loop(killed)
            assert killed.answer()["copied"]
            time.sleep(moments.uniform(0, 0.03))
    last = stage.start()
    loop(last)
    assert last.answer()["copied"], "there was something left to copy"
    is_copied_once(observer)


def fill(client: Client) -> None:
    """Input for a loop, in both partitions, and an aborted record between."""
    client.ask("producer", name="fills", id="id of the input")
    for partition in (0, 1):
        values = [f"{number}" for number in range(COPIES) if number % 2 == partition]
        commit(client, "fills", *values[:50], topic="input", partition=partition)
        client.ask("begin", name="fills")
        client.ask("send", name="fills", topic="input", partition=partition, value="aborted")
        client.ask("abort", name="fills")
        commit(client, "fills", *values[50:], topic="input", partition=partition)


def loop(client: Client) -> None:
    """The program copies from now on."""
    client.ask("copier", name="c", id=LOOP_ID, group="g", source="input", target="output")
    client.tell("loop", name="c")


def is_copied_once(observer: Client) -> None:
    """Every input has one copy that is committed, and there is nothing else."""
    reader(observer, "r")
    assert read(observer, "r", COPIES) == sorted(copy_of(str(number)) for number in range(COPIES))


def seen(client: Client, name: str, wanted: set[str], within_s: float = PATIENCE_S) -> set[str]:
    """What a reader has read when it has all that is wanted: one that had to join again begins at what is committed."""
    until, found = time.monotonic() + within_s, set[str]()
    while not wanted <= found and time.monotonic() < until:
        found.update(client.ask("read", name=name, count=1, within_ms=QUIET_MS))
    return found


def _until(expected: Any, asked: Callable[[], Any]) -> Any:
    """Markers are on their way when EndTxn is answered: ask until it is so, or for too long."""
    until = time.monotonic() + PATIENCE_S
    while (told := asked()) != expected and time.monotonic() < until:
        time.sleep(0.05)
    return told


SCENARIOS: Mapping[str, Callable[[Stage], None]] = {
    each.__name__: each
    for each in (
        commits,
        aborts,
        read_committed_hides,
        zombies_are_fenced,
        offsets_are_in_the_transaction,
        transactions_time_out,
        a_crashed_broker_is_found_again,
        a_killed_client_goes_on,
    )
}

FAULTS: Mapping[str, Mapping[str, Any]] = {
    "a record is refused for now": {"request": {"api": "Produce"}, "inject_error": "NOT_LEADER_OR_FOLLOWER"},
    "nobody hears of a record": {"request": {"api": "Produce"}, "disconnect_on": "after"},
    "offsets are refused for now": {
        "request": {"api": "TxnOffsetCommit"},
        "inject_error": "COORDINATOR_LOAD_IN_PROGRESS",
    },
    "nobody hears of offsets": {"request": {"api": "TxnOffsetCommit"}, "disconnect_on": "after"},
    "a commit is refused for now": {"request": {"api": "EndTxn"}, "inject_error": "COORDINATOR_NOT_AVAILABLE"},
    "a commit is lost": {"request": {"api": "EndTxn"}, "disconnect_on": "before"},
    "nobody hears of a commit": {"request": {"api": "EndTxn"}, "disconnect_on": "after"},
}
"""Each happens to a loop twice: what it is, by the part of a plan that says so."""
