"""Directed scenarios: what a broker must answer where brokers get transactions wrong. They are data, in `scenarios/`.

A step names an API and what is said besides what is said always (`SAID`): the transactional id x0, its first producer
id p0 with epoch 0, partition 0 of topic t0, group g0. It is sent in the newest version that both sides speak, not
newer than what a client of its generation sends (`classic`: up to Kafka 3.9; `newest`: KIP-890), unless it says which.
What is expected is a part of an answer, or one of several: names of errors for numbers, and what stands in the one row
of an answer as if it stood above it (`looks.seen_in`).
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from zombieproof.conformance.outside.introduction import Spoken
from zombieproof.conformance.steps import Step
from zombieproof.messages.registry import APIS
from zombieproof.model.vocabulary import NONE, Error

FOLDER: Final = Path(__file__).with_name("scenarios")

Level = Literal["smoke", "full"]
Generation = Literal["classic", "newest"]
Said = dict[str, JsonValue]

_PRODUCER: Final = {"pid": "p0", "epoch": 0}
SAID: Final[Mapping[str, Mapping[str, Any]]] = {
    "InitProducerId": {"transactional_id": "x0", "timeout_ms": 60_000, "pid": NONE, "epoch": NONE},
    "AddPartitionsToTxn": {"transactional_id": "x0", **_PRODUCER, "partitions": [["t0", 0]]},
    "AddOffsetsToTxn": {"transactional_id": "x0", **_PRODUCER, "group": "g0"},
    "TxnOffsetCommit": {
        "transactional_id": "x0",
        "group": "g0",
        **_PRODUCER,
        "generation": NONE,
        "member": "",
        "instance": None,
    },
    "EndTxn": {"transactional_id": "x0", **_PRODUCER},
    "Produce": {"transactional_id": "x0", "acks": NONE},
    "Fetch": {"isolation": "read_committed", "partitions": [["t0", 0, 0]]},
    "ListOffsets": {"isolation": "read_committed", "partitions": [["t0", 0]]},
    "OffsetFetch": {"group": "g0", "require_stable": True, "partitions": [["t0", 0]]},
    "OffsetCommit": {"group": "g0", "generation": NONE, "member": ""},
    "DescribeTransactions": {"transactional_ids": ["x0"]},
    "DescribeProducers": {"partitions": [["t0", 0]]},
    "ListTransactions": {"states": [], "pids": [], "duration": NONE},
    "JoinGroup": {"group": "g0", "member": ""},
    "SyncGroup": {"group": "g0"},
    "FindCoordinator": {"key": "x0", "key_type": 1},
    "Wait": {"transactional_id": "x0"},
}
"""What a request of each API says where a step says nothing else."""

BATCH: Final[Mapping[str, Any]] = {**_PRODUCER, "base_sequence": 0, "transactional": True}
_OF_BATCH: Final = frozenset({*BATCH, "values", "control", "base_offset", "last_offset_delta", "corrupt"})

VERSIONS: Final[Mapping[str, tuple[int, int]]] = {
    "InitProducerId": (3, 5),
    "AddPartitionsToTxn": (2, 3),
    "AddOffsetsToTxn": (2, 4),
    "TxnOffsetCommit": (3, 4),
    "EndTxn": (2, 4),
    "Produce": (8, 11),
    "Fetch": (4, 11),
    "ListOffsets": (2, 5),
    "OffsetFetch": (7, 7),
    "OffsetCommit": (5, 8),
    "JoinGroup": (2, 3),
    "SyncGroup": (1, 3),
    "FindCoordinator": (1, 3),
    "DescribeTransactions": (0, 0),
    "DescribeProducers": (0, 0),
    "ListTransactions": (0, 1),
    "WriteTxnMarkers": (1, 1),
}
"""Of each API the oldest and the newest version in which a classic client may be; older ones say errors otherwise."""

NEWEST: Final[Mapping[str, tuple[int, int]]] = {"TxnOffsetCommit": (5, 5), "EndTxn": (5, 5), "Produce": (12, 12)}
"""The same of a client that speaks KIP-890, where it differs."""


class Part(BaseModel):
    """What all parts of a file share: nothing that is not described."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class DirectedStep(Part):
    """A request, and what it must be answered.

    Attributes:
        api: of the request; `say` has what it says besides what is always said.
        version: in which it is sent; None: in the newest that fits.
        expect: a part of the answer; `one_of` several, of which one is.
        once: it is not sent again where the answer says so.
        at_once: the next step does not wait until markers are written.
        matches: published bugs (docs/bugs.md), and by which part of an answer that is not expected one knows each.
    """

    api: str
    say: Said = {}
    version: int | None = None
    expect: Said | None = None
    one_of: list[Said] | None = None
    once: bool = False
    at_once: bool = False
    matches: dict[Annotated[str, Field(pattern="^B[0-9]{2}$")], Said] = {}

    @model_validator(mode="before")
    @classmethod
    def _named_by_its_api(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        apis = [name for name in given if name[:1].isupper()]
        if len(apis) != 1:
            raise ValueError(f"names {len(apis)} APIs ({', '.join(apis)}); legal is one, such as EndTxn")
        (api,) = apis
        rest = {name: value for name, value in given.items() if name != api}
        return {"api": api, "say": given[api] or {}, **rest}

    @model_validator(mode="after")
    def _expects_something(self) -> Self:
        if self.api not in SAID and self.api not in {each.name for each in APIS}:
            raise ValueError(f"{self.api} is no API; legal are {', '.join(sorted(SAID))}")
        if self.expect is not None and self.one_of is not None:
            raise ValueError("`expect` and `one_of` exclude each other")
        for each in (*self.expectations, *self.matches.values()):
            _known_errors(each)
        return self

    @property
    def expectations(self) -> list[Said]:
        """The parts of which one is in the answer; none: anything is right."""
        return self.one_of or ([self.expect] if self.expect is not None else [])


def _known_errors(expected: Mapping[str, JsonValue]) -> None:
    name = expected.get("error", "NONE")
    if name not in Error.__members__:
        raise ValueError(f"{name!r} is no error of Kafka's; legal are names such as INVALID_TXN_STATE")


class Scenario(Part):
    """One scenario.

    Attributes:
        rule: what every broker must do, in a sentence.
        source: where that is said.
        level: smoke: it is quick, and what most brokers that get it wrong get wrong; full: it is not.
        client: of which generation the requests are.
        transaction_versions: of the clusters that it is about.
        since: the oldest release of Kafka that does so, where not all do.
    """

    name: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    rule: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]
    level: Level = "full"
    client: Generation = "classic"
    transaction_versions: list[Annotated[int, Field(ge=0, le=2)]] = [0, 1, 2]
    since: str = ""
    topics: dict[str, int] = {"t0": 1}
    steps: Annotated[list[DirectedStep], Field(min_length=1)]


class Family(Part):
    """The scenarios about one thing: a file."""

    family: str
    about: str
    scenarios: Annotated[list[Scenario], Field(min_length=1)]


class ScenarioError(ValueError):
    """A file of scenarios is damaged."""


def read_family(path: Path) -> Family:
    """The scenarios of a file.

    Raises:
        ScenarioError: it is damaged; the text says where.
    """
    try:
        return Family.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except yaml.YAMLError as error:
        raise ScenarioError(f"{path.name}: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ScenarioError(f"{path.name}: {place}: {first['msg']}") from error


@cache
def families() -> tuple[Family, ...]:
    """Every family that comes with the program.

    Raises:
        ScenarioError: a file of the package is damaged.
    """
    return tuple(read_family(path) for path in sorted(FOLDER.glob("*.yaml")))


class NotSpoken(ValueError):
    """A step is in no version that the broker speaks."""


def step_of(given: DirectedStep, client: Generation, spoken: Spoken) -> Step:
    """A step as recordings have it, in a version that the broker speaks.

    Raises:
        NotSpoken: there is none.
        ValueError: it says something that its version does not have.
    """
    version = _version(given, client, spoken)
    kind = _STEPS[given.api]
    said = {**SAID.get(given.api, {}), **given.say}
    if given.api == "Produce":
        said = _with_batches(said)
    form = kind.model_fields["request"].annotation
    assert form is not None, "every step has a request"
    spans = {name: field.json_schema_extra for name, field in form.model_fields.items()}
    own = {
        name: value
        for name, value in said.items()
        if name in given.say or (name in spans and _has(spans[name], version)) or given.api == "Produce"
    }
    row = {"client": "", "api": given.api, "version": version, "request": own, "answer": {}, "settled": True}
    return kind.model_validate_json(json.dumps(row))


def _has(span: Any, version: int) -> bool:
    return not isinstance(span, dict) or int(span["since"]) <= version <= int(span["until"])


def _with_batches(said: Mapping[str, Any]) -> dict[str, Any]:
    """A Produce request that says only what one batch is, or all batches of one partition."""
    if "partitions" in said:
        rows = [{**row, "batches": [{**BATCH, **batch} for batch in row["batches"]]} for row in said["partitions"]]
        return {**said, "partitions": rows}
    batch = {**BATCH, **{name: value for name, value in said.items() if name in _OF_BATCH}}
    place = {"topic": said.get("topic", "t0"), "partition": said.get("partition", 0)}
    rest = {name: value for name, value in said.items() if name not in _OF_BATCH and name not in place}
    return {**rest, "partitions": [{**place, "batches": [batch]}]}


def _version(given: DirectedStep, client: Generation, spoken: Spoken) -> int:
    if given.api == "Wait":
        return 0
    api = next(each for each in APIS if each.name == given.api)
    versions = spoken.versions.get(int(api.key), range(0))
    if given.version is not None:
        if given.version not in versions:
            raise NotSpoken(f"{given.api} {given.version}: the broker does not speak it")
        return given.version
    oldest, newest = (NEWEST if client == "newest" else {}).get(given.api, VERSIONS[given.api])
    fitting = [each for each in versions if oldest <= each <= newest]
    if not fitting:
        raise NotSpoken(f"{given.api} {oldest} to {newest}: the broker speaks none of them")
    return fitting[-1]


def _steps() -> dict[str, type[Step]]:
    return {
        name: kind
        for kind in Step.__subclasses__()
        for name in getattr(kind.model_fields["api"].annotation, "__args__", ())
    }


_STEPS: Final = _steps()
