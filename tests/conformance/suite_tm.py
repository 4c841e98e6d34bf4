"""TransactionMetadata: one transactional id as pure data; a transition is decided, prepared and completed.

An operation of a case is a decision with its transition: a refusal, or a row that the table does not have, is what
Kafka calls an IllegalStateException. Whatever is refused must leave the entry as it was. Rotation is decided by the
exhausted epoch, so a case that rotates at another epoch runs under rules whose epochs end there.
"""

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, Failed, NotRunnable
from tests.conformance.metadata_states import ENUMERATIONS, NOW_MS, PRODUCER_ID, Asked, while_pending
from tests.conformance.phrases import Fields, by_version, check, listed, matched, partition_of, state_name, state_of
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.model.decisions import transition
from zombieproof.model.decisions.add_partitions_to_txn import decide_add_partitions_to_txn
from zombieproof.model.decisions.end_txn import decide_end_txn
from zombieproof.model.decisions.init_producer_id import decide_init_producer_id, is_exhausted
from zombieproof.model.decisions.marker_delivery import decide_completion
from zombieproof.model.decisions.transaction_timeout import decide_timeout
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, CoordinatorEvent, TransactionState
from zombieproof.statemachines.coordinator import COORDINATOR
from zombieproof.statemachines.kernel import IllegalTransition

TIMEOUT_MS = 30_000


class Refused(Exception):
    """What Kafka answers with an IllegalStateException."""


@dataclass(slots=True)
class Entry:
    """The entry of a case, the last record that was prepared, and the rules."""

    txn: Transaction
    rules: Rules
    version: int
    numbers: PartitionNumbers
    prepared: Transaction | None = None


def run(case: Case) -> None:
    """Run one case, once for each transaction version that it names."""
    if case.given == {} and isinstance(case.when, str) and case.when in ENUMERATIONS:
        ENUMERATIONS[case.when](case.expect)
        return
    if case.when == "prepare any transition":
        while_pending(case)
        return
    fields = Fields(case.given, "given")
    versions = listed(fields.take("tv", 0))
    for version in versions:
        if version not in (0, 1, 2):
            raise NotRunnable(f"{version!r} is no transaction version")
        _steps(_entry(case, version), listed(case.when), listed(case.expect))


def _entry(case: Case, version: int) -> Entry:
    fields = Fields(case.given, "given")
    fields.take("tv")
    pending = fields.take("pending")
    state = state_of(fields.take("state", "Empty"))
    numbers = PartitionNumbers()
    txn = Transaction(
        known=True,
        state=state,
        pending_state=NONE if pending is None else state_of(pending),
        producer_id=int(fields.take("pid", PRODUCER_ID)),
        previous_producer_id=int(fields.take("prev_pid", NONE)),
        next_producer_id=int(fields.take("next_pid", NONE)),
        producer_epoch=int(fields.take("epoch", 0)),
        last_producer_epoch=int(fields.take("last_epoch", NONE)),
        partitions=numbers.mask(partition_of(name) for name in fields.take("partitions", [])),
        timeout_ms=int(fields.take("timeout_ms", TIMEOUT_MS)),
        start_ms=_time(fields.take("start_ts", NONE)),
        last_update_ms=_time(fields.take("last_update", NOW_MS)),
        client_transaction_version=version,
    )
    fields.done()
    if state != TransactionState.EMPTY and txn.start_ms == NONE:
        txn.start_ms = NOW_MS
    return Entry(txn, rules_of(case.baseline), version, numbers)


def _steps(entry: Entry, phrases: list[Any], expected: list[Any]) -> None:
    if len(phrases) != len(expected):
        raise NotRunnable(f"{len(phrases)} steps, but {len(expected)} expectations")
    for phrase, wanted in zip(phrases, expected, strict=True):
        operation, arguments = _understood(phrase)
        fields = Fields(wanted, "expect")
        exhausted = fields.take("exhausted")
        if exhausted is not None:
            check("exhausted", exhausted, bool(is_exhausted(entry.txn.producer_epoch, entry.rules)))
        raises = matched("nothing|IllegalStateException", fields.take("raises", "nothing"), "raises")[0]
        before = copy.deepcopy(entry.txn)
        try:
            operation(entry, **arguments)
        except (Refused, IllegalTransition) as refusal:
            if raises != "IllegalStateException":
                raise Failed(f"{phrase}: expected {raises} to be raised, got {refusal}") from refusal
            check("the entry behind what was refused", before, entry.txn)
        else:
            check(f"{phrase}: raised", raises, "nothing")
        _compare(entry, fields)


# ---------------------------------------------------------------- operations


def _bump(entry: Entry, expected: str | None = None, back: str | None = None) -> None:
    asked = Asked() if expected is None else Asked(entry.txn.producer_id, int(expected))
    verdict = decide_init_producer_id(entry.txn, asked, entry.rules, NONE)
    _apply(entry, verdict, CoordinatorEvent.INIT, _clock(back))


def _rotate(entry: Entry, to: str | None = None, remembering: str | None = None, back: str | None = None) -> None:
    asked = Asked() if remembering is None else Asked(entry.txn.producer_id, entry.txn.producer_epoch)
    rules = replace(entry.rules, epoch_max=entry.txn.producer_epoch + 1)
    verdict = decide_init_producer_id(entry.txn, asked, rules, PRODUCER_ID + 1 if to is None else int(to))
    _apply(entry, verdict, CoordinatorEvent.INIT, _clock(back))


def _add(entry: Entry, partition: str, time: str) -> None:
    mask = entry.numbers.mask([partition_of(partition)])
    version = 5 if entry.version == 2 else 3
    asked = Asked(entry.txn.producer_id, entry.txn.producer_epoch, version, False, mask)
    verdict = decide_add_partitions_to_txn(entry.txn, asked, entry.rules)
    _apply(entry, verdict, CoordinatorEvent.ADD_PARTITION, _time(time))


def _end(
    entry: Entry,
    outcome: str,
    version: str | None = None,
    back: str | None = None,
    next_id: str | None = None,
    time: str | None = None,
) -> None:
    if next_id is not None or time is not None:
        entry.version = 2
    if version is not None:
        entry.version = int(version)
    committed = outcome == "commit"
    asked = Asked(entry.txn.producer_id, entry.txn.producer_epoch, 5 if entry.version == 2 else 4, committed)
    verdict = decide_end_txn(entry.txn, asked, entry.rules, True, NONE if next_id is None else int(next_id))
    event = CoordinatorEvent.COMMIT if committed else CoordinatorEvent.ABORT
    _apply(entry, verdict, event, _clock(back) if time is None else _time(time))


def _complete(entry: Entry, back: str | None = None) -> None:
    if entry.txn.pending_state != NONE:
        target = replace(entry.txn, state=entry.txn.pending_state, pending_state=NONE)
        if not transition.is_valid(entry.txn, target):
            raise Refused(f"{state_name(entry.txn.pending_state)} is nothing that can be completed")
        transition.complete(entry.txn, target)
        return
    verdict = decide_completion(replace(entry.txn, partitions=0), 0, True, entry.rules)
    _apply(entry, verdict, CoordinatorEvent.MARKERS_WRITTEN, _clock(back))


def _fence(entry: Entry) -> None:
    """Only prepared: a fence is never durable, and is handed over to the abort behind it."""
    verdict = decide_timeout(entry.txn, entry.txn.producer_id, entry.rules)
    _prepare(entry, verdict, CoordinatorEvent.FENCE, NOW_MS)


def _end_fenced(entry: Entry, outcome: str, version: str) -> None:
    entry.txn.pending_state = NONE
    _end(entry, outcome, version)
    _complete(entry)


def _apply(entry: Entry, verdict: Verdict, event: CoordinatorEvent, now_ms: int) -> None:
    _prepare(entry, verdict, event, now_ms)
    assert entry.prepared is not None
    if not transition.is_valid(entry.txn, entry.prepared):
        raise Failed(f"the record {entry.prepared} may not follow {entry.txn}")
    transition.complete(entry.txn, entry.prepared)


def _prepare(entry: Entry, verdict: Verdict, event: CoordinatorEvent, now_ms: int) -> None:
    if verdict.event == NOTHING:
        raise Refused(f"answered with error {verdict.error}")
    check("event", event, CoordinatorEvent(verdict.event))
    state = COORDINATOR.target(entry.txn.state, verdict.event)
    entry.prepared = Transaction()
    transition.prepare(entry.txn, verdict, state, entry.txn.timeout_ms, now_ms, entry.prepared)
    entry.txn.pending_state = state


OPERATIONS: Mapping[str, Callable[..., None]] = {
    r"bump(?: epoch)?(?: with no expected epoch)?(?P<back>, clock back(?: \d+ ms)?)?": _bump,
    r"bump(?: epoch)?, expected epoch (?P<expected>\d+)(?P<back>, clock back(?: \d+ ms)?)?": _bump,
    r"rotate pid(?: to (?P<to>\d+))?(?P<remembering>, remembering the last epoch)?"
    r"(?P<back>, clock back(?: \d+ ms)?)?": _rotate,
    r"add (?P<partition>\S+) at (?P<time>now(?: [+-] \d+)?)": _add,
    r"prepare (?P<outcome>commit|abort)(?:, tv (?P<version>[012]))?(?:, next pid (?P<next_id>\d+))?"
    r"(?P<back>, clock back(?: \d+ ms)?)?": _end,
    r"prepare (?P<outcome>abort) of a transaction without partitions at (?P<time>now(?: [+-] \d+)?)": _end,
    r"complete(?: it)?(?P<back>, clock back(?: \d+ ms)?)?": _complete,
    r"fence": _fence,
    r"then \(pending cleared\) prepare and complete (?P<outcome>abort), tv (?P<version>[012])": _end_fenced,
}


def _understood(phrase: object) -> tuple[Callable[..., None], dict[str, str]]:
    for pattern, operation in OPERATIONS.items():
        match = re.fullmatch(pattern, phrase) if isinstance(phrase, str) else None
        if match is not None:
            return operation, {key: value for key, value in match.groupdict().items() if value is not None}
    raise NotRunnable(f"step {phrase!r} is not understood")


def _clock(back: str | None) -> int:
    match = re.search(r"\d+", back) if back is not None else None
    return NOW_MS if back is None else NOW_MS - int(match[0] if match else 1)


def _time(value: object) -> int:
    if isinstance(value, int):
        return value
    match = matched(r"now(?: (?P<sign>[+-]) (?P<by>\d+))?(?: \(kept\))?", value, "time")
    by = int(match["by"] or 0)
    return NOW_MS - by if match["sign"] == "-" else NOW_MS + by


# ---------------------------------------------------------------- expectations


def _compare(entry: Entry, fields: Fields) -> None:
    prepared = fields.take("transition")
    if prepared is not None:
        if entry.prepared is None:
            raise Failed("nothing was prepared")
        _compare_record("transition", entry, entry.prepared, Fields(prepared, "transition"))
    pending = fields.take("pending")
    if pending is not None:
        check("pending", pending, state_name(entry.txn.pending_state))
    note = fields.take("note")
    if note is not None:
        matched("it is only ever pending", note, "note")
        check("only ever pending", expected=True, got=entry.txn.pending_state in COORDINATOR.transient)
    _compare_record("entry", entry, entry.txn, fields)


def _compare_record(what: str, entry: Entry, record: Transaction, fields: Fields) -> None:
    for key, got in (
        ("pid", record.producer_id),
        ("prev_pid", record.previous_producer_id),
        ("next_pid", record.next_producer_id),
        ("epoch", record.producer_epoch),
        ("last_epoch", record.last_producer_epoch),
        ("timeout_ms", record.timeout_ms),
        ("tv", record.client_transaction_version),
    ):
        wanted = by_version(fields.take(key), entry.version, key)
        if wanted is not None:
            check(f"{what} {key}", wanted, got)
    for key, time in (("start_ts", record.start_ms), ("last_update", record.last_update_ms)):
        wanted = fields.take(key)
        if wanted is not None:
            check(f"{what} {key}", _time(wanted), time)
    state = fields.take("state")
    if state is not None:
        check(f"{what} state", state_of(state), TransactionState(record.state))
    partitions = fields.take("partitions")
    if partitions is not None:
        wanted = {partition_of(name) for name in partitions}
        check(f"{what} partitions", wanted, set(entry.numbers.partitions(record.partitions)))
    fields.done()
