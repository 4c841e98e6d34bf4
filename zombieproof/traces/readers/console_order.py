"""The order of records that console consumers printed, where people repeat lines or give several captures.

One capture has the records of an id in log order, but shows neither offset nor place. So captures that were put
together are ordered by what the records say: txnLastUpdateTimestamp, then the order of the states, then the place.
Equal records are one. Where that leaves two orders, the id is left out, and a `Damage` says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from zombieproof.model.vocabulary import TransactionState
from zombieproof.traces.evidence import Damage, TransactionLogValue, TransactionStateRecord
from zombieproof.traces.readers.newest_first import FALLS

S = TransactionState
STEPS = {S.EMPTY: 0, S.ONGOING: 1, S.COMPLETE_COMMIT: 3, S.COMPLETE_ABORT: 3, S.DEAD: 4}
PREPARED = 2
FORGOTTEN = 5
MOST_EPOCHS = 1 << 15
ORDER_OF = "the order of the records of"
SORTED = "records of several captures, ordered by txnLastUpdateTimestamp"

Items = list[tuple[int, TransactionStateRecord]]
"""Records with the time of each; a tombstone has that of the newest record before it in its file, or -1."""


@dataclass(slots=True)
class Ordered:
    """The records in order, the files that had to be sorted or turned round, and the ids that have no certain order."""

    records: list[TransactionStateRecord] = field(default_factory=list)
    sorted_files: list[str] = field(default_factory=list)
    turned_files: list[str] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)


def in_order(records: Sequence[TransactionStateRecord]) -> Ordered:
    """Order the records of each transactional id."""
    by_id: dict[str, list[TransactionStateRecord]] = {}
    ordered = Ordered()
    for record in _oldest_first(records, ordered.turned_files):
        by_id.setdefault(record.transactional_id, []).append(record)
    for name, found in by_id.items():
        files = list(dict.fromkeys(record.file for record in found))
        items = _with_times(found)
        if len(files) == 1 and not _is_repeated(found):
            is_known = all(_follows(first, second) for first, second in pairwise(found))
            known = found
        else:
            once = sorted({(time, record.value): (time, record) for time, record in reversed(items)}.values(), key=_key)
            is_known = not _is_ambiguous(items) and all(_is_certain(*pair) for pair in pairwise(once))
            known = [replace(record, order=at) for at, (_, record) in enumerate(once)]
            if is_known:
                ordered.sorted_files += (file for file in files if file not in ordered.sorted_files)
        if is_known:
            ordered.records += known
        else:
            ordered.damage.append(Damage(files[-1], 0, _unknown(name, files)))
    return ordered


def _oldest_first(records: Sequence[TransactionStateRecord], turned: list[str]) -> list[TransactionStateRecord]:
    """The records of each file with the oldest first."""
    by_file: dict[str, list[TransactionStateRecord]] = {}
    for record in records:
        by_file.setdefault(record.file, []).append(record)
    for file, found in by_file.items():
        if _only_falls(found):
            orders = [record.order for record in found]
            by_file[file] = [replace(each, order=at) for each, at in zip(reversed(found), orders, strict=True)]
            turned.append(file)
    return [record for found in by_file.values() for record in found] if turned else list(records)


def _only_falls(records: Sequence[TransactionStateRecord]) -> bool:
    """Whether the times of every id only fall: then the newest record stands first."""
    newest: dict[str, int] = {}
    falls = 0
    for record in records:
        if record.value is None:
            continue
        time = record.value.last_update_ms
        before = newest.setdefault(record.transactional_id, time)
        if time > before:
            return False
        falls += time < before
        newest[record.transactional_id] = time
    return falls >= FALLS


def _unknown(name: str, files: list[str]) -> str:
    among = f" of {', '.join(files)}" if len(files) > 1 else ""
    return f"{ORDER_OF} {name!r}{among} is not known: nothing is said of its transactions"


def _with_times(records: Sequence[TransactionStateRecord]) -> Items:
    newest: dict[str, int] = {}
    items = []
    for record in records:
        time = newest.get(record.file, -1) if record.value is None else record.value.last_update_ms
        newest[record.file] = max(time, newest.get(record.file, -1))
        items.append((time, record))
    return items


def _key(item: tuple[int, TransactionStateRecord]) -> tuple[int, int, int, int]:
    time, record = item
    value = record.value
    if value is None:
        return time, MOST_EPOCHS, FORGOTTEN, record.order
    return time, value.producer_epoch, _step(value), record.order


def _step(value: TransactionLogValue) -> int:
    return STEPS.get(value.state, PREPARED)


def _is_repeated(records: Sequence[TransactionStateRecord]) -> bool:
    """Whether a record comes again after others: an append that was tried again stands next to the first."""
    values = [record.value for at, record in enumerate(records) if not at or record.value != records[at - 1].value]
    shown = [value for value in values if value is not None]
    return len(set(shown)) < len(shown)


def _is_ambiguous(items: Items) -> bool:
    """Whether a record comes again in a file after others of the same millisecond only: it may be a new one."""
    for file in {record.file for _, record in items}:
        last: dict[TransactionLogValue, int] = {}
        mine = [item for item in items if item[1].file == file]
        changes = _changes(mine)
        for at, (_, record) in enumerate(mine):
            if record.value is None:
                continue
            before = last.get(record.value)
            if before is not None and changes[before] == changes[at] and before < at - 1:
                return True
            last[record.value] = at
    return False


def _changes(items: Items) -> list[int]:
    """How often the time has changed before each item."""
    return [0, *accumulate(first[0] != second[0] for first, second in pairwise(items))]


def _follows(first: TransactionStateRecord, second: TransactionStateRecord) -> bool:
    """Whether nothing contradicts that the second, which stands after the first in one file, is the later one."""
    if first.value is None or second.value is None or first.value.last_update_ms <= second.value.last_update_ms:
        return True
    return _is_later(second.value, first.value) or first.value.producer_id != second.value.producer_id


def _is_certain(first: tuple[int, TransactionStateRecord], second: tuple[int, TransactionStateRecord]) -> bool:
    """Whether the second of two records that were sorted is known to be the later one."""
    (time, before), (next_time, after) = first, second
    if before.value is None or after.value is None:
        return time >= 0
    if time != next_time:
        return not _is_later(before.value, after.value)
    return (before.file == after.file and before.order < after.order) or _is_later(after.value, before.value)


def _is_later(later: TransactionLogValue, earlier: TransactionLogValue) -> bool:
    """Whether the protocol itself has one value after the other: a higher epoch, or a further step."""
    if later.producer_id != earlier.producer_id:
        return False
    if later.producer_epoch != earlier.producer_epoch:
        return later.producer_epoch > earlier.producer_epoch
    starts = {start for start in (later.start_ms, earlier.start_ms) if start is not None and start >= 0}
    if len(starts) > 1:
        return False
    if later.state is S.ONGOING and earlier.state is S.ONGOING:
        return later.partitions > earlier.partitions
    return _step(later) > _step(earlier)
