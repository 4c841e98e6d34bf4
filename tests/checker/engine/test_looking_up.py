"""What was seen a moment ago is not looked up: all that is left out is in the table, or stands before in the order."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from zombieproof.checker.engine import looking_up
from zombieproof.checker.engine import places as k
from zombieproof.checker.engine.looking_up import HALF_BITS, deduplicate, home_of, next_bucket, queue, rehash
from zombieproof.checker.engine.places import BUCKET, RECENT, REGIONS
from zombieproof.checker.engine.storage import Growth, Memory, Table

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


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What compiled code has instructions for, in Python."""

    def look_up(table: Any, region: Any, bucket: Any, mark: Any) -> int:
        held = table[region, int(bucket) : int(bucket) + BUCKET].tolist()
        equal = sum(1 << i for i, each in enumerate(held) if each == mark)
        return equal | sum(1 << i for i, each in enumerate(held) if each == 0) << BUCKET

    monkeypatch.setattr(looking_up, "look_up", look_up)
    monkeypatch.setattr(looking_up, "prefetch", lambda *_: None)
    monkeypatch.setattr(looking_up, "trailing_zeros", lambda word: (int(word) & -int(word)).bit_length() - 1)


class Unit:
    """Candidates of one unit, all of them to be looked up, and the counters."""

    def __init__(self, marks: list[int]) -> None:
        self.out = SimpleNamespace(
            prints=np.array(marks, np.uint64),
            order=np.arange(len(marks), dtype=np.uint32),
            fresh=np.zeros(len(marks), np.uint8),
        )
        self.tally = np.zeros(k.PLACES, np.int64)
        self.tally[k.QUEUED] = len(marks)

    def looked_up(self, table: Any, used: Any, *, has_turn: bool) -> list[int]:
        """What is new; without the turn, what nobody knows yet."""
        assert deduplicate(self.out, table, used, self.tally, has_turn)
        if has_turn:
            assert self.tally[k.FRESH] == self.out.fresh.sum()
            return [int(each) for each in np.flatnonzero(self.out.fresh)]
        assert not self.out.fresh.any()
        return [int(each) for each in self.out.order[: self.tally[k.QUEUED]]]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("has_grown", [False, True])
def test_what_is_dropped_before_the_turn_is_what_was_there_before(has_grown: bool) -> None:
    """Others look up theirs between, and may let the table grow: what is new then is what is new without all of it."""
    random = np.random.default_rng(3)
    few = [each << int(HALF_BITS) | each for each in random.choice(1 << 30, 60, replace=False).tolist()]
    for width in (64, 128):
        before, between, mine = (random.choice(few, 40).tolist() for _ in range(3))
        found = {}
        for is_early in (False, True):
            table, used = np.zeros((REGIONS, width), np.uint64), np.zeros(REGIONS, np.int64)
            Unit(before).looked_up(table, used, has_turn=True)
            unit = Unit(mine)
            if is_early:
                held, counted = table.copy(), used.copy()
                unknown = unit.looked_up(table, used, has_turn=False)
                assert unknown == [i for i, mark in enumerate(mine) if mark not in before]
                assert (table == held).all()
                assert (used == counted).all()
            Unit(between).looked_up(table, used, has_turn=True)
            if has_grown:
                larger = np.zeros((REGIONS, 2 * width), np.uint64)
                for region in range(REGIONS):
                    rehash(table, larger, np.zeros(2 * width // BUCKET, np.uint8), region)
                table = larger
            found[is_early] = unit.looked_up(table, used, has_turn=True)
        assert found[True] == found[False]
        assert found[True]
        assert len(found[True]) < 40 - len(set(before) & set(mine))


def where_looking_up_ends(region: Any, mark: Any) -> int:
    """The slot of a fingerprint; nothing may be free on the way there."""
    width = np.uint64(len(region))
    bucket = home_of(mark, width)
    while True:
        for place in range(int(bucket), int(bucket) + BUCKET):
            assert region[place] != 0, "looking up ends here, and it was not found"
            if region[place] == mark:
                return place
        bucket = next_bucket(bucket, width)


@pytest.mark.parametrize(("before", "behind"), [(8, 16), (64, 128), (1024, 1488), (1024, 1032)])
def test_what_a_region_holds_is_found_in_the_larger_one(before: int, behind: int) -> None:
    random = np.random.default_rng(before + behind)
    for crowded in (False, True):  # fingerprints that all belong into the last bucket go on in the first
        low = random.choice(1 << 32, before * 13 // 16, replace=False).astype(np.uint64)
        marks = (low >> np.uint64(10) | np.uint64((1 << 32) - (1 << 22)) if crowded else low) | np.uint64(5 << 58)
        marks = np.unique(marks)
        old, new = np.zeros((REGIONS, before), np.uint64), np.zeros((REGIONS, behind), np.uint64)
        one_by_one(old, marks)
        assert [where_looking_up_ends(old[5], mark) >= 0 for mark in marks]
        rehash(old, new, np.full(behind // BUCKET, 77, np.uint8), 5)
        assert len({where_looking_up_ends(new[5], mark) for mark in marks}) == len(marks)
        assert np.count_nonzero(new) == len(marks)


def one_by_one(table: Any, marks: Any) -> None:
    """Put fingerprints into region 5 as they are found."""
    for mark in marks:
        bucket = home_of(mark, np.uint64(table.shape[1]))
        while (free := np.flatnonzero(table[5, int(bucket) : int(bucket) + BUCKET] == 0)).size == 0:
            bucket = next_bucket(bucket, np.uint64(table.shape[1]))
        table[5, int(bucket) + int(free[0])] = mark


def growth_by(rehash: Callable[..., object], give_back: Callable[[int], object]) -> Growth:
    """A small table that goes over into one of twice its size by something of our own."""
    old, new = (np.zeros((REGIONS, width), np.uint64) for width in (BUCKET, 2 * BUCKET))
    return Growth(rehash, old, new, give_back)


def by_two_threads(grow: Callable[[], object], help_it: Callable[[], object]) -> None:
    helper = threading.Thread(target=help_it)
    helper.start()
    grow()
    helper.join()


def test_pages_are_given_back_only_when_no_region_that_lies_on_them_is_under_way() -> None:
    """The first region takes until the other thread has done all the others."""
    given: list[int] = []
    done: list[int] = []
    taken, others = threading.Event(), threading.Event()

    def slow_at_first(old: Any, new: Any, filled: Any, region: int) -> None:
        assert len(filled) == new.shape[1] // BUCKET
        if region == 0:
            taken.set()
            assert others.wait(60)
            assert not given, "pages of the first region are not needed any more, it is said"
        done.append(region)
        if len(done) == REGIONS - 1:
            others.set()

    growth = growth_by(slow_at_first, given.append)

    def grow() -> None:
        growth.help()
        growth.wait()

    by_two_threads(grow, lambda: taken.wait(60) and growth.help())
    assert done == [*range(1, REGIONS), 0]
    assert given == [REGIONS]
    assert not growth.help(), "nothing is left to help with"


def test_who_lets_the_table_grow_waits_for_who_helps() -> None:
    """The last region is with the helper; nothing may be told of the old table when the wait is over."""
    over = False

    def not_too_late(regions: int) -> None:
        assert not over
        assert regions <= REGIONS

    slow = threading.Event()
    growth = growth_by(lambda *_: slow.wait(0.001), not_too_late)

    def grow() -> None:
        nonlocal over
        growth.help()
        growth.wait()
        over = True

    by_two_threads(grow, growth.help)
    assert over


def test_what_fails_for_who_helps_leaves_nobody_waiting() -> None:
    def fails(*arguments: Any) -> None:
        if arguments[-1] == 3:
            raise IndexError("index is out of bounds")

    growth = growth_by(fails, lambda _: None)
    with pytest.raises(IndexError):
        growth.help()
    assert growth.help()
    growth.wait()
