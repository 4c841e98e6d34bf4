"""Lines by which a text is known as evidence before anything is read of it."""

import re

from zombieproof.traces.readers.dump_text import looks_like_dump
from zombieproof.traces.readers.layouts import is_log_line
from zombieproof.traces.readers.printed import is_changed
from zombieproof.traces.readers.timestamps import HEAD

OTHER_OF_DUMP = re.compile(
    r"(?:Log s|S)tarting offset: \d+$|(?:version: \d+ )?producerId: \d+ (?:producerEpoch|firstOffset): ", re.ASCII
)
CONSOLE = re.compile(
    r"(?P<id>.*)::TransactionMetadata\(transactionalId=(?P=id), .*\)"
    r"|\[[^,\[\]]+,[^,\[\]]+,\d+\]::(?:\[?OffsetMetadata|OffsetAndMetadata|NULL).*"
)
RDKAFKA = re.compile(r"%\d\|\d{1,12}\.\d{3}\|", re.ASCII)
TABLES = re.compile(
    r"TransactionalId\s+(?:Coordinator|ProducerId)|CoordinatorId\s+TransactionalId|ProducerId\s+ProducerEpoch"
    r"|Topic\s+Partition\s+ProducerId|GROUP\s+TOPIC\s+PARTITION|(?:TransactionDescription|TransactionListing|ProducerState)\("
)
WRAPPED = re.compile(r'\{(?:.*?[{,]\s*)?"(?:log|MESSAGE|textPayload|podName)"\s*:\s*["\[]')
"""An object in which a container's runtime, journald or a collector put the line that the evidence is."""

CARRIED = re.compile(r"\[?\d{4}-\d\d-\d\d[ T]|%\d\||baseOffset: |\| offset: |Dumping ", re.ASCII)
_CARRIES = re.compile(rf'\{{(?:.*?[{{,]\s*)?"(?:message|msg|line)"\s*:\s*"(?:{CARRIED.pattern})', re.ASCII)
"""A message that is a whole line itself: an object of a collector."""

COMMAND = re.compile(
    r"(?:^|[\s/\\$#%>❯('\"`])"
    r"(?P<tool>kafka-transactions|kafka-consumer-groups|kafka-get-offsets|kafka-run-class)(?:\.sh|\.bat)?['\"]?\s"
    r"(?P<words>.*)"
)
"""The command line of a tool whose rows do not tell everything: it names their partition or their group."""

_BREAKS = ("<br>", "<br/>", "<br />")

SURE, PERHAPS, NONE_AT_ALL = 2, 1, 0


def weight(line: str) -> int:
    """How sure it is that a line is evidence as its tool wrote it: 2 sure, 1 perhaps, 0 not at all."""
    if line.endswith("\r") or (not line.startswith("| offset: ") and (is_changed(line) or line.endswith(_BREAKS))):
        return NONE_AT_ALL
    if looks_like_dump(line) or OTHER_OF_DUMP.match(line) or RDKAFKA.match(line) or TABLES.match(line):
        return SURE
    if line.startswith("{"):
        is_whole = '"' in line and (line.endswith("}") or '":' in line)
        return SURE if is_whole and not (WRAPPED.match(line) or _CARRIES.match(line)) else NONE_AT_ALL
    if is_log_line(line) or ("::" in line and CONSOLE.fullmatch(line)):
        return SURE
    return PERHAPS if HEAD.match(line) else NONE_AT_ALL


def is_dump_line(line: str) -> bool:
    """Whether payloads may follow the line, which must not be touched."""
    return looks_like_dump(line) or OTHER_OF_DUMP.match(line) is not None
