"""Summaries of clients' logs: their ids, their errors, how long transactions were open, and what to collect next.

They are reported, not judged: a client's line is about the client, not about the logs of brokers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from zombieproof.messages.error_advice import MEANINGS, next_step
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.traces.evidence import ClientFact, ClientLine
from zombieproof.traces.readers.clients.statement import Library
from zombieproof.traces.readers.files import plain_name
from zombieproof.traces.readers.timestamps import utc
from zombieproof.traces.verdict.report import ClientError, ClientSeen

_BY_OTHERS: Final = frozenset(
    {Error.PRODUCER_FENCED.name, Error.INVALID_PRODUCER_EPOCH.name, Error.INVALID_TXN_STATE.name}
)
"""Errors of a producer whose transaction was ended by a newer instance or by the coordinator."""

_ERROR_STATES: Final = (
    ("FatalError", "fatal"),
    ("FATAL_ERROR", "fatal"),
    ("AbortableError", "abortable"),
    ("ABORTABLE_ERROR", "abortable"),
)
_RETRIED: Final = frozenset(
    {
        Error.CONCURRENT_TRANSACTIONS.name,
        Error.COORDINATOR_LOAD_IN_PROGRESS.name,
        Error.COORDINATOR_NOT_AVAILABLE.name,
        Error.NOT_COORDINATOR.name,
    }
)
Key = tuple[str, str]
"""A client: its file and its name there."""


@dataclass(frozen=True, slots=True)
class Open:
    """How long a transaction was open when its client met an error; `limit_ms` is None where no line says it."""

    lasted_ms: int
    limit_ms: int | None

    @property
    def timed_out(self) -> bool:
        """Whether the coordinator had to abort it by then."""
        return self.limit_ms is not None and self.lasted_ms > self.limit_ms

    def __str__(self) -> str:
        if self.timed_out:
            return f"aborted by timeout after {seconds(self.lasted_ms)} (limit {seconds(self.limit_ms or 0)})"
        return f"{seconds(self.lasted_ms)} after its transaction began"


@dataclass(slots=True)
class _Client:
    """The state of a client while its lines are read in order.

    `failed` are the severities of errors that its open transaction met. `is_shared`: several instances use the name.
    """

    begun_ms: int | None = None
    limit_ms: int | None = None
    asked_to_begin: bool = False
    is_shared: bool = False
    failed: set[str] = field(default_factory=set)
    lines: list[ClientLine] = field(default_factory=list)


def seconds(ms: int) -> str:
    """A duration in seconds: whole ones from ten on."""
    return f"{ms / 1000:.0f} s" if ms >= 10_000 or ms % 1000 == 0 else f"{ms / 1000:.1f} s"


def open_at_errors(lines: Sequence[ClientLine]) -> dict[int, Open]:
    """By the identity of a line that tells an error: how long its transaction was open by then.

    Only for errors in `_BY_OTHERS`, once for each transaction and severity, and only where the log has the begin of the
    transaction. A name that several instances use at once has no such times.
    """
    found: dict[int, Open] = {}
    limits = {line.transactional_id: line.limit_ms for line in lines if line.transactional_id and line.limit_ms != NONE}
    for client in _clients(lines).values():
        for line in client.lines:
            _follow(client, line)
            if line.fact is not ClientFact.ERROR or line.code not in _BY_OTHERS or line.before in client.failed:
                continue
            client.failed.add(line.before)
            if client.begun_ms is not None and line.timestamp_ms is not None and not client.is_shared:
                limit = client.limit_ms or limits.get(line.transactional_id or "")
                found[id(line)] = Open(line.timestamp_ms - client.begun_ms, limit)
    return {key: each for key, each in found.items() if each.lasted_ms >= 0}


def _clients(lines: Sequence[ClientLine]) -> dict[Key, _Client]:
    found: dict[Key, _Client] = {}
    for line in lines:
        found.setdefault((line.file, line.client), _Client()).lines.append(line)
    return found


def _follow(client: _Client, line: ClientLine) -> None:
    """Keep when the transaction of a client began, and how long it may last."""
    if line.fact is ClientFact.LIMIT:
        client.limit_ms = line.limit_ms
    elif _initialises(line):
        nameless = line.client == line.library
        client.is_shared = client.is_shared or (nameless and client.begun_ms is not None and not client.failed)
        client.begun_ms = None
    elif line.fact is ClientFact.ASKED and line.after == "begin" and line.library != Library.FRANZ_GO:
        client.begun_ms, client.asked_to_begin = line.timestamp_ms, True
        client.failed.clear()
    elif _begins(line):
        is_open = client.begun_ms is not None and not client.failed
        client.is_shared = client.is_shared or (is_open and not client.asked_to_begin)
        client.begun_ms, client.asked_to_begin = line.timestamp_ms, False
        client.failed.clear()
    elif _ends(line):
        client.begun_ms = None


def _initialises(line: ClientLine) -> bool:
    """Whether an instance starts: most clients say that they ask for a producer id, kafkajs only that it has one."""
    if line.library == Library.KAFKAJS:
        return line.fact is ClientFact.IDENTITY
    return line.fact is ClientFact.ASKED and line.after == "init"


def _begins(line: ClientLine) -> bool:
    if line.fact is ClientFact.STATE:
        return line.after.endswith(("IN_TRANSACTION", "InTransaction", "TRANSACTING"))
    return line.fact is ClientFact.ASKED and line.after == "begin"


def _ends(line: ClientLine) -> bool:
    if line.fact is ClientFact.STATE:
        return line.after.endswith(("READY", "Ready"))
    return line.fact is ClientFact.TOLD and line.before == "ok" and line.after in {"commit", "abort"}


def clients_seen(lines: Sequence[ClientLine]) -> list[ClientSeen]:
    """All clients whose lines are there, by file and name, with their errors."""
    opened = open_at_errors(lines)
    return [
        ClientSeen(
            client=name,
            library=of.lines[0].library or "the Java client",
            file=file,
            transactional_ids=sorted({line.transactional_id for line in of.lines if line.transactional_id}),
            producers=list(dict.fromkeys(_identities(of.lines))),
            errors=[*_errors(of.lines, opened, lines)],
        )
        for (file, name), of in _clients(lines).items()
    ]


def _identities(lines: Sequence[ClientLine]) -> Iterator[str]:
    for line in lines:
        if line.producer_id >= 0:
            yield f"{line.producer_id}:{line.producer_epoch}"


def _errors(lines: Sequence[ClientLine], opened: dict[int, Open], every: Sequence[ClientLine]) -> Iterator[ClientError]:
    """Each kind of error once, with its first line; fatal ones first."""
    groups: dict[tuple[str, str, str, bool], list[ClientLine]] = {}
    explained = {line.before for line in lines if line.fact is ClientFact.ERROR}
    for line in lines:
        unexplained = line.fact is ClientFact.STATE and _severity(line) in {"fatal", "abortable"} - explained
        if unexplained or line.fact in {ClientFact.ERROR, ClientFact.WAITED, ClientFact.FAILED}:
            timed_out = id(line) in opened and opened[id(line)].timed_out
            key = (_severity(line), line.code, "" if line.code else line.after, timed_out)
            groups.setdefault(key, []).append(line)
    rank = ("fatal", "abortable", "failed write", "timeout", "error", "retried")
    for (severity, code, *_), those in sorted(groups.items(), key=lambda group: rank.index(group[0][0])):
        first = those[0]
        open_ = next((opened[id(line)] for line in those if id(line) in opened), None)
        meaning = MEANINGS.get(Error[code]) if code in Error.__members__ else None
        ends = severity in {"fatal", "abortable"}
        yield ClientError(
            severity=severity,
            code=code,
            reason=reason_of(first),
            file=first.file,
            line=first.line,
            timestamp_ms=first.timestamp_ms,
            count=len(those),
            open_ms=None if open_ is None else open_.lasted_ms,
            limit_ms=(None if first.limit_ms == NONE else first.limit_ms) if open_ is None else open_.limit_ms,
            timed_out=open_ is not None and open_.timed_out,
            fenced_by=_rival(first, every) if code in _BY_OTHERS else None,
            means="" if meaning is None else meaning.happened,
            next_step=next_step(Error[code], is_fatal=severity == "fatal") if ends and meaning is not None else "",
            collect="" if meaning is None else meaning.collect,
        )


def _severity(line: ClientLine) -> str:
    if line.fact is ClientFact.WAITED:
        return "timeout"
    if line.fact is ClientFact.FAILED:
        return "failed write"
    if line.fact is ClientFact.STATE:
        return next((kind for word, kind in _ERROR_STATES if line.after.endswith(word)), "")
    if line.before in {"fatal", "abortable"}:
        return line.before
    return "retried" if line.code in _RETRIED else "error"


def reason_of(line: ClientLine) -> str:
    """Return the reason in the client's words; for a wait, its duration and limit."""
    if line.fact is ClientFact.STATE:
        return f"it moves from {line.before} to {line.after}; its log has no reason, but its application got one"
    if line.fact is ClientFact.FAILED:
        return f"{line.before}: {line.after}"
    if line.fact is not ClientFact.WAITED:
        return line.after
    waited = f" after {line.waited_ms:,} ms" if line.waited_ms != NONE else ""
    limit = f" (limit {line.limit_ms:,} ms)" if line.limit_ms != NONE else ""
    return f"no answer to {line.after}{waited}{limit}"


def _rival(line: ClientLine, every: Sequence[ClientLine]) -> str | None:
    """The other client that initialised the same producer or transactional id with a newer epoch, before the error."""
    own = [each for each in every if (each.file, each.client) == (line.file, line.client)]
    before = [
        each for each in own if each.fact is ClientFact.IDENTITY and (each.file != line.file or each.line < line.line)
    ]
    if not before or before[-1].producer_id < 0 or line.timestamp_ms is None:
        return None
    mine = before[-1]
    for other in every:
        newer = (other.producer_id, other.producer_epoch) > (mine.producer_id, mine.producer_epoch)
        same = other.producer_id == mine.producer_id
        is_other = (other.file, other.client) != (line.file, line.client) and other.fact is ClientFact.IDENTITY
        in_time = other.timestamp_ms is not None and other.timestamp_ms <= line.timestamp_ms
        if is_other and newer and same and in_time:
            identity = f"{other.producer_id}:{other.producer_epoch}"
            where = f"{plain_name(other.file)}, line {other.line}"
            return f"{other.client} initialised it as {identity} at {utc(other.timestamp_ms or 0)} ({where})"
    return None
