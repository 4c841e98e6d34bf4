"""Who of several threads drives a cluster while they all wait, and which of them is woken when.

Theory of operation: one thread at a time drives; the others sleep, each until the driver finds that what it waits for
is over, which he asks each of them about after every turn. Who drives and has what he waited for hands the driving to
the one who waits longest. So a thread is woken once for each wait, and not for everything that happens meanwhile.
"""

import threading
from collections.abc import Callable


class Waiter:
    """A thread that waits until `is_over`, which must be quick and may be called by any thread."""

    __slots__ = ("drives", "gate", "is_over")

    def __init__(self, is_over: Callable[[], bool]) -> None:
        self.is_over, self.drives, self.gate = is_over, False, threading.Lock()
        self.gate.acquire()


class Turns:
    """The waiters of one cluster, the longest first, of which at most one drives."""

    def __init__(self) -> None:
        self._books = threading.Lock()
        self._is_driven = False
        self._asleep: dict[Waiter, None] = {}

    @property
    def is_shared(self) -> bool:
        """Whether somebody waits besides the driver."""
        return bool(self._asleep)

    def come(self, waiter: Waiter) -> None:
        """A thread begins to wait; it drives if nobody does."""
        with self._books:
            if self._is_driven:
                self._asleep[waiter] = None
            else:
                waiter.drives = self._is_driven = True

    def sleep(self, waiter: Waiter, seconds: float) -> None:
        """Wait until it is over, until the driving is handed over, or so long."""
        if waiter.gate.acquire(timeout=seconds):
            return
        with self._books:
            if waiter not in self._asleep:  # It was woken just now.
                waiter.gate.acquire()

    def wake(self) -> None:
        """Wake whoever has what he waited for."""
        if self._asleep:
            with self._books:
                for waiter in [each for each in self._asleep if each.is_over()]:
                    self._wake(waiter)

    def leave(self, waiter: Waiter) -> None:
        """A thread waits no longer; if it drives, another does from now on."""
        with self._books:
            self._asleep.pop(waiter, None)
            if not waiter.drives:
                return
            self._is_driven = bool(self._asleep)
            for following in self._asleep:
                following.drives = True
                self._wake(following)
                break

    def _wake(self, waiter: Waiter) -> None:
        del self._asleep[waiter]
        waiter.gate.release()
