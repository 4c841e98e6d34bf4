"""Open transactions according to tools and producer snapshots, alone and together with logs."""

import io
import shutil
from pathlib import Path

import pytest

from zombieproof.cli import main
from zombieproof.report.open_text import show_open
from zombieproof.report.replay_text import show_report
from zombieproof.report.screen import Screen
from zombieproof.traces.explaining.open.models import EndedBy, Open
from zombieproof.traces.explaining.open.transactions import what_is_open
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge
from zombieproof.traces.verdict.report import Gap, Judgement, StatedByTools

OUTPUT = Path(__file__).parents[1] / "tool_output"
RECORDING = Path(__file__).parents[2] / "recordings" / "10-hanging"
TIME = 1_764_320_346_812
HANGING = (
    "Topic\tPartition\tProducerId\tProducerEpoch\tCoordinatorEpoch\tStartOffset\tLastTimestamp\tDuration(min)\t\n"
    f"pay   \t2        \t31        \t5            \t9               \t40         \t{TIME}\t17           \t\n"
)
PRODUCERS = (
    "kafka-transactions.sh --bootstrap-server h:9092 describe-producers --topic pay --partition 2\n"
    "ProducerId ProducerEpoch LatestCoordinatorEpoch LastSequence LastTimestamp CurrentTransactionStartOffset\n"
    f"31 5 9 3 {TIME} 40\n"
)
DESCRIBE = (
    "CoordinatorId TransactionalId ProducerId ProducerEpoch TransactionState TransactionTimeoutMs "
    "CurrentTransactionStartTimeMs TransactionDurationMs TopicPartitions\n"
    f"3 pay-1 31 5 STATE 60000 {TIME} 1500 PLACES\n"
)
GROUPS = (
    "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\nreaders pay 2 40 63 23 - - -\n"
)
SNAPSHOTS = {
    "0.11": "currentTxnFirstOffset: Some(40) firstSequence: 0 lastSequence: 0 lastOffset: 40 offsetDelta: 0 "
    f"timestamp: {TIME}",
    "2.4": f"currentTxnFirstOffset: Some(40) lastTimestamp: {TIME} firstSequence: 0 lastSequence: 0 lastOffset: 40 "
    "offsetDelta: 0 timestamp: 1",
    "3.0": f"currentTxnFirstOffset: OptionalLong[40] lastTimestamp: {TIME} firstSequence: 0 lastSequence: 0 "
    "lastOffset: 40 offsetDelta: 0 timestamp: 1",
}
NONE_OPEN = {"0.11": "None", "2.4": "None", "3.0": "OptionalLong.empty"}


def examine(folder: Path, **texts: str) -> Examined:
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return judge(collect([folder]))


def opened(folder: Path, **texts: str) -> Open:
    return what_is_open(examine(folder, **texts))


def shown(found: Open) -> str:
    out = io.StringIO()
    show_open(Screen(out, plain=True), found)
    return out.getvalue()


def reported(found: Examined) -> str:
    out = io.StringIO()
    show_report(Screen(out, plain=True), found.report)
    return out.getvalue()


def dump(fields: str, offset: int = 63, folder: str = "/var/lib/kafka/pay-2") -> str:
    return f"Dumping {folder}/{offset:020}.snapshot\nproducerId: 31 producerEpoch: 5 coordinatorEpoch: 9 {fields}\n"


# ---------------------------------------------------------------- alone


def test_a_hanging_transaction_is_told_with_the_command_that_ends_it(tmp_path: Path) -> None:
    found = opened(tmp_path, hanging=HANGING)
    [txn] = found.stated
    assert (txn.topic, txn.partition, txn.first_offset, txn.producer_id, txn.producer_epoch) == ("pay", 2, 40, 31, 5)
    assert (txn.coordinator_epoch, txn.duration_min, txn.ended_by, txn.transactional_id) == (
        9,
        17,
        EndedBy.NOBODY,
        None,
    )
    tool = "kafka-transactions.sh --bootstrap-server HOST:PORT"
    assert txn.commands == [
        f"{tool} abort --topic pay --partition 2 --start-offset 40",
        f"{tool} abort --topic pay --partition 2 --producer-id 31 --producer-epoch 5 --coordinator-epoch 9",
    ]
    assert [command for command, _ in txn.checks] == [
        f"{tool} describe-producers --topic pay --partition 2",
        f"{tool} list",
        f"{tool} describe --transactional-id ID",
    ]
    text = shown(found)
    who = "pay-2: held at offset 40 by producer 31 epoch 5 (coordinator epoch 9) for 17 minutes"
    assert f"{who}, as kafka-transactions.sh find-hanging says, last written 2025-11-28 08:59:06.812Z" in text
    assert "before you end it, check that" in text


@pytest.mark.parametrize("release", SNAPSHOTS)
def test_a_snapshot_tells_what_is_open_as_of_its_offset(tmp_path: Path, release: str) -> None:
    found = opened(tmp_path, snapshot=dump(SNAPSHOTS[release]))
    [txn] = found.stated
    assert (txn.as_of_offset, txn.first_offset, txn.last_written_ms, txn.ended_by) == (63, 40, TIME, EndedBy.UNKNOWN)
    text = shown(found)
    assert "pay-2, as of offset 63: held back at 40 by producer 31 epoch 5 (coordinator epoch 9), last written" in text
    assert "whose it is, is not known" in text
    assert "--coordinator-epoch 9" in text


@pytest.mark.parametrize("release", SNAPSHOTS)
def test_what_a_newer_snapshot_does_not_have_has_ended(tmp_path: Path, release: str) -> None:
    ended = SNAPSHOTS[release].replace("Some(40)", "None").replace("OptionalLong[40]", NONE_OPEN[release])
    found = opened(tmp_path, snapshots=dump(SNAPSHOTS[release]) + dump(ended, 70))
    assert found.stated == []
    assert shown(found).startswith("nothing is open")


def test_snapshots_of_a_partition_that_no_path_names_say_so(tmp_path: Path) -> None:
    found = opened(tmp_path, snapshot=dump(SNAPSHOTS["3.0"], folder="copy"))
    [txn] = found.stated
    assert (txn.topic, txn.partition) == ("", None)
    assert "a partition that nothing names, as of offset 63" in shown(found)
    assert "--topic TOPIC --partition PARTITION --start-offset 40" in txn.commands[0]


def test_a_snapshot_file_alone_is_read(tmp_path: Path) -> None:
    place = tmp_path / "t-0"
    place.mkdir()
    [first, *_] = sorted((RECORDING / "segments" / "t-0").glob("*.snapshot*"))
    shutil.copy(first, place)
    found = what_is_open(judge(collect([place])))
    assert [(txn.topic, txn.partition, txn.as_of_offset, txn.first_offset) for txn in found.stated] == [("t", 0, 7, 4)]


@pytest.mark.parametrize(
    ("state", "places", "ended_by", "words"),
    [
        (
            "Ongoing",
            "pay-2",
            EndedBy.OWNER,
            "its producer ends it, or else its coordinator aborts it after 2025-11-28 09:00",
        ),
        ("Ongoing", "pay-1", EndedBy.NOBODY, "pay-1 is Ongoing, and has nothing open here: nobody will end it"),
        ("Empty", "", EndedBy.NOBODY, "nobody will end it"),
        ("PrepareAbort", "pay-2", EndedBy.MARKER, "it is decided, and the marker is still to come"),
        ("PrepareCommit", "pay-2", EndedBy.MARKER, "do not abort it: that would lose its records"),
    ],
)
def test_the_coordinator_says_who_ends_it(
    tmp_path: Path, state: str, places: str, ended_by: EndedBy, words: str
) -> None:
    described = DESCRIBE.replace("STATE", state).replace("PLACES", places)
    found = opened(tmp_path, producers=PRODUCERS, describe=described)
    [txn] = found.stated
    assert (txn.transactional_id, txn.ended_by) == ("pay-1", ended_by)
    assert words in shown(found)
    assert bool(txn.commands) is (state != "PrepareCommit")
    assert len(found.stated_transactions) == (state != "Empty")


def test_console_text_of_the_coordinator_says_it_too(tmp_path: Path) -> None:
    console = (
        "pay-1::TransactionMetadata(transactionalId=pay-1, producerId=31, producerEpoch=5, txnTimeoutMs=60000, "
        "state=Ongoing, pendingState=None, topicPartitions=HashSet(pay-2), "
        f"txnStartTimestamp={TIME}, txnLastUpdateTimestamp={TIME})\n"
    )
    [txn] = opened(tmp_path, producers=PRODUCERS, console=console).stated
    assert (txn.transactional_id, txn.state, txn.ended_by) == ("pay-1", "Ongoing", EndedBy.OWNER)
    assert txn.due_ms == TIME + 60_000


def test_a_list_alone_does_not_say_which_partitions(tmp_path: Path) -> None:
    listed = "TransactionalId Coordinator ProducerId TransactionState\npay-1 3 31 Ongoing\nother 3 32 Empty\n"
    found = opened(tmp_path, producers=PRODUCERS, list=listed)
    assert [txn.ended_by for txn in found.stated] == [EndedBy.UNKNOWN]
    assert [txn.transactional_id for txn in found.stated_transactions] == ["pay-1"]
    assert "whether it lists pay-2 is not known" in shown(found)


def test_sources_of_one_transaction_are_put_together(tmp_path: Path) -> None:
    found = opened(tmp_path, a=PRODUCERS, b=HANGING, c=dump(SNAPSHOTS["3.0"]), d=GROUPS)
    [txn] = found.stated
    assert (len(txn.told_by), txn.duration_min, txn.ended_by) == (3, 17, EndedBy.NOBODY)
    assert "find-hanging" in txn.told_by[0]
    assert txn.waiting_groups == ["group readers at 40, lag 23"]


def test_the_age_is_that_of_the_newest_time_of_the_evidence(tmp_path: Path) -> None:
    later = PRODUCERS + f"32 0 -1 3 {TIME + 3_600_000} None\n"
    found = opened(tmp_path, producers=later)
    assert (found.as_of_ms, found.stated[0].age_ms) == (TIME + 3_600_000, 3_600_000)
    assert "that is 1 h 0 min before the newest time in the evidence" in shown(found)


def test_a_coordinator_epoch_below_zero_is_sent_as_zero(tmp_path: Path) -> None:
    [txn] = opened(tmp_path, hanging=HANGING.replace("\t9  ", "\t-1 ")).stated
    assert txn.commands[1].endswith("--coordinator-epoch 0")


def test_an_empty_table_says_that_nothing_is_open(tmp_path: Path) -> None:
    found = opened(tmp_path, hanging=HANGING.split("\n", 1)[0] + "\n")
    assert (found.stated, found.sources) == ([], ["kafka-transactions.sh find-hanging (without rows)"])
    assert shown(found).startswith("nothing is open, by kafka-transactions.sh find-hanging (without rows)")


def test_what_cannot_be_read_may_be_open(tmp_path: Path) -> None:
    ended = SNAPSHOTS["3.0"].replace("OptionalLong[40]", "OptionalLong.empty")
    cut = (
        dump(ended)
        + "producerId: 32 producerEpoch: 0 coordinatorEpoch: 5 currentTxnFirstOffset: OptionalLong[50] last\n"
    )
    text = shown(opened(tmp_path, snapshot=cut))
    assert text.startswith("nothing is open as far as it could be read as of")
    assert "note: " in text
    assert "line 3: " in text
    table = shown(opened(tmp_path, snapshot="", table=HANGING.rstrip("\t\n")))
    assert table.startswith("nothing is open as far as it could be read")
    assert "1 line not used, of kafka-transactions.sh find-hanging (the row is cut)" in table


# ---------------------------------------------------------------- the verdict


@pytest.mark.parametrize("text", [HANGING, PRODUCERS, DESCRIBE.replace("STATE", "Empty").replace("PLACES", ""), GROUPS])
def test_tools_alone_judge_nothing_and_say_what_to_fetch(tmp_path: Path, text: str) -> None:
    found = examine(tmp_path, table=text)
    assert (found.report.verdict, found.report.findings, found.report.damage) == (Judgement.DAMAGED, [], [])
    [gap] = found.report.not_judged
    assert gap.gap is Gap.EVERYTHING
    assert "output of Kafka's tools" in gap.why
    [form] = found.report.judged.written_in
    assert form.endswith(": 1 row")
    assert main(["replay", str(tmp_path)]) == 3
    assert main(["replay", "--open", str(tmp_path)]) == 3


def test_rows_that_were_not_used_are_reported(tmp_path: Path) -> None:
    found = examine(tmp_path, table=HANGING + "pay\t2\t31")
    assert isinstance(found.report.stated, StatedByTools)
    assert "1 line not used, of kafka-transactions.sh find-hanging (the row is cut)" in reported(found)


def test_what_only_a_snapshot_tells_is_in_the_report(tmp_path: Path) -> None:
    text = reported(examine(tmp_path, snapshot=dump(SNAPSHOTS["3.0"])))
    assert "producer snapshot of pay-2 as of offset 63: 1 producer, 1 with an open transaction" in text
    assert "1 open transaction according to tools and snapshots: --open lists them" in text


def test_positions_are_those_of_the_report(tmp_path: Path) -> None:
    console = f"[g,in,0]::OffsetAndMetadata(offset=20, metadata=, commitTimestamp={TIME}, expireTimestamp=None)\n"
    found = examine(tmp_path, groups=GROUPS, console=console)
    assert found.report.group_offsets == {"g": {"in-0": 20}, "readers": {"pay-2": 40}}
    text = reported(found)
    assert "a console consumer prints every commit" in text
    assert "the end is the high watermark" in text


def test_ends_do_not_say_what_they_are(tmp_path: Path) -> None:
    text = reported(examine(tmp_path, ends="pay:0:12\npay:1:0\n"))
    assert "the tool does not say which" in text
    assert "pay-0" in text


# ---------------------------------------------------------------- beside logs


def beside(tmp_path: Path, **texts: str) -> Examined:
    shutil.copytree(RECORDING / "segments", tmp_path / "segments")
    return examine(tmp_path, **texts)


def first_offset_of(found: Examined) -> tuple[int, int]:
    [held] = what_is_open(found).partitions
    return held.transactions[0].producer_id, held.transactions[0].first_offset


def test_what_the_log_has_too_agrees_and_is_told_once(tmp_path: Path) -> None:
    producer, offset = first_offset_of(judge(collect([RECORDING])))
    table = (
        HANGING.replace("pay   \t2 ", "t     \t0 ").replace("\t31  ", f"\t{producer}").replace("\t40 ", f"\t{offset} ")
    )
    found = beside(tmp_path, table=table)
    assert found.report.stated is not None
    assert (found.report.stated.agreed, found.report.stated.compared) == (1, [])
    assert what_is_open(found).stated == []
    assert len(what_is_open(found).partitions) == 1


def test_what_the_log_has_ended_is_a_matter_of_time_and_no_finding(tmp_path: Path) -> None:
    log = judge(collect([RECORDING]))
    [place] = [place for place in log.partitions if place == ("t", 0)]
    run = next(run for runs in log.partitions[place].runs.values() for run in runs if run.ending is not None)
    table = (
        PRODUCERS.replace("--topic pay --partition 2", "--topic t --partition 0")
        .replace("\n31 ", f"\n{run.producer_id} ")
        .replace(f"{TIME} 40", f"{TIME} {run.first_offset}")
    )
    found = beside(tmp_path, table=table)
    assert found.report.stated is not None
    [sentence] = found.report.stated.compared
    assert "marker at offset" in sentence
    assert sentence.count("20") >= 2
    assert "it may have come after the tool was run" in sentence
    assert len(found.report.findings) == len(log.report.findings)
    assert what_is_open(found).stated == []


def test_a_transaction_beyond_the_end_of_the_log_is_told(tmp_path: Path) -> None:
    table = HANGING.replace("pay   \t2 ", "t     \t0 ")
    found = beside(tmp_path, table=table)
    [txn] = what_is_open(found).stated
    assert "the log ends at offset 7, before it" in txn.log_says


def test_states_and_ends_that_differ_are_told_with_both(tmp_path: Path) -> None:
    listed = "TransactionalId Coordinator ProducerId TransactionState\norders-1 1 99 Ongoing\n"
    found = beside(tmp_path, list=listed, ends="t:0:7\nt:0:4\nt:0:900\n")
    assert found.report.stated is not None
    assert found.report.stated.agreed == 1
    text = " ".join(found.report.stated.compared)
    assert "says Ongoing, producer 99; __transaction_state" in text
    assert "that is the last stable offset of the log, which ends at 7" in text
    assert "has its end at offset 900; the log ends at 7" in text
    assert found.report.verdict is judge(collect([RECORDING])).report.verdict


def test_reports_without_tools_are_as_before() -> None:
    assert judge(collect([RECORDING])).report.stated is None


# ---------------------------------------------------------------- what real tools printed


@pytest.mark.parametrize("release", ["3.0.2", "3.9.1", "4.3.1"])
def test_the_admin_client_of_each_release_tells_all_of_it(release: str) -> None:
    found = what_is_open(judge(collect([OUTPUT / release / "admin.txt"])))
    assert [(txn.topic, txn.first_offset, txn.transactional_id, txn.ended_by) for txn in found.stated] == [
        ("late", 0, "late-1", EndedBy.NOBODY),
        ("orders", 2, "orders-1", EndedBy.OWNER),
    ]
    assert [txn.transactional_id for txn in found.stated_transactions] == ["orders-1"]


def test_tables_and_snapshots_of_one_cluster_agree() -> None:
    folder = OUTPUT / "4.3.1"
    names = ("list", "describe", "describe-empty", "hanging", "snapshot", "groups")
    found = what_is_open(judge(collect([folder / f"{name}.txt" for name in names])))
    assert [(txn.topic, txn.first_offset, len(txn.told_by)) for txn in found.stated] == [
        ("late", 0, 2),
        ("orders", 2, 1),
    ]
    assert found.stated[1].waiting_groups == ["group readers at 2, lag 5"]
