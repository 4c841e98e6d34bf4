"""Output of tools that were run several times: the order is told by epochs and times, never by names of files."""

from pathlib import Path

import pytest

from zombieproof.cli import main
from zombieproof.traces.explaining.open.models import Open
from zombieproof.traces.explaining.open.transactions import what_is_open
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge, replay

RECORDING = Path(__file__).parents[2] / "recordings" / "10-hanging"
TIME = 1_764_320_346_812
LIST = "TransactionalId Coordinator ProducerId TransactionState\npay-1 3 31 STATE\n"
DESCRIBE = (
    "CoordinatorId TransactionalId ProducerId ProducerEpoch TransactionState TransactionTimeoutMs "
    "CurrentTransactionStartTimeMs TransactionDurationMs TopicPartitions\n"
    f"3 pay-1 31 EPOCH STATE 60000 {TIME} LONG pay-2\n"
)
PRODUCERS = (
    "kafka-transactions.sh --bootstrap-server h:9092 describe-producers --topic pay --partition 2\n"
    "ProducerId ProducerEpoch LatestCoordinatorEpoch LastSequence LastTimestamp CurrentTransactionStartOffset\n"
    "31 5 9 3 WHEN FIRST\n"
)
GROUPS = (
    "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\nreaders pay 2 AT 63 9 - - -\n"
)
CONSOLE = (
    "pay-1::TransactionMetadata(transactionalId=pay-1, producerId=31, producerEpoch=5, txnTimeoutMs=60000, "
    f"state=Ongoing, pendingState=None, topicPartitions=Set(pay-2), txnStartTimestamp={TIME}, "
    f"txnLastUpdateTimestamp={TIME})\n"
)


def described(state: str, epoch: int, long_ms: int) -> str:
    return DESCRIBE.replace("EPOCH", str(epoch)).replace("STATE", state).replace("LONG", str(long_ms))


def producers(first: str, when: int = TIME) -> str:
    return PRODUCERS.replace("FIRST", first).replace("WHEN", str(when))


def write(folder: Path, *texts: str) -> Path:
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_text(text)
    return folder


def both_ways(folder: Path, first: str, second: str) -> list[Open]:
    """What is open by two files, whichever of the two names comes first."""
    folders = write(folder / "a", first, second), write(folder / "b", second, first)
    return [what_is_open(judge(collect([each]))) for each in folders]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LIST.replace("STATE", "Ongoing"), LIST.replace("STATE", "CompleteCommit")),
        (described("Ongoing", 5, 100), LIST.replace("STATE", "CompleteCommit")),
        (LIST.replace("STATE", "Ongoing"), LIST.replace("STATE", "PrepareCommit")),
        (producers("40"), producers("None")),
        (producers("40"), producers("60")),
    ],
)
def test_files_that_disagree_decide_nothing(tmp_path: Path, first: str, second: str) -> None:
    for found in both_ways(tmp_path, first, second):
        assert (found.stated, found.stated_transactions) == ([], [])
        [sentence] = found.undecided
        assert "0.txt, line" in sentence
        assert "1.txt, line" in sentence


@pytest.mark.parametrize(
    ("older", "newer", "is_open"),
    [
        (described("Ongoing", 5, 100), described("CompleteAbort", 6, 0), False),
        (described("CompleteCommit", 5, 100), described("Ongoing", 5, 2000), True),
        (producers("40"), producers("None", TIME + 1), False),
        (producers("None"), producers("40", TIME + 1), True),
        (LIST.replace("STATE", "Ongoing"), described("Ongoing", 5, 100), True),
    ],
)
def test_epochs_and_times_tell_the_later_file(tmp_path: Path, older: str, newer: str, *, is_open: bool) -> None:
    for found in both_ways(tmp_path, older, newer):
        assert found.undecided == []
        assert bool(found.stated or found.stated_transactions) is is_open


def test_within_a_file_the_later_row_counts(tmp_path: Path) -> None:
    session = producers("40") + "\n" + producers("None")
    [found] = [what_is_open(judge(collect([write(tmp_path / "a", session)])))]
    assert (found.stated, found.undecided) == ([], [])


def test_a_table_that_contradicts_a_console_is_named(tmp_path: Path) -> None:
    for found in both_ways(tmp_path, CONSOLE, LIST.replace("STATE", "CompleteCommit")):
        [sentence] = found.undecided
        assert "says CompleteCommit" in sentence
        assert "says ONGOING" in sentence


def test_nothing_is_known_to_be_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [LIST.replace("STATE", state) for state in ("Ongoing", "CompleteCommit")]
    assert main(["replay", "--open", str(write(tmp_path / "a", *texts))]) == 3
    shown = capsys.readouterr().out
    assert shown.startswith("nothing is known to be open")
    assert "not decided: pay-1: kafka-transactions.sh list" in " ".join(shown.split())


def test_positions_on_which_files_disagree_are_named(tmp_path: Path) -> None:
    stated = replay([write(tmp_path / "a", GROUPS.replace("AT", "40"), GROUPS.replace("AT", "41"))]).stated
    assert stated is not None
    assert stated.positions == []
    assert any("says 40" in each and "says 41" in each for each in stated.compared)


def test_of_records_of_positions_the_newest_counts(tmp_path: Path) -> None:
    record = "[g,in,0]::OffsetAndMetadata(offset=AT, metadata=, commitTimestamp=WHEN, expireTimestamp=None)\n"
    old, new = (record.replace("AT", str(at)).replace("WHEN", str(TIME + at)) for at in (20, 30))
    for name, texts in {"a": (old, new), "b": (new, old), "c": (new + old,), "d": (old + new,)}.items():
        stated = replay([write(tmp_path / name, *texts)]).stated
        assert stated is not None
        assert [each.offset for each in stated.positions] == [30]


@pytest.mark.parametrize("name", ["pay-1", "id pay-1", "pay-2", "31", "producer 31:5"])
def test_tables_have_no_timeline(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "a", described("Ongoing", 5, 100) + "\n" + producers("40"))
    assert main(["replay", "--timeline", name, str(folder)]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert "occurs only in output of tools, such as" in shown
    assert "0.txt, line" in shown


def test_a_table_names_the_owner_of_what_a_log_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = (RECORDING / "dump" / "t-0.txt").read_text()
    producer = next(word for word in dump.split("producerId: ")[1:] if "isTransactional: true" in word).split()[0]
    table = LIST.replace("STATE", "Ongoing").replace(" 31 ", f" {producer} ")
    folder = write(tmp_path / "a", table)
    (folder / "t-0.txt").write_text(dump)
    main(["replay", "--open", str(folder)])
    shown = " ".join(capsys.readouterr().out.split())
    assert "pay-1 is Ongoing, as kafka-transactions.sh list" in shown
    assert "whose it is, is not known" not in shown
