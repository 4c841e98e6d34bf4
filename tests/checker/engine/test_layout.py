"""Records in memory: what their classes declare, there and back without loss, and clear refusals."""

from dataclasses import dataclass, field, make_dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.checker.engine.layout import LayoutError, dtype_of, layout_of, to_object, to_record
from zombieproof.model.fields import WIDTHS, array, integer


class Colour(IntEnum):
    RED = 0
    BLUE = 3


@dataclass(slots=True)
class Grain:
    weight: int = integer(width="i4")
    colour: int = Colour.BLUE
    rough: bool = False


@dataclass(slots=True)
class Heap:
    first: Grain = field(default_factory=Grain)
    grains: list[Grain] = array(Grain, 3)
    marks: list[int] = array(int, 2, width="u2")
    owner: int = integer(-1)


@dataclass(slots=True)
class Switches:
    on: list[bool] = array(bool, 2)


@dataclass(frozen=True, slots=True)
class Sealed:
    grain: Grain = field(default_factory=Grain)
    size: int = 0


@dataclass(slots=True)
class Nothing:
    pass


RANGES = {width: (int(np.iinfo(width).min), int(np.iinfo(width).max)) for width in WIDTHS}


def test_integers_take_one_signed_byte_unless_they_say_otherwise() -> None:
    assert layout_of(Grain).dtype.descr == [("weight", "<i4"), ("colour", "|i1"), ("rough", "|i1")]


def test_records_and_arrays_nest_without_padding_and_the_whole_is_padded_to_words() -> None:
    assert layout_of(Heap).dtype.itemsize == 6 + 3 * 6 + 2 * 2 + 1
    assert dtype_of(Heap).itemsize == 32
    assert dtype_of(Heap)["grains"].shape == (3,)
    assert dtype_of(Heap)["grains"].base == layout_of(Grain).dtype


@pytest.mark.parametrize(("grains", "size"), [(82, 504), (83, 512), (84, 576), (94, 576), (95, 640)])
def test_a_long_record_is_padded_to_lines_of_the_cache(grains: int, size: int) -> None:
    layout = layout_of(Heap, {(Heap, "grains"): grains})
    assert layout.dtype.itemsize == 11 + 6 * grains
    assert layout.padded.itemsize == dtype_of(Heap, {(Heap, "grains"): grains}).itemsize == size


def test_a_model_may_choose_other_lengths_and_widths() -> None:
    sizes: dict[tuple[type, str], Any] = {(Heap, "grains"): 5, (Grain, "colour"): "i2", (Heap, "marks"): (1, "i8")}
    assert dtype_of(Heap, sizes)["grains"].shape == (5,)
    assert layout_of(Heap, sizes).dtype.itemsize == 7 + 5 * 7 + 8 + 1
    assert len(layout_of(Heap, sizes).new().grains) == 5
    assert len(layout_of(Heap).new().grains) == 3


def test_a_new_record_has_the_defaults_of_its_class() -> None:
    assert layout_of(Heap).new() == Heap()


def test_a_flag_is_a_byte_where_it_is_packed_and_a_bool_elsewhere() -> None:
    for rough in (False, True):
        packed = layout_of(Grain).pack(Grain(rough=rough))
        assert packed[5] == rough
        assert layout_of(Grain).unpack(packed).rough is rough
    assert layout_of(Switches).new().on == [False, False]
    assert layout_of(Switches).unpack(layout_of(Switches).pack(Switches([True, False]))).on[0] is True
    assert layout_of(Grain).unpack(layout_of(Grain).pack(Grain(weight=1))).weight is not True


def test_a_copy_has_the_same_leaves_and_shares_no_record_and_no_list() -> None:
    layout = layout_of(Heap)
    heap = Heap(first=Grain(5), marks=[1, 2], owner=3)
    copy = layout.copy(heap)
    assert (copy, layout.is_same(copy, heap)) == (heap, True)
    heap.first.weight = heap.grains[2].weight = heap.marks[1] = heap.owner = 9
    assert copy == Heap(first=Grain(5), marks=[1, 2], owner=3)


def test_a_frozen_record_and_one_without_fields_are_records_too() -> None:
    for kind, leaves in ((Sealed, [1, 2, True, 7]), (Nothing, list[int]())):
        layout = layout_of(kind)
        built = layout.build(leaves)
        assert type(built) is kind
        assert layout.leaves(built) == layout.leaves(layout.copy(built)) == leaves
        assert layout.is_same(built, layout.copy(built)) is True
        assert layout.unpack(layout.pack(built)) == built


def test_one_other_leaf_anywhere_is_not_the_same() -> None:
    layout, heap = layout_of(Heap), Heap()
    leaves = layout.leaves(heap)
    for place in range(len(leaves)):
        changed = [leaf + (at == place) for at, leaf in enumerate(leaves)]
        other = layout.build(changed)
        assert not layout.is_same(heap, other)
        assert layout.is_same(other, layout.copy(other))
    assert not layout.is_same(heap, Heap(grains=[Grain()] * 2))
    assert not layout.is_same(heap, Heap(marks=[0, 0, 0]))


def test_every_leaf_has_a_path() -> None:
    paths = list(layout_of(Heap).paths())
    assert paths[:4] == ["first.weight", "first.colour", "first.rough", "grains[0].weight"]
    assert paths[-3:] == ["marks[0]", "marks[1]", "owner"]
    assert len(paths) == len(layout_of(Heap).leaves(Heap()))


@given(st.data())
def test_there_and_back_is_the_same(data: st.DataObject) -> None:
    grains = [Grain(data.draw(of("i4")), data.draw(of("i1")), data.draw(st.booleans())) for _ in range(4)]
    heap = Heap(grains[0], grains[1:], data.draw(st.lists(of("u2"), min_size=2, max_size=2)), data.draw(of("i1")))
    records = np.full(2, 255, np.uint8).repeat(32).view(dtype_of(Heap))
    to_record(heap, records[1])
    assert to_object(Heap, records[1]) == heap
    assert records[1]["grains"][2]["weight"] == heap.grains[2].weight
    assert records[0].tobytes() == b"\xff" * 32
    assert records[1].tobytes()[29:] == b"\0\0\0"


@given(st.data())
def test_every_width_holds_its_range_and_no_more(data: st.DataObject) -> None:
    width = data.draw(st.sampled_from(WIDTHS))
    record = make_dataclass("One", [("value", int, integer(width=width))], slots=True)
    low, high = RANGES[width]
    value = data.draw(st.sampled_from([low, high]) | st.integers(low, high))
    assert layout_of(record).unpack(layout_of(record).pack(record(value))).value == value
    too_much = data.draw(st.sampled_from([low - 1, high + 1]))
    with pytest.raises(LayoutError, match=rf"One\.value is {too_much}; .* declare the field with a greater width"):
        layout_of(record).pack(record(too_much))


def test_the_leaf_that_does_not_fit_is_named() -> None:
    heap = Heap()
    heap.grains[2].colour = 128
    with pytest.raises(LayoutError, match=r"Heap\.grains\[2\]\.colour is 128"):
        layout_of(Heap).pack(heap)


def test_a_list_of_another_length_is_refused() -> None:
    heap = Heap()
    heap.marks.append(1)
    with pytest.raises(LayoutError, match=r"Heap\.marks has 3 elements; its layout has 2"):
        layout_of(Heap).pack(heap)


@dataclass
class Texts:
    name: str = ""


@dataclass
class Lists:
    members: list[int] = field(default_factory=list)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (int, "int is not a dataclass"),
        (Texts, r"Texts\.name is neither an integer nor a record nor array"),
        (Lists, r"Lists\.members is neither an integer nor a record nor array"),
    ],
)
def test_what_is_no_record_is_refused(record: type, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        dtype_of(record)


@pytest.mark.parametrize("size", ["i9", (3, "i2"), 2.5])
def test_a_size_that_does_not_fit_its_field_is_refused(size: Any) -> None:
    with pytest.raises(LayoutError, match=r"does not fit Heap\.grains"):
        dtype_of(Heap, {(Heap, "grains"): size})


def of(width: str) -> st.SearchStrategy[int]:
    return st.integers(*RANGES[width])
