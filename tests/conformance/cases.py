"""Checklists of cases: the form of the file, and what the run of one case may say.

A file is YAML: `format: 1`, `suites` (suite, prefix, note) and `cases` (id, suite, name, baseline, given, when, expect
and maybe note, machine, upstream_test).
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FORMAT = 1
BASELINES = ("both", "2024-10", "2026")
REQUIRED = ("id", "suite", "name", "baseline", "given", "when", "expect")
OPTIONAL = ("machine", "upstream_test", "note")


class MalformedCases(ValueError):
    """The file is not a checklist: the message says where, what is wrong and what would be legal."""


class Failed(AssertionError):
    """A part of *expect* is not so."""


class NotRunnable(Exception):
    """The case says something that its suite does not understand, so nothing is known about it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One line of a checklist; `given`, `when` and `expect` as YAML gives them, `prefix` is that of its suite."""

    id: str
    suite: str
    prefix: str
    name: str
    baseline: str
    given: Any
    when: Any
    expect: Any
    note: str = ""

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that change with the text of given, when, expect or note."""
        said = [self.given, self.when, self.expect, *([self.note] if self.note else [])]
        text = json.dumps(_sortable(said), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def _sortable(value: Any) -> Any:
    """The same with texts for keys: YAML knows keys of several kinds in one mapping, which have no order."""
    if isinstance(value, Mapping):
        return {str(key): _sortable(part) for key, part in value.items()}
    return [_sortable(part) for part in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Checklist:
    """The cases of one file in their order; `prefixes` by name of the suite."""

    prefixes: Mapping[str, str]
    cases: tuple[Case, ...]


def read_cases(file: Path) -> Checklist:
    """The cases of a checklist.

    Raises:
        MalformedCases: the file cannot be read, is no YAML, or is not of the form of a checklist.
    """
    try:
        document = yaml.load(file.read_text("utf-8"), Loader=_UniqueKeys)
    except (OSError, UnicodeDecodeError) as error:
        raise MalformedCases(f"{file}: it cannot be read: {error}; name a YAML file of cases") from error
    except yaml.YAMLError as error:
        raise MalformedCases(f"{file}: it is no YAML: {error}; see the head of a checklist for its form") from error
    try:
        return _checklist(document)
    except MalformedCases as fault:
        raise MalformedCases(f"{file}: {fault}") from None


class _UniqueKeys(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the C loader is optional
    """YAML without Python objects; a key that stands twice in one mapping is an error, not the last one's victory."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """The mapping of `node`."""
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{name!r} stands twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def _checklist(document: object) -> Checklist:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        got = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise MalformedCases(f"the head says format {got!r}; legal is a mapping with `format: {FORMAT}`")
    prefixes = _prefixes(_rows(document, "suites"))
    cases = tuple(_case(row, prefixes) for row in _rows(document, "cases"))
    twice = [name for name, count in Counter(case.id for case in cases).items() if count > 1]
    if twice:
        raise MalformedCases(f"case {twice[0]} stands twice; every id is used once")
    return Checklist(prefixes, cases)


def _rows(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    rows = document.get(key)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise MalformedCases(f"`{key}` is {type(rows).__name__}; legal is a list of mappings")
    return rows


def _prefixes(rows: list[dict[str, Any]]) -> dict[str, str]:
    prefixes: dict[str, str] = {}
    for row in rows:
        name, prefix = row.get("suite"), row.get("prefix")
        if not isinstance(name, str) or not isinstance(prefix, str) or not re.fullmatch(r"[A-Z]{2}", prefix):
            raise MalformedCases(f"suite {name!r} has the prefix {prefix!r}; legal are a name and two capital letters")
        if name in prefixes or prefix in prefixes.values():
            raise MalformedCases(f"suite {name} or its prefix {prefix} stands twice; each is used once")
        prefixes[name] = prefix
    return prefixes


def _case(row: dict[str, Any], prefixes: Mapping[str, str]) -> Case:
    subject = f"case {row.get('id')!r}"
    missing = [key for key in REQUIRED if key not in row]
    odd = [key for key in row if key not in (*REQUIRED, *OPTIONAL)]
    if missing or odd:
        fault = f"has no {missing[0]!r}" if missing else f"has a field {odd[0]!r}"
        raise MalformedCases(f"{subject} {fault}; it needs {', '.join(REQUIRED)} and may have {', '.join(OPTIONAL)}")
    if not isinstance(row["suite"], str) or row["suite"] not in prefixes:
        raise MalformedCases(f"{subject} is of suite {row['suite']!r}; there are: {', '.join(prefixes)}")
    prefix = prefixes[row["suite"]]
    if not isinstance(row["id"], str) or not row["id"].strip() or not row["id"].isprintable():
        raise MalformedCases(f"{subject} of suite {row['suite']} is misnamed; legal is any text on one line, in quotes")
    if not isinstance(row["baseline"], str) or row["baseline"] not in BASELINES:
        raise MalformedCases(f"{subject} has the baseline {row['baseline']!r}; there are: {', '.join(BASELINES)}")
    name, baseline, note = str(row["name"]), row["baseline"], str(row.get("note", ""))
    return Case(row["id"], row["suite"], prefix, name, baseline, row["given"], row["when"], row["expect"], note)
