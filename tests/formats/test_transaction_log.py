"""Records of the transaction log as they are written: the test vectors of reference §7.1, and round trips."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.formats.batches import TransactionValue
from zombieproof.formats.faults import Unwritable
from zombieproof.formats.schema import UNKNOWN_TAGS, read_message, write_message
from zombieproof.formats.transaction_log import VALUE, read_key, read_value, value_version, write_key, write_value
from zombieproof.model.vocabulary import TransactionState
from zombieproof.traces.readers.internal_text import transaction_record
from zombieproof.traces.readers.transaction_log import shown

EMPTY = TransactionValue(4000, -1, -1, 0, -1, 60_000, TransactionState.EMPTY, frozenset(), 1700000000000, -1, 0)
ONGOING = replace(EMPTY, state=TransactionState.ONGOING, partitions=frozenset({("t", 0)}), start_ms=1700000000000)
TV2 = replace(ONGOING, producer_epoch=1, previous_producer_id=4000, client_transaction_version=2)

VECTORS = {
    "v0 Empty": (EMPTY, 0, "0000 0000000000000fa0 0000 0000ea60 00 ffffffff 0000018bcfe56800 ffffffffffffffff"),
    "v0 Ongoing": (
        ONGOING,
        0,
        "0000 0000000000000fa0 0000 0000ea60 01 00000001 0001 74 00000001 00000000 0000018bcfe56800 0000018bcfe56800",
    ),
    "v1 Ongoing": (
        TV2,
        1,
        (
            "0001 0000000000000fa0 0001 0000ea60 01 02 02 74 02 00000000 00 0000018bcfe56800 0000018bcfe56800 "
            "02 00 08 0000000000000fa0 02 02 0002"
        ),
    ),
}


@pytest.mark.parametrize(("value", "version", "expected"), VECTORS.values(), ids=VECTORS)
def test_the_bytes_are_those_of_the_reference(value: TransactionValue, version: int, expected: str) -> None:
    assert write_value(value, version) == bytes.fromhex(expected)


def test_a_key_is_a_type_and_an_id() -> None:
    assert write_key("orders-1") == bytes.fromhex("000000086f72646572732d31")
    assert read_key(write_key("ördérs")) == "ördérs"


@pytest.mark.parametrize(("transaction_version", "version"), [(0, 0), (1, 1), (2, 1)])
def test_flexible_values_are_written_from_transaction_version_1_on(transaction_version: int, version: int) -> None:
    assert value_version(transaction_version) == version


IDS = st.integers(-1, 2**63 - 1)
TOPICS = st.text(st.sampled_from("abc._"), min_size=1, max_size=200)
PARTITIONS = st.frozensets(st.tuples(TOPICS, st.integers(0, 2**31 - 1)), max_size=300)


VALUES = st.builds(
    TransactionValue,
    producer_id=IDS,
    previous_producer_id=IDS,
    next_producer_id=IDS,
    producer_epoch=st.integers(-1, 32767),
    timeout_ms=st.integers(0, 2**31 - 1),
    state=st.sampled_from([state for state in TransactionState if 0 < state < 6]),
    partitions=PARTITIONS,
    last_update_ms=IDS,
    start_ms=IDS,
    last_producer_epoch=st.just(-1),
    client_transaction_version=st.integers(0, 2),
    next_producer_epoch=st.integers(-1, 32767),
)


@given(VALUES)
def test_what_is_written_is_read(value: TransactionValue) -> None:
    assert read_value(write_value(value, 1)) == value
    assert read_value(write_value(value, 0)) == replace(
        value, previous_producer_id=-1, next_producer_id=-1, next_producer_epoch=-1, client_transaction_version=0
    )


@given(VALUES)
def test_what_is_shown_is_read_from_the_text(value: TransactionValue) -> None:
    told = transaction_record(shown("an id", value).split("::")[1])
    assert told is not None
    assert told[0] == "an id"
    assert told[1] is not None
    for name in ("producer_id", "producer_epoch", "timeout_ms", "state", "partitions", "last_update_ms"):
        assert getattr(told[1], name) == getattr(value, name)


def test_a_tombstone_is_shown_as_deleted() -> None:
    assert shown("orders-1", None) == "transaction_metadata::transactionalId=orders-1 payload: <DELETE>"


@pytest.mark.parametrize(
    ("value", "version", "says"),
    [
        (replace(ONGOING, state=TransactionState.EMPTY), 0, "so no partitions; got"),
        (replace(ONGOING, state=TransactionState.DEAD), 1, "DEAD is never written"),
        (replace(ONGOING, state=TransactionState.PREPARE_EPOCH_FENCE), 1, "PREPARE_EPOCH_FENCE is never written"),
        (ONGOING, 2, "version 2 of the value is unknown"),
    ],
)
def test_what_no_coordinator_writes_is_refused(value: TransactionValue, version: int, says: str) -> None:
    with pytest.raises(Unwritable, match=says):
        write_value(value, version)


def test_tagged_fields_of_later_releases_are_kept_aside() -> None:
    written = write_value(TV2, 1)
    topic_tags, value_tags = bytes([1, 9, 2]) + b"zz", bytes([3, 0, 8]) + (4000).to_bytes(8, "big")
    later = written.replace(
        bytes.fromhex("00000000 00 0000018bcfe56800"), bytes(4) + topic_tags + bytes.fromhex("0000018bcfe56800")
    )
    at = later.index(bytes.fromhex("02 00 08 0000000000000fa0 02 02 0002"))
    later = later[:at] + value_tags + bytes.fromhex("02 02 0002") + bytes([100, 1]) + b"!"
    assert read_value(later) == replace(TV2, next_producer_id=-1, next_producer_epoch=-1)
    message = read_message(VALUE, later)
    assert message.fields[UNKNOWN_TAGS] == {100: b"!"}
    assert [topic[UNKNOWN_TAGS] for topic in message.fields["TransactionPartitions"]] == [{9: b"zz"}]
    assert write_message(VALUE, message) == later
    assert UNKNOWN_TAGS not in read_message(VALUE, written).fields
