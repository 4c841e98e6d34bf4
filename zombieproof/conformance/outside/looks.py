"""What is seen in an answer: its one row as if it stood above it, and what a reader makes of what it fetched."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import JsonValue

from zombieproof.conformance.comparison import Json
from zombieproof.model.vocabulary import Error

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "ListOffsets": ("topic", "partition", "error", "offset"),
    "OffsetFetch": ("topic", "partition", "error", "offset", "metadata"),
}
OF_ERRORS: Final = ("topic", "partition", "error")


def seen_in(api: str, answer: Json) -> Json:
    """An answer with the fields of its row, if it has only one; of a Fetch also what can be read.

    `values` are the records that a reader who filters nothing gets, `readable` those that a reader of committed
    transactions gets, `markers` the markers. An error of the whole answer counts more than one of the row.
    """
    found = dict(answer)
    for name in ("partitions", "transactions"):
        rows = answer.get(name)
        if isinstance(rows, list) and len(rows) == 1 and api != "ListTransactions":
            whole = {"error": answer["error"]} if answer.get("error") else {}
            found = {**found, **_fields(api, rows[0]), **whole}
    batches = found.get("batches")
    if api == "Fetch" and isinstance(batches, list):
        found |= _read(batches, found.get("aborted"))
    return found


def _fields(api: str, row: JsonValue) -> Json:
    if isinstance(row, dict):
        inner = row.get("partitions")
        only = inner[0] if isinstance(inner, list) and len(inner) == 1 and "error" not in row else None
        return {**row, **_fields(api, only)} if only is not None else row
    if not isinstance(row, list):
        return {}
    return dict(zip(COLUMNS.get(api, OF_ERRORS), row, strict=False))


def _read(batches: Sequence[Any], aborted: Any) -> Json:
    """What a reader gets: an aborted transaction is from its first offset to its marker, by the list of the answer."""
    left = sorted(aborted or [], key=lambda row: int(row[1]))
    open_to: set[JsonValue] = set()
    values, readable, markers = list[JsonValue](), list[JsonValue](), list[JsonValue]()
    for batch in batches:
        while left and left[0][1] <= batch["last_offset"]:
            open_to.add(left.pop(0)[0])
        if "control" in batch:
            markers.append(batch["control"])
            if batch["control"] == "ABORT":
                open_to.discard(batch["pid"])
            continue
        values += batch["values"]
        if not (batch["transactional"] and batch["pid"] in open_to):
            readable += batch["values"]
    return {"values": values, "readable": readable, "markers": markers}


def numbered(expected: JsonValue) -> Any:
    """An expectation with the numbers of errors for their names."""
    if isinstance(expected, dict):
        return {name: numbered(value) for name, value in expected.items()}
    if isinstance(expected, list):
        return [numbered(each) for each in expected]
    return int(Error[expected]) if isinstance(expected, str) and expected in Error.__members__ else expected


def is_in(expected: Any, seen: Any) -> bool:
    """Whether an expectation is a part of what was seen: of objects some fields, of lists every entry."""
    if isinstance(expected, dict):
        return isinstance(seen, dict) and all(
            name in seen and is_in(value, seen[name]) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(seen, list) and len(seen) == len(expected) and all(map(is_in, expected, seen))
    return bool(expected == seen) and isinstance(expected, bool) == isinstance(seen, bool)


def part_of(expected: Any, seen: Any) -> Any:
    """The part of what was seen that an expectation is about; everything, where it lacks what is expected."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        missing = [name for name in expected if name not in seen]
        return seen if missing else {name: part_of(value, seen[name]) for name, value in expected.items()}
    return seen
