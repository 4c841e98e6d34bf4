"""Producer snapshots beside a log: what was open before it begins, and snapshots that the log contradicts."""

import shutil
from pathlib import Path

import pytest

from tests.traces.dumps import LOG, Printed, text_of
from zombieproof.report.open_text import show_open
from zombieproof.report.screen import Screen
from zombieproof.screening.choosing import screen_for
from zombieproof.traces.explaining.open.transactions import what_is_open
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.narrowing import EVERYTHING
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge

FOLDER = "/data/orders-0"
LATER = (Printed(5, 1, producer_id=-1), Printed(6, 2, sequence=4), Printed(8, 1, marker="COMMIT"), Printed(9, 1, -1))


def snapshot(offset: int, *entries: str) -> str:
    return f"Dumping {FOLDER}/{offset:020}.snapshot\n" + "".join(f"{each}\n" for each in entries)


def entry(producer_id: int, first: int | None) -> str:
    opened = "None" if first is None else f"Some({first})"
    return (
        f"producerId: {producer_id} producerEpoch: 0 coordinatorEpoch: 0 currentTxnFirstOffset: {opened} "
        "lastTimestamp: 1710000000000 firstSequence: 0 lastSequence: 1 lastOffset: 1 offsetDelta: 1"
    )


def judged(folder: Path, log: tuple[Printed, ...], *snapshots: str) -> Examined:
    path = f"{FOLDER}/{log[0].first:020}.log"
    (folder / "orders-0.txt").write_text(text_of("4.3", log, path) + "".join(snapshots))
    return judge(collect([folder]))


def gaps_of(examined: Examined) -> list[tuple[int | None, int | None, str]]:
    gaps = [gap for gap in examined.report.not_judged if gap.name == "orders-0"]
    return [(gap.first_offset, gap.last_offset, gap.why) for gap in gaps]


def shown(examined: Examined, capsys: pytest.CaptureFixture[str]) -> str:
    show_open(Screen(), what_is_open(examined))
    return capsys.readouterr().out


@pytest.mark.parametrize("offset", [5, 6, 10])
def test_what_a_snapshot_has_open_before_the_log_begins_holds_the_last_stable_offset(
    offset: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the beginning of the log, inside it, and at its end."""
    examined = judged(tmp_path, LATER, snapshot(offset, entry(3, 2)))
    assert (examined.report.lso, examined.report.lso_at_least) == ({"orders-0": 2}, [])
    assert list(examined.report.committed["orders-0"]) == []
    assert gaps_of(examined)[0][:2] == (2, 4)
    assert "has a transaction of producer 3 open from offset 2" in gaps_of(examined)[0][2]
    assert "held by producer 3 epoch 0 since offset 2; its records were not given" in shown(examined, capsys)


def test_a_snapshot_after_a_cut_end_tells_what_was_open_there(tmp_path: Path) -> None:
    examined = judged(tmp_path, LATER, snapshot(12, entry(3, 2)))
    assert (examined.report.lso, examined.report.lso_at_least) == ({"orders-0": 2}, ["orders-0"])
    assert [(first, last) for first, last, _ in gaps_of(examined)] == [(2, 4), (10, 11)]


def test_a_marker_in_the_log_ends_what_was_open_before_it(tmp_path: Path) -> None:
    examined = judged(tmp_path, LATER, snapshot(5, entry(7, 3)))
    assert examined.report.lso == {"orders-0": 10}
    assert gaps_of(examined) == []


def test_what_is_open_at_the_end_began_where_a_snapshot_says(tmp_path: Path) -> None:
    """The first offset that a log shows of a transaction is not its first one."""
    examined = judged(tmp_path, LATER[:2], snapshot(5, entry(7, 3)))
    assert examined.report.lso == {"orders-0": 3}
    assert [each.first_offset for each in examined.seen["orders", 0].open_transactions] == [3]


CONTRADICTED = {
    "open, and the log has its marker": (LOG, 7, [entry(7, 3)], (3, 6), "the log has its marker at offset 5"),
    "open, and the log has no data of it": (LOG, 7, [entry(9, 3), entry(7, None)], (3, 6), "no data of it there"),
    "open from another offset": (LOG[:3], 5, [entry(7, 4)], (4, 4), "the log has it open from offset 3"),
    "ended, and the log has it open": (LOG[:3], 5, [entry(7, None)], (3, 4), "has no open transaction of producer 7"),
    "not there, and the log has it open": (LOG[:3], 5, [entry(9, None)], (3, 4), "does not have producer 7"),
    "open before the log, which has its marker": (LATER, 10, [entry(7, 2)], (2, 9), "its marker at offset 8"),
}


@pytest.mark.parametrize("case", CONTRADICTED)
def test_a_snapshot_that_the_log_contradicts_is_named(case: str, tmp_path: Path) -> None:
    log, offset, entries, where, why = CONTRADICTED[case]
    examined = judged(tmp_path, log, snapshot(offset, *entries))
    first, last, says = next(gap for gap in gaps_of(examined) if "one of the two is damaged" in gap[2])
    assert ((first, last), why in says) == (where, True), says
    assert examined.report.lso_at_least == ["orders-0"]
    assert examined.report.lso["orders-0"] <= where[0]
    assert examined.evidence.log("orders", 0) is not None
    assert not any(each.end_shown_by for each in examined.report.judged.partitions)


@pytest.mark.parametrize(
    ("offset", "entries"),
    [(2, [entry(7, 0)]), (3, [entry(7, None)]), (5, [entry(7, 3)]), (7, [entry(7, None), entry(8, None)])],
)
def test_a_snapshot_that_agrees_says_nothing(offset: int, entries: list[str], tmp_path: Path) -> None:
    examined = judged(tmp_path, LOG, snapshot(offset, *entries))
    assert gaps_of(examined) == []
    assert examined.report.lso == {"orders-0": 7}


def test_offsets_that_cannot_be_read_contradict_no_snapshot(tmp_path: Path) -> None:
    holed = (LOG[0], *LOG[2:])
    examined = judged(tmp_path, holed, snapshot(7, entry(7, 2)))
    assert not any("one of the two is damaged" in why for _, _, why in gaps_of(examined))


def test_a_snapshot_of_another_replica_contradicts_no_copy_that_differs(tmp_path: Path, samples: Path) -> None:
    for broker in ("broker-1", "broker-2"):
        shutil.copytree(samples / "10-hanging/segments/t-0", tmp_path / broker / "t-0")
    cut = tmp_path / "broker-2/t-0/00000000000000000000.log"
    data = cut.read_bytes()
    cut.write_bytes(data[: data.rindex(b"behind") - 70])
    (tmp_path / "broker-2/t-0/00000000000000000007.snapshot").unlink()
    assert all(log.contradictions == [] for log in collect([tmp_path]).logs)


@pytest.mark.parametrize("with_screen", [True, False])
def test_a_real_snapshot_beside_a_later_segment(with_screen: bool, samples: Path, tmp_path: Path) -> None:
    """The recording has a transaction open from offset 4; its segment is given from offset 5 on."""
    folder = tmp_path / "t-0"
    shutil.copytree(samples / "10-hanging/segments/t-0", folder)
    whole = folder / f"{0:020}.log"
    data = whole.read_bytes()
    at = 0
    while int.from_bytes(data[at : at + 8]) < 5:
        at += 12 + int.from_bytes(data[at + 8 : at + 12])
    (folder / f"{5:020}.log").write_bytes(data[at:])
    whole.unlink()
    (folder / f"{0:020}.txnindex").unlink()
    (folder / "leader-epoch-checkpoint").unlink()
    screen = screen_for([folder], EVERYTHING, None) if with_screen else None
    report = judge(collect([folder], screen=screen)).report
    assert report.lso == {"t-0": 4}
    assert [(gap.first_offset, gap.last_offset) for gap in report.not_judged if gap.name == "t-0"] == [(4, 4)]
