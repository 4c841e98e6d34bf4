"""Diagrams say what the tables say, and a file that does not is found."""

import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import IntEnum
from pathlib import Path

import pytest

from zombieproof.report import diagrams
from zombieproof.report.bundles import ANY_OTHER_STATE, bundles
from zombieproof.report.diagrams import DotMissingError, check, render, write_all
from zombieproof.report.graphs import SPACE, event_words, state_name
from zombieproof.statemachines.kernel import Machine, T
from zombieproof.statemachines.producer import PRODUCER
from zombieproof.statemachines.registry import ALL_MACHINES

EVERY_MACHINE = pytest.mark.parametrize("machine", ALL_MACHINES.values(), ids=lambda machine: machine.name)
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
PAGE_WIDTH = 800
SMALLEST_PRINT = 10
"""Points: as wide as a page shows a drawing, and the smallest print that is read there without effort."""

Arrow = tuple[str, str, str]
"""State, event, target, in the words of a drawing."""

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


def told(machine: Machine, arrows: Iterable[tuple[str, str, list[str]]], notes: dict[str, list[str]]) -> list[Arrow]:
    """The arrows of a drawing one by one: (state, event, target); one that begins at a note leaves all it names."""
    every = [state_name(state.name) for state in machine.states]
    found = []
    for begin, target, events in arrows:
        left = notes.get(begin, [begin])
        if left == [ANY_OTHER_STATE]:
            left = [state for state in every if state != target]
        found += [(state, event.strip(), target) for state in left for event in events]
    return sorted(found)


def rows_of(machine: Machine) -> list[Arrow]:
    """The rows of a table in the words of a drawing."""
    return sorted(
        (state_name(row.state.name), event_words(row.event.name), state_name(row.target.name)) for row in machine.rows
    )


def drawn_in_dot(machine: Machine) -> list[Arrow]:
    """What a person reads from the arrows, boxes and notes of the DOT text."""
    text = render(machine, "dot")
    arrows = [
        (begin, target, label.split(r"\n"))
        for begin, target, label in re.findall(r'^\t(\w+) -> (\w+) \[label="([^"]*)"', text, re.MULTILINE)
    ]
    for name, box in re.findall(r"^\t(\w+) \[label=<(.*)>[ \]]", text, re.MULTILINE):
        arrows.append((name, name, re.findall(r"<font[^>]*>([^<]*)</font>", box)))
    notes = re.findall(r'^\t(\w+) \[label="([^"]*)" .*shape=plaintext', text, re.MULTILINE)
    return told(machine, arrows, {name: words.split(r"\n") for name, words in notes})


def drawn_in_mermaid(machine: Machine) -> list[Arrow]:
    """What a person reads from the arrows, boxes and notes of the Mermaid text."""
    text = render(machine, "mermaid")
    arrows = re.findall(r"^  (\w+) --> (\w+): (.*)$", text, re.MULTILINE)
    arrows += [(state, state, events) for state, events in re.findall(r"^  (\w+): (.*)$", text, re.MULTILINE)]
    notes = re.findall(r'^  state "([^"]*)" as (\w+)\n  Class \w+ s_note$', text, re.MULTILINE)
    return told(
        machine,
        [(begin, target, events.split("<br/>")) for begin, target, events in arrows],
        {name: words.split("<br/>") for words, name in notes},
    )


DRAWN = pytest.mark.parametrize("drawn_in", [drawn_in_dot, drawn_in_mermaid])


@DRAWN
@EVERY_MACHINE
def test_a_drawing_has_every_row_of_the_table_once_and_no_other(
    machine: Machine, drawn_in: Callable[[Machine], list[Arrow]]
) -> None:
    assert drawn_in(machine) == rows_of(machine)


@DRAWN
def test_a_bundle_keeps_its_rows_whichever_states_it_leaves(drawn_in: Callable[[Machine], list[Arrow]]) -> None:
    for row in [row for bundle in bundles(PRODUCER) for row in bundle.rows]:
        fewer = replace(PRODUCER, rows=tuple(other for other in PRODUCER.rows if other != row))
        assert drawn_in(fewer) == rows_of(fewer), row


def test_the_failures_of_the_producer_are_bundled() -> None:
    found = {(bundle.event, bundle.target): (len(bundle.rows), bundle.from_all) for bundle in bundles(PRODUCER)}
    assert found == {("ABORTABLE_FAILURE", "ABORTABLE_ERROR"): (3, False), ("FATAL_FAILURE", "FATAL_ERROR"): (8, True)}


def test_crashes_are_bundled_and_leave_the_state_where_everything_begins_in_its_place() -> None:
    machine = ALL_MACHINES["proposal2014_producer"]
    [bundle] = bundles(machine)
    assert (bundle.event, bundle.target, bundle.from_all) == ("CRASH", "STOPPED", True)
    assert "style=invis" not in render(machine, "dot")
    assert "style=invis" in render(PRODUCER, "dot")


@EVERY_MACHINE
def test_a_large_machine_is_drawn_from_top_to_bottom(machine: Machine) -> None:
    direction = "TB" if len(machine.states) > 5 else "LR"
    assert f"rankdir={direction}" in render(machine, "dot")
    assert f"direction {direction}" in render(machine, "mermaid")


@EVERY_MACHINE
def test_a_committed_drawing_is_readable_at_the_width_of_a_page(machine: Machine, repository_root: Path) -> None:
    svg = (repository_root / "diagrams" / f"{machine.name}.svg").read_text()
    [width] = re.findall(r'<svg width="(\d+)pt"', svg)
    smallest = min(float(size) for size in re.findall(r'font-size="([\d.]+)"', svg))
    assert smallest * min(1, PAGE_WIDTH / int(width)) >= SMALLEST_PRINT


@EVERY_MACHINE
def test_a_committed_drawing_does_not_depend_on_the_fonts_of_its_reader(
    machine: Machine, repository_root: Path
) -> None:
    svg = (repository_root / "diagrams" / f"{machine.name}.svg").read_text()
    assert svg.count("<text ") == svg.count(' textLength="') == svg.count(' lengthAdjust="spacingAndGlyphs"')


def test_each_text_gets_the_width_of_its_place() -> None:
    svg = '<text text-anchor="middle" x="9.5" y="-7">a</text><text text-anchor="start" x="1" y="0">b</text>'
    strokes = [{"op": "F"}, {"op": "T", "pt": [9.5, 7.0], "width": 33.0}]
    widths = diagrams.text_widths({"edges": [{"_ldraw_": strokes}]})
    assert diagrams.with_widths(svg, widths) == svg.replace(
        ">a<", ' textLength="33" lengthAdjust="spacingAndGlyphs">a<'
    )


def test_begin_and_end_are_marked() -> None:
    dot, mermaid = render(LIGHT, "dot"), render(LIGHT, "mermaid")
    assert "start -> Red\n" in dot
    assert re.search(r"BrokenForever .*peripheries=2", dot)
    assert re.search(r"Green .*dashed", dot)
    assert "[*] --> Red\n" in mermaid
    assert "BrokenForever --> [*]\n" in mermaid


def test_events_between_the_same_states_share_an_arrow() -> None:
    assert rf'Green -> Red [label="{SPACE}stop{SPACE}\n{SPACE}all stop{SPACE}"]' in render(LIGHT, "dot")
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
        assert re.search(rf">\s?{word}\s?</text>", svg)
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
