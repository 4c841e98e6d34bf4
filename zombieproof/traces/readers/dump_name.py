"""The partition that the name of a file names, for dumps without their ``Dumping`` line and tables without a command.

People name a dump after its partition, with words around it: ``orders-0.txt``, ``dump-orders-0.txt``,
``kafka-0-orders-3.log.txt``. A name that can be read in two ways is read without the words around it, and the report
shows both readings. A name without a topic (``dump-1.txt``, ``KAFKA-9144.txt``, ``kafka-2.txt``, a date) names no
partition. The name of a folder counts only in the directory of a broker.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from zombieproof.traces.readers.files import BROKER_NAME, Place, base_offset_of, place_of, plain_name

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
    "(?:dumps?|logs?|segments?|part|partition|file|output|case|issue|paste|untitled|tickets?|incidents?|inc|bugs?|jira"
    "|support|request|task|story|change|day|week|run|attempt|test|try|step|copy|new|prod|staging|dc|zone|rack"
    "|(?:.*[-_.])?(?:kafka|brokers?|controllers?|node|pod|server|host|machine|vm|ip|zookeeper|zk))",
    re.ASCII | re.IGNORECASE,
)
_TICKET = re.compile(r"[A-Z][A-Z0-9]+-\d{3,}", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?!\d)|(?<!\d)(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?!\d)", re.ASCII)
_LETTER = re.compile("[A-Za-z]")
_LOG_DIRECTORY = re.compile(
    r"(?=.*(?:kafka|kraft|broker))(?:(?:kafka|kraft|combined|logs?|data|disk|brokers?)[-_.]?\d*[-_.]?)+",
    re.ASCII | re.IGNORECASE,
)
"""What brokers' directories are called, such as ``kafka-logs``, ``kraft-combined-logs`` and ``kafka-log0``."""
_BESIDE_LOGS = ("partition.metadata", "leader-epoch-checkpoint")

BY_NAME = "the partition of a dump from its name"
"""How the report begins to say whence it has the partition of a dump."""


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """The partition that a name names, and what the name may mean as well (empty: nothing)."""

    place: Place
    or_else: str = ""
    is_of_folder: bool = False

    @property
    def told(self) -> str:
        """Both readings in words."""
        chosen = f"{self.place.topic}-{self.place.partition}{', the name of its folder' if self.is_of_folder else ''}"
        return f"{chosen}, which may as well be {self.or_else}" if self.or_else else chosen


def partition_named_by(file: str) -> NamedPlace | None:
    """The partition that the name of a file names, else the one whose folder in a broker's directory it lies in."""
    name = plain_name(file)
    folder = file.replace("\\", "/").rpartition("/")[0]
    if found := _INTERNAL.search(name):
        return NamedPlace(Place(found["topic"], int(found["partition"]), folder))
    rest, replica = _without_words(name)
    found = None if _DATE.search(name) or _TICKET.match(rest) else _NAMED.fullmatch(rest)
    if found is None or not _is_topic(found["topic"]):
        return _named_by_folder(file, folder)
    place = Place(found["topic"], int(found["partition"]), replica or folder)
    whole = _NAMED.fullmatch(name)
    or_else = "" if whole is None or rest == name else f"{whole['topic']}-{whole['partition']}"
    return NamedPlace(place, or_else)


def _is_topic(name: str) -> bool:
    """Whether a name may be that of a topic: numbers, and what people call hosts and tickets, is none."""
    return _LETTER.search(name) is not None and not _NO_TOPIC.fullmatch(name)


def _named_by_folder(file: str, folder: str) -> NamedPlace | None:
    above, _, own = folder.rpartition("/")
    place = place_of(file)
    if not place.is_known or not _is_topic(place.topic) or _DATE.search(own) or _TICKET.fullmatch(own):
        return None
    if base_offset_of(file) is not None:
        return NamedPlace(place)
    is_brokers = _INTERNAL.fullmatch(own) or _LOG_DIRECTORY.fullmatch(above.rpartition("/")[2]) or _holds_a_log(folder)
    return NamedPlace(place, is_of_folder=True) if is_brokers else None


def _holds_a_log(folder: str) -> bool:
    """Whether files lie in a folder that only a broker writes."""
    try:
        names = [path.name for path in Path(folder).iterdir()]
    except OSError:
        return False
    return any(name in _BESIDE_LOGS or base_offset_of(name) is not None for name in names)


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
