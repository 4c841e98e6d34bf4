"""What brokers, clients and applications wrote down of a subject, file by file, line by line."""

import json
from collections.abc import Mapping
from dataclasses import replace

from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import (
    BrokerLine,
    ClientCall,
    ClientFact,
    ClientLine,
    ClientOutcome,
    CoordinatorLine,
    Evidence,
    Phase,
)
from zombieproof.traces.explaining.clients import Open, open_at_errors, reason_of
from zombieproof.traces.explaining.timeline.entries import Entry, EntryKind, places
from zombieproof.traces.explaining.timeline.subject import Subject, SubjectKind
from zombieproof.traces.judging.histories.client_history import partitions_of, topic_of_outcomes

OPERATOR = "operator"
"""Who stops brokers and cuts networks, in recordings of an experiment."""

QUARTER_MS = 15 * 60_000
"""Zones are whole quarters of an hour apart."""
SLACK_MS = 60_000
"""A line is written this soon behind what it tells."""
NOT_SHOWN = frozenset({"transactional_id", "key", "value", "values"})
"""What is said elsewhere, and what people wrote into their records."""
SHOWN_ARGUMENTS = 160


def line_entries(subject: Subject, evidence: Evidence) -> list[list[Entry]]:
    """The entries of each file that says something of the subject."""
    by_file: dict[str, list[Entry]] = {}
    shifts = shifted_clocks(evidence)
    made = _coordinator_lines(subject, evidence) + _broker_lines(subject, evidence) + _client_lines(subject, evidence)
    for entry in sorted(made, key=lambda entry: entry.line or 0):
        by_file.setdefault(entry.file, []).append(_shifted(entry, shifts.get(entry.file, 0)))
    for entry in _calls(subject, evidence) + _outcomes(subject, evidence):
        by_file.setdefault(entry.file, []).append(entry)
    return [entries for entries in by_file.values() if entries]


def shifted_clocks(evidence: Evidence) -> dict[str, int]:
    """By file, how many milliseconds a broker's log is ahead of UTC: it is written in the broker's own zone.

    A completed transition says in milliseconds since 1970 when it was prepared; a line follows at once, so the least
    difference tells the zone. Other logs say nothing of their zone.
    """
    differences: dict[str, int] = {}
    for line in evidence.coordinator_lines:
        if line.phase is Phase.COMPLETE and line.target is not None and line.timestamp_ms is not None:
            apart = line.timestamp_ms - line.target.last_update_ms
            differences[line.file] = min(apart, differences.get(line.file, apart))
    found = {file: round(apart / QUARTER_MS) * QUARTER_MS for file, apart in differences.items()}
    return {file: shift for file, shift in found.items() if shift and abs(differences[file] - shift) <= SLACK_MS}


def _shifted(entry: Entry, shift_ms: int) -> Entry:
    if not shift_ms or entry.time_ms is None:
        return entry
    return replace(entry, time_ms=entry.time_ms - shift_ms)


# ---- brokers


def _coordinator_lines(subject: Subject, evidence: Evidence) -> list[Entry]:
    return [_transition(line) for line in evidence.coordinator_lines if _is_about(subject, line)]


def _is_about(subject: Subject, line: CoordinatorLine) -> bool:
    if subject.kind is SubjectKind.ID:
        return line.transactional_id == subject.name
    target = line.target
    if target is None:
        return False
    if subject.kind is SubjectKind.PARTITION:
        return subject.place in target.partitions
    return subject.is_producer(target.producer_id, target.producer_epoch)


def _transition(line: CoordinatorLine) -> Entry:
    entry = Entry(
        kind=EntryKind.COORDINATOR,
        source=line.file,
        text=f"coordinator of {line.transactional_id} ",
        file=line.file,
        time_ms=line.timestamp_ms,
        line=line.line,
        transactional_id=line.transactional_id,
    )
    did = "prepares" if line.phase is Phase.PREPARE else "completed"
    entry.text += f"{did} {line.from_state.name} to {line.to_state.name}"
    if line.target is not None:
        entry.producer_id, entry.producer_epoch = line.target.producer_id, line.target.producer_epoch
        entry.text += f", producer {line.target.producer_id} epoch {line.target.producer_epoch}"
        entry.text += f", partitions {places(line.target.partitions)}" if line.target.partitions else ""
    return entry


def _broker_lines(subject: Subject, evidence: Evidence) -> list[Entry]:
    return [_statement(line) for line in evidence.broker_lines if _is_statement_about(subject, line)]


def _is_statement_about(subject: Subject, line: BrokerLine) -> bool:
    if subject.kind is SubjectKind.ID and line.transactional_id is not None:
        return line.transactional_id == subject.name
    if subject.kind is SubjectKind.PARTITION:
        return subject.place in line.places
    if subject.kind is SubjectKind.GROUP:
        return line.group == subject.name
    return line.producer is not None and subject.is_producer(*line.producer)


def _statement(line: BrokerLine) -> Entry:
    producer_id, epoch = line.producer or (None, None)
    return Entry(
        kind=EntryKind.BROKER,
        source=line.file,
        text=line.text,
        file=line.file,
        time_ms=line.timestamp_ms,
        line=line.line,
        transactional_id=line.transactional_id,
        producer_id=producer_id,
        producer_epoch=epoch,
    )


# ---- clients


def _client_lines(subject: Subject, evidence: Evidence) -> list[Entry]:
    """Lines of clients; those without a transactional id belong to the producer id that the client uses then."""
    using: dict[tuple[str, str], tuple[int, int]] = {}
    opened = open_at_errors(evidence.client_lines)
    found = []
    for line in evidence.client_lines:
        if line.fact is ClientFact.LIMIT:
            continue
        key = (line.file, line.client)
        if line.producer_id >= 0:
            using[key] = (line.producer_id, line.producer_epoch)
        producer_id, epoch = using.get(key, (NONE, NONE))
        is_named = subject.kind is SubjectKind.ID and line.transactional_id == subject.name
        is_unnamed = subject.kind is SubjectKind.PRODUCER or line.transactional_id is None
        is_client = subject.kind is SubjectKind.CLIENT and line.client == subject.name
        if is_named or is_client or (is_unnamed and subject.is_producer(producer_id, epoch)):
            found.append(_told(line, producer_id, epoch, opened.get(id(line))))
    return found


def _told(line: ClientLine, producer_id: int, epoch: int, opened: Open | None) -> Entry:
    lasted = "" if opened is None else f" ({opened})"
    texts: Mapping[ClientFact, str] = {
        ClientFact.STATE: f"moves from {line.before} to {line.after}",
        ClientFact.IDENTITY: f"uses producer {producer_id} epoch {epoch}",
        ClientFact.ASKED: f"asks to {line.after}",
        ClientFact.TOLD: f"is told of {line.after}: {line.before}",
        ClientFact.ERROR: f"has the {line.before + ' ' if line.before else ''}error: {line.after}{lasted}",
        ClientFact.FAILED: f"fails on {reason_of(line)}",
        ClientFact.WAITED: f"got {reason_of(line)}",
        ClientFact.NOTE: line.after,
    }
    return Entry(
        kind=EntryKind.CLIENT,
        source=line.file,
        text=f"client {line.client} {texts[line.fact]}",
        file=line.file,
        time_ms=line.timestamp_ms,
        line=line.line,
        transactional_id=line.transactional_id,
        producer_id=producer_id if producer_id >= 0 else None,
        producer_epoch=epoch if producer_id >= 0 else None,
    )


# ---- applications


def _calls(subject: Subject, evidence: Evidence) -> list[Entry]:
    return [_call(call) for call in evidence.client_calls if _is_call_of(subject, call)]


def _is_call_of(subject: Subject, call: ClientCall) -> bool:
    """Whether a call is about the subject; what is about nothing in particular (a fault, say) is about everything."""
    listed, producer_id, epoch = partitions_of(call), call.args.get("producer_id"), call.args.get("producer_epoch")
    about_ids = [name for name in (call.transactional_id, call.args.get("key")) if isinstance(name, str)]
    if call.client == OPERATOR and not (about_ids or listed):
        return True
    if subject.kind is SubjectKind.ID:
        return subject.name in about_ids
    if subject.kind is SubjectKind.PARTITION:
        return subject.place in listed
    return isinstance(producer_id, int) and subject.is_producer(producer_id, epoch if isinstance(epoch, int) else None)


def _call(call: ClientCall) -> Entry:
    given = ", ".join(f"{name} {_short(value)}" for name, value in call.args.items() if name not in NOT_SHOWN)
    who = call.client if call.client == OPERATOR else f"application {call.client}"
    answer = call.error or (call.result if isinstance(call.result, str) else _short(call.result))
    return Entry(
        kind=EntryKind.CALL,
        source=call.file,
        text=f"{who} {call.action}{f' ({given})' if given else ''}: {answer}",
        file=call.file,
        time_ms=call.timestamp_ms,
        line=call.line,
        transactional_id=call.transactional_id,
    )


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(_without_payload(value), ensure_ascii=False)
    return text if len(text) <= SHOWN_ARGUMENTS else f"{text[:SHOWN_ARGUMENTS]}…"


def _without_payload(value: object) -> object:
    if isinstance(value, list):
        return [_without_payload(each) for each in value]
    if isinstance(value, dict):
        return {name: _without_payload(each) for name, each in value.items() if name not in NOT_SHOWN}
    return value


def _outcomes(subject: Subject, evidence: Evidence) -> list[Entry]:
    topic = topic_of_outcomes(evidence)
    return [_outcome(outcome, topic) for outcome in evidence.client_outcomes if _is_outcome_of(subject, outcome, topic)]


def _is_outcome_of(subject: Subject, outcome: ClientOutcome, topic: str | None) -> bool:
    if subject.kind is SubjectKind.ID:
        return outcome.transactional_id == subject.name
    if subject.place is None or topic != subject.place[0]:
        return False
    return any(partition == subject.place[1] for partition, _ in outcome.records)


def _outcome(outcome: ClientOutcome, topic: str | None) -> Entry:
    records = "1 record" if len(outcome.records) == 1 else f"{len(outcome.records):,} records"
    touched = places((topic or "?", partition) for partition in {partition for partition, _ in outcome.records})
    name = f"transaction {outcome.transaction} of {outcome.transactional_id}"
    return Entry(
        kind=EntryKind.OUTCOME,
        source=outcome.file,
        text=f"{name}: {records} on {touched}, asked to {outcome.asked}, told {outcome.told}",
        file=outcome.file,
        line=outcome.line,
        transactional_id=outcome.transactional_id,
    )
