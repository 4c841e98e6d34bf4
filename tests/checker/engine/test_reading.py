"""A promise is not judged again where nothing that it reads has changed; what it may read is taken from its text."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from zombieproof.checker.engine.compiled import compiled
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.hosts import CompiledHost
from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.lowering import Lowering
from zombieproof.checker.engine.model import Model, Promise
from zombieproof.checker.engine.reading import names_said, readers_of_words, words_of_leaves, words_read
from zombieproof.checker.engine.sources import plain_function
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.model import TRANSACTIONS
from zombieproof.model.fields import precedes


def says_heaps(state: Any) -> bool:
    return bool(in_another(state.heaps))


def in_another(heaps: Any) -> bool:
    return bool(heaps[0] < 3)


def says_nothing(state: Any) -> bool:
    return True


def says_no(state: Any) -> bool:
    return False


def with_promise(model: Model, holds: Any) -> Model:
    """The model with this promise alone."""
    return replace(model, name=f"coins_{holds.__name__}", promises=(Promise("it", "always", holds, "", ""),))


def test_what_a_function_says_and_what_those_say_that_it_calls() -> None:
    lowering = Lowering()
    lowering.read(reads_deep)
    assert names_said(plain_function(reads_deep), lowering.lowered) == {"partitions", "entries", "guard", "end"}


def reads_deep(state: Any) -> bool:
    return bool(state.partitions[0].end > 0) and a_guard(state.partitions[0].entries[0])


def a_guard(entry: Any) -> bool:
    return bool(entry.guard > 0)


def test_words_are_those_of_the_leaves_on_whose_paths_all_names_are_said() -> None:
    layout = layout_of(TRANSACTIONS.state, TRANSACTIONS.sizes)
    lowering = Lowering()
    promise = Promise("it", "always", reads_deep, "", "")
    lowering.read(reads_deep)
    row = words_read(replace(TRANSACTIONS, promises=(promise,)), lowering.lowered, layout)[0]
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    expected: set[int] = set()
    offset = 0
    for path, width in zip(layout.paths(), layout.widths(), strict=True):
        if path.startswith("partitions[") and path.endswith((".guard", ".end")):
            expected.update(range(offset // 8, (offset + width - 1) // 8 + 1))
        offset += width
    assert expected
    assert set(np.flatnonzero(bits).tolist()) == expected
    assert len(words_of_leaves(layout)) == len(list(layout.paths()))


def compares_wholes(state: Any) -> bool:
    return not precedes(state.messages[0], state.messages[1])


def test_who_compares_whole_records_is_taken_to_read_everything() -> None:
    layout = layout_of(TRANSACTIONS.state, TRANSACTIONS.sizes)
    lowering = Lowering()
    lowering.read(compares_wholes)
    promise = Promise("it", "always", compares_wholes, "", "")
    row = words_read(replace(TRANSACTIONS, promises=(promise,)), lowering.lowered, layout)[0]
    assert (row == (1 << 64) - 1).all()


def test_each_word_names_the_promises_that_read_it() -> None:
    reads = np.zeros((70, 2), np.uint64)
    reads[0, 0], reads[3, 1], reads[69, 0], reads[69, 1] = 1 << 5, 1 << 2, 1 << 5 | 1, 1 << 63
    readers = readers_of_words(reads)
    assert readers.shape == (128, 2)
    named = {word: [int(bits) for bits in readers[word]] for word in np.flatnonzero(readers.any(axis=1)).tolist()}
    assert named == {0: [0, 1 << 5], 5: [1, 1 << 5], 66: [1 << 3, 0], 127: [0, 1 << 5]}


@pytest.mark.parametrize("holds", [says_heaps])
def test_a_promise_is_judged_where_what_it_reads_changes(coins: Model, house: Any, holds: Any) -> None:
    result = explore(with_promise(coins, holds), house(most=4))
    assert result.violated is not None
    assert len(result.violated.actions or ()) == 3


@pytest.mark.slow
def test_a_promise_that_reads_nothing_is_judged(coins: Model, house: Any) -> None:
    assert explore(with_promise(coins, says_nothing), house(most=4)).verdict == "holds"
    violated = explore(with_promise(coins, says_no), house(most=4)).violated
    assert violated is not None
    assert violated.actions == []


@pytest.mark.parametrize("name", ["one_transaction", "zombie_takeover", "kip98_takeover"])
def test_no_promise_changes_its_mind_where_nothing_changed_that_it_reads(name: str) -> None:
    scenario = SCENARIOS[name]
    bounds = scenario.own_bounds({})
    model, setup = scenario.model(bounds), scenario.setup(scenario.own_rules(), bounds)
    host = CompiledHost(model, setup)
    engine = compiled(model)
    lowering = Lowering()
    for promise in model.promises:
        lowering.read(promise.holds)
    reads = words_read(model, lowering.lowered, engine.state)
    drawn = random.Random(1)
    unchanged = changed = 0
    for _ in range(40):
        state = engine.state.pack(model.initial(setup))
        before = host.judge(state)[0]
        while True:
            successors = [after for action in range(model.actions) if (after := host.step(state, action)[0])]
            if not successors:
                break
            after = drawn.choice(successors)
            differ = np.frombuffer(after, np.uint64) != np.frombuffer(state, np.uint64)
            bits = np.packbits(np.pad(differ, (0, -len(differ) % 64)), bitorder="little").view(np.uint64)
            said = host.judge(after)[0]
            for one, other, row in zip(before, said, reads, strict=True):
                touched = bool((row & bits).any())
                assert touched or one == other
                unchanged += not touched
                changed += one != other
            state, before = after, said
    assert changed > 50
    assert unchanged > 1000
