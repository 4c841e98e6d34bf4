"""The index of aborted transactions, and snapshots of producer state."""

import pytest

from tests.broker.partitions import Place, data
from zombieproof.broker.partition.aborted_index import AbortedIndex, AbortedTransaction
from zombieproof.broker.partition.snapshots import MemorySnapshots, Snapshots
from zombieproof.model.vocabulary import Origin

ENTRIES = (AbortedTransaction(1, 0, 10, 11), AbortedTransaction(2, 5, 15, 13))


@pytest.mark.parametrize(("bound", "complete"), [(12, True), (13, True), (14, False)])
def test_the_search_is_complete_when_everything_below_the_bound_was_stable(bound: int, complete: bool) -> None:
    assert AbortedIndex(ENTRIES).collect(0, bound) == (ENTRIES, complete)


def test_entries_have_the_order_of_their_markers() -> None:
    with pytest.raises(ValueError, match="ends at 10 cannot follow one that ends at 15: last offsets increase"):
        AbortedIndex(reversed(ENTRIES))


@pytest.mark.parametrize(
    ("kept", "segments", "left"),
    [([2, 30, 42], [2], (2, 42)), ([2, 9], [2, 10], (2,)), ([7], [], (7,)), ([], [0], ())],
    ids=["only the newest is no stray", "nor is it one if it is behind the last segment", "no segment", "nothing"],
)
def test_a_snapshot_beside_no_segment_is_a_stray(kept: list[int], segments: list[int], left: tuple[int, ...]) -> None:
    store = MemorySnapshots()
    for offset in kept:
        store.write(offset, b"")
    snapshots = Snapshots(store)
    snapshots.remove_strays(segments)
    assert snapshots.offsets == store.offsets() == left


def test_a_batch_of_several_records_is_recognised_behind_a_restart() -> None:
    place = Place()
    batch = data(1, 0, 3, transactional=False)
    place.leader().append(batch, 0, Origin.CLIENT)
    again = place.restart(clean=False).append(batch, 0, Origin.CLIENT)
    assert (again.is_duplicate, again.base_offset, place.log.end_offset) == (True, 0, 3)
