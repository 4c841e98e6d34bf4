"""The lines of a text file, read as they are needed, with a look ahead."""

from collections import deque
from collections.abc import Callable, Iterator

WINDOW = 1 << 20

Reached = Callable[[int], None]
"""Hears now and then how many bytes of a file were read."""


class Lines:
    """A cursor over lines that end in a line feed; other control characters belong to the text.

    `number` counts from 1 and is the line that `take` returned last. Bytes that are not UTF-8 become U+FFFD.
    `ends_open` tells that the file does not end in a line feed: its last line may be cut.
    """

    def __init__(self, data: memoryview, reached: Reached | None = None) -> None:
        self._source = _lines(data, reached)
        self._ahead: deque[str] = deque()
        self.number = 0
        self.ends_open = bool(len(data)) and data[len(data) - 1] != 0x0A

    def take(self) -> str | None:
        """The next line, or None at the end."""
        if self._ahead:
            self.number += 1
            return self._ahead.popleft()
        line = next(self._source, None)
        if line is not None:
            self.number += 1
        return line

    def peek(self, index: int) -> str | None:
        """The line `index` (0, 1, …) behind the one taken last, or None behind the end."""
        while len(self._ahead) <= index:
            line = next(self._source, None)
            if line is None:
                return None
            self._ahead.append(line)
        return self._ahead[index]

    def __iter__(self) -> Iterator[str]:
        while (line := self.take()) is not None:
            yield line


def _lines(data: memoryview, reached: Reached | None) -> Iterator[str]:
    rest = b""
    for start in range(0, len(data), WINDOW):
        if reached is not None:
            reached(start)
        parts = (rest + bytes(data[start : start + WINDOW])).split(b"\n")
        rest = parts.pop()
        for part in parts:
            yield part.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")
