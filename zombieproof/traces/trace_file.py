"""Traces as files: written whole, and read line by line with every fault named by its place."""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from zombieproof.traces.trace import (
    FORMAT,
    KINDS,
    LINE,
    LIVE_KINDS,
    LIVE_VERSION,
    VERSION,
    VERSIONS,
    AnyLine,
    Conclusion,
    End,
    Event,
    Header,
    LiveRecord,
    Trace,
    TraceError,
    TraceStep,
)

# ---------------------------------------------------------------- write


def format_line(line: AnyLine) -> str:
    """One line without its end."""
    return line.model_dump_json(by_alias=True, exclude_none=True)


def format_trace(trace: Trace) -> str:
    """The text of a trace, which `parse_trace` reads back as it was.

    Raises:
        TraceError: the parts do not make one trace (steps out of order, another promise at the end).
    """
    _check_whole("trace", trace)
    lines: list[AnyLine] = [trace.header, *trace.steps, trace.conclusion]
    return "".join(format_line(line) + "\n" for line in lines)


def write_trace(path: Path, trace: Trace) -> None:
    """Write a trace; an existing file is replaced only by a whole new one."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(format_trace(trace), encoding="utf-8", newline="\n")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


# ---------------------------------------------------------------- read


def looks_like_trace(first_line: str) -> bool:
    """Whether a file that begins with this line means to be a trace, of any version: then its faults are a trace's."""
    return re.search(rf'"format"\s*:\s*"{FORMAT}"', first_line) is not None


def read_trace(path: Path) -> Trace:
    """Read a trace file.

    Raises:
        TraceError: the file cannot be read, or is not one whole trace of this version.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(str(path), 0, f"cannot be read: {error.strerror}") from error
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TraceError(str(path), line, f"byte {error.start} is not UTF-8; a trace is UTF-8 text") from error
    return parse_trace(text, str(path))


def parse_trace(text: str, file: str = "trace") -> Trace:
    """Read a trace from its text; `file` is how faults name it.

    Raises:
        TraceError: it is not one whole trace of this version.
    """
    if not text:
        raise TraceError(file, 0, "is empty; a trace has a header, steps and a verdict")
    lines = text.split("\n")
    if lines[-1]:
        raise TraceError(file, len(lines), "is cut: every line of a trace ends with a newline")
    parsed = [parse_line(line, file, number) for number, line in enumerate(lines[:-1], start=1)]
    header, conclusion = parsed[0], parsed[-1]
    if not isinstance(header, Header):
        raise TraceError(file, 1, f"is a {header.kind}; a trace begins with its header")
    if header.version != VERSION:
        raise TraceError(file, 1, "is the trace of a live run; a story of the checker is wanted here")
    if not isinstance(conclusion, Conclusion):
        raise TraceError(file, len(parsed), f"is a {conclusion.kind} and the last line; a trace ends with its verdict")
    steps = [_step(line, file, number) for number, line in enumerate(parsed[1:-1], start=2)]
    trace = Trace(header, tuple(steps), conclusion)
    _check_whole(file, trace)
    return trace


def _step(line: AnyLine, file: str, number: int) -> TraceStep:
    if not isinstance(line, TraceStep):
        raise TraceError(file, number, f"is a {line.kind}; between header and verdict only steps are legal")
    return line


def _check_whole(file: str, trace: Trace) -> None:
    for expected, step in enumerate(trace.steps, start=1):
        if step.number != expected:
            raise TraceError(file, expected + 1, f"is step {step.number}; step {expected} would be next")
    last = len(trace.steps) + 2
    if trace.conclusion.steps != len(trace.steps):
        counted = f"speaks of {trace.conclusion.steps} steps, and there are {len(trace.steps)}"
        raise TraceError(file, last, f"{counted}: lines were lost or added")
    if trace.conclusion.verdict == "violated" and trace.header.promise not in (None, trace.conclusion.promise):
        both = f"{trace.conclusion.promise!r}, the header {trace.header.promise!r}"
        raise TraceError(file, last, f"names the promise {both}; both name the same one")


def parse_line(text: str, file: str = "trace", number: int = 1, kinds: tuple[str, ...] = KINDS) -> AnyLine:
    """Read one line of those kinds; a header may be of any version that is known.

    Raises:
        TraceError: it is no line of a trace.
    """
    found = _json_object(text, file, number)
    if number == 1 and found.get("format") != FORMAT:
        legal = f'{{"kind":"header","format":"{FORMAT}","version":{VERSION},...}}'
        raise TraceError(file, number, f"is no header of a trace; the first line is {legal}")
    if found.get("kind") == "header" and found.get("version") not in VERSIONS:
        wanted = f"is of version {found.get('version')!r}; this program reads version {VERSION} and {LIVE_VERSION}"
        raise TraceError(file, number, f"{wanted}: write the trace anew, or read it with the program that wrote it")
    if found.get("kind") not in kinds:
        raise TraceError(file, number, f"has the kind {found.get('kind')!r}; legal: {', '.join(kinds)}")
    try:
        return LINE.validate_json(text, by_alias=True, by_name=False)
    except ValidationError as error:
        raise TraceError(file, number, _explain(error)) from error


def _json_object(text: str, file: str, number: int) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise TraceError(file, number, f"is not JSON: {error}; every line is one JSON object") from error
    if not isinstance(found, dict):
        raise TraceError(file, number, f"is a JSON {type(found).__name__}; every line is one JSON object")
    return found


# ---------------------------------------------------------------- live runs


def is_live_trace(path: Path) -> bool:
    """Whether a file means to be the trace of a live run."""
    try:
        with path.open("rb") as file:
            first = file.readline(1 << 20).decode("utf-8", errors="replace")
    except OSError:
        return False
    return looks_like_trace(first) and re.search(rf'"version"\s*:\s*{LIVE_VERSION}\b', first) is not None


def read_live(path: Path) -> LiveRecord:
    """Read the trace of a live run.

    A last line that is torn is left out, and so is everything behind it: `LiveRecord.fault` says so. So does it of a
    file that was not closed.

    Raises:
        TraceError: the file cannot be read, or a line before its end is no line of such a trace.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(str(path), 0, f"cannot be read: {error.strerror}") from error
    whole, _, torn = data.rpartition(b"\n")
    try:
        lines = whole.decode().split("\n") if whole else []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TraceError(str(path), line, f"byte {error.start} is not UTF-8; a trace is UTF-8 text") from error
    if not lines:
        raise TraceError(str(path), 0, "holds no whole line; a trace begins with its header")
    return _live_record(
        str(path), [parse_line(text, str(path), n, LIVE_KINDS) for n, text in enumerate(lines, 1)], torn
    )


def _live_record(file: str, parsed: list[AnyLine], torn: bytes) -> LiveRecord:
    header, end = parsed[0], parsed[-1]
    if not isinstance(header, Header) or header.version != LIVE_VERSION:
        raise TraceError(file, 1, "is no header of a live run's trace, which has version 2")
    is_closed = isinstance(end, End) and len(parsed) > 1
    events = list[Event]()
    for number, line in enumerate(parsed[1:-1] if is_closed else parsed[1:], start=2):
        if not isinstance(line, Event):
            raise TraceError(file, number, f"is a {line.kind}; between header and end only events are legal")
        if line.number != number - 1:
            raise TraceError(file, number, f"is event {line.number}; event {number - 1} would be next")
        events.append(line)
    if torn:
        at = len(parsed) + 1
        return LiveRecord(header, tuple(events), f"is torn after {len(torn):,} bytes; what is before it is judged", at)
    if isinstance(end, End) and is_closed and end.events != len(events):
        counted = f"speaks of {end.events} events, and there are {len(events)}: lines were lost or added"
        raise TraceError(file, len(parsed), counted)
    why = "" if is_closed else "was not closed: whoever wrote it was killed, or still runs; what it holds is judged"
    return LiveRecord(header, tuple(events), why, 0 if is_closed else len(parsed) + 1)


def _without_repetition(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {name!r} stands twice in one object")
        found[name] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _explain(error: ValidationError) -> str:
    """The first fault of a line: where in it, what was found, and what would have been legal."""
    first = error.errors()[0]
    kind, *path = first["loc"]
    where = ".".join(str(part) for part in path) or f"the {kind}"
    if first["type"] == "missing":
        return f"lacks {where}, which every {kind} has"
    if first["type"] == "extra_forbidden":
        return f"has {where}, which is unknown here; legal in the {kind}: {', '.join(_names(str(kind)))}"
    message = first["msg"].removeprefix("Value error, ")
    found = "" if first["type"] == "value_error" else f" (found {first['input']!r})"
    return f"{where}: {message}{found}"


def _names(kind: str) -> list[str]:
    parts: dict[str, type[BaseModel]] = {
        "header": Header,
        "step": TraceStep,
        "verdict": Conclusion,
        "event": Event,
        "end": End,
    }
    return list(parts[kind].model_fields)
