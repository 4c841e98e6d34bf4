"""What an explanation says, as models of its JSON: a contract like the findings themselves."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

RECORDS_MAX = 1_000
"""How many records of a finding are listed with their keys; `Records.count` counts all."""


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Values(StrEnum):
    """Whether values of records are shown, and how. Keys always are, as text where they are text, else in hex."""

    NONE = "none"
    HEX = "hex"
    UTF8 = "utf8"


class Encoding(StrEnum):
    """How a key or value is written."""

    UTF8 = "utf8"
    HEX = "hex"


class Moment(_Data):
    """Something that happened, and when: milliseconds since 1970, as ISO text in UTC, and in local time.

    `clock` says whose clock it was, `where` where it stands. A time that no calendar has leaves `utc` and `local` "".
    """

    what: str
    timestamp_ms: int
    utc: str
    local: str
    clock: str
    where: str


class RecordShown(_Data):
    """One record. `key` and `value` are None when null in the log; `value` also when values were not asked for."""

    offset: int
    timestamp_ms: int
    key: str | None
    key_encoding: Encoding | None
    value: str | None = None
    value_encoding: Encoding | None = None


class Records(_Data):
    """The records that a finding is about.

    `offsets` are ranges, first and last included. `count` is their number, `shown` the first of them
    (at most `RECORDS_MAX`); `unread` says why keys of some are not shown, "" when all could be read.
    """

    count: int
    offsets: list[tuple[int, int]]
    shown: list[RecordShown]
    unread: str = ""


class RuleBroken(_Data):
    """A switch of the rules that says what was not kept. `lacking` are the release lines that do not have it."""

    name: str
    meaning: str
    source: str
    lacking: list[str]


class Shown(_Data):
    """The scenario of the checker that shows the same, the command that tells its shortest story, and its plot."""

    scenario: str
    command: str
    story: str


class CauseFound(_Data):
    """A cause that fits. `because`: what in the evidence speaks for it. `apart`: what would tell it from the others.

    `apart` is "" where a broker's log in the evidence says that it was so.
    """

    name: str
    sentence: str
    is_likely: bool
    because: str
    apart: str
    rules: list[RuleBroken]
    bugs: list[str]
    issues: list[str]
    releases: str
    shown_by: Shown | None


class Remedy(_Data):
    """What an operator can do, with commands whose arguments are filled in, and what it costs."""

    name: str
    sentence: str
    commands: list[str]
    cost: str


class Explanation(_Data):
    """What a finding means: what became of which records, when, why it can have happened, and what to do."""

    effect: str
    records: Records | None
    moments: list[Moment]
    causes: list[CauseFound]
    remedies: list[Remedy]
