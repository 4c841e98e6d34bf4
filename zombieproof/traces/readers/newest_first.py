"""Texts whose newest line stands first, as consoles of log stores export them: they are turned round.

A text is turned round if its times only fall, or the positions in a dump. Its lines are numbered from the last one
then, so that a lower number is earlier everywhere.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from zombieproof.traces.readers.clients.layouts import time_in
from zombieproof.traces.readers.lines import ELSEWHERE, HEAD

TURNED_ROUND = "newest line first (turned round: its lines are numbered from the last one)"
FALLS = 2
"""So often a time falls at least: two lines may be in any order."""
_POSITION = re.compile(r"(?:baseOffset: .*?|offset: \d+) position: (\d+) ", re.ASCII)
_TOP_OF_DUMP = ("Dumping ", "Log starting offset: ", "Starting offset: ")
_WHOLE = (")", "}", "]", '"')


def turned_round(data: memoryview) -> memoryview | None:
    """The text with its oldest line first; None if it need not be turned, or nothing tells."""
    head = bytes(data[:HEAD])
    if b"\0" in head or not _is_falling(_filled(head.decode(errors="surrogateescape").split("\n"))):
        return None
    lines = bytes(data).decode(errors="surrogateescape").split("\n")
    is_whole = lines[-1] == ""
    lines = lines[:-1] if is_whole else lines
    filled = list(_filled(lines))
    if not (is_whole or lines[-1].endswith(_WHOLE)) or not _is_falling(filled):
        return None
    is_by_line = _is_dump(filled) or (time_in(filled[0]) is None and time_in(filled[-1]) is not None)
    turned = lines[::-1] if is_by_line else [line for block in reversed(_blocks(lines)) for line in block]
    return memoryview("".join(f"{line}\n" for line in turned).encode(errors="surrogateescape"))


def _filled(lines: Iterable[str]) -> Iterator[str]:
    return (line for line in lines if line.strip() and line != ELSEWHERE)


def _is_dump(filled: Sequence[str]) -> bool:
    return any(map(_POSITION.match, filled))


def _is_falling(filled: Iterable[str]) -> bool:
    """Whether times only fall, or the first positions of a dump that ends with its beginning."""
    lines = list(filled)
    if not lines or lines[0].startswith(_TOP_OF_DUMP):
        return False
    positions = [int(found[1]) for line in lines if (found := _POSITION.match(line))]
    if positions:
        first = next((pair for pair in pairwise(positions) if pair[0] != pair[1]), (0, 0))
        return first[0] > first[1]
    falls, last = 0, None
    for line in lines:
        time = time_in(line)
        if time is None:
            continue
        if last is not None and time > last:
            return False
        falls += last is not None and time < last
        last = time
    return falls >= FALLS


def _blocks(lines: Sequence[str]) -> list[list[str]]:
    """Each line with a time, and the lines below it that have none, such as a stack trace."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if time_in(line) is not None:
            blocks.append([])
        blocks[-1].append(line)
    return blocks
