"""``python -m tests.wire.recorder_rights HOST:PORT`` asks a real Kafka `questions_rights`, and keeps its answers.

Needed: a fresh broker of 4.3.1 with one node, StandardAuthorizer, root for a super user, and a listener with SASL/PLAIN
where every user of `USERS` has his name for a password.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.wire.questions_rights import RIGHTS, TOPIC, USERS, Question, questions
from tests.wire.raw import Asked, Socket, answer_values, ask, request_bytes
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import DENIED
from zombieproof.wire.faults import Malformed

FILE = Path(__file__).with_name("answers_rights_4.3.1.json")
CLOSED = "the connection was closed"
BY_CHANCE = frozenset({"port", "host", "cluster_id", "topic_id", "correlation_id", "throttle_time"})
MOMENT_S = 2.0
PUBLISHED_S = 0.15
"""By then a broker has what its controller has answered."""


def logged_in(asked: Asked, user: str) -> Asked:
    """A connection on which a user has logged in by PLAIN."""
    for api, version, values in (
        (ApiKey.SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"}),
        (ApiKey.SASL_AUTHENTICATE, 2, {"auth_bytes": f"\0{user}\0{user}".encode()}),
    ):
        told = answer_values(api, version, asked(request_bytes(api, version, values)))
        assert told["error_code"] == 0, told
    return asked


def answers_of(connect: Callable[[], Socket]) -> Iterator[tuple[Question, Any]]:
    """Every question with its answer, each on a connection of its own."""
    for question in questions():
        connection = connect()
        try:
            asked = logged_in(connection, question.user)
            told = normal(ask(asked, question.api, question.version, question.values))
        except (ConnectionError, Malformed):
            told = CLOSED
        finally:
            connection.close()
        yield question, told


def normal(told: Any) -> Any:
    """An answer without what is another broker's; Kafka's message that tells the whole request is the general one."""
    if isinstance(told, dict):
        return {name: normal(value) for name, value in told.items() if name not in BY_CHANCE}
    if isinstance(told, list):
        return sorted((normal(each) for each in told if not _is_internal(each)), key=json.dumps)
    if isinstance(told, str) and told.startswith("Request Request("):
        return DENIED
    return told


def _is_internal(row: Any) -> bool:
    """Whether it is one of Kafka's own topics, which are made when they are needed."""
    return isinstance(row, dict) and bool(row.get("is_internal"))


def as_row(question: Question, told: Any) -> dict[str, Any]:
    """A question with its answer, as it is kept."""
    return {"user": question.user, "api": question.api.name, "version": question.version, "answer": told}


def _prepare(root: Asked) -> None:
    topic = {"name": TOPIC, "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
    ask(root, ApiKey.CREATE_TOPICS, 5, {"topics": [topic], "timeout": 5000})
    rows = [
        {
            "resource_type": int(each.resource),
            "resource_name": each.name,
            "resource_pattern_type": int(each.pattern),
            "principal": each.principal,
            "host": each.host,
            "operation": int(each.operation),
            "permission_type": int(each.permission),
        }
        for each in RIGHTS
    ]
    ask(root, ApiKey.CREATE_ACLS, 3, {"creations": rows})
    while ask(root, ApiKey.FIND_COORDINATOR, 3, {"key": "g", "key_type": 0})["error_code"]:
        time.sleep(MOMENT_S)
    time.sleep(MOMENT_S)


def main(at: str) -> None:
    """Ask and keep."""
    host, port = at.split(":")
    _prepare(logged_in(Socket(host, int(port)), USERS[-1]))

    def connect() -> Socket:
        time.sleep(PUBLISHED_S)
        return Socket(host, int(port))

    rows = [as_row(*each) for each in answers_of(connect)]
    FILE.write_text("[\n" + ",\n".join(json.dumps(row, sort_keys=True) for row in rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
