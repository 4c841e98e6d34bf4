"""How two members of a sort change places, and which of two images is the least: written from the declarations.

The functions are texts of this module, made of the layout of a state and its sorts, and compiled like those of a model:
so nothing about a record is said twice, and interpreted and compiled are the same function. For a sort of the number
*s* and a record class *R* there are `exchange_s_R(record, i, j)`, and what compares members; `normalise(state, setup)`
puts them together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from zombieproof.checker.engine.layout import Layout, Member
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.sorts import Sort, renamed
from zombieproof.checker.engine.sources import made, plain_function

MASK: Final = (1 << 40) - 1
FACTOR: Final = 1_812_433
SMALL: Final = (1 << 32) - 1


def exchanged_bits(mask: int, i: int, j: int, width: int) -> int:
    """The mask with the bits of two members exchanged; each has `width` of them."""
    differ = ((mask >> (i * width)) ^ (mask >> (j * width))) & ((1 << width) - 1)
    return mask ^ ((differ << (i * width)) | (differ << (j * width)))


def mixed(weight: int, value: int) -> int:
    """The weight of what was weighed so far and of one value more: 40 bits."""
    product = ((weight + (value & SMALL)) * FACTOR + 1) & MASK
    return product ^ (product >> 19)


def name_of(state: type) -> str:
    """What the function is called that exchanges two members of the first sort in a state."""
    return f"exchange_0_{state.__name__}"


def records_of(layout: Layout) -> Iterator[tuple[type, Layout]]:
    """The record classes of a state, each once or more, those inside of others first."""
    for member in layout.members:
        if isinstance(member.element, Layout):
            yield from records_of(member.element)
    yield layout.record, layout


def functions_of(top: Layout, sorts: Sequence[Sort], model: Model) -> dict[str, Any]:
    """Return the functions for states of a layout, by name."""
    writer = _Writer(top, sorts)
    text = writer.text()
    scope: dict[str, Any] = {
        "__name__": plain_function(model.step).__module__,
        "own_normal_form": model.normalise,
        "renamed": renamed,
        "exchanged_bits": exchanged_bits,
        "mixed": mixed,
        **writer.special,
    }
    return made(f"symmetry of {model.name}", text, scope)


class _Writer:
    """Writes the functions for one list of sorts."""

    def __init__(self, top: Layout, sorts: Sequence[Sort]) -> None:
        self.top, self.sorts = top, sorts
        self.layouts = dict(records_of(top))
        self.special = {
            f"special_{number}_{record.__name__}": function
            for number, sort in enumerate(sorts)
            for record, function in sort.special.items()
        }
        self.lines: list[str] = []

    def text(self) -> str:
        for record, layout in self.layouts.items():
            self.swap(record, layout)
            self.order(record, layout, neutral=False)
            self.order(record, layout, neutral=True)
            self.weigh(record, layout)
            for number in range(len(self.sorts)):
                if self.touches(layout, number):
                    self.exchange(record, layout, number)
        for number, sort in enumerate(self.sorts):
            self.compare(number, neutral=not sort.is_free)
        self.settle()
        self.normal_form()
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    # --- what a sort is about ---

    def touches(self, layout: Layout, number: int) -> bool:
        """Whether something in records of this layout belongs to a member of the sort or names one."""
        sort = self.sorts[number]
        if layout.record in sort.special:
            return True
        return any(
            self.is_about(layout, member, sort)
            or (isinstance(member.element, Layout) and self.touches(member.element, number))
            for member in layout.members
        )

    @staticmethod
    def is_about(layout: Layout, member: Member, sort: Sort) -> bool:
        """Whether a field is indexed by the members of a sort, or names some."""
        place = layout.record, member.name
        return place in sort.arrays or place in sort.values or place in sort.masks

    def is_touched(self, layout: Layout) -> bool:
        """Whether an exchange of any sort changes records of this layout."""
        return any(self.touches(layout, number) for number in range(len(self.sorts)))

    def is_neutral(self, layout: Layout, member: Member) -> bool:
        """Whether no exchange changes this field of a record, nor where the parts of its value stand."""
        if layout.record in {record for sort in self.sorts for record in sort.special}:
            return False
        if any(self.is_about(layout, member, sort) for sort in self.sorts):
            return False
        return not (
            isinstance(member.element, Layout) and member.length is not None and self.is_touched(member.element)
        )

    # --- functions of one record class ---

    def swap(self, record: type, layout: Layout) -> None:
        """Two records change their contents."""
        self.line(0, f"def swap_{record.__name__}(a, b):")
        self.line(1, "pass")
        for member in layout.members:
            one, other = f"a.{member.name}", f"b.{member.name}"
            if member.length is None:
                self.swapped(1, member, one, other)
            elif member.length:
                self.line(1, f"for k in range(len({one})):")
                self.swapped(2, member, f"{one}[k]", f"{other}[k]")

    def swapped(self, depth: int, member: Member, one: str, other: str) -> None:
        if isinstance(member.element, Layout):
            self.line(depth, f"swap_{member.element.record.__name__}({one}, {other})")
        elif member.is_flag:
            self.line(depth, f"{one}, {other} = {other}, {one}")
        else:
            self.line(depth, f"{one}, {other} = int({other}), int({one})")

    def order(self, record: type, layout: Layout, *, neutral: bool) -> None:
        """Whether a record comes before another one (-1), behind it (1), or neither (0), by all or by what stays."""
        what = "neutral" if neutral else "order"
        self.line(0, f"def {what}_{record.__name__}(a, b) -> int:")
        for member in layout.members:
            if neutral and not self.is_neutral(layout, member):
                continue
            one, other = f"a.{member.name}", f"b.{member.name}"
            if member.length is None:
                self.ordered(1, member, one, other, what)
            elif member.length:
                self.line(1, f"for k in range(len({one})):")
                self.ordered(2, member, f"{one}[k]", f"{other}[k]", what)
        self.line(1, "return 0")

    def ordered(self, depth: int, member: Member, one: str, other: str, what: str) -> None:
        if isinstance(member.element, Layout):
            self.line(depth, f"found = {what}_{member.element.record.__name__}({one}, {other})")
            self.line(depth, "if found != 0:")
            self.line(depth + 1, "return found")
        else:
            self.line(depth, f"if {one} != {other}:")
            self.line(depth + 1, f"return -1 if {one} < {other} else 1")

    def weigh(self, record: type, layout: Layout) -> None:
        """A number made of all that a record holds."""
        self.line(0, f"def weigh_{record.__name__}(record, weight: int) -> int:")
        for member in layout.members:
            self.weighed(1, member, f"record.{member.name}")
        self.line(1, "return weight")

    def weighed(self, depth: int, member: Member, value: str) -> None:
        if member.length == 0:
            return
        if member.length is not None:
            self.line(depth, f"for k in range(len({value})):")
            depth, value = depth + 1, f"{value}[k]"
        if isinstance(member.element, Layout):
            self.line(depth, f"weight = weigh_{member.element.record.__name__}({value}, weight)")
        else:
            self.line(depth, f"weight = mixed(weight, {value})")

    def exchange(self, record: type, layout: Layout, number: int) -> None:
        """Two members of a sort change places in a record."""
        sort = self.sorts[number]
        self.line(0, f"def exchange_{number}_{record.__name__}(record, i: int, j: int) -> None:")
        self.line(1, "pass")
        if record in sort.special:
            self.line(1, f"special_{number}_{record.__name__}(record, i, j)")
        for member in layout.members:
            place, value = (record, member.name), f"record.{member.name}"
            if place in sort.arrays:
                stride = sort.arrays[place]
                self.line(1, f"for k in range({stride}):")
                self.swapped(2, member, f"{value}[i * {stride} + k]", f"{value}[j * {stride} + k]")
            self.named(sort, member, place, value)
            if isinstance(member.element, Layout) and self.touches(member.element, number):
                self.each(member, value, f"exchange_{number}_{member.element.record.__name__}({{}}, i, j)")

    def named(self, sort: Sort, member: Member, place: tuple[type, str], value: str) -> None:
        """A field that names members names the others."""
        if place in sort.values:
            offset, stride = sort.values[place]
            self.each(member, value, f"{{0}} = renamed({{0}}, i, j, {offset}, {stride})")
        if place in sort.masks:
            self.each(member, value, f"{{0}} = exchanged_bits({{0}}, i, j, {sort.masks[place]})")

    def each(self, member: Member, value: str, text: str) -> None:
        if member.length is None:
            self.line(1, text.format(value))
        elif member.length:
            self.line(1, f"for k in range(len({value})):")
            self.line(2, text.format(f"{value}[k]"))

    # --- functions of a state ---

    def compare(self, number: int, *, neutral: bool) -> None:
        """How two members stand to each other, by what is theirs."""
        self.line(0, f"def compare_{number}(state, i: int, j: int) -> int:")
        self.columns(1, self.top, "state", number, neutral=neutral)
        self.line(1, "return 0")

    def columns(self, depth: int, layout: Layout, whole: str, number: int, *, neutral: bool) -> None:
        sort = self.sorts[number]
        what = "neutral" if neutral else "order"
        for member in layout.members:
            place, value = (layout.record, member.name), f"{whole}.{member.name}"
            if place in sort.arrays:
                if neutral and any(place in other.values or place in other.masks for other in self.sorts):
                    continue
                stride = sort.arrays[place]
                for rest in range(stride):
                    one, other = (f"{value}[{who} * {stride} + {rest}]" for who in "ij")
                    self.ordered(depth, member, one, other, what)
            elif isinstance(member.element, Layout) and self.touches(member.element, number):
                if member.length is None:
                    self.columns(depth, member.element, value, number, neutral=neutral)
                elif not neutral and member.length:
                    self.line(depth, f"for k{depth} in range(len({value})):")
                    self.line(depth + 1, "pass")
                    self.columns(depth + 1, member.element, f"{value}[k{depth}]", number, neutral=neutral)

    def settle(self) -> None:
        """Sort the members that nobody names."""
        self.line(0, "def settle(state) -> None:")
        self.line(1, "pass")
        for number, sort in enumerate(self.sorts):
            if sort.is_free:
                self.line(1, f"for i{number} in range(1, {sort.count}):")
                self.line(2, f"j{number} = i{number}")
                self.line(2, f"while j{number} > 0 and compare_{number}(state, j{number} - 1, j{number}) > 0:")
                self.line(3, f"exchange_{number}_{self.top.record.__name__}(state, j{number} - 1, j{number})")
                self.line(3, f"j{number} -= 1")

    def normal_form(self) -> None:
        """The least of all images."""
        pairs = [number for number, sort in enumerate(self.sorts) if not sort.is_free]
        state = self.top.record.__name__
        if pairs:
            self.total(pairs)
        self.line(0, "def normalise(state, setup) -> None:")
        self.line(1, "own_normal_form(state, setup)")
        self.line(1, "settle(state)")
        if not pairs:
            return
        self.line(1, "tied = 0")
        self.line(1, "moved = 0")
        for bit, number in enumerate(pairs):
            self.line(1, f"order = compare_{number}(state, 0, 1)")
            self.line(1, "if order > 0:")
            self.line(2, f"exchange_{number}_{state}(state, 0, 1)")
            self.line(2, "moved = 1")
            self.line(1, "if order == 0:")
            self.line(2, f"tied = tied | {1 << bit}")
        self.line(1, "if moved == 1:")
        self.line(2, "own_normal_form(state, setup)")
        self.line(2, "settle(state)")
        self.line(1, "if tied != 0:")
        self.line(2, "resolve(state, setup, tied)")

    def total(self, pairs: Sequence[int]) -> None:
        """Of the images by exchanges that nothing decides yet the one of least weight."""
        state = self.top.record.__name__
        self.line(0, "def weigh(state) -> int:")
        self.line(1, "weight = 0")
        for member in self.top.members:
            touched = any(self.is_about(self.top, member, sort) for sort in self.sorts)
            if touched or (isinstance(member.element, Layout) and self.is_touched(member.element)):
                self.weighed(1, member, f"state.{member.name}")
        self.line(1, "return weight")
        self.line(0, "def move(state, setup, which: int) -> None:")
        for bit, number in enumerate(pairs):
            self.line(1, f"if (which >> {bit}) & 1 == 1:")
            self.line(2, f"exchange_{number}_{state}(state, 0, 1)")
        self.line(1, "own_normal_form(state, setup)")
        self.line(1, "settle(state)")
        self.line(0, "def resolve(state, setup, tied: int) -> None:")
        self.line(1, "least = weigh(state)")
        self.line(1, "best = 0")
        self.line(1, "now = 0")
        self.line(1, f"for turn in range(1, {1 << len(pairs)}):")
        self.line(2, "if turn & tied == turn:")
        self.line(3, "move(state, setup, turn ^ now)")
        self.line(3, "now = turn")
        self.line(3, "weight = weigh(state)")
        self.line(3, "if weight < least:")
        self.line(4, "least = weight")
        self.line(4, "best = turn")
        self.line(1, "if now != best:")
        self.line(2, "move(state, setup, now ^ best)")
