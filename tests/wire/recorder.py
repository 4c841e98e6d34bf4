"""``python -m tests.wire.recorder HOST:PORT`` asks a real Kafka what `questions_admin` has, and keeps its answers.

Needed: a fresh broker with one node, as the tool starts it. Kafka's eligible leader replicas are switched off first,
so that its settings of topics are those of every release: ``FeatureCommand --bootstrap-server HOST:PORT downgrade
--feature eligible.leader.replicas.version=0``, and the setting that they leave goes (``ConfigCommand ...``).
"""

import gzip
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.wire.questions_admin import Question, questions
from tests.wire.raw import Asked, Socket, ask
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.faults import Malformed

FILE = Path(__file__).with_name("answers_admin.json.gz")
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
MOMENT_S = 0.15
"""After so long every part of a broker knows of a topic that was made."""


def answers_of(asked: Asked, pause_s: float = 0.0) -> Iterator[tuple[Question, Any]]:
    """Every question with what it is answered with; rows in an order of their own, ids by whose they are."""
    for question in questions():
        try:
            told = normal(ask(asked, question.api, question.version, question.values))
        except (ConnectionError, TimeoutError, Malformed) as error:
            told = SILENT if isinstance(error, TimeoutError) else CLOSED
            asked = asked.again()
        yield question, told
        if question.api in CHANGES:
            time.sleep(pause_s)


def normal(value: Any, name: str = "") -> Any:
    """An answer in which nothing depends on chance: neither ids and ports, nor the order of rows."""
    if isinstance(value, dict):
        return {key: normal(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return sorted((normal(each, name) for each in value), key=lambda each: json.dumps(each, sort_keys=True))
    if name == "topic_id" and value is not None:
        return str(UUID(int=0)) if value == str(UUID(int=0)) else "an id"
    return f"a {name}" if name in BY_CHANCE and value not in (None, -1) else value


def recorded() -> list[list[Any]]:
    """[api, version, answer] of each question, in order."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        found: list[list[Any]] = json.load(file)
    return found


def _prepare(asked: Asked) -> None:
    """The internal topics are there."""
    for key_type in (0, 1):
        values = {"key": "any", "key_type": key_type}
        while ask(asked, ApiKey.FIND_COORDINATOR, 3, values)["error_code"] != Error.NONE:
            time.sleep(MOMENT_S)


if __name__ == "__main__":
    host, _, port = sys.argv[1].partition(":")
    broker = Socket(host, int(port))
    _prepare(broker)
    found = [[each.api.name, each.version, answer] for each, answer in answers_of(broker, MOMENT_S)]
    with gzip.GzipFile(FILE, "wb", mtime=0) as out:
        out.write(json.dumps(found, separators=(",", ":")).encode())
    sys.stdout.write(f"{len(found)} answers in {FILE.name}, {FILE.stat().st_size:,} bytes\n")
