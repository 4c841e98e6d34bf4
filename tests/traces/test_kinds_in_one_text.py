"""A text is read as every kind of evidence that it holds: each line by one reader, whatever stands around it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.traces.dumps import text_of
from zombieproof.cli.main import main
from zombieproof.traces.evidence import Evidence
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.dialects import dialects_of
from zombieproof.traces.readers.files import opened, plain_name

PREPARED = (
    "[2026-11-21 13:19:48,339] DEBUG [Transaction State Manager 1]: TransactionalId {id} prepare transition from EMPTY"
    " to ONGOING (org.apache.kafka.coordinator.transaction.TransactionMetadata)"
)
TABLE = (
    "$ kafka-transactions.sh --bootstrap-server localhost:9092 list\n"
    "TransactionalId\tCoordinator\tProducerId\tTransactionState\nshop-7\t1\t40\tOngoing\n"
)
PRODUCERS = (
    "ProducerId\tProducerEpoch\tLatestCoordinatorEpoch\tLastSequence\tLastTimestamp\tCurrentTransactionStartOffset\n"
    "40\t3\t-1\t9\t1710000000000\t91\n"
)
RECORD = (
    '{"key":{"version":0,"data":{"transactionalId":"shop-8"}},"value":{"version":0,"data":{"producerId":5,'
    '"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":1,"transactionPartitions":'
    '[{"topic":"orders","partitionIds":[0]}],"transactionLastUpdateTimestampMs":1710000000000,'
    '"transactionStartTimestampMs":1710000000000}}}'
)
CONSOLE = RECORD + RECORD.replace("shop-8", "shop-9")
OLD_CONSOLE = (
    "shop-8::TransactionMetadata(transactionalId=shop-8, producerId=5, producerEpoch=0, txnTimeoutMs=60000,"
    " state=Ongoing, pendingState=None, topicPartitions=Set(orders-0), txnStartTimestamp=1710000000000,"
    " txnLastUpdateTimestamp=1710000000000)\nshop-6::NULL\n"
)
CALL = '{"t":1710000000000,"client":"a","action":"begin","args":{"transactional_id":"shop-1"},"result":"ok"}\n'
BROKER_LOG = "".join(f"{PREPARED.format(id=name)}\n" for name in ("shop-1", "shop-2"))
CLIENT_LOG = (
    "[2026-11-21 13:19:50,001] INFO [Producer clientId=p, transactionalId=shop-1] ProducerId set to 7 with epoch 0"
    " (org.apache.kafka.clients.producer.internals.TransactionManager)"
)
DUMP = text_of("4.3")
TEXTS = {
    "orders-0.txt": DUMP,
    "server.log": BROKER_LOG,
    "client.log": CLIENT_LOG,
    "client.jsonl": CALL,
    "console.txt": CONSOLE,
    "old.txt": OLD_CONSOLE,
    "table.txt": TABLE,
}
"""Two of them have no line feed at their end, so that the next text is glued to it."""


PAIRS = [(first, second) for first, second in permutations(TEXTS, 2) if {first, second} != {"console.txt", "old.txt"}]
"""No console prints both."""


def text_in(file: Path) -> str:
    """The text of a file, packed or not."""
    with opened(file) as content:
        return bytes(content.data).decode()


def neutral(item: object) -> str:
    """An item without the place where it was read."""
    if not is_dataclass(item):
        return repr(item)
    left = {"file", "line", "order", "told", "files", "replica", "segment"}
    return repr([(each.name, getattr(item, each.name)) for each in fields(item) if each.name not in left])


def content(evidence: Evidence) -> dict[str, Counter[str]]:
    """All that was read, without files and lines."""
    names = (
        *("transaction_states", "coordinator_lines", "broker_lines", "client_lines", "client_calls"),
        *("client_outcomes", "hosted", "damage", "snapshots", "offset_commits"),
    )
    found = {name: Counter(map(neutral, getattr(evidence, name))) for name in names}
    reports = evidence.reports
    found["batches"] = Counter(
        f"{log.topic_partition} {batch.base_offset} {batch.crc}" for log in evidence.logs for batch in log.batches
    )
    found["rows"] = Counter(map(neutral, (*reports.transactions, *reports.producers, *reports.groups, *reports.ends)))
    found["lines"] = Counter({"used": sum(each.used for each in evidence.lines)})
    found["unused"] = Counter(reason for each in evidence.lines for reason in each.unused)
    found["read as"] = Counter(each for each in dialects_of(evidence) if "prompt" not in each)
    return found


def together(folder: Path, parts: Sequence[tuple[str, str]], *, heads: bool = False) -> tuple[Evidence, Evidence]:
    """The evidence of texts in files of their own, and in one."""
    apart = folder / "apart"
    apart.mkdir(exist_ok=True)
    for old in apart.iterdir():
        old.unlink()
    for name, text in parts:
        (apart / name).write_text(text)
    whole = "\n".join(f"==> {name} <==\n{text}" for name, text in parts) if heads else "".join(t for _, t in parts)
    one = folder / "all.txt"
    one.write_text(whole)
    return collect([apart / name for name, _ in parts]), collect([one])


@pytest.mark.parametrize("heads", [False, True])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_kinds_in_one_text_are_both_read(tmp_path: Path, first: str, second: str, heads: bool) -> None:
    apart, one = together(tmp_path, [(first, TEXTS[first]), (second, TEXTS[second])], heads=heads)
    assert content(one) == content(apart)


@pytest.mark.parametrize("heads", [False, True])
def test_all_kinds_in_one_text_are_read_in_any_order(tmp_path: Path, heads: bool) -> None:
    names = [name for name in TEXTS if name != "old.txt"]
    for turned in range(len(names)):
        order = [*names[turned:], *names[:turned]]
        apart, one = together(tmp_path, [(name, TEXTS[name]) for name in order], heads=heads)
        assert content(one) == content(apart), order


@pytest.mark.parametrize("name", ["02-abort", "10-hanging", "18-streams-word-count"])
def test_parts_of_a_recording_in_one_text_tell_the_same(shared_traces: Path, tmp_path: Path, name: str) -> None:
    folder = shared_traces / name
    files = [*folder.glob("client.*"), *folder.glob("server.log*"), *_dumps(folder)]
    parts = [(plain_name(file.name), text_in(file)) for file in files]
    for order in (parts, parts[::-1]):
        apart, one = together(tmp_path, order, heads=True)
        assert content(one) == content(apart)


def _dumps(folder: Path) -> list[Path]:
    return [min(folder.glob("dump/[a-z]*-0.txt*")), *folder.glob("dump/__transaction_state-1.txt*")]


@pytest.mark.parametrize("question", [[], ["--open"], ["--timeline", "orders-1"]])
def test_verdict_timeline_and_open_transactions_are_those_of_the_parts(
    shared_traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], question: list[str]
) -> None:
    folder = shared_traces / "02-abort"
    files = [*folder.glob("server.log*"), *sorted(folder.glob("dump/[_t]*[01].txt*"))]
    one = tmp_path / "all.txt"
    one.write_text("\n".join(f"==> {plain_name(file.name)} <==\n{text_in(file)}" for file in files))
    codes, answers = [], []
    for paths in (map(str, files), [str(one)]):
        codes.append(main(["replay", *question, *paths]))
        lines = capsys.readouterr().out.splitlines()
        kept = [line for line in lines if "Z  " in line] if "--timeline" in question else lines
        answers.append(
            [_without_places(line) for line in kept if not line.startswith(("judged", "timeline", "not used"))]
        )
    assert codes[0] == codes[1]
    assert answers[0] == answers[1]
    assert answers[0]


def _without_places(line: str) -> str:
    words = ["FILE" if ".txt" in word or ".log" in word or word.isdecimal() else word for word in line.split()]
    return " ".join(words)


def test_an_empty_part_of_a_dump_behind_a_text_without_a_last_line_feed_is_read(tmp_path: Path) -> None:
    state = "Dumping /d/t-0/00000000000000000007.snapshot\nDumping /d/t-0/00000000000000000009.snapshot\n"
    apart, one = together(tmp_path, [("client.log", CLIENT_LOG), ("t-0.state.txt", state)])
    assert len(one.snapshots) == len(apart.snapshots) == 2
    assert content(one) == content(apart)


def test_a_far_dump_is_found_behind_a_long_log(tmp_path: Path) -> None:
    log = f"{PREPARED.format(id='shop-1')}\n" * 2000
    apart, one = together(tmp_path, [("server.log", log), ("orders-0.txt", DUMP)])
    assert content(one)["batches"] == content(apart)["batches"] != Counter()
    assert len(one.coordinator_lines) == 2000


def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    _, one = together(tmp_path, [("a", DUMP), ("b", CLIENT_LOG), ("c", CONSOLE), ("d", CALL), ("e", BROKER_LOG)])
    text = (tmp_path / "all.txt").read_text().split("\n")
    assert all("ProducerId set to" in text[each.line - 1] for each in one.client_lines)
    assert all('"action"' in text[each.line - 1] for each in one.client_calls)
    assert all(each.transactional_id in text[each.line - 1] for each in one.coordinator_lines)
    assert (len(one.client_lines), len(one.client_calls), len(one.coordinator_lines)) == (1, 1, 2)


def test_lines_of_a_log_within_a_dump_are_read_and_do_not_damage_it(tmp_path: Path) -> None:
    noise = [
        PREPARED.format(id="shop-1"),
        "Caused by: java.lang.IllegalStateException: late",
        "\tat kafka.Log.x(A.java)",
    ]
    lines = DUMP.splitlines()
    mixed = [each for line in lines for each in (line, *noise)]
    one = tmp_path / "orders-0.txt"
    one.write_text("\n".join([*mixed, ""]))
    found = collect([one])
    assert found.damage == []
    assert sum(len(log.batches) for log in found.logs) == 5
    assert len(found.coordinator_lines) == len(lines)


def record(size: int, payload: str) -> str:
    """A dump of one record whose payload may run over lines."""
    return (
        "Dumping /d/t-0/00000000000000000000.log\nLog starting offset: 0\n"
        "baseOffset: 0 lastOffset: 0 count: 1 baseSequence: 0 lastSequence: 0 producerId: 7 producerEpoch: 0"
        " partitionLeaderEpoch: 0 isTransactional: true isControl: false deleteHorizonMs: OptionalLong.empty position:"
        " 0 CreateTime: 1710000000000 size: 90 magic: 2 compresscodec: none crc: 1 isvalid: true\n"
        f"| offset: 0 CreateTime: 1710000000000 keySize: -1 valueSize: {size} sequence: 0 headerKeys: []"
        f" payload: {payload}\n"
    )


@pytest.mark.parametrize("text", [BROKER_LOG, CALL, OLD_CONSOLE, TABLE, f"{CLIENT_LOG}\n", f"{CONSOLE}\n"])
def test_a_payload_is_never_read_as_other_evidence(tmp_path: Path, text: str) -> None:
    payload = f"a\n{text.removesuffix(chr(10))}"
    one = tmp_path / "all.txt"
    one.write_text(record(len(payload.encode()), payload) + PREPARED.format(id="real") + "\n")
    found = collect([one])
    assert [each.transactional_id for each in found.coordinator_lines] == ["real"]
    assert (found.client_lines, found.client_calls, found.transaction_states) == ([], [], [])
    assert not found.reports.rows
    assert found.damage == []


def test_lines_that_may_be_of_a_changed_payload_are_counted_and_those_behind_it_read(tmp_path: Path) -> None:
    first, second = PREPARED.format(id="within"), PREPARED.format(id="behind")
    one = tmp_path / "all.txt"
    # Of each character that was replaced, one byte at least was there.
    one.write_text(record(3 + len(first), f"??\n{first}?") + second + "\n")
    text = one.read_text().replace("payload: ??", "payload: \ufffd")
    one.write_text(text)
    found = collect([one])
    assert "within" not in {each.transactional_id for each in found.coordinator_lines}
    assert "behind" in {each.transactional_id for each in found.coordinator_lines}
    assert [reason for each in found.lines for reason in each.unused if "payload" in reason]


def test_a_record_that_is_cut_hides_no_line_silently(tmp_path: Path) -> None:
    one = tmp_path / "all.txt"
    cut = record(2, "ab").split(" sequence: 0 headerKeys", maxsplit=1)[0]
    one.write_text(f"{cut}\n{PREPARED.format(id='unsure')}\n")
    found = collect([one])
    assert found.coordinator_lines == []
    assert any(
        each.count == 1 and "may be of its payload" in each.reason for r in found.lines for each in r.unused.values()
    )


def test_the_name_of_a_part_names_its_partition(tmp_path: Path) -> None:
    nameless = text_of("4.3", path=None)
    one = tmp_path / "all.txt"
    one.write_text(f"==> orders-3.txt <==\n{nameless}\n==> dumps/orders-4.txt <==\n{nameless}")
    assert {log.topic_partition for log in collect([one]).logs} == {("orders", 3), ("orders", 4)}


def test_the_name_of_a_part_names_the_partition_of_producers(tmp_path: Path) -> None:
    one = tmp_path / "all.txt"
    one.write_text(
        f"==> producers-orders-3.txt <==\n{PRODUCERS}\n==> orders-4.txt <==\n{PRODUCERS}\n==> notes <==\n{PRODUCERS}"
    )
    assert [row.place for row in collect([one]).reports.producers] == [("orders", 3), ("orders", 4), None]


def test_other_texts_with_a_double_colon_are_no_tombstones_beside_a_log(tmp_path: Path) -> None:
    one = tmp_path / "all.txt"
    one.write_text(f"{BROKER_LOG}    return std::map::NULL\nFoo::NULL\n")
    found = collect([one])
    assert found.transaction_states == []
    assert len(found.coordinator_lines) == 2


def test_a_heap_dump_of_a_broker_is_no_dump_of_a_log(tmp_path: Path) -> None:
    one = tmp_path / "server.log"
    one.write_text(f"Dumping heap to java_pid1.hprof ...\n{BROKER_LOG}")
    found = collect([one])
    assert (found.damage, len(found.coordinator_lines)) == ([], 2)


def test_a_row_of_a_markdown_table_is_no_record_without_an_offset(tmp_path: Path) -> None:
    one = tmp_path / "orders-0.md"
    one.write_text(f"{DUMP}\n| GROUP | TOPIC |\n|---|---|\n")
    found = collect([one])
    assert [reason for each in found.lines for reason in each.unused] == []


QUOTED = "".join(f"> {line}\n" for line in DUMP.splitlines())
CARRIED = "".join(f"kafka-1  | {line}\n" for line in BROKER_LOG.splitlines())


@pytest.mark.parametrize(
    ("parts", "forms"),
    [
        ((BROKER_LOG, QUOTED), {"quoted lines (>)"}),
        ((QUOTED, BROKER_LOG), {"quoted lines (>)"}),
        ((CARRIED, DUMP), {"prefixes of docker compose"}),
        ((DUMP, CARRIED), {"prefixes of docker compose"}),
        ((TABLE, BROKER_LOG, QUOTED), {"quoted lines (>)"}),
    ],
)
def test_parts_of_a_text_have_forms_of_their_own(tmp_path: Path, parts: tuple[str, ...], forms: set[str]) -> None:
    one = tmp_path / "orders-0.txt"
    one.write_text("".join(parts))
    found = collect([one])
    text = one.read_text().split("\n")
    assert [(log.topic_partition, len(log.batches)) for log in found.logs] == [(("orders", 0), 5)]
    assert all(each.transactional_id in text[each.line - 1] for each in found.coordinator_lines)
    assert len(found.coordinator_lines) == 2
    assert forms <= set(found.dialects)
    assert found.damage == []


def test_a_plain_dump_and_a_quoted_one_below_are_both_read(tmp_path: Path) -> None:
    other = "".join(f"> {line}\n" for line in text_of("4.3", path="/d/orders-1/00000000000000000000.log").splitlines())
    one = tmp_path / "all.txt"
    one.write_text(DUMP + other)
    found = collect([one])
    assert {log.topic_partition: len(log.batches) for log in found.logs} == {("orders", 0): 5, ("orders", 1): 5}


def test_batches_in_a_form_that_is_not_known_are_counted(tmp_path: Path) -> None:
    strange = "".join(f"{'?' * (at % 7 + 1)}{line}\n" for at, line in enumerate(DUMP.splitlines()))
    one = tmp_path / "all.txt"
    one.write_text(BROKER_LOG + strange)
    found = collect([one])
    assert found.logs == []
    assert [(each.count, each.first) for r in found.lines for each in r.unused.values()] == [(5, 5)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
@given(
    st.lists(st.sampled_from([line for text in TEXTS.values() for line in text.splitlines()]), max_size=25), st.data()
)
def test_lines_of_all_kinds_in_any_order_are_read_without_an_error(
    tmp_path: Path, lines: list[str], data: st.DataObject
) -> None:
    text = "\n".join(lines)
    one = tmp_path / "all.txt"
    one.write_text(text[: data.draw(st.integers(0, len(text)))])
    collect([one])
