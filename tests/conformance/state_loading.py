"""Loads of a log partition and lookups: words of the state manager's cases."""

import re
from collections.abc import Callable, Mapping
from struct import pack

from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, Failed, NotRunnable
from tests.conformance.host import CoordinatorHost, batch, value
from tests.conformance.phrases import Fields, check, error_name, listed, matched, partition_of, state_name, state_of
from zombieproof.broker.partition.log import MemoryLog
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.formats.transaction_log import read_key
from zombieproof.messages.transactions import (
    DescribeTransactions,
    DescribeTransactionsAnswer,
    ListTransactions,
    ListTransactionsAnswer,
)
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import Error, TransactionState

PRODUCER_IDS = {"one": 1, "two": 2}


def get(host: CoordinatorHost, name: str) -> str:
    """What a lookup of an id says: Kafka's name of the error, ``NONE`` where the id is here."""
    answer = host.coordinator.handle(DescribeTransactions(0, (name,)), 0)[0]
    told = getattr(answer, "answer", None)
    assert isinstance(told, DescribeTransactionsAnswer)
    return error_name(told.transactions[0].error)


def is_loading(host: CoordinatorHost) -> bool:
    """Whether a listing is refused because something is being loaded."""
    answer = host.coordinator.handle(ListTransactions(0), 0)[0]
    told = getattr(answer, "answer", None)
    assert isinstance(told, ListTransactionsAnswer)
    return told.error == Error.COORDINATOR_LOAD_IN_PROGRESS


# ---------------------------------------------------------------- records in words


def log_of(phrases: list[object], first_offset: int = 0) -> MemoryLog:
    """A log of such records as ``one Ongoing(2 partitions)``; without a number an id keeps the partitions it had."""
    batches: list[Batch] = []
    partitions: dict[str, frozenset[TopicPartition]] = {}
    for offset, phrase in enumerate(phrases, first_offset):
        unknown = re.fullmatch(r"record with key version (\d+)", phrase) if isinstance(phrase, str) else None
        if unknown is not None:
            key = pack(">h", int(unknown[1])) + b"\x00\x01x"
            if read_key(key) is not None:
                raise NotRunnable(f"key version {unknown[1]} is known")
            batches.append(Batch(records=(Record(key, None),), base_offset=offset))
            continue
        match = matched(
            r"(?P<name>one|two) (?:in )?(?P<state>[A-Z]\w+)(?: entry)?(?:\((?P<count>\d*)(?: partitions)?\))?"
            r"(?: with (?P<first>\S+) and (?P<second>\S+))?",
            phrase,
            "record",
        )
        if match["count"] is not None:
            partitions[match["name"]] = frozenset(("topic1", number) for number in range(int(match["count"] or 0)))
        elif match["first"]:
            partitions[match["name"]] = frozenset(partition_of(match[key]) for key in ("first", "second"))
        batches.append(_batch(offset, match["name"], match["state"], partitions.get(match["name"], frozenset())))
    return MemoryLog(tuple(batches), first_offset)


def _batch(offset: int, name: str, state: str, partitions: frozenset[TopicPartition]) -> Batch:
    return batch(offset, name, value(PRODUCER_IDS[name], state_of(state), partitions, timeout_ms=1000 + offset))


# ---------------------------------------------------------------- loads


def _host(case: Case) -> CoordinatorHost:
    """A coordinator; the partitions of its transactions are led by a broker."""
    host = CoordinatorHost(rules_of(case.baseline))
    for topic in ("topic1", "topic2"):
        host.metadata.create(topic, [(1,)] * 100)
    return host


def _lost_while_loading(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    log = log_of(listed(given.take("log")))
    epoch = int(matched(r"blocked midway at coordinator epoch (\d+)", given.take("load"))[1])
    given.done()
    resigned = re.search(r"at epoch (\d+)", str(case.when))
    host = CoordinatorHost(rules_of(case.baseline))
    host.coordinator.begin_loading(0, epoch)
    check("loading in between", expected=True, got=is_loading(host))
    host.coordinator.resign(0, int(resigned[1]) if resigned else None)
    effects = host.coordinator.finish_loading(0, epoch, log.read())
    check("loading", expect.take("loading"), is_loading(host))
    check("get", expect.take("get"), get(host, "one"))
    note = expect.take("note")
    if note is not None:
        matched("a load that lost its partition must not publish", note, "note")
        check("published", ([], {}, {}), (effects, host.coordinator.entries(0), host.coordinator.channel.pending))
    expect.done()


def _load_and_remove(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    first = int(given.take("log_from_offset", 0))
    log = log_of(listed(given.take("records")), first)
    given.done()
    epoch = int(matched(r"load partition 0; later remove it at epoch (\d+)", case.when)[1])
    check("log starts", first, log.start_offset)
    host = _host(case)
    check("before", expect.take("before"), get(host, "one"))
    host.coordinator.load(0, epoch, log.read())
    _compare_loaded(host, Fields(expect.take("after_load"), "after_load"))
    host.coordinator.resign(0, epoch)
    removed = expect.take("after_remove")
    for name in PRODUCER_IDS:
        check(f"get {name} after the removal", removed, get(host, name))
    expect.done()


def _compare_loaded(host: CoordinatorHost, fields: Fields) -> None:
    entries = host.coordinator.entries(0)
    for name, phrase in fields.items():
        match = matched(r"(?P<state>\w+) with (?P<count>none|\d+)(?: partitions)?", phrase, "entry")
        if name not in entries:
            raise Failed(f"{name} was not loaded")
        check(f"{name} state", state_of(match["state"]), TransactionState(entries[name].state))
        count = 0 if match["count"] == "none" else int(match["count"])
        check(f"{name} partitions", count, len(host.numbers.partitions(entries[name].partitions)))


def _load(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    log = _given_log(given)
    given.done()
    epoch = matched(r"load(?: the partition)?(?: at epoch (\d+))?", case.when)[1]
    host = _host(case)
    host.coordinator.load(0, int(epoch or 0), log.read())
    _compare_load(host, log, expect)


def _given_log(given: Fields) -> MemoryLog:
    if "log_end" in given:
        start, end = int(given.take("log_start")), int(given.take("log_end"))
        matched("none readable", given.take("records"), "records")
        log = MemoryLog((Batch(base_offset=start, last_offset_delta=end - start - 1),), start)
        check("log end", end, log.end_offset)
        return log
    phrase = given.take("log")
    segments = re.fullmatch(
        r"segment 1 = one (\w+) at (\d+) and an empty batch at (\d+); segment 2 from (\d+) = two (\w+)", str(phrase)
    )
    if segments is None:
        return log_of(listed(phrase))
    if not int(segments[2]) < int(segments[3]) < int(segments[4]):
        raise NotRunnable("the offsets of the segments do not follow one another")
    first = _batch(int(segments[2]), "one", segments[1], frozenset({("topic1", 0)}))
    empty = Batch(base_offset=int(segments[3]), last_offset_delta=int(segments[4]) - int(segments[3]) - 1)
    second = _batch(int(segments[4]), "two", segments[5], frozenset({("topic2", 0)}))
    return MemoryLog((first, empty, second), int(segments[2]))


def _compare_load(host: CoordinatorHost, log: MemoryLog, expect: Fields) -> None:
    ends = expect.take("ends")
    if ends is not None:
        check("ends", ends, not is_loading(host))
    loading = expect.take("loading")
    if loading is not None:
        check("loading", loading, "0" if is_loading(host) else "none")
    loaded = expect.take("loaded")
    if loaded is not None:
        for name in loaded:
            _require_entry(name)
        check("loaded", set(loaded), set(host.coordinator.entries(0)))
        for name in loaded:
            check(f"get {name}", "NONE", get(host, name))
    owned = expect.take("owned_at_epoch")
    if owned is not None:
        check("owned at epoch", owned, host.coordinator.coordinator_epoch(0))
    for name in PRODUCER_IDS:
        restored = expect.take(name)
        if restored is not None:
            matched("restored exactly", restored)
            _compare_restored(host, log, name)
    if "markers_sent_for" in expect:
        _compare_markers(host, expect.take("markers_sent_for"), expect.take("result"))
    note = expect.take("note")
    if note is not None:
        matched("must not loop forever", note, "note")
        check("serves", "TRANSACTIONAL_ID_NOT_FOUND", get(host, "one"))
    expect.done()


def _compare_restored(host: CoordinatorHost, log: MemoryLog, name: str) -> None:
    written = [record.value for each in log.read() for record in each.records if record.key == name]
    entry, record = host.coordinator.entries(0)[name], written[-1]
    completing = {"PrepareCommit": "CompleteCommit", "PrepareAbort": "CompleteAbort"}
    check("pending", completing.get(state_name(entry.state), "none"), state_name(entry.pending_state))
    fields = ("state", "producer_id", "producer_epoch", "timeout_ms", "start_ms", "last_update_ms")
    for field in (*fields, "client_transaction_version"):
        check(f"{name} {field}", int(getattr(record, field)), getattr(entry, field))
    check(f"{name} partitions", getattr(record, "partitions", None), host.numbers.partitions(entry.partitions))


def _require_entry(name: object) -> None:
    if name not in PRODUCER_IDS:
        raise NotRunnable(f"{name!r} is no entry; there are {', '.join(PRODUCER_IDS)}")


def _compare_markers(host: CoordinatorHost, name: object, result: object) -> None:
    _require_entry(name)
    matched("COMMIT|ABORT", result, "result")
    requests, _ = host.coordinator.markers_to_send()
    markers = [marker for request in requests for marker in request.request.markers]
    sent = {entry for entry, number in PRODUCER_IDS.items() if number in {marker.producer_id for marker in markers}}
    check("markers sent for", {name}, sent)
    check("result", {result}, {"COMMIT" if marker.committed else "ABORT" for marker in markers})
    partitions = {partition for marker in markers for partition in marker.partitions}
    entries: Mapping[str, Transaction] = host.coordinator.entries(0)
    check("markers", host.numbers.partitions(entries[str(name)].partitions), frozenset(partitions))


def _get(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    host = CoordinatorHost(rules_of(case.baseline))
    for partition in listed(given.take("owns", [0])):
        host.coordinator.load(int(partition), 0, [])
    given.done()
    check("error", expect.take("error"), get(host, matched(r"get (\w+)", case.when)[1]))
    expect.done()


HANDLERS: Mapping[str, Callable[[Case], None]] = {
    r"(?:remove the partition|become follower at epoch \d+) and let the load finish": _lost_while_loading,
    r"load partition 0; later remove it at epoch \d+": _load_and_remove,
    r"load(?: the partition)?(?: at epoch \d+)?": _load,
    r"get \w+": _get,
}
