"""Recordings in whatever form people hand them in are judged as the plain files are."""

import json
import random
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.traces.wrapping import PREFIXES, Wrapping, chosen, each, wrapped
from zombieproof.traces.evidence import Unit
from zombieproof.traces.readers import collect as collecting
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.forms import Plain, plain_parts
from zombieproof.traces.readers.lines import ELSEWHERE
from zombieproof.traces.replay import replay

OURS = Path(__file__).parents[1] / "recordings"
SHARED = Path(__file__).parents[3] / "shared" / "traces"
KINDS = ("*/dump/*.txt", "*/server*.log", "*/client*.log", "*/client.jsonl")
LARGEST = 200_000

Told = dict[str, object]


def texts_in(folder: Path) -> list[Path]:
    found = sorted(path for kind in KINDS for path in folder.glob(kind))
    return [path for path in found if path.stat().st_size < LARGEST]


FILES = texts_in(OURS) + (texts_in(SHARED) if SHARED.is_dir() else [])


def told(file: Path, above: int = 0) -> Told:
    """What a report says, but for how the text is written; lines are counted without those `above` the first one."""
    report = replay([file])
    judged = report.judged.model_dump(exclude={"written_in"})
    for read in judged["lines"]:
        for unused in read["unused"]:
            unused["first_line"] -= above
    damage = []
    for place in report.damage:
        position = place.position - above if place.unit is Unit.LINE else 0
        damage.append((position, place.unit, place.message.replace(str(file), file.name)))
    rest = report.model_dump(exclude={"judged", "damage"})
    for client in rest["clients"]:
        for error in client["errors"]:
            error["line"] -= above
    rest = json.loads(re.sub(r"\bline (\d+)", lambda found: f"line {int(found[1]) - above}", json.dumps(rest)))
    return {"judged": judged, "damage": damage, **rest}


@cache
def told_of_plain(file: Path, folder: Path) -> Told:
    return told_of_bytes(folder / file.name, file.read_bytes())


def told_of_bytes(target: Path, data: bytes, above: int = 0) -> Told:
    target.write_bytes(data)
    try:
        return told(target, above)
    finally:
        target.unlink()


def check(file: Path, seed: int, folder: Path) -> None:
    wrappings, end, encoding = chosen(random.Random(seed), is_log=file.suffix == ".log")
    data = wrapped(file.read_bytes(), wrappings, end, encoding)
    above = sum(wrapping.above for wrapping in wrappings)
    names = [wrapping.name for wrapping in wrappings]
    assert told_of_bytes(folder / file.name, data, above) == told_of_plain(file, folder), (names, end, encoding)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wrapped")


@given(file=st.sampled_from(FILES), seed=st.integers(0, 2**32))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_recording_in_any_form_is_judged_as_the_plain_file(folder: Path, file: Path, seed: int) -> None:
    check(file, seed, folder)


@pytest.mark.deep
@given(file=st.sampled_from(FILES), seed=st.integers(0, 2**32))
@settings(max_examples=3000, suppress_health_check=[HealthCheck.too_slow])
def test_a_recording_in_very_many_forms_is_judged_as_the_plain_file(folder: Path, file: Path, seed: int) -> None:
    check(file, seed, folder)


def test_the_comparison_fails_where_a_form_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_taken_off(data: memoryview) -> Sequence[Plain]:
        return [Plain(data)]

    monkeypatch.setattr(collecting, "plain_parts", nothing_taken_off)
    file = OURS / "01-commit" / "dump" / "t-0.txt"
    differing = 0
    for seed in range(20):
        try:
            check(file, seed, folder)
        except AssertionError:
            differing += 1
    assert differing > 15


def test_the_comparison_fails_where_a_line_is_lost_or_moved(folder: Path) -> None:
    file = OURS / "23-truncated-segment" / "dump" / "t-0.txt"
    file = file if file.exists() else OURS / "01-commit" / "dump" / "t-0.txt"
    lines = file.read_bytes().split(b"\n")
    plain = told_of_plain(file, folder)
    assert told_of_bytes(folder / file.name, b"\n".join(lines[:-2])) != plain
    cut = b"\n".join([*lines[:2], lines[2][:100], *lines[3:]])
    assert told_of_bytes(folder / file.name, cut) != told_of_bytes(folder / file.name, b"\n" + cut)
    assert told_of_bytes(folder / file.name, cut) == told_of_bytes(folder / file.name, b"\n" + cut, above=1)


WITH_SOURCES = [
    wrapping for wrapping in PREFIXES if wrapping.name in ("compose", "kubectl --prefix", "stern", "syslog")
]


def renamed(wrapping: Wrapping, number: int) -> Wrapping:
    old, new = ("node-1", f"node-{number}") if wrapping.name == "syslog" else ("kafka-", f"kafka-{number}")
    return each(wrapping.name, lambda at, line: wrapping.wrap([*[""] * (at - 1), line])[-1].replace(old, new, 1))


@pytest.mark.parametrize("wrapping", WITH_SOURCES, ids=lambda each: each.name)
@given(files=st.lists(st.sampled_from(FILES), min_size=2, max_size=3, unique_by=str), seed=st.integers(0, 2**32))
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
def test_sources_in_one_file_are_read_one_by_one_at_their_lines(
    wrapping: Wrapping, files: list[Path], seed: int
) -> None:
    choose = random.Random(seed)
    left = {
        number: file.read_bytes().decode(errors="surrogateescape").split("\n")[:60] for number, file in enumerate(files)
    }
    expected: dict[int, list[tuple[int, str]]] = {number: [] for number in left}
    out: list[str] = []
    while waiting := [number for number, lines in left.items() if lines]:
        number = choose.choice(waiting)
        line = left[number].pop(0)
        expected[number].append((len(out) + 1, line))
        out += renamed(wrapping, number).wrap([line])
    parts = plain_parts(memoryview("\n".join(out).encode(errors="surrogateescape")))
    found = []
    for part in parts:
        lines = bytes(part.data).decode(errors="surrogateescape").split("\n")[: len(out)]
        found.append([(at, line) for at, line in enumerate(lines, 1) if line != ELSEWHERE])
    assert sorted(found) == sorted(expected.values())


def test_logs_of_three_brokers_in_one_file_say_the_same_as_three_files(tmp_path: Path) -> None:
    recording = SHARED / "09-failover-pending-commit"
    if not recording.is_dir():
        pytest.skip("the recording of three brokers is not here; sources are also read one by one above")
    logs = [recording / f"server-{number}.log" for number in (1, 2, 3)]
    lines = sorted(
        (line[:25], f"kafka-{number}  | {line}")
        for number, log in enumerate(logs, 1)
        for line in log.read_text().splitlines()
        if line.startswith("[")
    )
    (tmp_path / "all.log").write_text("\n".join(line for _, line in lines) + "\n")
    apart, together = collect(logs), collect([tmp_path / "all.log"])
    assert {(each.place, each.node_id, each.end_offset) for each in together.hosted} == {
        (each.place, each.node_id, each.end_offset) for each in apart.hosted
    }
    assert len(together.coordinator_lines) == len(apart.coordinator_lines) > 0
    assert together.damage == []
    wrapped_lines = (tmp_path / "all.log").read_text().splitlines()
    assert all(each.transactional_id in wrapped_lines[each.line - 1] for each in together.coordinator_lines)
