"""Histories as files: read line by line, every fault named by its place, and several files merged into one history."""

import heapq
import json
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

from pydantic import ValidationError

from zombieproof.traces.history.events import EVENT, FORMAT, HEADER, KINDS, VERSION, Event

_AT = attrgetter("at")


class HistoryError(ValueError):
    """A file is no history, or what it says cannot have happened to clients: `file`, `line` (0: the file) and why."""

    def __init__(self, file: str, line: int, fault: str) -> None:
        self.file, self.line, self.fault = file, line, fault
        place = f"{file}, line {line}" if line else file
        super().__init__(f"{place}: {fault}")

    def __reduce__(self) -> tuple[type["HistoryError"], tuple[str, int, str]]:
        return type(self), (self.file, self.line, self.fault)


@dataclass(frozen=True, slots=True)
class Source:
    """One file: its events in their order, which is that of `at`."""

    name: str
    events: Sequence[Event]


@dataclass(frozen=True, slots=True)
class History:
    """Everything that was written down, in the order in which it happened."""

    sources: tuple[Source, ...]
    events: Sequence[Event] = field(init=False)

    def __post_init__(self) -> None:
        if len(self.sources) == 1:
            merged: Sequence[Event] = self.sources[0].events
        else:
            merged = list(heapq.merge(*(source.events for source in self.sources), key=_AT))
        object.__setattr__(self, "events", merged)

    def place_of(self, event: Event) -> tuple[str, int]:
        """The file and the line (from 1) of an event."""
        for source in self.sources:
            index = bisect_left(source.events, event.at, key=_AT)
            if index < len(source.events) and source.events[index] is event:
                return source.name, index + 2
        raise ValueError(f"{event} is not of this history")


def history_of(events: Iterable[Event], name: str = "history") -> History:
    """A history that was never in a file.

    Raises:
        HistoryError: `at` does not increase.
    """
    given = list(events)
    for line, (before, event) in enumerate(pairwise(given), start=3):
        _in_order(before, event, name, line)
    return History((Source(name, given),))


def format_event(event: Event) -> str:
    """One line, without its end."""
    return EVENT.dump_json(event, exclude_none=True).decode()


def format_header() -> str:
    """The first line, without its end."""
    return json.dumps({"kind": "history", "format": FORMAT, "version": VERSION})


def read_history(*paths: str | os.PathLike[str]) -> History:
    """One history of all these files, which share a clock.

    Raises:
        HistoryError: a file cannot be read, or is not a whole history of this version; or there is none.
    """
    if not paths:
        raise HistoryError("history", 0, "there is no file; give what a HistoryWriter wrote")
    return History(tuple(Source(os.fspath(path), list(read_events(Path(path)))) for path in paths))


def read_events(path: Path) -> Iterator[Event]:
    """The events of one file.

    Raises:
        HistoryError: the file cannot be read, or a line is none of a history of this version.
    """
    try:
        with path.open("rb") as file:
            yield from events_in(file, str(path))
    except OSError as error:
        raise HistoryError(str(path), 0, f"cannot be read: {error.strerror}") from error


def events_in(lines: Iterable[bytes], name: str) -> Iterator[Event]:
    """The events of the lines of a file called `name`.

    Raises:
        HistoryError: there is no line, or one is none of a history of this version.
    """
    number = 0
    before: Event | None = None
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            raise HistoryError(name, number, "is cut: every line of a history ends with a newline")
        if number == 1:
            _check_header(line, name)
            continue
        event = parse_event(line, name, number)
        if before is not None:
            _in_order(before, event, name, number)
        before = event
        yield event
    if number == 0:
        raise HistoryError(name, 0, "is empty; a history has a header and events")


def parse_event(line: bytes | str, file: str = "history", number: int = 2) -> Event:
    """Read one line.

    Raises:
        HistoryError: it is no event.
    """
    try:
        return EVENT.validate_json(line)
    except ValidationError as error:
        raise HistoryError(file, number, _explain(error)) from error


def _in_order(before: Event, event: Event, file: str, line: int) -> None:
    if event.at <= before.at:
        fault = f"is at {event.at}, and the line before at {before.at}: in a file `at` increases from line to line"
        raise HistoryError(file, line, fault)


def _check_header(line: bytes, file: str) -> None:
    legal = f"the first line is {format_header()}"
    if re.search(rb'"format"\s*:\s*"zombieproof-history"', line) is None:
        raise HistoryError(file, 1, f"is no header of a history; {legal}")
    try:
        header = HEADER.validate_json(line)
    except ValidationError as error:
        raise HistoryError(file, 1, f"{_explain(error)}; {legal}") from error
    if header.version != VERSION:
        wanted = f"is of version {header.version}; this program reads version {VERSION}"
        raise HistoryError(file, 1, f"{wanted}: read it with the program that wrote it")


def _explain(error: ValidationError) -> str:
    """The first fault of a line: where in it, what was found, and what would have been legal."""
    first = error.errors()[0]
    kind, *path = first["loc"] or ("",)
    where = ".".join(str(part) for part in path)
    match first["type"]:
        case "json_invalid":
            return f"is not JSON ({first['ctx']['error']}); every line is one JSON object"
        case "union_tag_invalid" | "union_tag_not_found":
            return f"has the kind {first['input'].get('kind')!r}; legal: {', '.join(KINDS)}"
        case "missing":
            return f"lacks {where or kind}, which every {kind if where else 'history'} has"
        case "unexpected_keyword_argument":
            names = KINDS[str(kind)].__dataclass_fields__ if kind in KINDS else {}
            return f"has {where}, which is unknown here; legal in {kind}: {', '.join(names)}"
        case "model_attributes_type" | "dataclass_type" | "dict_type":
            return "is no JSON object; every line is one"
    return f"{where or kind}: {first['msg']} (found {first['input']!r})"
