"""Command lines above tables: which of them say of which partition the rows are, and which say nothing."""

import pytest

from tests.traces.test_tool_tables import COMMAND, GROUPS, HANGING, LIST, PRODUCERS, read
from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.readers.tool_commands import command_of

ASK = COMMAND.strip()
OTHER = ASK.replace("pay", "refunds").replace("--partition 2", "--partition 7")
HERE, THERE = ("pay", 2), ("refunds", 7)
OLD_GROUPS = "\n".join(line.split(maxsplit=1)[1] for line in GROUPS.strip().splitlines()) + "\n"
ASK_GROUP = "kafka-consumer-groups.sh --bootstrap-server h:9092 --describe --group readers"


def places(text: str, name: str = "f") -> list[TopicPartition | None]:
    """The partition of each table of producers, by its first row."""
    rows = read(text, name).producers
    assert len(rows) % 2 == 0
    return [row.place for row in rows if not row.is_hanging][::2]


# ---------------------------------------------------------------- one line


@pytest.mark.parametrize(
    "line",
    [
        f"{ASK} && {OTHER}",
        f"{ASK}; {OTHER}",
        f"{ASK} || {OTHER}",
        f"{ASK} | {OTHER}",
        f"{ASK} & {OTHER}",
        f"{ASK} &",
        f"{ASK}; cat other.txt",
        f"cat other.txt && {ASK}",
        f"./report.sh; {ASK}",
        f"{ASK} > other.txt",
        f"{ASK} >> other.txt",
        f"{ASK} >other.txt 2>&1",
        f"{ASK} &> other.txt",
        f"{ASK} | tee a.txt > other.txt",
        f"{ASK} | xargs ./report.sh",
        f"{ASK} --partition 3",
        f"{ASK} --topic refunds",
        ASK.replace("--partition 2", "--partition $p"),
        ASK.replace("--topic pay", "--topic {}"),
        ASK.replace("describe-producers", "find-hanging"),
        ASK.replace("describe-producers", "abort"),
        f"kafka-console-consumer.sh --topic pay --partition 2; {OTHER} > other.txt",
    ],
)
def test_a_line_that_does_more_than_print_one_table_names_no_partition(line: str) -> None:
    assert places(f"$ {line}\n{PRODUCERS}", "pay-2.txt") == [None]


@pytest.mark.parametrize(
    "line",
    [
        f"cd /opt/kafka && bin/{ASK}",
        f"export KAFKA_OPTS=-Da=b; {ASK}",
        f"KAFKA_HEAP_OPTS=-Xmx1g {ASK}",
        f"while true; do {ASK}; sleep 5; done",
        f"{ASK} 2>/dev/null",
        f"{ASK} 2>&1 | tee a.txt",
        f"{ASK} | column -t",
        f"{ASK} | grep -v None; echo done",
        f"{ASK} || true",
        f"{ASK} --partition 2",
        f"sh -c 'cd /opt/kafka && bin/{ASK}'",
        ASK.replace("--topic pay", '--topic "pay"').replace("--partition 2", "--partition='2'"),
        ASK.replace("h:9092", "h:9092 --command-config 'my file.conf'"),
        f"kubectl exec kafka-0 -- bin/{ASK}",
    ],
)
def test_a_line_that_prints_one_table_names_its_partition(line: str) -> None:
    assert places(f"$ {line}\n{PRODUCERS}", "refunds-7.txt") == [HERE]


def test_a_topic_may_be_called_as_a_subcommand() -> None:
    assert places(ASK.replace("pay", "list") + f"\n{PRODUCERS}") == [("list", 2)]


# ---------------------------------------------------------------- several lines


@pytest.mark.parametrize("between", ["\n", "\n\n", f"\n{ASK.replace('describe-producers', 'abort')}\n"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_commands_directly_below_each_other_name_no_partition(between: str, count: int) -> None:
    assert places(f"{ASK}{between}{OTHER}\n{PRODUCERS * count}") == [None] * count


def test_a_command_that_only_failed_does_not_count() -> None:
    assert places(f"{ASK}\nError: it timed out\n{OTHER}\n{PRODUCERS}") == [THERE]
    assert places(f"{ASK}\n{ASK}\n{PRODUCERS}") == [HERE]


def test_two_tables_below_the_last_of_several_commands_name_no_partition() -> None:
    text = f"First this:\n{ASK}\nThen that:\n{OTHER}\nThey print\n"
    assert places(text + PRODUCERS) == [THERE]
    assert places(f"{text}{PRODUCERS}\n{PRODUCERS}") == [None, None]


def test_nothing_is_certain_behind_a_command_in_the_background() -> None:
    assert places(f"{ASK} &\n[1] 4242\n{OTHER}\n{PRODUCERS}{PRODUCERS}{ASK}\n{PRODUCERS}") == [None] * 3


def test_a_table_of_another_command_leaves_the_command_to_its_own() -> None:
    assert places(f"{ASK}\n{LIST}{PRODUCERS}") == [HERE]
    hanging = ASK.replace("describe-producers", "find-hanging")
    assert {row.place for row in read(f"{hanging}\n{HANGING}{PRODUCERS}").producers} == {HERE, None}


# ---------------------------------------------------------------- wrapped lines


def test_a_command_may_be_wrapped_anywhere() -> None:
    for prompt in ("", "$ "):
        for at in range(len(prompt) + 20, len(ASK) + len(prompt)):
            line = prompt + ASK
            for text in (f"{line[:at]}\n{line[at:]}", f"{line[:at].rstrip()}\n{line[at:].lstrip()}"):
                assert set(places(f"{text}\n{PRODUCERS}")) <= {HERE, None}, text
    line = f"{ASK}13"
    found = {place for at in range(20, len(line)) for place in places(f"{line[:at]}\n{line[at:]}\n{PRODUCERS}")}
    assert found <= {("pay", 213), None}
    assert ("pay", 213) in found


@pytest.mark.parametrize("digit", "0123456789")
def test_a_number_that_was_wrapped_is_one_number(digit: str) -> None:
    assert places(f"{ASK}\n{digit}\n{PRODUCERS}") == [("pay", 20 + int(digit))]
    assert places(f"{ASK}\n{digit} | tee a.txt\n{PRODUCERS}") == [("pay", 20 + int(digit))]
    assert places(f"{ASK}\n{digit} > a.txt\n{PRODUCERS}") == [None]


@pytest.mark.parametrize(
    ("rest", "topic"), [("ments", "payments"), ("-eu", "pay-eu"), (".eu --broker-id 3", "pay.eu"), ("", "pay")]
)
def test_a_topic_that_was_wrapped_is_one_topic(rest: str, topic: str) -> None:
    command = ASK.replace("--topic pay --partition 2", "--partition 2 --topic pay")
    assert places(f"{command}\n{rest}\n{PRODUCERS}") == [(topic, 2)]


@pytest.mark.parametrize(
    "line",
    [
        "SLF4J: Failed to load class",
        "OpenJDK 64-Bit Server VM warning: none",
        "Output:",
        "```",
        "----",
        "[1] 4242",
        "WARN",
    ],
)
def test_what_a_tool_prints_first_is_not_the_rest_of_its_command(line: str) -> None:
    assert places(f"{ASK}\n{line}\n{PRODUCERS}") == [HERE]


def test_a_prompt_may_stand_before_the_rest_of_a_command() -> None:
    for prompt in ("> ", "cmdand> ", ">> "):
        text = ASK.replace(" --topic", f" \\\n{prompt}--topic")
        assert places(f"{text}\n{PRODUCERS}") == [HERE]
    assert places(f"{ASK} \\\n> other.txt\n{PRODUCERS}") == [None]


# ---------------------------------------------------------------- other prompts


@pytest.mark.parametrize("prompt", ["$ ", "❯ ", "me@host:~$ ", "[me@host ~]# ", "PS C:\\kafka> ", "root@kafka-0:/# "])
def test_a_table_below_another_command_is_not_of_the_one_above_it(prompt: str) -> None:
    assert places(f"{prompt}{ASK}\n{prompt}cat b.txt\n{PRODUCERS}") == [None]
    assert places(f"{prompt}{ASK}\n{PRODUCERS}{prompt}cat b.txt\n{PRODUCERS}") == [HERE, None]
    assert read(f"{prompt}{ASK}\n{PRODUCERS}{prompt}\n").notes == []


# ---------------------------------------------------------------- groups


@pytest.mark.parametrize(
    "line",
    [
        f"{ASK_GROUP} && {ASK_GROUP.replace('readers', 'writers')}",
        f"{ASK_GROUP} --group writers",
        f"{ASK_GROUP} > other.txt",
        f"{ASK_GROUP}\n{ASK_GROUP.replace('readers', 'writers')}",
        f"for g in a b; do {ASK_GROUP.replace('readers', '$g')}; done",
    ],
)
def test_the_group_is_not_that_of_a_line_that_does_more(line: str) -> None:
    assert {row.group for row in read(f"{line}\n{OLD_GROUPS}{OLD_GROUPS}").groups} == {None}


def test_a_group_may_have_a_name_with_blanks() -> None:
    text = f"{ASK_GROUP.replace('readers', chr(34) + 'my readers' + chr(34))}\n{OLD_GROUPS}"
    assert {row.group for row in read(text).groups} == {"my readers"}


# ---------------------------------------------------------------- runs


def test_runs_of_the_same_options_are_the_same() -> None:
    first = command_of(f"$ {ASK}")
    again = command_of(f"[user@host ~]$ bin/{ASK.replace('--topic pay --partition 2', '--partition 2 --topic pay')}")
    assert first is not None
    assert again is not None
    assert first.asked == again.asked is not None
    for line in (f"{ASK} --broker-id 2", f"kubectl exec a -- {ASK}", f"{ASK} | head -3", f"{ASK} > a.txt", OTHER):
        other = command_of(line)
        assert other is not None
        assert other.asked != first.asked
