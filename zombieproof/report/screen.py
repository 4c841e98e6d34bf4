"""Where reports are written: rich on a terminal, plain text in a pipe, the same words in both."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {
    "holds": "bold green",
    "conforms": "bold green",
    "as expected": "bold green",
    "violated": "bold red",
    "violates": "bold red",
    "inconclusive": "bold yellow",
    "damaged": "bold yellow",
    "not here": "yellow",
    "ok": "green",
    "FAILED": "bold red",
}
"""Styles of words that are a verdict, wherever they fill a cell."""


UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal may obey, that reverse the text around them, or that are bytes of no character."""


def printable(text: str) -> str:
    """A text that may hold anything, with `UNSAFE` characters as escape sequences."""
    return UNSAFE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    """A byte that is not UTF-8 comes from `surrogateescape`; all others as JSON writes them."""
    code = ord(found[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


class Column(NamedTuple):
    """A column of a table."""

    title: str
    justify: Literal["left", "right"] = "left"


class Screen:
    """A stream to which lines and tables are written. Only who writes on a terminal loads what draws there."""

    def __init__(self, stream: IO[str] | None = None, *, plain: bool = False, console: Console | None = None) -> None:
        self.stream = stream or sys.stdout
        self.plain = plain
        self._console = console

    @property
    def console(self) -> Console:
        """How it is written on a terminal."""
        if self._console is None:
            from rich.console import Console  # noqa: PLC0415  # in a pipe nobody needs it

            self._console = Console(file=self.stream, highlight=False, markup=False, emoji=False)
        return self._console

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at it."""
        if self.plain or (self._console is None and not _may_be_terminal(self.stream)):
            return False
        return self.console.is_terminal

    def say(self, text: str = "", style: str = "", indent: int = 0, hang: int = 0) -> None:
        """Write a line; on a terminal it is wrapped, further lines `hang` more columns to the right."""
        text = printable(text)
        if not self.is_terminal:
            self.stream.write(f"{' ' * indent}{text}".rstrip() + "\n")
            return
        if not text.strip():
            self.console.print()
            return
        width = max(20, self.console.width - indent - hang)
        head, *rest = wrapped(text, width + hang)
        self._line((head, style), indent=indent)
        for line in wrapped(" ".join(rest), width):
            self._line((line, style), indent=indent + hang)

    def _line(self, *parts: tuple[str, str], indent: int) -> None:
        """Write a line on a terminal as it is, each part in its style."""
        from rich.text import Text  # noqa: PLC0415  # in a pipe nobody needs it

        self.console.print(Text.assemble(" " * indent, *parts), soft_wrap=True)

    def command(self, command: str, what: str, indent: int = 0) -> None:
        """Write a command and what it does; it is never wrapped, so that it can be copied."""
        line = f"{' ' * indent}{command}   # {what}"
        if self.is_terminal and len(line) > self.console.width:
            self.say(f"# {what}", "dim", indent, hang=2)
            line = " " * indent + command
        self.data(line)

    def data(self, text: str) -> None:
        """Write text with its blanks and line ends as they are."""
        text = printable(text)
        self.stream.write(text if text.endswith("\n") else text + "\n")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], indent: int = 0) -> None:
        """Write a table, without blanks at the ends of lines.

        In a pipe its columns are aligned and never cut or wrapped. On a terminal words are never cut either: the last
        column is wrapped, or, where there is no room for it, the last columns stand below the others.
        """
        table = [tuple(column.title for column in columns), *(tuple(map(printable, row)) for row in rows)]
        if not self.is_terminal:
            for line in plain_table(columns, table[1:]):
                self.stream.write(" " * indent + line + "\n")
            return
        widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
        room = self.console.width - indent
        beside = _beside(widths, room, table)
        for row in table:
            styles = ["bold" if row is table[0] else STYLES.get(cell, "") for cell in row]
            cells = [_cell(row[i], widths[i], columns[i]) for i in range(beside)]
            last = wrapped(row[-1], room - sum(widths[:-1]) - _GAP * (len(row) - 1)) if beside == len(row) else []
            if last and columns[-1].justify == "left":
                cells[-1] = last[0]
            while len(cells) > 1 and not cells[-1].strip():
                cells.pop()
            cells[-1] = cells[-1].rstrip()
            parts = [(cell + " " * _GAP * (i + 1 < len(cells)), styles[i]) for i, cell in enumerate(cells)]
            self._line(*parts, indent=indent)
            for line in last[1:]:
                self._line((line, styles[-1]), indent=indent + sum(widths[:-1]) + _GAP * (len(row) - 1))
            below = (" " * _GAP).join(filter(None, row[beside:]))
            for line in wrapped(below, max(20, room - _BELOW)):
                self._line((line, styles[0] if row is table[0] else ""), indent=indent + _BELOW)


def _may_be_terminal(stream: IO[str]) -> bool:
    """Whether a stream is a terminal, or the environment has a word in that, which is for Rich to read."""
    is_told = any(name in os.environ for name in ("FORCE_COLOR", "TTY_COMPATIBLE"))
    return is_told or (not stream.closed and stream.isatty())


_GAP = 2
_BELOW = 4
_WORTH_A_COLUMN = 24


def _beside(widths: Sequence[int], room: int, table: Sequence[Sequence[str]]) -> int:
    """How many columns of a table fit beside each other: all, if the last can be wrapped in what is left for it."""
    left = room - sum(widths[:-1]) - _GAP * (len(widths) - 1)
    longest = max((len(word) for row in table for word in row[-1].split()), default=0)
    if left >= min(widths[-1], max(longest, _WORTH_A_COLUMN)):
        return len(widths)
    fitting = [n for n in range(1, len(widths)) if sum(widths[:n]) + _GAP * (n - 1) <= room]
    return max(fitting, default=1)


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text that is wrapped between words; a word that is longer than a line has one of its own."""
    return textwrap.wrap(text, max(1, width), break_long_words=False, break_on_hyphens=False, expand_tabs=False)


def plain_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table as lines of text."""
    table = [tuple(column.title for column in columns), *(tuple(row) for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    return ["  ".join(map(_cell, row, widths, columns)).rstrip() for row in table]


def _cell(text: str, width: int, column: Column) -> str:
    return text.rjust(width) if column.justify == "right" else text.ljust(width)


def plural(count: int, noun: str) -> str:
    """1 step, 1,234 steps."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
