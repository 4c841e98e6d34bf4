"""Progress of a replay on stderr: a bar on a terminal, nothing in a pipe.

Partial results are kept in either case and reported after an interruption.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from zombieproof.report.so_far import SoFar, amount
from zombieproof.traces.watching import Stage, Watch

if TYPE_CHECKING:
    from rich.progress import Progress

    from zombieproof.traces.verdict.faults import Fault

BAR_WIDTH = 12
BESIDE_NAME = BAR_WIDTH + 32
"""Columns that bar, percentage, rate and time left need."""
LEAST_NAME = 20

Bar: TypeAlias = "Progress"


class Following(Watch):
    """Keeps partial results, and shows progress on a bar if there is one."""

    def __init__(self, bar: Bar | None = None) -> None:
        self.so_far = SoFar()
        self._bar = bar
        self._task = None if bar is None else bar.add_task("", total=None, rate="")
        self._began = time.monotonic()

    def begins(self, stage: Stage, total: int, names: Sequence[str]) -> None:
        """Start a stage."""
        self.so_far.stage, self.so_far.total, self.so_far.done = stage, total, 0
        if stage is Stage.READING:
            self.so_far.files = list(names)
        else:
            self.so_far.to_judge = list(names)
        self._began = time.monotonic()
        if self._bar is not None and self._task is not None:
            self._bar.reset(self._task, total=total, description=stage.value, rate="")

    def works_on(self, name: str) -> None:
        """Show the current file; cut its name at the front if it does not fit."""
        if self._bar is not None and self._task is not None:
            room = max(LEAST_NAME, self._bar.console.width - BESIDE_NAME)
            self._bar.update(self._task, description=shortened(f"{self.so_far.stage.value} {name}", room))

    def advances(self, count: int) -> None:
        """Count bytes or events as done."""
        self.so_far.done += count
        if self._bar is not None and self._task is not None:
            seconds = max(time.monotonic() - self._began, 1e-3)
            rate = f"{amount(self.so_far.stage, round(self.so_far.done / seconds))}/s"
            self._bar.update(self._task, completed=self.so_far.done, rate=rate)

    def has_read(self, file: str) -> None:
        """Note that a file was read completely."""
        self.so_far.read.append(file)

    def has_judged(self, name: str, faults: Sequence[Fault]) -> None:
        """Note that a partition or transactional id was checked by itself."""
        self.so_far.judged.append(name)
        self.so_far.findings += (fault.finding() for fault in faults)


def shortened(text: str, room: int) -> str:
    """Shorten a text in the middle: keep the first word (the stage) and the end (the file)."""
    if len(text) <= room:
        return text
    word, _, name = text.partition(" ")
    left = max(1, room - len(word) - 2)
    return f"{word} …{name[-left:]}"


@contextmanager
def following() -> Iterator[Following]:
    """Show the progress of a replay within this block."""
    if not sys.stderr.isatty():
        yield Following()
        return
    from rich.console import Console  # noqa: PLC0415  # only for a terminal
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    console = Console(stderr=True, highlight=False)
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=BAR_WIDTH),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with bar:
        yield Following(bar)
