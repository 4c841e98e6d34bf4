"""What ``toString`` of the results of Kafka's Java Admin client says, in real output and in lines of logs."""

from collections import Counter
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.traces.readers.admin_text import is_printed_in, rows_in
from zombieproof.traces.readers.tool_tables import looks_like_tool_output, read_tool_output
from zombieproof.traces.tool_reports import EndRow, GroupRow, ProducerRow, ToolReports, TransactionRow

OUTPUT = Path(__file__).parent / "tool_output"
REAL = sorted(OUTPUT.glob("*/admin.txt"))
TIME = 1_764_320_346_812

LISTING = "TransactionListing(transactionalId='pay-1', producerId=31, transactionState=PrepareAbort)"
DESCRIPTION = (
    "TransactionDescription(coordinatorId=3, state=Ongoing, producerId=31, producerEpoch=5, "
    f"transactionTimeoutMs=60000, transactionStartTimeMs=OptionalLong[{TIME}], topicPartitions=[pay-2, a-b-0])"
)
PRODUCER = (
    f"ProducerState(producerId=31, producerEpoch=5, lastSequence=3, lastTimestamp={TIME}, "
    "coordinatorEpoch=OptionalInt.empty, currentTransactionStartOffset=OptionalLong[40])"
)


def read(text: str) -> ToolReports:
    return read_tool_output(memoryview(text.encode()), "f")


def rows(line: str) -> list[ProducerRow | TransactionRow | GroupRow | EndRow]:
    return list(rows_in(line, "f", 1, Counter()))


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.parent.name)
def test_real_clients_print_what_is_read(path: Path) -> None:
    reports = read(path.read_text())
    assert {(row.transactional_id, row.state) for row in reports.transactions} == {
        ("late-1", "Empty"),
        ("orders-1", "Ongoing"),
        ("bill-1", "CompleteCommit"),
    }
    assert {(row.place, row.producer_id, row.first_offset, row.coordinator_epoch) for row in reports.producers} == {
        (("late", 0), 2, 0, -1),
        (("orders", 0), 0, None, 0),
        (("orders", 0), 1, 2, -1),
    }
    assert {(row.place, row.offset) for row in reports.groups} >= {(("orders", 0), 2), (("in", 0), 2)}


def test_several_releases_are_there() -> None:
    assert [path.parent.name for path in REAL] == ["3.0.2", "3.9.1", "4.3.1"]


def test_records_stand_anywhere_in_a_line() -> None:
    [listed] = rows(f"10:00:00 INFO found [{LISTING}] on 3 brokers")
    assert isinstance(listed, TransactionRow)
    assert (listed.transactional_id, listed.producer_id, listed.state) == ("pay-1", 31, "PrepareAbort")
    [described] = rows(f"10:00:00 INFO described {{pay-1={DESCRIPTION}}}")
    assert isinstance(described, TransactionRow)
    assert (described.transactional_id, described.partitions) == ("pay-1", frozenset({("pay", 2), ("a-b", 0)}))
    [alone] = rows(DESCRIPTION)
    assert isinstance(alone, TransactionRow)
    assert (alone.transactional_id, alone.start_ms) == (None, TIME)
    [producer] = rows(f"pay-2 [{PRODUCER}]")
    assert producer == ProducerRow(("pay", 2), 31, 5, -1, TIME, 40, producer.told)
    [nowhere] = rows(PRODUCER)
    assert isinstance(nowhere, ProducerRow)
    assert nowhere.place is None


@pytest.mark.parametrize(
    "printed",
    [
        "{in-0=OffsetAndMetadata{offset=20, metadata=''}}",
        "{in-0=OffsetAndMetadata{offset=20, leaderEpoch=null, metadata='a, b}'}}",
        "positions: in-0=OffsetAndMetadata{offset=20, leaderEpoch=4, metadata=''}",
    ],
)
def test_positions_of_every_release_are_read(printed: str) -> None:
    [row] = rows(printed)
    assert row == GroupRow(None, ("in", 0), 20, row.told)


def test_an_end_is_read() -> None:
    [row] = rows("{in-0=ListOffsetsResultInfo(offset=7, timestamp=-1, leaderEpoch=Optional[0])}")
    assert row == EndRow(("in", 0), 7, row.told)


def test_each_of_many_records_in_one_line_is_of_its_own_partition() -> None:
    lists = [f"pay-{at}=PartitionProducerState(activeProducers=[{PRODUCER}, {PRODUCER}])" for at in range(3)]
    found = rows(f"{{{', '.join(lists)}, in-9=OffsetAndMetadata{{offset=20, metadata=''}}, orders-4=[{PRODUCER}]}}")
    assert [(type(row), row.place) for row in found if not isinstance(row, TransactionRow)] == [
        *((ProducerRow, ("pay", at)) for at in (0, 0, 1, 1, 2, 2)),
        (GroupRow, ("in", 9)),
        (ProducerRow, ("orders", 4)),
    ]


@pytest.mark.parametrize("count", [1, 4_000])
def test_the_time_for_a_line_grows_with_its_length_alone(count: int) -> None:
    producers = f"{{pay-2=PartitionProducerState(activeProducers=[{', '.join([PRODUCER] * count)}])}}"
    position = "OffsetAndMetadata{offset=1, metadata=''}"
    positions = f"{{{', '.join(f'in-{at}={position}' for at in range(count))}}}"
    before = process_time()
    assert [row.place for row in rows(producers) if isinstance(row, ProducerRow)] == [("pay", 2)] * count
    assert len(rows(positions)) == count
    assert process_time() - before < 5, "seconds; it takes a minute if each record looks at the whole line"


@pytest.mark.parametrize("printed", [LISTING, DESCRIPTION, PRODUCER])
def test_what_is_cut_is_counted(printed: str) -> None:
    for end in range(printed.index("=") + 2, len(printed)):
        skipped: Counter[str] = Counter()
        assert list(rows_in(printed[:end], "f", 1, skipped)) == []
        assert skipped.total() == (1 if is_printed_in(printed[:end]) else 0)


@pytest.mark.parametrize(
    "foreign",
    [
        "ProducerState(name=x)",
        "case class ProducerState(producerId: Long)",
        "new OffsetAndMetadata(20)",
        "TransactionListing(",
        "a=b",
    ],
)
def test_foreign_text_is_not_taken_for_it(foreign: str) -> None:
    assert rows(foreign) == []
    assert not looks_like_tool_output(foreign)


@given(at=st.integers(0, 2000), junk=st.text(max_size=5))
def test_no_mutilation_raises(at: int, junk: str) -> None:
    position = "{in-0=OffsetAndMetadata{offset=20, metadata=''}}"
    whole = f"{{pay-1={DESCRIPTION}}} [{LISTING}] {{pay-2=[{PRODUCER}]}} {position}"
    place = at % len(whole)
    assert len(rows(whole[:place] + junk + whole[place + len(junk) :])) <= 5
    assert len(rows(whole[:place])) <= 4
