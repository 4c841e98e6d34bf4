"""Plan of a batch run: groups, each a product of scenarios, rules, bounds and mutants, read from YAML.

Scalars are read as text: the release `3.10` is not a number. Errors name the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast, get_args

import yaml

from zombieproof.checker.engine.model import near
from zombieproof.checker.request import STEPS
from zombieproof.farm.jobs import OWN, Expected

LARGEST_BYTES: Final = 1 << 20
_MOST_VALUES: Final = 101
_EXPECTED: Final = tuple(word for word in get_args(Expected) if word != "breaks")
_MOST_STEPS: Final = 10**12


class PlanFault(ValueError):
    """Raised for a plan that is not valid; the message says where, what is wrong and what would be legal."""


@dataclass(frozen=True, slots=True)
class Group:
    """A product: every scenario, under every one of the rules, with every one of the mutants, within all bounds.

    Attributes:
        where: how faults name the group.
        scenarios: names, patterns of names such as "spark_*", and "FILE.py[:NAME]".
        rules: presets; "own" is each scenario's own.
        on, off: rules that are switched on (or numbers that are set) and off in all of them.
        bounds: for each bound the values that it takes. One that a scenario does not have is another scenario's.
        mutants: patterns of names of mutants, which are explored instead of the scenarios; none: the scenarios.
        seeds: of random walks, which are taken instead of exploring, `steps` of them for each seed.
        expected: what must come out; None for what is pinned of mutants that nothing else is changed of, nothing
            certain of other mutants, and else that it holds, or of walks that they break nothing.
    """

    where: str
    scenarios: tuple[str, ...] = ("*",)
    rules: tuple[str, ...] = (OWN,)
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    bounds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    mutants: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    steps: int = STEPS
    expected: Expected | None = None


Plan = tuple[Group, ...]


def load_plan(path: Path | str) -> Plan:
    """The plan in a YAML file.

    Raises:
        PlanFault: it cannot be read, or is no plan.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise PlanFault(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > LARGEST_BYTES:
        raise PlanFault(f"{path}: has {len(data):,} bytes; the limit for a plan is {LARGEST_BYTES:,}")
    try:
        return parse_plan(data.decode(), str(path))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PlanFault(f"{path}, line {line}: byte {error.start} is not UTF-8; a plan must be UTF-8 text") from error


def parse_plan(text: str, file: str) -> Plan:
    """The plan that a text is; `file` is how faults name it.

    Raises:
        PlanFault: it is none.
    """
    try:
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
        raise PlanFault(f"{file}{line}: not valid YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise PlanFault(f"{file}: not valid YAML for a plan: {error}") from error
    return _Reader(file).plan(root)


def bound_values(text: str) -> tuple[int, ...]:
    """Parse values such as "2", "0,1,2" or "0..2".

    Raises:
        PlanFault: the text is not valid.
    """
    values: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,3})(?:\s*\.\.\s*(\d{1,3}))?\s*", part, re.ASCII)
        if not found:
            raise PlanFault(f"{text!r} is not a list of values; give for example 2, 0,1,2 or 0..2")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first or last - first >= _MOST_VALUES:
            raise PlanFault(
                f"{part.strip()!r} is not a range; give at most {_MOST_VALUES} values, the smallest first: 0..2"
            )
        values += range(first, last + 1)
    return tuple(dict.fromkeys(values))


class _Reader:
    """Makes a plan of a YAML document, node by node, so that every fault has its line."""

    def __init__(self, file: str) -> None:
        self.file = file

    def plan(self, root: yaml.Node | None) -> Plan:
        if root is None:
            raise PlanFault(f"{self.file}: is empty; a plan needs explorations, a list of what to explore")
        names = self._names(root, ("explorations",), "a plan")
        if "explorations" not in names:
            raise self._fault(root, "explorations is missing: a list of what to explore")
        groups = names["explorations"]
        if not isinstance(groups, yaml.SequenceNode) or not groups.value:
            raise self._fault(
                groups, "explorations must be a list with at least one entry; start each entry with '- scenarios:'"
            )
        return tuple(map(self._group, groups.value))

    def _group(self, node: yaml.Node) -> Group:
        readers: dict[str, Callable[[yaml.Node], object]] = {
            "scenarios": self._texts,
            "rules": self._texts,
            "with": self._texts,
            "without": self._texts,
            "bounds": self._bounds,
            "mutants": self._texts,
            "seeds": self._seeds,
            "steps": self._steps,
            "expect": self._expected,
        }
        said = {
            name: readers[name](value) for name, value in self._names(node, tuple(readers), "an exploration").items()
        }
        if "scenarios" not in said:
            raise self._fault(node, 'scenarios is missing; "*" stands for all registered ones')
        if "steps" in said and "seeds" not in said:
            raise self._fault(node, "steps is for random walks, which need seeds: add seeds: 1..8, or omit steps")
        if "seeds" in said and said.get("expect") == "holds":
            raise self._fault(
                node,
                "expect: holds is impossible for random walks, which prove nothing; give unbroken, violated, anything",
            )
        if "seeds" not in said and said.get("expect") == "unbroken":
            raise self._fault(
                node,
                "expect: unbroken is for random walks; for an exploration give holds, violated or anything",
            )
        fields = {"with": "on", "without": "off", "expect": "expected"}
        line = node.start_mark.line + 1
        return Group(f"{self.file}, line {line}", **{fields.get(name, name): value for name, value in said.items()})  # type: ignore[arg-type]  # each reader gives what its field holds

    def _names(self, node: yaml.Node, legal: tuple[str, ...], what: str) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self._fault(node, f"{what} must be a mapping with these names: {', '.join(legal)}")
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = self._text(key)
            if name not in legal:
                raise self._fault(key, f"{what} has no {name}; {near(name, legal)}")
            if name in found:
                raise self._fault(key, f"{name} is given twice; omit one")
            found[name] = value
        return found

    def _bounds(self, node: yaml.Node) -> Mapping[str, tuple[int, ...]]:
        if not isinstance(node, yaml.MappingNode):
            raise self._fault(node, "bounds must be a mapping of names to values: {lost: [0, 1, 2]} or {lost: 0..2}")
        bounds: dict[str, tuple[int, ...]] = {}
        for key, value in node.value:
            name = self._text(key)
            if name in bounds:
                raise self._fault(key, f"{name} is given twice; omit one")
            try:
                bounds[name] = bound_values(",".join(self._texts(value)))
            except PlanFault as fault:
                raise self._fault(key, f"{name}: {fault}") from None
        return bounds

    def _seeds(self, node: yaml.Node) -> tuple[int, ...]:
        try:
            return bound_values(",".join(self._texts(node)))
        except PlanFault as fault:
            raise self._fault(node, f"seeds: {fault}") from None

    def _steps(self, node: yaml.Node) -> int:
        text = self._text(node)
        if not re.fullmatch(r"\d{1,13}", text, re.ASCII) or not 0 < int(text) <= _MOST_STEPS:
            raise self._fault(node, f"steps: {text!r} is not a valid number of steps; give 1 to {_MOST_STEPS}")
        return int(text)

    def _expected(self, node: yaml.Node) -> Expected:
        word = self._text(node)
        if word not in _EXPECTED:
            raise self._fault(node, f"expect: {word!r} is not valid; give one of {', '.join(_EXPECTED)}")
        return cast("Expected", word)

    def _texts(self, node: yaml.Node) -> tuple[str, ...]:
        """A list of texts, or one text alone."""
        if isinstance(node, yaml.ScalarNode):
            return (self._text(node),)
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            raise self._fault(node, "expected a list of words, such as [a, b]")
        return tuple(map(self._text, node.value))

    def _text(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            raise self._fault(node, "expected a word")
        return str(node.value)

    def _fault(self, node: yaml.Node, what: str) -> PlanFault:
        return PlanFault(f"{self.file}, line {node.start_mark.line + 1}: {what}")
