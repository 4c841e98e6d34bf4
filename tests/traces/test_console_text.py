"""What a console consumer prints of ``__transaction_state`` in the forms of the reference §9.4."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.traces.evidence import Damage, TransactionLogValue, TransactionStateRecord, Unit
from zombieproof.traces.readers.console_text import looks_like_console, read_console

TIME = 1_700_000_000_000


def value(*, newest: bool, has_start: bool = True) -> TransactionLogValue:
    return TransactionLogValue(
        producer_id=4000,
        previous_producer_id=4000 if newest else None,
        next_producer_id=-1 if newest else None,
        producer_epoch=1,
        timeout_ms=60000,
        state=TransactionState.PREPARE_COMMIT,
        partitions=frozenset({("t", 0), ("t", 1)}),
        last_update_ms=TIME + 500,
        start_ms=TIME if has_start else None,
        client_transaction_version=2 if newest else None,
    )


FIELDS = (
    '"producerEpoch":1,"transactionTimeoutMs":60000,"transactionStatus":STATUS,'
    '"transactionPartitions":[{"topic":"t","partitionIds":[0,1]}],'
    f'"transactionLastUpdateTimestampMs":{TIME + 500},"transactionStartTimestampMs":{TIME}'
)
NEWEST = (
    '{"key":{"type":0,"data":{"transactionalId":"ID"}},"value":{"version":1,"data":{"producerId":4000,'
    f'"previousProducerId":4000,{FIELDS},"clientTransactionVersion":2}}}}}}'
)
KAFKA_3_9 = (
    '{"key":{"version":0,"data":{"transactionalId":"ID"}},"value":{"version":0,"data":{"producerId":4000,'
    f"{FIELDS}}}}}}}"
)
KAFKA_3_8 = (
    "ID::TransactionMetadata(transactionalId=ID, producerId=4000, producerEpoch=1, txnTimeoutMs=60000, "
    "state=PrepareCommit, pendingState=None, topicPartitions=HashSet(t-0, t-1), "
    f"txnStartTimestamp={TIME}, txnLastUpdateTimestamp={TIME + 500})\n"
)
FORMS = {
    "4.4": (NEWEST.replace("STATUS", '"PrepareCommit"'), value(newest=True)),
    "4.3": (NEWEST.replace("STATUS", "2"), value(newest=True)),
    "3.9": (KAFKA_3_9.replace("STATUS", "2"), value(newest=False)),
    "3.8": (KAFKA_3_8, value(newest=False)),
    "3.7": (
        KAFKA_3_8.replace("producerId=4000,", "producerId=4000, lastProducerId=4000,").replace("HashSet", "Set"),
        value(newest=False),
    ),
}
TOMBSTONES = {
    "4.3": '{"key":{"type":0,"data":{"transactionalId":"ID"}},"value":null}',
    "3.8": "ID::NULL\n",
}


def read(text: str) -> tuple[list[TransactionStateRecord], list[Damage]]:
    return read_console(memoryview(text.encode()), "f")


@pytest.mark.parametrize("release", FORMS)
def test_every_form_tells_the_same(release: str) -> None:
    text, expected = FORMS[release]
    records, damage = read(text.replace("ID", "a") + text.replace("ID", "b"))
    assert damage == []
    assert [(record.transactional_id, record.value, record.order) for record in records] == [
        ("a", expected, 0),
        ("b", expected, 1),
    ]
    assert {(record.partition, record.offset, record.timestamp_ms) for record in records} == {(NONE, NONE, NONE)}


@pytest.mark.parametrize("release", TOMBSTONES)
def test_a_tombstone_is_read(release: str) -> None:
    records, damage = read(TOMBSTONES[release])
    assert [(record.transactional_id, record.value) for record in records] == [("ID", None)]
    assert damage == []


@pytest.mark.parametrize("name", ["a, producerId=7", "x::y", "(", "TransactionMetadata(transactionalId=z"])
def test_an_id_that_looks_like_fields_is_read_in_the_old_form(name: str) -> None:
    records, damage = read(KAFKA_3_8.replace("ID", name))
    assert damage == []
    assert [record.transactional_id for record in records] == [name]


def test_messages_of_the_tool_stand_between_records() -> None:
    text = FORMS["4.3"][0]
    noise = "2026-11-21T13:52:27.06Z main ERROR Error processing message, terminating consumer process: \n"
    records, damage = read(f"{noise}{text}\n\n{text}{noise}org.apache.kafka.common.errors.TimeoutException\n")
    assert len(records) == 2
    assert damage == []


def test_what_the_formatter_did_not_know_is_passed_over_or_named() -> None:
    unknown_key = '{"key":{"type":7,"data":"unknown"},"value":{"version":0,"data":{}}}'
    assert read(unknown_key + '{"key":null,"value":null}') == ([], [])
    unknown_value = '{"key":{"type":0,"data":{"transactionalId":"a"}},"value":{"version":9,"data":"unknown"}}'
    records, damage = read(unknown_value)
    assert records == []
    assert [(place.position, place.unit) for place in damage] == [(0, Unit.BYTE)]


@pytest.mark.parametrize("release", ["4.3", "3.9"])
def test_a_json_record_cut_anywhere_is_named(release: str) -> None:
    text = FORMS[release][0]
    for end in range(3, len(text)):
        records, damage = read(text + "\n" + text[:end])
        assert len(records) == 1
        assert [place.position for place in damage] == [len(text) + 1], text[:end]


def test_a_json_record_whose_beginning_is_lost_is_named() -> None:
    text = FORMS["4.3"][0]
    records, damage = read(text[9:] + text)
    assert len(records) == 1
    assert len(damage) == 1


def test_a_cut_line_of_the_old_form_is_named() -> None:
    lines = KAFKA_3_8 + KAFKA_3_8[:60] + "\n" + KAFKA_3_8
    records, damage = read(lines)
    assert len(records) == 2
    assert [(place.position, place.unit) for place in damage] == [(2, Unit.LINE)]


@pytest.mark.parametrize(
    ("change", "release"),
    [
        (lambda text: text.replace("PrepareCommit", "Sideways"), "4.4"),
        (lambda text: text.replace('"transactionStatus":2', '"transactionStatus":true'), "4.3"),
        (lambda text: text.replace('"producerId":4000,', ""), "4.3"),
        (lambda text: text.replace("producerEpoch=1", "producerEpoch=x"), "3.8"),
        (lambda text: text.replace("HashSet(t-0, t-1)", "HashSet(t-0; t-1)"), "3.8"),
        (lambda text: text.replace(", txnTimeoutMs=60000", ""), "3.8"),
    ],
)
def test_a_garbled_record_is_named(change: Callable[[str], str], release: str) -> None:
    records, damage = read(change(FORMS[release][0]))
    assert records == []
    assert len(damage) == 1


@pytest.mark.parametrize("release", FORMS)
def test_each_form_is_known_by_its_beginning(release: str) -> None:
    assert looks_like_console(FORMS[release][0])
    assert not looks_like_console("[2026-11-21] INFO nothing of the kind\n")
    assert not looks_like_console('{"partitions": {"t-0": {"read": [{"offset": 0, "key": "k"}]}}}')


@given(cut=st.integers(0, 2000), at=st.integers(0, 2000), junk=st.text(max_size=4))
def test_no_mutilation_raises(cut: int, at: int, junk: str) -> None:
    for text, _ in FORMS.values():
        whole = text * 2
        place = at % len(whole)
        for changed in (whole[: cut % len(whole)], whole[:place] + junk + whole[place + len(junk) :]):
            records, _ = read(changed)
            assert len(records) <= 2
