"""A plan as a file: read, and refused with the place of what is wrong."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from zombieproof.wire.plan.legal import Illegal
from zombieproof.wire.plan.parts import Plan

AnyPlan = TypeVar("AnyPlan", bound=Plan)

LARGEST_BYTES = 1 << 20


class PlanError(ValueError):
    """A plan that is none: `file`, `line` (0: the file as a whole), and what is wrong with it."""

    def __init__(self, file: str, line: int, fault: str) -> None:
        super().__init__(f"{file}, line {line}: {fault}" if line else f"{file}: {fault}")
        self.file, self.line, self.fault = file, line, fault


def load_plan(path: Path | str) -> Plan:
    """The plan in a YAML file.

    Raises:
        PlanError: it cannot be read, or is no plan.
    """
    return read_plan(Path(path), Plan)


def plan_of(said: Mapping[str, object]) -> Plan:
    """The plan that a mapping says.

    Raises:
        PlanError: it is none.
    """
    try:
        return Plan.model_validate(said)
    except ValidationError as error:
        at, says = explain(error, Plan)
        raise PlanError("plan", 0, f"{'.'.join(map(str, at))}: {says}" if at else says) from error


def read_plan(path: Path, kind: type[AnyPlan]) -> AnyPlan:
    """The plan of a kind in a YAML file.

    Raises:
        PlanError: it cannot be read, or is no such plan.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PlanError(str(path), 0, f"cannot be read: {error.strerror}") from error
    if len(data) > LARGEST_BYTES:
        raise PlanError(str(path), 0, f"has {len(data):,} bytes; a plan has {LARGEST_BYTES:,} at the most")
    try:
        return parse_plan(data.decode(), str(path), kind)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PlanError(str(path), line, f"byte {error.start} is not UTF-8; a plan is UTF-8 text") from error


def parse_plan(text: str, file: str, kind: type[AnyPlan]) -> AnyPlan:
    """The plan that a text is; `file` is how faults name it.

    Raises:
        PlanError: it is none.
    """
    try:
        root = yaml.compose(text, yaml.SafeLoader)
        found = _without_repetition(root, file)
    except yaml.MarkedYAMLError as error:
        line = 0 if error.problem_mark is None else error.problem_mark.line + 1
        raise PlanError(file, line, f"is not YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError(file, 0, f"is not YAML that a plan can be: {error}") from error
    if not isinstance(found, dict):
        raise PlanError(file, 1, f"is {_what(found)}; a plan has names such as faults, each with what it says")
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        at, says = explain(error, kind)
        where = ".".join(str(part) for part in at)
        raise PlanError(file, _line_of(root, at), f"{where}: {says}" if where else says) from error


def _what(found: object) -> str:
    return "empty" if found is None else f"a {type(found).__name__}"


def _without_repetition(node: yaml.Node | None, file: str) -> Any:
    """What a document says, of which no name stands twice in one place."""
    if node is None:
        return None
    _look_for_repetition(node, file, set())
    return yaml.SafeLoader("").construct_document(node)


def _look_for_repetition(node: yaml.Node, file: str, seen: set[int]) -> None:
    if id(node) in seen:
        raise PlanError(file, node.start_mark.line + 1, "refers to something by an alias; write it out")
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            _look_for_repetition(each, file, seen)
    if isinstance(node, yaml.MappingNode):
        names = set[object]()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in names:
                raise PlanError(file, key.start_mark.line + 1, f"{key.value!r} stands twice; leave one out")
            names.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
            _look_for_repetition(value, file, seen)


# ---------------------------------------------------------------- what is wrong, and where


def explain(error: ValidationError, kind: type[Plan]) -> tuple[tuple[str | int, ...], str]:
    """The first fault of a plan: its place, and what is wrong there."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    at = (*first["loc"], *(cause.at if isinstance(cause, Illegal) else ()))
    named = tuple(part for part in at if part not in _NOT_IN_A_FILE)
    if first["type"] == "missing":
        return named[:-1], f"lacks {named[-1]}"
    if first["type"] == "extra_forbidden":
        return named, f"is unknown here; legal: {', '.join(_names(kind, named[:-1]))}"
    message = first["msg"].removeprefix("Value error, ")
    return named, message if cause is not None else f"{message} (found {first['input']!r})"


_NOT_IN_A_FILE = frozenset({"word", "turns", "literal['never']", "constrained-int"})
"""What pydantic puts into a place to tell alternatives apart."""


def _names(kind: Any, at: tuple[str | int, ...]) -> list[str]:
    """The names that are legal at a place."""
    for part in at:
        if isinstance(part, int):
            continue
        fields = getattr(kind, "model_fields", {})
        kind = _part_in(fields[part].annotation) if part in fields else kind
    return list(getattr(kind, "model_fields", {})) or ["nothing"]


def _part_in(annotation: Any) -> Any:
    """The part that a field holds, alone or among others."""
    if hasattr(annotation, "model_fields"):
        return annotation
    inner = [_part_in(each) for each in getattr(annotation, "__args__", ())]
    return next((each for each in inner if hasattr(each, "model_fields")), None)


def _line_of(node: yaml.Node | None, at: tuple[str | int, ...]) -> int:
    """The line of the last part of a place that is in the file."""
    line = 1
    for part in at:
        found = None
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            found = node.value[part], node.value[part]
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line
