"""Layouts of the logs of brokers and Java clients, turned into the one that Kafka itself ships.

That is ``[2025-11-28 09:00:00,052] LEVEL message (logger)``, with the time in UTC. Patterns are those of log4j, log4j2
and Logback in the distributions and frameworks that run Kafka; JSON objects are those of log4j2's JsonLayout and
JsonTemplateLayout, the Logstash encoder and ECS. Objects of any other logger stay as they are.
"""

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import NamedTuple

from zombieproof.traces.readers.timestamps import TIME, timestamp_ms, utc

LEVEL = r"\[?(?P<level>TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|SEVERE) *\]?"
LOGGER = r"(?P<logger>[A-Za-z_][\w.$-]*)"
THREAD = r"(?:\[(?!\d{4}-)[^\]]*\] +)?"
CLASS = r"(?P<logger>(?:[A-Za-z_][\w$-]*\.)+[A-Za-z_][\w$-]*|[A-Z][a-z]+[A-Z][\w$]*)"
STAMP = re.compile(rf"\[?(?P<time>{TIME})\]?[ \t]+", re.ASCII)
LEVEL_FIRST = re.compile(rf"{LEVEL}[ \t]+(?=\[?\d{{4}}-\d\d-\d\d[ T])", re.ASCII)
CLOCK = re.compile(r"(?P<time>\d\d:\d\d:\d\d[.,]\d{3}) ", re.ASCII)
SHORT_DATE = re.compile(r"(\d\d)/(\d\d)/(\d\d) (\d\d:\d\d:\d\d) ", re.ASCII)

CANONICAL = re.compile(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) .* \([\w.$-]+\)", re.ASCII
)


class Layout(NamedTuple):
    """What a line's layout is called, and the line as Kafka would have written it."""

    name: str
    text: str


_PATTERNS = (
    (
        "Spring Boot",
        re.compile(rf"{LEVEL} +(?:\d+ +)?--- +(?:\[[^\]]*\] *)+{LOGGER} *: (?P<message>.*)", re.ASCII),
    ),
    (
        "Quarkus",
        re.compile(rf"{LEVEL} +\[{LOGGER}\] +\([^)]*\) +(?P<message>.*)", re.ASCII),
    ),
    (
        "Debezium",
        re.compile(rf"{LEVEL} +[^|\s]*\|[^|\s]*\|[^|\s]* +(?P<message>.*?) +\[{LOGGER}\]\s*", re.ASCII),
    ),
    (
        "logger before the message",
        re.compile(
            rf"{THREAD}{LEVEL} +(?:\[[^\]]*\] +)?{CLASS}(?::\d+)?(?: +\[[^\]]*\])?(?: +\(\S+\))? +--? +"
            r"(?P<message>.*)",
            re.ASCII,
        ),
    ),
    (
        "thread behind the logger",
        re.compile(
            rf"{THREAD}{LEVEL} +(?P<message>.*) +\({CLASS}(?::\d+)?\) +\[[^\]]*\]\s*",
            re.ASCII,
        ),
    ),
    (
        "line number behind the logger",
        re.compile(rf"{THREAD}{LEVEL} +(?P<message>.*) +\({CLASS}:\d+\)\s*", re.ASCII),
    ),
    (
        "logger behind the message",
        re.compile(rf"{THREAD}{LEVEL} +(?P<message>.*) +\({CLASS}\)\s*", re.ASCII),
    ),
)
LAYOUTS = (*(f"log layout, {name}" for name, _ in _PATTERNS), "log layout of Spark", "log layout, JSON")
"""Every name that `layout_of` gives."""

_SPARK = re.compile(rf"{LEVEL} +{LOGGER}: (?P<message>.*)", re.ASCII)
_BARE = re.compile(rf"{LEVEL} +\S", re.ASCII)
_LEVELS = {"WARNING": "WARN", "SEVERE": "ERROR"}


def is_log_line(line: str) -> bool:
    """Whether a line is one of a log with a time and a level, in whichever layout."""
    if CANONICAL.fullmatch(line) or layout_of(line) is not None:
        return True
    head = STAMP.match(line)
    return head is not None and _BARE.match(line, head.end()) is not None


def layout_of(line: str) -> Layout | None:
    """The layout of a line that is not Kafka's own, and the line in Kafka's own; None for any other line."""
    if line.startswith("{"):
        return _of_json(line)
    if line.startswith("[") and CANONICAL.fullmatch(line):
        return None
    first = LEVEL_FIRST.match(line)
    level, line = (f"{first['level']} ", line[first.end() :]) if first else ("", line)
    if head := STAMP.match(line):
        return _of_pattern(_bracketed(head["time"]), level + line[head.end() :])
    if head := CLOCK.match(line):
        return _of_pattern(head["time"], level + line[head.end() :])
    if (head := SHORT_DATE.match(line)) and (found := _SPARK.fullmatch(line, head.end())):
        time = f"20{head[1]}-{head[2]}-{head[3]} {head[4]}"
        return Layout("log layout of Spark", _written(_bracketed(time), found))
    return None


def _of_pattern(time: str, rest: str) -> Layout | None:
    for name, pattern in _PATTERNS:
        if found := pattern.fullmatch(rest):
            return Layout(f"log layout, {name}", _written(time, found))
    return None


def _written(time: str, found: re.Match[str]) -> str:
    return f"{time} {_LEVELS.get(found['level'], found['level'])} {found['message']} ({found['logger']})"


def _bracketed(time: str) -> str:
    """A time as Kafka writes it, in UTC; as it stands if no calendar has it."""
    ms = timestamp_ms(f"{time} ")
    return f"[{time}]" if ms is None else f"[{utc(ms)[:-1].replace('.', ',')}]"


# ---------------------------------------------------------------- JSON

_TIMES = ("@timestamp", "timestamp", "time", "ts", "instant", "timeMillis", "date")
_LEVEL_NAMES = ("level", "log.level", "severity", "levelname")
_SEVERITIES = {7: "DEBUG", 6: "INFO", 5: "INFO", 4: "WARN", 3: "ERROR", 2: "FATAL"}
"""Levels of syslog, which GELF has."""

_LOGGERS = ("logger", "logger_name", "loggerName", "log.logger", "logger.name", "_logger", "class", "category")
_MESSAGES = ("message", "msg", "short_message")
_CLASS = re.compile(r"(?:[A-Za-z_$][\w$-]*\.)+[A-Za-z_$][\w$-]*")
_OF_KAFKA = re.compile(
    r"\[(?:(?:Producer|Consumer|AdminClient) clientId=|Transaction(?:Coordinator id=| State Manager | Marker Channel )"
    r"|ProducerStateManager partition=|GroupCoordinator )"
)


def _of_json(line: str) -> Layout | None:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    flat = {**document}
    for outer in ("log", "process"):
        inner = document.get(outer)
        if isinstance(inner, dict):
            flat.update({f"{outer}.{name}": value for name, value in inner.items()})
    message, logger, level = _first(flat, _MESSAGES), _first(flat, _LOGGERS), _first(flat, _LEVEL_NAMES)
    level = _SEVERITIES.get(level) if isinstance(level, int) else level
    if not (isinstance(message, str) and isinstance(level, str)):
        return None
    logger = logger if isinstance(logger, str) else ""
    if not (_CLASS.fullmatch(logger) or _OF_KAFKA.match(message)):
        return None
    seconds = {"epochSecond": flat.get("timestampSeconds"), "nanoOfSecond": flat.get("timestampNanos", 0)}
    ms = _json_time(seconds if "timestampSeconds" in flat else _first(flat, _TIMES))
    named = _LEVELS.get(level.upper(), level.upper())
    behind = f" ({logger})" if logger else ""
    stamp = f"[{utc(ms)[:-1].replace('.', ',')}] " if ms is not None else ""
    return Layout("log layout, JSON", f"{stamp}{named} {message}{behind}".replace("\n", " "))


def _first(document: Mapping[str, object], names: tuple[str, ...]) -> object:
    return next((document[name] for name in names if name in document), None)


def _json_time(value: object) -> int | None:
    """A text in ISO 8601, milliseconds, seconds with a fraction, or ``{"epochSecond": …, "nanoOfSecond": …}``."""
    if isinstance(value, str):
        return timestamp_ms(f"{value} ")
    if isinstance(value, float):
        return round(value * 1000) if isfinite(value) else None
    if not isinstance(value, dict):
        return value if isinstance(value, int) else None
    second, nanos = value.get("epochSecond", value.get("seconds")), value.get("nanoOfSecond", value.get("nanos", 0))
    return second * 1000 + nanos // 1_000_000 if isinstance(second, int) and isinstance(nanos, int) else None
