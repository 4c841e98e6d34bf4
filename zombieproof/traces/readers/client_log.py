"""Logs of clients: the facts about transactions in each line.

Statements are data (`clients.java`, `clients.librdkafka`, `clients.franz_go`, `clients.sarama`, `clients.kafkajs`), and
`clients.layouts` finds them in a line. Stack traces and settings span several lines: they are read here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from zombieproof.formats.faults import Undecodable
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.traces.evidence import ClientFact, ClientLine, Damage, LinesRead, Unit
from zombieproof.traces.readers.clients.errors import EXCEPTIONS, code_in
from zombieproof.traces.readers.clients.java import SETTINGS
from zombieproof.traces.readers.clients.layouts import (
    EXCEPTION_MARK,
    Record,
    Utterance,
    may_be_a_clients,
    record_of,
    time_in,
    utterances,
)
from zombieproof.traces.readers.clients.librdkafka import call_named
from zombieproof.traces.readers.clients.statement import Library, Statement
from zombieproof.traces.readers.lines import Lines, Reached

_EXCEPTION = re.compile(r"org\.apache\.kafka\.common\.errors\.(?P<name>\w+Exception)(?:: (?P<text>.*))?")
_END_OF_STRING = re.compile(r"\\[nrt]|\"")
_WAITED = (
    re.compile(r"Timeout expired after (?P<limit>\d{1,10}) ?ms while awaiting (?P<what>\w+)"),
    re.compile(r"Timeout expired while (?P<what>initializing transactional state) in (?P<limit>\d{1,10}) ?ms"),
    re.compile(r"Expiring \d+ record\(s\) for (?P<place>\S+?): ?(?P<waited>\d{1,18}) ms has passed since \w+"),
)
_ALSO_ABOUT_TRANSACTIONS: Final = frozenset({"TransactionAbortedException"})
_SETTING = re.compile(r"\s+(?P<name>client\.id|transaction\.timeout\.ms|transactional\.id) = (?P<value>.*)")
_CONTINUES: Final = (" ", "\t", "Caused by: ", "java.", "org.apache.", "Exception in thread", "Suppressed: ")
_BROKER = re.compile(
    r"broker=\d|brokerId=\d|\[(?:Transaction(?:Coordinator| State Manager| Marker)|Group(?:Coordinator| ?Metadata)|"
    r"KafkaApi|ProducerStateManager|UnifiedLog|Log partition|ReplicaManager|Partition )|"
    r"\b(?:kafka\.(?:server|log|coordinator|cluster|network|raft)|"
    r"org\.apache\.kafka\.(?:storage|server|coordinator|controller|raft|metadata|image))\."
)
_FRAMES: Final = 16
"""How many lines after an exception are searched for a broker's class."""
NEAR: Final = 4
"""How many facts before an exception are compared with it, since a client reports the same error twice."""
APPLICATION: Final = "application"
"""The client of an exception that an application printed, which names none."""


class ClientLog(NamedTuple):
    """All that a client's log tells, the lines that are cut, and how many of a client's lines were used.

    Of the lines that a client may print, only those about transactions are evidence.
    """

    lines: list[ClientLine]
    damage: list[Damage]
    read: LinesRead


def read_client_log(data: memoryview, file: str, reached: Reached | None = None) -> ClientLog:
    """Read all that a client's log tells."""
    return _Reader(data, file, reached).read()


@dataclass(slots=True)
class _Trace:
    """A stack trace: the line above it and its number, and the exceptions in it so far."""

    head: str = ""
    number: int = 0
    seen: set[str] = field(default_factory=set)


class _Reader:
    def __init__(self, data: memoryview, file: str, reached: Reached | None) -> None:
        self._lines, self._file = Lines(data, reached), file
        self._found: list[ClientLine] = []
        self._damage: list[Damage] = []
        self._read = LinesRead(file)
        self._trace = _Trace()
        self._settings: dict[str, str] | None = None

    def read(self) -> ClientLog:
        for line in self._lines:
            if self._settings is not None:
                self._read_setting(line)
            try:
                if may_be_a_clients(line):
                    self._read_statements(line)
                if EXCEPTION_MARK in line:
                    self._read_exception(line)
            except Undecodable as fault:
                self._damage.append(Damage(self._file, self._lines.number, str(fault), Unit.LINE))
            if SETTINGS in line:
                self._settings = {}
            if not line.startswith(_CONTINUES) and line.strip():
                self._trace = _Trace(line, self._lines.number)
        named = {line.client for line in self._found if line.library == Library.KAFKAJS} - {Library.KAFKAJS.value}
        if len(named) == 1:
            # Only its connections print the name of a client of kafkajs.
            (name,) = named
            self._found = [
                replace(each, client=name) if each.library == Library.KAFKAJS else each for each in self._found
            ]
        self._read.used = len({each.line for each in self._found})
        return ClientLog(self._found, self._damage, self._read)

    # ---- statements

    def _read_statements(self, line: str) -> None:
        record = record_of(line)
        for said in utterances(record):
            matches = said.table.that_match(said.text, said.values)
            if not matches and said.is_telling:
                self._read.leave_out(f"unknown words of {said.library.value}", self._lines.number)
            for statement, groups in matches:
                if self._may_be_cut(line, said, statement, groups):
                    self._read.leave_out(
                        f"of {said.library.value}, possibly cut by the end of the file", self._lines.number
                    )
                elif statement.fact is not None:
                    self._found.append(self._told(record, said, statement, groups))

    def _may_be_cut(self, line: str, said: Utterance, statement: Statement, groups: Mapping[str, str]) -> bool:
        """Whether the line is the last one of a file without a final line feed, and its last field may be longer."""
        if not self._lines.ends_open or self._lines.peek(0) is not None or not line.rstrip().endswith(said.text):
            return False
        return statement.may_go_on(said.text, groups)

    def _told(self, record: Record, said: Utterance, statement: Statement, groups: dict[str, str]) -> ClientLine:
        words = dict(groups)
        if "commit" in words:
            words["commit"] = "commit" if words["commit"] == "true" else "abort"
        if "call" in words:
            words["call"] = call_named(words["call"])
        if words.get("result", "").startswith("Success"):
            words["result"] = "ok"
        assert statement.fact is not None
        after = statement.after.format_map(words)
        return ClientLine(
            file=self._file,
            line=self._lines.number,
            timestamp_ms=record.timestamp_ms,
            client=said.client or said.library.value,
            transactional_id=groups.get("name", said.transactional_id),
            fact=statement.fact,
            before=statement.before.format_map(words),
            after=after,
            producer_id=_number(groups, "id"),
            producer_epoch=_number(groups, "epoch"),
            library=said.library.value,
            code=_code_of(statement.fact, groups),
            waited_ms=_number(groups, "waited"),
            limit_ms=_number(groups, "limit"),
        )

    # ---- stack traces

    def _read_exception(self, line: str) -> None:
        """An exception of the protocol that a client or an application printed, once for each stack trace."""
        found = _EXCEPTION.search(line)
        if found is None or self._is_told_above(line):
            return
        name, text = found["name"], (found["text"] or "").strip()
        if '{"' in line:
            text = _END_OF_STRING.split(text, maxsplit=1)[0]
        waited = next((match for pattern in _WAITED if (match := pattern.search(text))), None)
        if name not in EXCEPTIONS and name not in _ALSO_ABOUT_TRANSACTIONS and waited is None:
            return
        if name in self._trace.seen or _BROKER.search(self._trace.head) or _BROKER.search(line) or self._is_brokers():
            return
        self._trace.seen.add(name)
        line_of = self._by_whom(line)
        if waited is not None:
            groups = waited.groupdict()
            place = groups.get("place")
            fact, after = ClientFact.WAITED, f"records of {place}" if place else groups["what"]
        else:
            groups, fact, after = {}, ClientFact.ERROR, f"{name}: {text}" if text else name
        self._found.append(
            replace(
                line_of,
                fact=fact,
                after=after,
                code=code_in(name) or code_in(text),
                waited_ms=_number(groups, "waited"),
                limit_ms=_number(groups, "limit"),
            )
        )

    def _is_told_above(self, line: str) -> bool:
        """Whether the line itself, or its client just above, already reported the same error."""
        code = code_in(line)
        for last in self._found[-NEAR:]:
            if last.fact in {ClientFact.ERROR, ClientFact.FAILED} and last.line == self._lines.number:
                return True
            if last.fact is ClientFact.ERROR and code and last.code == code and line.startswith(_CONTINUES):
                client = self._by_whom(line).client
                return client != APPLICATION and client == last.client
        return False

    def _is_brokers(self) -> bool:
        """Whether the frames of a stack trace are a broker's."""
        frames = (self._lines.peek(index) for index in range(_FRAMES))
        for frame in frames:
            if frame is None or not frame.startswith(("\t", " ")):
                return False
            if _BROKER.search(frame):
                return True
        return False

    def _by_whom(self, line: str) -> ClientLine:
        """A line of the client above the stack trace, or of the application."""
        head = line if not line.startswith(_CONTINUES) else self._trace.head
        said = next(iter(utterances(record_of(head))), None) if may_be_a_clients(head) else None
        library = said.library if said is not None else Library.JAVA
        return ClientLine(
            file=self._file,
            line=self._lines.number,
            timestamp_ms=time_in(head),
            client=(said.client if said is not None else "") or APPLICATION,
            transactional_id=said.transactional_id if said is not None else None,
            fact=ClientFact.ERROR,
            before=self._kind_above(),
            after="",
            library=library.value,
        )

    def _kind_above(self) -> str:
        """Return the severity of an exception below a move to an error state (releases up to 2.6)."""
        last = self._found[-1] if self._found else None
        if last is None or last.fact is not ClientFact.STATE or last.line != self._trace.number:
            return ""
        return {"FATAL_ERROR": "fatal", "ABORTABLE_ERROR": "abortable"}.get(last.after, "")

    # ---- settings

    def _read_setting(self, line: str) -> None:
        """A producer prints its settings by name when it starts: how long its transactions may take is one of them."""
        assert self._settings is not None
        if found := _SETTING.fullmatch(line.rstrip()):
            self._settings[found["name"]] = found["value"].strip()
        elif not line.startswith((" ", "\t")):
            self._settings = None
            return
        name = self._settings.get("transactional.id", "")
        limit = self._settings.get("transaction.timeout.ms", "")
        if name in {"", "null"} or not (limit.isdecimal() and len(limit) <= 10):
            return
        self._found.append(
            ClientLine(
                file=self._file,
                line=self._lines.number,
                timestamp_ms=time_in(self._trace.head),
                client=self._settings.get("client.id") or f"producer-{name}",
                transactional_id=name,
                fact=ClientFact.LIMIT,
                before="",
                after="",
                library=Library.JAVA.value,
                limit_ms=int(limit),
            )
        )
        self._settings = None


def _code_of(fact: ClientFact, groups: Mapping[str, str]) -> str:
    """The error that a fact is about, by Kafka's name; "" for facts that are no errors."""
    if fact is ClientFact.WAITED:
        return Error.REQUEST_TIMED_OUT.name
    is_error = fact in {ClientFact.ERROR, ClientFact.FAILED, ClientFact.TOLD, ClientFact.NOTE}
    return code_in(" ".join(groups.values())) if is_error else ""


def _number(groups: Mapping[str, str | None], name: str) -> int:
    value = groups.get(name)
    return NONE if value is None or not value.lstrip("-").isdecimal() else int(value)
