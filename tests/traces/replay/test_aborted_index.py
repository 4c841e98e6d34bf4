"""The index of aborted transactions of a log whose start offset moved into transactions.

Healthy logs conform: a broker folds the log from the start offset that it finds when it starts, or continues with what
it knew before. An index that hides committed records or shows aborted ones is found all the same.
"""

from base64 import b64decode
from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.traces.evidence import AbortedTransaction, LoggedBatch
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Judgement

if TYPE_CHECKING:
    from tests.traces.replay.conftest import History

T0 = ("t", 0)
PROMISE = "the_aborted_index_is_what_the_log_says"


@dataclass
class Broker:
    """Writes a log and its index; when it starts, it may know only what the log holds from its start offset on."""

    history: "History"
    start: int = 0
    began: dict[int, int] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)
    entries: list[tuple[int, int, int, int]] = field(default_factory=list)

    @property
    def batches(self) -> list[LoggedBatch]:
        return list(self.history.log(T0).batches)

    def write(self, producer_id: int, count: int) -> None:
        sequence = self.sequences.get(producer_id, 0)
        base = self.history.data(T0, producer_id, 0, sequence, count)
        self.sequences[producer_id] = sequence + count
        self.began.setdefault(producer_id, base)

    def end(self, producer_id: int, *, commit: bool) -> None:
        offset = self.history.marker(T0, producer_id, 0, commit)
        first = self.began.pop(producer_id, None)
        if first is not None and not commit:
            self.entries.append((producer_id, first, offset, min(self.began.values(), default=offset + 1)))

    def restart(self) -> None:
        self.began = {}
        for batch in self.batches:
            if batch.last_offset < self.start:
                continue
            if batch.is_control:
                self.began.pop(batch.producer_id, None)
            else:
                self.began.setdefault(batch.producer_id, batch.base_offset)

    def is_accused(self, *, deletes_segments: bool) -> bool:
        """Whether `replay` finds fault with the index."""
        log = self.history.log(T0)
        log.start_offset = self.start
        if deletes_segments:
            log.batches = self.batches[bisect_left(self.batches, self.start, key=lambda batch: batch.last_offset) :]
            log.start_offset = log.batches[0].base_offset if log.batches else self.start
        self.history.evidence.aborted_transactions = [
            AbortedTransaction(*T0, "", *entry, "by hand") for entry in self.entries
        ]
        promises = [finding.promise for finding in replay(self.history.evidence).findings]
        assert set(promises) <= {PROMISE}
        return bool(promises)


OPERATIONS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from([7, 8]), st.integers(1, 3)),
    st.tuples(st.sampled_from(["abort", "abort", "commit"]), st.sampled_from([7, 8]), st.just(0)),
    st.tuples(st.sampled_from(["delete", "restart"]), st.just(0), st.integers(0, 12)),
)


def played(history: "History", operations: list[tuple[str, int, int]]) -> Broker:
    broker = Broker(history)
    history.log(T0)
    for operation, producer_id, number in operations:
        if operation == "write":
            broker.write(producer_id, number)
        elif operation == "delete":
            broker.start = max(broker.start, min(number, history.log(T0).end_offset))
        elif operation == "restart":
            broker.restart()
        else:
            broker.end(producer_id, commit=operation == "commit")
    return broker


@given(operations=st.lists(OPERATIONS, min_size=4, max_size=14), deletes_segments=st.booleans())
def test_an_index_that_a_broker_wrote_is_not_accused(
    operations: list[tuple[str, int, int]], deletes_segments: bool, made: "type[History]"
) -> None:
    broker = played(made(), operations)
    assert not broker.is_accused(deletes_segments=deletes_segments)


CUT = [
    ("write", 7, 1),  # offset 0
    ("write", 8, 2),  # 1 to 2
    ("write", 7, 1),  # 3
    ("commit", 7, 0),  # 4
    ("write", 7, 1),  # 5
    ("delete", 0, 2),
    ("abort", 8, 0),  # 6
    ("abort", 7, 0),  # 7
    ("write", 7, 1),  # 8
    ("abort", 7, 0),  # 9
]
ENTRIES = [(8, 1, 6, 5), (7, 5, 7, 8), (7, 8, 9, 10)]
WRONG = {
    "the transaction at the start offset is missing": ENTRIES[1:],
    "a later transaction is missing": ENTRIES[::2],
    "begins after its data": [(8, 3, 6, 5), *ENTRIES[1:]],
    "begins before a marker of its producer": [ENTRIES[0], (7, 1, 7, 8), ENTRIES[2]],
    "begins at the marker of its producer": [ENTRIES[0], (7, 4, 7, 8), ENTRIES[2]],
    "stable beyond another transaction": [(8, 1, 6, 7), *ENTRIES[1:]],
    "of another producer": [(9, 1, 6, 5), *ENTRIES[1:]],
    "ends without a marker": [*ENTRIES[:2], (7, 1, 8, 8)],
    "ends with a COMMIT marker": [(7, 1, 4, 0), *ENTRIES],
}


@pytest.mark.parametrize("deletes_segments", [False, True])
@pytest.mark.parametrize("entries", WRONG.values(), ids=WRONG)
def test_a_wrong_entry_is_found_after_any_start_offset(
    entries: list[tuple[int, int, int, int]], deletes_segments: bool, made: "type[History]"
) -> None:
    broker = played(made(), CUT)
    assert broker.entries == ENTRIES
    assert not broker.is_accused(deletes_segments=deletes_segments)
    broker.entries = entries
    assert broker.is_accused(deletes_segments=deletes_segments)


KAFKA = {
    f"{3:020}.log": (
        "AAAAAAAAAAMAAAA6AAAAAAJxwrUlABAAAAAAAAABoiex3TYAAAGiJ7HdNgAAAAAAAAAAAAAAAAACAAAAARAAAAABBHYwAAAAAAAA"
        "AAAEAAAAOgAAAAACxOXIFgAQAAAAAAAAAaInsd1BAAABoiex3UEAAAAAAAAAAQAAAAAAAQAAAAEQAAAAAQR2MAA="
    ),
    f"{5:020}.log": (
        "AAAAAAAAAAUAAABCAAAAAAID5mJEADAAAAAAAAABoiex5oIAAAGiJ7HmggAAAAAAAAABAAD/////AAAAASAAAAAIAAAAAAwAAAAA"
        "AAAAAAAAAAAAAAYAAABCAAAAAAKg3rJYADAAAAAAAAABoiex52gAAAGiJ7HnaAAAAAAAAAAAAAD/////AAAAASAAAAAIAAAAAAwA"
        "AAAAAAAA"
    ),
    f"{5:020}.txnindex": (
        "AAAAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAUAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAGAAAAAAAAAAc="
    ),
}
"""A partition of Kafka 4.3.1: producers 1 and 0 write at offsets 0 and 1 and, in a later segment, at 3 and 4.

DeleteRecords up to 3 deletes the earlier segments, and then both transactions abort. The entries begin at 0 and 1.
"""


def copied(folder: Path) -> Path:
    partition = folder / "seg-0"
    partition.mkdir()
    for name, data in KAFKA.items():
        (partition / name).write_bytes(b64decode(data))
    return partition


@pytest.mark.parametrize("wrong", [False, True])
def test_the_log_of_a_real_kafka_after_retention_conforms(tmp_path: Path, wrong: bool) -> None:
    index = copied(tmp_path) / f"{5:020}.txnindex"
    if wrong:
        index.write_bytes(index.read_bytes()[34:])
    found = replay([tmp_path])
    assert found.verdict is (Judgement.VIOLATES if wrong else Judgement.CONFORMS)
    assert [finding.promise for finding in found.findings] == [PROMISE] * wrong


def test_an_empty_checkpoint_of_a_broker_that_just_started_is_no_damage(tmp_path: Path) -> None:
    copied(tmp_path)
    for name in ("cleaner-offset-checkpoint", "log-start-offset-checkpoint"):
        (tmp_path / name).touch()
    assert replay([tmp_path]).damage == []
