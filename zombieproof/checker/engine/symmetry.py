"""Symmetry: parts of a state that may change places without anything else noticing, and the model that does not tell.

A model declares its *sorts*: which arrays are indexed by the members of a sort (clients, resource managers, slots), and
which fields name a member: by its number, by a bit of a mask, or as a part of another number. From that follows how two
members change places, and the normal form of a state becomes that of the least of its images. Nothing else changes: the
functions of the model, its promises and its actions are the same.

Why that is sound. Let g exchange members, and n be the model's own normal form. The sort is declared rightly if

1. actions do not tell members apart: the successors of g(s) are, in normal form, images of the successors of s (by any
   exchanges: an action may take the first member that is free), by faults those by faults and by other actions those
   by others;
2. promises that are judged do not either: a promise says the same of s and of g(s).

Then s and g(s) reach a broken promise in the same number of steps, so one of each orbit is enough: verdicts are the
same, and so are the lengths of shortest counterexamples. (The last level may come earlier: of an orbit the state counts
that is reached first.) Both conditions are tested in every reachable state of small scopes
(`tests/checker/engine/test_symmetry.py`, `tests/checker/test_alike.py`). A promise that names a member is named in
`Sort.told_apart_by`; where it is judged the sort is not used.

Members that nobody names (`Sort.is_free`) are sorted by content, however many there are. Of a sort whose members are
named there are two: where what cannot be renamed tells them apart they are ordered by it, else both images are
compared by a number made of all that differs. If two different images have one number (of 2⁴⁰) both are kept, which is
a state too many and changes no verdict.

Source: Ip and Dill, "Better verification through symmetry" (1996); Clarke, Enders, Filkorn, Jha, "Exploiting symmetry
in temporal logic model checking" (1996).
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from zombieproof.checker.engine import exchanging
from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.model import Malformed, Model
from zombieproof.checker.engine.sorts import Sort

PAIR: Final = 2


@dataclass(frozen=True)
class Symmetry:
    """What is used of the symmetry of a model, with the model that uses it, and why other sorts are not used."""

    model: Model
    used: tuple[Sort, ...]
    unused: Mapping[str, str]


def symmetric(model: Model, setup: object, judged: Collection[str]) -> Symmetry:
    """Return the model that does not tell members apart, as far as the setup and the promises that are judged allow it.

    Without a sort that can be used it is the model itself.

    Raises:
        Malformed: a sort names what the state does not have, or more than two members that are named by others.
    """
    used, unused = [], {}
    for sort in model.sorts(setup):
        _check(model, sort)
        if why := _why_not(model, setup, sort, judged):
            unused[sort.name] = why
        else:
            used.append(sort)
    if not used:
        return Symmetry(model, (), unused)
    return Symmetry(_reduced(_Key(model, tuple(used))), tuple(used), unused)


def image(model: Model, sort: Sort, state: Any, setup: object, i: int, j: int) -> Any:
    """Return a copy of a state in which two members have changed places, in the model's own normal form."""
    changed = copy.deepcopy(state)
    _exchanger(model, sort)(changed, i, j)
    model.normalise(changed, setup)
    return changed


def _why_not(model: Model, setup: object, sort: Sort, judged: Collection[str]) -> str:
    """Why a sort cannot be used; "" if it can."""
    if sort.count < PAIR:
        return "there is only one"
    if telling := sorted(sort.told_apart_by & set(judged)):
        return f"{', '.join(telling)} tells them apart"
    layout = layout_of(model.state, model.sizes)
    begins = model.initial(setup)
    for member in range(1, sort.count):
        if layout.leaves(image(model, sort, begins, setup, 0, member)) != layout.leaves(begins):
            return "the initial state tells them apart"
    return ""


def _check(model: Model, sort: Sort) -> None:
    """Raise Malformed for a sort that cannot be."""
    who = f"{model.name}: the sort {sort.name!r}"
    layouts = dict(exchanging.records_of(layout_of(model.state, model.sizes)))
    for record, name in (*sort.arrays, *sort.values, *sort.masks):
        members = {member.name: member for member in layouts[record].members} if record in layouts else {}
        if name not in members:
            raise Malformed(f"{who} names {record.__name__}.{name}, which no state has", name)
        length = members[name].length
        if (record, name) in sort.arrays and (length is None or length < sort.count * sort.arrays[record, name]):
            raise Malformed(f"{who} has {sort.count} members; {record.__name__}.{name} has no room for them", name)
        if (record, name) in (*sort.values, *sort.masks) and not isinstance(members[name].element, str):
            raise Malformed(f"{who}: {record.__name__}.{name} is a record and names nobody; give its fields", name)
    for record in sort.special:
        if record not in layouts:
            raise Malformed(f"{who} names {record.__name__}, which no state has", record.__name__)
    if not sort.is_free and sort.count > PAIR:
        raise Malformed(f"{who} has {sort.count} members that others name; give two, or declare what nobody names")


def _exchanger(model: Model, sort: Sort) -> Callable[[Any, int, int], None]:
    found: Callable[[Any, int, int], None] = _written(_Key(model, (sort,)))[exchanging.name_of(model.state)]
    return found


@dataclass(frozen=True, slots=True)
class _Key:
    """A model by identity, and sorts by what they say: a model is compiled once in a process."""

    model: Model
    sorts: tuple[Sort, ...]

    def _identity(self) -> tuple[Any, ...]:
        return id(self.model), tuple(_facts(sort) for sort in self.sorts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())


def _facts(sort: Sort) -> tuple[Any, ...]:
    tables: Iterable[Mapping[Any, Any]] = (sort.arrays, sort.values, sort.masks, sort.special)
    return sort.name, sort.count, *(tuple(table.items()) for table in tables)


@functools.cache
def _written(key: _Key) -> dict[str, Any]:
    top = layout_of(key.model.state, key.model.sizes)
    return exchanging.functions_of(top, key.sorts, key.model)


@functools.cache
def _reduced(key: _Key) -> Model:
    model = key.model
    normalise: Callable[..., None] = _written(key)["normalise"]

    def initial(setup: object) -> Any:
        state = model.initial(setup)
        normalise(state, setup)
        return state

    names = " and ".join(sort.name for sort in key.sorts)
    return replace(model, name=f"{model.name}, {names} alike", normalise=normalise, initial=initial)
