"""Rows that were written out come back as those that are held do: all, in order, whatever was added in between."""

import tempfile
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zombieproof.cli.main import main
from zombieproof.screening import spilling
from zombieproof.screening.spilling import Pile, RowsByFirst, SortedRows, Spill, abreast

Pairs = list[tuple[int, int]]

IDS = st.one_of(st.integers(-1, 12), st.sampled_from([-(1 << 63), (1 << 63) - 1, (1 << 63) - 2]))
PARTS = st.lists(st.tuples(st.integers(0, 2), st.lists(st.tuples(IDS, st.integers(0, 9)), max_size=9)), max_size=12)
HELD = st.sampled_from([0, 16 * 5, 16 * 40, 1 << 20])
STEPS = st.sampled_from([1, 2, 5])
WINDOWS = st.sampled_from([1, 4, 64])


def rows(pairs: Sequence[tuple[int, ...]], columns: int = 2) -> spilling.Rows:
    return np.array(pairs, dtype=np.int64).reshape(-1, columns)


@given(PARTS, HELD, STEPS, WINDOWS)
@example([(0, [((1 << 63) - 1, 1), ((1 << 63) - 2, 1), (-(1 << 63), 1)])], 0, 1, 1)
@example([(0, [(5, 1), (5, 2), (5, 3), (5, 4)]), (1, [(5, 1)])], 0, 2, 1)
def test_sorted_rows_are_each_there_once(parts: list[tuple[int, Pairs]], held: int, step: int, window: int) -> None:
    with patch.multiple(spilling, HELD_BYTES=held, STEP=step, WINDOW=window, PARTS_MAX=2):
        spill = Spill()
        logs = [SortedRows(spill) for _ in range(3)]
        for number, pairs in parts:
            logs[number].add(rows(pairs))
        for _ in range(2):  # whoever asks again is told the same
            stretches = list(abreast(logs))
            for number, log in enumerate(logs):
                expected = sorted({pair for which, pairs in parts if which == number for pair in pairs})
                assert [tuple(row) for stretch in stretches for row in stretch[number].tolist()] == expected
                assert [tuple(row) for stretch in log for row in stretch.tolist()] == expected
            ids = [{row[0] for part in stretch for row in part.tolist()} for stretch in stretches]
            assert sum(map(len, ids)) == len(set().union(*ids)), "a producer id lies in one stretch only"


@given(PARTS, HELD, WINDOWS)
def test_a_pile_keeps_the_order(parts: list[tuple[int, Pairs]], held: int, window: int) -> None:
    with patch.multiple(spilling, HELD_BYTES=held, WINDOW=window):
        spill = Spill()
        piles = [Pile(2, spill) for _ in range(3)]
        for number, pairs in parts:
            piles[number].add(rows(pairs))
        for number, pile in enumerate(piles):
            expected = [pair for which, pairs in parts if which == number for pair in pairs]
            assert [tuple(row) for stretch in pile for row in stretch.tolist()] == expected
            assert [tuple(row) for stretch in pile for row in stretch.tolist()] == expected


@given(PARTS, HELD, STEPS)
def test_rows_of_one_first_column_keep_the_order(parts: list[tuple[int, Pairs]], held: int, step: int) -> None:
    with patch.multiple(spilling, HELD_BYTES=held, STEP=step, WINDOW=4, PARTS_MAX=2):
        spill = Spill()
        logs = [RowsByFirst(2, spill) for _ in range(3)]
        for number, pairs in parts:
            logs[number].add(rows(pairs))
        for number, log in enumerate(logs):
            added = [pair for which, pairs in parts if which == number for pair in pairs]
            assert [tuple(row) for stretch in log for row in stretch.tolist()] == sorted(added, key=itemgetter(0))
            for first in {pair[0] for pair in added} | {4}:
                assert log.between(first, first).tolist() == [list(pair) for pair in added if pair[0] == first]


def test_what_is_held_has_a_bound() -> None:
    with patch.multiple(spilling, HELD_BYTES=16 * 1000):
        spill = Spill()
        log, pile, ends = SortedRows(spill), Pile(11, spill), RowsByFirst(11, spill)
        for number in range(200):
            log.add(rows([(number * 50 + each, 1) for each in range(50)]))
            pile.add(rows([(each,) * 11 for each in range(3)], 11))
            ends.add(rows([(each,) * 11 for each in range(3)], 11))
            held = sum(part.nbytes for part in [*log._held, *pile._held, *ends._held])
            assert held <= 16 * 1000 + 50 * 16 + 6 * 88


def test_a_folder_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    monkeypatch.setattr(spilling, "HELD_BYTES", 0)
    recording = Path(__file__).parents[1] / "recordings" / "01-commit"
    monkeypatch.setattr("zombieproof.screening.choosing.LEAST_BYTES", 0)
    assert main(["audit", str(recording)]) == 2
    told = capsys.readouterr().err
    assert f"{tmp_path / 'gone'}: " in told
    assert "TMPDIR" in told
