"""The partition that the name of a dump names, for dumps whose ``Dumping`` line is missing or has no folder.

People name a dump after its partition, with words around it: ``orders-0.txt``, ``dump-orders-0.txt``,
``kafka-0-orders-3.log.txt``. A name that can be read in two ways is read without the words around it, and the report
shows both readings. A name without a topic (``dump-1.txt``, ``KAFKA-9144.txt``, a date) names no partition.
"""

import re
from dataclasses import dataclass

from zombieproof.traces.readers.files import BROKER_NAME, Place, place_of, plain_name

_BESIDE = (
    "(?:kafka|console|dump|dumps|dumped|log|logs|segment|segments|topic|partition|batches|records|state|data|text"
    "|out|output|copy|printed)"
)
_NAMED = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]{1,249}?)-(?P<partition>0|[1-9]\d{0,4})"
    rf"(?:[-_.]\d{{20}})?(?:[-_. ]{_BESIDE})*(?: ?\(\d+\))?(?:\.[A-Za-z]\w*)*",
    re.ASCII | re.IGNORECASE,
)
_INTERNAL = re.compile(
    r"(?P<topic>__transaction_state|__consumer_offsets)-(?P<partition>0|[1-9]\d{0,4})(?!\d)", re.ASCII
)
_NODE = re.compile(r"(?:[a-z0-9-]*kafka|broker|controller|node|pod|server)-?\d+[-_.]", re.ASCII | re.IGNORECASE)
_WORD = re.compile(rf"{_BESIDE}[-_.]", re.ASCII | re.IGNORECASE)
_NO_TOPIC = re.compile(
    "(?:dumps?|logs?|kafka|brokers?|controller|node|pod|server|segments?|part|partition|file|output|case|issue"
    "|paste|untitled)",
    re.ASCII | re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?!\d)")


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """The partition that a name names, and what the name may mean as well (empty: nothing)."""

    place: Place
    or_else: str = ""

    @property
    def told(self) -> str:
        """Both readings in words."""
        chosen = f"{self.place.topic}-{self.place.partition}"
        return f"{chosen}, which may as well be {self.or_else}" if self.or_else else chosen


def partition_named_by(file: str) -> NamedPlace | None:
    """The partition that the name of a file names, else the one of the folder that it lies in."""
    name = plain_name(file)
    folder = file.replace("\\", "/").rpartition("/")[0]
    if found := _INTERNAL.search(name):
        return NamedPlace(Place(found["topic"], int(found["partition"]), folder))
    rest, replica = _without_words(name)
    found = None if _DATE.search(name) else _NAMED.fullmatch(rest)
    if found is None or _NO_TOPIC.fullmatch(found["topic"]):
        place = place_of(file)
        return NamedPlace(place) if place.is_known else None
    place = Place(found["topic"], int(found["partition"]), replica or folder)
    whole = _NAMED.fullmatch(name)
    or_else = "" if whole is None or rest == name else f"{whole['topic']}-{whole['partition']}"
    return NamedPlace(place, or_else)


def _without_words(name: str) -> tuple[str, str]:
    """A name without the words and the node in front of its topic, and that node if it is named as brokers are."""
    rest, replica = name, ""
    while True:
        found = _NODE.match(rest) or _WORD.match(rest)
        if found is None or _NAMED.fullmatch(rest[found.end() :]) is None:
            return rest, replica
        node = found[0].rstrip("-_.")
        replica = node if BROKER_NAME.fullmatch(node) else replica
        rest = rest[found.end() :]
