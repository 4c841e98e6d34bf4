"""What applications asked and were told, as JSON Lines.

An object is a call, ``{t, client, action, args, result}``, or a transaction, ``{id, txn, records, asked, told}``.
"""

import json
import re

from zombieproof.formats.faults import Undecodable
from zombieproof.traces.evidence import ClientCall, ClientOutcome, Damage, Unit
from zombieproof.traces.readers.internal_text import Json, integer, mapping, text
from zombieproof.traces.readers.lines import PART, Lines, Reached

RECORD = re.compile(r"(\d{1,10})@(\d{1,19})", re.ASCII)


def looks_like_calls(line: str) -> bool:
    """Whether a line is one of the two forms."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and ({"action", "result"} <= set(document) or {"asked", "told"} <= set(document))


def read_calls(
    data: memoryview, file: str, reached: Reached | None = None
) -> tuple[list[ClientCall], list[ClientOutcome], list[Damage]]:
    """All calls and all transactions, in the order of the file, and the lines that cannot be read."""
    calls: list[ClientCall] = []
    outcomes: list[ClientOutcome] = []
    damage: list[Damage] = []
    lines = Lines(data, reached)
    for line in lines:
        if not line.strip() or PART.fullmatch(line):
            continue
        try:
            document = mapping(json.loads(line), "the line")
            if "action" in document:
                calls.append(_call(document, file, lines.number))
            else:
                outcomes.append(_outcome(document, file, lines.number))
        except (ValueError, RecursionError) as fault:
            damage.append(Damage(file, lines.number, f"the line of a client's call cannot be read: {fault}", Unit.LINE))
    return calls, outcomes, damage


def _call(document: Json, file: str, number: int) -> ClientCall:
    if "result" not in document:
        raise Undecodable("result is missing")
    time = document.get("t")
    return ClientCall(
        file=file,
        line=number,
        timestamp_ms=None if time is None else integer(document, "t"),
        client=text(document, "client"),
        action=text(document, "action"),
        args=dict(mapping(document.get("args", {}), "args")),
        result=document["result"],
    )


def _outcome(document: Json, file: str, number: int) -> ClientOutcome:
    listed = document.get("records", [])
    records = (
        [RECORD.fullmatch(entry) for entry in listed if isinstance(entry, str)] if isinstance(listed, list) else []
    )
    if not isinstance(listed, list) or len(records) != len(listed) or None in records:
        raise Undecodable("records is no list of 'partition@offset'")
    return ClientOutcome(
        file=file,
        line=number,
        transactional_id=text(document, "id"),
        transaction=integer(document, "txn"),
        records=tuple((int(found[1]), int(found[2])) for found in records if found),
        asked=text(document, "asked"),
        told=text(document, "told"),
    )
