"""Transaction markers: how a coordinator sends WriteTxnMarkers and reacts to replies.

t1 and t2 are loaded from two partitions of the transaction log by a whole coordinator, so that what is expected of an
entry, of its markers and of the append of its completion is seen where it happens. Where Kafka throws an
IllegalStateException the channel reports an internal error, and queues nothing and completes nothing.
"""

import copy
import re

from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, Failed, NotRunnable
from tests.conformance.marker_host import BROKERS, ENTRIES, NAMES, TOPICS, Host, described
from tests.conformance.marker_reload import no_completion_lost
from tests.conformance.phrases import Fields, check, error_of, listed, matched, state_name, state_of
from zombieproof.broker.coordinator.markers import (
    DecidedTransaction,
    MarkerRequest,
    MarkerResult,
)
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import MarkerWritten, WriteTxnMarkersAnswer
from zombieproof.model.decisions.marker_delivery import MarkerOutcome
from zombieproof.model.vocabulary import TransactionState

ROW = r"t\d+ partition\d+"


def run(case: Case) -> None:
    """Run one case."""
    if isinstance(case.given, str):
        no_completion_lost(case)
        return
    host = Host(rules_of(case.baseline))
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    for topic in TOPICS:
        unknown = given.take(topic)
        if unknown is None:
            host.metadata.create(topic, [(BROKERS[topic.replace("partition", "broker")],)])
        else:
            matched("not known to the metadata", unknown)
    host.outcomes = [error_of(name) for name in listed(given.take("append", []))]
    sent = given.take("sent")
    own_state = given.take("own_state")
    queued = [_entry(name) for name in listed(given.take("queued", []))]
    given.done()
    if sent is not None or own_state is not None:
        name = _entry((sent or "t2 partition1").split()[0])
        host.load(name)
        requests = [one for one in host.drain() if described(_rows(one)) == (sent or "t2 partition1")]
        if not requests:
            raise NotRunnable(f"{sent!r} is no marker of {name}")
        _reply(host, name, requests[0], own_state, case.when, expect)
        return
    for name in queued:
        host.load(name)
    _drive(host, queued, case.when, expect)


def _entry(name: object) -> str:
    if name not in ENTRIES or not isinstance(name, str):
        raise NotRunnable(f"{name!r} is no entry; there are {', '.join(ENTRIES)}")
    return name


# ---------------------------------------------------------------- queues and completions


def _drive(host: Host, names: list[str], when: object, expect: Fields) -> None:
    if when == "drain twice":
        for step in ("first", "second"):
            requests = {one.broker: described(_rows(one)) for one in host.drain()}
            _compare_brokers(step, expect.take(step), requests)
    elif isinstance(when, str) and (add := re.fullmatch(r"add markers of (\w+)", when)):
        names.append(_entry(add[1]))
        host.load(add[1])
    elif isinstance(when, str) and (remove := re.fullmatch(r"remove the log partition of (\w+)", when)):
        host.coordinator.resign(NAMES.index(_entry(remove[1])), None)
    else:
        match = matched(r"marker answered (?P<error>\w+)(?P<again>; drain again)?", when)
        for request in host.drain():
            host.answer(request, {(topic, 0): error_of(match["error"]) for topic in TOPICS})
        if match["again"]:
            host.drain()
    _compare(host, names, expect)


def _rows(request: MarkerRequest) -> list[tuple[int, tuple[TopicPartition, ...]]]:
    return [(marker.producer_id, marker.partitions) for marker in request.request.markers]


def _compare_brokers(what: str, wanted: object, got: dict[int, str]) -> None:
    fields = Fields({} if wanted == [] else wanted, what, is_rest=wanted == [])
    for name, number in BROKERS.items():
        rows = matched(rf"nothing|{ROW}(?:, {ROW})*", fields.take(name, "nothing"), f"{what} {name}")[0]
        check(f"{what} {name}", rows, got.get(number, "nothing"))
    fields.done()


def _compare(host: Host, names: list[str], expect: Fields) -> None:
    queued = expect.take("queued")
    if queued is not None:
        _compare_brokers("queued", queued, {number: host.queued(number) for number in BROKERS.values()})
    pending = expect.take("txns_pending")
    if pending is not None:
        check("transactions with pending markers", pending, len(host.channel.pending))
    entry = expect.take("entry")
    if entry is not None:
        if len(names) != 1:
            raise NotRunnable("`entry` is one of several")
        _compare_entry(host, names[0], Fields(entry, "entry"))
    queues = expect.take("queues")
    if queues is not None:
        matched("empty", queues)
        check("queues empty", expected=True, got=host.is_quiet)
    appends = expect.take("appends")
    if appends is not None:
        check("appends", appends, len(host.appends))
    note = expect.take("note")
    if note is not None:
        _compare_note(host, names, note)
    expect.done()


def _compare_entry(host: Host, name: str, fields: Fields) -> None:
    transaction = host.coordinator.entries(NAMES.index(name))[name]
    check("entry state", state_of(fields.take("state")), TransactionState(transaction.state))
    check("entry pending", fields.take("pending"), state_name(transaction.pending_state))
    fields.done()


def _compare_note(host: Host, names: list[str], note: str) -> None:
    if note == "the new owner will finish it":
        for name in names:
            successor = Host(host.rules)
            for topic in TOPICS:
                successor.metadata.create(topic, [(BROKERS[topic.replace("partition", "broker")],)])
            successor.load(name, 1)
            for request in successor.drain():
                successor.answer(request, {})
            state = successor.coordinator.entries(NAMES.index(name))[name].state
            check(f"{name} at the new owner", TransactionState.COMPLETE_COMMIT, TransactionState(state))
        return
    match = matched(r"(?P<topic>\w+) counts as done", note, "note")
    if match["topic"] not in TOPICS:
        raise Failed(f"{match['topic']} was never part of it")
    for name in names:
        missing = host.coordinator.entries(NAMES.index(name))[name].partitions
        check("done", expected=False, got=(match["topic"], 0) in host.numbers.partitions(missing))


# ---------------------------------------------------------------- replies


def _reply(host: Host, name: str, request: MarkerRequest, own_state: object, when: object, expect: Fields) -> None:
    sent = host.channel.pending[name]
    partition = NAMES.index(name)
    if own_state == "NOT_COORDINATOR":
        host.coordinator.resign(partition, None)
    elif own_state == "COORDINATOR_LOAD_IN_PROGRESS":
        host.coordinator.begin_loading(partition, sent.coordinator_epoch + 1)
    elif own_state == "entry at a higher coordinator epoch":
        host.load(name, sent.coordinator_epoch + 1)
    elif own_state is not None:
        raise NotRunnable(f"own state {own_state!r} is not understood")
    reply = WriteTxnMarkersAnswer(())
    if when != "reply carries no entry for the pid":
        match = matched(r"(?P<topic>\w+) (?P<error>[A-Z_]+)", when)
        if match["topic"] not in ENTRIES[name]:
            raise NotRunnable(f"{match['topic']} is not a partition of {name}")
        reply = WriteTxnMarkersAnswer((MarkerWritten(partition, {(match["topic"], 0): error_of(match["error"])}),))
    results = _results(host, request, reply)
    _compare_reply(host, name, sent, results, expect)


def _results(host: Host, request: MarkerRequest, reply: WriteTxnMarkersAnswer) -> list[MarkerResult]:
    """What the channel reports of a reply; then the coordinator acts on it."""
    twin = copy.deepcopy(host).coordinator._completions
    results = twin.channel.answered(request.number, reply, twin._leader_of, twin._standing_of)
    host.reply(request, reply)
    return results


def _compare_reply(
    host: Host, name: str, sent: DecidedTransaction, results: list[MarkerResult], expect: Fields
) -> None:
    transaction = host.coordinator.entries(sent.txn_partition).get(name)
    missing = host.numbers.partitions(transaction.partitions) if transaction is not None else frozenset()
    by_outcome = {result.outcome for result in results}
    raises = expect.take("raises", "nothing")
    if raises not in ("nothing", "IllegalStateException"):
        raise NotRunnable(f"raises {raises!r} is not understood")
    thrown = MarkerOutcome.INTERNAL_ERROR in by_outcome
    check("raises", raises, "IllegalStateException" if thrown else "nothing")
    if thrown:
        check("queued or appended behind it", (False, []), (any(host.channel.queues.values()), host.appends))
    done = expect.take("done")
    if done is not None:
        matched(r"partition\d+(?:, partition\d+)*", done, "done")
        check("done", done, ", ".join(topic for topic in ENTRIES[name] if (topic, 0) not in missing))
    completion = expect.take("completion")
    if completion is not None:
        state = None if not host.appends or host.appends[0].value is None else host.appends[0].value.state
        attempted = "attempted" if state == TransactionState.COMPLETE_COMMIT else "none"
        check("completion", completion, attempted)
    markers = expect.take("markers_of_entry")
    if markers is not None:
        matched("dropped", markers)
        queued = [one for queue in (*host.channel.queues.values(), host.channel.unknown_leader) for one in queue]
        left = [one.transaction for one in queued] + list(host.channel.pending.values())
        check("markers dropped", expected=True, got=sent not in left)
    requeued = expect.take("requeued")
    if requeued is not None:
        waiting = [one.partitions for queue in host.channel.queues.values() for one in queue]
        matched(r"partition\d+(?:, partition\d+)*", requeued, "requeued")
        check("requeued", requeued, ", ".join(topic for partitions in waiting for topic, _ in partitions))
        check("still pending", sent, host.channel.pending.get(name))
    expect.done()
