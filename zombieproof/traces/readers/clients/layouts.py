"""The place of a client's statement in a line.

A binding or a logging library puts level, time, thread and names around the text in its own way, or makes the text a
field of a JSON object. The client's own marks are the same in every layout (``[thrd:main]: ``, ``[Producer clientId=``,
``txnmgr/``), so they locate the text, and no layout has to be listed.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

from zombieproof.traces.readers.clients import franz_go, java, kafkajs, librdkafka, sarama
from zombieproof.traces.readers.clients.statement import Library, Table
from zombieproof.traces.readers.timestamps import timestamp_ms

MESSAGE_KEYS: Final = ("message", "msg", "@message", "log", "text", "event", "Message", "@m", "RenderedMessage")
TIME_KEYS: Final = ("time", "timestamp", "@timestamp", "ts", "t", "Timestamp", "@t")
_MILLISECONDS_FROM: Final = 100_000_000_000
"""A number above it counts milliseconds (or less) since 1970, one below it seconds."""

_TIME = re.compile(
    r"(?P<date>\d{4}[-/]\d\d[-/]\d\d)[ T](?P<time>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
    r" ?(?P<zone>Z\b|[+-]\d\d:?\d\d\b)?",
    re.ASCII,
)
_NATIVE = re.compile(r"%\d\|(?P<seconds>\d{1,12})\.(?P<millis>\d{3})\|", re.ASCII)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CTIME = re.compile(
    r"%\d\|[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<time>\d\d:\d\d:\d\d) "
    r"(?P<year>\d{4})\.(?P<millis>\d{3})\|",
    re.ASCII,
)
_BEFORE_TEXT: Final = 200
"""So many characters at the head of a line are searched for its time."""

_THREAD = re.compile(r"\[thrd:[^\]]*\]: ")
_RDKAFKA_NAME = re.compile(r"[^\s\[\]|\"',:;(){}=]+#(?:producer|consumer)-\d+", re.ASCII)
_WITHOUT_THREAD = re.compile(
    r"%\d\|[^|]*\|[A-Z]+\|[^|]*\| (?P<native>.*)"
    r"|\b(?:TXNAPI|TXNSTATE|TXNERR|FATAL|GETPID|ENDTXN)\b[\]:|]*(?: ?\[[^\]]*\])*[:|]? ?(?P<text>[A-Z].*)",
    re.ASCII,
)
_BROKER_PREFIX = re.compile(r"[\w.:\[\]-]+/(?:\d+|bootstrap): ", re.ASCII)
_TELLING = re.compile(rf"\b(?:{'|'.join(sorted(librdkafka.TELLING))})\b")
_JAVA = re.compile(
    r"\[(?P<kind>Producer|Consumer) clientId=(?P<client>[^,\]]*)(?:, transactionalId=(?P<id>[^\]]*)|, [^\]]*)?\] "
    r"|\[TransactionalId (?P<old_id>[^\]]*)\] "
)
_STREAMS = re.compile(r"stream-thread \[(?P<client>[^\]]*)\] (?:(?:stream-)?task \[[^\]]*\] )?")
_CONNECT = re.compile(r"Worker(?:Source|Sink)Task\{id=(?P<client>[^}]*)\} ")
_LOGGER = re.compile(r" \((?:[\w$]+\.)+[\w$]+(?::\d+)?\)", re.ASCII)
_SARAMA = re.compile(r"(?:txnmgr/[a-z-]+ |producer/txnm(?:gr|anager) ).*", re.DOTALL)
_FRANZ = re.compile(
    "(?:" + "|".join(sorted({re.escape(each.begins) for each in franz_go.STATEMENTS})) + ").*", re.DOTALL
)
_FIELDS = re.compile(r"; (?P<fields>\w+: .*)", re.DOTALL)
_NEXT_FIELD = re.compile(r", (?=\w+: )")
_LOGFMT = re.compile(r"\b(?P<key>[\w@.]+)=(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|(?P<bare>\S+))", re.ASCII)
_KAFKAJS = re.compile(
    r"(?:\[\w+\] )?(?P<text>(?:" + "|".join(sorted({re.escape(each.begins) for each in kafkajs.STATEMENTS})) + ").*)",
    re.DOTALL,
)

_RAISED = re.compile(r"(?P<raised>KafkaError\{|kafka: Failed to produce message to topic |KafkaJSProtocolError: )")
_RAISED_BY: Final = {
    "KafkaError{": (Library.LIBRDKAFKA, librdkafka.TABLE),
    "kafka: Failed to produce message to topic ": (Library.SARAMA, sarama.TABLE),
    "KafkaJSProtocolError: ": (Library.KAFKAJS, kafkajs.TABLE),
}
"""How applications print the errors that clients raise."""

LINE_MARKS: Final = (
    "[thrd:",
    "#producer-",
    "KafkaError{",
    "TXNERR",
    "TXNSTATE",
    "TXNAPI",
    "librdkafka: ",
    "[Producer clientId=",
    "[Consumer clientId=",
    "[TransactionalId ",
    "stream-thread [",
    "Task{id=",
    "txnmgr",
    "kafka: Failed to produce message to topic ",
    "KafkaJSProtocolError: ",
    "producer/txnmanager",
    "kafkajs",
    "[Producer] ",
    "[Connection] ",
    "Transaction state transition ",
    "Initialized producer id & epoch",
    *sorted({each.begins for each in (*franz_go.STATEMENTS, *kafkajs.STATEMENTS)} - {"Response "}),
)
"""Each line of a client has one of them."""

_BROKER_CLASS: Final = (
    "(kafka.",
    "(state.change.logger",
    *(
        f"(org.apache.kafka.{part}"
        for part in ("coordinator", "storage", "server", "raft", "controller", "metadata", "image")
    ),
)
"""The beginnings of a broker's class names, which Kafka's own layout prints at the end of a line."""
EXCEPTION_MARK: Final = "org.apache.kafka.common.errors."
CLIENT_LOG_MARKS: Final = (*(mark.encode() for mark in LINE_MARKS), EXCEPTION_MARK.encode())
"""Each log of a client has one of them."""


def may_be_a_clients(line: str) -> bool:
    """Whether a line has a mark of a client and was not printed by a class of a broker."""
    if line.startswith(_BROKER_CLASS, line.rfind("(")):
        return False
    return any(mark in line for mark in LINE_MARKS)


class Utterance(NamedTuple):
    """A client's statement in a line: `client` is its name, "" where the line has none.

    `is_telling`: each text of this kind is in the table; one that is not was not understood.
    """

    library: Library
    table: Table
    client: str
    transactional_id: str | None
    text: str
    values: Mapping[str, str]
    is_telling: bool


@dataclass(slots=True)
class Record:
    """A parsed line: its text, the sources of its time (texts or numbers), and the fields next to the text."""

    text: str
    times: Sequence[object]
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def timestamp_ms(self) -> int | None:
        """The time of the line in milliseconds since 1970; None where it has none."""
        return next((found for each in self.times if (found := _moment(each)) is not None), None)


def record_of(line: str) -> Record:
    """Parse a line: a JSON object, a text followed by a JSON object, ``key=value`` fields, or plain text."""
    at = line.find('{"')
    if at >= 0 and (fields := _json(line[at:])) is not None:
        for nested in [value for value in fields.values() if isinstance(value, dict)]:
            fields = {**nested, **fields}
        messages = [message for key in MESSAGE_KEYS if isinstance(message := fields.get(key), str)]
        text = next(filter(may_be_a_clients, messages), messages[0] if messages else line[:at])
        times = [*(fields[key] for key in TIME_KEYS if key in fields), line[:at]]
        return Record(text.rstrip(), times, {key: _text(value) for key, value in fields.items()})
    if "msg=" in line:
        pairs = {each["key"]: each["quoted"] or each["bare"] or "" for each in _LOGFMT.finditer(line)}
        if "msg" in pairs and "level" in pairs:
            return Record(pairs["msg"], [pairs[key] for key in TIME_KEYS if key in pairs], pairs)
    return Record(line.rstrip(), [line])


def _json(text: str) -> dict[str, object] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _moment(value: object) -> int | None:
    """The time in a field of a JSON object: ISO 8601, or a number of seconds, milliseconds, micro- or nanoseconds."""
    if isinstance(value, str):
        return time_in(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10 * _MILLISECONDS_FROM**2:
        return None
    if value < _MILLISECONDS_FROM:
        return round(value * 1000)
    while value >= 100 * _MILLISECONDS_FROM:
        value /= 1000
    return int(value)


def time_in(line: str) -> int | None:
    """The time at the head of a line, wherever its layout has it; without a zone it is read as UTC."""
    if "%" in line and (moment := _native_time(line)) is not None:
        return moment
    found = _TIME.search(line, 0, _BEFORE_TEXT)
    if found is None or not found["zone"]:
        moment = timestamp_ms(line)
        if found is None or moment is not None:
            return moment
    zone = (found["zone"] or "").replace("Z", "")
    fraction = (found["fraction"] or "0")[:3].ljust(3, "0")
    return _milliseconds(f"{found['date'].replace('/', '-')}T{found['time']}.{fraction}{zone or '+00:00'}")


def _native_time(line: str) -> int | None:
    """The time that librdkafka itself prints: seconds since 1970, or a date."""
    if native := _NATIVE.search(line):
        return int(native["seconds"]) * 1000 + int(native["millis"])
    found = _CTIME.search(line)
    if found is None or found["month"] not in _MONTHS:
        return None
    month = _MONTHS.index(found["month"]) + 1
    return _milliseconds(f"{found['year']}-{month:02}-{int(found['day']):02}T{found['time']}.{found['millis']}+00:00")


def _milliseconds(iso: str) -> int | None:
    """The time that a text in ISO 8601 with a zone says; None for one that no calendar has."""
    try:
        return round(datetime.fromisoformat(iso).astimezone(UTC).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def utterances(record: Record) -> Iterator[Utterance]:
    """Find the statements of clients in a line."""
    text, values = record.text, record.values
    if "[Producer clientId=" in text or "[Consumer clientId=" in text or "[TransactionalId " in text:
        yield from _java(text)
    elif "stream-thread [" in text or "Task{id=" in text:
        yield from _frameworks(text)
    elif raised := _RAISED.search(text):
        library, table = _RAISED_BY[raised["raised"]]
        yield Utterance(library, table, "", None, text[raised.start() :].rstrip(), {}, False)
    elif thread := _THREAD.search(text):
        yield _with_thread(text, thread.start(), thread.end(), values)
    elif found := _WITHOUT_THREAD.search(text):
        yield _without_thread(text, found, values)
    elif "librdkafka: Global error: " in text:
        said = text.partition("librdkafka: Global error: ")[2]
        yield Utterance(Library.LIBRDKAFKA, librdkafka.TABLE, "", None, f"Fatal error: {said}", values, False)
    elif "txnm" in text and (found := _SARAMA.search(text)):
        telling = found[0].startswith(("txnmgr/transition", "txnmgr/init-producer-id"))
        yield Utterance(Library.SARAMA, sarama.TABLE, "", None, found[0].rstrip(), values, telling)
    else:
        yield from _kafkajs_or_franz_go(text, values)


def _java(text: str) -> Iterator[Utterance]:
    found = _JAVA.search(text)
    if found is None:
        return
    consumes = found["kind"] == "Consumer"
    said = _without_logger(text[found.end() :])
    transactional_id = found["id"] if found["old_id"] is None else found["old_id"]
    telling = "TransactionManager" in text and not said.startswith(java.QUIET)
    table = java.CONSUMER_TABLE if consumes else java.PRODUCER_TABLE
    client = found["client"] if found["old_id"] is None else found["old_id"]
    yield Utterance(Library.JAVA, table, client, transactional_id, said, {}, telling)


def _without_logger(said: str) -> str:
    """A text without the class in parentheses that Kafka's own layout puts at its end."""
    said = said.rstrip()
    at = said.rfind(" (") if said.endswith(")") else -1
    return said[:at].rstrip() if at >= 0 and _LOGGER.fullmatch(said, at) else said


def _frameworks(text: str) -> Iterator[Utterance]:
    for library, head, table in (
        (Library.STREAMS, _STREAMS, java.STREAMS_TABLE),
        (Library.CONNECT, _CONNECT, java.CONNECT_TABLE),
    ):
        if found := head.search(text):
            said = _without_logger(text[found.end() :])
            yield Utterance(library, table, found["client"], None, said, {}, False)


def _with_thread(text: str, start: int, end: int, values: Mapping[str, str]) -> Utterance:
    head, said = text[:start], text[end:]
    quote = head[-1:]
    if quote in {"'", '"', "`"}:
        said = re.split(rf"{quote}\s*(?:[,}}].*)?\Z", said, maxsplit=1)[0]
    named = _RDKAFKA_NAME.search(head) or _RDKAFKA_NAME.search(values.get("name", "") or text[end + len(said) :])
    telling = _TELLING.search(head) is not None or values.get("fac") in librdkafka.TELLING
    return _of_librdkafka(said, named[0] if named else "", values, is_telling=telling)


def _without_thread(text: str, found: re.Match[str], values: Mapping[str, str]) -> Utterance:
    """A line of librdkafka whose setting log.thread.name is off."""
    said = found["native"] if found["native"] is not None else found["text"]
    named = _RDKAFKA_NAME.search(text)
    return _of_librdkafka(said, named[0] if named else "", values, is_telling=_TELLING.search(text) is not None)


def _of_librdkafka(said: str, name: str, values: Mapping[str, str], *, is_telling: bool) -> Utterance:
    said = said.rstrip()
    broker = _BROKER_PREFIX.match(said)
    said = said[broker.end() :] if broker else said
    telling = is_telling and "#consumer-" not in name
    return Utterance(Library.LIBRDKAFKA, librdkafka.TABLE, name, None, said, values, telling)


def _kafkajs_or_franz_go(text: str, values: Mapping[str, str]) -> Iterator[Utterance]:
    is_kafkajs = values.get("logger") == "kafkajs" or values.get("namespace") == "Producer" or "kafkajs" in text
    if (is_kafkajs or "[Producer] " in text or "[Connection] " in text) and (found := _KAFKAJS.search(text)):
        client = values.get("clientId", "")
        yield Utterance(Library.KAFKAJS, kafkajs.TABLE, client, None, found["text"].rstrip(), values, False)
    elif found := _FRANZ.search(text):
        said = found[0]
        if not values and (fields := _FIELDS.search(said)):
            pairs = (each.partition(": ") for each in _NEXT_FIELD.split(fields["fields"]))
            values = {key: value for key, _, value in pairs}
            said = said[: fields.start()]
        yield Utterance(Library.FRANZ_GO, franz_go.TABLE, "", None, said.rstrip(), values, False)
