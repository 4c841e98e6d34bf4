"""The lines of a text file, read as they are needed, with a look ahead."""

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterator

WINDOW = 1 << 20
HEAD = 1 << 16
NEARLY_ALL = 0.9

UTF_32 = ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"))
UTF_16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
WITHOUT_MARK = (("utf-32-le", (0,)), ("utf-32-be", (3,)), ("utf-16-le", (0,)), ("utf-16-be", (1,)))
"""Where the bytes of a text in Latin letters are that are not zero."""

Reached = Callable[[int], None]
"""Hears now and then how many bytes of a file were read."""

ELSEWHERE = "\x1a\x1a"
"""Stands for a line that belongs to something else than the text around it: it is counted, and not returned."""

PART = re.compile(r"==> (?P<name>\S.*?) <==\s*")
"""What ``head`` and ``tail`` print above each file: its name is that of the lines below."""

_ELSEWHERE = ELSEWHERE.encode()


class Lines:
    """A cursor over lines that end in a line feed; other control characters belong to the text.

    `number` counts from 1 and is the line that `take` returned last. Bytes that are not UTF-8 become U+FFFD.
    `ends_open` tells that the file does not end in a line feed: its last line may be cut.
    """

    def __init__(self, data: memoryview, reached: Reached | None = None) -> None:
        self._source = enumerate(_lines(data, reached), 1)
        self._ahead: deque[tuple[int, str]] = deque()
        self.number = 0
        self.ends_open = bool(len(data)) and data[len(data) - 1] != 0x0A

    def take(self) -> str | None:
        """The next line, or None at the end."""
        if self._ahead:
            self.number, line = self._ahead.popleft()
            return line
        for number, line in self._source:
            if line is not ELSEWHERE:
                self.number = number
                return line
        return None

    def peek(self, index: int) -> str | None:
        """The line `index` (0, 1, …) behind the one taken last, or None behind the end."""
        while len(self._ahead) <= index:
            found = next((each for each in self._source if each[1] is not ELSEWHERE), None)
            if found is None:
                return None
            self._ahead.append(found)
        return self._ahead[index][1]

    def __iter__(self) -> Iterator[str]:
        ahead = self._ahead
        while True:
            while ahead:
                self.number, line = ahead.popleft()
                yield line
            for number, line in self._source:
                if line is not ELSEWHERE:
                    self.number = number
                    yield line
                    if ahead:
                        break
            else:
                if not ahead:
                    return


def _lines(data: memoryview, reached: Reached | None) -> Iterator[str]:
    rest = b""
    for start in range(0, len(data), WINDOW):
        if reached is not None:
            reached(start)
        parts = (rest + bytes(data[start : start + WINDOW])).split(b"\n")
        rest = parts.pop()
        for part in parts:
            yield part.decode(errors="replace") if part != _ELSEWHERE else ELSEWHERE
    if rest:
        yield rest.decode(errors="replace")


def decoded(data: memoryview) -> tuple[memoryview, list[str]]:
    """The text as UTF-8, and how it was encoded if it was in another way."""
    start = bytes(data[:4])
    if start.startswith(codecs.BOM_UTF8):
        return memoryview(bytes(data[len(codecs.BOM_UTF8) :])), ["UTF-8 with a byte order mark"]
    for mark, encoding in (*UTF_32, *UTF_16):
        if start.startswith(mark):
            return _transcoded(data[len(mark) :], encoding), [_name_of(encoding)]
    for encoding, places in WITHOUT_MARK:
        width = 4 if encoding.startswith("utf-32") else 2
        zeros = b"".join(bytes(data[at:HEAD:width]) for at in range(width) if at not in places)
        others = b"".join(bytes(data[at:HEAD:width]) for at in places)
        if zeros and zeros.count(0) > NEARLY_ALL * len(zeros) and others.count(0) < len(others) * (1 - NEARLY_ALL):
            return _transcoded(data, encoding), [_name_of(encoding)]
    return data, []


def _name_of(encoding: str) -> str:
    return encoding[:6].upper()


def _transcoded(data: memoryview, encoding: str) -> memoryview:
    text = bytes(data).decode(encoding, errors="replace").removeprefix("\ufeff")
    return memoryview(text.encode(errors="replace"))
