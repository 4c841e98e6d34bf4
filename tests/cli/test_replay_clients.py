"""zombieproof replay of clients' logs, alone and with other evidence."""

from pathlib import Path
from typing import Any

import pytest

LOG = """\
%7|1764320400.000|CONF|rdkafka#producer-2| [thrd:app]:   transaction.timeout.ms = 60000
%7|1764320400.000|GETPID|rdkafka#producer-2| [thrd:main]: Acquired PID{Id:7,Epoch:2}
%7|1764320400.000|TXNSTATE|rdkafka#producer-2| [thrd:main]: Transaction state change Ready -> InTransaction
%1|1764320468.000|TXNERR|rdkafka#producer-2| [thrd:main]: Fatal transaction error: Failed to end transaction: fenced \
(_FENCED)
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "client.log"
    file.write_text(LOG)
    return file


def test_a_clients_log_alone_is_not_judged_and_says_what_it_has(run: Any, log: Path) -> None:
    outcome = run("replay", log)
    assert outcome.code == 3
    said = " ".join(outcome.out.split())
    assert "nothing could be judged" in said
    assert "rdkafka#producer-2 (librdkafka, client.log), producer 7:2" in said
    assert "fatal PRODUCER_FENCED at 2025-11-28 09:01:08.000Z (line 4): Failed to end transaction: fenced" in said
    assert "aborted by timeout after 68 s (limit 60 s)" in said
    assert "what to do: close the producer, and go on with a new one from what is committed" in said
    assert "PRODUCER_FENCED: a newer instance took the transactional id, or the transaction timed out" in said
    assert "collect next: the logs of every instance" in said


def test_a_clients_log_alone_is_the_same_as_json_and_as_markdown(run: Any, log: Path) -> None:
    (client,) = run("replay", log, "--json").json["clients"]
    assert (client["client"], client["producers"]) == ("rdkafka#producer-2", ["7:2"])
    (error,) = client["errors"]
    assert (error["code"], error["open_ms"], error["timed_out"]) == ("PRODUCER_FENCED", 68000, True)
    said = run("replay", log, "--format", "markdown").out
    assert "## What clients say" in said
    assert "aborted by timeout after 68 s" in said


def test_a_client_without_errors_is_named_only_where_it_is_all_there_is(
    run: Any, tmp_path: Path, repository_root: Path
) -> None:
    file = tmp_path / "client.log"
    file.write_text(LOG[: LOG.index("%1|")])
    assert "rdkafka#producer-2" in run("replay", file).out
    beside = run("replay", file, repository_root / "tests" / "recordings" / "09-offline-partition-lost-commit")
    assert "clients say" not in beside.out


def test_a_fatal_error_of_a_client_is_told_beside_other_evidence(run: Any, log: Path, repository_root: Path) -> None:
    beside = run("replay", log, repository_root / "tests" / "recordings" / "09-offline-partition-lost-commit")
    assert "fatal PRODUCER_FENCED at" in beside.out


def test_the_timeline_of_a_client_can_be_asked_for_by_its_name(run: Any, log: Path) -> None:
    outcome = run("replay", log, "--timeline", "rdkafka#producer-2")
    assert outcome.code == 3
    assert outcome.out.startswith("timeline of client rdkafka#producer-2: 3 entries from 1 source;")


def test_a_name_that_is_unknown_is_answered_with_the_clients_that_are_there(run: Any, log: Path) -> None:
    outcome = run("replay", log, "--timeline", "nobody")
    assert outcome.code == 2
    assert "client rdkafka#producer-2" in outcome.err
    many = "".join(LOG.replace("producer-2", f"producer-{number}") for number in range(20))
    log.write_text(many)
    assert "and 12 more" in run("replay", log, "--timeline", "nobody").err
