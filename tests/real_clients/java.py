"""Programs of Kafka's own in a JVM of their own, tools and Streams: of the jars that came with a Java client."""

from pathlib import Path

from tests.real_clients.install import program
from tests.real_clients.processes import PATIENCE_S, Process

JAVA = ("java", "java-3.9")
"""The clients of `install` with which Kafka's programs are run: a release each."""

BROKERS = {
    "tv2": ("--transaction-version", "2"),
    "tv1": ("--transaction-version", "1"),
    "tv0": ("--transaction-version", "0"),
    "release 3.9": ("--release", "3.9"),
    "three": ("--brokers", "3"),
}
"""What brokers are: the name is part of a test's."""

STREAMS = "zombieproof.clients.WordCount"
COPIER = "org.apache.kafka.tools.TransactionalMessageCopier"


def command_of(client: str, class_name: str, *arguments: str) -> list[str]:
    """What starts a class of the jars of a Java client."""
    return [*program(client)[:-1], class_name, *arguments]


def begun(client: str, class_name: str, folder: Path, *arguments: str) -> Process:
    """The program, begun; its block ends it."""
    return Process(command_of(client, class_name, *arguments), folder / f"{class_name.rpartition('.')[2]}.log")


def waits_for(process: Process, word: str, times: int = 1) -> None:
    """Until it has said a word in so many lines.

    Raises:
        AssertionError: it ended before, or was silent for too long.
    """
    while times:
        times -= word in process.line(PATIENCE_S)
