"""Spark's active session, in which it looks up data sources and settings: each thread has one of its own, or none."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import DataFrameReader, DataFrameWriter, SparkSession
from pyspark.sql.streaming import DataStreamReader, DataStreamWriter

_WRAPPED: Final = "zombieproof_in_its_session"
LIMITS: Final = ("spark.sql.debug.maxToStringFields", "spark.sql.maxPlanStringLength")
"""Of the text of a plan: Spark leaves out what is beyond."""
LONGEST: Final = str((1 << 31) - 16)
"""The largest length of a text in Spark."""
_limits = threading.Lock()
"""Held while the limits of a session are not its own."""


@contextmanager
def active(session: Any) -> Iterator[None]:
    """Let a session be the active one of this thread, and afterwards the one that was."""
    sessions = SparkSession._get_j_spark_session_class(session._jvm)  # noqa: SLF001  # PySpark has no public name
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)  # noqa: SLF001  # as above
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


@contextmanager
def without_limits(session: Any) -> Iterator[None]:
    """Let the texts of plans be whole, whichever session is the active one of this thread."""
    with _limits, active(session):
        conf, before = session.conf, {name: session.conf.get(name) for name in LIMITS}
        try:
            for name in LIMITS:
                conf.set(name, LONGEST)
            yield
        finally:
            for name, limit in before.items():
                conf.set(name, limit)


def start_in_own_session() -> None:
    """Let reads and writes start in the session of their rows, also in a thread that has no active session."""
    for owner, method in (
        (DataStreamReader, "load"),
        (DataFrameReader, "load"),
        (DataStreamWriter, "start"),
        (DataStreamWriter, "toTable"),
        (DataFrameWriter, "save"),
    ):
        original = getattr(owner, method)
        if not hasattr(original, _WRAPPED):
            made = _in_own_session(original)
            setattr(made, _WRAPPED, True)
            setattr(owner, method, made)


def _in_own_session(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def in_own_session(self: Any, *arguments: Any, **named: Any) -> Any:
        with active(self._spark):
            return original(self, *arguments, **named)

    return in_own_session
