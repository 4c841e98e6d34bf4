"""Rows of the table of brokers' statements, and the match of a line against them.

Theory of operation: a row is a form of words that one class of Kafka prints, from its first to its last release. The
form is a template: text between braces is a field, whose pattern `FIELDS` has (a number, if it is not there). A
statement that changed its words has a row for each form, under one name. A line is matched against the rows of the
class that printed it, which its logger names, or else the words before the message.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

NUMBER = r"-?\d{1,19}"
PLACE = r"[a-zA-Z0-9._-]{1,249}-\d{1,10}"
TEXT = ".*"
WORD = r"[\w.$]+"

FIELDS: Mapping[str, str] = {
    **dict.fromkeys(("id", "group", "groups", "reason", "metadata", "cause", "file", "segments", "member"), TEXT),
    **dict.fromkeys(("other_member", "instance", "leader"), r".*?"),
    **dict.fromkeys(("error", "state", "operation"), WORD),
    **dict.fromkeys(("place", "home"), PLACE),
    "pending": r"[^,]*",
    "places": r"[^()\[\]]*",
    "topic": r"[a-zA-Z0-9._-]{1,249}",
    "result": "COMMIT|ABORT",
    "segment": r"\d{1,19}|[A-Z]\w*\([^()]*(?:\([^()]*\)[^()]*)*\)",
    "resigned_epoch": r"Some\(\d{1,10}\)|None|Optional(?:Int)?(?:\[\d{1,10}\]|\.empty)|\d{1,10}",
}
"""The pattern of each field that is no number. Of names, which may hold any text, the last match counts."""

UNNAMED = {"topic_id": r"[A-Za-z0-9_-]{22}", "...": TEXT, "open": r"\w*\(|\[", "close": r"[)\]]"}
"""Parts of a form that vary and have no meaning here."""

SAMPLES = {"place": "t-0", "home": "t-0", "result": "ABORT", "open": "[", "close": "]"}

SHORTEST = 10
"""No form is shorter; a text of any kind can hold what is."""

BRACES = re.compile(r"\{([\w.]+)\}")


def pattern_of(form: str) -> str:
    """The regular expression of a form, with a named group for each field."""
    parts, at = [], 0
    for found in BRACES.finditer(form):
        name = found[1]
        unnamed = UNNAMED.get(name)
        parts.append(re.escape(form[at : found.start()]))
        parts.append(f"(?:{unnamed})" if unnamed else f"(?P<{name}>{FIELDS.get(name, NUMBER)})")
        at = found.end()
    return "".join((*parts, re.escape(form[at:])))


@dataclass(frozen=True)
class Statement:
    """One form of one statement.

    Attributes:
        name: the statement, in words joined by underscores; its forms share it.
        source: the class that prints it.
        since, until: the first and the last release line that has this form; `until` is "" while the newest has it.
        form: its words, with fields in braces.
        meaning: the sentence of a timeline, with the same fields; "" where another reader makes the evidence.
        printed: one line that a real broker printed; "" where no broker was brought to print it.
        release: the release of that broker.
    """

    name: str
    source: str
    since: str
    until: str
    form: str
    meaning: str
    printed: str = ""
    release: str = ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The form as a regular expression over a whole message."""
        return re.compile(pattern_of(self.form), re.ASCII)

    @cached_property
    def ends(self) -> tuple[str, str]:
        """The words before the first field, and those after the last one."""
        return self.form.partition("{")[0], self.form.rpartition("}")[2]

    @property
    def has_open_end(self) -> bool:
        """Whether it ends in a field, or in a field of any text and few words after it."""
        fields = BRACES.findall(self.form)
        if not fields:
            return False
        is_text = {**UNNAMED, **FIELDS}.get(fields[-1], NUMBER).startswith(".")
        return len(self.ends[1]) < (SHORTEST if is_text else 1)

    @cached_property
    def sample(self) -> str:
        """A message of this form with short fields."""
        return BRACES.sub(lambda found: SAMPLES.get(found[1], "1"), self.form)


class Speaker(NamedTuple):
    """A class of a broker: the name of its rows, the words before its messages, and its loggers.

    `idle` are beginnings of messages about none of transactions, partitions and groups.
    """

    name: str
    prefix: str
    loggers: tuple[str, ...]
    idle: tuple[str, ...] = ()


class Message(NamedTuple):
    """A parsed line: its class, its words, those before them, and whether the line ends with its logger."""

    speaker: Speaker
    text: str
    prefix: str
    is_whole: bool

    @property
    def is_idle(self) -> bool:
        """Whether its words are known and have no meaning here."""
        return not self.text.strip() or self.text.startswith(self.speaker.idle)


LOGGER = re.compile(r" \((?P<name>[\w.$]+)\)(?: \[[^\]]*\])?\s*\Z")
CUT_LOGGER = re.compile(r" \((?:[a-z][\w.$]*)?\Z")
"""The beginning of a logger at the end of a line that is cut."""
PREFIX_PLACE = re.compile(rf"\bpartition[= ](?P<place>{PLACE})[,\] ]|\[Partition (?P<of>{PLACE}) broker=")
PREFIX_SHARD = re.compile(r" topic=(?P<topic>[a-zA-Z0-9._-]+) partition=(?P<number>\d{1,10})\]")


def fields_of_prefix(prefix: str) -> dict[str, str]:
    """Return the partition that the words before a message name."""
    if found := PREFIX_SHARD.search(prefix):
        return {"home": f"{found['topic']}-{found['number']}"}
    found = PREFIX_PLACE.search(prefix)
    return {"place": found["place"] or found["of"]} if found else {}


class Table:
    """All rows, by the class that prints them."""

    def __init__(self, speakers: Iterable[Speaker], rows: Iterable[Statement]) -> None:
        self.speakers, self.rows = tuple(speakers), tuple(rows)
        self._by_logger = {logger: each for each in self.speakers for logger in each.loggers}
        self._by_number = {f"s{number}": each for number, each in enumerate(self.speakers)}
        prefixes = "|".join(f"(?P<s{number}>{each.prefix})" for number, each in enumerate(self.speakers) if each.prefix)
        self._prefix = re.compile(prefixes, re.ASCII)
        self._open_ended: dict[Statement, bool] = {}
        self._rows: dict[str, list[Statement]] = {}
        self._by_start: dict[tuple[str, str], list[Statement]] = {}
        for row in self.rows:
            self._rows.setdefault(row.source, []).append(row)
            self._by_start.setdefault((row.source, row.ends[0][:1]), []).append(row)

    def looks_whole_when_cut(self, row: Statement) -> bool:
        """Decide whether a cut line, of the row or of a longer one, can fit the row."""
        if row not in self._open_ended:
            others = (each.sample for each in self._rows[row.source] if each is not row)
            goes_on = any(
                row.pattern.fullmatch(sample, 0, end) for sample in others for end in range(SHORTEST, len(sample))
            )
            self._open_ended[row] = row.has_open_end or goes_on
        return self._open_ended[row]

    def message(self, line: str, start: int) -> Message | None:
        """Parse a line from `start` on; None if no class of the table prints it."""
        at = line.rfind(" (", start)
        logger = LOGGER.match(line, at) if at >= 0 else None
        end = logger.start() if logger else len(line.rstrip())
        found = self._prefix.match(line, start, end)
        if logger is not None:
            speaker = self._by_logger.get(logger["name"].rpartition(".")[2])
        else:
            speaker = self._by_number[found.lastgroup or ""] if found else None
        if speaker is None:
            return None
        begin = found.end() if found else start
        return Message(speaker, line[begin:end], found[0] if found else "", logger is not None)

    def matches(self, message: Message) -> Iterator[tuple[Statement, re.Match[str]]]:
        """The rows that a message fits; one, if the table is right."""
        text = message.text
        name = message.speaker.name
        for row in (*self._by_start.get((name, text[:1]), ()), *self._by_start.get((name, ""), ())):
            begin, end = row.ends
            if text.startswith(begin) and text.endswith(end) and (found := row.pattern.fullmatch(text)):
                yield row, found

    def match(self, message: Message) -> tuple[Statement, re.Match[str]] | None:
        """The first row that a message fits."""
        return next(self.matches(message), None)
