"""`python -m tests.jvm.kafka_node -- COMMAND ...`: run a command at a real Apache Kafka, one node on loopback.

The node is started in a folder that is removed afterwards; COMMAND is given `--bootstrap HOST:PORT` behind its own
words. Java 17 is needed, and Maven, which gets Kafka's jars once (4.3.1, `benchmarks/kafka/pom.xml`).

Exit codes: those of COMMAND; 2 wrong usage; 3 nothing was run, because no Kafka can be started here: it says why.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.wire_brokers import HEAP, KafkaJars, NotHere, kafka
from tests.jvm.java import NoJava, java

NOTHING_RAN = 3
SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
"""Few partitions, which are there at once; a transaction that has timed out is aborted soon."""

QUICK = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class NoKafka(Exception):
    """No Kafka can be started here; the text says why, and what to do."""


@contextmanager
def node(
    folder: Path,
    release: str | None = None,
    options: Sequence[str] = (HEAP,),
    more: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """A node until the end of the block, by its address; `folder` is empty, and holds its log afterwards.

    `options` are of its JVM: `QUICK` begins sooner, and is slow when there is much to do. `more` are settings.

    Raises:
        NoKafka: Java, Maven or the jars are not there, or it did not start.
    """
    try:
        java()
        standing = kafka(
            KafkaJars(release=release), syncs=False, more={**SETTINGS, **(more or {})}, options=options
        ).start(folder)
        begun = standing.__enter__()
    except NoJava as error:
        raise NoKafka(str(error)) from error
    except NotHere as error:
        raise NoKafka(
            f"a real Kafka: {error}; Java 17 is needed, and Maven to get the jars (Debian and Ubuntu: apt-get install "
            "openjdk-17-jre-headless maven); brokers of ours need neither"
        ) from error
    try:
        yield begun.address
    finally:
        standing.__exit__(None, None, None)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command."""
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.jvm.kafka_node", description=about)
    parser.add_argument("--release", help="of Kafka (4.3.1)")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="what is run, behind --")
    asked = parser.parse_args(words)
    try:
        with tempfile.TemporaryDirectory() as folder, node(Path(folder), asked.release) as address:
            return subprocess.run([*asked.command, "--bootstrap", address], check=False).returncode
    except NoKafka as error:
        print(error, file=sys.stderr)  # noqa: T201  # a command of its own
        return NOTHING_RAN


if __name__ == "__main__":
    sys.exit(main())
