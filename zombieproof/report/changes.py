"""What is new in a state, as far as a reader of a story wants to know: logs, ids, markers, applications, readers.

What contradicts something that was said or done before is told in the same line ("A.1 is aborted on p0, although A was
told that it is committed"), so that the step that breaks a promise says why.
"""

from collections.abc import Iterator

from zombieproof.checker.transactions.capacities import OFFSETS, TXNS
from zombieproof.checker.transactions.narration import READERS, client_name, id_name, marker_name, partition_name
from zombieproof.checker.transactions.state import LogRecord, Message, Node, Partition, State
from zombieproof.checker.transactions.vocabulary import Kind
from zombieproof.model.promises import (
    a_committed_position_never_goes_back,
    fate,
    is_data,
    no_input_is_passed_over,
)
from zombieproof.model.vocabulary import NONE, LogEntry, Outcome, ProducerState, TransactionState
from zombieproof.report.cleaning import of_logs
from zombieproof.report.states import (
    FATES,
    bits,
    identity,
    label_name,
    offsets_words,
    record_words,
    transaction_words,
)

_ORDERS = {Outcome.COMMIT: "commit", Outcome.ABORT: "abort"}
_DECIDED = (
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
)


def at_brokers(before: State, after: State) -> tuple[str, ...]:
    """What is new in logs, at coordinators and in the group."""
    return (
        *_appended(before, after),
        *_fates(before, after),
        *of_logs(before, after),
        *_orphans(before, after),
        *_ids(before, after),
        *_decided_again(before, after),
        *_against_outside(before, after),
        *_left_out(before, after),
        *_markers(before, after),
        *_group(before, after),
    )


def at_clients(before: State, after: State) -> tuple[str, ...]:
    """What is new to producers, applications and readers."""
    return (
        *_producers(before, after),
        *_applications(before, after),
        *_dead_ends(before, after),
        *_readers(before, after),
    )


# ---------------------------------------------------------------- logs


def _appended(before: State, after: State) -> Iterator[str]:
    for p, (old, new) in enumerate(zip(before.partitions, after.partitions, strict=True)):
        for offset in range(old.end, new.end):
            wrong = ", ".join(_out_of_order(new, offset))
            text = f"{partition_name(p)} has at offset {offset}: {record_words(new.log[offset])}"
            yield f"{text}, {wrong}" if wrong else text


def _out_of_order(partition: Partition, offset: int) -> Iterator[str]:
    """What the records before say against this one."""
    record = partition.log[offset]
    if record.kind in (LogEntry.PLAIN_OFFSET, LogEntry.TOMBSTONE):
        return
    ours = [other for other in partition.log[:offset] if other.producer_id == record.producer_id]
    epoch = max((other.producer_epoch for other in ours), default=NONE)
    if record.producer_epoch < epoch:
        yield f"behind epoch {epoch}"
    if not is_data(record.kind):
        coordinator_epoch = max((other.value for other in ours if not is_data(other.kind)), default=NONE)
        if record.value < coordinator_epoch:
            yield f"behind coordinator epoch {coordinator_epoch}"
        return
    there = [i for i in range(offset) if partition.log[i].label == record.label and is_data(partition.log[i].kind)]
    if there:
        yield f"which is at offset {there[-1]} already"
    if record.kind != LogEntry.OFFSET and record.producer_epoch >= epoch and record.value != _expected(ours, record):
        yield f"and sequence {_expected(ours, record)} would be next"


def _expected(earlier: list[LogRecord], record: LogRecord) -> int:
    same = [one for one in earlier if one.producer_epoch == record.producer_epoch]
    last = [one.value for one in same if one.kind in (LogEntry.DATA, LogEntry.PLAIN)]
    return int(last[-1]) + 1 if last else 0


def _fates(before: State, after: State) -> Iterator[str]:
    """What a marker decided, and what speaks against it."""
    for p, (old, new) in enumerate(zip(before.partitions, after.partitions, strict=True)):
        decided = dict.fromkeys(
            (int(new.log[offset].label), fate(new, offset))
            for offset in range(min(old.end, new.end))
            if is_data(new.log[offset].kind) and fate(old, offset) != fate(new, offset)
        )
        for label, outcome in decided:
            text = f"{label_name(label)} is {FATES[Outcome(outcome)]} on {partition_name(p)}"
            yield ", ".join([text, *_against(after, label, p, outcome)])


def _against(state: State, label: int, p: int, outcome: int) -> Iterator[str]:
    facts = state.ghost.labels[label - 1]
    who = client_name((label - 1) // (len(state.ghost.labels) // len(state.clients)))
    opposite = Outcome.ABORT if outcome == Outcome.COMMIT else Outcome.COMMIT
    if facts.result == opposite:
        yield f"although {who} was told that it is {FATES[opposite]}"
    elif facts.asked == opposite:
        yield f"although {who} asked to {_ORDERS[opposite]} it"
    elif facts.asked == Outcome.UNDECIDED and outcome == Outcome.COMMIT:
        yield f"although {who} has not asked to commit it"
    for q in parts_with(state, label, opposite):
        if q != p:
            yield f"and {FATES[opposite]} on {partition_name(q)}"
    if outcome == Outcome.COMMIT and p == 0 and facts.input != NONE:
        for other in _committed_for(state, int(facts.input)):
            if other != label:
                yield f"and so is {label_name(other)}, for the same input {facts.input}"


def parts_with(state: State, label: int, outcome: int) -> list[int]:
    """The partitions on which records of a transaction came out so."""
    return [
        p
        for p, partition in enumerate(state.partitions)
        if any(
            partition.log[i].label == label and is_data(partition.log[i].kind) and fate(partition, i) == outcome
            for i in range(partition.end)
        )
    ]


def _committed_for(state: State, position: int) -> list[int]:
    labels = enumerate(state.ghost.labels, start=1)
    return [
        label for label, facts in labels if facts.input == position and 0 in parts_with(state, label, Outcome.COMMIT)
    ]


def _orphans(before: State, after: State) -> Iterator[str]:
    was = set(_unlisted(before))
    for p, pid in _unlisted(after):
        if (p, pid) not in was:
            yield f"{partition_name(p)} has an open transaction of producer {pid} that no coordinator lists"


def _unlisted(state: State) -> Iterator[tuple[int, int]]:
    """Partition and producer id of each transaction that is open on a partition and that nobody will end."""
    undecided = (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
    on_file = [txn for txn in state.durable if txn.known and txn.state in undecided]
    for p, partition in enumerate(state.partitions):
        for pid, entry in enumerate(partition.entries):
            is_listed = any(txn.producer_id == pid and p in bits(txn.partitions) for txn in on_file)
            if entry.txn_first_offset != NONE and not is_listed:
                yield p, pid


# ---------------------------------------------------------------- coordinators


def _against_outside(before: State, after: State) -> Iterator[str]:
    """Transactions that are decided twice: outside, where their identity is stored, and by a coordinator."""
    for label, facts in enumerate(after.ghost.labels, start=1):
        was, client = before.ghost.labels[label - 1], after.clients[(label - 1) // TXNS]
        both = facts.asked == Outcome.COMMIT and facts.decided == Outcome.ABORT and client.prepared_id != NONE
        if both and (was.asked, was.decided) != (facts.asked, facts.decided):
            yield f"{label_name(label)} is decided to abort, and outside it is decided to commit it"


def _left_out(before: State, after: State) -> Iterator[str]:
    for old, new in zip(before.nodes, after.nodes, strict=True):
        for k in range(len(new.cache)):
            for p in _skipped(old, new, k, after.partitions):
                yield f"{partition_name(p)} has no leader: it is taken off the list of {id_name(k)} without a marker"


def _skipped(old: Node, new: Node, k: int, partitions: list[Partition]) -> Iterator[int]:
    """The partitions that left the list of an id that is decided, although they could not get a marker."""
    txn = new.cache[k]
    if not new.believes or txn.state not in _DECIDED:
        return
    for p in bits(old.cache[k].partitions & ~txn.partitions):
        if not partitions[p].leader:
            yield p


def _ids(before: State, after: State) -> Iterator[str]:
    """What was appended to the log of the coordinator."""
    for k, (old, new) in enumerate(zip(before.durable, after.durable, strict=True)):
        if old.known and not new.known:
            yield f"{id_name(k)} is forgotten: it was {transaction_words(old)}"
        elif new.known and (not old.known or transaction_words(old) != transaction_words(new)):
            opens = new.state == TransactionState.ONGOING and old.state != new.state
            of = f", opened by {label_name(after.ghost.owner[k])}" if opens and after.ghost.owner[k] else ""
            yield f"{id_name(k)} is logged as {transaction_words(new)}{of}"


def _markers(before: State, after: State) -> Iterator[str]:
    was_there = [_marker_key(message) for message in _sent_markers(before)]
    sets_out: dict[str, list[str]] = {}
    for message in _sent_markers(after):
        if _marker_key(message) not in was_there:
            sets_out.setdefault(marker_name(message), []).append(partition_name(message.partition))
    for marker, places in sets_out.items():
        yield f"{marker} sets out for {' and '.join(places)}"


def _sent_markers(state: State) -> list[Message]:
    return [message for message in state.messages if message.kind == Kind.MARKER and message.live]


def _marker_key(message: Message) -> tuple[int, str, int]:
    return int(message.client), marker_name(message), int(message.partition)


def _decided_again(before: State, after: State) -> Iterator[str]:
    """What only the ghost facts know: that a decision is not the first one of its transaction."""
    labels = zip(before.ghost.labels, after.ghost.labels, strict=True)
    for label, (old, new) in enumerate(labels, start=1):
        if old.decided not in (new.decided, Outcome.UNDECIDED):
            first, second = _ORDERS[Outcome(old.decided)], _ORDERS[Outcome(new.decided)]
            yield f"{label_name(label)} is decided again, and differently: first to {first}, now to {second}"


# ---------------------------------------------------------------- applications, group, readers


def _producers(before: State, after: State) -> Iterator[str]:
    for c, (old, new) in enumerate(zip(before.clients, after.clients, strict=True)):
        was, now = (old.producer_id, old.producer_epoch), (new.producer_id, new.producer_epoch)
        if was != now and new.producer_id >= 0:
            yield f"{client_name(c)} is now {identity(*now)}{_as_others_are(after, c)}"


def _applications(before: State, after: State) -> Iterator[str]:
    for label, (facts_before, facts) in enumerate(zip(before.ghost.labels, after.ghost.labels, strict=True), start=1):
        who = label_name(label)
        for p in bits(facts.acked & ~facts_before.acked):
            yield f"{who[0]} gets the ack from {partition_name(p)} for {who}"
        if facts.result != facts_before.result:
            yield f"{who[0]} is told that {who} is {FATES[Outcome(facts.result)]}{_but(after, label, facts.result)}"


def _dead_ends(before: State, after: State) -> Iterator[str]:
    for c, (old, new) in enumerate(zip(before.clients, after.clients, strict=True)):
        if old.state != new.state and ProducerState(new.state) in _DEAD_ENDS:
            yield f"{client_name(c)} {_DEAD_ENDS[ProducerState(new.state)]}"


_DEAD_ENDS = {
    ProducerState.ABORTABLE_ERROR: "can only abort now",
    ProducerState.FATAL_ERROR: "is dead: a fatal error, it sends nothing any more",
}


def _as_others_are(state: State, c: int) -> str:
    """Who has the same identity as client `c`."""
    ours = state.clients[c]
    same = [
        client_name(other)
        for other, client in enumerate(state.clients)
        if other != c and (client.producer_id, client.producer_epoch) == (ours.producer_id, ours.producer_epoch)
    ]
    return f", and so is {same[0]}" if same else ""


def _but(state: State, label: int, outcome: int) -> str:
    """Where the logs say something else than the application is told."""
    opposite = Outcome.ABORT if outcome == Outcome.COMMIT else Outcome.COMMIT
    parts = parts_with(state, label, opposite)
    return f", although it is {FATES[opposite]} on {' and '.join(map(partition_name, parts))}" if parts else ""


def _group(before: State, after: State) -> Iterator[str]:
    old, new = before.group, after.group
    if old.generation != new.generation:
        yield f"generation {new.generation} of the group: {client_name(new.owner)} owns the input"
    if old.committed.offset != new.committed.offset:
        yield f"the group's committed offset is {new.committed.offset}"
    if not no_input_is_passed_over(after) and no_input_is_passed_over(before):
        yield f"an input before offset {new.committed.offset} has no committed output"
    if not a_committed_position_never_goes_back(after) and a_committed_position_never_goes_back(before):
        yield f"offset {new.committed.offset} is committed, and a later one stands before it in the log"
    yield from _taken_back(before, after)
    yield from _committed_in_the_log_only(before, after)


def _taken_back(before: State, after: State) -> Iterator[str]:
    """Offsets that wait no more, or wait again, although nothing was written about them."""
    log = after.partitions[OFFSETS]
    for was, waits in zip(before.group.pending, after.group.pending, strict=True):
        at = was.record_offset
        if NONE != at < log.end and waits.record_offset == NONE and fate(log, at) == Outcome.UNDECIDED:
            yield f"{record_words(log.log[at])} waits no more, although no marker has ended it"
        if was.record_offset == NONE and NONE != waits.record_offset < before.partitions[OFFSETS].end:
            yield f"{record_words(log.log[waits.record_offset])} waits again: it is in the log"


def _committed_in_the_log_only(before: State, after: State) -> Iterator[str]:
    old, new = before.partitions[OFFSETS], after.partitions[OFFSETS]
    for at in range(old.end):
        decided = fate(old, at) == Outcome.UNDECIDED and fate(new, at) == Outcome.COMMIT
        if decided and new.log[at].kind == LogEntry.OFFSET and after.group.committed.record_offset < at:
            yield f"nothing of it waits, so that the group's committed offset stays {after.group.committed.offset}"


def _readers(before: State, after: State) -> Iterator[str]:
    for r, (old, new) in enumerate(zip(before.readers, after.readers, strict=True)):
        if old.position == new.position:
            continue
        delivered = bits(new.delivered & ~old.delivered)
        got = " and ".join(_read(after.partitions[0], offset) for offset in delivered)
        yield f"{READERS[r]} delivers {got or 'nothing'} and stands at offset {new.position}"
        data = [offset for offset in range(old.position, new.position) if is_data(after.partitions[0].log[offset].kind)]
        for offset in data:
            if offset not in delivered:
                does = "holds back" if offset in bits(new.held) else "passes over"
                yield f"{READERS[r]} {does} {_read(after.partitions[0], offset)}"
        yield from _disagreement(after)


def _read(partition: Partition, offset: int) -> str:
    outcome = FATES[Outcome(fate(partition, offset))]
    return f"offset {offset} of p0 ({label_name(partition.log[offset].label)}, {outcome})"


def _disagreement(state: State) -> Iterator[str]:
    """What one reader delivered and the other did not, when both have read everything."""
    first, second = state.readers
    if first.position == second.position == state.partitions[0].end and second.held == 0:
        for one, mask in ((0, first.delivered & ~second.delivered), (1, second.delivered & ~first.delivered)):
            if mask:
                yield f"{READERS[one]} delivered {offsets_words(mask)} of p0, {READERS[1 - one]} did not"
