"""Lines in the cells of a CSV file or in the strings of a JSON document, as consoles of log stores export them.

A cell or a string may hold several lines, and a document may be one line: so the whole text is unfolded, and what is in
it is a text of its own, which may have forms again. Lines keep their numbers where a document leaves room for them.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from zombieproof.traces.readers.clients.layouts import may_be_a_clients
from zombieproof.traces.readers.documents import Frame, Strings
from zombieproof.traces.readers.lines import ELSEWHERE
from zombieproof.traces.readers.marks import INSIDE, SURE, weight

NAMES = re.compile(
    "(?:full|raw)?(?:message|msg|mt|line|raw|log|logline|logs|logentry|entry|content|body|text|event|values?|original)"
    "|logmessage|textpayload|renderedmessage|description|comment|stdout|output|payload|data|nachricht|mensaje"
)
"""What columns and keys of log lines are called, in small letters without other signs."""
NAME = re.compile(r"[@\w][\w .()\[\]/-]{0,60}")
ENTITY = re.compile(r"&(?:quot|gt|lt|amp|#x27|#39);")
PODS = ("podname", "pod", "kubernetespodname", "logstreamname", "logstream", "hostname", "host", "instance")
CONTAINERS = ("containername", "container", "kubernetescontainername")

DELIMITERS = ",;\t|"
MOST_LINES = 500
"""Lines of one cell: in a text whose quotation marks have no partner, what follows is not a part of it."""
MOST_SOURCES = 256
FIRST_ROWS = 16


class Entry(NamedTuple):
    """A line in a cell or string: where it was (from 0), the line, and whose it is: None outside of the export."""

    number: int
    text: str
    source: str | None = None


def simple(name: str) -> str:
    """A name of a column or key without what differs from product to product: ``@message``, ``Log Message``."""
    return re.sub(r"\[.*\]|[^a-z]", "", name.lower()) if NAME.fullmatch(name.strip()) else ""


def source_in(found: Mapping[str, str]) -> str:
    """The pod and container in columns or labels by their simple names."""
    pod = next((found[name] for name in PODS if found.get(name)), "")
    container = next((found[name] for name in CONTAINERS if found.get(name)), "")
    return f"{pod} {container}".strip()


# ---------------------------------------------------------------- CSV


class Table(NamedTuple):
    """Rows of CSV: how cells are separated, which cell has the line, and which tell whose it is."""

    delimiter: str
    width: int
    column: int
    labels: Mapping[str, int]
    is_named: bool

    def row(self, line: str) -> list[str] | None:
        """The cells of a line that is a row of this table."""
        cells = _cells(line, self.delimiter)
        return cells if len(cells) == self.width else None

    def text_in(self, line: str) -> str | None:
        """The cell with the line of a log; that of the heading is of nobody."""
        cells = self.row(line)
        if cells is None:
            return None
        is_heading = self.is_named and NAMES.fullmatch(simple(cells[self.column])) is not None
        return ELSEWHERE if is_heading else cells[self.column]

    def source(self, cells: Sequence[str]) -> str:
        """Whose line a row is."""
        found = {name: cells[at] for name, at in self.labels.items()}
        if (labels := found.pop("labels", "")).startswith("{"):
            strings = Strings()
            for _ in strings.take(0, labels):
                pass
            found |= strings.names()
        return source_in(found)

    def entries(self, lines: Sequence[str]) -> Iterator[Entry]:
        """The lines in all rows; what is no row stays as it is."""
        at = 0
        while at < len(lines):
            record, size = self._record(lines, at)
            cells = self.row(record)
            if cells is None:
                yield Entry(at, lines[at])
                at += 1
                continue
            text = self.text_in(record) or ""
            source = self.source(cells)
            if text == ELSEWHERE:
                at += size
                continue
            for number, line in enumerate(text.removesuffix("\n").split("\n")):
                yield Entry(at + number, line.removesuffix("\r"), source)
            at += size

    def _record(self, lines: Sequence[str], start: int) -> tuple[str, int]:
        """The row that begins at a line, and over how many lines it goes: a row has an even number of quotes."""
        quotes = 0
        for size, line in enumerate(lines[start : start + MOST_LINES], 1):
            quotes += line.count('"')
            if quotes % 2 == 0:
                return "\n".join(lines[start : start + size]), size
        return lines[start], 1


def table_of(sample: Sequence[str]) -> Table | None:
    """The table that the first lines are of: the column is that which has evidence, or the name of one for lines."""
    head = [line for line in sample if line.count('"') % 2 == 0][:FIRST_ROWS]
    for delimiter in DELIMITERS:
        if delimiter == ";" and any(map(ENTITY.search, head)):
            continue
        rows = [_cells(line, delimiter) for line in head if delimiter in line]
        widths = Counter(map(len, rows))
        width, count = widths.most_common(1)[0] if widths else (0, 0)
        if width < 2 or count < 2 or 4 * count < 3 * len(rows) or 2 * count < len(head):
            continue
        rows = [row for row in rows if len(row) == width]
        if any('{"' in cell and cell.count("{") != cell.count("}") for row in rows for cell in row):
            continue  # Objects are no rows.
        heading = [simple(cell) for cell in rows[0]]
        named = next((at for at, name in enumerate(heading) if NAMES.fullmatch(name)), None)
        telling = Counter(at for row in rows for at, cell in enumerate(row) if is_telling(cell))
        column = telling.most_common(1)[0][0] if telling else None
        if column is None or (named is None and (delimiter == "|" or not _has_more(rows, column))):
            continue
        column = named if named is not None and telling[named] == telling[column] else column
        labels = {name: at for at, name in enumerate(heading) if name in {*PODS, *CONTAINERS, "labels"}}
        return Table(delimiter, width, column, labels, named is not None)
    return None


def _has_more(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Whether there is more than one cell in most rows: a line behind a tab is no row."""
    return sum(any(cell.strip() for at, cell in enumerate(row) if at != column) for row in rows) * 2 > len(rows)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line] if "\n" not in line else line.splitlines(keepends=True), delimiter=delimiter), [])
    except csv.Error:
        return []


# ---------------------------------------------------------------- JSON


class Document(NamedTuple):
    """Documents of JSON in which strings under one key are lines of a log."""

    key: str

    @property
    def is_named(self) -> bool:
        """Whether the key is one that log stores have for lines."""
        return NAMES.fullmatch(simple(self.key)) is not None

    def text_in(self, line: str) -> str | None:
        """The first such string in a line; other parts of a document are of nobody."""
        if not FRAGMENT.match(line):
            return None
        strings = Strings(is_inside=line.lstrip().startswith('"'))
        texts = (found.text for found in strings.take(0, line) if self._is_line(found.key, found.text))
        text = next(texts, None)
        if text is None:
            return ELSEWHERE
        lines = text.split("\n")
        return next(filter(is_telling, lines), lines[0])

    def _is_line(self, key: str, text: str) -> bool:
        return key == self.key and not text.isdecimal()

    def entries(self, lines: Sequence[str]) -> Iterator[Entry]:
        """The lines in all strings; what is no part of a document stays as it is."""
        strings = Strings()
        found: list[tuple[int, Frame | None, str]] = []
        for index, line in enumerate(lines):
            if strings.depth == 0 and not FRAGMENT.match(line):
                found.append((index, None, line))
                continue
            for each in strings.take(index, line):
                if self._is_line(each.key, each.text):
                    text = each.text.removesuffix("\n")
                    found += [(index, each.frame, part.removesuffix("\r")) for part in text.split("\n")]
        for index, frame, text in found:
            yield Entry(index, text, source_in(frame.names()) if frame is not None else None)


FRAGMENT = re.compile(
    r'\s*(?:[{}\]]|\[\s*(?:[\[{"]|$)|"(?:[^"\\]|\\.)*"\s*(?::|,?\s*$)|-?\d[\d.eE+-]*,?\s*$|(?:null|true|false),?\s*$)'
)
"""How a line of a document begins, however it is indented."""


def document_of(sample: Sequence[str]) -> Document | None:
    """The document that the first lines are of, by the key that most lines of logs have."""
    strings = Strings()
    counted = Counter(
        found.key
        for index, line in enumerate(sample)
        if strings.depth or FRAGMENT.match(line)
        for found in strings.take(index, line)
        if any(map(is_telling, found.text.split("\n")))
    )
    return Document(counted.most_common(1)[0][0]) if counted else None


# ---------------------------------------------------------------- both


def is_telling(text: str) -> bool:
    """Whether a cell or string holds a line of evidence, perhaps with something before it."""
    is_sure = not text.startswith("{") and weight(text) == SURE
    return is_sure or may_be_a_clients(text) or INSIDE.search(text) is not None


def texts_by_source(entries: Iterable[Entry], *, is_cut: bool) -> list[tuple[str, str]]:
    """The text of each source, every line at its place or at the next that is free; `is_cut` is the last line.

    Lines outside of the export are of the source above them.
    """
    every = list(entries)
    source = next((each.source for each in every if each.source is not None), "")
    by_source: dict[str, dict[int, str]] = {}
    free = 0
    for number, text, whose in every:
        if whose is not None:
            source = whose if whose in by_source or len(by_source) < MOST_SOURCES else ""
        place = max(number, free)
        by_source.setdefault(source, {})[place] = text
        free = place + 1
    found = []
    for source, lines in by_source.items():
        end = max(lines) + 1
        text = "\n".join(lines.get(at, ELSEWHERE) for at in range(end))
        found.append((source, text if is_cut and end == free else f"{text}\n"))
    return found
