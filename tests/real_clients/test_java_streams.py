"""Kafka Streams counts words exactly once at brokers of ours: it is killed, goes on, and is taken over.

Streams' own group protocol (KIP-1071) is not served: it assigns its tasks itself, in the classic protocol.
"""

from collections import Counter
from pathlib import Path

import pytest

from tests.real_clients.java import BROKERS, JAVA, STREAMS, begun, waits_for
from tests.real_clients.processes import Client, Process
from tests.real_clients.scenarios import Stage, commit, reader

WORDS = ("one", "two", "three", "four", "five")
LINES = 120
READ_MS = 60_000
SAYS_IT_RUNS = "state RUNNING"


def fills(client: Client, first: int) -> list[str]:
    """Lines of words in both partitions, in a transaction each, and lines that are aborted; the words that count."""
    words = []
    for partition in (0, 1):
        lines = [f"{WORDS[number % 5]} {WORDS[number % 3]}" for number in range(first, first + LINES, 2)]
        commit(client, "fills", *lines, topic="input", partition=partition)
        client.ask("begin", name="fills")
        client.ask("send", name="fills", topic="input", partition=partition, value="never")
        client.ask("abort", name="fills")
        words += " ".join(lines).split()
    return words


def application(stage: Stage, folder: Path, name: str) -> Process:
    """A process of the application, with a directory for its stores."""
    (folder / name).mkdir(exist_ok=True)
    return stage.ends.enter_context(begun(stage.client, STREAMS, folder, stage.broker.bootstrap, str(folder / name)))


def counts_each_once(found: list[str], words: list[str]) -> None:
    """Each word was counted from 1 on, one by one, as often as it came."""
    expected = Counter(words)
    told = [(word, int(count)) for word, _, count in (each.partition("=") for each in found)]
    for word, often in expected.items():
        assert [count for of, count in told if of == word] == list(range(1, often + 1)), word
    assert {word for word, _ in told} == set(expected)


def read_all(client: Client, count: int) -> list[str]:
    """So many records, in the order in which they are read, and no more."""
    found: list[str] = client.ask("read", name="r", count=count, within_ms=READ_MS, within_s=2 * READ_MS / 1000)
    return found + list(client.ask("read", name="r", count=1, within_ms=1_000))


@pytest.mark.slow
@pytest.mark.parametrize("client", JAVA, indirect=True)
@pytest.mark.parametrize("brokers", BROKERS)
def test_words_are_counted_once_by_an_application_that_is_killed(stage: Stage, tmp_path: Path, brokers: str) -> None:
    observer = stage.begin(BROKERS[brokers])
    observer.ask("producer", name="fills", id="id of the input")
    reader(observer, "r")
    words = fills(observer, 0)
    killed = application(stage, tmp_path, "state")
    waits_for(killed, SAYS_IT_RUNS)
    seen = observer.ask("read", name="r", count=50, within_ms=READ_MS)
    killed.kill()
    words += fills(observer, LINES)
    application(stage, tmp_path, "state")
    counts_each_once(seen + read_all(observer, len(words) - len(seen)), words)


@pytest.mark.slow
@pytest.mark.parametrize("client", JAVA, indirect=True)
def test_words_are_counted_once_when_another_process_takes_over(stage: Stage, tmp_path: Path) -> None:
    observer = stage.begin()
    observer.ask("producer", name="fills", id="id of the input")
    reader(observer, "r")
    words = fills(observer, 0)
    first = application(stage, tmp_path, "first")
    waits_for(first, SAYS_IT_RUNS)
    second = application(stage, tmp_path, "second")
    waits_for(second, SAYS_IT_RUNS)
    words += fills(observer, LINES)
    seen = observer.ask("read", name="r", count=len(words) // 2 + 20, within_ms=READ_MS)
    first.kill()
    words += fills(observer, 2 * LINES)
    counts_each_once(seen + read_all(observer, len(words) - len(seen)), words)


def test_a_word_that_is_counted_twice_or_not_at_all_is_found() -> None:
    for found in (["one=1", "one=2"], ["one=1", "one=1"], [], ["one=1", "two=1"]):
        with pytest.raises(AssertionError):
            counts_each_once(found, ["one"])
