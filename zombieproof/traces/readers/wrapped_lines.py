"""Long lines that a terminal or a mail program broke at one column: they are joined again.

Nothing marks such a break. It shows by the lengths: no line is longer than the width, and what follows a full line
begins like nothing that a tool prints.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from zombieproof.traces.readers.layouts import CANONICAL
from zombieproof.traces.readers.lines import ELSEWHERE, HEAD
from zombieproof.traces.readers.timestamps import HEAD as STAMP

AT_A_COLUMN = "lines that were broken at column"
BETWEEN_WORDS = "lines that were broken between words, before column"
NOT_JOINED = "lines that seem to be broken, and are not joined, at about column"
WORD, PART_OF_WORD = re.compile(r"\S*"), re.compile(r"[^\s-]*-?")
NARROWEST, WIDEST = 40, 400
ENOUGH = 3
"""As many breaks there are at least in a log; in a dump one batch that is cut is enough."""
_OF_DUMP = re.compile(
    r"baseOffset: \d|\| offset: \d|offset: \d+ position: |Dumping |(?:Log s|S)tarting offset: |\x1a|\s*$", re.ASCII
)
_OF_LOG = re.compile(rf'{STAMP.pattern}|%\d\||\{{"|Dumping |Caused by: |Suppressed: |\x1a|\s*$', re.ASCII)
"""How lines begin that nothing broke off."""


def joined_again(data: memoryview) -> tuple[memoryview, str] | None:
    """The text with whole lines where their first parts were, and the name of the form; None if none is broken."""
    head = bytes(data[:HEAD])
    if b"\0" in head:
        return None
    sample = head.decode(errors="surrogateescape").split("\n")[: -1 if len(data) > HEAD else None]
    width = max(map(len, sample), default=0)
    if not NARROWEST <= width <= WIDEST or _kind_of_break(sample, width) is None:
        return None
    lines = bytes(data).decode(errors="surrogateescape").split("\n")
    width = max(map(len, lines))
    kind = _kind_of_break(lines, width) if width <= WIDEST else None
    if kind is None:
        return None
    if kind == NOT_JOINED:
        return data, f"{kind} {width}"
    whole = [ELSEWHERE] * len(lines)
    for at, line in _joined(lines, width, kind):
        whole[at] = line
    return memoryview("\n".join(whole).encode(errors="surrogateescape")), f"{kind} {width}"


def _begins(lines: Sequence[str]) -> re.Pattern[str]:
    return _OF_DUMP if any(line.startswith("baseOffset: ") for line in lines) else _OF_LOG


def _is_cut(line: str) -> bool:
    """Whether the line of a batch is not all there."""
    return line.startswith("baseOffset: ") and " magic: " not in line


def _breaks(lines: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Each line below which there is what no tool begins a line with, and whether a tool began it."""
    begins = _begins(lines)
    is_open = False
    for line, below in pairwise(lines):
        is_first = begins.match(line) is not None and line != ELSEWHERE and line.strip() != ""
        is_open = (is_open or is_first) and bool(line.strip())
        if begins.match(below) or CANONICAL.fullmatch(line):
            is_open = False
        elif is_open:
            yield line, below, is_first


def _kind_of_break(lines: Sequence[str], width: int) -> str | None:
    """Where lines are broken: at the width, or between words as near to it as they go."""
    breaks = list(_breaks(lines))
    first = [(line, below) for line, below, is_first in breaks if is_first and not below.startswith(("\t", "  "))]
    is_dump = _begins(lines) is _OF_DUMP
    if not any(_is_cut(line) for line, _ in first) if is_dump else len(first) < ENOUGH:
        return None  # Payloads and stack traces go over lines too.
    is_between_words = any(len(line) != width for line, _, _ in breaks) and any(
        all(_is_needed(line, word, width) for line, below, _ in breaks if (word := of_word.match(below)))
        for of_word in (WORD, PART_OF_WORD)
    )
    if is_between_words:
        return BETWEEN_WORDS
    if 3 * sum(len(line) == width for line, _ in first) >= 2 * len(first):
        return AT_A_COLUMN
    return NOT_JOINED if is_dump else None


def _is_needed(line: str, word: re.Match[str], width: int) -> bool:
    """Whether the first word of a line would not have stood at the end of the line above it."""
    return len(line.rstrip()) + (not line.endswith("-")) + len(word[0]) > width


def _joined(lines: Sequence[str], width: int, kind: str) -> Iterator[tuple[int, str]]:
    begins = _begins(lines)
    first, text, is_open = 0, lines[0], begins.match(lines[0]) is not None
    for at, (line, below) in enumerate(pairwise(lines), 1):
        may_go_on = (
            is_open
            and not (begins.match(below) or CANONICAL.fullmatch(text))
            and (kind == BETWEEN_WORDS or len(line) == width)
        )
        if not may_go_on:
            yield first, text
            first, text, is_open = at, below, is_open or begins.match(below) is not None
        elif kind == AT_A_COLUMN or _is_in_a_word(line, below, width):
            text += below
        else:
            text = f"{text.rstrip()}{'' if _is_at_hyphen(text, below) else ' '}{below}"
    yield first, text


def _is_at_hyphen(text: str, below: str) -> bool:
    """Whether a word was broken behind its hyphen."""
    return text.endswith("-") and text[-2:-1].isalnum() and below[:1].isalnum()


def _is_in_a_word(line: str, below: str, width: int) -> bool:
    """Whether a break is within a word: only those are broken that are longer than a line."""
    word = line.rsplit(" ", 1)[-1] + below.split(" ", 1)[0]
    return len(line) == width and len(word) > width
