"""How a model declares which parts of its states may change places (see `symmetry`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Place = tuple[type, str]
"""A record class and the name of one of its fields."""

Special = Mapping[type, Callable[[Any, int, int], None]]
"""Record classes, and what exchanges two members in such a record."""


@dataclass(frozen=True, eq=False)
class Sort:
    """Members of a state that may change places.

    Attributes:
        name: what they are called, as in "clients".
        count: how many may change places: those numbered 0 to `count` - 1.
        arrays: arrays that they index -> how many elements behind each other belong to one member.
        values: integers that name a member -> (offset, stride): `offset + member * stride + rest`, rest below stride. A
            smaller number names nobody.
        masks: bit masks over members -> how many bits belong to one member.
        special: record classes whose fields mean one thing or another -> `exchange(record, i, j)`, which exchanges the
            members in such a record; it is compiled as functions of the model are.
        told_apart_by: names of promises that say different things of members.
    """

    name: str
    count: int
    arrays: Mapping[Place, int]
    values: Mapping[Place, tuple[int, int]] = field(default_factory=dict)
    masks: Mapping[Place, int] = field(default_factory=dict)
    special: Special = field(default_factory=dict)
    told_apart_by: frozenset[str] = frozenset()

    @property
    def is_free(self) -> bool:
        """Whether nothing in a state names a member."""
        return not (self.values or self.masks or self.special)


def renamed(value: int, i: int, j: int, offset: int, stride: int) -> int:
    """What names member `i` names member `j` instead, and the other way round; what names neither stays."""
    if value < offset:
        return value
    member = (value - offset) // stride
    if member == i:
        return value + (j - i) * stride
    return value - (j - i) * stride if member == j else value
