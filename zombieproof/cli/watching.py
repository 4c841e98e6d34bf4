"""Progress of an exploration on stderr: a bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from zombieproof.report.screen import Screen

if TYPE_CHECKING:
    from rich.progress import Progress

    from zombieproof.checker.engine.result import Progress as Reached

Watch = Callable[["Reached"], None]


class Watcher:
    """Shows explorations one after another; shows nothing without a bar."""

    def __init__(self, bar: Progress | None) -> None:
        self.bar = bar
        self._tasks = [bar.add_task("", total=None, reached="")] if bar else []

    def begin(self, name: str, expected: int | None) -> Watch:
        """Start to show an exploration; `expected` is the number of states it will find, if known."""
        if self.bar is None:
            return lambda now: None
        bar, [task] = self.bar, self._tasks
        bar.reset(task, description=name, total=expected, reached="compiling (once after each change of the model)")

        def reached(now: Reached) -> None:
            rate = now.distinct / now.seconds if now.seconds else 0.0
            words = (
                f"{now.distinct:,} distinct, {rate / 1e6:.2f} M/s, depth {now.depth}, "
                f"frontier {now.frontier:,}, {now.resident_mib:,.0f} MiB"
            )
            words += f", checkpoint of depth {now.checkpoint}" if now.checkpoint >= 0 else ""
            bar.update(task, completed=now.distinct, reached=words)

        return reached


@contextmanager
def watching() -> Iterator[Watcher]:
    """Show progress within this block; remove it afterwards."""
    from zombieproof.checker.engine.internals.expected import take_warning  # noqa: PLC0415  # Numba is not needed by all

    _warn(take_warning())
    try:
        if not sys.stderr.isatty():
            yield Watcher(None)
            return
        from zombieproof.cli.bars import progress  # noqa: PLC0415  # it is loaded when it is seen

        with progress() as bar:
            yield Watcher(bar)
    finally:
        from zombieproof.checker.engine.cache import take_fault  # noqa: PLC0415  # Numba is loaded when it is needed

        _warn(take_fault())


def _warn(fault: str | None) -> None:
    if fault:
        Screen(sys.stderr).say(fault)
