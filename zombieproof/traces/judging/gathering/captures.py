"""The last state in the output of tools that were run several times.

Rows of one file are in the order in which the tool was run. Of several files, only epochs and times tell the order,
never their names; where these do not, both rows are reported and neither counts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from zombieproof.traces.tool_reports import ProducerRow, Told, ToolReports, TransactionRow
from zombieproof.traces.verdict.report import named

Row = TypeVar("Row", ProducerRow, TransactionRow)


@dataclass(slots=True)
class LastStates:
    """The last row of each transactional id, the rows of producers that still hold, and what has no certain order."""

    owners: dict[object, TransactionRow] = field(default_factory=dict)
    producers: list[ProducerRow] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)


def told_by(told: Told) -> str:
    """Name the tool, the file and the line."""
    return f"{told.tool} ({told.file}, line {told.line})"


def last_states(transactions: Sequence[TransactionRow], producers: Iterable[ProducerRow]) -> LastStates:
    """Return the last states, each file by itself and then all files together."""
    found = LastStates()
    names = _names(transactions)
    for key, of_files in _by_file(transactions, names).items():
        heads = [_merged(rows) for rows in of_files.values()]
        kept = _newest(heads, _state, _run_at)
        if len(set(map(_state, kept))) > 1:
            says = [f"{told_by(row.told)} says {row.state}, producer {row.producer_id}" for row in kept]
            found.undecided.append(_undecided(str(key), says))
        else:
            last = next((row for row in kept if row.partitions is not None), kept[0])
            found.owners[key] = replace(last, transactional_id=key) if isinstance(key, str) else last
    for in_files in _by_file(producers, lambda row: (row.place, row.producer_id)).values():
        rows = [row for each in in_files.values() for row in each]
        place = rows[0].place
        if place is not None:
            heads_and_repeats = [row for each in in_files.values() for row in each if _held(row) == _held(each[-1])]
            rows = _newest(heads_and_repeats, _held, lambda row: row.last_timestamp_ms)
            if len(set(map(_held, rows))) > 1:
                says = [f"{told_by(row.told)} says {_held(row)}" for row in rows]
                found.undecided.append(_undecided(f"{named(place)}, producer {rows[0].producer_id}", says))
                continue
        found.producers += rows
    return found


def undecided_positions(reports: ToolReports) -> Iterator[str]:
    """Yield the positions of groups on which several files disagree."""
    for (group, place), rows in reports.last_positions().items():
        if len({row.offset for row in rows}) > 1:
            says = [f"{told_by(row.told)} says {'none' if row.offset is None else row.offset}" for row in rows]
            yield _undecided(f"group {group or '(not named)'}, {named(place)}", says)


def _undecided(about: str, says: list[str]) -> str:
    return f"{about}: {'; '.join(says)}; nothing tells which of them is later"


def _state(row: TransactionRow) -> tuple[str, int]:
    return row.state, row.producer_id


def _held(row: ProducerRow) -> str:
    return "that nothing is open" if row.first_offset is None else f"that it is open from offset {row.first_offset}"


def _run_at(row: TransactionRow) -> int | None:
    """Return when the tool was run, as far as its row tells."""
    if row.start_ms is None or row.start_ms < 0 or row.duration_ms is None:
        return None
    return row.start_ms + row.duration_ms


def _merged(rows: Sequence[TransactionRow]) -> TransactionRow:
    """Return the last row of one file; a description says more than a list that has the same state."""
    last = rows[0]
    for row in rows[1:]:
        if row.partitions is not None or last.partitions is None or last.state != row.state:
            last = row
    return last


def _newest(rows: list[Row], says: Callable[[Row], object], time_of: Callable[[Row], int | None]) -> list[Row]:
    """Return the rows without those that are known to be older than another that says something else."""

    def is_older(row: Row, other: Row) -> bool:
        epoch, other_epoch = row.producer_epoch, other.producer_epoch
        if row.producer_id == other.producer_id and None not in (epoch, other_epoch) and epoch != other_epoch:
            return (epoch or 0) < (other_epoch or 0)
        time, other_time = time_of(row), time_of(other)
        return time is not None and other_time is not None and time < other_time

    if len(set(map(says, rows))) < 2:
        return rows
    return [row for row in rows if not any(says(row) != says(other) and is_older(row, other) for other in rows)]


def _names(rows: Iterable[TransactionRow]) -> Callable[[TransactionRow], object]:
    ids = {row.producer_id: row.transactional_id for row in rows if row.transactional_id is not None}

    def name(row: TransactionRow) -> object:
        return row.transactional_id if row.transactional_id is not None else ids.get(row.producer_id, row.producer_id)

    return name


def _by_file(rows: Iterable[Row], key_of: Callable[[Row], object]) -> dict[object, dict[str, list[Row]]]:
    found: dict[object, dict[str, list[Row]]] = {}
    for row in rows:
        found.setdefault(key_of(row), {}).setdefault(row.told.file, []).append(row)
    return found
