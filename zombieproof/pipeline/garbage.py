"""Garbage collections of CPython, where they cost more than the work between them.

Rows are tuples that hold no cycles; a million of them make the collector walk all that there is again and again, which
doubles the time of every loop over them.
"""

import contextlib
import functools
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """No collection begins by itself within; what is in cycles is found afterwards."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@functools.cache
def spared() -> None:
    """Take all that is here now out of all later collections of this process, once: modules, which stay anyway.

    Spark keeps its Python workers, and has each collect garbage behind every task: over the 80,000 objects of its own
    modules, of Arrow's and of ours that takes 50 ms of CPU, which is more than a task of a small micro-batch needs.
    """
    gc.freeze()
