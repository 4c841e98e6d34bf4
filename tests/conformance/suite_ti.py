"""TransactionIndex: the aborted transactions of one log, and which of them a fetch is told of.

An entry is (producer id, first offset, last offset, last stable offset). What a case does to the index's file (rename,
flush, delete) is not understood here: this index is in memory.
"""

import re
from collections.abc import Mapping
from typing import Any

from tests.conformance.cases import Case, Failed, NotRunnable
from tests.conformance.phrases import Fields, check, listed, matched
from zombieproof.broker.partition.aborted_index import AbortedIndex, AbortedTransaction

NAMED = {"A4": "(0,0,10,11) (1,5,15,13) (2,18,35,25) (3,32,50,40)"}
"""Lists of entries that cases name."""

ENTRY = r"\((\d+),(\d+),(\d+),(\d+)\)"
COUNTS = r"(?P<all>all)|(?P<none>none)|(?P<side>first|last) (?P<count>\d+)"


def run(case: Case) -> None:
    """Run one case."""
    fields = Fields(case.given, "given")
    before = _entries(fields.take("entries", ""))
    fields.done()
    index = AbortedIndex(before)
    if isinstance(case.expect, list):
        steps = listed(case.when)
        if len(steps) != len(case.expect):
            raise NotRunnable(f"{len(steps)} steps, but {len(case.expect)} expectations")
        for step, wanted in zip(steps, case.expect, strict=True):
            _step(index, before, step, wanted)
        return
    _step(index, before, case.when, case.expect)


def _entries(text: object) -> list[AbortedTransaction]:
    told = NAMED.get(text, text) if isinstance(text, str) else text
    matched(rf"(?:{ENTRY}(?: {ENTRY})*)?", told, "entries")
    return [AbortedTransaction(*map(int, row)) for row in re.findall(ENTRY, str(told))]


def _step(index: AbortedIndex, before: list[AbortedTransaction], step: object, wanted: Any) -> None:
    match = matched(
        rf"append (?P<entry>{ENTRY})|(?P<first>\d+)\.\.(?P<bound>\d+)|to (?P<end>\d+)|(?P<reset>reset)", step, "step"
    )
    if match["entry"]:
        _append(index, _entries(match["entry"])[0], wanted)
    elif match["first"]:
        told = matched(rf"(?:{COUNTS}), (?P<complete>complete|incomplete)", wanted, "expect")
        found = index.collect(int(match["first"]), int(match["bound"]))
        check(f"{step}: entries", _chosen(before, told), list(found.aborted))
        check(f"{step}: complete", told["complete"], "complete" if found.is_complete else "incomplete")
    else:
        told = matched(COUNTS, wanted, "expect")
        if match["reset"]:
            index.reset()
        else:
            index.truncate(int(match["end"]))
        check(f"{step}: entries", _chosen(before, told), list(index))


def _append(index: AbortedIndex, entry: AbortedTransaction, wanted: object) -> None:
    fields = Fields(wanted, "expect") if isinstance(wanted, Mapping) else None
    raises = None if fields is None else fields.take("raises")
    if fields is not None:
        fields.done()
    if raises not in (None, "IllegalArgument") or (fields is None and wanted != "ok"):
        raise NotRunnable(f"{wanted!r} is not understood")
    before = list(index)
    try:
        index.append(entry)
    except ValueError as refusal:
        if raises is None:
            raise Failed(f"{entry} was refused: {refusal}") from refusal
        check("entries behind a refusal", before, list(index))
    else:
        check("raises", raises, None)


def _chosen(entries: list[AbortedTransaction], told: re.Match[str]) -> list[AbortedTransaction]:
    if told["all"]:
        return entries
    if told["none"]:
        return []
    count = int(told["count"])
    if count > len(entries):
        raise NotRunnable(f"{told[0]!r} of {len(entries)} entries")
    return entries[:count] if told["side"] == "first" else entries[len(entries) - count :]
