"""Rules: switches, presets and their errors: reference §11."""

import ast
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import pytest

from zombieproof.model.rules import NUMBERS, PRESETS, Rules, UnknownRule, preset, switches, with_switches

NAMES = [facts.name for facts in switches()]


def test_the_newest_rules_have_every_switch_on_but_what_was_removed_or_never_shipped() -> None:
    assert preset("newest") == Rules()
    off = {facts for facts in switches() if getattr(Rules(), facts.name) == 0}
    assert {facts.name for facts in off} >= {"unknown_producer_id", "unknown_after_marker", "kip939"}
    assert {facts.name for facts in off if facts.since} == {"unknown_producer_id", "unknown_after_marker"}


def test_kip98_is_kafka_0_11() -> None:
    rules = preset("kip98")
    assert rules == preset("0.11.0")
    assert (rules.transaction_version, rules.cached_batches) == (0, 1)


def test_kip98_lacks_exactly_what_came_later() -> None:
    """A switch whose rule is of 0.11.0 is on in the preset of that release, and every other one is off."""
    rules = preset("kip98")
    later = {facts.name for facts in switches() if not facts.since.startswith("0.11.0")}
    assert {name for name in NAMES if getattr(rules, name) == 0} == later


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_differs_from_the_newest_only_in_what_it_names(name: str) -> None:
    says, changes = PRESETS[name]
    rules = preset(name)
    assert says
    for field in fields(Rules):
        assert getattr(rules, field.name) == changes.get(field.name, getattr(Rules(), field.name))


def test_a_preset_is_a_copy() -> None:
    preset("newest").kip360 = 0
    assert preset("newest").kip360 == 1


def test_an_unknown_preset_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UnknownRule, match=r"'kip97'; there are: newest, kip939, kip98, 0.11.0, 1.0, "):
        preset("kip97")


def test_switches_go_on_and_off_in_a_copy() -> None:
    base = preset("kip98")
    rules = with_switches(base, on=["kip360", "verification"], off=["fence_bump"])
    assert (rules.kip360, rules.verification, rules.fence_bump) == (1, 1, 0)
    assert base == preset("kip98")


@pytest.mark.parametrize("name", ["kip_360", "transaction", ""])
def test_what_is_no_switch_is_refused_with_those_that_exist(name: str) -> None:
    for sides in ({"on": [name]}, {"off": [name]}):
        with pytest.raises(UnknownRule, match="no rule is named") as refused:
            with_switches(Rules(), **sides)
        assert repr(name) in str(refused.value)
        assert f"there are: {min(NAMES)}, " in str(refused.value)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_set_within_its_range_and_is_no_switch(name: str) -> None:
    least, greatest = NUMBERS[name]
    for value in (least, greatest):
        assert getattr(with_switches(Rules(), on=[f"{name}={value}"]), name) == value
        assert getattr(with_switches(Rules(), on=[f" {name} = {value} "]), name) == value
    for wrong in (str(least - 1), str(greatest + 1), "", "x", "1.0", "²"):
        with pytest.raises(UnknownRule, match="give"):
            with_switches(Rules(), on=[f"{name}={wrong}"])
    for sides in ({"on": [name]}, {"off": [name]}, {"off": [f"{name}={least}"]}):
        with pytest.raises(UnknownRule, match=f"is a number, not a switch: set it with --with {name}={least}"):
            with_switches(Rules(), **sides)
    with pytest.raises(UnknownRule, match="given twice; choose one value"):
        with_switches(Rules(), on=[f"{name}={least}", f"{name}={greatest}"])


def test_a_switch_has_no_number() -> None:
    with pytest.raises(UnknownRule, match="'kip360' has no number; those that have: transaction_version, "):
        with_switches(Rules(), on=["kip360=0"])


def test_a_switch_on_both_sides_is_refused() -> None:
    with pytest.raises(UnknownRule, match="kip360: given with --with and --without"):
        with_switches(Rules(), on=["kip360", "kip447_fence"], off=["kip360"])


@pytest.mark.parametrize("facts", switches(), ids=lambda facts: facts.name)
def test_a_switch_says_what_it_means_and_where_it_comes_from(facts: object) -> None:
    said = [getattr(facts, name) for name in ("meaning", "source", "row")]
    assert all(text and text == text.strip() for text in said)
    assert not said[0].endswith(".")


def names_read(sources: Iterable[str]) -> set[str]:
    """The attributes that are read of anything called rules: ``rules.x``, ``setup.rules.x``."""
    found = set()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value).split(".")[-1] == "rules":
                found.add(node.attr)
    return found


def test_every_field_of_the_rules_is_read_where_its_rule_stands(repository_root: Path) -> None:
    package = repository_root / "zombieproof"
    files = [file for folder in ("model", "statemachines", "checker") for file in (package / folder).rglob("*.py")]
    read = names_read(file.read_text(encoding="utf-8") for file in files if file.name != "rules.py")
    assert {field.name for field in fields(Rules)} - read == set()


def test_a_field_that_nobody_reads_is_noticed() -> None:
    read = "'rules.kip588'\nrules.kip360 + setup.rules.strict_end + other.kip447_fence"
    assert names_read([read]) == {"kip360", "strict_end"}
