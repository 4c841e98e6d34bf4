"""Standard streams that may fail: a closed stream, a full disk, a reader that has gone.

The report on stdout must be delivered, or `Undelivered` is raised. Output to stderr may be lost.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast


class Undelivered(Exception):
    """Raised when the report cannot be written. Not an OSError, so that only `main` handles it."""

    def __init__(self, error: OSError | ValueError) -> None:
        why = error.strerror if isinstance(error, OSError) else str(error)
        super().__init__(f"the report cannot be written to stdout: {why}")
        self.nobody_reads = isinstance(error, BrokenPipeError)


class Stdout:
    """Standard output."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream or _closed()

    def write(self, text: str) -> int:
        """Write.

        Raises:
            Undelivered: the system refuses the output.
        """
        try:
            return self._stream.write(text)
        except (OSError, ValueError) as error:  # ValueError: the stream was closed
            raise Undelivered(error) from error

    def flush(self) -> None:
        """Flush the buffers.

        Raises:
            Undelivered: the system refuses the output.
        """
        try:
            self._stream.flush()
        except (OSError, ValueError) as error:
            raise Undelivered(error) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Stderr:
    """Standard error: progress and remarks; failing to write them is not an error."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream or _closed()

    def write(self, text: str) -> int:
        """Write; ignore errors."""
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the buffers; ignore errors."""
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Closed(io.TextIOBase):
    """Replaces a stream that was closed before the program started, for which Python has None."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        del text
        raise OSError(errno.EBADF, "it is closed")


def _closed() -> TextIO:
    return cast("TextIO", _Closed())


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Within this block, stdout raises `Undelivered` on failure, stderr never fails, and stdin exists."""
    outer, inner = (sys.stdin, sys.stdout, sys.stderr), (Stdout(sys.stdout), Stderr(sys.stderr))
    if None in outer:
        _occupy()
    for stream in outer[1:]:
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show → shows ?, and nothing fails.
            stream.reconfigure(errors="replace")
    sys.stdin = outer[0] or io.TextIOWrapper(io.BytesIO())
    sys.stdout, sys.stderr = (cast("TextIO", stream) for stream in inner)
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = outer
        for stream in outer[1:]:
            _empty(stream)


def _occupy() -> None:
    """Occupy the descriptors of closed streams, so that no file opened later receives their output."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one


def _empty(stream: TextIO | None) -> None:
    """Flush a stream, or drop its output: Python would retry at exit and replace the exit code."""
    if stream is None:
        return
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):  # a stream of a test has no file
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            stream.flush()
