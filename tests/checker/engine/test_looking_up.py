"""What was seen a moment ago is not looked up: all that is left out is in the table, or stands before in the order."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from zombieproof.checker.engine.looking_up import queue
from zombieproof.checker.engine.places import RECENT
from zombieproof.checker.engine.storage import Memory, Table

COUNT = 3000


def queued(marks: Any, recent: Any) -> tuple[list[int], Any]:
    """The candidates that are to be looked up, in order, and the flags of all."""
    out = SimpleNamespace(order=np.zeros(len(marks), np.uint32), fresh=np.ones(len(marks), np.uint8), recent=recent)
    count = 0
    for candidate, mark in enumerate(marks):
        count = queue(out, candidate, mark, count)
    return out.order[:count].tolist(), out.fresh


def test_only_what_stands_before_in_the_order_is_left_out() -> None:
    random = np.random.default_rng(1)
    recent = np.zeros(RECENT, np.uint64)
    seen: set[int] = set()
    left_out = 0
    for _ in range(3):
        marks = random.choice(random.integers(1, 1 << 64, COUNT // 4, np.uint64), COUNT)
        order, fresh = queued(marks, recent)
        assert not fresh.any()
        assert order == sorted(order)
        looked_up = set(order)
        for candidate, mark in enumerate(marks.tolist()):
            if candidate not in looked_up:
                assert mark in seen, "it was left out, and nobody has looked it up"
                left_out += 1
            seen.add(mark)
    assert left_out > COUNT


def test_fingerprints_that_share_a_place_are_both_looked_up_again() -> None:
    one, other = np.uint64(1 << 32 | 5), np.uint64((RECENT + 1) << 32 | 5)
    marks = np.array([one, one, other, one], np.uint64)
    assert queued(marks, np.zeros(RECENT, np.uint64))[0] == [0, 2, 3]


def test_a_table_that_is_emptied_has_seen_nothing() -> None:
    table = Table(Memory())
    recents = table.recent(), table.recent()
    for recent in recents:
        queued(np.arange(1, COUNT, dtype=np.uint64) << np.uint64(32), recent)
        assert recent.any()
    table.clear()
    assert not any(recent.any() for recent in recents)
