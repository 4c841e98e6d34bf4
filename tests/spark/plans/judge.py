"""The judge of a run: compares the outputs with the result of the plan on the input."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

EXACT, REFUSED, WRONG, UNCLEAR = "exact", "refused", "wrong", "unclear"
"""Results. *Unclear*: the output is right, but the error names no remedy."""

REMEDIES: Final = re.compile(
    r"\b([Uu]se|[Gg]ive|[Ll]eave|[Rr]un the batch again|[Ll]egal (is|are)|[Rr]ead it by one|bring back|set the same)\b"
)
NAMES: Final = (
    (r"\bg(-?\d+)?-\d\b", "GROUP"),
    (r"\bin-?\d*-[ab](-\d)?\b", "INPUT"),
    (r"\bout-?\d*-\d\b", "OUTPUT"),
    (r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID"),
    (r"\b(id was|and is) [A-Za-z0-9+/]{22}\b", r"\1 TOPIC-ID"),
    (r"/[0-9a-f]{12}\b", "/PLAN"),
    (r"\b\d+ (rows|other)\b", r"N \1"),
    (r"\b(batch|task|tasks|attempt|partition) \d+", r"\1 N"),
)
"""What differs between two runs of one kind, and what stands for it on the page."""
OURS: Final = re.compile(
    r"\b(?:[A-Za-z_]+\.)*"
    r"(?P<name>DeliveryError|Illegal(?:Rows|Option|Setting)|UnsuitablePlan|TakenGroup|StagedRowsLost|NoIdentity"
    r"|ProgressUnusable|RangeNotRead|NoSuchTopic|BrokersUnavailable|RefusedByBrokers|TopicRemade|OutOfOrder): "
)


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not exact in an output.

    Attributes:
        hidden: offsets that readers of committed records do not reach, because a transaction is open.
    """

    lost: int = 0
    duplicated: int = 0
    foreign: int = 0
    hidden: int = 0

    def __str__(self) -> str:
        counts = {
            "lost": self.lost,
            "duplicated": self.duplicated,
            "foreign": self.foreign,
            "hidden": self.hidden,
        }
        return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def difference(found: Counter[str], expected: Counter[str], hidden: int = 0) -> Difference:
    """Compare an output with what belongs there."""
    more = found - expected
    return Difference(
        (expected - found).total(),
        sum(count for row, count in more.items() if row in expected),
        sum(count for row, count in more.items() if row not in expected),
        hidden,
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a run, and what is to be said of it.

    Attributes:
        struck: False if a driver did not come to the point where it should have died or stood still.
    """

    result: str
    says: str = ""
    struck: bool = True


def judged(differences: Sequence[Difference], error: str | None) -> Verdict:
    """Judge a run by its outputs, and by the first line of the error that ended it; None: no error did."""
    if any(each.duplicated or each.foreign for each in differences) or (
        error is None and any(each.lost or each.hidden for each in differences)
    ):
        said = "; ".join(f"output {number}: {each}" for number, each in enumerate(differences) if str(each))
        return Verdict(WRONG, said + ("" if error is None else f"; and {error}"))
    if error is None:
        return Verdict(EXACT)
    return Verdict(REFUSED if REMEDIES.search(error) else UNCLEAR, general(error))


def general(line: str) -> str:
    """A line without the names and numbers of its run."""
    for pattern, instead in NAMES:
        line = re.sub(pattern, instead, line)
    return line


def first_line(error: BaseException) -> str:
    """The first line of an error as a user sees it, without what Spark puts before it."""
    line = next(iter(str(error).splitlines()), "")
    found = OURS.search(line)
    return f"{type(error).__name__}: {line}" if found is None else line[found.start("name") :]
