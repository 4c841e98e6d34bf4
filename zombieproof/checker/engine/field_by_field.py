"""Functions written out for a record class, field by field.

To ask again for each object which fields there are takes five to ten times as long as what is done with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zombieproof.checker.engine.layout import Layout, Member


class Functions:
    """What is done with the objects of a layout; each function is written out when it is first needed.

    The functions of the records in it are called. `other_length` is called for a list of another length than the
    layout's, by `collect` alone.
    """

    def __init__(self, layout: Layout, other_length: Callable[[Member, int], None]) -> None:
        self._layout = layout
        self._scope: dict[str, Any] = {
            "cls": layout.record,
            "new": object.__new__,
            "put": object.__setattr__,
            "members": layout.members,
            "other_length": other_length,
        }
        for number, member in enumerate(layout.members):
            if not isinstance(member.element, str):
                self._scope[f"of{number}"] = member.element.functions

    @cached_property
    def collect(self) -> Callable[[Any, list[int]], None]:
        """(object, list) -> the leaves are appended."""
        return self._function("collect", _collect(self._layout))

    @cached_property
    def build(self) -> Callable[[Sequence[int], int], Any]:
        """(leaves, first) -> a new object of the leaves from `first` on."""
        return self._function("build", _build(self._layout))

    @cached_property
    def copy(self) -> Callable[[Any], Any]:
        """(object) -> a new object with the same leaves."""
        return self._function("copy", _copy(self._layout))

    @cached_property
    def is_same(self) -> Callable[[Any, Any], bool]:
        """(object, object) -> whether they have the same leaves; integers are compared first."""
        return self._function("is_same", _is_same(self._layout))

    def _function(self, name: str, lines: list[str]) -> Callable[..., Any]:
        exec("\n".join(lines), self._scope)  # noqa: S102  # the text is made of the lines below, and of names of fields
        written: Callable[..., Any] = self._scope[name]
        return written


def _collect(layout: Layout) -> list[str]:
    lines = ["def collect(obj, found):", "    pass"]
    for number, member in enumerate(layout.members):
        value, is_record = f"obj.{member.name}", not isinstance(member.element, str)
        if member.length is None:
            lines += [f"    of{number}.collect({value}, found)" if is_record else f"    found.append({value})"]
            continue
        lines += [f"    values = {value}", f"    if len(values) != {member.length}:"]
        lines += [f"        other_length(members[{number}], len(values))"]
        if is_record:
            lines += [f"    collect_each = of{number}.collect", "    for each in values:"]
            lines += ["        collect_each(each, found)"]
        else:
            lines += ["    found += values"]
    return lines


def _build(layout: Layout) -> list[str]:
    lines, at = ["def build(leaves, first):", "    obj = new(cls)"], 0
    for number, member in enumerate(layout.members):
        if isinstance(member.element, str):
            width, one = 1, f"leaves[first + {at}]"
            several = f"leaves[first + {at}:first + {at + (member.length or 0)}]"
            value = f"bool({one})" if member.is_flag else one
            values = f"[bool(leaf) for leaf in {several}]" if member.is_flag else f"list({several})"
        else:
            width = len(member.element.codes())
            value = f"of{number}.build(leaves, first + {at})"
            places = f"range(first + {at}, first + {at + width * (member.length or 0)}, {max(width, 1)})"
            values = f"[of{number}.build(leaves, place) for place in {places}]"
        lines += [_put(layout, member, value if member.length is None else values)]
        at += width * (1 if member.length is None else member.length)
    return [*lines, "    return obj"]


def _copy(layout: Layout) -> list[str]:
    lines = ["def copy(obj):", "    made = obj", "    obj = new(cls)"]
    for number, member in enumerate(layout.members):
        value = f"made.{member.name}"
        if isinstance(member.element, str):
            copied = value if member.length is None else f"list({value})"
        elif member.length is None:
            copied = f"of{number}.copy({value})"
        else:
            copied = f"[of{number}.copy(each) for each in {value}]"
        lines += [_put(layout, member, copied)]
    return [*lines, "    return obj"]


def _is_same(layout: Layout) -> list[str]:
    integers, records = ["True"], list[str]()
    for number, member in enumerate(layout.members):
        left, right = f"one.{member.name}", f"other.{member.name}"
        if isinstance(member.element, str):
            integers.append(f"{left} == {right}")
        elif member.length is None:
            records.append(f"of{number}.is_same({left}, {right})")
        else:
            all_are = f"all(map(of{number}.is_same, {left}, {right}))"
            records.append(f"len({left}) == len({right}) and {all_are}")
    return ["def is_same(one, other):", f"    return {' and '.join([*integers, *records])}"]


def _put(layout: Layout, member: Member, value: str) -> str:
    is_frozen = layout.record.__dataclass_params__.frozen  # type: ignore[attr-defined]  # of every dataclass
    return f'    put(obj, "{member.name}", {value})' if is_frozen else f"    obj.{member.name} = {value}"
