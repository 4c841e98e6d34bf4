"""The claim of a write: which mode of it, under which transactional id, may deliver.

Two modes of one query commit under different transactional ids, so taking an id does not fence the other mode. A claim
does: it is committed under the group, like a position, and every delivery reads it after it has taken its own id. A
delivery in another mode first commits its own claim, under the transactional id of the present holder. The first claim
of a group is committed under the name of the group. So two drivers cannot claim at once, and whatever the holder had
open in mode *batch* is aborted. What tasks had open in mode *partition* is aborted place by place, before the first
delivery of each place under the new claim.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from zombieproof.pipeline.progress_topic import TOPIC, is_signed
from zombieproof.pipeline.sink.rows import NoIdentity, Place


def partition_id(transactional_id: str, place: Place) -> str:
    """The transactional id under which tasks deliver the rows of one partition of the source."""
    return f"{transactional_id}-{place[0]}-{place[1]}"


MOST_IDS: Final = 20
"""Transactional ids under which one group may be written in mode *partition*: each delivery takes all of them once."""
MOST_BYTES: Final = 4096
"""The longest claim: brokers limit the metadata of a position (`offset.metadata.max.bytes`)."""


class TooManyIds(ValueError):
    """A write in mode *partition* under one more transactional id than a claim keeps."""


class Claim(NamedTuple):
    """A mode of a write that may deliver.

    Attributes:
        mode: *batch* or *partition*.
        by: by what rows written before are known.
        transactional_id: of the query; tasks add topic and partition.
        generation: number of the claim: positions hold that of the claim under which they were committed.
        partition_ids: the transactional ids of all claims so far in mode *partition*.
    """

    mode: str
    by: str
    transactional_id: str
    generation: int = 0
    partition_ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The mode and the id, for messages."""
        return f"mode {self.mode}, exactlyOnceBy {self.by}, transactional id {self.transactional_id}"

    def is_of(self, own: "Claim") -> bool:
        """Whether it is a claim of the same mode under the same id."""
        return self[:3] == own[:3]

    def after(self, found: "Claim | None") -> "Claim":
        """This claim as the next one after the one that was found.

        Raises:
            TooManyIds: earlier claims had other transactional ids in mode *partition*.
        """
        earlier = set(found.partition_ids if found else ())
        ids = earlier | ({self.transactional_id} if self.mode == "partition" else set())
        made = self._replace(generation=found.generation + 1 if found else 1, partition_ids=tuple(sorted(ids)))
        is_longer, is_too_long = len(ids) > len(earlier), len(made.metadata().encode()) > MOST_BYTES
        if is_longer and earlier and (len(ids) > MOST_IDS or is_too_long):
            raise TooManyIds(
                f"kafka.transactional.id is {self.transactional_id}, and mode partition wrote under {len(earlier)} "
                f"other ids before ({', '.join(sorted(earlier))}). Use one of these: a transactional id has to be the "
                "same in each deployment; without the option it is the name of the group"
            )
        return made

    def ids_to_fence(self, place: Place, own_id: str) -> list[str]:
        """The ids under which earlier claims may still have rows of a place in an open transaction."""
        return [each for id_ in self.partition_ids if (each := partition_id(id_, place)) != own_id]

    def metadata(self) -> str:
        """The text that is committed as the claim."""
        return json.dumps({"zombieproof": 2, "claim": self._asdict()}, separators=(",", ":"))

    @classmethod
    def of_metadata(cls, text: str) -> "Claim | None":
        """Read a claim; None for an empty text, or one of another client.

        Raises:
            NoIdentity: no delivery has written it.
        """
        if not is_signed(text):
            return None
        try:
            said = json.loads(text)["claim"]
            names = said["mode"], said["by"], said["transactional_id"]
            mode, by, id_, *partition_ids = _texts(*names, *said["partition_ids"])
            return cls(mode, by, id_, int(said["generation"]), tuple(partition_ids))
        except (ValueError, KeyError, TypeError) as error:
            raise NoIdentity(text) from error


class Query(NamedTuple):
    """The query that a delivery is a part of.

    Attributes:
        progress_topic: the compacted topic that keeps positions when the group has lost them.
        has_earlier_batches: whether there are any: if then neither a position nor the progress topic is there, both
            were deleted.
        claim: the mode in which it delivers; None: there are no modes, every delivery takes the same id.
        progress_id: the id of the progress topic when its checkpoint was written; "": not known.
        newest: the newest batch of its checkpoint when this run began; NONE: it had none; None: not known.
        source_ids: the ids of topics that it reads in another cluster, by `foreign` name.
    """

    progress_topic: str = TOPIC
    has_earlier_batches: bool = False
    claim: Claim | None = None
    progress_id: str = ""
    newest: int | None = None
    source_ids: Mapping[str, str] = MappingProxyType({})


ALONE = Query()
"""A delivery of which no more is known."""


def _texts(*said: object) -> list[str]:
    if not all(isinstance(each, str) for each in said):
        raise TypeError(said)
    return [str(each) for each in said]
