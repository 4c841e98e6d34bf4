"""Diagrams say what the tables say, and a file that does not is found."""

import re
import shutil
from dataclasses import replace
from enum import IntEnum
from pathlib import Path

import pytest

from zombieproof.report import diagrams
from zombieproof.report.diagrams import DotMissingError, check, render, write_all
from zombieproof.report.graphs import event_words, state_name
from zombieproof.statemachines.kernel import Machine, T
from zombieproof.statemachines.registry import MACHINES

EVERY_MACHINE = pytest.mark.parametrize("machine", MACHINES.values(), ids=lambda machine: machine.name)
needs_dot = pytest.mark.skipif(
    shutil.which("dot") is None,
    reason="dot (package graphviz) is not installed: SVG is not drawn here, the committed SVG files are still checked",
)


class Light(IntEnum):
    RED = 0
    GREEN = 1
    BROKEN_FOREVER = 2


class Signal(IntEnum):
    NOTHING = 0
    GO = 1
    STOP = 2
    ALL_STOP = 3
    FAIL = 4


LIGHT = Machine(
    name="traffic_light",
    states=Light,
    events=Signal,
    initial=Light.RED,
    rows=(
        T(Light.RED, Signal.GO, Light.GREEN, "free"),
        T(Light.RED, Signal.STOP, Light.RED, "still not free"),
        T(Light.GREEN, Signal.STOP, Light.RED, "not free"),
        T(Light.GREEN, Signal.ALL_STOP, Light.RED, "nothing is free"),
        T(Light.GREEN, Signal.FAIL, Light.BROKEN_FOREVER, "the lamp is gone"),
    ),
    terminal=frozenset({Light.BROKEN_FOREVER}),
    transient=frozenset({Light.GREEN}),
)
FILES = {"traffic_light.dot", "traffic_light.mmd", "traffic_light.svg"}


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    """A folder with the traffic light in each format, drawn with `dot` or as if by it."""
    write_all(tmp_path, ("dot", "mermaid"), [LIGHT])
    dot = render(LIGHT, "dot")
    drawing = "<svg>drawn</svg>\n"
    head = f"<?xml?>\n<!-- dot sha256 {diagrams._hash(dot)}, drawing sha256 {diagrams._hash(drawing)} -->\n"
    (tmp_path / "traffic_light.svg").write_text(head + drawing)
    return tmp_path


def edges_of(machine: Machine) -> dict[tuple[str, str], set[str]]:
    """(state, target) -> events, as the table says."""
    edges: dict[tuple[str, str], set[str]] = {}
    for row in machine.rows:
        edge = state_name(row.state.name), state_name(row.target.name)
        edges.setdefault(edge, set()).add(event_words(row.event.name))
    return edges


@EVERY_MACHINE
def test_dot_has_every_row_of_the_table_and_no_other(machine: Machine) -> None:
    text = render(machine, "dot")
    found = {
        (source, target): set(label.strip('"').split(r"\n"))
        for source, target, label in re.findall(r'^\t(\w+) -> (\w+) \[label=("[^"]*"|\w+)', text, re.MULTILINE)
    }
    for name, box in re.findall(r"^\t(\w+) \[label=<(.*)>[ \]]", text, re.MULTILINE):
        stays = re.findall(r"<font[^>]*>([^<]*)</font>", box)
        if stays:
            found[name, name] = set(stays)
    assert found == edges_of(machine)


@EVERY_MACHINE
def test_mermaid_has_every_row_of_the_table_and_no_other(machine: Machine) -> None:
    text = render(machine, "mermaid")
    arrows = re.findall(r"^  (\w+) --> (\w+): (.*)$", text, re.MULTILINE)
    inside = [(state, state, events) for state, events in re.findall(r"^  (\w+): (.*)$", text, re.MULTILINE)]
    found = {(source, target): set(events.split("<br/>")) for source, target, events in arrows + inside}
    assert found == edges_of(machine)


@EVERY_MACHINE
def test_a_machine_is_drawn_from_left_to_right(machine: Machine) -> None:
    assert "rankdir=LR" in render(machine, "dot")
    assert "direction LR" in render(machine, "mermaid")


def test_begin_and_end_are_marked() -> None:
    dot, mermaid = render(LIGHT, "dot"), render(LIGHT, "mermaid")
    assert "start -> Red\n" in dot
    assert re.search(r"BrokenForever .*peripheries=2", dot)
    assert re.search(r"Green .*dashed", dot)
    assert "[*] --> Red\n" in mermaid
    assert "BrokenForever --> [*]\n" in mermaid


def test_events_between_the_same_states_share_an_arrow() -> None:
    assert r'Green -> Red [label="stop\nall stop"]' in render(LIGHT, "dot")
    assert "Green --> Red: stop<br/>all stop\n" in render(LIGHT, "mermaid")


@EVERY_MACHINE
def test_text_formats_are_the_same_twice_and_need_no_program(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = render(machine, "dot"), render(machine, "mermaid")
    monkeypatch.setenv("PATH", "")
    assert (render(machine, "dot"), render(machine, "mermaid")) == before


def test_svg_without_dot_is_refused_with_the_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DotMissingError, match="install the package graphviz"):
        write_all(tmp_path, machines=[LIGHT])
    assert list(tmp_path.iterdir()) == []


@needs_dot
def test_svg_carries_the_words_of_the_table_and_passes_its_own_check(tmp_path: Path) -> None:
    write_all(tmp_path, machines=[LIGHT])
    svg = (tmp_path / "traffic_light.svg").read_text()
    for word in ("Red", "Green", "BrokenForever", "go", "stop", "all stop", "fail"):
        assert f">{word}</text>" in svg
    assert "Generated by `zombieproof diagrams`" in svg
    assert "graphviz version" not in svg
    assert check(tmp_path, [LIGHT]) == []


def test_the_committed_diagrams_are_those_of_the_tables(repository_root: Path) -> None:
    assert [str(stale) for stale in check(repository_root / "diagrams")] == []


def test_files_that_were_just_drawn_pass(drawn: Path) -> None:
    assert check(drawn, [LIGHT]) == []


def test_every_file_is_stale_when_the_table_has_changed(drawn: Path) -> None:
    changed = replace(LIGHT, rows=(*LIGHT.rows, T(Light.RED, Signal.FAIL, Light.BROKEN_FOREVER, "new")))
    faults = check(drawn, [changed])
    assert {fault.path.name for fault in faults} == FILES
    assert all(fault.why.startswith("stale") for fault in faults)


@pytest.mark.parametrize("name", sorted(FILES))
def test_an_edit_by_hand_is_found(drawn: Path, name: str) -> None:
    with (drawn / name).open("a") as file:
        file.write("one line more\n")
    assert [fault.path.name for fault in check(drawn, [LIGHT])] == [name]


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_missing_file_is_found(drawn: Path, name: str) -> None:
    (drawn / name).unlink()
    assert [str(fault) for fault in check(drawn, [LIGHT])] == [f"{drawn / name}: missing: run `zombieproof diagrams`"]


def test_an_svg_of_another_program_is_found(drawn: Path) -> None:
    (drawn / "traffic_light.svg").write_text("<svg/>")
    assert [fault.why for fault in check(drawn, [LIGHT])] == [
        "not an SVG of ours (no hashes in its head): run `zombieproof diagrams`"
    ]


def test_a_drawing_of_no_machine_is_found(drawn: Path) -> None:
    (drawn / "renamed.dot").touch()
    assert [fault.path.name for fault in check(drawn, [LIGHT])] == ["renamed.dot"]
