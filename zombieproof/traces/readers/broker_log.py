"""Which broker has which partition, and how far it reached, as lines of brokers' logs tell it.

Two kinds of lines are read: those of a producer state manager, which only a broker with a copy of the partition writes,
and the answers to WriteTxnMarkers, which only the leader gives.
"""

import re

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import Hosted
from zombieproof.traces.readers.files import TOPIC_PARTITION
from zombieproof.traces.readers.lines import Lines

SELF = re.compile(
    r"\[(?:TransactionCoordinator id=|Transaction State Manager |Transaction Marker Channel Manager )(\d+)\]"
)
PRODUCER_STATE = re.compile(r"\[ProducerStateManager partition=(?P<place>[a-zA-Z0-9._-]+-\d{1,10})\]")
MANAGER = "ProducerStateManager partition="
SNAPSHOT_AT = re.compile(r"(?:Wrote producer snapshot at offset |SnapshotFile\(offset=)(?P<offset>\d{1,19})\b")
ANSWER = "Received WriteTxnMarker response "
ANSWER_FROM = re.compile(r" from node (?P<node>\d{1,10}) with correlation id")
ANSWERED_TOPIC = re.compile(r"name='(?P<topic>[a-zA-Z0-9._-]+)', partitions=\[(?P<partitions>[^\]]*)\]")
ANSWERED_PARTITION = re.compile(r"partitionIndex=(?P<partition>\d{1,10}), errorCode=0\)")


def read_broker_log(data: memoryview, file: str) -> list[Hosted]:
    """Everything that the log of one broker says about copies of partitions."""
    found: list[Hosted] = []
    own: int | None = None
    lines = Lines(data)
    for line in lines:
        if own is None and "[Transaction" in line and (name := SELF.search(line)):
            own = int(name[1])
        if ANSWER in line and (node := ANSWER_FROM.search(line)):
            found += (Hosted(file, lines.number, place, int(node["node"])) for place in _answered(line))
        elif MANAGER in line and (state := PRODUCER_STATE.search(line)):
            place = _place(state["place"])
            offset = SNAPSHOT_AT.search(line)
            if place is not None and not (lines.ends_open and lines.peek(0) is None):
                found.append(Hosted(file, lines.number, place, None, int(offset["offset"]) if offset else NONE))
    return [
        each if each.node_id is not None else Hosted(file, each.line, each.place, own, each.end_offset)
        for each in found
    ]


def _place(name: str) -> TopicPartition | None:
    found = TOPIC_PARTITION.fullmatch(name)
    return (found["topic"], int(found["partition"])) if found else None


def _answered(line: str) -> list[TopicPartition]:
    return [
        (topic["topic"], int(partition["partition"]))
        for topic in ANSWERED_TOPIC.finditer(line)
        for partition in ANSWERED_PARTITION.finditer(topic["partitions"])
    ]
