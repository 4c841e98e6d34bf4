"""A table gives the rows that it holds, and knows where they were read without making them."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.pipeline.sink.rows import IllegalRows, Place, Row, Source, left_by_positions, spans
from zombieproof.pipeline.spark.options import SinkOptions, sink_options
from zombieproof.pipeline.spark.tables import TableRows, table_of

OPTIONS: SinkOptions = sink_options(
    {"kafka.bootstrap.servers": "nowhere:1", "kafka.group.id": "g", "topic": "out"}, streaming=True
)
PLACES = st.sampled_from([("a", 0), ("a", 1), ("b", 0)])
ROWS = st.lists(
    st.builds(
        lambda place, offset, value, key, headers: Row(
            "out", value, key, None, headers, None, Source(place[0], place[1], offset)
        ),
        PLACES,
        st.integers(0, 9),
        st.none() | st.binary(max_size=3),
        st.none() | st.binary(max_size=3),
        st.lists(st.tuples(st.text(max_size=2), st.none() | st.binary(max_size=2)), max_size=2).map(tuple),
    ),
    max_size=30,
)


def table(rows: list[Row], at_once: int = 7) -> TableRows:
    """The rows as tasks hand them over: in several batches of Arrow's."""
    batches = []
    for first in range(0, len(rows), at_once):
        part = rows[first : first + at_once]
        sources = [row.source for row in part]
        read = [{"topic": each.topic, "partition": each.partition, "offset": each.offset} for each in sources if each]
        columns = {
            "value": pa.array([row.value for row in part], pa.binary()),
            "key": pa.array([row.key for row in part], pa.binary()),
            "headers": pa.array(
                [[{"key": key, "value": value} for key, value in row.headers] or None for row in part],
                pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            ),
            "source": pa.array(
                read, pa.struct([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])
            ),
        }
        batches.append(pa.RecordBatch.from_pydict(columns))
    return TableRows(table_of(iter(batches), OPTIONS), OPTIONS)


def sent(rows: Sequence[Row]) -> list[Row]:
    """The rows as they are sent; where each was read the table knows."""
    return [row._replace(source=None) for row in rows]


@given(ROWS)
def test_its_rows_are_those_that_were_put_in(rows: list[Row]) -> None:
    made, put_in = table(rows), sent(rows)
    assert (len(made), list(made), list(made[:1])) == (len(put_in), put_in, put_in[:1])
    assert list(made[2:5]) == put_in[2:5]
    assert spans(made, None) == spans(rows, None)


@given(ROWS, st.dictionaries(PLACES, st.integers(-1, 11)))
def test_what_is_left_of_it_is_what_is_left_of_a_list(rows: list[Row], committed: dict[Place, int]) -> None:
    made, between = table(rows), spans(rows, None)
    of_table, of_list = left_by_positions(made, between, committed), left_by_positions(rows, between, committed)
    assert list(of_table.rows) == sent(of_list.rows)
    assert (of_table.found, of_table.positions) == (of_list.found, of_list.positions)


def test_an_offset_that_is_none_is_refused() -> None:
    with pytest.raises(IllegalRows, match="read at a-0, offset -1"):
        spans(table([Row("out", b"v", source=Source("a", 0, -1))]), None)


def stamped(micros: list[int | None], **options: str) -> list[int | None]:
    """What becomes of timestamps."""
    told = sink_options(
        {"kafka.bootstrap.servers": "nowhere:1", "kafka.group.id": "g", "topic": "out", **options}, streaming=True
    )
    columns = {
        "value": pa.array([b"v"] * len(micros)),
        "timestamp": pa.array(micros, pa.timestamp("us", tz="Europe/Berlin")),
        "source": pa.array([{"topic": "a", "partition": 0, "offset": number} for number, _ in enumerate(micros)]),
    }
    return [row.timestamp_ms for row in TableRows(table_of(iter([pa.RecordBatch.from_pydict(columns)]), told), told)]


def test_timestamps_are_milliseconds_and_left_out_unless_they_are_asked_for() -> None:
    micros = [1_700_000_000_123_456, 1000, None]
    assert stamped(micros, includeTimestamp="true") == [1_700_000_000_123, 1, None]
    assert stamped(micros) == [None, None, None]


def test_a_negative_partition_is_refused() -> None:
    columns = {"value": pa.array([b"a", b"b"]), "partition": pa.array([None, -1], pa.int32())}
    columns["source"] = pa.array([{"topic": "a", "partition": 0, "offset": number} for number in range(2)])
    with pytest.raises(
        IllegalRows, match="column partition is -1 in a row; legal is the number of a partition, or null"
    ):
        table_of(iter([pa.RecordBatch.from_pydict(columns)]), OPTIONS)


@pytest.mark.parametrize("micros", [-1_000_000, 0, 999])
def test_a_timestamp_that_the_client_would_replace_is_refused(micros: int) -> None:
    with pytest.raises(IllegalRows, match="legal is a time from 1 ms on"):
        stamped([5_000, micros], includeTimestamp="true")
