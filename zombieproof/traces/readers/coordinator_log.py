"""Transitions in the DEBUG log of a broker's transaction coordinator.

Kafka 4 prints states in capitals, records in square brackets, and only the target state when a transition is prepared;
releases before print Scala text, and the whole target in both lines. Source: `TransactionMetadata` in both.
"""

import re

from zombieproof.formats.faults import Undecodable
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import CoordinatorLine, Damage, Phase, TransitTarget, Unit
from zombieproof.traces.readers.internal_text import partitions_in, state_named
from zombieproof.traces.readers.lines import Lines, Reached
from zombieproof.traces.readers.scala_text import ScalaFields, fields_of
from zombieproof.traces.readers.timestamps import timestamp_ms

MARK = " transition from "
BEGIN = re.compile(r"TransactionalId .* (?:prepare|complete) transition from ")
LINE = re.compile(
    r"TransactionalId (?P<id>.*) (?P<phase>prepare|complete) transition from (?P<before>\w+) to "
    r"(?:TxnTransitMetadata[\[(](?P<target>.*?)[\])]|(?P<after>\w+))(?: \([\w.$]+\))?\s*"
)


def read_coordinator_line(line: str, number: int, file: str) -> CoordinatorLine | None:
    """The transition that a line tells; None for any other line.

    Raises:
        Undecodable: it begins like a transition and is cut.
    """
    begin = BEGIN.search(line) if MARK in line else None
    if begin is None:
        return None
    found = LINE.fullmatch(line, begin.start())
    if found is None:
        raise Undecodable("the line of a transition is cut")
    fields = fields_of(found["target"]) if found["after"] is None else None
    return CoordinatorLine(
        file=file,
        line=number,
        timestamp_ms=timestamp_ms(line),
        transactional_id=found["id"],
        phase=Phase(found["phase"]),
        from_state=state_named(found["before"]),
        to_state=state_named(fields.text("txnState") if fields else found["after"]),
        target=None if fields is None else _target(fields),
    )


def _target(fields: ScalaFields) -> TransitTarget:
    previous = next((name for name in ("prevProducerId", "lastProducerId") if name in fields), None)
    version = "clientTransactionVersion"
    return TransitTarget(
        producer_id=fields.number("producerId"),
        previous_producer_id=fields.number(previous) if previous else None,
        next_producer_id=fields.number("nextProducerId") if "nextProducerId" in fields else None,
        producer_epoch=fields.number("producerEpoch"),
        last_producer_epoch=fields.number("lastProducerEpoch") if "lastProducerEpoch" in fields else NONE,
        timeout_ms=fields.number("txnTimeoutMs"),
        partitions=partitions_in(fields.text("topicPartitions")),
        start_ms=fields.number("txnStartTimestamp"),
        last_update_ms=fields.number("txnLastUpdateTimestamp"),
        client_transaction_version=_version(fields.text(version)) if version in fields else None,
    )


def _version(text: str) -> int:
    number = text.removeprefix("TV_")
    if len(number) != 1 or not number.isdecimal():
        raise Undecodable(f"{text!r} is no transaction version")
    return int(number)


def read_coordinator_log(
    data: memoryview, file: str, reached: Reached | None = None
) -> tuple[list[CoordinatorLine], list[Damage]]:
    """All transitions in a broker's log, and the lines of transitions that cannot be read."""
    found: list[CoordinatorLine] = []
    damage: list[Damage] = []
    lines = Lines(data, reached)
    for line in lines:
        try:
            if transition := read_coordinator_line(line, lines.number, file):
                found.append(transition)
        except Undecodable as fault:
            damage.append(Damage(file, lines.number, str(fault), Unit.LINE))
    return found, damage
