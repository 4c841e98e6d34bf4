"""What came of one step: which answer set out and what its receiver makes of it, and what is new in the state."""

import copy
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from zombieproof.checker.transactions import epochs
from zombieproof.checker.transactions.action_kinds import ACTIONS, AT_APPENDS, AT_BLOCKS, AT_COMMITS, Action
from zombieproof.checker.transactions.capacities import NODES
from zombieproof.checker.transactions.client_actions import next_op
from zombieproof.checker.transactions.narration import (
    client_name,
    coordinator_name,
    id_name,
    leader_name,
    message_name,
    partition_name,
    remembers_position,
)
from zombieproof.checker.transactions.network import speaks_to_coordinator
from zombieproof.checker.transactions.questions_under_way import place_of
from zombieproof.checker.transactions.replicas import is_waiting
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind, Op, Stage
from zombieproof.model.vocabulary import NONE, Error, PendingOffsetsState, Row, TransactionState
from zombieproof.report.changes import at_brokers, at_clients
from zombieproof.report.offsets_under_way import at_leader, cut_off, left_in_memory, waits_for_replicas
from zombieproof.report.refused_appends import left_behind
from zombieproof.report.replication import LEADERS_CHANGE, begins_to_wait, lost, turned_away
from zombieproof.report.states import identity, label_name, transaction_words
from zombieproof.statemachines.notes import Decision, MachineIndex

WAITS = "the answer waits for the other replicas"


def consequences(before: State, after: State, setup: Setup, action: int, trail: Trail) -> tuple[str, ...]:
    """What came of an action, line by line; a delivery has at least one."""
    kind, i = ACTIONS[action]
    by = epochs.lowered_between(before, after) if setup.bounds.restarts == 1 else 0
    anew: tuple[str, ...] = ()
    if by:
        before = copy.deepcopy(before)
        epochs.lower_by(before, by)
        lowest = epochs.LOWEST
        anew = (f"nothing names a lower epoch than {lowest + by} any more: from here on it is called {lowest}",)
    brokers, clients = at_brokers(before, after), at_clients(before, after)
    between: Iterable[str] = ()
    if Action.DELIVER <= kind <= Action.UNKNOWN_APPEND and kind not in (Action.DOUBLE, Action.GIVE_UP):
        message = before.messages[i]
        brokers += (*_wrong_transaction(before, after, setup, message), *_remarks(before, after, message, trail))
        asked = tuple(_of_questions(before, after, setup, message))
        answer = () if asked else _answer(after, setup, kind, message, trail, is_told=bool(brokers or clients))
        between = (*asked, *answer, *_then_sends(before, after, setup, message))
    elif kind in AT_APPENDS:
        brokers += (*(_loaded(after) if kind == Action.CLOSE_LOG else ()), *left_behind(before, after, kind, i))
        if trail.asker > 0:
            between = _said(after, setup, kind, _asker(before, i), trail, is_told=bool(brokers or clients))
    elif kind in AT_COMMITS:
        brokers += tuple(left_in_memory(before, after, kind))
        between = _said(after, setup, kind, at_leader(before.messages[i]), trail, is_told=bool(brokers or clients))
    elif kind == Action.CUT_OFFSETS:
        brokers += tuple(cut_off(before, after))
    elif kind == Action.DISCONNECT:
        between = _of_questions(before, after, setup, next(each for each in before.messages if _is_asked(each, i)))
    elif kind in AT_BLOCKS:
        between = _of_blocks(before, after, kind, i)
    elif kind in (Action.FAIL_OVER, Action.DEPOSE):
        brokers = (*_loaded(after), *brokers)
    elif kind in LEADERS_CHANGE:
        knows = () if kind == Action.LOSE_LEADER else _read_from_log(after, i)
        between = (*turned_away(before, setup, i), *lost(before, after, setup, i), *knows)
    elif kind == Action.STEP:
        between = _fetched(before, after, setup, i)
    faults, late = _faults(before, after, setup, trail), _late_now(before, after, setup, kind)
    return (
        *brokers,
        *faults,
        *between,
        *_forgotten_questions(before, after),
        *_asks_for_block(before, after),
        *clients,
        *late,
        *anew,
    )


# ---------------------------------------------------------------- answers


def _asker(before: State, number: int) -> Message:
    """The request that waits for an append, as it was when it asked."""
    asker = replace(
        next(each for each in before.messages if each.stage == Stage.APPENDING and each.error == number + 1)
    )
    asker.stage = Stage.TO_LEADER if speaks_to_coordinator(asker.kind) else Stage.TO_COORDINATOR
    return asker


def _answer(after: State, setup: Setup, kind: int, message: Message, trail: Trail, *, is_told: bool) -> Iterator[str]:
    """What the answer to a message says. An acceptance is not said where its effect is told."""
    if message.kind == Kind.MARKER:
        yield from _answer_to_marker(trail)
        if kind == Action.DELIVER and is_waiting(message):
            yield f"the marker of {partition_name(message.partition)} counts as written"
        elif kind == Action.DELIVER and begins_to_wait(after, message):
            yield WAITS
    elif message.answered:
        if not is_told and kind != Action.LOSE_ANSWER:
            yield f"{client_name(message.client)} goes on{_and_then(after, message)}"
    elif not trail.answered and (speaks_to_coordinator(message.kind) or message.stage == Stage.TO_COORDINATOR):
        yield "the answer waits for an append"
    elif not trail.answered and waits_for_replicas(after, message):
        yield "the answer waits until replicas have it"
    elif begins_to_wait(after, message):
        yield WAITS
    elif not trail.answered and kind == Action.LOSE_ANSWER and len(after.replicas) > 0:
        return
    elif not trail.answered:
        yield f"{leader_name(message.partition)} asks {coordinator_name(after, setup, after.coordinator)} first"
    else:
        yield from _said(after, setup, kind, message, trail, is_told=is_told)


def _answer_to_marker(trail: Trail) -> Iterator[str]:
    for decided in trail.decisions[: trail.decision_count]:
        if decided.decision == Decision.MARKER and decided.error != Error.NONE:
            yield f"it is refused: {Error(decided.error).name}{_by(trail, decided.error)}"


def _said(after: State, setup: Setup, kind: int, message: Message, trail: Trail, *, is_told: bool) -> Iterator[str]:
    asked_by_leader = message.stage == Stage.TO_COORDINATOR and not speaks_to_coordinator(message.kind)
    who = leader_name(message.partition) if asked_by_leader else client_name(message.client)
    error = Error(trail.error)
    travels = setup.bounds.answers_travel == 1 and message.live and not asked_by_leader
    if error == Error.NONE and is_told and not travels:
        return
    says = f"{error.name}{_by(trail, error)}"
    if kind == Action.LOSE_ANSWER:
        yield f"the answer that is lost is {says}"
    elif not message.live and not asked_by_leader:
        yield f"the answer is {says}, and nobody waits for it"
    elif travels:
        yield f"the answer {says} sets out for {who}"
    else:
        yield f"{who} is answered {says}{'' if asked_by_leader else _and_then(after, message)}"


def _by(trail: Trail, error: int) -> str:
    """The row that refused; the error it gave, if another one is answered."""
    for decided in reversed(trail.decisions[: trail.decision_count]):
        if decided.error != Error.NONE and decided.row != Row.NO_ROW:
            translated = "" if decided.error == error else f" for {Error(decided.error).name}"
            return f" (row {Row(decided.row).name}{translated})"
    return ""


def _and_then(after: State, message: Message) -> str:
    """Whether the client asks again, and where."""
    for other in after.messages:
        same = other.kind == message.kind and other.client == message.client and other.live
        if same and (other.label, other.partition) == (message.label, message.partition) and not other.answered:
            if not speaks_to_coordinator(message.kind):
                return ", and sends it again"
            return ", and asks again" if other.node == message.node else f", and asks node {other.node}"
    return ""


def _then_sends(before: State, after: State, setup: Setup, message: Message) -> Iterator[str]:
    """A partition is in the transaction: what waited for that goes out."""
    if message.kind not in (Kind.ADD_PARTITIONS, Kind.ADD_OFFSETS) or not message.live:
        return
    was_there = [message_name(other, setup) for other in before.messages if other.live]
    for other in after.messages:
        sent = other.live and other.kind in (Kind.PRODUCE, Kind.TXN_OFFSET_COMMIT)
        if sent and other.client == message.client and message_name(other, setup) not in was_there:
            yield f"{message_name(other, setup)} sets out"


def _remarks(before: State, after: State, message: Message, trail: Trail) -> Iterator[str]:
    """What is remarkable about an acceptance."""
    at_leader = message.kind in (Kind.PRODUCE, Kind.TXN_OFFSET_COMMIT) and message.stage != Stage.TO_COORDINATOR
    accepted = begins_to_wait(after, message) or (trail.answered and trail.error == Error.NONE)
    if not at_leader or not accepted or is_waiting(message):
        return
    p = message.partition
    if before.partitions[p].end == after.partitions[p].end:
        yield "it is taken for a duplicate: nothing is appended"
    if message.kind == Kind.TXN_OFFSET_COMMIT and before.group.owner != message.client:
        owner, generation = client_name(before.group.owner), before.group.generation
        yield f"it is accepted, although {owner} owns the input in generation {generation}"


# ---------------------------------------------------------------- what brokers ask each other

_ASKED = (Stage.WAITING, Stage.TO_COORDINATOR, Stage.APPENDING, Stage.BACK_TO_LEADER)


def _is_asked(message: Message, place: int) -> bool:
    """Whether a question about a message is under way in a lane, or was answered."""
    asks = message.kind in (Kind.PRODUCE, Kind.TXN_OFFSET_COMMIT) and message.stage in _ASKED[1:]
    return asks and place_of(message.partition, message.node) == place


def _of_questions(before: State, after: State, setup: Setup, message: Message) -> Iterator[str]:
    """What becomes of the questions of a leader that come and go; nothing where each travels alone."""
    if setup.bounds.verification_queue == 0 or message.kind not in (Kind.PRODUCE, Kind.TXN_OFFSET_COMMIT):
        return
    if message.stage not in (Stage.TO_LEADER, Stage.BACK_TO_LEADER, Stage.TO_COORDINATOR):
        return
    leader, was, now = leader_name(message.partition), _stages(before, setup), _stages(after, setup)
    for name, stage in was.items():
        if stage == Stage.WAITING and now.get(name) != Stage.WAITING:
            again = now.get(name) == Stage.TO_COORDINATOR
            yield f"{leader} asks about {name} next" if again else f"{leader} no longer asks about {name}"
        elif stage in _ASKED and now.get(name) == Stage.TO_LEADER:
            yield f"{leader} refuses {name}, and it is sent again"
    for name, stage in now.items():
        if stage == Stage.WAITING and was.get(name) != Stage.WAITING:
            yield f"the question of {leader} about {name} waits for the one before"
        elif stage == Stage.TO_COORDINATOR and was.get(name, Stage.TO_LEADER) == Stage.TO_LEADER:
            yield f"{leader} asks {coordinator_name(after, setup, after.coordinator)} first"


def _forgotten_questions(before: State, after: State) -> Iterator[str]:
    """Questions that go on waiting although nothing is under way before them."""
    for place, (old, new) in enumerate(zip(before.lanes, after.lanes, strict=True)):
        if new.waiting > 0 and new.under_way < old.under_way:
            yield f"{leader_name(place // NODES)} asks nothing more, although a question waits"


def _stages(state: State, setup: Setup) -> dict[str, int]:
    """The messages that a leader may ask about, by name, and where they are."""
    return {
        message_name(replace(message, stage=0), setup): message.stage
        for message in state.messages
        if message.kind in (Kind.PRODUCE, Kind.TXN_OFFSET_COMMIT) and message.stage != Stage.ABANDONED
    }


def _asks_for_block(before: State, after: State) -> Iterator[str]:
    for node, (old, new) in enumerate(zip(before.allocations, after.allocations, strict=True)):
        if new.asked > old.asked:
            yield f"node {node} asks the controller for producer ids"
        if new.held > old.held:
            yield f"the answer to node {node} waits until the controller's log has it"
        if new.held < old.held:
            yield f"the answer to node {node} sets out" if new.first != NONE else f"node {node} is not answered"


def _of_blocks(before: State, after: State, kind: int, node: int) -> Iterator[str]:
    """What a node makes of the controller's answer."""
    if (
        kind in (Action.GIVE_BLOCK, Action.GIVE_LATE_BLOCK)
        and after.blocks[node].next_size == before.blocks[node].next_size
    ):
        yield f"node {node} refuses it: it does not lie above the block that it has"


# ---------------------------------------------------------------- what only ghost facts know


def _wrong_transaction(before: State, after: State, setup: Setup, message: Message) -> Iterator[str]:
    if after.ghost.usurped > before.ghost.usurped:
        owner = before.ghost.owner[setup.bounds.transactional_id[message.client]]
        opened = f"opened by {label_name(owner)}" if owner else "opened by nobody who is known"
        yield f"the transaction that is ended was {opened}, and this request is about {label_name(message.label)}"


def _faults(before: State, after: State, setup: Setup, trail: Trail) -> Iterator[str]:
    if after.ghost.illegal > before.ghost.illegal:
        machine = MachineIndex(after.ghost.illegal - 1).name.replace("_", " ").lower()
        yield f"the {machine} has no such move in its table"
    if after.ghost.insane > before.ghost.insane:
        failed = [decided for decided in trail.decisions[: trail.decision_count] if decided.error != Error.NONE]
        by = "".join(f": {Error(one.error).name} (row {Row(one.row).name})" for one in failed[:1])
        yield f"the coordinator fails a check of its own{by}; the largest epoch is {setup.rules.epoch_max}"
        for k, txn in enumerate(after.durable):
            if txn.known and before.durable[k] == txn:
                yield f"{id_name(k)} stays {transaction_words(txn)}"


def _late_now(before: State, after: State, setup: Setup, kind: int) -> Iterator[str]:
    """What somebody who is gone has sent, and can still arrive; a step that doubles or gives up says so itself."""
    if kind not in (Action.DOUBLE, Action.GIVE_UP):
        for name, count in (_late(after, setup) - _late(before, setup)).items():
            yield from [f"{name} is still on its way"] * count


def _late(state: State, setup: Setup) -> Counter[str]:
    """The names of late copies, wherever they are on their way."""
    messages = [message for message in state.messages if message.kind != Kind.EMPTY and not message.live]
    return Counter(_late_name(message, setup) for message in messages)


def _late_name(message: Message, setup: Setup) -> str:
    name = message_name(replace(message, stage=0), setup)
    return f"the question about {name}" if message.stage == Stage.ABANDONED else name


# ---------------------------------------------------------------- what is read


def _loaded(after: State) -> Iterator[str]:
    """What a new coordinator finds in the log, and whether it is at work on it."""
    node = after.nodes[after.coordinator]
    yield f"node {after.coordinator} is the coordinator, with coordinator epoch {node.epoch}"
    for k, txn in enumerate(node.cache):
        if txn.known:
            decided = txn.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
            idle = "; nobody sends its markers" if decided and node.driving[k] == 0 else ""
            yield f"it finds {id_name(k)} as {transaction_words(txn)}{idle}"


def _read_from_log(after: State, p: int) -> Iterator[str]:
    """What a new leader knows of the producers in its log."""
    partition = after.partitions[p]
    in_log = {int(record.producer_id) for record in partition.log[: partition.end]} - {NONE}
    for pid in sorted(in_log):
        entry = partition.entries[pid]
        if not entry.known:
            yield f"{leader_name(p)} knows nothing of producer {pid}, whose records are in the log"
            continue
        open_since = entry.txn_first_offset
        what = "no transaction is open" if open_since == NONE else f"a transaction is open from offset {open_since} on"
        yield f"{leader_name(p)} knows {identity(pid, entry.producer_epoch)}: {what}"


def _fetched(before: State, after: State, setup: Setup, c: int) -> Iterator[str]:
    """The committed offset that a member fetched, and what it does not wait for."""
    if next_op(setup, before.clients[c], c) != Op.FETCH or not before.clients[c].alive:
        return
    position = after.clients[c].position
    does = "no input is left" if position >= setup.bounds.inputs else f"it works on input {position}"
    if remembers_position(setup, before.clients[c]):
        yield f"{client_name(c)} stands at offset {position}: {does}"
        return
    yield f"{client_name(c)} is told that offset {position} is committed: {does}"
    for pid, pending in enumerate(before.group.pending):
        if pending.state == PendingOffsetsState.PENDING:
            yield f"offset {pending.offset} of producer {pid} is pending, and {client_name(c)} does not wait for it"
