"""A progress line on stderr: name, bar, counts, and the remaining time where it is known."""

from __future__ import annotations

import sys
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress_bar import ProgressBar
from rich.table import Column
from rich.text import Text

_WIDE: Final = 120
_NARROW: Final = 60


class Share(ProgressColumn):
    """A bar if the total is known; otherwise the name gets its space."""

    def __init__(self, width: int, table_column: Column) -> None:
        super().__init__(table_column)
        self._bar = BarColumn(width)

    def render(self, task: Task) -> ProgressBar | Text:
        """Return the bar, or nothing."""
        return Text() if task.total is None else self._bar.render(task)


class Reached(ProgressColumn):
    """The field `reached`, shortened to the available width."""

    def render(self, task: Task) -> Text:
        """Return the text, which is cut where the line ends."""
        return Text(task.fields["reached"], no_wrap=True, overflow="ellipsis")


class Clock(ProgressColumn):
    """How long it has taken, and how long it will still take as far as that can be known."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        """Return for example "0:07, 1:20 left"."""
        words = spoken(task.elapsed or 0.0)
        left = task.time_remaining if task.total and task.completed else None
        return Text(words if left is None else f"{words}, {spoken(left)} left", no_wrap=True)


def spoken(seconds: float) -> str:
    """Minutes and seconds, 1:05, and hours where there are any, 2:01:05."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def progress() -> Progress:
    """A line of progress on a terminal, nothing in a pipe; gone afterwards. Its tasks have the field `reached`."""
    console = Console(stderr=True, highlight=False)
    whole = Column(no_wrap=True)
    columns: list[ProgressColumn] = [
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False, table_column=whole),
    ]
    if console.width >= _NARROW:
        columns.append(Share(20 if console.width >= _WIDE else 8, table_column=whole))
    columns += [Reached(), Clock(table_column=whole)]
    return Progress(
        *columns,
        console=console,
        transient=True,
        disable=not (console.is_terminal and sys.stderr.isatty()),
        # Lines on stdout must not pass through the bar: they are the report.
        redirect_stdout=False,
        redirect_stderr=False,
    )
