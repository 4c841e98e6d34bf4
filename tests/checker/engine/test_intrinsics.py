"""What LLVM is told directly: it says what it should, and it can be built for other machines than this one."""

from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from zombieproof.checker.engine.internals.compilation import entry
from zombieproof.checker.engine.intrinsics import add_weighed, look_up, note_changes, prefetch, trailing_zeros
from zombieproof.checker.engine.places import BUCKET

WORDS = 71
SEED = np.uint64(9)


def looked_up(table: Any, marks: Any, found: Any) -> None:
    """Look up each mark in a bucket of its own."""
    for row in range(table.shape[0]):
        prefetch(table, np.uint64(row), np.uint64(0))
        found[row] = look_up(table, np.uint64(row), np.uint64(0), marks[row])


def noted(rows: Any, others: Any, changes: Any, sums: Any) -> None:
    """Note what differs, and add it up."""
    for row in range(rows.shape[0]):
        note_changes(changes, row, rows, row, others, row, WORDS)
        low, high = SEED, SEED
        for part in range(changes.shape[1]):
            if changes[row, part] != 0:
                word = 64 * part + trailing_zeros(changes[row, part])
                low, high = add_weighed(low, high, rows[row, word], others[row, word], SEED, SEED)
        sums[row, 0], sums[row, 1] = low, high


def test_a_bucket_is_compared_at_once() -> None:
    table = np.random.default_rng(1).integers(0, 3, (4096, BUCKET), np.uint64)
    marks = np.random.default_rng(2).integers(1, 3, 4096, np.uint64)
    found = np.zeros(4096, np.int64)
    entry(looked_up)(table, marks, found)
    bits = 1 << np.arange(BUCKET)
    expected = (table == marks[:, None]) @ bits | ((table == 0) @ bits) << BUCKET
    assert (found == expected).all()
    assert {0, BUCKET} <= set((table == 0).sum(axis=1)) or len(set(found)) > 1000


def test_what_has_changed_is_noted_and_added_up() -> None:
    random = np.random.default_rng(3)
    rows, others = (random.integers(0, 2, (512, WORDS), np.uint64) * np.uint64((1 << 64) - 1) for _ in range(2))
    others[0] = rows[0]
    changes, sums = np.zeros((512, 2), np.uint64), np.zeros((512, 2), np.uint64)
    entry(noted)(rows, others, changes, sums)
    bits = np.unpackbits(changes.view(np.uint8), axis=1, bitorder="little")[:, :WORDS]
    assert (bits == (rows != others)).all()
    wide = int(SEED) | int(SEED) << 64
    for row in range(512):
        first = [next((i for i in span if bits[row, i]), None) for span in (range(64), range(64, WORDS))]
        total = wide + sum((int(rows[row, i]) - int(others[row, i])) * wide for i in first if i is not None)
        assert int(sums[row, 0]) | int(sums[row, 1]) << 64 == total % (1 << 128)


@pytest.mark.parametrize(
    ("triple", "cpu", "features"),
    [
        ("x86_64-unknown-linux-gnu", "x86-64", ""),
        ("x86_64-unknown-linux-gnu", "haswell", "+avx2"),
        ("x86_64-unknown-linux-gnu", "skylake-avx512", ""),
        ("aarch64-unknown-linux-gnu", "generic", "+neon"),
        ("arm64-apple-macosx", "apple-m1", ""),
    ],
)
@pytest.mark.parametrize("function", [looked_up, noted])
def test_it_can_be_built_for_every_machine(function: Any, triple: str, cpu: str, features: str) -> None:
    """Also one whose registers are too narrow for eight words."""
    dispatcher = entry(function)
    words = np.zeros((1, WORDS), np.uint64)
    few = np.zeros((1, BUCKET), np.uint64)
    if function is looked_up:
        dispatcher(few, few[0], np.zeros(1, np.int64))
    else:
        dispatcher(words, words, np.zeros((1, 2), np.uint64), np.zeros((1, 2), np.uint64))
    text = next(iter(dispatcher.inspect_llvm().values()))
    try:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        target = llvm.Target.from_triple(triple)
    except RuntimeError as error:  # an LLVM that was built for one kind of machine
        pytest.skip(f"this LLVM builds nothing for {triple}: {error}")
    module = llvm.parse_assembly(_without_target(text))
    module.triple = triple
    machine = target.create_target_machine(cpu=cpu, features=features, opt=3)
    module.data_layout = str(machine.target_data)
    assert len(machine.emit_object(module)) > 500


def _without_target(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(line for line in lines if not line.startswith(("target triple", "target datalayout")))
