"""Tables of Kafka's command-line tools, as real ones printed them (`tool_output`) and as people paste them."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.traces.readers.lines import ELSEWHERE
from zombieproof.traces.readers.tool_columns import TABLES
from zombieproof.traces.readers.tool_tables import holds_tool_output, looks_like_tool_output, read_tool_output
from zombieproof.traces.tool_reports import GroupRow, ProducerRow, ToolReports, TransactionRow

OUTPUT = Path(__file__).parent / "tool_output"
RELEASES = sorted(path.name for path in OUTPUT.iterdir() if path.is_dir())
TIME = 1_764_320_346_812

HANGING = (
    "Topic\tPartition\tProducerId\tProducerEpoch\tCoordinatorEpoch\tStartOffset\tLastTimestamp\tDuration(min)\t\n"
    f"pay   \t2        \t31        \t5            \t9               \t40         \t{TIME}\t17           \t\n"
)
LIST = (
    "TransactionalId\tCoordinator\tProducerId\tTransactionState\t\n"
    "pay-1          \t3          \t31        \tOngoing         \t\n"
)
DESCRIBE = (
    "CoordinatorId\tTransactionalId\tProducerId\tProducerEpoch\tTransactionState\tTransactionTimeoutMs\t"
    "CurrentTransactionStartTimeMs\tTransactionDurationMs\tTopicPartitions\t\n"
    f"3            \tpay-1          \t31        \t5            \tOngoing         \t60000               \t{TIME}"
    "                \t1500                 \tpay-2,a-b-0    \t\n"
)
PRODUCERS = (
    "ProducerId\tProducerEpoch\tLatestCoordinatorEpoch\tLastSequence\tLastTimestamp\tCurrentTransactionStartOffset\t\n"
    f"31        \t5            \t9                     \t3           \t{TIME}\t40                           \t\n"
    f"32        \t0            \t-1                    \t-1          \t-1           \tNone                         \t\n"
)
GROUPS = (
    "\nGROUP   TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST        CLIENT-ID\n"
    "readers pay    2          40              63              23   c-1-a1       /127.0.0.1  c-1\n"
    "readers pay    3          -               5               -    c-1-a1       /127.0.0.1  c-1\n"
)
COMMAND = "kafka-transactions.sh --bootstrap-server h:9092 describe-producers --topic pay --partition 2\n"
ALL = {"hanging": HANGING, "list": LIST, "describe": DESCRIBE, "producers": COMMAND + PRODUCERS, "groups": GROUPS}


def read(text: str, file: str = "f") -> ToolReports:
    return read_tool_output(memoryview(text.encode()), file)


def values(reports: ToolReports) -> list[object]:
    """What the rows say, without where they stand."""
    rows = (*reports.producers, *reports.transactions, *reports.groups, *reports.ends)
    return [re.sub(r"told=Told\(.*?\)", "", repr(row)) for row in rows]


def real(release: str, name: str) -> str:
    return (OUTPUT / release / f"{name}.txt").read_text()


# ---------------------------------------------------------------- real tools


def test_there_is_output_of_several_releases() -> None:
    assert RELEASES == ["3.0.2", "3.5.2", "3.9.1", "4.3.1"]


@pytest.mark.parametrize("release", RELEASES)
def test_a_hanging_transaction_is_read(release: str) -> None:
    [row] = read(real(release, "hanging")).producers
    assert (row.place, row.producer_id, row.producer_epoch, row.coordinator_epoch) == (("late", 0), 2, 0, -1)
    assert (row.first_offset, row.last_timestamp_ms, row.is_hanging) == (0, 1796058949431, True)


@pytest.mark.parametrize("release", RELEASES)
def test_producers_of_a_partition_are_read(release: str) -> None:
    command = (
        "$ bin/kafka-transactions.sh --bootstrap-server h:9092 describe-producers \\\n  --topic orders --partition 0\n"
    )
    reports = read(command + real(release, "producers-orders-0"))
    assert [(row.place, row.producer_id, row.first_offset) for row in reports.producers] == [
        (("orders", 0), 0, None),
        (("orders", 0), 1, 2),
    ]
    assert reports.notes == []


@pytest.mark.parametrize("release", RELEASES)
def test_transactions_are_read(release: str) -> None:
    listed = read(real(release, "list")).transactions
    assert [(row.transactional_id, row.producer_id, row.state) for row in listed] == [
        ("late-1", 2, "Empty"),
        ("orders-1", 1, "Ongoing"),
        ("bill-1", 0, "CompleteCommit"),
    ]
    [row] = read(real(release, "describe")).transactions
    assert (row.start_ms, row.timeout_ms, row.coordinator_id) == (1796058949120, 800000, 1)
    assert row.partitions == frozenset({("__consumer_offsets", 0), ("orders", 0), ("orders", 1)})
    [row] = read(real(release, "describe-empty")).transactions
    assert (row.state, row.start_ms, row.duration_ms, row.partitions) == ("Empty", None, None, frozenset())


@pytest.mark.parametrize("name", ["groups", "group-offsets-verbose"])
@pytest.mark.parametrize("release", RELEASES)
def test_positions_of_groups_are_read(release: str, name: str) -> None:
    found = {(row.group, row.place): (row.offset, row.end_offset, row.lag) for row in read(real(release, name)).groups}
    assert found["readers", ("orders", 0)] == (2, 7, 5)
    assert found["readers", ("in", 1)] == (0, 0, 0)
    assert len(found) == (5 if name == "groups" else 4)


@pytest.mark.parametrize(("name", "rows"), [("group-members-verbose", 1), ("group-state", 1)])
def test_tables_of_groups_without_offsets_are_counted(name: str, rows: int) -> None:
    reports = read(real("4.3.1", name))
    assert values(reports) == []
    assert list(reports.rows.values()) == [rows]
    assert "has no offsets" in next(iter(reports.rows))


@pytest.mark.parametrize(
    "release", [release for release in RELEASES if (OUTPUT / release / "get-offsets.txt").exists()]
)
def test_ends_of_partitions_are_read(release: str) -> None:
    ends = {row.place: row.offset for row in read(real(release, "get-offsets")).ends}
    assert ends["orders", 0] == 7
    assert len(ends) == 9


@pytest.mark.parametrize("path", sorted(OUTPUT.glob("*/*.txt")), ids=lambda path: "/".join(path.parts[-2:]))
def test_real_output_is_recognised(path: Path) -> None:
    by_others = path.name.startswith(("console-", "snapshot"))
    assert looks_like_tool_output(path.read_text()) is not by_others


# ---------------------------------------------------------------- what people paste


def test_what_is_made_here_is_what_it_seems() -> None:
    [row] = read(HANGING).producers
    assert row == ProducerRow(("pay", 2), 31, 5, 9, TIME, 40, row.told, 17, is_hanging=True)
    assert (row.told.tool, row.told.line) == ("kafka-transactions.sh find-hanging", 2)
    [listed] = read(LIST).transactions
    assert listed == TransactionRow("pay-1", 31, None, "Ongoing", listed.told, coordinator_id=3)
    [position, none] = read(GROUPS).groups
    assert position == GroupRow("readers", ("pay", 2), 40, position.told, 63, 23)
    assert (none.offset, none.end_offset, none.lag) == (None, 5, None)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: re.sub(r" *\t *", "  ", text),
        lambda text: re.sub(r"[ \t]+(?=\n)", "", re.sub(r" *\t *", " ", text)),
        lambda text: "".join(f"    {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"# {line}\n" for line in text.splitlines()),
        lambda text: f"some words before it\n\n{text}\nand behind\n",
        lambda text: text.removesuffix("\n"),
        lambda text: "\ufeff" + text,
    ],
    ids=["crlf", "blanks", "one blank", "indented", "remark", "prose", "no end of line", "byte order mark"],
)
def test_layout_changes_nothing(name: str, wrap: object) -> None:
    text = wrap(ALL[name])  # type: ignore[operator]  # each is a function of a text
    assert looks_like_tool_output(text)
    assert values(read(text)) == values(read(ALL[name]))
    assert len(values(read(text))) >= 1


def test_several_tables_stand_in_one_file() -> None:
    reports = read("\n".join(ALL.values()))
    assert (len(reports.producers), len(reports.transactions), len(reports.groups)) == (3, 2, 2)
    assert reports.notes == []


@pytest.mark.parametrize("name", ["hanging", "list", "describe", "producers"])
def test_a_missing_header_is_said(name: str) -> None:
    rows = "".join(line for line in ALL[name].splitlines(keepends=True) if "ProducerId" not in line)
    assert looks_like_tool_output(rows)
    reports = read(rows)
    assert values(reports) == values(read(ALL[name]))
    assert any("without their header" in note for note in reports.notes)


def test_an_offset_may_be_printed_as_an_optional_number() -> None:
    old = "\n".join(
        "\t".join(cell for at, cell in enumerate(line.split("\t")) if at != 2)
        for line in PRODUCERS.replace("\t40  ", "\tOptionalLong[40]")
        .replace("\tNone  ", "\tOptionalLong.empty")
        .splitlines()
    )
    found = [(row.producer_id, row.coordinator_epoch, row.first_offset) for row in read(old).producers]
    assert found == [(31, None, 40), (32, None, None)]


def test_columns_may_be_fewer() -> None:
    cut = "\n".join(
        "\t".join(line.split("\t")[at] for at in (0, 1, 2, 5)) for line in HANGING.splitlines()
    )  # as `cut -f` leaves it
    [row] = read(cut).producers
    assert (row.place, row.producer_id, row.first_offset) == (("pay", 2), 31, 40)
    assert (row.producer_epoch, row.duration_min, row.last_timestamp_ms) == (None, None, None)


@pytest.mark.parametrize("name", ["hanging", "list", "describe", "groups"])
@pytest.mark.parametrize("width", [2, 3])
def test_rows_that_a_terminal_wrapped_are_put_together(name: str, width: int) -> None:
    lines = []
    for line in ALL[name].strip().splitlines():
        words = line.split()
        lines += [" ".join(words[:-width]), " ".join(words[-width:])]
    assert values(read("\n".join(lines))) == values(read(ALL[name]))


@pytest.mark.parametrize("name", ["hanging", "list", "describe", "producers"])
def test_a_row_that_is_cut_is_counted(name: str) -> None:
    head, row = ALL[name].rstrip("\n").rsplit("\n", 1)
    before = values(read(head))
    for end in range(1, len(row)):
        reports = read(f"{head}\n{row[:end]}")
        assert values(reports) == before, row[:end]
        assert len(reports.notes) == 1, row[:end]
        assert "not used" in reports.notes[0]


@pytest.mark.parametrize("name", ["hanging", "list", "describe", "producers"])
def test_a_row_may_have_lost_its_last_tab(name: str) -> None:
    trimmed = "".join(f"{line.rstrip()}\n" for line in ALL[name].splitlines()[1:])
    head = ALL[name].split("\n", 1)[0]
    assert values(read(f"{head}\n{trimmed}")) == values(read(ALL[name]))
    empty = DESCRIBE.replace("Ongoing", "Empty  ").replace("pay-2,a-b-0    ", "               ")
    assert values(read("\n".join(map(str.rstrip, empty.split("\n"))))) == values(read(empty))
    assert len(values(read(empty))) == 1


def test_an_ongoing_transaction_without_partitions_is_cut() -> None:
    reports = read(DESCRIBE.replace("pay-2,a-b-0    ", ""))
    assert (values(reports), len(reports.notes)) == ([], 1)


def test_a_row_of_a_group_that_is_cut_is_counted() -> None:
    head, row = GROUPS.rstrip("\n").rsplit("\n", 1)
    for end in range(1, row.index("c-1", row.index("/127"))):
        reports = read(f"{head}\n{row[:end]}")
        assert len(reports.groups) == 1, row[:end]
        assert len(reports.notes) == 1


def test_lines_between_the_rows_are_counted() -> None:
    first, second = PRODUCERS.rstrip("\n").split("\n")[1:]
    header = PRODUCERS.split("\n", 1)[0]
    warning = "[2026-11-30 10:00:00,000] WARN The broker is away (org.apache.kafka.clients.NetworkClient)"
    reports = read(f"{COMMAND}{header}\n{first}\n{warning}\n{second}\n")
    assert values(reports) == values(read(COMMAND + PRODUCERS))
    assert reports.notes == [
        "f: 1 line not used, of kafka-transactions.sh describe-producers (the line does not have its columns)"
    ]


@pytest.mark.parametrize(
    ("old", "new"), [("Ongoing", "Sideways"), ("\t31 ", "\tx "), ("pay-2,a-b-0", "pay-2;a"), (str(TIME), "yesterday")]
)
def test_a_garbled_cell_leaves_its_row_out(old: str, new: str) -> None:
    assert old in DESCRIBE
    reports = read(DESCRIBE.replace(old, new))
    assert values(reports) == []
    assert len(reports.notes) == 1


def test_an_id_with_blanks_is_one_cell() -> None:
    for text in (
        LIST.replace("pay-1  ", "my id 1"),
        "TransactionalId Coordinator ProducerId TransactionState\nmy id 1 3 31 Ongoing",
    ):
        [row] = read(text).transactions
        assert (row.transactional_id, row.producer_id) == ("my id 1", 31)


def test_a_plan_to_reset_positions_is_counted() -> None:
    reports = read("GROUP TOPIC PARTITION NEW-OFFSET\nreaders pay 2 40\n")
    assert (values(reports), list(reports.rows.values())) == ([], [1])


def test_the_partition_is_that_of_the_command_or_the_folder_or_not_known() -> None:
    assert read(PRODUCERS, "kafka-logs/pay-2/producers.txt").producers[0].place == ("pay", 2)
    alone = read(PRODUCERS)
    assert alone.producers[0].place is None
    assert "no command line above" in alone.notes[0]
    after = read(f"{COMMAND}{PRODUCERS}\n{COMMAND.replace('--partition 2', '--partition=7')}{PRODUCERS}")
    assert [row.place for row in after.producers] == [("pay", 2)] * 2 + [("pay", 7)] * 2


@pytest.mark.parametrize(
    "name",
    [
        *(
            "ticket-4711/producers.txt",
            "2026-11-30/producers.txt",
            "kafka-2/producers.txt",
            "data/shop-1/producers.txt",
        ),
        *("2026-11-30.txt", "kafka-2.txt", "PROJ-4711.txt", "case-17.txt", "pay-2/dump.txt"),
    ],
)
def test_tickets_dates_and_hosts_are_not_partitions(name: str) -> None:
    reports = read(PRODUCERS, name)
    assert {row.place for row in reports.producers} == {None}
    assert "no command line above" in reports.notes[0]


@pytest.mark.parametrize("folder", ["ticket-4711", "kafka-logs/refunds-7", "kafka-2"])
def test_the_name_of_the_file_counts_before_that_of_its_folder(folder: str) -> None:
    reports = read(PRODUCERS, f"{folder}/pay-2.txt")
    assert {row.place for row in reports.producers} == {("pay", 2)}
    assert "taken from the name of the file" in reports.notes[0]


def test_the_folder_of_a_partition_names_it_and_then_that_is_said() -> None:
    reports = read(PRODUCERS, "kafka-logs/pay-2/producers.txt")
    assert {row.place for row in reports.producers} == {("pay", 2)}
    assert "taken from the name of the folder" in reports.notes[0]


@pytest.mark.parametrize(
    "name", ["pay-2.txt", "producers-pay-2.txt", "kafka-transactions_describe-producers-pay-2.txt"]
)
def test_the_name_of_the_file_may_tell_the_partition_and_then_that_is_said(name: str) -> None:
    reports = read(PRODUCERS, name)
    assert reports.producers[0].place == ("pay", 2)
    assert any("taken from the name of the file" in note for note in reports.notes)
    assert read(COMMAND + PRODUCERS, name).producers[0].place == ("pay", 2)


@pytest.mark.parametrize(
    "beside",
    [
        "kafka-transactions.sh --bootstrap-server h:9092 find-hanging --broker-id 0\n",
        'for p in 0 1; do kafka-transactions.sh describe-producers --topic pay --partition "$p"; done\n',
        "kafka-transactions.sh describe-producers --topic pay --partition\n",
        "## partition 7 of refunds\n",
        "Dumping /data/refunds-7/00000000000000000000.log\n",
        "baseOffset: 0 lastOffset: 0 count: 1\n",
        "refunds:7:12\n",
        f"{ELSEWHERE}\n",
        HANGING,
        PRODUCERS,
    ],
)
def test_the_name_of_the_file_tells_nothing_if_another_line_may_name_another_partition(beside: str) -> None:
    for text in (beside + PRODUCERS, f"{PRODUCERS}{beside}"):
        reports = read(text, "pay-2.txt")
        told = {row.place for row in reports.producers if not row.is_hanging}
        assert told == {None}, text
        assert any("the name of the file does not count" in note for note in reports.notes)


def test_a_command_line_names_the_partition_of_one_table() -> None:
    reports = read(f"{COMMAND}{PRODUCERS}\n{PRODUCERS}", "pay-2.txt")
    assert [row.place for row in reports.producers] == [("pay", 2)] * 2 + [None] * 2


@pytest.mark.parametrize(
    "before",
    [
        ".\\bin\\windows\\",
        "C:\\kafka>",
        "sh -c '/opt/kafka/bin/",
        '"',
        "kubectl exec -it kafka-0 -- bin/",
        "kafka@host:~$ ",
        "❯",
    ],
)
@pytest.mark.parametrize("tool", ["kafka-transactions", "kafka-transactions.sh", "kafka-transactions.bat"])
def test_a_command_is_known_after_whatever_a_shell_needs(before: str, tool: str) -> None:
    command = COMMAND.replace("kafka-transactions.sh", before + tool)
    assert read(command + PRODUCERS, "refunds-7.txt").producers[0].place == ("pay", 2)


@pytest.mark.parametrize("between", [" \\\n  ", " \\\n> ", "\\\n ", " ^\n  ", " `\n>> ", " \\ \n  "])
def test_a_command_may_continue_on_the_next_line(between: str) -> None:
    for option in (" --topic", " --partition"):
        command = COMMAND.replace(option, f"{between}{option.strip()}")
        assert read(command + PRODUCERS).producers[0].place == ("pay", 2)
    assert read(f"`{COMMAND.strip()}`\n{PRODUCERS}").producers[0].place == ("pay", 2)


@pytest.mark.parametrize("name", ["producers-2.txt", "describe-producers.txt", "producers.txt", "2.txt"])
def test_a_name_without_a_topic_tells_no_partition(name: str) -> None:
    assert read(PRODUCERS, name).producers[0].place is None


def test_a_partition_without_an_offset_is_counted() -> None:
    text = "pay:0:12\npay:1:\npay:2:9,4\n"
    assert looks_like_tool_output(text)
    reports = read(text)
    assert [(row.place, row.offset) for row in reports.ends] == [(("pay", 0), 12), (("pay", 2), 9)]
    assert reports.notes == ["f: 1 line not used, of kafka-get-offsets.sh (the partition has no offset)"]


def test_the_group_of_an_old_table_is_that_of_the_command() -> None:
    old = "\n".join(line.split(maxsplit=1)[1] for line in GROUPS.strip().splitlines())
    command = "bin/kafka-consumer-groups.sh --bootstrap-server h:9092 --describe --group readers\n"
    assert values(read(command + old)) == values(read(GROUPS))
    assert {row.group for row in read(old).groups} == {None}
    assert "without the name of their group" in read(old).notes[0]


def test_a_table_without_rows_is_known_to_be_empty() -> None:
    reports = read(HANGING.split("\n", 1)[0] + "\n")
    assert dict(reports.rows) == {"kafka-transactions.sh find-hanging": 0}


def test_a_table_in_markdown_is_read() -> None:
    rows = [[cell.strip() for cell in line.split("\t")[:-1]] for line in HANGING.splitlines()]
    rows.insert(1, ["---"] * len(rows[0]))
    text = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    assert values(read(text)) == values(read(HANGING))


FOREIGN = {
    "ps": "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
    "root         1  0.0  0.0 167 113 ?  Ss   10:00   0:01 init\n",
    "docker": "CONTAINER ID   IMAGE     COMMAND   CREATED   STATUS    PORTS     NAMES\n"
    '3f   kafka   "run"   2 hours ago   Up   9092   k\n',
    "csv": "Topic,Partition,Offset\npay,2,40\n",
    "kubectl": "NAME\tREADY\tSTATUS\tRESTARTS\tAGE\t\nkafka-0\t1\t2\t3\t4\t\n",
    "topics": "Topic: pay\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: \n\tTopic: pay\tPartition: 0\tLeader: 1\n",
    "times": "12:30:00\n12:30:01\n",
    "addresses": "10.0.0.1:9092:0\nnot an offset\n",
    "tabs": "a\tb\tc\td\t\n1\t2\t3\t4\t\n",
    "share": "GROUP TOPIC PARTITION START-OFFSET LAG\ng t 0 4 1\n",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_tables_are_not_taken_for_these(name: str) -> None:
    assert not looks_like_tool_output(FOREIGN[name])
    assert values(read(FOREIGN[name])) == []


def test_lines_of_a_dump_are_never_rows() -> None:
    payload = "| offset: 0 CreateTime: 1 keySize: -1 valueSize: 9 sequence: 0 headerKeys: [] payload: "
    assert not looks_like_tool_output(payload + "t-0=OffsetAndMetadata{offset=20, leaderEpoch=null, metadata=''}\n")


def test_no_two_tables_share_a_header() -> None:
    for table in TABLES:
        assert [other.tool for other in TABLES if other.is_header(list(table.columns))] == [table.tool]


@given(cut=st.integers(0, 2000), at=st.integers(0, 2000), junk=st.text(max_size=5))
def test_no_mutilation_raises(cut: int, at: int, junk: str) -> None:
    whole = "".join(ALL.values())
    place = at % len(whole)
    for changed in (whole[: cut % len(whole)], whole[:place] + junk + whole[place + len(junk) :]):
        looks_like_tool_output(changed)
        assert len(values(read(changed))) <= 8


@pytest.mark.parametrize("name", ALL)
def test_tables_are_found_far_down_in_a_file(name: str) -> None:
    prose = "nothing of the kind\n" * 5_000
    assert holds_tool_output(memoryview((prose + ALL[name]).encode()))
    assert not holds_tool_output(memoryview(prose.encode()))
