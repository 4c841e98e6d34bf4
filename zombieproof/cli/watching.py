"""What can be seen of an exploration while it runs: a bar on a terminal, nothing in a pipe. All of it on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from zombieproof.report.screen import Screen

if TYPE_CHECKING:
    from zombieproof.checker.result import Progress as Reached

Watch = Callable[["Reached"], None]


class Watcher:
    """Shows one exploration after the other."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self.task = bar.add_task("", total=None, reached="")

    def begin(self, name: str, expected: int | None) -> Watch:
        """Begin to show an exploration; `expected` is the number of worlds it will find, if that is known."""
        self.bar.reset(
            self.task, description=name, total=expected, reached="compiling, once for each edit of the model"
        )

        def reached(progress: Reached) -> None:
            rate = progress.distinct / progress.seconds if progress.seconds else 0.0
            words = (
                f"{progress.distinct:,} distinct, {rate / 1e6:.2f} M/s, depth {progress.depth}, "
                f"frontier {progress.frontier:,}, {progress.resident_mib:,.0f} MiB"
            )
            self.bar.update(self.task, completed=progress.distinct, reached=words)

        return reached


@contextmanager
def watching() -> Iterator[Watcher]:
    """Watch explorations in this block; what was shown is gone afterwards."""
    console = Console(stderr=True, highlight=False)
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[reached]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not (console.is_terminal and sys.stderr.isatty()),
        # Lines on stdout must not pass through the bar: they are the report.
        redirect_stdout=False,
        redirect_stderr=False,
    )
    try:
        with bar:
            yield Watcher(bar)
    finally:
        _tell_fault_of_the_cache()


def _tell_fault_of_the_cache() -> None:
    from zombieproof.checker.cache import take_fault  # noqa: PLC0415  # Numba is loaded when it is needed

    fault = take_fault()
    if fault:
        Screen(sys.stderr).say(fault)
