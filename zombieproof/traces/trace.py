"""The project's own trace: a story as a file, written by a checker or a recorder, read by people and by `replay`.

JSON Lines. The first line is a `Header` (what was run, under which rules and bounds, and the promise it breaks), then
one `Step` a line in order, and last one `Conclusion`. Every line has a ``kind``; text is UTF-8, one JSON object a line.
A reader refuses what it does not know: a trace of another version is not half understood.

Nothing here knows who writes: a model that has no rules of this protocol leaves `rules` empty, and machines that are
not in the registry may use words of their own.
"""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, NoReturn, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error, Guard
from zombieproof.statemachines.registry import MACHINES

FORMAT: Final = "zombieproof-trace"
VERSION: Final = 1
SCHEMA_PATH: Final = Path(__file__).resolve().parents[2] / "docs" / "trace-schema.json"
"""Where the JSON Schema is committed, in a clone."""

RULE_NAMES: Final = tuple(rule.name for rule in fields(Rules))


class TraceError(ValueError):
    """A file is not a trace: `file`, `line` (from 1; 0 is the file as a whole) and what is wrong with it."""

    def __init__(self, file: str, line: int, fault: str) -> None:
        self.file, self.line, self.fault = file, line, fault
        place = f"{file}, line {line}" if line else file
        super().__init__(f"{place}: {fault}")


def _error_name(name: str) -> str:
    if name not in Error.__members__:
        raise ValueError(f"{name!r} is no error of the protocol; legal are the names of Kafka's Errors, such as NONE")
    return name


def _guard_name(name: str) -> str:
    if name not in Guard.__members__:
        raise ValueError(f"{name!r} is no guard of the reference; legal are names such as A4, E6 or NO_GUARD")
    return name


ErrorName = Annotated[str, AfterValidator(_error_name), Field(json_schema_extra={"enum": list(Error.__members__)})]
GuardName = Annotated[str, AfterValidator(_guard_name), Field(json_schema_extra={"enum": list(Guard.__members__)})]
Name = Annotated[str, Field(min_length=1)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]+$")]


def _constants_are_required(found: dict[str, Any]) -> None:
    """A field with one legal value has it as its default here, and must all the same stand in a file."""
    constants = [name for name, facts in found["properties"].items() if "const" in facts]
    found["required"] = constants + found.get("required", [])


def _as_written(field: str) -> str:
    """How a field is called in a file: "from" is no name in Python."""
    return {"before": "from", "after": "to"}.get(field, field)


class _Part(BaseModel):
    """A part of a line: nothing unknown is accepted, and no type is bent."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        alias_generator=_as_written,
        validate_by_name=True,
        json_schema_extra=_constants_are_required,
    )


class Move(_Part):
    """A machine moved: in `before` (written "from"), `event` happened, and it is in `after` (written "to").

    States and events are the machine's own words. Whether the table has such a row is for a replay to say: a story may
    be told because a move was illegal.
    """

    machine: Name
    subject: str
    before: Name
    event: Name
    after: Name

    @model_validator(mode="after")
    def _words_are_known(self) -> "Move":
        machine = MACHINES.get(self.machine)
        if machine is None:
            return self
        for state in (self.before, self.after):
            if state not in machine.states.__members__:
                raise ValueError(
                    f"{state!r} is no state of {machine.name}; legal: {', '.join(machine.states.__members__)}"
                )
        if self.event not in machine.events.__members__:
            raise ValueError(
                f"{self.event!r} is no event of {machine.name}; legal: {', '.join(machine.events.__members__)}"
            )
        return self


class Decided(_Part):
    """A decision answered: its name, the guard (row of the reference) that answered, and the error it gave."""

    decision: Name
    guard: GuardName = Guard.NO_GUARD.name
    error: ErrorName = Error.NONE.name


class Header(_Part):
    """The first line: what was run. `promise` is the one that the story breaks; absent when it breaks none.

    `rules` holds every rule of the protocol in force, or nothing for a model without them. `bounds` are what the model
    was limited to. `mutant` names the deliberate change under which it ran. `file` is where a scenario of one's own was
    defined, as it was named; absent for those that come with the program.
    """

    kind: Literal["header"] = "header"
    format: Literal["zombieproof-trace"] = FORMAT
    version: Literal[1] = VERSION
    model: Name
    scenario: Name
    mutant: Name | None = None
    rules: dict[str, int] = Field(default_factory=dict, json_schema_extra={"propertyNames": {"enum": list(RULE_NAMES)}})
    bounds: dict[str, int] = Field(default_factory=dict)
    promise: Name | None = None
    story: str | None = None
    file: str | None = None

    @model_validator(mode="after")
    def _rules_are_all_there(self) -> "Header":
        unknown = [name for name in self.rules if name not in RULE_NAMES]
        if unknown:
            raise ValueError(f"no rule is named {unknown[0]!r}; legal: {', '.join(RULE_NAMES)}")
        missing = [name for name in RULE_NAMES if name not in self.rules]
        if self.rules and missing:
            raise ValueError(f"rules lack {', '.join(missing)}: a trace says every rule, so write it anew")
        return self

    def rules_in_force(self) -> Rules:
        """The rules of the trace as decisions read them; the defaults where the trace has none."""
        return Rules(**self.rules)


class Step(_Part):
    """One step: the action's number in its model and its argument, in words, and what it moved and decided.

    `digest` is the fingerprint of the world after the step, in hexadecimal, for models that have one.
    """

    kind: Literal["step"] = "step"
    number: int = Field(ge=1)
    action: int = Field(ge=0)
    argument: int
    name: Name
    description: str
    moves: tuple[Move, ...] = ()
    verdicts: tuple[Decided, ...] = ()
    digest: Digest | None = None


class Conclusion(_Part):
    """The last line: how the story ends. `steps` is how many lines stand before it without the header."""

    kind: Literal["verdict"] = "verdict"
    verdict: Literal["holds", "violated", "inconclusive"]
    steps: int = Field(ge=0)
    promise: Name | None = None
    message: str = ""

    @model_validator(mode="after")
    def _a_violation_names_its_promise(self) -> "Conclusion":
        if (self.verdict == "violated") != (self.promise is not None):
            raise ValueError("a promise is named exactly when the verdict is 'violated'")
        return self


Line: TypeAlias = Annotated[Header | Step | Conclusion, Field(discriminator="kind")]
KINDS: Final = ("header", "step", "verdict")
_LINE: TypeAdapter[Header | Step | Conclusion] = TypeAdapter(Line)


class Trace(NamedTuple):
    """A whole trace."""

    header: Header
    steps: tuple[Step, ...]
    conclusion: Conclusion


def rules_as_data(rules: Rules) -> dict[str, int]:
    """Every rule by name, as a header holds them."""
    return {name: int(getattr(rules, name)) for name in RULE_NAMES}


# ---------------------------------------------------------------- write


def format_line(line: Header | Step | Conclusion) -> str:
    """One line without its end."""
    return line.model_dump_json(by_alias=True, exclude_none=True)


def format_trace(trace: Trace) -> str:
    """The text of a trace, which `parse_trace` reads back as it was.

    Raises:
        TraceError: the parts do not make one trace (steps out of order, another promise at the end).
    """
    _check_whole("trace", trace)
    lines: list[Header | Step | Conclusion] = [trace.header, *trace.steps, trace.conclusion]
    return "".join(format_line(line) + "\n" for line in lines)


def write_trace(path: Path, trace: Trace) -> None:
    """Write a trace; an existing file is replaced only by a whole new one."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(format_trace(trace), encoding="utf-8", newline="\n")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


# ---------------------------------------------------------------- read


def looks_like_trace(first_line: str) -> bool:
    """Whether a file that begins with this line means to be a trace, of any version: then its faults are a trace's."""
    return re.search(rf'"format"\s*:\s*"{FORMAT}"', first_line) is not None


def read_trace(path: Path) -> Trace:
    """Read a trace file.

    Raises:
        TraceError: the file cannot be read, or is not one whole trace of this version.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(str(path), 0, f"cannot be read: {error.strerror}") from error
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TraceError(str(path), line, f"byte {error.start} is not UTF-8; a trace is UTF-8 text") from error
    return parse_trace(text, str(path))


def parse_trace(text: str, file: str = "trace") -> Trace:
    """Read a trace from its text; `file` is how faults name it.

    Raises:
        TraceError: it is not one whole trace of this version.
    """
    if not text:
        raise TraceError(file, 0, "is empty; a trace has a header, steps and a verdict")
    lines = text.split("\n")
    if lines[-1]:
        raise TraceError(file, len(lines), "is cut: every line of a trace ends with a newline")
    parsed = [parse_line(line, file, number) for number, line in enumerate(lines[:-1], start=1)]
    header, conclusion = parsed[0], parsed[-1]
    if not isinstance(header, Header):
        raise TraceError(file, 1, f"is a {header.kind}; a trace begins with its header")
    if not isinstance(conclusion, Conclusion):
        raise TraceError(file, len(parsed), f"is a {conclusion.kind} and the last line; a trace ends with its verdict")
    steps = [_step(line, file, number) for number, line in enumerate(parsed[1:-1], start=2)]
    trace = Trace(header, tuple(steps), conclusion)
    _check_whole(file, trace)
    return trace


def _step(line: Header | Step | Conclusion, file: str, number: int) -> Step:
    if not isinstance(line, Step):
        raise TraceError(file, number, f"is a {line.kind}; between header and verdict only steps are legal")
    return line


def _check_whole(file: str, trace: Trace) -> None:
    for expected, step in enumerate(trace.steps, start=1):
        if step.number != expected:
            raise TraceError(file, expected + 1, f"is step {step.number}; step {expected} would be next")
    last = len(trace.steps) + 2
    if trace.conclusion.steps != len(trace.steps):
        counted = f"speaks of {trace.conclusion.steps} steps, and there are {len(trace.steps)}"
        raise TraceError(file, last, f"{counted}: lines were lost or added")
    if trace.conclusion.verdict == "violated" and trace.header.promise not in (None, trace.conclusion.promise):
        both = f"{trace.conclusion.promise!r}, the header {trace.header.promise!r}"
        raise TraceError(file, last, f"names the promise {both}; both name the same one")


def parse_line(text: str, file: str = "trace", number: int = 1) -> Header | Step | Conclusion:
    """Read one line.

    Raises:
        TraceError: it is no line of a trace.
    """
    found = _json_object(text, file, number)
    if number == 1 and found.get("format") != FORMAT:
        legal = f'{{"kind":"header","format":"{FORMAT}","version":{VERSION},...}}'
        raise TraceError(file, number, f"is no header of a trace; the first line is {legal}")
    if found.get("kind") == "header" and found.get("version") != VERSION:
        wanted = f"is of version {found.get('version')!r}; this program reads version {VERSION}"
        raise TraceError(file, number, f"{wanted}: write the trace anew, or read it with the program that wrote it")
    if found.get("kind") not in KINDS:
        raise TraceError(file, number, f"has the kind {found.get('kind')!r}; legal: {', '.join(KINDS)}")
    try:
        return _LINE.validate_json(text, by_alias=True, by_name=False)
    except ValidationError as error:
        raise TraceError(file, number, _explain(error)) from error


def _json_object(text: str, file: str, number: int) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise TraceError(file, number, f"is not JSON: {error}; every line is one JSON object") from error
    if not isinstance(found, dict):
        raise TraceError(file, number, f"is a JSON {type(found).__name__}; every line is one JSON object")
    return found


def _without_repetition(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {name!r} stands twice in one object")
        found[name] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _explain(error: ValidationError) -> str:
    """The first fault of a line: where in it, what was found, and what would have been legal."""
    first = error.errors()[0]
    kind, *path = first["loc"]
    where = ".".join(str(part) for part in path) or f"the {kind}"
    if first["type"] == "missing":
        return f"lacks {where}, which every {kind} has"
    if first["type"] == "extra_forbidden":
        return f"has {where}, which is unknown here; legal in the {kind}: {', '.join(_names(str(kind)))}"
    message = first["msg"].removeprefix("Value error, ")
    found = "" if first["type"] == "value_error" else f" (found {first['input']!r})"
    return f"{where}: {message}{found}"


def _names(kind: str) -> list[str]:
    parts: dict[str, type[_Part]] = {"header": Header, "step": Step, "verdict": Conclusion}
    return list(parts[kind].model_fields)


# ---------------------------------------------------------------- schema


def schema() -> str:
    """The JSON Schema of one line, as text."""
    found = _LINE.json_schema(by_alias=True)
    title = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of a {FORMAT}, version {VERSION}",
        "description": "First a header, then steps in order, and last the verdict. Generated: do not edit.",
    }
    return json.dumps(title | found, indent=2) + "\n"


def write_schema(path: Path = SCHEMA_PATH) -> None:
    """Write the JSON Schema where it is committed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(schema(), encoding="utf-8", newline="\n")


def schema_is_stale(path: Path = SCHEMA_PATH) -> bool:
    """Whether the committed JSON Schema is missing or says something else than this module."""
    return not path.is_file() or path.read_text(encoding="utf-8") != schema()
