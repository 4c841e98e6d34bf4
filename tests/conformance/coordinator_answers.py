"""What a case expects of a coordinator: of an answer, of the records appended, of the entry behind a step."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.conformance.cases import Failed, NotRunnable
from tests.conformance.coordinator_operations import Client
from tests.conformance.coordinator_scenario import PARTITION, Scenario, Told
from tests.conformance.phrases import Fields, check, error_name, error_of, matched, partition_of, state_name, state_of
from zombieproof.formats.batches import TransactionValue
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.transactions import (
    AddPartitionsToTxnAnswer,
    DescribeTransactionsAnswer,
    EndTxnAnswer,
    InitProducerIdAnswer,
    TransactionDescription,
)
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import NONE, Error

NO_IDENTITY = (NONE, NONE)


@dataclass(slots=True)
class Seen:
    """One step as it can be compared: what was told, and the entry before and behind it."""

    scenario: Scenario
    client: Client
    told: Told
    before: Transaction
    pick: int

    @property
    def error(self) -> int:
        """The error of the answer.

        Raises:
            Failed: there is no answer, or its partitions have several errors.
        """
        answer = self.told.answer
        if isinstance(answer, AddPartitionsToTxnAnswer):
            errors = {answer.error, *self.partition_errors().values()} - ({0} if answer.transactions else set())
            if len(errors) > 1:
                raise Failed(f"the partitions have several errors: {self.partition_errors()}")
            return min(errors, default=0)
        if isinstance(answer, DescribeTransactionsAnswer):
            return self.description().error
        if isinstance(answer, InitProducerIdAnswer | EndTxnAnswer):
            return answer.error
        raise Failed(f"the answer is {answer}")

    def partition_errors(self) -> dict[TopicPartition, int]:
        """The error of each partition."""
        if not isinstance(self.told.answer, AddPartitionsToTxnAnswer):
            raise Failed(f"the answer is {self.told.answer}")
        return {tp: error for each in self.told.answer.transactions for tp, error in each.errors.items()}

    def description(self) -> TransactionDescription:
        """The row of the id."""
        if not isinstance(self.told.answer, DescribeTransactionsAnswer):
            raise Failed(f"the answer is {self.told.answer}")
        return self.told.answer.transactions[0]

    def identity(self) -> tuple[int, int]:
        """The producer id and epoch of the answer."""
        answer = self.told.answer
        if isinstance(answer, InitProducerIdAnswer | EndTxnAnswer):
            return answer.producer_id, answer.producer_epoch
        row = self.description()
        return row.producer_id, row.producer_epoch


def compare(seen: Seen, expect: Any) -> None:
    """Assert everything that a case expects of one step."""
    fields = Fields(expect, "expect", is_rest=True)
    if isinstance(seen.told.answer, InitProducerIdAnswer | EndTxnAnswer) and seen.error != Error.NONE:
        check("the identity in a failing reply", NO_IDENTITY, seen.identity())
    _answer(seen, fields)
    _row(seen, fields)
    log = fields.take("log")
    if log is not None:
        _log(seen, log)
    entry = fields.take("txn")
    if entry is not None:
        compare_record(seen, "txn", seen.scenario.entry, Fields(entry, "txn"))
    state = fields.take("state")
    if state is not None:
        wanted = seen.before.state if state == "unchanged" else state_of(state)
        check("state", state_name(wanted), state_name(seen.scenario.entry.state))
    _what_is_gone(seen, fields)
    fields.done()


def _answer(seen: Seen, fields: Fields) -> None:
    error = fields.take("error")
    if error == "any error, never NONE":
        check("an error", expected=True, got=seen.error != Error.NONE)
    elif error is not None:
        check("error", error_name(error_of(error)), error_name(seen.error))
    pid, epoch = fields.take("pid"), fields.take("epoch")
    if pid is not None:
        check_producer_id(seen, pid, seen.identity()[0])
    if epoch is not None:
        check("epoch", epoch, seen.identity()[1])
    ongoing = fields.take("ongoing")
    if ongoing is not None:
        compare_ongoing(seen, ongoing)
    internal = fields.take("internal_result")
    if internal is not None:
        ended = [decided.error for decided in seen.scenario.journal.decisions if decided.decision == "end_txn"]
        check("internal result", error_name(error_of(internal)), error_name(ended[-1]) if ended else "nothing")


def check_producer_id(seen: Seen, wanted: object, got: int) -> None:
    """A producer id: a number, ``new`` (allocated just now), or ``not N``."""
    if isinstance(wanted, int):
        check("pid", wanted, got)
    elif wanted == "new":
        check("a pid that was allocated", expected=True, got=got in seen.scenario.producer_ids.handed_out)
    elif wanted == "original":
        check("pid", seen.before.producer_id, got)
    else:
        other = int(matched(r"not (\d+)", wanted, "pid")[1])
        if other != seen.before.producer_id:
            raise NotRunnable(f"pid {wanted!r}: the entry has {seen.before.producer_id}")
        check(f"a pid, not {other}", expected=True, got=got not in (other, NONE))


def compare_ongoing(seen: Seen, wanted: object) -> None:
    """The identity of the transaction that was kept."""
    if not isinstance(seen.told.answer, InitProducerIdAnswer):
        raise Failed(f"the answer is {seen.told.answer}")
    fields, answer = Fields(wanted, "ongoing"), seen.told.answer
    check("ongoing pid", fields.take("pid"), answer.ongoing_producer_id)
    check("ongoing epoch", fields.take("epoch"), answer.ongoing_producer_epoch)
    fields.done()


def _row(seen: Seen, fields: Fields) -> None:
    each = fields.take("each_partition")
    if each is not None:
        errors = {error_name(error) for error in seen.partition_errors().values()}
        check("each partition", {error_name(error_of(each))}, errors)
    partitions = fields.take("partitions")
    if isinstance(partitions, Mapping):
        got = {tp: error_name(error) for tp, error in seen.partition_errors().items()}
        wanted = {partition_of(name): error_name(error_of(error)) for name, error in partitions.items()}
        check("partitions", wanted, got)
    elif partitions is not None:
        check("partitions", {partition_of(name) for name in partitions}, set(seen.description().partitions))
    timeout_ms, start_ms = fields.take("timeout_ms"), fields.take("start_ms")
    if timeout_ms is not None:
        check("timeout_ms", timeout_ms, seen.description().timeout_ms)
    if start_ms is not None:
        check("start_ms", _time(seen, start_ms, NONE), seen.description().start_ms)


def _log(seen: Seen, wanted: object) -> None:
    if not isinstance(wanted, list):
        raise NotRunnable(f"log is {wanted!r}, not a list")
    got = [None if value is None else state_name(value.state) for value in seen.told.log]
    check("log", [_state_in_log(seen, each) for each in wanted], got)
    for each, value in zip(wanted, seen.told.log, strict=True):
        if isinstance(each, Mapping) and value is not None:
            compare_record(seen, "log", value, Fields({**each, "state": _state_in_log(seen, each)}, "log"))


def _state_in_log(seen: Seen, wanted: object) -> str:
    """The state that is named; of ``A or B`` the one that belongs to the alternative that is run."""
    name = wanted.get("state") if isinstance(wanted, Mapping) else wanted
    if not isinstance(name, str):
        raise NotRunnable(f"log: {wanted!r} names no state")
    names = name.split(" or ")
    return state_name(state_of(names[seen.pick] if len(names) > 1 else name))


def compare_record(seen: Seen, what: str, record: Transaction | TransactionValue, fields: Fields) -> None:
    """Assert what is expected of an entry, or of a record in the log."""
    for key, got in (
        ("epoch", record.producer_epoch),
        ("last_epoch", record.last_producer_epoch),
        ("prev_pid", record.previous_producer_id),
        ("next_pid", record.next_producer_id),
        ("next_epoch", record.next_producer_epoch),
        ("timeout_ms", record.timeout_ms),
        ("tv", record.client_transaction_version),
    ):
        wanted = fields.take(key)
        if wanted is not None:
            check(f"{what} {key}", wanted, got)
    pid, state, failed = fields.take("pid"), fields.take("state"), fields.take("failed_fence")
    if pid is not None:
        check_producer_id(seen, pid, record.producer_id)
    if state is not None:
        check(f"{what} state", state_name(state_of(state)), state_name(record.state))
    if failed is not None:
        check(f"{what} failed_fence", failed, isinstance(record, Transaction) and record.failed_epoch_fence)
    for key, then_ms, before_ms in (
        ("start_ts", record.start_ms, seen.before.start_ms),
        ("last_update", record.last_update_ms, seen.before.last_update_ms),
    ):
        wanted = fields.take(key)
        if wanted is not None:
            check(f"{what} {key}", _time(seen, wanted, before_ms), then_ms)
    fields.done()


def _time(seen: Seen, word: object, before_ms: int) -> int:
    if word == "unchanged":
        return before_ms
    matched("now|sweep time", word, "time")
    return seen.scenario.clock.now_ms()


def _what_is_gone(seen: Seen, fields: Fields) -> None:
    entries, markers = fields.take("entries_for_partition"), fields.take("pending_markers_for_partition")
    if entries is not None:
        matched("removed", entries)
        check("entries", {}, dict(seen.scenario.coordinator.entries(PARTITION)))
    if markers is not None:
        matched("removed", markers)
        channel = replace(seen.scenario.coordinator.channel)
        left = [each for each in channel.pending.values() if each.txn_partition == PARTITION]
        check("pending markers", [], left)
        check("queued markers", [], [*channel.unknown_leader, *(each for q in channel.queues.values() for each in q)])
