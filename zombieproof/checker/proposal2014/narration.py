"""Narration of the 2014 proposal: each action in words, with its result."""

import copy

from zombieproof.checker.proposal2014 import requests
from zombieproof.checker.proposal2014.action_kinds import ACTIONS, Action
from zombieproof.checker.proposal2014.state import Setup, State, Trail
from zombieproof.model.proposal2014.records import OFFSETS, PARTITIONS, Reader, Record, Request
from zombieproof.model.proposal2014.vocabulary import (
    Answer,
    ProducerState,
    RecordKind,
    RequestKind,
    TransactionState,
)
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.notes import MachineIndex
from zombieproof.statemachines.proposal2014 import cleaner, coordinator, leader, reader

NAMES = "AB"


def instance_name(i: int) -> str:
    """Return the name of an instance."""
    return f"instance {NAMES[i]}"


def partition_name(p: int) -> str:
    """Return the name of a partition."""
    return "the offsets partition" if p == OFFSETS else f"partition {p}"


def transaction_name(t: int) -> str:
    """Return the TxId of a transaction; the first is 1."""
    return f"TxId {t + 1}"


def subject_name(machine: int, subject: int) -> str:
    """Return the name of the process or object that a move of a state machine belongs to."""
    if machine == MachineIndex.PROPOSAL2014_PRODUCER:
        return instance_name(subject)
    if machine == MachineIndex.PROPOSAL2014_JOURNAL:
        return "of the group"
    if machine == MachineIndex.PROPOSAL2014_OFFSETS:
        return "of the consumer group"
    return transaction_name(subject)


def action_name(action: int) -> tuple[str, int]:
    """Return the name of an action, and the number of its subject."""
    kind, i = ACTIONS[action]
    return Action(kind).name.lower(), i


def describe(state: State, action: int, setup: Setup) -> str:
    """Describe the action in this state, in one line."""
    kind, i = ACTIONS[action]
    if kind in (Action.GO_ON, Action.LOSE_ANSWER, Action.BE_LATE, Action.ABORT, Action.CRASH):
        return _of_instance(state, setup, Action(kind), i)
    if kind in (Action.TELL, Action.CONTROL, Action.LOSE_ACKNOWLEDGEMENT):
        return _of_leader(state, setup, Action(kind), i // PARTITIONS, i % PARTITIONS)
    if kind == Action.EXPIRE:
        return f"{transaction_name(i)} is abandoned, and the coordinator writes PREPARE_ABORT"
    if kind == Action.TIME_OUT:
        return f"{transaction_name(i)} times out, and the coordinator writes PREPARE_ABORT"
    if kind == Action.ARRIVE:
        return f"a delayed request arrives: {_asks(state, setup, state.late[i])}{_so(state, setup, state.late[i])}"
    if kind in (Action.READ, Action.CHECKPOINT_READER, Action.CRASH_READER):
        return _of_reader(state, setup, Action(kind), i)
    return _of_logs(state, setup, Action(kind), i)


def _of_instance(state: State, setup: Setup, kind: Action, i: int) -> str:
    who = instance_name(i)
    instance = state.instances[i]
    if kind == Action.CRASH:
        return f"{who} crashes"
    if kind == Action.ABORT:
        return f"{who} decides to abort {transaction_name(instance.transaction)}"
    if requests.is_waiting(state, setup, i):
        request = Request()
        requests.ask(state, setup, i, request)
        if kind == Action.BE_LATE:
            return f"{_asks(state, setup, request)}, and gives up while the request is in flight"
        lost = ", and the response is lost" if kind == Action.LOSE_ANSWER else ""
        return f"{_asks(state, setup, request)}{_so(state, setup, request)}{lost}"
    at = requests.producer_of(setup, i)
    if instance.state in (ProducerState.STOPPED, ProducerState.CLOSED):
        found = state.stored[at]
        there = "no generation is stored" if found == NONE else f"generation {found} is stored"
        return f"{who} starts: {there}, so it takes generation {found + 1}"
    if instance.state == ProducerState.STARTING:
        if setup.rules.starts_store_their_generation == 1:
            return f"{who} stores its generation {instance.generation}"
        return f"{who} will store its generation {instance.generation} with its next transaction"
    if instance.state == ProducerState.READY:
        chosen = "" if requests.fetches(setup) else f" for block {requests.next_block(state, setup, i)}"
        return f"{who} asks for a TxId{chosen}"
    if instance.state == ProducerState.FETCHING:
        block = requests.next_block(state, setup, i)
        takes = "none is left" if block == requests.past_of_group(setup, i) else f"block {block} is next"
        return f"{who} fetches the offsets of its group: {takes}"
    return f"{who} has sent all of {transaction_name(instance.transaction)}, and asks for its commit"


def _asks(state: State, setup: Setup, request: Request) -> str:
    who = instance_name(request.instance)
    t = transaction_name(request.transaction)
    if request.kind == RequestKind.BEGIN:
        return f"{who} asks the coordinator to begin, with generation {request.generation}"
    if request.kind == RequestKind.PAYLOAD:
        what = "its input offsets" if request.partition == OFFSETS else _message(request.block, request.number, setup)
        return f"{who} sends {what} of {t} to {partition_name(request.partition)}"
    verb = "commit" if request.kind == RequestKind.COMMIT else "abort"
    return f"{who} asks the coordinator to {verb} {t}"


def _message(block: int, number: int, setup: Setup) -> str:
    return f"message {number} of block {block}" if setup.records > 1 else f"block {block}"


def _so(state: State, setup: Setup, request: Request) -> str:
    """Describe the result of a request."""
    there, asked, trail = copy.deepcopy(state), copy.deepcopy(request), Trail()
    said = requests.answer(there, setup, trail, asked)
    if there.full:
        return ": the model has no capacity left"
    fenced = [
        transaction_name(t)
        for t, (old, new) in enumerate(zip(state.coordinator.transactions, there.coordinator.transactions, strict=True))
        if old.state == TransactionState.BEGUN and new.state == TransactionState.PREPARED_ABORT
    ]
    also = f", and {' and '.join(fenced)} will be aborted" if fenced and asked.kind == RequestKind.BEGIN else ""
    if asked.kind == RequestKind.BEGIN and said == Answer.DONE:
        is_old = there.journal.count == state.journal.count
        return f": {transaction_name(asked.transaction)} {'has begun already' if is_old else 'begins'}{also}"
    return _ANSWERS[Answer(said)] + also + _although(state, there, asked)


def _although(state: State, there: State, request: Request) -> str:
    """Describe what is wrong with the result of a request, if anything."""
    t = request.transaction
    if request.kind == RequestKind.PAYLOAD and there.logs[request.partition].end > state.logs[request.partition].end:
        its = [
            (record.block, record.number)
            for record in state.logs[request.partition].records
            if record.kind == RecordKind.PAYLOAD and record.transaction == t
        ]
        if (request.block, request.number) in its:
            return ", although it is already there"
        if leader.has_ended(state.logs[request.partition], t):
            return ", although its control record is already there"
    transactions = there.coordinator.transactions
    is_new = state.coordinator.transactions[t].state == TransactionState.BEGUN
    if transactions[t].state == TransactionState.PREPARED_COMMIT and is_new:
        of_others = {block for other in range(t) if _is_committed(there, other) for block in _blocks(there, other)}
        for block in sorted(_blocks(there, t) & of_others):
            return f", although block {block} is already committed"
    return ""


def _is_committed(state: State, t: int) -> bool:
    return state.coordinator.transactions[t].state in (TransactionState.PREPARED_COMMIT, TransactionState.COMMITTED)


def _blocks(state: State, t: int) -> set[int]:
    """Return the blocks of input in a transaction."""
    records = state.logs[0].records
    return {record.block for record in records if record.kind == RecordKind.PAYLOAD and record.transaction == t}


_ANSWERS = {
    Answer.DONE: ": it is appended",
    Answer.STALE_GENERATION: ": it is refused, because a newer generation is known",
    Answer.UNKNOWN_TRANSACTION: ": the TxId is unknown",
    Answer.ABORTED: ": the transaction is aborted",
    Answer.TWO_CONNECTIONS: ": another process has the same generation, and both are closed",
    Answer.COMMITTED: ": it will be committed",
    Answer.NOT_FINISHED: ": the previous transaction is not finished yet",
    Answer.NO_ANSWER: "",
}


def _of_leader(state: State, setup: Setup, kind: Action, t: int, p: int) -> str:
    who = f"the leader of {partition_name(p)}"
    transaction = state.coordinator.transactions[t]
    if kind == Action.TELL:
        return f"{who} learns that {transaction_name(t)} has begun"
    commits = transaction.state in (TransactionState.PREPARED_COMMIT, TransactionState.COMMITTED)
    how = "COMMITTED" if commits else "ABORTED"
    said = f"{who} appends the {how} control record of {transaction_name(t)}"
    if kind == Action.LOSE_ACKNOWLEDGEMENT:
        return f"{said}, and its acknowledgement is lost"
    there = copy.deepcopy(state)
    coordinator.acknowledged(there.coordinator, there.journal, t, p, setup.rules, Trail())
    return f"{said}, and {how} is written to the journal" if there.journal.end > state.journal.end else said


def _of_reader(state: State, setup: Setup, kind: Action, p: int) -> str:
    who = f"the reader of {partition_name(p)}"
    its = state.readers[p]
    if kind == Action.CHECKPOINT_READER:
        after = copy.deepcopy(its)
        reader.checkpoint(after, setup.rules)
        third = "" if after.saved_partly == NONE else f", {after.saved_partly}"
        return f"{who} stores its checkpoint ({after.saved_start}, {after.saved_to}{third})"
    if kind == Action.CRASH_READER:
        return f"{who} crashes, and restarts from offset {its.saved_start}"
    return f"{who} {_reads(state, setup, its, p)}"


def _reads(state: State, setup: Setup, its: Reader, p: int) -> str:
    log, offset = state.logs[p], its.position
    record = log.records[offset]
    after, trail = copy.deepcopy(its), Trail()
    given = reader.read_one(after, log, setup.read_committed == 1, setup.rules, trail.reading, trail)
    if record.is_cleaned:
        return f"skips offset {offset}, which was cleaned away"
    if given == NONE:
        return f"reads {_record(record)} at offset {offset}{_held(its, after)}"
    there = f"offset {given}, {_record(log.records[given])}"
    if given == offset:
        return f"delivers {there}"
    return f"reads {_record(record)} at offset {offset}, and delivers {there}"


def _held(before: Reader, after: Reader) -> str:
    if sum(map(int.bit_count, after.held)) > sum(map(int.bit_count, before.held)):
        return ", and holds it back"
    if sum(map(int.bit_count, after.held)) < sum(map(int.bit_count, before.held)):
        return ", and drops the messages that it held back"
    return ""


def _record(record: Record) -> str:
    t = transaction_name(record.transaction)
    return {
        RecordKind.EMPTY: "nothing",
        RecordKind.PLAIN: "a plain message",
        RecordKind.PAYLOAD: f"a message of {t}",
        RecordKind.CONTROL_COMMITTED: f"the COMMITTED control record of {t}",
        RecordKind.CONTROL_ABORTED: f"the ABORTED control record of {t}",
    }[RecordKind(record.kind)]


def _of_logs(state: State, setup: Setup, kind: Action, i: int) -> str:
    if kind == Action.FAIL_OVER:
        return f"the coordinator fails over, and the new one reads the journal{_from(state, setup)}"
    if kind == Action.CHANGE_LEADER:
        return f"{partition_name(i)} has a new leader"
    if kind == Action.CHECKPOINT_WATERMARK:
        return f"the high watermark {state.coordinator.high_watermark} of the journal is stored"
    if kind == Action.APPEND_PLAIN:
        return f"a plain message is appended to {partition_name(i)}"
    after = copy.deepcopy(state.logs[i])
    cleaner.clean(after, setup.rules)
    gone = [
        str(offset)
        for offset, (old, new) in enumerate(zip(state.logs[i].records, after.records, strict=True))
        if new.is_cleaned and not old.is_cleaned
    ]
    which = gone[0] if len(gone) == 1 else f"{', '.join(gone[:-1])} and {gone[-1]}"
    return f"the log cleaner removes offset{'s' if len(gone) > 1 else ''} {which} of {partition_name(i)}"


def _from(state: State, setup: Setup) -> str:
    return "" if setup.rules.finished_are_remembered == 1 else f" from {state.journal.checkpoint} on"
