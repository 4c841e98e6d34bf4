"""LLVM inlines what a step calls behind several conditions; others of the process get its usual measure again."""

import re
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import typeof

from zombieproof.checker.engine.internals import compilation
from zombieproof.checker.engine.internals.compilation import entry, part


def seldom(numbers: Any) -> None:
    for i in range(1, 8):
        if numbers[i] > numbers[i - 1]:
            numbers[i] = numbers[i] * 3 + numbers[i - 1]
        elif numbers[i] == 5:
            numbers[i] = numbers[i - 1] // 7
        else:
            numbers[i] -= numbers[0] * numbers[i - 1] % 11


def is_a_call(monkeypatch: pytest.MonkeyPatch, threshold: int) -> bool:
    """Whether what two places call behind six conditions each is a function in the machine code."""
    monkeypatch.setattr(compilation, "_INLINE_THRESHOLD", threshold)
    seldom_called = part(seldom, checked=False)

    def often(numbers: Any) -> None:
        for i in range(100):
            if numbers[0] > i and numbers[1] > i and numbers[2] > i and numbers[3] > i and numbers[4] > i:
                if numbers[5] > i:
                    seldom_called(numbers)
                if numbers[6] > i:
                    seldom_called(numbers)
            numbers[7] += 1

    dispatcher = entry(often, no_cpython_wrapper=True)
    dispatcher.compile((typeof(np.zeros(8, np.int64)),))
    [made] = dispatcher.overloads.values()
    return re.search(r"call .*seldom", made.library.get_llvm_str()) is not None


def test_what_is_called_behind_several_conditions_is_inlined(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_a_call(monkeypatch, compilation._INLINE_THRESHOLD)
    assert is_a_call(monkeypatch, 1)


def test_the_measure_is_set_back_when_the_passes_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(llvm, "set_option", lambda _name, option: said.append(option))
    with pytest.raises(KeyError), compilation._inlining_up_to(1234):
        raise KeyError
    assert said == ["--inline-threshold=1234", "--inline-threshold=225"]
