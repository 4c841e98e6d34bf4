"""What is not modelled is said in full, and is not there: each entry names what would be there if it were not true."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import astuple, fields
from types import ModuleType
from typing import Any

import pytest

import zombieproof.messages
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.action_kinds import Action
from zombieproof.checker.transactions.budget import Budget
from zombieproof.checker.uncovered import UNCOVERED
from zombieproof.model.catalogue import IN_RECORDINGS
from zombieproof.model.omissions import (
    CHECKER,
    MEMORY_ONLY,
    MODEL,
    OMISSIONS,
    REPLAY,
    Absent,
    MemoryOnly,
    Omission,
    Sort,
)
from zombieproof.model.releases import RELEASES
from zombieproof.model.rules import PRESETS, preset
from zombieproof.statemachines.registry import MACHINES


@pytest.mark.parametrize("omission", OMISSIONS, ids=lambda omission: omission.what[:40])
def test_an_omission_says_what_why_where_and_with_what_consequence(omission: Omission) -> None:
    assert omission.part in (MODEL, CHECKER, REPLAY)
    said = (omission.what, omission.why, omission.where_kafka, omission.consequence)
    assert all(text and text == text.strip() and not text.endswith(".") for text in said)


# ---------------------------------------------------------------- what an entry says is not there, is not there


class Stale(Exception):
    """An entry names something around what is absent that does not exist: it has to be said anew."""


def found(path: str) -> Any:
    """The module, class or function of a dotted path."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise Stale(f"{path}: {error}") from error


def module_or_none(path: str) -> ModuleType | None:
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        return None


def has_field(absent: Absent) -> bool:
    return hasattr(found(absent.where), absent.name)


def has_parameter(absent: Absent) -> bool:
    return absent.name in inspect.signature(found(absent.where)).parameters


def has_api(absent: Absent) -> bool:
    keys: set[str] = set()
    for each in pkgutil.iter_modules(zombieproof.messages.__path__, "zombieproof.messages."):
        classes = (value for value in vars(importlib.import_module(each.name)).values() if inspect.isclass(value))
        keys |= {key for one in classes for key in re.findall(r"API key (\d+)", one.__doc__ or "")}
    assert {"0", "22", "26"} <= keys, "no class says of which API key it is"
    return absent.name in keys


def names_error(absent: Absent) -> bool:
    module = module_or_none(absent.where)
    if module is None:
        raise Stale(f"there is no module {absent.where}")
    tree = ast.parse(inspect.getsource(module))
    named = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return any(node.attr == absent.name and ast.unparse(node.value) == "Error" for node in named)


def takes_row(absent: Absent) -> bool:
    state, event = absent.name.split()
    return (absent.where, state, event) not in UNCOVERED


def has_row(absent: Absent) -> bool:
    if absent.where not in MACHINES:
        raise Stale(f"there is no machine {absent.where}")
    rows = {f"{row.state.name} {row.event.name}" for row in MACHINES[absent.where].rows}
    return absent.name in rows


def strikes(absent: Absent) -> bool:
    budgets = {each.name for each in fields(Budget)}
    return absent.name in Action.__members__ or absent.name.lower() in budgets


def is_set(absent: Absent) -> bool:
    known = {name for scenario in SCENARIOS.values() for name in scenario.bounds}
    if absent.name not in known:
        raise Stale(f"no scenario has a bound {absent.name}")
    return any(scenario.bounds.get(absent.name, 0) for scenario in SCENARIOS.values())


def is_another_limit(absent: Absent) -> bool:
    name, _, value = absent.name.partition("=")
    return bool(found(f"{absent.where}.{name}") != int(value))


def is_in_a_release(absent: Absent) -> bool:
    return any(getattr(preset(name), absent.name) for name in PRESETS if name.partition("-")[0] in RELEASES)


LOOKS: Mapping[Sort, Callable[[Absent], bool]] = {
    Sort.FIELD: has_field,
    Sort.PARAMETER: has_parameter,
    Sort.API: has_api,
    Sort.ERROR: names_error,
    Sort.ROW: takes_row,
    Sort.NO_ROW: has_row,
    Sort.FAULT: strikes,
    Sort.BOUND: is_set,
    Sort.LIMIT: is_another_limit,
    Sort.RULE: is_in_a_release,
    Sort.PRESET: lambda absent: absent.name in PRESETS,
    Sort.PROMISE: lambda absent: absent.name in IN_RECORDINGS,
}
"""By what is absent: whether it is there."""

ABSENCES = [(omission, absent) for omission in OMISSIONS for absent in omission.absent]


@pytest.mark.parametrize(
    ("omission", "absent"), ABSENCES, ids=[f"{each.what[:30]}: {absent.name}" for each, absent in ABSENCES]
)
def test_what_is_left_out_is_not_there(omission: Omission, absent: Absent) -> None:
    assert not LOOKS[absent.sort](absent), f"{absent}: say anew what is left out: {omission.what}"


def test_every_entry_names_what_would_be_there() -> None:
    assert [omission.what for omission in OMISSIONS if not omission.absent] == []


THERE = (
    Absent(Sort.FIELD, "timeout_ms", "zombieproof.messages.transactions.InitProducerId"),
    Absent(Sort.FIELD, "INIT_PRODUCER_ID", "zombieproof.checker.transactions.vocabulary.Kind"),
    Absent(Sort.PARAMETER, "rules", "zombieproof.traces.judging.histories.visibility.visibility"),
    Absent(Sort.API, "47"),
    Absent(Sort.ERROR, "PRODUCER_FENCED", "zombieproof.model.decisions.end_txn"),
    Absent(Sort.ROW, "ONGOING COMMIT", "coordinator"),
    Absent(Sort.NO_ROW, "ONGOING COMMIT", "coordinator"),
    Absent(Sort.FAULT, "CRASH"),
    Absent(Sort.FAULT, "LEADERLESS"),
    Absent(Sort.BOUND, "lost"),
    Absent(Sort.LIMIT, "CLIENTS=7", "zombieproof.checker.transactions.capacities"),
    Absent(Sort.RULE, "kip447_fence"),
    Absent(Sort.PRESET, "3.9"),
    Absent(Sort.PROMISE, "replicas_agree"),
)


@pytest.mark.parametrize("absent", THERE, ids=lambda absent: f"{absent.sort}: {absent.name}")
def test_what_is_there_is_seen(absent: Absent) -> None:
    assert LOOKS[absent.sort](absent)


def test_every_sort_was_seen_there_and_is_looked_for() -> None:
    assert {absent.sort for absent in THERE} == set(LOOKS) == set(Sort)


@pytest.mark.parametrize(
    "absent",
    [
        Absent(Sort.FIELD, "x", "zombieproof.messages.transactions.NoSuchRequest"),
        Absent(Sort.PARAMETER, "x", "zombieproof.no_such_module.function"),
        Absent(Sort.ERROR, "NONE", "zombieproof.model.decisions.no_such_api"),
        Absent(Sort.NO_ROW, "A B", "no_such_machine"),
        Absent(Sort.BOUND, "no_such_bound"),
    ],
    ids=lambda absent: f"{absent.sort}: {absent.where or absent.name}",
)
def test_an_entry_that_speaks_of_what_is_gone_is_stale(absent: Absent) -> None:
    with pytest.raises(Stale):
        LOOKS[absent.sort](absent)


@pytest.mark.parametrize("fact", MEMORY_ONLY, ids=lambda fact: fact.what[:40])
def test_what_only_memory_holds_says_where_and_with_what_consequence_and_by_whose_word(fact: MemoryOnly) -> None:
    assert all(text and text == text.strip() and not text.endswith(".") for text in astuple(fact))


def test_nothing_is_in_memory_only_twice() -> None:
    assert len({fact.what for fact in MEMORY_ONLY}) == len(MEMORY_ONLY)


def test_nothing_is_left_out_twice() -> None:
    assert len({omission.what for omission in OMISSIONS}) == len(OMISSIONS)


@pytest.mark.parametrize(
    "word", ["authorization", "KIP-939", "high watermark", "compaction", "quotas", "consumer group", "time"]
)
def test_what_people_ask_for_first_is_there(word: str) -> None:
    assert any(word in omission.what for omission in OMISSIONS)


# ---------------------------------------------------------------- what is in memory only is a field of ours


def classes() -> dict[str, list[Any]]:
    """Every class of the model and of the brokers, by name."""
    found: dict[str, list[Any]] = {}
    for package in ("zombieproof.model", "zombieproof.broker"):
        path = importlib.import_module(package).__path__
        for each in pkgutil.walk_packages(path, f"{package}."):
            module = importlib.import_module(each.name)
            for name, value in inspect.getmembers(module, inspect.isclass):
                found.setdefault(name, []).append(value)
    return found


def holders_not_there(where: str, known: Mapping[str, list[Any]]) -> list[str]:
    """The parts of `Class.field, field, Class` that do not exist; a field alone is one of the class before it."""
    missing, owner = [], ""
    for part in where.split(", "):
        name, _, field = part.partition(".") if part[0].isupper() else (owner, "", part)
        owner = name
        sources = [inspect.getsource(one) for one in known.get(name, [])]
        is_held = any(not field or re.search(rf"\b{field}\b", source) for source in sources)
        if not is_held:
            missing.append(part)
    return missing


def test_what_is_in_memory_only_is_held_where_it_says() -> None:
    known = classes()
    missing = {fact.what: holders_not_there(fact.where, known) for fact in MEMORY_ONLY}
    assert {what: parts for what, parts in missing.items() if parts} == {}


def test_a_holder_that_is_gone_is_noticed() -> None:
    known = classes()
    where = "Transaction.state, no_such_field, NoSuchClass.field, ProducerEntry.guard, guard_epoch"
    assert holders_not_there(where, known) == ["no_such_field", "NoSuchClass.field"]
