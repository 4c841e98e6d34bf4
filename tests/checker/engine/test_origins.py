"""Parents and actions in few bits: what was put in comes out, at every place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.checker.engine.origins import origins, read

STEPS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 255)), max_size=200)


def built(first: int, steps: list[tuple[int, int]], most: int) -> tuple[list[int], list[int], object]:
    parents = list(np.cumsum([first, *(step for step, _ in steps[1:])]))[: len(steps)]
    actions = [action * (most - 1) // 255 for _, action in steps]
    return parents, actions, origins(np.array(parents, np.uint32), np.array(actions, np.uint16), most)


@given(first=st.integers(0, 2**32 - 9000), steps=STEPS, most=st.sampled_from([1, 2, 256, 257, 65_536]))
def test_each_state_has_its_parent_and_its_action(first: int, steps: list[tuple[int, int]], most: int) -> None:
    parents, actions, kept = built(first, steps, most)
    for place, expected in enumerate(zip(parents, actions, strict=True)):
        assert kept.of(place) == expected  # type: ignore[attr-defined]
    assert [each.tolist() for each in kept.whole()] == [parents, actions]  # type: ignore[attr-defined]


@given(parts=st.lists(st.tuples(st.integers(0, 10**6), STEPS), max_size=4), most=st.sampled_from([80, 300]))
def test_what_is_written_is_read(parts: list[tuple[int, list[tuple[int, int]]]], most: int) -> None:
    some = [built(first, steps, most) for first, steps in parts]
    content = b"".join(piece.tobytes() for *_, one in some for piece in one.pieces())  # type: ignore[attr-defined]
    again = list(read(np.frombuffer(content, np.uint8), most))
    found = [[one.of(place) for place in range(one.count)] for one in again]
    assert found == [list(zip(parents, actions, strict=True)) for parents, actions, _ in some]


@pytest.mark.parametrize(("most", "each"), [(80, 1.25), (5_000, 2.25)])
def test_a_state_takes_two_bits_and_its_action(most: int, each: float) -> None:
    count = 1 << 16
    kept = origins(np.arange(count, dtype=np.uint32), np.zeros(count, np.uint16), most)
    assert kept.nbytes == count * each
