"""Files that are parts, mixed, or not read in full say no more than they hold."""

import json
import re
import time
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path

import pytest

from tests.traces.dumps import LOG, PATH, Printed, text_of
from zombieproof.traces.explaining.open.transactions import what_is_open
from zombieproof.traces.judging.histories.client_history import Told, read_applications
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge
from zombieproof.traces.verdict.report import Report

SAMPLES = Path(__file__).parents[1] / "recordings"
STATES = SAMPLES / "01-commit/dump/__transaction_state-1.txt"
OTHER = (Printed(0, 1, sequence=0, size=80), *(Printed(at, 1, sequence=at, size=80) for at in range(1, 6)))
ABORTED = (
    Printed(0, 1, sequence=0),
    Printed(1, 1, marker="ABORT", size=78),
    Printed(2, 1, sequence=1),
    Printed(3, 1, marker="ABORT", size=78),
    Printed(4, 1, producer_id=-1),
)
INDEX = (
    "Dumping /data/orders-0/00000000000000000000.txnindex",
    "version: 0 producerId: 7 firstOffset: 0 lastOffset: 1 lastStableOffset: 2",
    "version: 0 producerId: 7 firstOffset: 2 lastOffset: 3 lastStableOffset: 4",
)


def report_of(tmp_path: Path, **files: str) -> Report:
    for name, text in files.items():
        (tmp_path / f"{name}.txt").write_text(text)
    return judge(collect([tmp_path])).report


# ---------------------------------------------------------------- dumps in one file


@pytest.mark.parametrize("release", ["2.4", "4.3", "4.3 batches"])
def test_dumps_whose_lines_are_mixed_are_not_judged(release: str, tmp_path: Path) -> None:
    one, other = text_of(release).splitlines(), text_of(release, OTHER, "/data/orders-1/" + PATH.split("/")[-1])
    mixed = chain.from_iterable(zip_longest(one, other.splitlines(), fillvalue=""))
    report = report_of(tmp_path, paste="\n".join(mixed) + "\n")
    assert (report.findings, report.lso) == ([], {})
    assert any("the lines of several dumps are mixed" in place.message for place in report.damage)
    (read,) = report.judged.lines
    assert read.used == 0
    assert "of dumps whose lines are mixed" in {each.reason for each in read.unused}


ALIKE = tuple(replace(each, producer_id=8 if each.producer_id >= 0 else -1) for each in LOG)
"""Batches of the same sizes as those of the first dump."""
SECOND = "/data/orders-1/" + PATH.split("/")[-1]
"""The segment of the other dump."""


def is_mixed(report: Report) -> bool:
    """Whether nothing is concluded from a paste of mixed dumps."""
    is_said = any("the lines of several dumps are mixed" in place.message for place in report.damage)
    return is_said and (report.findings, report.lso) == ([], {})


@pytest.mark.parametrize("other", [ALIKE, OTHER], ids=["alike", "other batches"])
@pytest.mark.parametrize("release", ["2.4", "4.3", "4.3 batches"])
@pytest.mark.parametrize("run", [1, 2, 3, 100])
def test_dumps_that_are_mixed_behind_the_names_of_both_are_not_judged(
    run: int, release: str, other: tuple[Printed, ...], tmp_path: Path
) -> None:
    """As two programs print that write to one terminal: first both name their files, then lines come in runs."""
    one, two = text_of(release).splitlines(), text_of(release, other, SECOND).splitlines()
    for head in ([*one[:2], *two[:2]], [one[0], two[0], one[1], two[1]]):
        left, mixed = [one[2:], two[2:]], list(head)
        while left := [lines for lines in left if lines]:
            for lines in left:
                mixed += lines[:run]
                del lines[:run]
        assert is_mixed(report_of(tmp_path, paste="\n".join(mixed) + "\n"))


@pytest.mark.parametrize("cut", range(3, 9))
@pytest.mark.parametrize("size", [1, 6])
@pytest.mark.parametrize("release", ["2.4", "4.3"])
def test_a_dump_that_another_stands_inside_is_not_judged(release: str, size: int, cut: int, tmp_path: Path) -> None:
    """What follows the second continues the first, wherever that was interrupted."""
    one, two = text_of(release).splitlines(), text_of(release, OTHER[:size], SECOND).splitlines()
    assert is_mixed(report_of(tmp_path, paste="\n".join([*one[:cut], *two, *one[cut:]]) + "\n"))


def test_an_empty_segment_before_others_is_no_mixture(tmp_path: Path) -> None:
    empty = f"Dumping {PATH}\nLog starting offset: 0\n"
    report = report_of(tmp_path, paste=empty + text_of("4.3", path=SECOND))
    assert (report.damage, report.lso["orders-1"]) == ([], 7)


@pytest.mark.deep
def test_many_lines_that_are_there_twice_are_found_fast(tmp_path: Path) -> None:
    lines = text_of("4.3 batches", tuple(Printed(at, 1, producer_id=-1) for at in range(8000)), None)
    began = time.process_time()
    report = report_of(tmp_path, **{"orders-0": lines + lines})
    assert time.process_time() - began < 2
    assert report.lso == {"orders-0": 8000}
    assert len(report.damage) == 8000


@pytest.mark.deep
def test_many_open_transactions_are_listed_fast(tmp_path: Path) -> None:
    opened = tuple(Printed(at, 1, producer_id=1000 + at, sequence=0) for at in range(6000))
    (tmp_path / "orders-0.txt").write_text(text_of("4.3 batches", opened))
    examined = judge(collect([tmp_path]))
    began = time.process_time()
    (held,) = what_is_open(examined).partitions
    assert time.process_time() - began < 0.5
    assert (len(held.transactions), held.waiting_records) == (6000, 0)


def test_dumps_one_after_the_other_are_judged(tmp_path: Path) -> None:
    other = text_of("4.3", path="/data/orders-1/" + PATH.split("/")[-1])
    assert report_of(tmp_path, paste=text_of("4.3") + other).lso == {"orders-0": 7, "orders-1": 7}


def test_a_wrapped_first_line_does_not_name_a_brokers_folder_as_the_partition(tmp_path: Path) -> None:
    wrapped = text_of("4.3").replace(f"Dumping {PATH}", "Dumping /data/broker-1/\norders-0/00000000000000000000.log")
    assert "broker-1" not in report_of(tmp_path, paste=wrapped).lso


def test_a_first_record_that_is_gone_is_named(tmp_path: Path) -> None:
    lines = text_of("4.3").splitlines()
    assert lines[3].startswith("| offset: 0 ")
    report = report_of(tmp_path, paste="\n".join((*lines[:3], *lines[5:])) + "\n")
    assert [place.message for place in report.damage] == ["0 of the 2 records at offset 0 are shown"]


def without_records(lines: list[str], batches: int) -> str:
    """A dump of which the records of the first batches are gone."""
    at = [number for number, line in enumerate(lines) if line.startswith("baseOffset: ")][batches]
    return "\n".join([line for line in lines[:at] if not line.startswith("| ")] + lines[at:]) + "\n"


def test_all_batches_whose_records_are_gone_at_the_beginning_are_named(tmp_path: Path) -> None:
    report = report_of(tmp_path, paste=without_records(text_of("4.3").splitlines(), 3))
    assert [place.message for place in report.damage] == ["no records at offsets 0 to 4 are shown"]


@pytest.mark.parametrize(
    ("batches", "message"), [(1, "0 of the 1 records at offset 0"), (2, "no records at offsets 0")]
)
def test_the_first_records_of_a_coordinator_that_are_gone_are_named(batches: int, message: str, tmp_path: Path) -> None:
    report = report_of(tmp_path, paste=without_records(STATES.read_text().splitlines(), batches))
    (damage,) = report.damage
    assert (damage.message.startswith(message), damage.position) == (True, 3)
    assert report.findings == []


@pytest.mark.parametrize("is_first", [True, False])
def test_a_segment_whose_only_record_is_gone_is_named(is_first: bool, tmp_path: Path) -> None:
    log, one = text_of("4.3"), text_of("4.3", (Printed(7, 1, producer_id=-1),), PATH.replace("0.log", "7.log"))
    cut = "".join(f"{line}\n" for line in one.splitlines() if not line.startswith("| "))
    assert report_of(tmp_path, paste=log + one).damage == []
    (damage,) = report_of(tmp_path, paste=cut + log if is_first else log + cut).damage
    assert damage.message == "0 of the 1 records at offset 7 are shown"


@pytest.mark.parametrize("is_first", [True, False])
def test_a_segment_that_was_dumped_with_and_without_records_lacks_none(is_first: bool, tmp_path: Path) -> None:
    log = text_of("4.3")
    bare = "".join(line for line in log.splitlines(keepends=True) if not line.startswith("| "))
    report = report_of(tmp_path, paste=bare + log if is_first else log + bare)
    assert (report.damage, report.lso) == ([], {"orders-0": 7})
    assert report.transactions == report_of(tmp_path, paste=log).transactions
    other = bare.replace("baseSequence: 0 ", "baseSequence: 5 ", 1)
    assert other != bare
    assert report_of(tmp_path, paste=other + log).damage != []


# ---------------------------------------------------------------- logs without a partition


def nameless() -> list[str]:
    """The lines of a dump of ``__transaction_state`` without those that name it."""
    return STATES.read_text().splitlines()[2:]


def renamed(lines: list[str]) -> list[str]:
    """The same records of another id, with other checksums."""
    return [re.sub(r"crc: \d+", "crc: 5", line).replace("orders-1", "orders-2") for line in lines]


def test_logs_of_unknown_partitions_are_not_taken_for_copies(tmp_path: Path) -> None:
    one, other = nameless(), renamed(nameless())
    report = report_of(tmp_path, one="\n".join(one) + "\n", other="\n".join(other) + "\n")
    assert report.findings == []
    assert {each.transactional_id for each in report.transactions} == {"orders-1", "orders-2"}


@pytest.mark.parametrize(("end", "start"), [(8, 4), (6, 6), (2, 8)], ids=["overlapping", "joined", "with a hole"])
@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_parts_of_one_log_in_two_files_are_put_in_order(
    names: tuple[str, str], end: int, start: int, tmp_path: Path
) -> None:
    lines = nameless()
    first, second = "\n".join(lines[:end]) + "\n", "\n".join(lines[start:]) + "\n"
    report = report_of(tmp_path, **{names[0]: first, names[1]: second})
    assert report.findings == []
    assert report.damage  # the second part has no beginning
    assert "orders-1" in {each.transactional_id for each in report.transactions}


# ---------------------------------------------------------------- calls and indexes


def calls(*actions: str) -> list[str]:
    """Calls of one application; each send is of the next offset."""
    found, offset = [], 0
    for action in actions:
        result: object = "ok"
        if action == "send":
            result, offset = {"topic": "t", "partition": 0, "offset": offset}, offset + 1
        args = {"transactional_id": "orders-1"}
        found.append(json.dumps({"t": 1, "client": "app", "action": action, "args": args, "result": result}))
    return found


def test_a_call_that_cannot_be_read_leaves_what_was_open_unknown(tmp_path: Path) -> None:
    lines = calls("begin", "send", "abort", "begin", "send", "commit")
    whole = tmp_path / "whole.jsonl"
    whole.write_text("\n".join(lines) + "\n")
    assert [txn.told for txn in read_applications(collect([whole]))] == [Told.ABORTED, Told.COMMITTED]
    joined = tmp_path / "joined.jsonl"
    joined.write_text("\n".join((*lines[:2], lines[2] + lines[3], *lines[4:])) + "\n")
    assert [txn.told for txn in read_applications(collect([joined]))] == [Told.UNKNOWN, Told.COMMITTED]


def test_an_index_with_an_entry_that_cannot_be_read_lacks_nothing(tmp_path: Path) -> None:
    dump = text_of("4.3", ABORTED)
    assert report_of(tmp_path, dump=dump, index="\n".join(INDEX) + "\n").findings == []
    cut = (INDEX[0], INDEX[1][:40], INDEX[2], "")
    report = report_of(tmp_path, dump=dump, index="\n".join(cut))
    assert (report.findings, [place.position for place in report.damage]) == ([], [2])
    lacking = report_of(tmp_path, dump=dump, index="\n".join((INDEX[0], INDEX[2], "")))
    assert [each.promise for each in lacking.findings] == ["the_aborted_index_is_what_the_log_says"]
