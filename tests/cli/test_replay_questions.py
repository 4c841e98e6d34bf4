"""zombieproof replay --timeline, --open, --topic, --since, --until: what they say, and when they refuse."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from zombieproof.report.open_text import duration, show_open
from zombieproof.report.screen import Screen
from zombieproof.report.timeline_text import show_timeline
from zombieproof.traces.explaining.open.transactions import what_is_open
from zombieproof.traces.explaining.timeline.subject import subjects_called
from zombieproof.traces.explaining.timeline.timeline import timeline_of
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge

STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture
def recordings(repository_root: Path) -> Path:
    return repository_root / "tests" / "recordings"


@pytest.fixture
def lost(recordings: Path) -> Path:
    return recordings / "09-offline-partition-lost-commit"


# ---------------------------------------------------------------- --timeline


def test_a_timeline_is_told_in_lines_and_its_findings_where_they_belong(run: Any, lost: Path) -> None:
    outcome = run("replay", lost, "--timeline", "orders-1")
    assert (outcome.code, outcome.err) == (1, "")
    lines = outcome.out.splitlines()
    assert re.fullmatch(r"timeline of id orders-1: \d+ entries from \d+ sources; violates", lines[0])
    assert "clocks differ" in lines[1]
    entries = [line for line in lines[3:] if not line.startswith("    ← ")]
    assert all(STAMP.match(line) or line.startswith("no time ") for line in entries)
    marked = next(i for i, line in enumerate(lines) if line.startswith("    ← every_listed_partition_has_its_marker: "))
    assert " e-0 @2 " in lines[marked - 1]


def test_a_timeline_as_json_names_its_findings_by_number(run: Any, lost: Path) -> None:
    found = run("replay", lost, "--timeline", "partition e-0", "--json").json
    assert (found["subject"]["kind"], found["subject"]["name"], found["verdict"]) == ("partition", "e-0", "violates")
    [finding] = found["findings"]
    [marked] = [entry for entry in found["entries"] if entry["findings"] == [0]]
    assert (marked["topic"], marked["partition"], marked["offset"]) == ("e", 0, finding["offset"])
    assert (marked["kind"], marked["producer_id"], marked["utc"][-1]) == ("data", 1, "Z")
    assert set(found) >= {"order", "notes", "sources", "elsewhere", "entries_left_out", "narrowed"}


def test_times_are_told_in_the_zone_that_is_asked_for(run: Any, lost: Path) -> None:
    both = run("replay", lost, "--timeline", "e-0", "--times", "both").out.splitlines()[3]
    assert re.match(STAMP.pattern + r"  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d  ", both)
    here = run("replay", lost, "--timeline", "e-0", "--times", "local").out.splitlines()[3]
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d  ", here)


def test_the_exit_code_of_a_timeline_is_that_of_the_verdict(run: Any, recordings: Path) -> None:
    assert run("replay", recordings / "01-commit", "--timeline", "orders-1").code == 0
    assert run("replay", recordings / "23-truncated-segment", "--timeline", "orders-1").code == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--timeline", "order"), "nothing named 'order'; did you mean orders-1"),
        (("--timeline", "producer 99"), "did you mean producer"),
        (("--timeline", " "), "--timeline is empty"),
        (("--timeline", "orders-1", "--open"), "--timeline and --open: choose one"),
        (("--times", "local"), "--times local needs --timeline or --open"),
        (("--topic", "x"), "the files have no topic 'x'; there are: __transaction_state, d, e"),
        (("--topic", ""), "the files have no topic ''"),
        (("--since", "yesterday"), "--since 'yesterday' is not a valid time"),
        (("--until", "2026-13-01"), "--until '2026-13-01' is not a valid time"),
        (
            ("--since", "2062-11-21"),
            "nothing was recorded between --since and --until: the files cover 2026-11-21 13:55:10.",
        ),
        (("--until", "2026-11-20"), "nothing was recorded between --since and --until"),
        (("--since", "2026-11-22", "--until", "2026-11-21"), "is before --since"),
    ],
)
def test_a_wrong_question_is_refused_with_what_would_be_right(
    run: Any, lost: Path, arguments: tuple[str, ...], says: str
) -> None:
    outcome = run("replay", lost, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
    assert "Traceback" not in outcome.err


def test_a_name_of_two_things_is_refused_and_each_can_be_had(run: Any, lost: Path, tmp_path: Path) -> None:
    calls = tmp_path / "client.jsonl"
    calls.write_text(
        '{"t": 1, "client": "a", "action": "begin", "args": {"transactional_id": "e-0"}, "result": "ok"}\n'
    )
    outcome = run("replay", lost, calls, "--timeline", "e-0")
    assert outcome.code == 2
    assert "is ambiguous; give --timeline 'id e-0' or --timeline 'partition e-0'" in outcome.err
    assert "application a begin: ok" in run("replay", lost, calls, "--timeline", "id e-0").out
    assert "timeline of partition e-0" in run("replay", lost, calls, "--timeline", "partition e-0").out


@pytest.mark.parametrize(
    "arguments",
    [("--timeline", "x"), ("--open",), ("--topic", "t"), ("--since", "2026-01-01"), ("--until", "2026-01-01")],
)
def test_a_counterexample_has_no_such_questions(run: Any, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    trace = tmp_path / "story.jsonl"
    assert run("check", "leaderless_partition", "--without", "marker_waits_for_leader", "-o", trace).code == 1
    outcome = run("replay", trace, *arguments)
    assert outcome.code == 2
    assert f"{arguments[0]} is for recordings" in outcome.err


# ---------------------------------------------------------------- --open


def test_what_is_open_is_told_with_what_it_holds_back(run: Any, recordings: Path) -> None:
    outcome = run("replay", recordings / "10-hanging", "--open")
    assert (outcome.code, outcome.err) == (1, "")
    lines = outcome.out.splitlines()
    assert lines[0].startswith("open as of 2026-11-21 13:25:46.951Z")
    assert lines[2] == "t-0: last stable offset 4 of 7, held back for 20 min 0 s; 2 records wait behind it"
    assert "nobody will end it" in lines[4]
    assert lines[5].endswith("abort --topic t --partition 0 --start-offset 4")


def test_what_is_open_as_json(run: Any, recordings: Path) -> None:
    found = run("replay", recordings / "10-hanging", "--open", "--json").json
    of_logs = {"verdict", "as_of_ms", "partitions", "transactions", "narrowed", "not_judged", "damage"}
    assert set(found) == of_logs | {"stated", "stated_transactions", "sources", "unread", "undecided", "not_known"}
    assert [found[name] for name in ("stated", "stated_transactions", "sources", "unread")] == [[], [], [], []]
    [held] = found["partitions"]
    assert (held["last_stable_offset"], held["transactions"][0]["ended_by"]) == (4, "nobody")


def test_nothing_open_says_so(run: Any, recordings: Path) -> None:
    outcome = run("replay", recordings / "01-commit", "--open")
    assert outcome.code == 0
    assert outcome.out.startswith("nothing is open as of ")
    assert outcome.out.rstrip().endswith("; conforms")


def test_an_abort_that_would_lose_what_was_committed_is_not_proposed(made_open: str) -> None:
    assert "it was decided to commit it" in made_open
    assert "would lose its records: save them first" in made_open
    assert "to end it:" not in made_open


@pytest.fixture
def made_open(lost: Path) -> str:
    """What is open on e-0 before the next transaction came: its commit marker is forgotten."""
    evidence = collect([lost / "segments"])
    for log in evidence.logs:
        if log.topic in {"d", "e"}:
            log.batches = [batch for batch in log.batches if batch.base_offset < (4 if log.topic == "d" else 3)]
            log.end_offset = log.batches[-1].last_offset + 1
        else:
            log.batches = [batch for batch in log.batches if batch.base_offset <= 9]
            log.end_offset = 10
    evidence.transaction_states = [record for record in evidence.transaction_states if record.offset <= 9]
    stream = io.StringIO()
    show_open(Screen(stream, plain=True), what_is_open(judge(evidence)))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s 0 ms"),
        (61_500, "1 min 1 s"),
        (3 * 3_600_000, "3 h 0 min"),
        (90_000_000, "1 d 1 h"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_units(ms: int, words: str) -> None:
    assert duration(ms) == words


# ---------------------------------------------------------------- narrowing


def test_a_topic_is_read_alone_and_that_is_said(run: Any, lost: Path) -> None:
    outcome = run("replay", lost, "--topic", "d")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[:3] == ["conforms", "narrowed to topics d", "  topics not read: e"]
    assert any("files, of a topic that was not asked for (" in line for line in lines)
    assert not any(line.startswith("e-0") for line in lines)
    found = run("replay", lost, "--topic", "d", "--topic", "__*", "--json").json
    assert (found["narrowed"]["topics"], found["narrowed"]["left_out"]) == (["d", "__*"], ["e"])
    assert set(found["lso"]) == {"d-0"}


def test_a_window_says_how_much_it_leaves_out(run: Any, lost: Path) -> None:
    outcome = run("replay", lost, "--until", "2026-11-21T13:55:13Z")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[:3] == [
        "conforms",
        "narrowed up to 2026-11-21 13:55:13.000Z",
        "  outside the window: 1 finding, 2 transactions",
    ]
    assert run("replay", lost, "--since", "2026-11-21T13:55:58Z").code == 1
    found = run("replay", lost, "--json").json
    assert found["narrowed"] is None


@pytest.mark.parametrize(
    "text",
    ["2026-11-21T13:55:14Z", "2026-11-21 13:55:14", "2026-11-21T14:55:14+01:00", "20261121T135514Z", "1795269314000"],
)
def test_a_time_is_read_in_the_forms_that_are_printed(run: Any, lost: Path, text: str) -> None:
    found = run("replay", lost, "--since", text, "--json").json
    assert found["narrowed"]["since_ms"] == 1795269314000


def test_a_time_that_was_printed_can_be_given(run: Any, lost: Path) -> None:
    entries = run("replay", lost, "--timeline", "e-0", "--json").json["entries"]
    stamp = entries[9]["utc"]
    shown = run("replay", lost, "--timeline", "e-0", "--since", stamp, "--until", stamp, "--json").json
    assert [entry["utc"] for entry in shown["entries"] if entry["utc"]] == [stamp]
    assert shown["entries_left_out"] == len(entries) - len(shown["entries"])


# ---------------------------------------------------------------- at a terminal


@pytest.mark.parametrize("width", [80, 120])
def test_everything_fits_the_terminal(recordings: Path, width: int) -> None:
    for name in ("09-offline-partition-lost-commit", "10-hanging"):
        judged = judge(collect([recordings / name]))
        stream = io.StringIO()
        screen = Screen(stream, console=Console(file=stream, force_terminal=True, width=width, highlight=False))
        [subject] = subjects_called("orders-1", judged)
        show_timeline(screen, timeline_of(subject, judged), "both")
        show_open(screen, what_is_open(judged), "both")
        written = stream.getvalue()
        lines = re.sub(r"\x1b\[[0-9;]*m", "", written).splitlines()
        assert len(lines) > 20
        assert max(map(len, lines)) <= width
