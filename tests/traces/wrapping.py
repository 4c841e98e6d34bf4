"""Puts around lines of evidence what people's tools put there, in any composition."""

import csv
import html
import io
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Lines = list[str]

CANONICAL = re.compile(
    r"\[(?P<date>\d{4}-\d\d-\d\d) (?P<clock>\d\d:\d\d:\d\d),(?P<millis>\d{3})\] (?P<level>[A-Z]+) (?P<message>.*)"
    r" \((?P<logger>[\w.$]+)\)",
    re.ASCII,
)


@dataclass(frozen=True)
class Wrapping:
    """A way to wrap lines; `above` is how many lines it puts before the first."""

    name: str
    wrap: Callable[[Lines], Lines]
    above: int = 0


def each(name: str, wrap: Callable[[int, str], str]) -> Wrapping:
    return Wrapping(name, lambda lines: [wrap(number, line) for number, line in enumerate(lines, 1)])


def layout(name: str, wrap: Callable[[re.Match[str]], str]) -> Wrapping:
    """A layout of logs: lines that do not have Kafka's own stay as they are, as those of a stack trace do."""

    def line(_: int, text: str) -> str:
        found = CANONICAL.fullmatch(text)
        return wrap(found) if found else text

    return each(name, line)


def _strimzi(found: re.Match[str]) -> str:
    stamp = f"{found['date']} {found['clock']},{found['millis']}"
    return f"{stamp} {found['level']} {found['message']} ({found['logger']}) [main-1]"


def _log4j2(found: re.Match[str]) -> str:
    stamp = f"{found['date']}T{found['clock']},{found['millis']}"
    return f"{stamp} {found['level']} {found['message']} ({found['logger']}) [data-plane-kafka-request-handler-3]"


def _confluent(found: re.Match[str]) -> str:
    stamp = f"[{found['date']} {found['clock']},{found['millis']}]"
    return f"{stamp} {found['level']} {found['message']} ({found['logger']}:123)"


def _spring(found: re.Match[str]) -> str:
    hour = int(found["clock"][:2])
    clock = f"{hour + 1:02}{found['clock'][2:]}" if hour < 23 else found["clock"]
    offset = "+01:00" if hour < 23 else "Z"
    stamp = f"{found['date']}T{clock}.{found['millis']}{offset}"
    return f"{stamp} {found['level']:>5} 17 --- [app] [ducer | app-1] {found['logger']}   : {found['message']}"


def _logback(found: re.Match[str]) -> str:
    stamp = f"{found['date']} {found['clock']}.{found['millis']}"
    return f"{stamp} [kafka-producer-network-thread | p-1] {found['level']:<5} {found['logger']} -- {found['message']}"


def _flink(found: re.Match[str]) -> str:
    stamp = f"{found['date']} {found['clock']},{found['millis']}"
    return f"{stamp} {found['level']:<5} {found['logger']} [] - {found['message']}"


def _template(found: re.Match[str]) -> str:
    stamp = f"{found['date']}T{found['clock']}.{found['millis']}Z"
    document = {
        "@timestamp": stamp,
        "ecs.version": "1.2.0",
        "log.level": found["level"],
        "message": found["message"],
        "process.thread.name": "main",
        "log.logger": found["logger"],
    }
    return json.dumps(document)


def _logstash(found: re.Match[str]) -> str:
    stamp = f"{found['date']}T{found['clock']}.{found['millis']}000+00:00"
    document = {"@timestamp": stamp, "@version": "1", "message": found["message"], "logger_name": found["logger"]}
    return json.dumps({**document, "thread_name": "main", "level": found["level"], "level_value": 10000})


LAYOUTS = (
    layout("Strimzi", _strimzi),
    layout("log4j2", _log4j2),
    layout("Confluent", _confluent),
    layout("Spring Boot", _spring),
    layout("Logback", _logback),
    layout("Flink", _flink),
    layout("ECS", _template),
    layout("Logstash", _logstash),
)


def _nanos(number: int) -> str:
    return f"2026-11-21T13:{number // 60 % 60:02}:{number % 60:02}.{number % 1_000_000_000:09}Z"


def _docker_json(number: int, line: str) -> str:
    return json.dumps({"log": f"{line}\n", "stream": "stdout", "time": _nanos(number)})


def _journald_json(number: int, line: str) -> str:
    return json.dumps(
        {"__REALTIME_TIMESTAMP": str(number), "_HOSTNAME": "node-1", "SYSLOG_IDENTIFIER": "kafka", "MESSAGE": line}
    )


def _plain_json(_: int, line: str) -> str:
    return json.dumps({"log": line, "kubernetes": {"pod_name": "kafka-0"}, "time": "2026-11-21T13:00:00Z"})


MATCHES = re.compile("offset|producerId|Transaction|INFO|DEBUG|action")

COLOURINGS = (
    each("grep --color", lambda _, line: MATCHES.sub("\x1b[01;31m\x1b[K\\g<0>\x1b[m\x1b[K", line)),
    each(
        "grep --color of one word",
        lambda _, line: line.replace("producerId", "\x1b[01;31m\x1b[KproducerId\x1b[m\x1b[K"),
    ),
)
PAGER = each("pager", lambda number, line: f"--More--\r        \r{line}" if number % 24 == 0 and line else line)
PREFIXES = (
    each("compose", lambda _, line: f"kafka-1  | {line}"),
    each("compose with colours", lambda _, line: f"\x1b[36mkafka-1     |\x1b[0m {line}"),
    each("docker logs -t", lambda number, line: f"{_nanos(number)} {line}"),
    each("kubectl --prefix", lambda _, line: f"[pod/kafka-0/kafka] {line}"),
    each("stern", lambda _, line: f"kafka-0 kafka {line}"),
    each("syslog", lambda number, line: f"Nov 21 13:00:{number % 60:02} node-1 kafka[812]: {line}"),
    each("syslog with priority", lambda number, line: f"<30>Nov  1 13:00:{number % 60:02} node-1 kafka[812]: {line}"),
    each("RFC 5424", lambda number, line: f"<30>1 {_nanos(number)} node-1 kafka 812 - - {line}"),
    each(
        "journald short-iso", lambda number, line: f"2026-11-21T13:00:{number % 60:02}+0100 node-1 kafka[812]: {line}"
    ),
    each("CRI", lambda number, line: f"{_nanos(number)} stdout F {line}"),
    each("docker json-file", _docker_json),
    each("journald json", _journald_json),
    each("collector json", _plain_json),
    each("some prefix", lambda number, line: f"worker ({number}) says >> {line}"),
)


def _csv(dialect: type[csv.Dialect] | str, *, every: bool, heading: Sequence[str]) -> Callable[[Lines], Lines]:
    def wrap(lines: Lines) -> Lines:
        out = io.StringIO()
        writer = csv.writer(out, dialect, quoting=csv.QUOTE_ALL if every else csv.QUOTE_MINIMAL, lineterminator="\n")
        writer.writerow(heading)
        writer.writerows([_nanos(number), "kafka-0", line] for number, line in enumerate(lines, 1))
        return out.getvalue().removesuffix("\n").split("\n")

    return wrap


class _Semicolons(csv.excel):
    delimiter = ";"


def _pretty(lines: Lines) -> Lines:
    """One entry of an export in each line, with the brackets of the array around them."""
    entries = [json.dumps({"timestamp": _nanos(at), "message": line, "id": at}) for at, line in enumerate(lines, 1)]
    return ["[", *(f"{entry}," for entry in entries[:-1]), *entries[-1:], "]"]


EXPORTS = (
    Wrapping("Loki CSV", _csv("excel", every=False, heading=("Time", "pod", "Line")), above=1),
    Wrapping("Datadog CSV", _csv("excel", every=True, heading=("Date", "Host", "Message")), above=1),
    Wrapping("semicolons", _csv(_Semicolons, every=True, heading=("Zeit", "Host", "Nachricht")), above=1),
    each("Splunk JSON", lambda _, line: json.dumps({"preview": False, "result": {"_raw": line, "_time": "x"}})),
    each("logcli", lambda _, line: json.dumps({"labels": {"pod": "kafka-0"}, "line": line, "timestamp": "1"})),
    Wrapping("array of JSON", _pretty, above=1),
)
"""How consoles of log stores export lines."""
PASTES = (
    each("quoted", lambda _, line: f"> {line}"),
    each("quoted without blanks", lambda _, line: f"> {line}" if line else ">"),
    each("quoted twice", lambda _, line: f">> {line}"),
    each("indented", lambda _, line: f"    {line}"),
    each("indented by a tab", lambda _, line: f"\t{line}"),
    each("cat -n", lambda number, line: f"{number:6}\t{line}"),
    each("numbers with colons", lambda number, line: f"{number}: {line}"),
    each("numbers with bars", lambda number, line: f"{number}|{line}"),
    each("numbers with blanks", lambda number, line: f"{number:4} {line}"),
    each("grep -n", lambda number, line: f"logs/server.log:{number}:{line}"),
    each("HTML", lambda _, line: html.escape(line)),
    each("list", lambda _, line: f"- {line}"),
    Wrapping("fence", lambda lines: ["```text", *lines, "```"], above=1),
    Wrapping("Jira", lambda lines: ["{noformat}", *lines, "{noformat}"], above=1),
    Wrapping("prompt", lambda lines: ["root@kafka-0:/# cat it", *lines], above=1),
)
ENDS = ("\n", "\r\n")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be")


def wrapped(data: bytes, wrappings: Sequence[Wrapping], end: str, encoding: str) -> bytes:
    """The text in these forms, the first one innermost."""
    text = data.decode(errors="surrogateescape")
    lines = text.split("\n")
    is_whole = lines[-1] == ""
    lines = lines[:-1] if is_whole else lines
    for each_one in wrappings:
        lines = each_one.wrap(lines)
    whole = end.join(lines) + (end if is_whole else "")
    if encoding[4:6] in ("16", "32"):
        return whole.encode(errors="surrogateescape").decode(errors="replace").encode(encoding)
    return (b"\xef\xbb\xbf" if encoding == "utf-8-sig" else b"") + whole.encode(errors="surrogateescape")


def chosen(choose: random.Random, *, is_log: bool) -> tuple[list[Wrapping], str, str]:
    """A composition as people have it: a layout, what carried the log, and how it was pasted."""
    wrappings = [choose.choice(LAYOUTS)] if is_log and choose.random() < 0.5 else []
    wrappings += choose.sample(COLOURINGS, choose.choice((0, 0, 0, 1)))
    wrappings += choose.sample(PREFIXES, choose.choice((0, 1, 1, 2)))
    wrappings += [choose.choice(EXPORTS)] if choose.random() < 0.2 else []
    is_paged = choose.random() < 0.1
    wrappings += [PAGER] if is_paged else choose.sample(PASTES, choose.choice((0, 1, 1, 2)))
    return wrappings, choose.choice(ENDS), choose.choice(ENCODINGS)
