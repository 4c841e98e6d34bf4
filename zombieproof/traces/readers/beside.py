"""Several kinds of evidence in one text: each piece of a line is given to one reader.

People paste a console's text, calls of applications, logs and tables into one file. Calls and records of the console
consumer are known by their own form; logs and tables get all other lines. (Lines of a dump are taken before: only its
own reader knows how far a payload goes.) Every part keeps the numbers of its lines, and the console's text its bytes.

A file without a line feed at its end is glued to the next one: such a line is two pieces.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from zombieproof.traces.readers.client_calls import looks_like_calls
from zombieproof.traces.readers.console_text import places_of_console
from zombieproof.traces.readers.layouts import is_log_line
from zombieproof.traces.readers.lines import ELSEWHERE
from zombieproof.traces.readers.recognise import LOG_MARK, Kind
from zombieproof.traces.readers.tool_tables import holds_tool_output

CALL = re.compile(rb'"(?:action|asked)"\s*:\s*"')
AS_CALLS = re.compile(rb'\{"(?:t|id)":')
NO_CALL = re.compile(rb'\n(?!\{"(?:t|id)":|\n)[^\n]')
"""A line that does not begin as calls do."""
CONSOLE = (
    re.compile(rb"::(?:TransactionMetadata\(|\[?OffsetMetadata|OffsetAndMetadata|NULL)"),
    re.compile(rb'"key"\s*:\s*\{\s*"(?:version|type)"'),
)
"""Each begins with a plain text, which is searched for at the speed of memory."""
LOG_BEGINS = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) "
GLUED_LOG = re.compile(rb"\)" + LOG_BEGINS.encode())
BEGINS = re.compile(
    rf'(?<=[)}}\]])(?:{LOG_BEGINS}|\{{\s*"(?:t|id|key)"\s*:|[^\s(),:]{{1,249}}::TransactionMetadata\()', re.ASCII
)
"""A line of a log, a call or a record of the console directly behind the end of another."""
CUT_CALL = re.compile(r'\{\s*"(?:t|id)"\s*:')
"""How a call begins, as it is recorded."""

Span = tuple[int, int]


class Share(NamedTuple):
    """What one reader gets, at its numbers of lines."""

    kind: Kind
    data: memoryview


def shared_out(data: memoryview, main: Kind) -> list[Share]:
    """The parts of a text without dumps that was recognised as `main`; the text itself where it holds one kind.

    Logs and tables are one part: the readers of both pass over each other's lines.
    """
    if main is Kind.CALLS:
        is_mixed = AS_CALLS.match(data) is None or NO_CALL.search(data) is not None
    else:
        is_mixed = main is Kind.CONSOLE or any(mark.search(data) for mark in (CALL, *CONSOLE, GLUED_LOG))
    if not is_mixed:
        return [Share(main, data)]
    text = bytes(data).decode(errors="replace")
    calls = list(_calls(text)) if CALL.search(data) else []
    console = _console(text, calls) if main is Kind.CONSOLE or any(mark.search(data) for mark in CONSOLE) else []
    runs = _runs(_left(text, sorted(calls + console)))
    others = [_at_their_lines(run, text) for run in runs]
    logs = [share for part in others if (share := _share(part))]
    if main is Kind.CONSOLE and not console:
        # What seems to be a tombstone may be anything, as beside lines of a log.
        return logs or [Share(main, data)]
    if bool(logs) + bool(calls) + bool(console) < 2 and len(logs) < 2:
        return [Share(main, data)]
    shares = [Share(Kind.CALLS, _at_their_lines(run, text)) for run in _runs(_numbered(text, calls))]
    if console:
        shares.append(Share(Kind.CONSOLE, _blanked(text, console)))
    return shares + logs


def _share(data: memoryview) -> Share | None:
    if LOG_MARK.search(data):
        return Share(Kind.TEXT_LOG, data)
    return Share(Kind.TOOL_OUTPUT, data) if holds_tool_output(data) else None


def _lines(text: str) -> Iterator[Span]:
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end == -1 else end
        yield at, end
        at = end + 1


# ---------------------------------------------------------------- whose


def _calls(text: str) -> Iterator[Span]:
    """Lines of calls, or their ends where something else is glued before them."""
    for start, end in _lines(text):
        if (at := _call_in(text[start:end])) is not None:
            yield start + at, end


def _call_in(line: str) -> int | None:
    if line.startswith("{") and looks_like_calls(line):
        return 0
    if CUT_CALL.match(line) and _object(line) is None:
        return 0
    glued = [found.start() for found in BEGINS.finditer(line) if CUT_CALL.match(line, found.start())][-1:]
    return next((at for at in glued if looks_like_calls(line[at:])), None)


def _object(line: str) -> Mapping[str, object] | None:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _console(text: str, calls: Sequence[Span]) -> list[Span]:
    """Records of the console consumer: what a logger wrote is none, whatever it holds."""
    loggers = [span for span in (_of_logger(text, *line) for line in _lines(text)) if span is not None]
    bare, at = [], 0
    for start, end in sorted({*loggers, *calls}):
        bare += [text[at:start], " " * (end - max(at, start))]
        at = max(at, end)
    return places_of_console("".join([*bare, text[at:]]))


def _of_logger(text: str, start: int, end: int) -> Span | None:
    """The part of a line that a logger wrote, up to a record of the console that is glued to it."""
    line = text[start:end]
    if line.startswith("{"):
        found = _object(line)
        return (start, end) if found is not None and "key" not in found else None
    glued = BEGINS.search(line) if line.startswith("[") else None
    whole = line[: glued.start()] if glued else line
    return (start, start + len(whole)) if is_log_line(whole) else None


# ---------------------------------------------------------------- parts

Piece = tuple[int, str]
"""The number of a line, from 0, and what is taken of it."""


def _left(text: str, taken: Sequence[Span]) -> Iterator[Piece]:
    """What is left of each line, in order."""
    at = 0
    for number, (start, end) in enumerate(_lines(text)):
        while at < len(taken) and taken[at][1] <= start:
            at += 1
        here, left = start, at
        while left < len(taken) and taken[left][0] < end:
            yield from _not_glued(number, text[here : taken[left][0]])
            here, left = max(here, taken[left][1]), left + 1
        if here < end or (here == start == end):
            yield from _not_glued(number, text[here:end], is_whole=here == start)


def _not_glued(number: int, line: str, *, is_whole: bool = False) -> Iterator[Piece]:
    if not is_whole and not line.strip():
        return
    start = 0
    for found in BEGINS.finditer(line) if line.startswith("[") else ():
        if line.startswith("[", found.start()):
            yield number, line[start : found.start()]
            start = found.start()
    yield number, line[start:]


def _numbered(text: str, spans: Sequence[Span]) -> Iterator[Piece]:
    number, counted_to = 0, 0
    for start, end in spans:
        number, counted_to = number + text.count("\n", counted_to, start), start
        yield number, text[start:end]


def _runs(pieces: Iterator[Piece]) -> list[dict[int, str]]:
    """Pieces by the number of their line; the second piece of a line begins another run."""
    runs: list[dict[int, str]] = []
    last = -1
    for number, piece in pieces:
        if number == last or not runs:
            runs.append({})
        runs[-1][number] = piece
        last = number
    return runs


def _at_their_lines(run: Mapping[int, str], text: str) -> memoryview:
    """The pieces at the numbers of their lines. The last is open at its end if the text is, and ends there."""
    lines = [ELSEWHERE] * (max(run) + 1)
    for number, piece in run.items():
        lines[number] = piece
    ends_open = not text.endswith("\n") and text.endswith(lines[-1]) and max(run) == text.count("\n")
    return memoryview(("\n".join(lines) + ("" if ends_open else "\n")).encode())


def _blanked(text: str, spans: Sequence[Span]) -> memoryview:
    """The pieces at their bytes, with nothing else around them."""
    out, at = [], 0
    for start, end in spans:
        out += [_blank(text[at:start]), text[start:end]]
        at = max(at, end)
    return memoryview("".join([*out, "\n" if text[at:].strip() or text.endswith("\n") else ""]).encode())


def _blank(text: str) -> str:
    return "\n".join(" " * len(line.encode()) for line in text.split("\n"))
