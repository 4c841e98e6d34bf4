"""Plans with a name: published bugs that show on the wire, and what an application has to bear in any release."""

import re
from functools import cache
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from zombieproof.wire.plan.files import read_plan
from zombieproof.wire.plan.parts import Plan

FOLDER: Final = Path(__file__).with_name("stories")
SENTENCES: Final = 3


class NoSuchStory(ValueError):
    """There is no story of that name."""


def _three_sentences(text: str) -> str:
    count = len(re.findall(r"[.!?](?= [A-Z]|$)", text))
    if count != SENTENCES:
        raise ValueError(f"has {count} sentences; a story is told in {SENTENCES}")
    return text


class Story(Plan):
    """A plan that is told.

    Attributes:
        description: what happens, in three sentences.
        bug: the published bugs that it shows, as docs/bugs.md names them; none where brokers do right.
        issues: where they were reported, or the rule comes from.
        needs: what it takes to see it with brokers of Kafka.
        client_sees: what an application is told, and what readers read.
        breaks: the promise that breaks; "" if none does.
    """

    name: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    description: Annotated[str, AfterValidator(_three_sentences)]
    bug: tuple[Annotated[str, Field(pattern="^B[0-9]{2}$")], ...]
    issues: Annotated[str, Field(min_length=1)]
    needs: Annotated[str, Field(min_length=1)]
    client_sees: Annotated[str, Field(min_length=1)]
    breaks: str


@cache
def stories() -> dict[str, Story]:
    """Every story that comes with the package, by name.

    Raises:
        PlanError: a file of the package is damaged.
    """
    found = (read_plan(path, Story) for path in sorted(FOLDER.glob("*.yaml")))
    return {each.name: each for each in found}


def story(name: str) -> Story:
    """The story of a name.

    Raises:
        NoSuchStory: there is none.
    """
    path = FOLDER / f"{name}.yaml"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or not path.is_file():
        raise NoSuchStory(f"there is no story {name!r}; there are {', '.join(stories())}")
    return read_plan(path, Story)
