"""What Kafka's tools print, asked in a row at brokers of ours and at a real Kafka, whose words are kept.

`python -m tests.real_clients.java_tools HOST:PORT` asks a real Kafka 4.3.1 that nobody has asked before (loopback,
automatic topics of two partitions) and writes `tests/real_clients/tools_of_kafka.json`.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.real_clients.java import command_of
from tests.real_clients.processes import PATIENCE_S, Client
from tests.real_clients.scenarios import commit

KEPT = Path(__file__).with_name("tools_of_kafka.json")
CLIENT = "java"

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"

OF_OUTPUT = ("--topic", "output", "--partition", "0")
RESET = ("--reset-offsets", "--topic", "output", "--group")

QUESTIONS: Mapping[str, Sequence[str]] = {
    "transactions": (TRANSACTIONS, "list"),
    "an open transaction": (TRANSACTIONS, "describe", "--transactional-id", "open"),
    "an ended transaction": (TRANSACTIONS, "describe", "--transactional-id", "done"),
    "a transactional id that nobody has": (TRANSACTIONS, "describe", "--transactional-id", "nobody"),
    "producers of a partition": (TRANSACTIONS, "describe-producers", *OF_OUTPUT),
    "no hanging transaction": (TRANSACTIONS, "find-hanging", "--topic", "output", "--max-transaction-timeout", "0"),
    "a group that is made by its offsets": (GROUPS, *RESET, "made", "--to-earliest", "--execute"),
    "groups": (GROUPS, "--list"),
    "groups by state": (GROUPS, "--list", "--state"),
    "offsets of a group without members": (GROUPS, "--describe", "--group", "made"),
    "offsets of a group with a member": (GROUPS, "--describe", "--group", "members"),
    "members of a group": (GROUPS, "--describe", "--group", "members", "--members", "--verbose"),
    "state of a group": (GROUPS, "--describe", "--group", "members", "--state"),
    "state of a group without members": (GROUPS, "--describe", "--group", "made", "--state"),
    "offsets that a member holds": (GROUPS, *RESET, "members", "--to-earliest", "--execute"),
    "offsets that go to the end": (GROUPS, *RESET, "made", "--to-latest", "--execute"),
    "offsets of a topic go": (GROUPS, "--delete-offsets", "--group", "made", "--topic", "output"),
    "a group with a member stays": (GROUPS, "--delete", "--group", "members"),
    "a group goes": (GROUPS, "--delete", "--group", "made"),
    "a group that is gone": (GROUPS, "--describe", "--group", "made"),
    "a transaction is aborted": (TRANSACTIONS, "abort", *OF_OUTPUT, "--start-offset", "2"),
    "a transaction is ended by its id": (TRANSACTIONS, "forceTerminateTransaction", "--transactionalId", "other"),
    "transactions after that": (TRANSACTIONS, "list"),
    "producers after that": (TRANSACTIONS, "describe-producers", *OF_OUTPUT),
}
"""What is asked, one after the other: the class of the tool, and its arguments."""

VOLATILE = frozenset(
    {
        *("Coordinator", "CoordinatorId", "ProducerId", "CurrentTransactionStartTimeMs", "TransactionDurationMs"),
        *("LastTimestamp", "CONSUMER-ID", "HOST", "COORDINATOR"),
    }
)
"""Columns of which each run says something else."""

SAME = (
    (re.compile(r"127\.0\.0\.1:\d+\s+\(\d+\)"), "BROKER"),
    (re.compile(r"[\w-]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "MEMBER"),
    (re.compile(r"127\.0\.0\.1:\d+"), "BROKER"),
)
"""What each run says otherwise outside of columns, and the word for it."""


def scene(client: Client) -> None:
    """A transaction that has ended, two that are open, and a member that has read."""
    client.ask("producer", name="done", id="done")
    commit(client, "done", "committed")
    for name, partition in (("open", 0), ("other", 1)):
        client.ask("producer", name=name, id=name)
        client.ask("begin", name=name)
        client.ask("send", name=name, topic="output", partition=partition, value=name)
    client.ask("reader", name="r", group="members", topic="output", isolation="read_committed")
    assert client.ask("read", name="r", count=1, within_ms=30_000) == ["committed"]


def asked(bootstrap: str, client: Client) -> dict[str, list[str]]:
    """What is answered to each question, while a member goes on reading."""
    answers = {}
    for name, question in QUESTIONS.items():
        client.ask("read", name="r", count=1, within_ms=300)
        answers[name] = told(bootstrap, question)
    return answers


def told(bootstrap: str, question: Sequence[str]) -> list[str]:
    """What a tool prints, in words that each run has in common."""
    tool, *words = question
    command = command_of(CLIENT, tool, "--bootstrap-server", bootstrap, *words)
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    printed = [line for line in done.stdout.splitlines() if line.strip()]
    errors = [line for line in done.stderr.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return [f"exit {done.returncode}", *in_common(printed), *(f"error: {line}" for line in in_common(errors))]


def in_common(lines: Iterable[str]) -> list[str]:
    """Lines in which what each run says otherwise is the same, rows of a table in one order."""
    found: list[str] = []
    header: list[str] = []
    for line in lines:
        said = line
        for pattern, word in SAME:
            said = pattern.sub(word, said)
        words = said.split()
        if VOLATILE & set(words) or not header:
            header = words if VOLATILE & set(words) else []
        elif len(header) - 1 <= len(words) <= len(header):  # The last column of a row may be empty.
            words = ["*" if column in VOLATILE else word for column, word in zip(header, words, strict=False)]
        found.append(" ".join(words))
    return found[:1] + sorted(found[1:])


def main(words: Sequence[str]) -> int:
    """Ask a real Kafka, and keep what it says."""
    (bootstrap,) = words
    with tempfile.TemporaryDirectory() as folder, Client(CLIENT, bootstrap, Path(folder)) as client:
        scene(client)
        kept = asked(bootstrap, client)
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
