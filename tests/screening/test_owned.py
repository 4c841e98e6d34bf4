"""Logs beside a coordinator's log that was cleaned: only runs that it tells of are made, and the same is found."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tests.screening.drawn import put
from tests.screening.logs import Written
from tests.screening.test_replaying import agree, told
from zombieproof.formats.batches import TransactionValue
from zombieproof.formats.control_records import EndMarker
from zombieproof.formats.record_batch import MAGIC, BatchHeader, write_batch
from zombieproof.formats.stored_records import StoredRecord
from zombieproof.formats.transaction_log import FLEXIBLE_VERSION, write_key, write_value
from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.screening import taking
from zombieproof.screening.cleared_log import ClearedLog

PID = 7
TRANSACTIONS = 8
DECIDED_MS = 1_700_000_001_000
"""After every record of the logs."""
STATES = (
    TransactionState.EMPTY,
    TransactionState.ONGOING,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
)


def log(outcomes: list[bool], *, is_open: bool = False, gap: int = NONE) -> list[Written]:
    """Transactions of one producer as transaction version 2 writes them; the one numbered `gap` left nothing here."""
    batches: list[Written] = []
    offset = 0
    for epoch, commits in enumerate(outcomes):
        if epoch == gap:
            continue
        batches.append(Written(offset, 2, PID, epoch, 0, is_transactional=True))
        marker = EndMarker(commits, 0)
        batches.append(Written(offset + 2, 1, PID, epoch + 1, NONE, is_transactional=True, marker=marker))
        offset += 3
    if is_open:
        batches.append(Written(offset, 1, PID, len(outcomes), 0, is_transactional=True))
    return batches


def coordinator(folder: Path, records: list[tuple[int, TransactionState, int]]) -> None:
    """The log of a coordinator, by offset, state and epoch; offsets in front and between are cleaned away."""
    made = b""
    for offset, state, epoch in records:
        lists = frozenset({("t", 0)}) if state not in (TransactionState.EMPTY, *STATES[4:]) else frozenset()
        value = TransactionValue(PID, PID, NONE, epoch, NONE, 60_000, state, lists, DECIDED_MS, 1, 2)
        record = StoredRecord(0, 0, write_key("id"), write_value(value, FLEXIBLE_VERSION))
        header = BatchHeader(offset, 0, 0, MAGIC, 0, 0, 0, 0, 0, NONE, NONE, NONE, 1)
        made += write_batch(header, [record])
    path = folder / "__transaction_state-0" / f"{0:020}.log"
    path.parent.mkdir(parents=True)
    path.write_bytes(made)


OUTCOMES = st.lists(st.booleans(), min_size=1, max_size=TRANSACTIONS)
RECORDS = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from(STATES), st.integers(0, TRANSACTIONS + 1)), min_size=1, max_size=5
)


@given(OUTCOMES, st.booleans(), st.integers(NONE, TRANSACTIONS), RECORDS, st.integers(0, 9))
def test_whatever_the_coordinator_tells_the_same_is_found(
    tmp_path_factory: pytest.TempPathFactory,
    outcomes: list[bool],
    is_open: bool,
    gap: int,
    records: list[tuple[int, TransactionState, int]],
    begins: int,
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    put(folder, "t-0", log(outcomes, is_open=is_open, gap=gap))
    offset, placed = begins, []
    for further, state, epoch in records:
        placed.append((offset, state, epoch))
        offset += further
    coordinator(folder, placed)
    count = agree([folder])
    event(f"{count} cleared")


@pytest.mark.parametrize(
    ("records", "says", "count"),
    [
        ([(90, TransactionState.COMPLETE_COMMIT, TRANSACTIONS)], "conforms", 1),
        (
            [
                (90, TransactionState.PREPARE_ABORT, TRANSACTIONS),
                (91, TransactionState.COMPLETE_ABORT, TRANSACTIONS),
            ],
            "violates",
            1,
        ),
        (
            [
                (90, TransactionState.PREPARE_COMMIT, TRANSACTIONS + 3),
                (91, TransactionState.COMPLETE_COMMIT, TRANSACTIONS + 3),
            ],
            "violates",
            0,
        ),
    ],
    ids=["as it was", "another outcome", "a marker is missing"],
)
def test_runs_that_the_coordinator_does_not_tell_are_not_made(
    tmp_path: Path,
    records: list[tuple[int, TransactionState, int]],
    says: str,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(tmp_path, "t-0", log([True] * TRANSACTIONS))
    coordinator(tmp_path, records)
    made: list[Any] = []
    whole = ClearedLog.runs_of

    def seen(self: ClearedLog, producer_ids: Any, matters: Any = None) -> Any:
        runs = whole(self, producer_ids, matters)
        if runs is None or matters is None:
            return runs
        made.extend(found := list(runs))
        return iter(found)

    monkeypatch.setattr(ClearedLog, "runs_of", seen)
    (report, *_), evidence = told([tmp_path], taking.LogScreen())
    assert sum(each.cleared is not None for each in evidence.logs) == 1
    assert says in str(report["verdict"])
    assert len(made) == count
    agree([tmp_path])
