"""Machine code is called as it was compiled: the same arguments, the same answer, the same exceptions."""

import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
import pytest

from zombieproof.checker.engine.internals import native
from zombieproof.checker.engine.internals.compilation import machine_code, part
from zombieproof.checker.engine.internals.native import Code, EntryPoint, laid, processor, said, spread
from zombieproof.checker.engine.versions import _of

PRIME = 1000000007
RECORD = np.dtype([("amount", "i1"), ("wide", "<i4", (3,))])


class Pair(NamedTuple):
    left: Any
    right: Any


class Twins(NamedTuple):
    left: Any
    right: Any


def called(function: Callable[..., Any]) -> EntryPoint:
    """The function as an entry point that is not kept, and whose code was put down and read again."""

    def make(kinds: Any, arguments: tuple[Any, ...]) -> Code:
        return Code.unpacked(machine_code(function, arguments).packed())

    return EntryPoint(lambda kinds: None, make)


# ---------------------------------------------------------------- what goes in and comes out


def weighed(factor: int, pair: Any, more: Any) -> int:
    """A sum in which every element has a weight of its own."""
    of_records = 0
    total = factor * 1000003
    for row in range(pair.left.shape[0]):
        for column in range(pair.left.shape[1]):
            total = (total * 31 + pair.left[row, column]) % PRIME
    for i in range(pair.right.shape[0]):
        of_records = of_records * 3 + pair.right[i].amount + pair.right[i].wide[1]
    total += int(of_records)
    for i in range(more[0].size):
        total = (total * 31 + more[0][i]) % PRIME
    return total


def numbers(rows: int, columns: int) -> Any:
    return np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)


def read_only(array: Any) -> Any:
    array.setflags(write=False)
    return array


ARRAYS = {
    "whole": numbers(3, 4),
    "by columns": np.asfortranarray(numbers(3, 4)),
    "each second": numbers(6, 8)[::2, ::2],
    "backwards": numbers(3, 4)[::-1, ::-1],
    "a row": numbers(1, 4),
    "nothing": numbers(0, 4),
    "read-only": read_only(numbers(3, 4)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_what_is_compiled_gets_what_is_given(name: str) -> None:
    records = np.zeros(5, RECORD).view(np.recarray)
    records["amount"], records["wide"] = np.arange(5), np.arange(15).reshape(5, 3) - 9
    pair, more = Pair(ARRAYS[name], records), (np.arange(7, dtype=np.int64)[::-2],)
    plain = Pair(ARRAYS[name], records.view(np.ndarray).view(RECORD))
    assert called(weighed)(-5, plain, more) == weighed(-5, pair, more)


def seven(array: Any) -> int:
    return 7


def test_an_answer_that_is_always_the_same_is_one() -> None:
    assert called(seven)(np.zeros(1)) == 7


def fill(array: Any, value: int) -> None:
    for i in range(array.size):
        array[i] = value


def test_what_is_compiled_writes_where_the_array_is() -> None:
    array = np.zeros(6, np.int64)
    point = called(fill)
    assert point(array[1:4], 7) is None
    assert point(array[::5], -(1 << 63)) is None
    assert array.tolist() == [-(1 << 63), 7, 7, 7, 0, -(1 << 63)]


def test_arrays_that_come_and_go_are_not_taken_for_each_other() -> None:
    """Many of them stand at the same address, one after the other, and so do their elements."""
    point = called(fill)
    for size in [*range(1, 200)] * 2:
        array = np.zeros(size, np.int64)
        point(array, size)
        assert set(array.tolist()) == {size}
        with pytest.raises(ValueError, match="cannot resize an array"):
            array.resize(2 * size)
    before = len(native._met)
    del array
    assert len(native._met) == before - 1


def test_each_combination_of_kinds_is_compiled_once() -> None:
    compiled = []

    def make(kinds: Any, arguments: tuple[Any, ...]) -> Code:
        compiled.append(kinds)
        return machine_code(fill, arguments)

    point = EntryPoint(lambda kinds: None, make)
    for array in (np.zeros(3, np.int64), np.zeros(5, np.int64), np.zeros(3, np.int32), np.zeros(5, np.int32)):
        point(array, 9)
        assert set(array.tolist()) == {9}
    assert [said(kinds) for kinds in compiled] == [
        said(spread((np.zeros(1, kind), 9))[0]) for kind in (np.int64, np.int32)
    ]
    assert len(set(compiled)) == 2


def test_a_part_that_comes_twice_is_spread_twice() -> None:
    pair = Pair(np.zeros(1, RECORD), np.zeros((1, 1)))
    alike = Pair(*pair)
    assert spread(((pair, pair),)) == spread(((pair, alike),))
    assert spread(((pair, pair),))[1] == 2 * spread((pair,))[1]
    assert spread(((pair, pair, pair, pair),)) == spread(((pair, alike, pair, alike),))


def test_what_is_laid_is_handed_over_like_what_it_was_made_of() -> None:
    pair, more = Pair(numbers(2, 3), np.zeros(0, RECORD)), (np.arange(4),)
    fixed = laid(pair)
    assert spread((7, fixed, more)) == spread((7, pair, more))
    assert spread((7, (fixed, fixed), more)) == spread((7, (pair, pair), more))
    point = called(weighed)
    assert point(7, fixed, (laid(more[0]),)) == weighed(7, pair, more)
    pair.left[1, 2] = 50
    assert point(7, fixed, more) == point(7, pair, more) == weighed(7, pair, more)


def test_what_is_laid_stays_for_as_long_as_it_is_there() -> None:
    array = np.full(1 << 16, 5)
    there = weakref.ref(array)
    fixed = laid(array)
    del array
    gc.collect()
    assert there() is not None
    assert called(looked_up)(fixed, 1 << 10) == 5
    del fixed
    gc.collect()
    assert there() is None


def element(array: Any, place: int) -> int:
    value: int = array[place]
    return value


checked_element = part(element, checked=True)


def looked_up(array: Any, place: int) -> int:
    value: int = checked_element(array, place)
    return value


def test_an_index_outside_its_array_is_the_exception_that_it_would_be() -> None:
    point, array = called(looked_up), np.arange(4)
    assert point(array, 3) == 3
    for place in (4, -5, 1 << 40):
        with pytest.raises(IndexError, match="index is out of bounds"):
            point(array, place)
    assert point(array, 0) == 0


def test_a_call_that_is_prepared_is_made_with_what_is_in_its_arrays_then() -> None:
    point = called(looked_up)
    array = np.arange(3)
    second, third = point.prepared(array, 1), point.prepared(array, 2)
    assert (second(), third()) == (1, 2)
    array[:] = 7, 8, 9
    assert (second(), third(), second()) == (8, 9, 8)


def test_what_a_prepared_call_is_made_with_stays_for_as_long_as_it_does() -> None:
    array = np.full(1 << 16, 5)
    there = weakref.ref(array)
    call = called(looked_up).prepared(array, 1 << 10)
    del array
    gc.collect()
    assert there() is not None
    assert call() == 5
    del call
    gc.collect()
    assert there() is None


def test_a_prepared_call_raises_what_the_call_would() -> None:
    call = called(looked_up).prepared(np.arange(3), 3)
    for _ in range(2):
        with pytest.raises(IndexError, match="index is out of bounds"):
            call()


def waiting(flag: Any) -> int:
    """Until somebody sets the flag, or for a few seconds."""
    for count in range(1 << 33):
        if flag[count & 1] != 0:
            return 1
    return 0


def test_other_threads_run_on_meanwhile() -> None:
    flag, point = np.zeros(2, np.int64), called(waiting)
    flag[:] = 1
    assert point(flag) == 1
    flag[:] = 0
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(point(flag)))
    thread.start()
    time.sleep(0.05)
    flag[:] = 1
    thread.join()
    assert answers == [1]


# ---------------------------------------------------------------- kinds


@pytest.mark.parametrize("value", [True, 1.5, "text", None, [1], 1 << 63, -(1 << 63) - 1, np.uint64(1), np.float64(1)])
def test_other_arguments_are_refused(value: Any) -> None:
    for arguments in ((value,), (1, (np.zeros(1), value))):
        with pytest.raises(TypeError, match="compiled code takes arrays, integers of 64 bits and tuples of them, not "):
            spread(arguments)


def test_what_differs_in_compiled_code_differs_in_kind() -> None:
    array = np.zeros((4, 4), np.int64)
    different: list[tuple[Any, ...]] = [
        (array,),
        (array.reshape(-1),),
        (np.asfortranarray(array),),
        (array[::2, ::2],),
        (read_only(np.zeros((4, 4), np.int64)),),
        (array.view(np.uint64),),
        (array.reshape(-1).view(np.dtype([("one", "i8")])),),
        (array.reshape(-1).view(np.dtype([("other", "i8")])),),
        ((array,),),
        (array, array),
        ((array, array),),
        (Pair(array, array),),
        (Twins(array, array),),
        (1,),
        (1, array),
        (array, 1),
    ]
    kinds = [spread(arguments)[0] for arguments in different]
    assert len(set(kinds)) == len({said(kind) for kind in kinds}) == len(different)
    assert spread((np.ones((9, 9), np.int64),))[0] == kinds[0]
    assert spread((np.int64(5),)) == spread((5,))


def test_kinds_are_said_alike_in_each_process() -> None:
    kinds, _ = spread((1, Pair(np.zeros(1, RECORD), np.zeros((1, 1)))))
    assert said(kinds) == repr(
        [
            "builtins.int",
            [f"{__name__}.Pair", "2"],
            ["dtype([('amount', 'i1'), ('wide', '<i4', (3,))])", "1", "'C'", "True"],
            ["dtype('float64')", "2", "'C'", "True"],
        ]
    )


# ---------------------------------------------------------------- what is kept


def test_code_is_read_as_it_was_put_down() -> None:
    code = Code("engine", True, ("memcpy", "memset"), b"\n{}\0\n", b"\n\0[]")
    assert Code.unpacked(code.packed()) == code


def test_code_that_was_kept_is_linked_and_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = machine_code(element, (np.arange(3), 2)).packed()
    parse, texts = llvm.parse_assembly, []

    def parsed(text: str) -> Any:
        texts.append(text)
        return parse(text)

    monkeypatch.setattr("llvmlite.binding.parse_assembly", parsed)

    def make(kinds: Any, arguments: tuple[Any, ...]) -> Code:
        raise AssertionError(kinds, arguments)

    assert EntryPoint(lambda kinds: Code.unpacked(kept), make)(np.arange(3), 2) == 2
    assert not any("define" in text for text in texts)


def test_code_that_needs_what_is_not_here_is_not_linked_but_compiled_again() -> None:
    """LLVM ends the process when it links such code."""
    lacking = Code("element", True, ("a_function_that_nobody_has",), b"no object file", b"nor here")
    assert not lacking.is_complete()
    assert Code("element", True, ("memcpy",), b"", b"").is_complete()
    compiled = []

    def make(kinds: Any, arguments: tuple[Any, ...]) -> Code:
        compiled.append(machine_code(element, arguments))
        return compiled[-1]

    assert EntryPoint(lambda kinds: lacking, make)(np.arange(3), 2) == 2
    assert len(compiled) == 1


def test_what_numba_is_told_is_part_of_what_code_is_for(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = {processor()}
    assert found == {processor()}
    monkeypatch.setenv("NUMBA_OPT", "1")
    found.add(processor())
    (tmp_path / ".numba_config.yaml").write_text("cpu_name: generic\n")
    found.add(processor())
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_name", lambda: "another")
    found.add(processor())
    assert len(found) == 4


def test_a_version_is_read_without_an_import() -> None:
    import numba  # noqa: PLC0415  # to compare

    assert f'"version": "{numba.__version__}"' in _of("numba")
    assert _of("iniconfig") != ""
    assert _of("hypothesis") == __import__("hypothesis").__version__, "it has no such file"
