"""The strings of JSON documents one after the other, each with its key and what stands beside it.

A document need not be whole: an export may be cut, or be one of many in a text. Lines are taken one by one.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

TOKEN = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)(?P<end>"?)|(?P<sign>[{}\[\]:,])')
MOST_DEEP = 100


class Frame:
    """An object or array that is open: the names of its members, and of those of objects within its members."""

    def __init__(self, above: "Frame | None", key: str, *, is_array: bool) -> None:
        self.above, self.key, self.is_array = above, key, is_array
        self.found: dict[str, str] = {}

    def note(self, key: str, text: str) -> None:
        """Keep a member, under its own name and below the name of its object; arrays keep theirs to themselves."""
        frame: Frame | None = self
        names = [re.sub(r"[^a-z]", "", name.lower()) for name in (key, f"{self.key}{key}")]
        while frame is not None and not frame.is_array:
            for name in names:
                frame.found.setdefault(name, text)
            frame = frame.above

    def names(self) -> dict[str, str]:
        """All that stands beside a string: in its object, and in those around it."""
        found: dict[str, str] = {}
        frame: Frame | None = self
        while frame is not None:
            found = {**frame.found, **found}
            frame = frame.above
        return found


class Found(NamedTuple):
    """A string that is a value: the key of the object it is in or below, its text, and where it stands."""

    key: str
    text: str
    frame: Frame


class Strings:
    """Passes over documents line by line; `is_inside`: from the middle of an object on."""

    def __init__(self, *, is_inside: bool = False) -> None:
        self._last = Frame(None, "", is_array=False)
        self._frame: Frame | None = self._last if is_inside else None
        self.depth = 0
        self._key: str | None = None

    def names(self) -> dict[str, str]:
        """What the document that ended last says of itself."""
        return self._last.names()

    def take(self, index: int, line: str) -> Iterator[Found]:
        """The strings in a line that are values. `index` is that of the line."""
        at = 0
        while found := TOKEN.search(line, at):
            at = found.end()
            if sign := found["sign"]:
                self._sign(sign)
                continue
            text = _decoded(found["text"])
            behind = line[at:].lstrip()
            if self._frame is not None and not self._frame.is_array and self._key is None and behind.startswith(":"):
                self._key = text
            elif self._frame is not None:
                key = self._key if self._key is not None else self._frame.key
                if key == "value" and "field" in self._frame.found:
                    key = self._frame.found["field"]
                if not self._frame.is_array:
                    self._frame.note(key, text)
                self._key = None
                yield Found(key, text, self._frame)

    def _sign(self, sign: str) -> None:
        if sign in "{[" and self.depth < MOST_DEEP:
            above = self._frame
            key = self._key if self._key is not None else above.key if above is not None else ""
            self._frame, self._key = Frame(above, key, is_array=sign == "["), None
            self.depth += 1
        elif sign in "}]" and self._frame is not None:
            self._last, self._frame, self._key = self._frame, self._frame.above, None
            self.depth -= 1
        elif sign == ",":
            self._key = None


def _decoded(text: str) -> str:
    if "\\" not in text:
        return text
    try:
        decoded: str = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return text
    return decoded if _is_sound(decoded) else text


def _is_sound(text: str) -> bool:
    """Whether no half of a pair of surrogates is left, which no encoding has."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True
