"""Writing a history down around clients: every call says one event, in the order in which they happen."""

import itertools
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from zombieproof.traces.history.events import (
    Begin,
    CommitOffsets,
    End,
    Ended,
    Event,
    Fetched,
    FinalRead,
    Init,
    Initialized,
    Input,
    Isolation,
    OffsetsCommitted,
    Outcome,
    Positioned,
    Read,
    Send,
    Sent,
)
from zombieproof.traces.history.history_file import History, Source, format_event, format_header


class HistoryWriter:
    """Writes events to a new file, or keeps them (`path` None) for `history`; any number of threads may use it.

    An event is handed to the system before its method returns, so that the file says what a process was told also when
    it is killed at the next instant; `is_buffered` gives that up for speed.

    Args:
        path: a file that does not exist.
        now: the time, for histories of several processes (``time.monotonic_ns``); by default events are counted.
        is_buffered: write when the buffer is full, and on `close`.

    Raises:
        FileExistsError: there is a file already.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        now: Callable[[], int] | None = None,
        *,
        is_buffered: bool = False,
    ) -> None:
        self._name = "history" if path is None else os.fspath(path)
        self._now = now or itertools.count(1).__next__
        self._last = -1
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._is_buffered = is_buffered
        self._file: IO[str] | None = None
        if path is not None:
            # It stays open as long as the writer.
            self._file = Path(path).open("x", encoding="utf-8", newline="\n")  # noqa: SIM115
            self._file.write(format_header() + "\n")
            self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing more is written."""
        if self._file is not None:
            self._file.close()

    def history(self) -> History:
        """What was kept, where there is no file."""
        with self._lock:
            return History((Source(self._name, tuple(self._events)),))

    def now(self) -> int:
        """A place in time: what is asked now, and told later, has it as its `since`."""
        with self._lock:
            return self._next()

    def _next(self) -> int:
        self._last = max(self._now(), self._last + 1)
        return self._last

    def _write(self, event_at: Callable[[int], Event]) -> int:
        with self._lock:
            event = event_at(self._next())
            if self._file is None:
                self._events.append(event)
            else:
                self._file.write(format_event(event) + "\n")
                if not self._is_buffered:
                    self._file.flush()
            return event.at

    # ---------------------------------------------------------------- producers

    def init(self, process: str, transactional_id: str) -> int:
        """A process asks to be the only one under its transactional id."""
        return self._write(lambda at: Init(at=at, process=process, transactional_id=transactional_id))

    def initialized(self, process: str, outcome: Outcome) -> int:
        """What it was told."""
        return self._write(lambda at: Initialized(at=at, process=process, outcome=outcome))

    def begin(self, process: str, transaction: str) -> int:
        """A process begins a transaction."""
        return self._write(lambda at: Begin(at=at, process=process, transaction=transaction))

    def send(
        self, process: str, partition: str, value: str, transaction: str | None = None, inputs: Iterable[Input] = ()
    ) -> int:
        """A record sets out."""
        made_of = tuple(inputs)
        return self._write(
            lambda at: Send(
                at=at, process=process, partition=partition, value=value, transaction=transaction, inputs=made_of
            )
        )

    def acknowledged(self, process: str, value: str, offset: int) -> int:
        """A record was acknowledged at an offset."""
        return self._write(lambda at: Sent(at=at, process=process, value=value, outcome="acknowledged", offset=offset))

    def not_sent(self, process: str, value: str, outcome: Outcome) -> int:
        """A record was not acknowledged: failed, fenced or unknown.

        Raises:
            ValueError: `outcome` is "ok".
        """
        if outcome == "ok":
            raise ValueError(f"{value} was sent: say `acknowledged`, with its offset")
        return self._write(lambda at: Sent(at=at, process=process, value=value, outcome=outcome))

    def commit_offsets(
        self,
        process: str,
        group: str,
        offsets: Mapping[str, int],
        transaction: str | None = None,
        inputs: Iterable[Input] = (),
    ) -> int:
        """Offsets of a group set out, with a transaction or by themselves."""
        made_of = tuple(inputs)
        return self._write(
            lambda at: CommitOffsets(
                at=at, process=process, group=group, offsets=dict(offsets), transaction=transaction, inputs=made_of
            )
        )

    def offsets_committed(self, process: str, outcome: Outcome) -> int:
        """What the process was told of the offsets that it sent last."""
        return self._write(lambda at: OffsetsCommitted(at=at, process=process, outcome=outcome))

    def commit(self, process: str, transaction: str) -> int:
        """A process asks for its transaction to be committed."""
        return self._write(lambda at: End(at=at, process=process, transaction=transaction, wants="commit"))

    def abort(self, process: str, transaction: str) -> int:
        """A process asks for its transaction to be aborted."""
        return self._write(lambda at: End(at=at, process=process, transaction=transaction, wants="abort"))

    def committed(self, process: str, transaction: str) -> int:
        """It was told that its transaction is committed."""
        return self._write(lambda at: Ended(at=at, process=process, transaction=transaction, outcome="committed"))

    def aborted(self, process: str, transaction: str) -> int:
        """It was told that its transaction is aborted."""
        return self._write(lambda at: Ended(at=at, process=process, transaction=transaction, outcome="aborted"))

    def not_ended(self, process: str, transaction: str, outcome: Outcome) -> int:
        """It was told something else of the end: failed, fenced or unknown.

        Raises:
            ValueError: `outcome` is "ok".
        """
        if outcome == "ok":
            raise ValueError(f"{transaction} was ended: say `committed` or `aborted`")
        return self._write(lambda at: Ended(at=at, process=process, transaction=transaction, outcome=outcome))

    # ---------------------------------------------------------------- readers

    def positioned(self, reader: str, isolation: Isolation, positions: Mapping[str, int]) -> int:
        """A reader starts, starts again, or goes elsewhere."""
        return self._write(lambda at: Positioned(at=at, reader=reader, isolation=isolation, positions=dict(positions)))

    def read(self, reader: str, partition: str, offset: int, value: str) -> int:
        """A record is handed to the application of a reader."""
        return self._write(lambda at: Read(at=at, reader=reader, partition=partition, offset=offset, value=value))

    def final_read(self, reader: str, partition: str, *, position: int, end: int, since: int) -> int:
        """A reader has read all that it gets, when no client was at work and every time-out was over."""
        return self._write(
            lambda at: FinalRead(at=at, since=since, reader=reader, partition=partition, position=position, end=end)
        )

    def fetched(self, process: str, group: str, offsets: Mapping[str, int], *, since: int, stable: bool = True) -> int:
        """Committed offsets that somebody got; -1 where there are none."""
        return self._write(
            lambda at: Fetched(at=at, since=since, process=process, group=group, offsets=dict(offsets), stable=stable)
        )
