"""Which releases can have printed a text: the tools changed their words from release to release (reference §9)."""

import re
from collections.abc import Iterator

from zombieproof.traces.evidence import Evidence, Phase
from zombieproof.traces.readers.printed import uncoloured

HEAD = 1 << 16

_OLD_RECORD = re.compile(rb"^offset: \d+ position: \d+ .* isvalid: \w+ keysize: ", re.MULTILINE)
_OLD_BAR = re.compile(rb"^\| offset: \d+ \S+ -?\d+ keysize: ", re.MULTILINE)
_FULL_BAR = re.compile(rb"^\| offset: \d+ isValid: ", re.MULTILINE)
_UPPER_CODEC = re.compile(rb"^baseOffset: .* compresscodec: [A-Z]+ ", re.MULTILINE)
_NO_HORIZON = re.compile(rb"^baseOffset: (?!.* deleteHorizonMs: )", re.MULTILINE)
_SHORT_START = re.compile(rb"^Starting offset: ", re.MULTILINE)
_LONG_START = re.compile(rb"^Log starting offset: ", re.MULTILINE)
_OLD_CONSOLE = re.compile(rb"::(?:TransactionMetadata\(|OffsetAndMetadata\(|GroupMetadata\(|\[|NULL\b)")
_NEW_CONSOLE = re.compile(rb'\{\s*"key"\s*:\s*\{\s*"(?:version|type)"')
_FILLED = re.compile(rb"\S")
_STATE_NAME = re.compile(rb'"transactionStatus":\s*"[A-Za-z]')

_FAR = re.compile(rb"\n(?:Dumping |baseOffset: \d|offset: \d+ position: )")
"""The start of a dump that follows other text."""

_LOGS = (
    (_OLD_RECORD, "0.11 to 2.1"),
    (_OLD_BAR, "2.2 to 2.7"),
    (_FULL_BAR, "2.8"),
    (_UPPER_CODEC, "0.11 to 2.8"),
    (_NO_HORIZON, "3.0 or 3.1"),
    (_SHORT_START, "3.2"),
    (_LONG_START, "3.3 or later"),
)
_DECODERS = (
    (re.compile(rb"key: transaction_metadata::"), "its transaction decoder up to 4.0"),
    (re.compile(rb'key: \{"type":"0","data":\{"transactionalId"'), "its transaction decoder of 4.1 or later"),
    (re.compile(rb"key: offset_commit::"), "its offsets decoder up to 3.7"),
    (re.compile(rb'key: \{"type":"1","data":\{"group"'), "its offsets decoder of 3.8 or later"),
)


def dialects_of_dump(data: memoryview) -> Iterator[str]:
    """What printed a dump, from its beginning; a line that is cut tells nothing."""
    head = bytes(data[:HEAD])
    if len(data) > HEAD and not any(mark.search(head) for mark, _ in _LOGS) and (far := _FAR.search(data)):
        head = bytes(data[far.start() : far.start() + HEAD])
    head = head[: head.rfind(b"\n") + 1]
    if b"\x1b" in head:
        head = uncoloured(head.decode(errors="replace")).encode()
    release = next((release for mark, release in _LOGS if mark.search(head)), None)
    yield f"text of kafka-dump-log, {release}" if release else "text of kafka-dump-log"
    for mark, decoder in _DECODERS:
        if mark.search(head):
            named = "4.4 or later" if _STATE_NAME.search(head) else None
            yield f"text of kafka-dump-log, {'its transaction decoder of ' + named if named else decoder}"


def dialects_of_console(data: memoryview) -> Iterator[str]:
    """What printed the records of a console consumer."""
    begin = _FILLED.search(data)
    start = begin.start() if begin else 0
    head = bytes(data[start : start + HEAD])
    is_old = _OLD_CONSOLE.search(head)
    if is_old:
        yield "text of the console consumer, up to 3.8"
    if not is_old or _NEW_CONSOLE.search(head):
        yield "text of the console consumer, 3.9 or later"


def dialects_of(evidence: Evidence) -> list[str]:
    """Everything that the files are written in, by name."""
    found = set(evidence.dialects)
    if any(log.source == "segment" for log in evidence.logs):
        found.add("segments, record batches of format 2")
    if any(snapshot.file.endswith(".snapshot") for snapshot in evidence.snapshots):
        found.add("producer snapshots")
    if any(entry.file.endswith(".txnindex") for entry in evidence.aborted_transactions):
        found.add("indexes of aborted transactions")
    for line in evidence.coordinator_lines:
        if line.phase is Phase.PREPARE:
            found.add(f"log of a broker, {'4.0 or later' if line.target is None else 'up to 3.9'}")
    if evidence.broker_lines and not any(dialect.startswith("log of a broker") for dialect in found):
        found.add("log of a broker")
    for client_line in evidence.client_lines:
        found.add("log of a client" if client_line.is_java else f"log of a client, {client_line.library}")
    if evidence.client_calls or evidence.client_outcomes:
        found.add("calls of applications")
    values = {
        record.value.client_transaction_version is not None for record in evidence.transaction_states if record.value
    }
    found |= {f"__transaction_state values of version {int(newer)}" for newer in values if evidence.logs}
    found |= {f"{tool}: {count} row{'s' if count != 1 else ''}" for tool, count in evidence.reports.rows.items()}
    return sorted(found)
