"""Where segments are screened: in this process, in several, or (`pipeline.audit`) on Spark; a segment is a task.

A segment is screened knowing nothing of those before it, so that any of them can be screened at any time. Only what is
left of them comes together here, in their order.
"""

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from zombieproof.formats.faults import Undecodable
from zombieproof.screening.gathering import Screened, screen_stored

Task = tuple[str, str]
"""A segment file, and its topic."""

Segments = Callable[[str, str, Callable[[int], None]], Screened]
"""Gives what is left of a segment: of its file and topic; what is given last hears of bytes. Raises OSError."""

Runner = Callable[[Sequence[Task]], Segments]
"""Begins to screen segments, which will be asked for in this order, each once or not at all."""

Result = tuple[str, Screened | None]
"""A file, and what is left of it; None: it cannot be opened."""

AHEAD = 4
"""Segments under way for each process: what is left of them waits for those before."""


def here(tasks: Sequence[Task]) -> Segments:
    """Screen each segment when it is asked for."""
    del tasks
    return screen_stored


def screened(task: Task) -> Result:
    """Screen one segment."""
    try:
        return task[0], screen_stored(*task, lambda _: None)
    except (OSError, Undecodable):
        return task[0], None


def as_asked(results: Iterable[Result]) -> Segments:
    """Results in the order of their tasks as what is asked for; those that nobody asks for are passed over."""
    coming = iter(results)

    def segment(file: str, topic: str, reached: Callable[[int], None]) -> Screened:
        del topic
        for name, result in coming:
            if name == file and result is not None:
                reached(result.stored.size)
                return result
            if name == file:
                break
        raise OSError(f"{file} was not screened")

    return segment


@contextmanager
def processes(number: int) -> Iterator[Runner]:
    """Screen segments in several processes, which end with this block."""
    pool = ProcessPoolExecutor(number, get_context("spawn"), initializer=_leave_interrupts)
    try:
        yield lambda tasks: as_asked(_in_order(pool, tasks, number * AHEAD))
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_interrupts() -> None:
    """Whoever interrupts the program interrupts the process that began the others: it ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _in_order(pool: ProcessPoolExecutor, tasks: Iterable[Task], ahead: int) -> Iterator[Result]:
    waiting: deque[Future[Result]] = deque()
    for task in tasks:
        waiting.append(pool.submit(screened, task))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
