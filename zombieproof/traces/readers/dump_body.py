"""Keys and payloads that ``kafka-dump-log`` prints behind a record's header keys (reference §9.1, §9.3)."""

from collections.abc import Callable

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.traces.readers.dump_lines import RecordLine
from zombieproof.traces.readers.lines import Lines

STRUCTURE = (
    "| offset: ",
    "offset: ",
    "baseOffset: ",
    "Dumping ",
    "Log starting offset: ",
    "Starting offset: ",
    "Found ",
)
"""How the tool's own lines begin."""

DECODERS = {TRANSACTION_STATE: "--transaction-log-decoder", CONSUMER_OFFSETS: "--offsets-decoder"}
"""The option of the tool that decodes an internal topic."""
OF_INTERNAL_TOPICS = {
    "transaction_metadata::": TRANSACTION_STATE,
    "transactionalId=": TRANSACTION_STATE,
    '{"type":"0","data":{"transactionalId":': TRANSACTION_STATE,
    "offset_commit::": CONSUMER_OFFSETS,
    "group_metadata::": CONSUMER_OFFSETS,
    '{"type":"0","data":{"group":': CONSUMER_OFFSETS,
    '{"type":"1","data":{"group":': CONSUMER_OFFSETS,
    '{"type":"2","data":{"group":': CONSUMER_OFFSETS,
}
"""How decoded keys begin, and of which topic such a key is."""
OTHER_KEYS = ('{"type":"', "offset::", "metadata::", "unknown::", "Unknown record type", "Error at offset")
"""Other keys that a decoder prints. Neither `offset::` nor `{"type":"` says whose decoder it was."""
UNKNOWN_TYPES = ("unknown::", "Unknown record type")
OFFSETS_TYPES = ("unknown::version=", "Unknown record type ")
"""How the decoder of the transaction log prints the key of an offset commit (0, 1) or of a group (2)."""

NOT_DECODED = "was dumped without its decoder"
OTHER_DECODER = "was dumped with the decoder of another topic"
REPLACED = "\ufffd"


def topic_of_key(body: str) -> str:
    """The internal topic that a decoded key is of; empty where the key does not say so."""
    return next((topic for start, topic in OF_INTERNAL_TOPICS.items() if body.startswith(start)), "")


def why_not_decoded(body: str, topic: str) -> str:
    """Why the record of an internal topic is not shown decoded, `NOT_DECODED` or `OTHER_DECODER`; empty if it is.

    Raises:
        Undecodable: the line is cut in a key that a decoder printed.
    """
    keys = (*OF_INTERNAL_TOPICS, *OTHER_KEYS)
    if any(key.startswith(body) and key != body for key in keys):
        raise Undecodable("the line of a record is cut")
    if not body.startswith(keys):
        return NOT_DECODED
    start = next((start for start in OFFSETS_TYPES if body.startswith(start)), None)
    is_offsets = start is not None and body.removeprefix(start)[:1] in tuple("012") and topic == CONSUMER_OFFSETS
    return OTHER_DECODER if is_offsets or topic_of_key(body) not in ("", topic) else ""


def size_of(record: RecordLine) -> int | None:
    """Bytes that ``key: … payload: …`` should have; None when neither is printed."""
    if record.rest.startswith("key: ") and record.key_size >= 0:
        return len("key: ") + record.key_size + (len(" payload: ") + record.value_size if record.value_size >= 0 else 0)
    if record.rest.startswith("payload: ") and record.value_size >= 0:
        return len("payload: ") + record.value_size
    return None


def whole_body(record: RecordLine, lines: Lines, uncertain: Callable[[str], None] = lambda line: None) -> str:
    """Key and payload with the lines that they run over.

    Of a payload that the printing changed, those lines are taken that it may have; `uncertain` hears them. Each
    character that cannot be printed stands for one byte at least.

    Raises:
        Undecodable: the end of the file cuts them.
    """
    body = record.rest
    wanted = size_of(record)
    if not body or wanted is None or (len(body.encode()) >= wanted and REPLACED not in body):
        return body
    parts, size = [body], len(body.encode())
    while size < wanted and (line := lines.peek(len(parts) - 1)) is not None:
        parts.append(line)
        size += 1 + len(line.encode())
    if size == wanted and REPLACED not in body:
        for _ in parts[1:]:
            lines.take()
        return "\n".join(parts)
    if lines.peek(0) is None and lines.ends_open and not set("?" + REPLACED) & set(body):
        raise Undecodable(f"the last record has {len(body.encode())} bytes of {wanted}: the line is cut")
    least = _least(body)
    while (line := lines.peek(0)) is not None and not line.startswith(STRUCTURE):
        least += 1 + _least(line)
        if least > wanted:
            break
        lines.take()
        uncertain(line)
    return body


def _least(text: str) -> int:
    """How many bytes a printed text has at least."""
    return len(text.encode()) - (len(REPLACED.encode()) - 1) * text.count(REPLACED)


def split(body: str, record: RecordLine) -> tuple[bytes | None, bytes | None, bool]:
    """Key, value, and whether both are shown as they are in the log."""
    text = body.encode()
    if REPLACED in body or len(text) != size_of(record):
        return None, None, record.key_size < 0 and record.value_size < 0
    if body.startswith("payload: "):
        return None, text[len("payload: ") :], True
    key, behind = text[5 : 5 + record.key_size], text[5 + record.key_size :]
    if record.value_size < 0:
        return key, None, True
    return (key, behind[10:], True) if behind.startswith(b" payload: ") else (None, None, False)
