"""The project's own trace files: what is written is read back, and what is not a trace is refused with its place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.model.rules import Rules, preset
from zombieproof.model.vocabulary import Error, Row
from zombieproof.statemachines.registry import MACHINES
from zombieproof.traces.trace import (
    SCHEMA_PATH,
    Conclusion,
    Header,
    Move,
    Trace,
    TraceDecision,
    TraceError,
    TraceStep,
    rules_as_data,
    schema,
    schema_is_stale,
    write_schema,
)
from zombieproof.traces.trace_file import format_trace, looks_like_trace, parse_trace, read_trace, write_trace

names = st.text(min_size=1, max_size=12)
integers = st.integers(-(2**63), 2**63 - 1)


@st.composite
def moves(draw: st.DrawFn) -> Move:
    if draw(st.booleans()):
        return Move(machine="of its own", subject=draw(st.text()), before=draw(names), event="e", after=draw(names))
    row = draw(st.sampled_from([(m, row) for m in MACHINES.values() for row in m.rows]))
    machine, (state, event, target, _) = row
    return Move(machine=machine.name, subject=draw(st.text()), before=state.name, event=event.name, after=target.name)


decided = st.builds(
    TraceDecision,
    decision=names,
    row=st.sampled_from(list(Row.__members__)),
    error=st.sampled_from(list(Error.__members__)),
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    promise = draw(st.none() | names)
    steps = tuple(
        TraceStep(
            number=number,
            action=draw(st.integers(0, 1000)),
            argument=draw(integers),
            name=draw(names),
            description=draw(st.text()),
            moves=tuple(draw(st.lists(moves(), max_size=2))),
            verdicts=tuple(draw(st.lists(decided, max_size=2))),
            digest=draw(st.none() | st.just("00ffab12")),
        )
        for number in range(1, draw(st.integers(0, 4)) + 1)
    )
    header = Header(
        model=draw(names),
        scenario=draw(names),
        mutant=draw(st.none() | names),
        rules=draw(st.sampled_from([{}, rules_as_data(Rules()), rules_as_data(preset("kip98"))])),
        bounds=draw(st.dictionaries(names, integers, max_size=3)),
        promise=promise,
        story=draw(st.none() | st.text()),
    )
    ending = "violated" if promise is not None else draw(st.sampled_from(["holds", "inconclusive"]))
    return Trace(
        header,
        steps,
        Conclusion(
            verdict="violated" if ending == "violated" else "holds" if ending == "holds" else "inconclusive",
            steps=len(steps),
            promise=promise,
            message=draw(st.text()),
        ),
    )


def small_trace() -> Trace:
    return Trace(
        Header(model="transactions", scenario="zombie", rules=rules_as_data(Rules()), promise="fenced"),
        (
            TraceStep(number=1, action=0, argument=0, name="init", description="A starts"),
            TraceStep(
                number=2,
                action=4,
                argument=1,
                name="end",
                description="A commits",
                moves=(
                    Move(machine="coordinator", subject="x", before="ONGOING", event="COMMIT", after="PREPARE_COMMIT"),
                ),
                verdicts=(TraceDecision(decision="decide_end_txn", row="E6"),),
                digest="0f",
            ),
        ),
        Conclusion(verdict="violated", steps=2, promise="fenced"),
    )


@given(traces())
def test_a_trace_is_read_back_as_it_was_written(trace: Trace) -> None:
    assert parse_trace(format_trace(trace)) == trace


@given(traces())
def test_every_line_that_is_written_satisfies_the_schema(trace: Trace) -> None:
    checker = jsonschema.Draft202012Validator(json.loads(schema()))
    for line in format_trace(trace).removesuffix("\n").split("\n"):
        checker.validate(json.loads(line))


def test_a_file_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "story.jsonl"
    write_trace(path, small_trace())
    assert read_trace(path) == small_trace()
    assert [found.name for found in tmp_path.iterdir()] == ["story.jsonl"]


def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "story.jsonl"
    write_trace(path, small_trace())
    broken = small_trace()._replace(steps=small_trace().steps[:1])
    with pytest.raises(TraceError, match="speaks of 2 steps, and there are 1"):
        write_trace(path, broken)
    assert read_trace(path) == small_trace()
    assert [found.name for found in tmp_path.iterdir()] == ["story.jsonl"]


def test_the_rules_of_a_header_are_the_rules_that_were_written() -> None:
    rules = preset("kip98")
    assert Header(model="m", scenario="s", rules=rules_as_data(rules)).rules_in_force() == rules


Change = Callable[[list[dict[str, Any]]], None]


def without(*path: str | int) -> Change:
    def change(lines: list[dict[str, Any]]) -> None:
        place: Any = lines
        for part in path[:-1]:
            place = place[part]
        del place[path[-1]]

    return change


def setting(value: object, *path: str | int) -> Change:
    def change(lines: list[dict[str, Any]]) -> None:
        place: Any = lines
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value

    return change


MALFORMED: list[tuple[str, Change, int, str]] = [
    ("another version", setting(3, 0, "version"), 1, "is of version 3; this program reads version 1 and 2"),
    ("a version that it is not", setting(2, 0, "version"), 1, "a cluster is described exactly in the trace of a live"),
    ("another format", setting("elle", 0, "format"), 1, r'is no header of a trace; the first line is \{"kind"'),
    ("no version", without(0, "version"), 1, "is of version None"),
    ("an unknown kind", setting("stop", 1, "kind"), 2, "has the kind 'stop'; legal: header, step, verdict"),
    ("no kind", without(1, "kind"), 2, "has the kind None"),
    ("a second header", lambda lines: lines.insert(1, lines[0]), 2, "is a header; between header and verdict"),
    ("an early verdict", lambda lines: lines.insert(1, lines[-1]), 2, "is a verdict; between header and verdict"),
    ("no verdict", without(3), 3, "is a step and the last line; a trace ends with its verdict"),
    ("only a header", lambda lines: lines.__delitem__(slice(1, 4)), 1, "is a header and the last line"),
    ("a lost step", without(1), 2, "is step 2; step 1 would be next"),
    ("steps in another order", lambda lines: lines.insert(1, lines.pop(2)), 2, "is step 2; step 1 would be next"),
    ("a lost last step", without(2), 3, "speaks of 2 steps, and there are 1: lines were lost or added"),
    ("another promise at the end", setting("lost", 3, "promise"), 4, "names the promise 'lost', the header 'fenced'"),
    ("a violation of nothing", without(3, "promise"), 4, "a promise is named exactly when the verdict is 'violated'"),
    ("an unknown verdict", setting("fine", 3, "verdict"), 4, "verdict: .*'violated' or 'inconclusive'.*'fine'"),
    ("a missing field", without(1, "action"), 2, "lacks action, which every step has"),
    ("an unknown field", setting(1, 1, "actoin"), 2, "has actoin, which is unknown here; legal in the step: .*action"),
    ("a number as text", setting("3", 1, "action"), 2, r"action: .*integer \(found '3'\)"),
    ("a number with a point", setting(1.0, 1, "argument"), 2, "argument: .*integer"),
    ("a truth value as a number", setting(True, 1, "argument"), 2, "argument: .*integer"),
    ("a step zero", setting(0, 1, "number"), 2, "number: .*greater than or equal to 1"),
    ("an unknown rule", setting(1, 0, "rules", "kip361"), 1, "no rule is named 'kip361'; legal: transaction_version"),
    ("a missing rule", without(0, "rules", "kip360"), 1, "rules lack kip360: a trace says every rule"),
    ("an unknown event", setting("COMIT", 2, "moves", 0, "event"), 3, "'COMIT' is no event of coordinator; legal: NOT"),
    ("an unknown state", setting("OPEN", 2, "moves", 0, "from"), 3, "'OPEN' is no state of coordinator; legal: EMPTY"),
    ("Python's word for a state", setting("EMPTY", 2, "moves", 0, "before"), 3, "moves.0.before"),
    ("an unknown error", setting("OOPS", 2, "verdicts", 0, "error"), 3, "'OOPS' is no error of the protocol"),
    ("an unknown row", setting("Z99", 2, "verdicts", 0, "row"), 3, "'Z99' is no row of the reference"),
    ("a digest that is none", setting("xyz", 2, "digest"), 3, "digest: "),
]  # fmt: skip


@pytest.mark.parametrize(("change", "line", "fault"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_a_malformed_trace_is_refused_at_its_line(change: Change, line: int, fault: str) -> None:
    lines = [json.loads(text) for text in format_trace(small_trace()).splitlines()]
    change(lines)
    text = "".join(json.dumps(each) + "\n" for each in lines)
    with pytest.raises(TraceError, match=fault) as found:
        parse_trace(text, "story.jsonl")
    assert (found.value.file, found.value.line) == ("story.jsonl", line)
    assert str(found.value).startswith(f"story.jsonl, line {line}: ")


RAW: list[tuple[str, str, int, str]] = [
    ("nothing", "", 0, "is empty"),
    ("a blank line", "\n", 1, "is not JSON"),
    ("text", "hello\n", 1, "is not JSON"),
    ("a list", "[]\n", 1, "is a JSON list; every line is one JSON object"),
    ("a name twice", '{"kind":"header","kind":"step"}\n', 1, "the name 'kind' stands twice"),
    ("not a number", '{"kind":NaN}\n', 1, "NaN is no JSON number"),
    ("deep nesting", "[" * 100_000 + "\n", 1, "is not JSON"),
    ("no end of line", '{"kind":"header"}', 1, "is cut: every line of a trace ends with a newline"),
]


@pytest.mark.parametrize(("text", "line", "fault"), [row[1:] for row in RAW], ids=[row[0] for row in RAW])
def test_what_is_not_json_lines_is_refused(text: str, line: int, fault: str) -> None:
    with pytest.raises(TraceError, match=fault) as found:
        parse_trace(text, "story.jsonl")
    assert found.value.line == line


@given(st.integers(0, len(format_trace(small_trace())) - 1))
def test_a_trace_cut_anywhere_is_refused(length: int) -> None:
    with pytest.raises(TraceError):
        parse_trace(format_trace(small_trace())[:length])


@given(st.binary(max_size=300))
def test_bytes_of_any_kind_are_refused_without_a_traceback(data: bytes) -> None:
    text = data.decode("latin-1")
    with pytest.raises(TraceError):
        parse_trace(text)


def test_a_file_that_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "story.jsonl"
    path.write_bytes(b'{"kind":"header"}\n\xff\n')
    with pytest.raises(TraceError, match="line 2: byte 18 is not UTF-8"):
        read_trace(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        read_trace(tmp_path / "nothing.jsonl")


def test_a_trace_of_any_version_looks_like_a_trace() -> None:
    first = format_trace(small_trace()).splitlines()[0]
    assert looks_like_trace(first)
    assert looks_like_trace(first.replace('"version":1', '"version":9'))
    assert not looks_like_trace('{"t": 1, "client": "app", "action": "init"}')


def test_the_committed_schema_is_what_the_models_say() -> None:
    assert not schema_is_stale(), f"{SCHEMA_PATH.name} is stale: run zombieproof.traces.trace.write_schema()"


def test_a_changed_or_missing_schema_is_stale(tmp_path: Path) -> None:
    path = tmp_path / "docs" / "schema.json"
    assert schema_is_stale(path)
    write_schema(path)
    assert not schema_is_stale(path)
    path.write_text(path.read_text().replace("minimum", "maximum", 1))
    assert schema_is_stale(path)


@pytest.mark.parametrize(
    "line",
    [
        {"kind": "step", "number": 1},
        {"kind": "verdict", "verdict": "fine", "steps": 0},
        {"format": "zombieproof-trace", "version": 1, "model": "m", "scenario": "s"},
        {"kind": "header", "format": "zombieproof-trace", "version": 3, "model": "m", "scenario": "s"},
        {"kind": "header", "format": "zombieproof-trace", "model": "m", "scenario": "s"},
        {"kind": "event", "number": 1, "ms": 0},
        {"kind": "event", "number": 0, "ms": 0, "cause": {"what": "send"}},
        {"kind": "end"},
        {"kind": "header", "format": "zombieproof-trace", "version": 1, "model": "m", "scenario": "s", "extra": 1},
    ],
)
def test_the_schema_refuses_malformed_lines(line: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(line, json.loads(schema()))
