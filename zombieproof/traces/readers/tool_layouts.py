"""Tables as people keep them, put back into the layout in which Kafka's tools print them.

Web pages have no-break blanks, and tables of HTML; spreadsheets save commas; databases print a column on each line;
terminals wrap lines at a column, or cut them there. Every line keeps its number. A column that is cut is left out.
"""

import csv
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zombieproof.traces.readers.tool_columns import TABLES, Table, table_with

Numbered = tuple[int, str]

BLANKS = dict.fromkeys(map(ord, "\xa0\u2007\u202f\u3000"), " ")
HEADER_WORD = re.compile(r"(?:Producer|Transactional|Coordinator)Id|CURRENT-|NEW-OFFSET|TOPIC\b.*PARTITION")
"""Text without it holds no header that is laid out in another way."""
_CELL = re.compile(r"<t([hd])\b[^>]*>(.*?)</t\1>", re.IGNORECASE)
_TAG = re.compile(r"</?(?:table|tbody|thead|tr|td|th|pre|code|br|div|p)\b[^>]*>", re.IGNORECASE)
_FIELD = re.compile(r"\s*(?P<name>[A-Z#][\w()#-]*)\s*[:=|]\s?(?P<value>.*)")
_COLUMNS = frozenset(name for table in TABLES for name in table.columns)
_MOST_COLUMNS = max(len(table.columns) for table in TABLES)
_SEPARATORS = (",", ";")
MOST_PIECES = 6
"""As many lines at most a line of a table was wrapped into."""
NARROWEST = 20
"""No terminal is narrower."""


def plain_blanks(text: str) -> str:
    """Return a text with plain blanks for those of web pages and word processors."""
    return text.translate(BLANKS) if any(chr(blank) in text for blank in BLANKS) else text


def as_printed(lines: Sequence[str]) -> Iterator[Numbered]:
    """Yield the lines with their numbers, each table in the layout of its tool."""
    if not any(map(HEADER_WORD.search, lines)):
        yield from enumerate(lines, 1)
        return
    at, form = 0, _Form()
    while at < len(lines):
        pieces, text = _next(lines, at, form)
        yield at + 1, text
        if isinstance(pieces, str):
            yield at + 2, pieces
            at += _height(lines, at)
        else:
            at += pieces


@dataclass(slots=True)
class _Form:
    """The layout of the table above.

    `names` of a block of lines, `separator` of a file, `width` of a terminal that wrapped a header of so many `columns`
    into `height` lines, and the place where one was cut behind so many `whole` columns.
    """

    names: tuple[str, ...] = ()
    separator: str = ""
    width: int = 0
    height: int = 0
    columns: int = 0
    cut_at: int = 0
    whole: int = 0

    @property
    def is_active(self) -> bool:
        """Whether the lines below the table may have its layout."""
        return bool(self.separator or self.width or self.cut_at)


def _next(lines: Sequence[str], at: int, form: _Form) -> tuple[int | str, str]:
    """Return the next line as it was printed, and how many it takes, or the row that stands with it in one block."""
    line = lines[at]
    if "<" in line and (cells := _CELL.findall(line) if "</t" in line.lower() else []):
        return 1, "\t".join(html.unescape(_TAG.sub("", cell)).strip() for _, cell in cells) + "\t"
    if "<" in line and _TAG.search(line) and not _TAG.sub("", line).strip():
        return 1, ""
    if (height := _height(lines, at)) and (fields := _fields(lines[at : at + height])):
        row = "\t".join(fields.values()) + "\t"
        if form.names == tuple(fields):
            return height, row
        form.names = tuple(fields)
        return row, "\t".join(fields) + "\t"
    if not form.is_active and not HEADER_WORD.search(line):
        return 1, line
    if found := _separated(line, form):
        return 1, found
    if glued := _glued(lines, at, form):
        return glued
    return 1, _without_cut_column(line, form)


# ---------------------------------------------------------------- a column on each line


def _height(lines: Sequence[str], at: int) -> int:
    """Return how many lines from here on name a column each, none twice; 0 if they are not a row of a table."""
    first = _FIELD.match(lines[at])
    if first is None or first["name"] not in _COLUMNS:
        return 0
    names: list[str] = []
    for line in lines[at : at + _MOST_COLUMNS]:
        found = _FIELD.fullmatch(line)
        if found is None or found["name"] in names or found["name"] not in _COLUMNS:
            break
        names.append(found["name"])
    return len(names) if table_with(names) else 0


def _fields(lines: Sequence[str]) -> dict[str, str]:
    found = (_FIELD.fullmatch(line) for line in lines)
    return {each["name"]: each["value"].strip() for each in found if each is not None}


# ---------------------------------------------------------------- commas


def _separated(line: str, form: _Form) -> str:
    """Return a line of a file of separated values with tabs; empty if it is not one."""
    for separator in _SEPARATORS if "\t" not in line else ():
        if separator not in line:
            continue
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
        if table_with(cells):
            form.separator = separator
        if form.separator == separator:
            return "\t".join(cells) + "\t"
    if line.strip():
        form.separator = ""
    return ""


# ---------------------------------------------------------------- terminals


def _glued(lines: Sequence[str], at: int, form: _Form) -> tuple[int, str] | None:
    """Return a line of a table that a terminal or a mail wrapped, and its number of pieces; None if it is whole."""
    if found := _wrapped_header(lines, at, form):
        return found
    if table_with(lines[at].split()):
        form.width = 0
    if not form.width or len(lines[at]) != form.width:
        return None
    text, end = lines[at], at + 1
    while end < min(len(lines), at + MOST_PIECES) and len(lines[end - 1]) == form.width:
        if end >= at + form.height and len(text.split()) >= form.columns:
            break
        text, end = text + lines[end], end + 1
    return end - at, text


def _wrapped_header(lines: Sequence[str], at: int, form: _Form) -> tuple[int, str] | None:
    width = len(lines[at])
    if next(iter(lines[at].split(maxsplit=1)), "") not in _COLUMNS:
        return None
    is_whole = table_with(lines[at].split()) is not None
    found = None
    for count in range(2, MOST_PIECES + 1) if width >= NARROWEST and HEADER_WORD.search(lines[at]) else ():
        pieces = list(lines[at : at + count])
        if len(pieces) < count or not pieces[-1].strip() or (is_whole and len(pieces[-2]) != width):
            break
        if not is_whole and table_with(" ".join(pieces).split()):
            return count, " ".join(pieces)
        if all(len(piece) == width for piece in pieces[:-1]) and table_with("".join(pieces).split()):
            # Nothing but blanks may have been left of the last column.
            rest = [line for line in lines[at + count : at + count + 1] if line and not line.strip()]
            is_full = len(pieces[-1]) == width
            found = count + len(rest) * is_full, "".join(pieces + rest * is_full)
            form.width, form.height, form.columns = width, found[0], len(found[1].split())
    return found


def cut_header(line: str) -> tuple[Table, list[str]] | None:
    """Return the table of a header of which the end is missing, and its whole columns."""
    words = line.split() if HEADER_WORD.search(line) else []
    if len(words) < 3 or words[0] not in _COLUMNS:
        return None
    for table in TABLES:
        *whole, last = words
        names = set(table.columns)
        is_cut = last not in names and any(name.startswith(last) for name in names - set(whole))
        named = whole if is_cut else words
        if set(named) <= names and (is_cut or last in names):
            return table, named
    return None


def _without_cut_column(line: str, form: _Form) -> str:
    """Return a line of a table that a terminal cut, without its last column, if the others make a table."""
    found = None if table_with(line.split()) else cut_header(line)
    if found is not None and table_with(found[1]):
        form.whole, form.cut_at = len(found[1]), line.rindex(line.rsplit(maxsplit=1)[-1])
        return line[: form.cut_at]
    if not form.cut_at or not line.strip() or table_with(line.split()):
        form.cut_at = 0
        return line
    cells = line.split("\t")
    if len(cells) > form.whole:
        return "\t".join(cells[: form.whole]) + "\t"
    is_aligned = "\t" not in line and line[form.cut_at - 1 : form.cut_at] in ("", " ")
    return line[: form.cut_at] if is_aligned else line
