"""Defects of Kafka's own releases that were seen on a broker or a client: which, from which release to which.

Every text that names the releases of one of them takes them from here. When a release comes out, ask it, and move
`last`.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class KnownDefect:
    """One defect.

    Attributes:
        bug: its entry in docs/bugs.md, or the next free number there.
        issues: how it is known in public; empty where it is not.
        title: what goes wrong.
        part: broker, or client.
        first, last: the first and the newest release known to have it; `last` is the newest that was asked, and the
            newest of all while the defect is open.
        where: what else it takes ("" where nothing does).
        seen: how that is known.
        rule: the field of `Rules` that is off in these releases ("" where there is none).
    """

    bug: str
    issues: tuple[str, ...]
    title: str
    part: str
    first: str
    last: str
    where: str
    seen: str
    rule: str = ""

    @property
    def releases(self) -> str:
        """The releases in words, with what they are releases of."""
        subject = "the Java client" if self.part == "client" else "Kafka"
        where = f", {self.where}" if self.where else ""
        return f"{subject} {self.span}{where}"

    @property
    def span(self) -> str:
        """The first and the last release, or the only one."""
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


KNOWN_DEFECTS: Final = (
    KnownDefect(
        "B73",
        ("KAFKA-20734",),
        "the coordinator skips the marker of a partition that has no live leader",
        "broker",
        "4.1",
        "4.4.0",
        "",
        "4.3.1 and 4.4.0 recorded; 3.9.1 does it right; a regression of KAFKA-17573, which came after 4.0",
        rule="marker_waits_for_leader",
    ),
    KnownDefect(
        "B74",
        (),
        "a refused offset commit of an older epoch erases the pending offset of the live producer",
        "broker",
        "0.11.0",
        "3.9.2",
        "with the Scala group coordinator",
        "3.9.1 and 3.9.2 asked, older releases have the same code; 4.3.1 and 4.4.0 do it right",
        rule="refused_commit_keeps_pending",
    ),
    KnownDefect(
        "B75",
        ("KAFKA-20785",),
        "a commit that races the coordinator's own abort is answered INVALID_TXN_STATE, which is fatal",
        "broker",
        "4.0",
        "4.4.0",
        "at transaction version 2",
        "4.3.1 and 4.4.0 asked; the repair was merged after the branch of 4.4.0",
    ),
    KnownDefect(
        "B79",
        (),
        "a producer that commits offsets by topic id never recovers from a topic that is created again",
        "client",
        "4.4.0",
        "4.4.0",
        "against a broker that takes TxnOffsetCommit 6",
        "clients 4.3.1 and 4.4.0 asked; 4.4.0 recorded",
    ),
    KnownDefect(
        "B80",
        (),
        "deleting a group discards the offsets of an open transaction, whose commit is then acknowledged",
        "broker",
        "4.3.1",
        "4.4.0",
        "older releases were not asked",
        "4.3.1 and 4.4.0 asked",
    ),
    KnownDefect(
        "B81",
        ("KAFKA-20357", "KAFKA-20310"),
        "a repeated InitProducerId after a failover of the coordinator fences its own producer",
        "broker",
        "2.5",
        "4.4.0",
        "",
        "4.3.1 and 4.4.0 asked, at transaction versions 0 and 2",
    ),
    KnownDefect(
        "B82",
        (),
        "a late copy of a fence's ABORT marker voids the verification of the next epoch",
        "broker",
        "4.3.1",
        "4.4.0",
        "at transaction version 2; older releases were not asked",
        "4.3.1 and 4.4.0 asked",
    ),
)
"""By entry. B33 is the family of B75, and B76 to B78 are defects of others than Kafka."""


def defect(bug: str) -> KnownDefect:
    """The defect of an entry.

    Raises:
        KeyError: there is none.
    """
    found = next((each for each in KNOWN_DEFECTS if each.bug == bug), None)
    if found is None:
        known = ", ".join(each.bug for each in KNOWN_DEFECTS)
        raise KeyError(f"{bug} is not a known defect of Kafka; those are {known}")
    return found
