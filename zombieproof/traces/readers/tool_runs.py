"""Runs of one command in one text: a later one that prints its table without a row shows that the row is past.

People list what hangs, end it, and list again; an empty table is then the answer. Only runs whose command lines ask the
same are compared, and a table of which a line could not be read shows nothing about rows that it lacks.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from zombieproof.traces.readers.tool_columns import CONSUMER_GROUPS, TRANSACTIONS, Row, Table
from zombieproof.traces.readers.tool_commands import Asked, Command
from zombieproof.traces.tool_reports import GroupRow, ProducerRow, TransactionRow


@dataclass(slots=True)
class _Run:
    table: Table
    asked: Asked | None
    part: int
    rows: list[Row] = field(default_factory=list)
    is_whole: bool = True


@dataclass(slots=True)
class Runs:
    """The tables of a text in their order, each with what its command line asked for."""

    _runs: list[_Run] = field(default_factory=list)
    _command: Command | None = None
    _part: int = 0

    def begin(self, table: Table, command: Command) -> None:
        """Begin a table. The groups of one command are printed as several tables; other commands print one."""
        is_next = command is not self._command
        self._command = command
        if not is_next and self._runs and self._runs[-1].table is table and table.tool.startswith(CONSUMER_GROUPS):
            return
        is_its_table = table.tool.startswith((f"{TRANSACTIONS} {command.tool}", f"{command.tool}.sh"))
        self._runs.append(_Run(table, command.asked if is_next and is_its_table else None, self._part))

    def take(self, row: Row) -> None:
        """Take a row of the last table."""
        if self._runs:
            self._runs[-1].rows.append(row)

    def spoil(self) -> None:
        """Note that the last table may have more rows than were read."""
        if self._runs:
            self._runs[-1].is_whole = False

    def begin_part(self) -> None:
        """Begin another file, of which nothing tells whether it is later."""
        self._part, self._command = self._part + 1, None

    def past(self) -> list[Row]:
        """Return the rows that a later run shows to be past."""
        kept: dict[object, set[object]] = {}
        """What all later runs print, by what they ask."""
        past: list[Row] = []
        for run in reversed(self._runs):
            if run.asked is None:
                continue
            past += [
                row for row in run.rows if any(_key(row) not in kept[key] for key in _asks(run, row) if key in kept)
            ]
            about = (run.part, run.asked), (run.part, run.asked.cluster, run.asked.place)
            for key in about[: 1 + (run.asked.place is not None)] if run.is_whole else ():
                keys = set(map(_key, run.rows))
                kept[key] = kept[key] & keys if key in kept else keys
        return past


def _asks(run: _Run, row: Row) -> Iterator[object]:
    """Yield what a later run may ask to show whether a row still holds: the same, or the producers there."""
    if run.asked is not None:
        yield run.part, run.asked
        if isinstance(row, ProducerRow) and row.place is not None:
            yield run.part, run.asked.cluster, row.place


def _key(row: Row) -> object:
    if isinstance(row, ProducerRow):
        return row.place, row.producer_id
    if isinstance(row, TransactionRow):
        return row.transactional_id if row.transactional_id is not None else row.producer_id
    return (row.group, row.place) if isinstance(row, GroupRow) else row.place


def notes_of(past: Iterable[Row]) -> Iterator[str]:
    """Yield a sentence for each tool that printed a row that is past."""
    for tool, count in sorted(Counter(row.told.tool for row in past).items()):
        rows = f"{count} row{'s' if count > 1 else ''} of {tool}"
        yield f"{rows}: past, since a later run prints the table without {'them' if count > 1 else 'it'}"
