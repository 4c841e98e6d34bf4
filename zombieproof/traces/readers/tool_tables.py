"""Text that Kafka's command-line tools print: tables of transactions, producers and groups, and offsets of partitions.

Rows are read by the header above them. The command line above a table names the partition of ``describe-producers``,
and the group in old releases. Rows that a terminal wrapped are joined. Every other line in a table is counted.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from zombieproof.formats.faults import Undecodable
from zombieproof.traces.readers import admin_text
from zombieproof.traces.readers.dump_name import NamedPlace, partition_named_by
from zombieproof.traces.readers.layouts import is_log_line
from zombieproof.traces.readers.lines import ELSEWHERE, PART
from zombieproof.traces.readers.tool_columns import (
    CONSUMER_GROUPS,
    DESCRIBE,
    DESCRIBE_PRODUCERS,
    FIND_HANGING,
    GET_OFFSETS,
    LIST,
    TRANSACTIONS,
    Cell,
    Context,
    Table,
    Value,
    table_with,
    value_of,
)
from zombieproof.traces.readers.tool_commands import SUBCOMMANDS, CommandLines, is_prompt, subcommand_in
from zombieproof.traces.readers.tool_layouts import HEADER_WORD, as_printed, cut_header, plain_blanks
from zombieproof.traces.readers.tool_runs import Runs, notes_of
from zombieproof.traces.tool_reports import EndRow, Told, ToolReports

HEAD = 1 << 16
LINES_BELOW = 40
"""As many lines below a mark show whether it is that of a table."""

OFFSET_LINE = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]{1,249}):(?P<partition>\d{1,10}):(?P<offset>-?\d{1,19})?(?:,\d{1,19})*", re.ASCII
)
TIME_OF_DAY = re.compile(r"\d{1,2}:\d{2}:\d{2}", re.ASCII)
WITHOUT_HEADER = dict(zip(SUBCOMMANDS, (FIND_HANGING, DESCRIBE_PRODUCERS, LIST, DESCRIBE), strict=True))
MARKS = (
    *("\nProducerId", "\tProducerId", " ProducerId", "|ProducerId", "kafka-transactions", "kafka-get-offsets"),
    *("CURRENT-OFFSET", "NEW-OFFSET", "#PARTITIONS", "#MEMBERS"),
    *(",ProducerId", ";ProducerId", '"ProducerId', ">ProducerId", "\xa0ProducerId"),
)
"""Every header contains one of these, from the second line on."""
OF_A_DUMP = re.compile(r"(?:\| )?(?:offset|baseOffset|key|payload): ")
NO_TABLE = re.compile(rf"{OF_A_DUMP.pattern}|\[\d{{4}}-\d\d-\d\d ", re.ASCII)
"""How a line of a dump or of a broker's log begins: it is neither a header nor a row."""
WORDS_OF_THE_TOOL = re.compile(r"^(?:(?:kafka|transactions|describe|producers)[-_.]+)+")
"""What people put before the partition in the name of a file with a table of producers."""
REMARK = re.compile(r"(?:\s|//|#(?!PARTITIONS)|>)*")


def looks_like_tool_output(text: str) -> bool:
    """Return whether text from the beginning of a file contains output of one of the tools."""
    text = plain_blanks(text.removeprefix("\ufeff"))
    lines = [line for _, line in as_printed(text.split("\n"))]
    if any(mark in text for mark in admin_text.MARKS) and any(
        admin_text.is_printed_in(line) for line in lines if not OF_A_DUMP.match(line)
    ):
        return True
    lines = [line for line in lines if not NO_TABLE.match(line)]
    if (HEADER_WORD.search(text) or any(mark in text for mark in MARKS)) and (
        any(_header(line) or cut_header(line) for line in lines)
        or any(_header(f"{first} {second}") for first, second in pairwise(lines) if first.strip() and second.strip())
    ):
        return True
    command = ""
    for line in lines:
        found = subcommand_in(line)
        command = found or command
        if not found and _without_header(_bare(line), command):
            return True
    return _are_offsets(lines)


def holds_tool_output(data: memoryview) -> bool:
    """Return whether a file contains output of one of the tools."""
    if looks_like_tool_output(bytes(data[:HEAD]).decode(errors="replace")):
        return True
    return len(data) > HEAD and any(map(looks_like_tool_output, _places_with_marks(bytes(data))))


def _places_with_marks(data: bytes) -> Iterator[str]:
    """Yield the lines around each mark, from the line above it on."""
    for mark in map(str.encode, (*MARKS, *admin_text.MARKS)):
        end = 0
        while (at := data.find(mark, end)) >= 0:
            start = data.rfind(b"\n", 0, max(data.rfind(b"\n", 0, at), 0)) + 1
            end = at + len(mark)
            for _ in range(LINES_BELOW):
                end = data.find(b"\n", end) + 1 or len(data)
            yield data[start:end].decode(errors="replace")


def read_tool_output(data: memoryview, file: str) -> ToolReports:
    """Read the rows of all tables of a file; the notes count the lines that were not used."""
    text = plain_blanks(bytes(data).decode(errors="replace").removeprefix("\ufeff"))
    lines = list(as_printed([line.rstrip("\r") for line in text.split("\n")]))
    reader = _Reader(file, _are_offsets([line for _, line in lines[:400]]))
    for number, line in lines:
        reader.is_at_open_end = number == lines[-1][0]
        if line != ELSEWHERE:
            reader.read(line, number)
        else:
            reader.is_one_table = False
    return reader.finish()


def _header(line: str) -> Table | None:
    words = _bare(line).split()
    if len(words) < 2 or not all(word[0].isupper() or word[0] in "#(" for word in words):
        return None
    return table_with(words)


def _bare(line: str) -> str:
    """Return a line without leading comment signs, and without the bars of a Markdown table."""
    line = line[REMARK.match(line).end() :] if not line[:1].isalnum() else line  # type: ignore[union-attr]  # matches all
    stripped = line.strip()
    if stripped.startswith("|") and stripped.endswith("|") and len(stripped) > 1:
        return "\t".join(cell.strip() for cell in stripped[1:-1].split("|")) + "\t"
    return line


def _are_offsets(lines: Sequence[str]) -> bool:
    """Return whether text is output of GetOffsetShell: it has no other line, unless it shows the command."""
    found = [bool(OFFSET_LINE.fullmatch(line.strip())) for line in lines if line.strip()]
    if not any(found):
        return False
    named = any("kafka-get-offsets" in line or "GetOffsetShell" in line for line in lines)
    times = any(TIME_OF_DAY.fullmatch(line.strip()) for line in lines)
    return named or (all(found) and not times)


def _without_header(line: str, command: str) -> Table | None:
    """Return the table of a row without a header: the tool has padded it, or its command line is above."""
    named = WITHOUT_HEADER.get(command)
    if named is None and "\t" not in line:
        return None
    for table in (named,) if named else WITHOUT_HEADER.values():
        names = list(table.columns)
        if len(line.split("\t")) == len(names) + 1 or named:
            try:
                _values(table, names, _cells(table, names, line))
            except Undecodable:
                continue
            return table
    return None


def _cells(table: Table, names: Sequence[str], line: str) -> list[str]:
    """Split a row into as many cells as the header has, if that is possible."""
    if "\t" in line:
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) == len(names) + 1 and not cells[-1]:
            cells.pop()
        if len(cells) == len(names):
            return cells
    cells = line.split()
    if len(cells) == len(names):
        return cells
    if len(cells) == len(names) - 1 and table.columns[names[-1]] is Cell.PLACES:
        return [*cells, ""]
    text = [at for at, name in enumerate(names) if table.columns[name] is Cell.TEXT and name != "TOPIC"]
    if table.has_tabs and len(text) == 1 and len(cells) > len(names):
        at, behind = text[0], len(names) - 1 - text[0]
        end = len(cells) - behind
        return [*cells[:at], " ".join(cells[at:end]), *cells[end:]]
    return cells


def _values(table: Table, names: Sequence[str], cells: Sequence[str]) -> dict[str, Value]:
    if len(cells) != len(names):
        raise Undecodable("it has too few or too many cells")
    return {name: value_of(table.columns[name], cell) for name, cell in zip(names, cells, strict=True)}


def _named_by(file: str) -> NamedPlace | None:
    """Return the partition that the name of a file tells, without what people put before it, or its folder."""
    folder, slash, name = file.replace("\\", "/").rpartition("/")
    return partition_named_by(f"{folder}{slash}{WORDS_OF_THE_TOOL.sub('', name)}")


@dataclass(slots=True)
class _Reader:
    """Reads line by line. `is_one_table`: the file holds nothing else; only then does its name tell the partition."""

    file: str
    has_offsets: bool
    reports: ToolReports = field(default_factory=ToolReports)
    skipped: Counter[str] = field(default_factory=Counter)
    headless: set[str] = field(default_factory=set)
    table: Table | None = None
    names: list[str] = field(default_factory=list)
    ends_in_tab: bool = False
    is_beside_rows: bool = False
    is_fresh: bool = False
    is_at_open_end: bool = False
    lines_of_logs: int = 0
    commands: CommandLines = field(default_factory=CommandLines)
    begun_at: int = 0
    half: tuple[str, int] | None = None
    lacking: str = ""
    runs: Runs = field(default_factory=Runs)
    is_one_table: bool = True
    named: NamedPlace | None = None

    def read(self, line: str, number: int) -> None:
        """Read one line."""
        if line.startswith("==> ") and (part := PART.fullmatch(line)):
            self._begin_part(part["name"])
            return
        if OF_A_DUMP.match(line) or self._is_command(line):
            self.lines_of_logs, self.is_one_table = 0, False
            return
        if self._is_header(line, number):
            self.lines_of_logs, self.lacking = 0, ""
            return
        if self._is_cut(line):
            return
        if not line.strip():
            self._drop_half()
            self.is_beside_rows = self.is_fresh = False
        elif is_prompt(line) and not _header(line):
            self._drop_half()
            self.is_beside_rows = self.is_fresh = self.is_one_table = False
        elif not (self._is_row(line, number) or self._is_printed_object(line, number) or self._is_offset(line, number)):
            if is_log_line(line):
                self._drop_half()
                self.is_one_table = False
                self.lines_of_logs += self.table is not None
                self.is_beside_rows = self.is_fresh = False
            else:
                self._keep_half(line, number)
        elif self.lines_of_logs and self.table is not None:
            self.skipped[f"{self.table.tool} (the line does not have its columns)"] += self.lines_of_logs
            self.lines_of_logs = 0

    def _is_cut(self, line: str) -> bool:
        """Count a table that was cut before the columns that its rows need."""
        if (found := cut_header(line)) is not None:
            self._drop_half()
            table, names = found
            lack = ", ".join(sorted((table.needed | (table.marks if len(table.marks) == 1 else set())) - set(names)))
            self.lacking = f"{table.tool} (the table lacks {lack})"
            self.table, self.is_one_table = None, False
        elif not line.strip() or is_prompt(line):
            self.lacking = ""
        self.skipped[self.lacking] += bool(self.lacking)
        return bool(self.lacking)

    def _begin_part(self, name: str) -> None:
        """Begin a part of the file that `head` or `tail` has named: its name tells the partition."""
        self._drop_half()
        named = self.named = _named_by(name)
        self.commands.leave(
            Context()
            if named is None
            else Context({"topic": named.place.topic, "partition": str(named.place.partition)})
        )
        self.runs.begin_part()
        self.table, self.is_beside_rows, self.is_one_table = None, False, False

    def _keep_half(self, line: str, number: int) -> None:
        """Keep a line that the next may complete: terminals wrap long lines."""
        if self.half is not None and self.table is not None:
            joined = f"{self.half[0]} {line}"
            if len(joined.split()) < len(self.names):
                self.half = (joined, self.half[1])
                return
        self._drop_half()
        self.half = (line, number)

    def _is_command(self, line: str) -> bool:
        if _header(line) or not self.commands.take(line):
            return False
        self._drop_half()
        self.table, self.is_beside_rows = None, False
        return True

    def _is_header(self, line: str, number: int) -> bool:
        words = _bare(line).split()
        if self.is_fresh and self.table is not None and set(words) <= set(self.table.columns) - set(self.names):
            self.names += words
            self.ends_in_tab = line.endswith("\t")
            return True
        joined = line if self.half is None else f"{self.half[0]} {line}"
        for text in dict.fromkeys((line, joined)):
            found = _header(text)
            if found is not None:
                if text is line:
                    self._drop_half()
                self._begin(found, number)
                self.table, self.names, self.half = found, _bare(text).split(), None
                self.ends_in_tab = text.endswith("\t")
                self.is_beside_rows = self.is_fresh = True
                self.reports.rows[found.tool] += 0
                return True
        return False

    def _begin(self, table: Table, number: int) -> None:
        """Begin a table. The options of a command line are about one table of a kind, not about the next."""
        if self.table is table:
            if self.commands.has_others:
                self._forget_place()
            self.commands.context = Context()
        self.commands.begin_table()
        self.runs.begin(table, self.commands.command)
        self.begun_at = number
        self.is_one_table = self.is_one_table and not self.reports.rows

    def _forget_place(self) -> None:
        """Take back what the command line said of the last table, which may as well be of a command above it."""
        reports, begun_at = self.reports, self.begun_at
        reports.producers = [
            row if row.told.line < begun_at or row.is_hanging else replace(row, place=None) for row in reports.producers
        ]
        if "GROUP" not in self.names:
            reports.groups = [row if row.told.line < begun_at else replace(row, group=None) for row in reports.groups]

    def _is_row(self, line: str, number: int) -> bool:
        bare = _bare(line)
        self.is_fresh = False
        if self.table is None:
            found = _without_header(bare, self.commands.command.tool)
            if found is None:
                return False
            self.table, self.names, self.ends_in_tab = found, list(found.columns), bare.endswith("\t")
            self.headless.add(found.tool)
            self.commands.begin_table()
            self.runs.begin(found, self.commands.command)
        # Editors trim the last tab of a row; a paste that was cut has no line feed after it.
        if self.ends_in_tab and self.is_at_open_end and 0 < bare.count("\t") < len(self.names):
            self._drop_half()
            self._skip(self.table, "the row is cut")
            return True
        if self._take(self.table, _cells(self.table, self.names, bare), number):
            self._drop_half()
            self.is_beside_rows = True
            return True
        if self.half is not None and self._take(self.table, f"{self.half[0]} {bare}".split(), self.half[1]):
            self.half = None
            return True
        return False

    def _take(self, table: Table, cells: Sequence[str], number: int) -> bool:
        if all(table.columns[name] is Cell.WORD for name in self.names):
            self.reports.rows[table.tool] += self.is_beside_rows
            return self.is_beside_rows
        try:
            row = table.row(
                _values(table, self.names, cells), self.commands.context, Told(table.tool, self.file, number)
            )
        except Undecodable:
            return False
        if row is None:
            self.reports.rows[f"{table.tool}: members without a partition"] += 1
        else:
            self.reports.take(row)
            self.runs.take(row)
        return True

    def _is_printed_object(self, line: str, number: int) -> bool:
        found = False
        for row in admin_text.rows_in(line, self.file, number, self.skipped):
            self.reports.take(row)
            found, self.is_one_table = True, False
        return found or admin_text.is_printed_in(line)

    def _is_offset(self, line: str, number: int) -> bool:
        found = OFFSET_LINE.fullmatch(_bare(line).strip()) if self.has_offsets else None
        if found is None:
            return False
        self.is_one_table = False
        if found["offset"] is None:
            self.skipped[f"{GET_OFFSETS} (the partition has no offset)"] += 1
            return True
        told = Told(GET_OFFSETS, self.file, number)
        self.reports.take(EndRow((found["topic"], int(found["partition"])), int(found["offset"]), told))
        return True

    def _drop_half(self) -> None:
        self.is_one_table = self.is_one_table and self.half is None
        if self.half is not None and self.table is not None and self.is_beside_rows:
            self._skip(self.table, "the line does not have its columns")
        self.half = None

    def _skip(self, table: Table, why: str) -> None:
        self.skipped[f"{table.tool} ({why})"] += 1
        self.runs.spoil()

    def finish(self) -> ToolReports:
        """Return everything that was read, with notes."""
        self._drop_half()
        if self.is_one_table and (named := _named_by(self.file)) is not None:
            self.named = named if any(row.place is None for row in self.reports.producers) else None
            place = named.place.topic, named.place.partition
            self.reports.producers = [replace(row, place=row.place or place) for row in self.reports.producers]
        self.reports.leave_out(past := self.runs.past())
        self.reports.notes = [f"{self.file}: {note}" for note in (*self._notes(), *notes_of(past))]
        return self.reports

    def _notes(self) -> Iterator[str]:
        """Yield a sentence for each kind of line that was not used, and for each gap in the others."""
        for reason, count in sorted((+self.skipped).items()):
            yield f"{count} line{'s' if count > 1 else ''} not used, of {reason}"
        for tool in sorted(self.headless):
            yield f"rows of {tool} without their header: read by the order in which the tool prints the columns"
        if self.named is not None:
            whose = "folder" if self.named.is_of_folder else "file"
            source = f"it is taken from the name of the {whose}"
            yield f"no command line above names the partition of its producers: {source}"
        nameless = sum(row.place is None for row in self.reports.producers)
        if nameless:
            rows = f"{nameless} row{'s' if nameless > 1 else ''} of {TRANSACTIONS} describe-producers"
            other = "; the name of the file does not count, since its other lines may be about another partition"
            why = "no command line above says for certain of which partition"
            yield f"{rows}: {why}{other if _named_by(self.file) else ''}"
        if any(row.group is None for row in self.reports.groups):
            yield f"positions without the name of their group, which the command line of {CONSUMER_GROUPS} would tell"
