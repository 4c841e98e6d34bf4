"""The promises: what Kafka's protocol owes to the applications that use it, one function each.

Each takes a *state* and says whether it holds there. A state is whatever a host can project onto these attributes: the
checker's packed record (``checker/transactions/state.py``), and any live system that can answer the same questions. The
predicates return a bool and nothing else; explaining a path is another module's work.

``catalogue`` lists them as data, together with those of recorded histories. Here are the promises of the kind *always*
(in every state); what some state has to reach is in ``witnesses``.

Source: reference §12.1; ``bugs.md`` (names of violated promises); KIP-98, KIP-447, KIP-890.
"""

from typing import Any

from zombieproof.model.vocabulary import (
    NONE,
    LogEntry,
    Outcome,
    ProducerState,
    TransactionState,
)

State = Any
"""Any record or object with the attributes of ``checker.transactions.state.State``: the layers below cannot name it."""


def fate(partition: State, offset: int) -> int:
    """What became of a record: plain data counts as committed, the next marker of its producer decides."""
    record = partition.log[offset]
    if record.kind in (LogEntry.PLAIN, LogEntry.PLAIN_OFFSET):
        return int(Outcome.COMMIT)
    for i in range(offset + 1, partition.end):
        later = partition.log[i]
        if later.producer_id == record.producer_id:
            if later.kind == LogEntry.COMMIT:
                return int(Outcome.COMMIT)
            if later.kind == LogEntry.ABORT:
                return int(Outcome.ABORT)
    return int(Outcome.UNDECIDED)


def is_data(kind: int) -> bool:
    """Whether a log entry is a record of an application (not a marker)."""
    return kind in (LogEntry.DATA, LogEntry.PLAIN, LogEntry.OFFSET)


def only_what_was_asked_to_commit_is_committed(state: State) -> bool:
    """A read_committed reader never sees a record whose application did not ask to commit it."""
    for partition in state.partitions:
        for offset in range(partition.end):
            record = partition.log[offset]
            transactional = record.kind in (LogEntry.DATA, LogEntry.OFFSET)
            committed = transactional and fate(partition, offset) == Outcome.COMMIT
            if committed and not _asked_to_commit(state, record.label):
                return False
    return True


def _asked_to_commit(state: State, label: int) -> bool:
    return bool(state.ghost.labels[label - 1].asked == Outcome.COMMIT)


def an_acknowledged_commit_loses_nothing(state: State) -> bool:
    """When the application was told "committed", every record acknowledged to it is there and is never aborted."""
    for label in range(1, len(state.ghost.labels) + 1):
        facts = state.ghost.labels[label - 1]
        if facts.result != Outcome.COMMIT:
            continue
        for p in range(len(state.partitions)):
            if (facts.acked >> p) & 1 == 1 and not _survives(state.partitions[p], label):
                return False
    return True


def _survives(partition: State, label: int) -> bool:
    found = False
    for offset in range(partition.end):
        if partition.log[offset].label == label and is_data(partition.log[offset].kind):
            if fate(partition, offset) == Outcome.ABORT:
                return False
            found = True
    return found


def a_transaction_is_all_or_nothing(state: State) -> bool:
    """No transaction has one record committed and another one aborted, offsets included."""
    for label in range(1, len(state.ghost.labels) + 1):
        committed, aborted = False, False
        for partition in state.partitions:
            for offset in range(partition.end):
                if partition.log[offset].label == label and is_data(partition.log[offset].kind):
                    outcome = fate(partition, offset)
                    committed = committed or outcome == Outcome.COMMIT
                    aborted = aborted or outcome == Outcome.ABORT
        if committed and aborted:
            return False
    return True


def every_open_transaction_is_known_to_its_coordinator(state: State) -> bool:
    """A transaction that is open on a partition is listed by its coordinator, so that somebody will end it."""
    for p in range(len(state.partitions)):
        entries = state.partitions[p].entries
        for pid in range(len(entries)):
            if entries[pid].txn_first_offset != NONE and not _is_listed(state, pid, p):
                return False
    return True


def _is_listed(state: State, pid: int, p: int) -> bool:
    for durable in state.durable:
        undecided = durable.state in (
            TransactionState.ONGOING,
            TransactionState.PREPARE_COMMIT,
            TransactionState.PREPARE_ABORT,
        )
        if durable.known and undecided and durable.producer_id == pid and (durable.partitions >> p) & 1 == 1:
            return True
    return False


def a_decided_transaction_is_driven_to_its_end(state: State) -> bool:
    """A coordinator that knows of a decision is at work on its markers."""
    node = state.nodes[state.coordinator]
    for k in range(len(node.cache)):
        decided = node.cache[k].state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
        if decided and node.driving[k] == 0:
            return False
    return True


def a_question_waits_only_behind_another(state: State) -> bool:
    """A leader's question to a coordinator waits only while a request to the same coordinator is under way."""
    for lane in state.lanes:
        if lane.waiting > 0 and not lane.under_way:
            return False
    return True


def what_is_pending_is_under_way(state: State) -> bool:
    """A coordinator is at work on what it has pending: an append is under way, or its markers are."""
    node = state.nodes[state.coordinator]
    for k in range(len(node.cache)):
        if node.cache[k].pending_state != NONE and node.driving[k] == 0 and not _is_being_appended(state, k):
            return False
    return True


def _is_being_appended(state: State, k: int) -> bool:
    for under_way in state.appends:
        if under_way.phase != 0 and under_way.node == state.coordinator and under_way.subject == k:
            return True
    return False


def a_transaction_has_one_decision(state: State) -> bool:
    """A transaction is decided once, and the application is told what was decided, and not before."""
    if state.ghost.contradiction:
        return False
    for facts in state.ghost.labels:
        if facts.result in (Outcome.UNDECIDED, facts.decided):
            continue
        # Where nothing was written nothing has to be decided; a record that was acknowledged has to be.
        if facts.decided != Outcome.UNDECIDED or (facts.result == Outcome.COMMIT and facts.acked != 0):
            return False
    return True


def what_was_decided_outside_is_not_aborted(state: State) -> bool:
    """A transaction that an outer commit has decided to commit is never aborted, whoever takes it up."""
    for facts in state.ghost.labels:
        if facts.asked == Outcome.COMMIT and facts.decided == Outcome.ABORT:
            return False
    return True


def only_its_owner_ends_a_transaction(state: State) -> bool:
    """A client ends the transaction that it opened, and no other."""
    return not state.ghost.usurped


def no_machine_leaves_its_table(state: State) -> bool:
    """No machine ever makes a move that its table does not have."""
    return bool(state.ghost.illegal == 0)


def no_durable_record_contradicts_memory(state: State) -> bool:
    """A coordinator passes its own checks: what it makes durable follows from its memory (reference §2.3, §2.4)."""
    return not state.ghost.insane


def epochs_never_go_down(state: State) -> bool:
    """On a partition, the epoch of a producer id never goes down, nor does the coordinator epoch of its markers."""
    for partition in state.partitions:
        for pid in range(len(partition.entries)):
            epoch, coordinator_epoch = NONE, NONE
            for offset in range(partition.end):
                record = partition.log[offset]
                if record.producer_id != pid:
                    continue
                if record.producer_epoch < epoch:
                    return False
                epoch = int(record.producer_epoch)
                if not is_data(record.kind):
                    if record.value < coordinator_epoch:
                        return False
                    coordinator_epoch = int(record.value)
    return True


def sequences_follow_each_other(state: State) -> bool:
    """On a partition, the sequences of a producer id and epoch begin at 0 and have neither gap nor repetition."""
    for partition in state.partitions:
        for pid in range(len(partition.entries)):
            epoch, sequence = NONE, NONE
            for offset in range(partition.end):
                record = partition.log[offset]
                if record.producer_id != pid or record.kind not in (LogEntry.DATA, LogEntry.PLAIN):
                    continue
                if record.producer_epoch != epoch:
                    sequence = NONE
                if record.value != sequence + 1:
                    return False
                epoch, sequence = int(record.producer_epoch), int(record.value)
    return True


def every_batch_is_written_once(state: State) -> bool:
    """A batch that an application sent once is in the log at most once, and is there if it was acknowledged."""
    for label in range(1, len(state.ghost.labels) + 1):
        for p in range(len(state.partitions)):
            copies = 0
            partition = state.partitions[p]
            for offset in range(partition.end):
                if partition.log[offset].label == label and is_data(partition.log[offset].kind):
                    copies += 1
            acknowledged = (state.ghost.labels[label - 1].acked >> p) & 1
            if copies > 1 or copies < acknowledged:
                return False
    return True


def each_input_has_one_committed_output(state: State) -> bool:
    """Consume, transform, produce: an input position has at most one committed output."""
    seen = 0
    partition = state.partitions[0]
    for offset in range(partition.end):
        record = partition.log[offset]
        if record.kind == LogEntry.DATA and fate(partition, offset) == Outcome.COMMIT:
            position = state.ghost.labels[record.label - 1].input
            if position != NONE:
                if (seen >> position) & 1 == 1:
                    return False
                seen |= 1 << position
    return True


def no_input_is_passed_over(state: State) -> bool:
    """Consume, transform, produce: an input that lies before the committed position has its output, or will have it."""
    for position in range(int(state.group.committed.offset)):
        if not _has_output(state, position):
            return False
    return True


def _has_output(state: State, position: int) -> bool:
    """Whether an output of this input is committed, or decided to be."""
    partition = state.partitions[0]
    for offset in range(partition.end):
        record = partition.log[offset]
        if record.kind != LogEntry.DATA or state.ghost.labels[record.label - 1].input != position:
            continue
        decided = state.ghost.labels[record.label - 1].decided == Outcome.COMMIT
        if decided or fate(partition, offset) == Outcome.COMMIT:
            return True
    return False


def a_committed_position_never_goes_back(state: State) -> bool:
    """Of the positions that transactions have committed, none is behind one that stands before it in the log."""
    for partition in state.partitions:
        position = NONE
        for offset in range(partition.end):
            record = partition.log[offset]
            if record.kind != LogEntry.OFFSET or fate(partition, offset) != Outcome.COMMIT:
                continue
            if record.value < position:
                return False
            position = int(record.value)
    return True


def offsets_of_a_commit_outlive_an_earlier_deletion(state: State) -> bool:
    """A group that is deleted before a transaction is decided has the transaction's offsets once it is committed."""
    for partition in state.partitions:
        for offset in range(partition.end):
            if partition.log[offset].kind != LogEntry.OFFSET or fate(partition, offset) != Outcome.COMMIT:
                continue
            if not _is_deleted_after_its_decision(partition, offset) and state.group.committed.record_offset < offset:
                return False
    return True


def _is_deleted_after_its_decision(partition: State, offset: int) -> bool:
    """Whether a tombstone follows that knows the transaction of this record as decided: then it was to go."""
    label = partition.log[offset].label
    for i in range(offset + 1, partition.end):
        later = partition.log[i]
        if later.kind == LogEntry.TOMBSTONE and (later.value >> (label - 1)) & 1 == 1:
            return True
    return False


def no_two_live_producers_share_an_identity(state: State) -> bool:
    """Two instances never hold the same producer id and epoch."""
    for a in range(len(state.clients)):
        for b in range(a + 1, len(state.clients)):
            one, other = state.clients[a], state.clients[b]
            held = NONE not in (one.producer_id, one.producer_epoch)
            if held and one.producer_id == other.producer_id and one.producer_epoch == other.producer_epoch:
                return False
    return True


def nothing_of_an_older_instance_takes_effect(state: State) -> bool:
    """Once a producer instance is initialised, nothing of an older one opens or joins a transaction, under any id."""
    # The newest instance holds the identity that the coordinator knows now; what a crash left on its way had another.
    # Which instances share a transactional id no state says: with two ids in use nothing is judged.
    if _are_two_known(state):
        return True
    for c in range(len(state.clients)):
        for k in range(len(state.durable)):
            if _holds(state.clients[c], state.durable[k]) and not _has_all_that_is_open(state, c, k):
                return False
    return True


def _are_two_known(state: State) -> bool:
    count = 0
    for durable in state.durable:
        count += 1 if durable.known else 0
    return count > 1


def _holds(client: State, durable: State) -> bool:
    """Whether a client that works has the identity that the log of the coordinator names."""
    if not durable.known or client.producer_id == NONE:
        return False
    if client.state in (ProducerState.UNINITIALIZED, ProducerState.INITIALIZING, ProducerState.FATAL_ERROR):
        return False
    return bool(client.producer_id == durable.producer_id and client.producer_epoch == durable.producer_epoch)


def _has_all_that_is_open(state: State, c: int, k: int) -> bool:
    """Whether everything that is open belongs to client `c`, under its identity if no transaction is being ended."""
    standing = state.durable[k].state
    if standing == TransactionState.ONGOING and not _is_of(state, int(state.ghost.owner[k]), c):
        return False
    is_ending = standing in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
    for partition in state.partitions:
        for pid in range(len(partition.entries)):
            first = partition.entries[pid].txn_first_offset
            if first != NONE and not _are_all_of(state, partition, pid, int(first), c, bool(is_ending)):
                return False
    return True


def _are_all_of(state: State, partition: State, pid: int, first: int, c: int, is_ending: bool) -> bool:
    """Whether the records of a producer id from an offset on are all of client `c`, as it is now."""
    holder = state.clients[c]
    for offset in range(first, partition.end):
        record = partition.log[offset]
        if record.producer_id != pid or record.kind not in (LogEntry.DATA, LogEntry.OFFSET):
            continue
        is_same = record.producer_id == holder.producer_id and record.producer_epoch == holder.producer_epoch
        if not _is_of(state, int(record.label), c) or not (is_ending or is_same):
            return False
    return True


def _is_of(state: State, label: int, c: int) -> bool:
    """Whether a label is of client `c`; 0 is nobody's."""
    of_each = len(state.ghost.labels) // len(state.clients)
    return bool(label == 0 or (label - 1) // of_each == c)


def an_unrivalled_producer_is_never_fenced(state: State) -> bool:
    """A producer without a rival and without a time-out never ends in a fatal error."""
    return bool(state.clients[0].state != ProducerState.FATAL_ERROR)


def a_reader_gets_committed_records_only(state: State) -> bool:
    """What a read_committed consumer delivered is committed: neither aborted nor undecided."""
    partition = state.partitions[0]
    for reader in state.readers:
        for offset in range(partition.end):
            if (reader.delivered >> offset) & 1 == 1 and fate(partition, offset) != Outcome.COMMIT:
                return False
    return True


def a_reader_misses_nothing_committed(state: State) -> bool:
    """What is committed and lies behind a read_committed consumer's position was delivered, or is still held back."""
    partition = state.partitions[0]
    for reader in state.readers:
        for offset in range(reader.position):
            committed = is_data(partition.log[offset].kind) and fate(partition, offset) == Outcome.COMMIT
            if committed and ((reader.delivered | reader.held) >> offset) & 1 == 0:
                return False
    return True


def both_readers_agree(state: State) -> bool:
    """At the end of the log, the broker's filter and the client's buffer have delivered the same records."""
    partition = state.partitions[0]
    for reader in state.readers:
        if reader.position < partition.end:
            return True
    return bool(state.readers[0].delivered == state.readers[1].delivered or state.readers[1].held != 0)
