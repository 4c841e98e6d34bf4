"""Faults: broken promises as judges find them, each by itself.

A judge changes nothing that it reads, and no fault of another judge. Which fault explains which is said afterwards
(`explaining.relations`): then what follows from a fault is added to a copy of it.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.catalogue import IN_RECORDINGS
from zombieproof.traces.verdict.circumstances import Circumstances
from zombieproof.traces.verdict.report import Finding, named


class OpenEnd(NamedTuple):
    """A log of which nothing shows that it was given up to its end, and on whose end a fault rests.

    `until_ms`: the fault is certain if the log holds anything that was written later. None: nothing tells.
    """

    place: TopicPartition
    until_ms: int | None

    @property
    def reserve(self) -> str:
        """The second reading of the fault, and what decides between the two."""
        return (
            f"nothing shows that {named(self.place)} was given up to its end: if it was cut, or copied before the "
            "rest, this is not a violation; copy it again, with its newest producer snapshot"
        )


@dataclass(slots=True)
class Fault:
    """A broken promise.

    `place` is None for a fault of a transactional id alone. `repeated` counts further steps with the same fault.
    `consequences` are sentences about what follows from it; `open_end` is the log on whose end it rests.
    """

    promise: str
    message: str
    transactional_id: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    place: TopicPartition | None = None
    offset: int | None = None
    consequences: list[str] = field(default_factory=list)
    open_end: OpenEnd | None = None
    repeated: int = 0
    last_offset: int | None = None
    circumstances: Circumstances = field(default_factory=Circumstances)

    def __post_init__(self) -> None:
        assert self.promise in IN_RECORDINGS, self.promise

    def copied(self) -> "Fault":
        """A copy to which consequences can be added."""
        return replace(self, consequences=[*self.consequences], circumstances=replace(self.circumstances))

    def finding(self) -> Finding:
        """The finding that is reported."""
        again = f" (and {self.repeated} more like it, up to offset {self.last_offset})" if self.repeated else ""
        topic, partition = self.place or (None, None)
        return Finding(
            promise=self.promise,
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            topic=topic,
            partition=partition,
            offset=self.offset,
            message="; ".join([self.message + again, *dict.fromkeys(self.consequences)]),
            circumstances=self.circumstances,
        )
