"""Where reports are written: rich on a terminal, plain text in a pipe, the same words in both."""

import sys
from collections.abc import Iterable, Sequence
from typing import IO, Literal, NamedTuple

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

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


class Column(NamedTuple):
    """A column of a table."""

    title: str
    justify: Literal["left", "right"] = "left"


class Screen:
    """A stream to which lines and tables are written."""

    def __init__(self, stream: IO[str] | None = None, *, plain: bool = False) -> None:
        self.stream = stream or sys.stdout
        self.plain = plain
        self.console = Console(file=self.stream, highlight=False, markup=False, emoji=False)

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at it."""
        return self.console.is_terminal and not self.plain

    def say(self, text: str = "", style: str = "", indent: int = 0, hang: int = 0) -> None:
        """Write a line; on a terminal it is wrapped, further lines `hang` more columns to the right."""
        if not self.is_terminal:
            self.stream.write(f"{' ' * indent}{text}".rstrip() + "\n")
            return
        width = max(20, self.console.width - indent - hang)
        head, *rest = _wrapped(self.console, text, width + hang) or [""]
        self.console.print(Padding(Text(head, style), (0, 0, 0, indent)))
        for line in _wrapped(self.console, " ".join(rest), width):
            self.console.print(Padding(Text(line, style), (0, 0, 0, indent + hang)))

    def data(self, text: str) -> None:
        """Write text as it is."""
        self.stream.write(text if text.endswith("\n") else text + "\n")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], indent: int = 0) -> None:
        """Write a table. In a pipe its columns are aligned by blanks and never cut or wrapped."""
        rows = [tuple(row) for row in rows]
        if not self.is_terminal:
            for line in plain_table(columns, rows):
                self.stream.write(" " * indent + line + "\n")
            return
        drawn = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
        for column in columns:
            drawn.add_column(column.title, justify=column.justify, overflow="fold")
        for row in rows:
            drawn.add_row(*(Text(cell, STYLES.get(cell, "")) for cell in row))
        self.console.print(Padding(drawn, (0, 0, 0, indent)))


def _wrapped(console: Console, text: str, width: int) -> list[str]:
    return [str(line).rstrip() for line in Text(text).wrap(console, width)] if text else []


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
