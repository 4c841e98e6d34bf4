"""A long replay shows how far it is on a terminal; an interrupted one says what it had done."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

from zombieproof.cli.replay_watching import Following, shortened
from zombieproof.report.so_far import SoFar, amount
from zombieproof.traces import replay as replaying
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge
from zombieproof.traces.watching import Meter, Stage, Watch

CLIENT_LINES = 400_000


@pytest.fixture
def recordings(repository_root: Path) -> Path:
    return repository_root / "tests" / "recordings"


class Counting(Watch):
    def __init__(self) -> None:
        self.totals: list[tuple[Stage, int, int]] = []
        self.done = 0
        self.read: list[str] = []
        self.judged: list[str] = []

    def begins(self, stage: Stage, total: int, names: Any) -> None:
        self.totals.append((stage, total, len(names)))
        self.done = 0

    def advances(self, count: int) -> None:
        assert count > 0
        self.done += count

    def has_read(self, file: str) -> None:
        self.read.append(file)

    def has_judged(self, name: str, faults: Any) -> None:
        self.judged.append(name)


@pytest.mark.parametrize("name", ["01-commit", "09-offline-partition-lost-commit", "23-truncated-segment"])
def test_all_bytes_and_all_events_are_counted_once(recordings: Path, name: str) -> None:
    watch = Counting()
    files = [path for path in (recordings / name).rglob("*") if path.is_file()]
    evidence = collect([recordings / name], watch=watch)
    assert watch.totals == [(Stage.READING, sum(path.stat().st_size for path in files), len(files))]
    assert (watch.done, sorted(watch.read)) == (watch.totals[0][1], sorted(map(str, files)))
    judge(evidence, watch=watch)
    assert (watch.totals[1][0], watch.done) == (Stage.JUDGING, watch.totals[1][1])
    assert len(watch.judged) == watch.totals[1][2]


def test_a_large_file_is_told_of_while_it_is_read(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    line = "[2026-11-21 13:19:48,339] DEBUG TransactionalId orders-1 prepare transition from EMPTY to ONGOING\n"
    log.write_text(line * 40_000)
    seen: list[int] = []

    class Listening(Counting):
        def advances(self, count: int) -> None:
            super().advances(count)
            seen.append(self.done)

    collect([log], watch=Listening())
    assert len(seen) >= 6
    assert seen[-1] == log.stat().st_size


def test_a_packed_file_is_counted_as_it_lies_there() -> None:
    watch = Counting()
    meter = Meter(watch, 10)
    meter.length = 1_000
    for position in (100, 100, 50, 990, 1_000):
        meter.reached(position)
    assert watch.done == 10


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("reading a", "reading a"),
        ("reading /var/lib/kafka/orders-0/00000000000000000000.log", "reading …0000000000000.log"),
    ],
)
def test_a_name_keeps_its_end(text: str, shown: str) -> None:
    assert shortened(text, 26) == shown


def test_amounts_are_told_in_the_unit_that_fits() -> None:
    told = [amount(Stage.READING, count) for count in (0, 999, 1_500, 2_000_000, 3_210_000_000)]
    assert told == ["0 B", "999 B", "1.5 kB", "2.0 MB", "3.2 GB"]
    assert amount(Stage.JUDGING, 1_234_567) == "1,234,567"


# ---------------------------------------------------------------- interrupted


def test_an_interruption_while_judging_says_what_was_found(run: Any, recordings: Path, monkeypatch: Any) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(replaying, "find", interrupted)
    outcome = run("replay", recordings / "30-tampered-abort-marker-removed")
    assert (outcome.code, outcome.err) == (130, "")
    lines = outcome.out.splitlines()
    assert lines[0].startswith("interrupted while judging, behind ")
    assert lines[0].endswith(": there is no verdict")
    assert re.fullmatch(r"files read: (\d+) of \1", lines[1])
    assert "  judged: id orders-1, partition t-0, partition t-1" in lines
    assert "no finding so far" in lines
    found = run("replay", recordings / "30-tampered-abort-marker-removed", "--json")
    assert found.code == 130
    assert (found.json["interrupted"], found.json["stage"]) == (True, "judging")
    assert found.json["judged"] == found.json["to_judge"]
    assert found.json["findings"] == []


def test_what_was_found_before_an_interruption_is_told(run: Any, recordings: Path, monkeypatch: Any) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(replaying, "find", interrupted)
    lost = recordings / "09-offline-partition-lost-commit"
    outcome = run("replay", lost)
    assert outcome.code == 130
    assert "findings so far, which what is not judged yet may explain:" in outcome.out
    assert "  a_new_epoch_begins_behind_a_marker" in outcome.out.splitlines()
    assert [finding["promise"] for finding in run("replay", lost, "--json").json["findings"]] == [
        "a_new_epoch_begins_behind_a_marker"
    ]


def test_what_is_left_is_told_too(capsys: pytest.CaptureFixture[str]) -> None:
    following = Following()
    following.begins(Stage.READING, 10, ["a", "b"])
    following.advances(4)
    following.has_read("a")
    assert following.so_far == SoFar(stage=Stage.READING, done=4, total=10, files=["a", "b"], read=["a"])
    assert capsys.readouterr().err == ""


@pytest.fixture
def long_evidence(tmp_path: Path, recordings: Path) -> Path:
    """Takes seconds to read and to judge: one application that began very often."""
    line = '{"t": 1, "client": "app", "action": "begin", "args": {"transactional_id": "orders-1"}, "result": "ok"}\n'
    (tmp_path / "client.jsonl").write_text(line * CLIENT_LINES)
    (tmp_path / "a-recording").symlink_to(recordings / "01-commit")
    return tmp_path


def test_ctrl_c_is_exit_code_130_and_says_what_was_read(long_evidence: Path, recordings: Path) -> None:
    """On a terminal of 80 columns, so that the bar says when the file is being read."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    # Whoever starts the tests in the background has it ignored, and children inherit that.
    hears = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [sys.executable, "-c", f"{hears}from zombieproof.cli import main; sys.exit(main())", "replay", "--json"]
    command += [str(recordings / "01-commit"), str(long_evidence / "client.jsonl")]
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    environment["TERM"] = "xterm"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment) as process:
        os.close(theirs)
        shown = ""
        while not re.search(r"client\.jsonl.*MB/s", shown):
            shown += os.read(ours, 65536).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        try:
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    os.close(ours)
    assert process.returncode == 130
    found = json.loads(out)
    assert (found["interrupted"], found["stage"], found["judged"]) == (True, "reading", [])
    assert 0 < found["done"] < found["total"]
    assert set(found["files"]) - set(found["read"]) == {str(long_evidence / "client.jsonl")}
    frames = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))
    assert max(map(len, frames)) <= 80
    assert any(re.match(r"reading .*client\.jsonl .* +\d+% .*MB/s (\d\d:\d\d|--:--)", frame) for frame in frames)


def test_in_a_pipe_nothing_is_shown(run: Any, recordings: Path) -> None:
    assert run("replay", recordings / "01-commit").err == ""
