"""Texts of tools that stand close to each other: each keeps what is its own."""

import json

import pytest

from zombieproof.traces.readers.console_text import read_console
from zombieproof.traces.readers.tool_tables import read_tool_output

OLD = (
    "pay-1::TransactionMetadata(transactionalId=pay-1, producerId=7, producerEpoch={epoch}, txnTimeoutMs=60000, "
    "state=Empty, pendingState=None, topicPartitions=HashSet(), txnStartTimestamp=-1, txnLastUpdateTimestamp={epoch})"
)
HEADER = "ProducerId\tProducerEpoch\tLatestCoordinatorEpoch\tLastSequence\tLastTimestamp\tCurrentTransactionStartOffset"
ROW = "7\t0\t-1\t3\t1710000000000\t4"
COMMAND = "$ kafka-transactions.sh --bootstrap-server h:9092 describe-producers --topic orders --partition 3"


def new(epoch: int) -> str:
    value: dict[str, object] = {
        "producerId": 7,
        "producerEpoch": epoch,
        "transactionTimeoutMs": 60000,
        "transactionStatus": 0,
    }
    value |= {"transactionPartitions": [], "transactionLastUpdateTimestampMs": epoch}
    data = {"version": "0", "data": {**value, "transactionStartTimestampMs": -1}}
    return json.dumps({"key": {"version": "0", "data": {"transactionalId": "pay-1"}}, "value": data})


@pytest.mark.parametrize("between", ["", " ", "\n", "\nProcessed a total of 1 messages\n"])
def test_old_and_new_records_are_read_in_their_order(between: str) -> None:
    old, other = OLD.format(epoch=0), OLD.format(epoch=2)
    for parts, expected in (
        ((old, new(1)), [0, 1]),
        ((new(1), other), [1, 2]),
        ((old, new(1), other, new(3)), [*range(4)]),
    ):
        records, damage = read_console(memoryview(f"{between.join(parts)}\n".encode()), "console.txt")
        assert [each.value.producer_epoch for each in records if each.value is not None] == expected
        assert damage == []


def test_an_old_record_that_is_cut_before_a_new_one_is_damage() -> None:
    text = f"{OLD.format(epoch=0)[:90]}{new(1)}\n"
    _, damage = read_console(memoryview(text.encode()), "console.txt")
    assert len(damage) == 1


def places(*lines: str) -> list[tuple[str, int] | None]:
    reports = read_tool_output(memoryview("\n".join([*lines, ""]).encode()), "paste.txt")
    return [row.place for row in reports.producers]


@pytest.mark.parametrize("between", ["", "[2026-11-30 17:16:22,501] WARN slow (org.apache.kafka.x)", "the output:"])
def test_options_are_about_the_table_below_their_command(between: str) -> None:
    assert places(COMMAND, between, HEADER, ROW) == [("orders", 3)]


@pytest.mark.parametrize(
    "prompt",
    [
        "$ cat saved.txt",
        "[kafka@host ~]$ cat saved.txt",
        "root@host:/opt# cat saved.txt",
        "me@mac ~ % cat saved.txt",
        "sh-5.1# cat saved.txt",
        "PS C:\\kafka> type saved.txt",
    ],
)
def test_options_are_not_about_the_table_of_another_command(prompt: str) -> None:
    assert places(COMMAND, prompt, HEADER, ROW) == [None]
    assert places(COMMAND, HEADER, ROW, prompt, HEADER, ROW) == [("orders", 3), None]
