"""The project's own trace: a story as a file, written by a checker or a recorder, read by people and by `replay`.

JSON Lines. The first line is a `Header` (what was run, under which rules and bounds, and the promise it breaks), then
one `Step` a line in order, and last one `Conclusion`. Every line has a ``kind``; text is UTF-8, one JSON object a line.
A reader refuses what it does not know: a trace of another version is not half understood.

Version 2 is the trace of a live run: behind the header one `Event` a line, each with what caused it, and an `End` when
the file was closed. A file without one was not closed: what it holds is true all the same.

Nothing here knows who writes: a model that has no rules of this protocol leaves `rules` empty, and machines that are
not in the registry may use words of their own.
"""

import json
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error, Row
from zombieproof.statemachines.registry import ALL_MACHINES

FORMAT: Final = "zombieproof-trace"
VERSION: Final = 1
"""Of a story."""
LIVE_VERSION: Final = 2
"""Of the trace of a live run."""
VERSIONS: Final = (VERSION, LIVE_VERSION)
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


def _row_name(name: str) -> str:
    if name not in Row.__members__:
        raise ValueError(f"{name!r} is no row of the reference; legal are names such as A4, E6 or NO_ROW")
    return name


ErrorName = Annotated[str, AfterValidator(_error_name), Field(json_schema_extra={"enum": list(Error.__members__)})]
RowName = Annotated[str, AfterValidator(_row_name), Field(json_schema_extra={"enum": list(Row.__members__)})]
Name = Annotated[str, Field(min_length=1)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]+$")]


def _constants_are_required(found: dict[str, Any]) -> None:
    """A field with one legal value, and the version, have defaults here, and must stand in a file all the same."""
    constants = [name for name, facts in found["properties"].items() if "const" in facts or name == "version"]
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
        machine = ALL_MACHINES.get(self.machine)
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


class TraceDecision(_Part):
    """A decision answered: its name, the row of the reference that answered, and the error it gave.

    Traces of before call the row `guard`; they are read. `subject` is what it was about, where several things can be.
    """

    decision: Name
    subject: str | None = None
    row: Annotated[RowName, Field(validation_alias=AliasChoices("row", "guard"))] = Row.NO_ROW.name
    error: ErrorName = Error.NONE.name


class Header(_Part):
    """The first line: what was run. `promise` is the one that the story breaks; absent when it breaks none.

    `rules` holds every rule of the protocol in force, or nothing for a model without them. `bounds` are what the model
    was limited to. `mutant` names the deliberate change under which it ran. `file` is where a scenario of one's own was
    defined, as it was named; absent for those that come with the program. `cluster` is what a live run was made of:
    nodes, release, settings, topics with the replicas of their partitions.
    """

    kind: Literal["header"] = "header"
    format: Literal["zombieproof-trace"] = FORMAT
    version: Literal[1, 2] = VERSION
    model: Name
    scenario: Name
    mutant: Name | None = None
    rules: dict[str, int] = Field(default_factory=dict, json_schema_extra={"propertyNames": {"enum": list(RULE_NAMES)}})
    bounds: dict[str, int] = Field(default_factory=dict)
    promise: Name | None = None
    story: str | None = None
    file: str | None = None
    cluster: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _a_live_run_says_its_cluster(self) -> "Header":
        if (self.version == LIVE_VERSION) != (self.cluster is not None):
            raise ValueError("a cluster is described exactly in the trace of a live run, which has version 2")
        return self

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


class TraceStep(_Part):
    """One step: the action's number in its model and its argument, in words, and what it moved and decided.

    `digest` is the fingerprint of the state after the step, in hexadecimal, for models that have one.
    """

    kind: Literal["step"] = "step"
    number: int = Field(ge=1)
    action: int = Field(ge=0)
    argument: int
    name: Name
    description: str
    moves: tuple[Move, ...] = ()
    verdicts: tuple[TraceDecision, ...] = ()
    digest: Digest | None = None


class Conclusion(_Part):
    """The last line: how the story ends. `steps` is how many lines stand before it without the header.

    `repeats_from`, where a promise is broken by what goes on for ever: the steps behind the first so many lead back to
    where they begin, and repeat; if there are none, the last state stays as it is.
    """

    kind: Literal["verdict"] = "verdict"
    verdict: Literal["holds", "violated", "inconclusive"]
    steps: int = Field(ge=0)
    promise: Name | None = None
    message: str = ""
    repeats_from: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _what_repeats_is_there(self) -> "Conclusion":
        if self.repeats_from is not None and (self.promise is None or self.repeats_from > self.steps):
            raise ValueError(f"repeats_from is 0 to the number of steps, {self.steps}, and of a story that is violated")
        return self

    @model_validator(mode="after")
    def _a_violation_names_its_promise(self) -> "Conclusion":
        if (self.verdict == "violated") != (self.promise is not None):
            raise ValueError("a promise is named exactly when the verdict is 'violated'")
        return self


class Cause(_Part):
    """What caused an event of a live run.

    `what`: a request is sent (with its `body`) or delivered, an answer is delivered, a timer ran, a node was killed, a
    client made a call or heard an answer, ... A request is named by `api` and its `number`, and by who sent it to whom
    (0: a client); `fields` are the key fields of a message that is delivered, or the arguments of a command.
    """

    what: Name
    api: str | None = None
    number: int | None = None
    sender: int | None = None
    receiver: int | None = None
    is_answer: bool | None = None
    node: int | None = None
    partition: tuple[str, int] | None = None
    client: str | None = None
    fields: dict[str, Any] | None = None
    body: Any = None


class Event(_Part):
    """One event of a live run: its cause, and what was decided and which machines moved because of it.

    `ms` is the time of the brokers. `illegal` says which move was wanted that no table has: then a machine stopped.
    """

    kind: Literal["event"] = "event"
    number: int = Field(ge=1)
    ms: int
    cause: Cause
    moves: tuple[Move, ...] = ()
    verdicts: tuple[TraceDecision, ...] = ()
    illegal: str | None = None


class End(_Part):
    """The last line of the trace of a live run that was closed; `events` is how many there are."""

    kind: Literal["end"] = "end"
    events: int = Field(ge=0)


AnyLine: TypeAlias = Header | TraceStep | Conclusion | Event | End
Line: TypeAlias = Annotated[AnyLine, Field(discriminator="kind")]
KINDS: Final = ("header", "step", "verdict")
LIVE_KINDS: Final = ("header", "event", "end")
LINE: TypeAdapter[AnyLine] = TypeAdapter(Line)
"""Reads one line, whichever it is."""


class Trace(NamedTuple):
    """A whole trace."""

    header: Header
    steps: tuple[TraceStep, ...]
    conclusion: Conclusion


class LiveRecord(NamedTuple):
    """The trace of a live run. `fault` says why it is not whole ("" if it is), `line` where."""

    header: Header
    events: tuple[Event, ...]
    fault: str = ""
    line: int = 0


def rules_as_data(rules: Rules) -> dict[str, int]:
    """Every rule by name, as a header holds them."""
    return {name: int(getattr(rules, name)) for name in RULE_NAMES}


# ---------------------------------------------------------------- schema


def schema() -> str:
    """The JSON Schema of one line, as text."""
    found = LINE.json_schema(by_alias=True)
    title = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of a {FORMAT}, version {VERSION} (stories) or {LIVE_VERSION} (live runs)",
        "description": "First a header. Of a story: steps in order, and last the verdict. Of a live run: events in "
        "order, and last an end. Generated: do not edit.",
    }
    return json.dumps(title | found, indent=2) + "\n"


def write_schema(path: Path = SCHEMA_PATH) -> None:
    """Write the JSON Schema where it is committed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(schema(), encoding="utf-8", newline="\n")


def schema_is_stale(path: Path = SCHEMA_PATH) -> bool:
    """Whether the committed JSON Schema is missing or says something else than this module."""
    return not path.is_file() or path.read_text(encoding="utf-8") != schema()
