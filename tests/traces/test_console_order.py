"""Records of console consumers that people repeat, append or give as several captures."""

from itertools import permutations
from pathlib import Path

import pytest

from zombieproof.traces.evidence import Evidence
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.console_order import in_order

TIME = 1_700_000_000_000


def line(state: str, at: int, *, start: int = 0, epoch: int = 3, name: str = "pay-1", places: str = "pay-0") -> str:
    listed = "" if state.startswith("Complete") else places
    return (
        f"{name}::TransactionMetadata(transactionalId={name}, producerId=70, producerEpoch={epoch}, "
        f"txnTimeoutMs=60000, state={state}, pendingState=None, topicPartitions=HashSet({listed}), "
        f"txnStartTimestamp={TIME + start}, txnLastUpdateTimestamp={TIME + at})\n"
    )


ONGOING, PREPARED, COMPLETE = line("Ongoing", 0), line("PrepareCommit", 20), line("CompleteCommit", 30)
NEXT = line("Ongoing", 40, start=40)
WHOLE = ONGOING + PREPARED + COMPLETE


def states(folder: Path, *captures: str) -> tuple[list[str], Evidence]:
    for number, text in enumerate(captures):
        (folder / f"{number}.txt").write_text(text)
    evidence = collect([folder])
    return [record.value.state.name if record.value else "-" for record in evidence.transaction_states], evidence


ENDED = ["ONGOING", "PREPARE_COMMIT", "COMPLETE_COMMIT"]


@pytest.mark.parametrize(
    "text",
    [WHOLE + ONGOING, WHOLE + WHOLE, WHOLE + ONGOING + PREPARED, ONGOING + PREPARED + ONGOING + COMPLETE],
)
def test_a_repeated_line_opens_nothing_again(tmp_path: Path, text: str) -> None:
    found, evidence = states(tmp_path, text)
    assert (found, evidence.damage) == (ENDED, [])


def test_the_names_of_captures_decide_nothing(tmp_path: Path) -> None:
    for number, order in enumerate(permutations((WHOLE, ONGOING + PREPARED, PREPARED + COMPLETE + NEXT))):
        folder = tmp_path / str(number)
        folder.mkdir()
        found, evidence = states(folder, *order)
        assert (found, evidence.damage) == ([*ENDED, "ONGOING"], [])


def test_a_clean_capture_keeps_its_order_and_its_repeated_appends(tmp_path: Path) -> None:
    late = line("CompleteCommit", 15)
    found, evidence = states(tmp_path, ONGOING + ONGOING + PREPARED + late + "pay-1::NULL\n" + NEXT)
    assert (found, evidence.damage) == (["ONGOING", *ENDED, "-", "ONGOING"], [])
    assert not any("several captures" in each for each in evidence.dialects)


def test_a_tombstone_stays_behind_the_records_before_it(tmp_path: Path) -> None:
    found, evidence = states(tmp_path, WHOLE + "pay-1::NULL\n", ONGOING)
    assert (found, evidence.damage) == ([*ENDED, "-"], [])


@pytest.mark.parametrize(
    "captures",
    [
        (line("CompleteCommit", 9), line("Ongoing", 9, start=9)),
        (line("Ongoing", 9, places="pay-0"), line("Ongoing", 9, places="pay-1")),
        (line("Ongoing", 50, epoch=3), line("CompleteCommit", 40, epoch=4)),
        (line("CompleteCommit", 40) + line("Ongoing", 30, start=30),),
        (line("Ongoing", 9) + line("PrepareCommit", 9) + line("CompleteCommit", 9) + line("Ongoing", 9),),
        (WHOLE, "pay-1::NULL\n" + NEXT),
    ],
)
def test_records_without_a_certain_order_say_nothing(tmp_path: Path, captures: tuple[str, ...]) -> None:
    found, evidence = states(tmp_path, *captures, line("Ongoing", 0, name="other"))
    assert found == ["ONGOING"]
    [damage] = evidence.damage
    assert "the order of the records of 'pay-1'" in damage.message
    assert not any("ordered by" in each for each in evidence.dialects)
    assert all(f"{number}.txt" in damage.message for number in range(len(captures)) if len(captures) > 1)


def test_no_records_are_no_order() -> None:
    assert in_order([]).records == []
