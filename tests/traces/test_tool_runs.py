"""Runs of one command in one text: which rows of an earlier run are past, and which are not."""

import pytest

from tests.traces.test_tool_tables import COMMAND, GROUPS, HANGING, LIST, PRODUCERS, read, values

FIND = "kafka-transactions.sh --bootstrap-server h:9092 find-hanging --broker-id 1\n"
ABORT = "kafka-transactions.sh --bootstrap-server h:9092 abort --topic pay --partition 2 --start-offset 40\n"
ALL_IDS = "kafka-transactions.sh --bootstrap-server h:9092 list\n"
ASK_GROUP = "kafka-consumer-groups.sh --bootstrap-server h:9092 --describe --group readers\n"


def empty(table: str) -> str:
    return next(line for line in table.splitlines() if line) + "\n"


@pytest.mark.parametrize(
    ("command", "table"), [(FIND, HANGING), (COMMAND, PRODUCERS), (ALL_IDS, LIST), (ASK_GROUP, GROUPS)]
)
@pytest.mark.parametrize(
    "between", ["", ABORT, "\n", "\nThen it was aborted.\n\n", "$ kafka-topics.sh --list\npay\n\n"]
)
@pytest.mark.parametrize("end", ["", "\n", "$\n", "me@host:~$ date\nMon\n"])
def test_a_later_table_without_its_rows_ends_them(command: str, table: str, between: str, end: str) -> None:
    reports = read(f"{command}{table}{between}$ {command}{empty(table)}{end}")
    assert values(reports) == []
    assert ["later run" in note for note in reports.notes] == [True]
    assert sum(reports.rows.values()) >= 1


def test_rows_that_a_later_run_prints_again_stay() -> None:
    first, second = PRODUCERS.splitlines(keepends=True)[1:]
    later = empty(PRODUCERS) + first.replace("\t40  ", "\tNone")
    rows = read(f"{COMMAND}{PRODUCERS}{COMMAND}{later}").producers
    assert [(row.producer_id, row.first_offset) for row in rows] == [(31, 40), (31, None)]
    assert second not in later


def test_an_empty_list_of_a_partition_ends_what_was_hanging_there() -> None:
    reports = read(f"{FIND}{HANGING}{COMMAND}{empty(PRODUCERS)}")
    assert values(reports) == []
    for other in (COMMAND.replace("pay", "refunds"), COMMAND.replace("h:9092", "other:9092")):
        assert len(read(f"{FIND}{HANGING}{other}{empty(PRODUCERS)}").producers) == 1
    at_a_follower = COMMAND.replace("--topic", "--broker-id 3 --topic")
    assert len(read(f"{FIND}{HANGING}{at_a_follower}{empty(PRODUCERS)}").producers) == 1


@pytest.mark.parametrize(
    "later",
    [
        FIND.replace("--broker-id 1", "--broker-id 2"),
        FIND.replace("h:9092", "other:9092"),
        FIND.replace("\n", " | grep refunds\n"),
        FIND.replace("\n", " | head -1\n"),
        FIND.replace("\n", " > a.txt\n"),
        f"kubectl exec kafka-0 -- {FIND}",
        FIND.replace("--broker-id 1", "--broker-id $b"),
        FIND.replace("\n", f"; {FIND}"),
        "",
        "\n",
    ],
)
def test_a_run_that_may_ask_something_else_ends_nothing(later: str) -> None:
    assert len(read(f"{FIND}{HANGING}{later}{empty(HANGING)}").producers) == 1
    if "|" in later or "$" in later:
        assert len(read(f"{later}{HANGING}{later}{empty(HANGING)}").producers) == 1


@pytest.mark.parametrize("row", ["pay   \t2        \t31        \t5            \t9\n", "...\n", "pay   \t2   \tx\n"])
def test_a_table_that_was_not_read_in_full_ends_nothing(row: str) -> None:
    reports = read(f"{FIND}{HANGING}{FIND}{empty(HANGING)}{row}")
    assert len(reports.producers) == 1
    assert ["not used" in note for note in reports.notes] == [True]


def test_a_run_before_it_ends_nothing() -> None:
    assert len(read(f"{FIND}{empty(HANGING)}{FIND}{HANGING}").producers) == 1


def test_of_other_files_nothing_tells_which_is_later() -> None:
    text = f"==> a.txt <==\n{FIND}{HANGING}\n==> b.txt <==\n{FIND}{empty(HANGING)}"
    assert len(read(text).producers) == 1


def test_the_tables_of_one_command_about_several_groups_end_nothing() -> None:
    other = GROUPS.replace("readers", "writers")
    every = "kafka-consumer-groups.sh --bootstrap-server h:9092 --describe --all-groups\n"
    assert {row.group for row in read(f"{every}{GROUPS}{other}").groups} == {"readers", "writers"}
    found = read(f"{every}{GROUPS}{other}{every}{other}").groups
    assert {row.group for row in found} == {"writers"}
