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
WRAPPED = re.compile(
    r'\{(?:.*?[{,]\s*)?"(?:(?:log|MESSAGE|textPayload|podName|_raw|Line|@message|@mt)"\s*:\s*["\[]'
    r'|line"\s*:\s*"(?:[^"]* |\{)|values"\s*:\s*\[\s*\["\d)'
)
"""An object in which a container's runtime, journald or a collector put the line that the evidence is."""

INSIDE = re.compile(
    r"Dumping \S*\d{20}\.|baseOffset: \d+ lastOffset: |\| offset: \d+ |(?<!\| )\boffset: \d+ position: \d+ "
    r"|\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3}\S* |%\d\|\d+\.\d{3}\||\{\"",
    re.ASCII,
)
"""Where in a line evidence may begin."""
_IN_A_STRING = re.compile(
    r"baseOffset: \d+ lastOffset: |\| offset: \d+ |Dumping \S*\d{20}\."
    r'|(?:"|\\n)\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] [A-Z]{4,5} ',
    re.ASCII,
)
"""Lines of a tool or of a broker's log, which are in an object only if something put them there."""

CARRIED = re.compile(r"\[?\d{4}-\d\d-\d\d[ T]|%\d\||baseOffset: |\| offset: |Dumping ", re.ASCII)
_CARRIES = re.compile(
    rf'\{{(?:.*?[{{,]\s*)?"(?:message|msg|line)"\s*:\s*"'
    rf'(?:{CARRIED.pattern}|<\d{{1,3}}>|[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d|\[pod/|\{{\\"'
    rf'|(?:[^"\\]|\\.)*\{{\\"(?:key|t|id|log|MESSAGE|__\w+)\\"\s*:)',
    re.ASCII,
)
"""A message that is a whole line itself: an object of a collector."""

COMMAND = re.compile(
    r"(?:^|[\s/\\$#%>❯('\"`])"
    r"(?P<tool>kafka-transactions|kafka-consumer-groups|kafka-get-offsets|kafka-run-class)(?:\.sh|\.bat)?['\"]?\s"
    r"(?P<words>.*)"
)
"""The command line of a tool whose rows do not tell everything: it names their partition or their group."""

_OTHER = r'(?:[\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\uff02]|""|\\+")'
OTHER_QUOTES = re.compile(rf" (?:key|payload): \{{{_OTHER}(?:type|version){_OTHER}")
OTHER_OBJECT = re.compile(rf"\{{\s*{_OTHER}\w+{_OTHER}\s*:")
"""Objects whose quotation marks are not those of JSON."""

_BREAKS = ("<br>", "<br/>", "<br />")

SURE, PERHAPS, NONE_AT_ALL = 2, 1, 0


def weight(line: str) -> int:
    """How sure it is that a line is evidence as its tool wrote it: 2 sure, 1 perhaps, 0 not at all."""
    if line.endswith("\r") or (not line.startswith("| offset: ") and (is_changed(line) or line.endswith(_BREAKS))):
        return NONE_AT_ALL
    if looks_like_dump(line) or OTHER_OF_DUMP.match(line) or RDKAFKA.match(line) or TABLES.match(line):
        return SURE
    if line.startswith("{"):
        is_whole = '"' in line and (line.endswith("}") or '":' in line) and not line.startswith(('{""', '{\\"'))
        is_carrier = any(mark.match(line) for mark in (WRAPPED, _CARRIES)) or _IN_A_STRING.search(line)
        return SURE if is_whole and not is_carrier else NONE_AT_ALL
    if is_log_line(line) or ("::" in line and CONSOLE.fullmatch(line)):
        return SURE
    return PERHAPS if HEAD.match(line) else NONE_AT_ALL


def has_other_quotes(line: str) -> bool:
    """Whether a decoder printed the line, and its quotation marks were doubled, escaped or made typographic."""
    return OTHER_QUOTES.search(line) is not None if is_dump_line(line) else OTHER_OBJECT.match(line) is not None


def is_dump_line(line: str) -> bool:
    """Whether payloads may follow the line, which must not be touched."""
    return looks_like_dump(line) or OTHER_OF_DUMP.match(line) is not None
