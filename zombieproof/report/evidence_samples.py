"""Samples on the page *What can I paste?*: text from the readers' tables and from files that the tests read too."""

from json import JSONDecoder
from pathlib import Path
from typing import NamedTuple

from zombieproof.traces.evidence import ClientFact
from zombieproof.traces.readers.clients import franz_go, java, kafkajs, librdkafka, sarama
from zombieproof.traces.readers.clients.statement import Library
from zombieproof.traces.readers.statements_of_coordinators import COORDINATORS
from zombieproof.traces.readers.statements_of_partitions import PARTITIONS

ROOT = Path(__file__).parents[2]
TOOLS = "tests/traces/tool_output"
DUMPS = "tests/recordings/01-commit/dump"


def lines_of(path: str, count: int) -> str:
    """The first lines of a file in the repository that are not blank."""
    lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
    return "\n".join([line.rstrip() for line in lines if line.strip()][:count])


def objects_of(path: str, count: int) -> str:
    """The first JSON objects of a file in the repository, each on a line of its own."""
    text, at, found = (ROOT / path).read_text(encoding="utf-8"), 0, []
    for _ in range(count):
        start, at = at, JSONDecoder().raw_decode(text, at)[1]
        found.append(text[start:at])
    return "\n".join(found)


def printed_by_brokers() -> str:
    """A line of a coordinator and one of a partition."""
    chosen = (("timed_out", COORDINATORS), ("append_failed", PARTITIONS))
    return "\n".join(next(row.printed for row in table if row.name == name and row.printed) for name, table in chosen)


def printed_by_clients() -> dict[Library, str]:
    """A line of each client library: its first error, or its first statement where it prints none."""
    tables = (
        *(java.PRODUCER_TABLE, java.CONSUMER_TABLE, java.STREAMS_TABLE, java.CONNECT_TABLE),
        *(librdkafka.TABLE, franz_go.TABLE, sarama.TABLE, kafkajs.TABLE),
    )
    statements = [each for table in tables for each in table.statements if each.line]
    errors = [each for each in statements if each.fact is ClientFact.ERROR]
    return {each.library: each.line for each in reversed([*errors, *statements])}


class FormExample(NamedTuple):
    """A form around a line: as the page shows it, and how a program puts it around one where that differs.

    `LINE` stands for the line; in `template`, ESC and CR stand for those characters.
    """

    shown: str
    template: str = ""

    def around(self, line: str) -> str:
        """The line in this form."""
        text = (self.template or self.shown).replace("ESC", "\x1b").replace("CR", "\r")
        return text.replace("LINE", line)


_STAMP = "2026-11-21T13:21:32.307123456Z"

FORMS = {
    "prefixes of docker compose": FormExample("kafka-0  | LINE"),
    "lines of containerd (CRI)": FormExample(f"{_STAMP} stdout F LINE"),
    "prefixes of kubectl logs": FormExample("[pod/kafka-0/kafka] LINE"),
    "times of docker or kubectl logs": FormExample(f"{_STAMP} LINE"),
    "syslog (RFC 5424)": FormExample(f"<14>1 {_STAMP} host-1 kafka 812 - - LINE"),
    "syslog or journald": FormExample("Nov 21 13:21:32 host-1 kafka[812]: LINE"),
    "prefixes of stern": FormExample("kafka-0 kafka LINE"),
    "prefixes of kail": FormExample("shop/kafka-0[kafka]: LINE"),
    "lines of grep": FormExample("server.log:118:LINE"),
    "quoted lines (>)": FormExample("> LINE"),
    "ANSI colours": FormExample("`ESC[32mLINEESC[0m`, where ESC is the escape character", "ESC[32mLINEESC[0m"),
    "HTML entities": FormExample('`&lt;`, `&quot;` and others for `<`, `"`', "LINE"),
    "blanks of a web page": FormExample("non-breaking or zero-width blanks in `LINE`", "\u00a0\u00a0LINE"),
    "list items": FormExample("- LINE"),
    "inline code": FormExample("`LINE`"),
    "fences of code": FormExample("{code}LINE"),
    "comments": FormExample("// LINE"),
    "line breaks of HTML": FormExample("LINE<br>"),
    "quotation marks": FormExample('"LINE",'),
    "lines of journalctl -o export": FormExample("MESSAGE=LINE"),
    "remarks behind the line": FormExample("LINE   <-- this one"),
    "a shell's prompt": FormExample("`$ tail -3 server.log`, with `LINE` below it", "$ tail -3 server.log\nLINE"),
    "Windows line ends": FormExample("`LINE` and CR LF", "LINECR"),
    "lines as JSON of a container or of journald": FormExample('{"log":"LINE\\n","stream":"stdout"}'),
    "indentation": FormExample("four blanks and `LINE`", "    LINE"),
    "line numbers": FormExample("118: LINE"),
    "a prefix before each line": FormExample("broker one => LINE"),
    "text that a terminal overwrote (a pager's prompt, or letters printed twice)": FormExample(
        "`--More--CRLINE`, where CR is a carriage return", "--More--CR        CRLINE"
    ),
    "quotation marks that are not those of JSON": FormExample("`{“log”: “LINE”}`", "{“log”: “LINE”}"),
    "messages of logfmt": FormExample('level=info msg="LINE"'),
    "cells of CSV": FormExample(f'{_STAMP},kafka-0,"LINE"'),
    "strings of JSON": FormExample('{"preview":false,"result":{"_raw":"LINE"}}'),
}
"""By name: the fixed forms of `wrappings`, then those that are learned from the first lines of a file."""

_TEXT = "[Producer clientId=c-1, transactionalId=orders-1] ProducerId set to 7 with epoch 2"
_CLASS = "org.apache.kafka.clients.producer.internals.TransactionManager"

LAYOUTS = {
    "log layout, Spring Boot": f"2026-11-21T13:21:32.307Z  INFO 1 --- [shop] [producer-1] {_CLASS} : {_TEXT}",
    "log layout, Quarkus": f"2026-11-21 13:21:32,307 INFO  [{_CLASS}] (executor-1) {_TEXT}",
    "log layout, Debezium": f"2026-11-21 13:21:32,307 INFO   Postgres|shop|task  {_TEXT}   [{_CLASS}]",
    "log layout, logger before the message": f"2026-11-21 13:21:32.307 [main] INFO  {_CLASS} - {_TEXT}",
    "log layout, thread behind the logger": f"2026-11-21 13:21:32,307 INFO {_TEXT} ({_CLASS}) [main]",
    "log layout, line number behind the logger": f"[2026-11-21 13:21:32,307] INFO {_TEXT} ({_CLASS}:1029)",
    "log layout, logger behind the message": f"2026-11-21T13:21:32.307+01:00 INFO {_TEXT} ({_CLASS})",
    "log layout of Spark": f"26/11/21 13:21:32 INFO {_CLASS}: {_TEXT}",
    "log layout, JSON": f'{{"@timestamp":"2026-11-21T13:21:32.307Z","level":"INFO","logger":"{_CLASS}",'
    f'"message":"{_TEXT}"}}',
}
"""By name: the layouts of logs besides Kafka's own, each with a line of a Java client in it."""
