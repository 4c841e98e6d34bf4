"""``python -m tests.wire.recorder_admin RELEASE HOST:PORT`` asks a real Kafka `questions_admin`, and keeps its answers.

Of 3.9.1 only what is asked of topics is kept, without their settings, of which it has others.
Needed: a fresh broker with one node, as the tool starts it. Kafka's eligible leader replicas are switched off first
(4.1 and later), so that its settings of topics are those of every release: ``FeatureCommand --bootstrap-server
HOST:PORT downgrade --feature eligible.leader.replicas.version=0``, and the setting that they leave goes
(``ConfigCommand ... --alter --entity-type brokers --entity-default --delete-config min.insync.replicas``).
"""

import gzip
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.wire.questions_admin import Question, questions, questions_of_old
from tests.wire.raw import Asked, Socket, ask
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.faults import Malformed

FOLDER = Path(__file__).parent
NEWEST, OLD = "4.3.1", "3.9.1"
QUESTIONS = {NEWEST: questions, OLD: questions_of_old}
CHANGES = (
    ApiKey.CREATE_TOPICS,
    ApiKey.METADATA,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
)
BY_CHANCE = (
    "port",
    "log_dir",
    "total_bytes",
    "usable_bytes",
    "high_watermark",
    "log_end_offset",
    "last_fetch_timestamp",
    "last_caught_up_timestamp",
)
"""Fields whose values are another broker's, or another day's."""
CLOSED, SILENT = "the connection was closed", "nothing was answered"
MOMENT_S = 0.3
"""After so long every part of a broker knows of a topic that was made."""


def file_of(release: str) -> Path:
    """Where the answers of a release are."""
    return FOLDER / f"answers_admin_{release}.json.gz"


def answers_of(asked: Asked, release: str, pause_s: float = 0.0) -> Iterator[tuple[Question, Any]]:
    """Every question with what it is answered with; rows in an order of their own, ids by whose they are."""
    for question in QUESTIONS[release]():
        try:
            told = normal(ask(asked, question.api, question.version, question.values))
        except (ConnectionError, TimeoutError, Malformed) as error:
            told = SILENT if isinstance(error, TimeoutError) else CLOSED
            asked = asked.again()
        yield question, told if release == NEWEST else without_settings(told)
        if question.api in CHANGES:
            time.sleep(pause_s)


def without_settings(value: Any) -> Any:
    """An answer that does not tell what settings a topic has."""
    if isinstance(value, dict):
        return {key: without_settings(each) for key, each in value.items() if key != "configs"}
    return [without_settings(each) for each in value] if isinstance(value, list) else value


def normal(value: Any, name: str = "") -> Any:
    """An answer in which nothing depends on chance: neither ids and ports, nor the order of rows."""
    if isinstance(value, dict):
        return {key: normal(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return sorted((normal(each, name) for each in value), key=lambda each: json.dumps(each, sort_keys=True))
    if name == "topic_id" and value is not None:
        return str(UUID(int=0)) if value == str(UUID(int=0)) else "an id"
    return f"a {name}" if name in BY_CHANCE and value not in (None, -1) else value


def recorded(release: str) -> list[list[Any]]:
    """[api, version, answer] of each question, in order."""
    with gzip.open(file_of(release), "rt", encoding="utf-8") as file:
        found: list[list[Any]] = json.load(file)
    return found


def _prepare(asked: Asked) -> None:
    """The internal topics are there."""
    for key_type in (0, 1):
        values = {"key": "any", "key_type": key_type}
        while ask(asked, ApiKey.FIND_COORDINATOR, 3, values)["error_code"] != Error.NONE:
            time.sleep(MOMENT_S)


if __name__ == "__main__":
    release, (host, _, port) = sys.argv[1], sys.argv[2].partition(":")
    file = file_of(release)
    broker = Socket(host, int(port))
    _prepare(broker)
    found = [[each.api.name, each.version, answer] for each, answer in answers_of(broker, release, MOMENT_S)]
    with gzip.GzipFile(file, "wb", mtime=0) as out:
        out.write(json.dumps(found, separators=(",", ":")).encode())
    sys.stdout.write(f"{len(found)} answers in {file.name}, {file.stat().st_size:,} bytes\n")
