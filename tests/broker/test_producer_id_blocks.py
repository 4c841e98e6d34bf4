"""Producer ids come in blocks: reference §2.16, KIP-730."""

from dataclasses import replace

import pytest

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.coordinator.producer_id_blocks import ProducerIdController, ProducerIdManager
from zombieproof.messages.controller import AllocateProducerIdsAnswer
from zombieproof.model.decisions.allocate_producer_ids import PRODUCER_ID_MAX
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error


def manager_with(*blocks: tuple[int, int], rules: Rules | None = None) -> ProducerIdManager:
    """A manager that was given the blocks whenever it asked."""
    manager = ProducerIdManager(rules or Rules(), ManualClock())
    for first, size in blocks:
        while manager.next() is not None:
            pass
        assert manager.wants_block()
        manager.answered(AllocateProducerIdsAnswer(0, first, size))
    return manager


def test_the_first_id_has_to_be_asked_for_twice() -> None:
    manager = ProducerIdManager(Rules(), ManualClock())
    assert manager.next() is None
    assert manager.wants_block()
    assert not manager.wants_block()
    manager.answered(AllocateProducerIdsAnswer(0, 5000, 1000))
    assert [manager.next(), manager.next()] == [5000, 5001]


def test_the_next_block_is_asked_for_at_nine_tenths_of_a_block() -> None:
    manager = manager_with((0, 10))
    assert [manager.next() for _ in range(9)] == list(range(9))
    assert not manager.wants_block()
    assert manager.next() == 9
    assert manager.wants_block()


def test_a_block_that_is_at_hand_is_used_without_a_gap_in_time() -> None:
    manager = manager_with((0, 10))
    while manager.next() != 9:
        pass
    assert manager.wants_block()
    manager.answered(AllocateProducerIdsAnswer(0, 70, 10))
    assert manager.next() == 70
    assert not manager.wants_block()


def test_only_one_request_is_under_way() -> None:
    manager = ProducerIdManager(Rules(), ManualClock())
    manager.next()
    assert manager.wants_block()
    manager.next()
    assert not manager.wants_block()
    manager.answered(None)
    manager.next()
    assert manager.wants_block()


def test_after_a_failure_the_controller_is_left_alone_for_a_while() -> None:
    clock = ManualClock()
    manager = ProducerIdManager(Rules(), clock)
    manager.next()
    assert manager.wants_block()
    manager.answered(AllocateProducerIdsAnswer(Error.UNKNOWN_SERVER_ERROR))
    clock.advance(49)
    manager.next()
    assert not manager.wants_block()
    clock.advance(1)
    manager.next()
    assert manager.wants_block()


@pytest.mark.parametrize(
    "block", [(-1, 10), (0, 0), (0, -1), (PRODUCER_ID_MAX - 8, 10), (9, 10)], ids=lambda block: f"{block[0]}+{block[1]}"
)
def test_a_bad_block_is_not_used(block: tuple[int, int]) -> None:
    manager = manager_with((0, 10), block)
    assert manager.next() is None


def test_the_last_block_of_all_is_a_good_one() -> None:
    assert manager_with((0, 10), (PRODUCER_ID_MAX - 9, 10)).next() == PRODUCER_ID_MAX - 9


def test_before_the_rule_ids_could_be_handed_out_twice() -> None:
    assert manager_with((0, 10), (9, 10), rules=replace(Rules(), pid_block_order=0)).next() == 9


def test_a_controller_never_hands_an_id_out_twice_and_says_when_none_is_left() -> None:
    controller = ProducerIdController(PRODUCER_ID_MAX - 2500)
    blocks = [controller.allocate() for _ in range(3)]
    assert [answer.error for answer in blocks] == [0, 0, Error.UNKNOWN_SERVER_ERROR]
    assert blocks[1].block == (blocks[0].block.first + 1000, 1000)
