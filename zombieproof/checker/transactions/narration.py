"""An action in words: who does what, where a message arrives, and whom the moves are about."""

from zombieproof.checker.transactions import replicas
from zombieproof.checker.transactions.action_kinds import (
    ACTIONS,
    AT_APPENDS,
    AT_BLOCKS,
    AT_COMMITS,
    AT_CONTROLLER,
    AT_LOGS,
    KINDS_BETWEEN_BROKERS,
    Action,
    partition_of,
    producer_of,
)
from zombieproof.checker.transactions.asked_again import COMMIT, may_call, open_call, times_out
from zombieproof.checker.transactions.capacities import LOG, NODES, OFFSETS
from zombieproof.checker.transactions.client_actions import next_op
from zombieproof.checker.transactions.network import speaks_to_coordinator
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Client, Message, State, UnderWay
from zombieproof.checker.transactions.views import is_tv2
from zombieproof.checker.transactions.vocabulary import Kind, Op, Phase, Stage
from zombieproof.model.vocabulary import NONE, Error, ProducerState, TransactionState
from zombieproof.statemachines.coordinator.records import Operation
from zombieproof.statemachines.notes import MachineIndex
from zombieproof.statemachines.producer.calls import is_completing, is_in_error

NAMES = "AB"
READERS = ("the read_committed reader", "the buffering reader")


def client_name(c: int) -> str:
    """A, B."""
    return NAMES[c]


def id_name(k: int) -> str:
    """A transactional id: x0, x1."""
    return f"x{k}"


def partition_name(p: int) -> str:
    """p0, p1, or the offsets partition."""
    return "__consumer_offsets" if p == OFFSETS else f"p{p}"


def leader_name(p: int) -> str:
    """Who leads a partition: the group coordinator is the leader of the offsets partition."""
    return "the group coordinator" if p == OFFSETS else f"the leader of {partition_name(p)}"


def coordinator_name(state: State, setup: Setup, node: int) -> str:
    """A transaction coordinator, by the number of its node where another node may become one."""
    name = "transaction coordinator" if setup.bounds.grouped == 1 else "coordinator"
    if setup.budget.failovers == 0 and setup.budget.deposed == 0:
        return f"the {name}"
    if not state.nodes[node].believes:
        return f"node {node} (no coordinator any more)"
    if node != state.coordinator:
        return f"node {node} (deposed, and does not know it)"
    return f"{name} node {node}"


def action_name(action: int) -> tuple[str, int]:
    """The name of the action's kind, and its argument."""
    kind, i = ACTIONS[action]
    return Action(kind).name.lower(), i


def subject_name(machine: int, subject: int) -> str:
    """Whom a move of a machine is about."""
    if machine == MachineIndex.COORDINATOR:
        return id_name(subject)
    if machine == MachineIndex.PRODUCER:
        return client_name(subject)
    if machine == MachineIndex.PARTITION_LEADER:
        return partition_name(subject)
    if machine == MachineIndex.GROUP_COORDINATOR:
        return f"producer {subject}"
    return READERS[subject].removeprefix("the ")


def describe(state: State, action: int, setup: Setup) -> str:
    """What the action does in this state, in one line."""
    kind, i = ACTIONS[action]
    if kind in (Action.STEP, Action.ABORT_INSTEAD):
        return _client_step(state, setup, i, kind == Action.ABORT_INSTEAD)
    if Action.DELIVER <= kind <= Action.UNKNOWN_APPEND or kind == Action.REFUSE:
        return _message_action(state, setup, kind, state.messages[i])
    if kind in (Action.RESIGN, Action.TIME_OUT, Action.FAIL_OVER, Action.DEPOSE, Action.EXPIRE):
        return _fault_of_coordinator(state, setup, kind, i)
    if kind in KINDS_BETWEEN_BROKERS and len(state.appends) == 0:
        return "nothing is under way between brokers"
    if kind in AT_APPENDS:
        return _at_append(state, setup, kind, i)
    if kind in AT_COMMITS:
        return _at_commit(state, setup, kind, i)
    if kind == Action.REPLICATE_OFFSETS:
        return f"all replicas of {partition_name(OFFSETS)} have its log"
    if kind == Action.CUT_OFFSETS:
        return f"another broker leads {partition_name(OFFSETS)}, and has nothing that replicas did not have"
    if kind in AT_CONTROLLER:
        return _at_controller(state, setup, kind)
    if kind in AT_BLOCKS:
        return _at_block(state, setup, kind, i)
    if kind == Action.DISCONNECT:
        p, asked = i // NODES, coordinator_name(state, setup, i % NODES)
        return f"the connection of {leader_name(p)} to {asked} breaks while it waits for an answer"
    if kind == Action.FORGET_PARTITION:
        name, where = client_name(i // OFFSETS), partition_name(i % OFFSETS)
        return f"new metadata has {where} no more as {name} knows it: {name} forgets what it has numbered there"
    if kind in AT_LOGS:
        return _at_log(state, kind, i)
    if kind == Action.BEGIN_FETCH:
        return _begin_fetch(state, setup, i)
    return _fault(setup, kind, i)


def end_name(committed: bool) -> str:
    """What an application calls to end its transaction."""
    return "commitTransaction" if committed else "abortTransaction"


def _client_step(state: State, setup: Setup, c: int, abort_instead: bool) -> str:
    client, name = state.clients[c], client_name(c)
    if may_call(client):
        timed_out = end_name(open_call(client) == COMMIT)
        if abort_instead:
            ending = ": that is refused, and it starts anew" if setup.rules.only_the_same_end_is_resumed == 1 else ""
            return f"{name}, whose {timed_out} has timed out, calls abortTransaction{ending}"
        is_over = setup.rules.ended_call_keeps_result == 0 and not is_in_error(client) and not is_completing(client)
        ending = ": that is refused, as if it had failed, and it starts anew" if is_over else ""
        return f"{name} calls {timed_out}, which has timed out, again{ending}"
    if client.state == ProducerState.UNINITIALIZED:
        if client.prepared_id != NONE:
            stored = f"(producer {client.prepared_id}, epoch {client.prepared_epoch})"
            return f"{name} starts and takes up the transaction {stored} that is stored outside"
        return f"{name} starts and asks for its producer id and epoch"
    if client.state == ProducerState.FATAL_ERROR and setup.bounds.restarts == 1:
        return f"{name}, which can do nothing any more, is started anew, and begins its transaction again"
    if client.state == ProducerState.ABORTABLE_ERROR:
        return f"{name} can only abort, and does"
    op = Op(next_op(setup, client, c))
    if abort_instead:
        return f"{name} aborts its transaction"
    words = {
        Op.SEND_0: "sends a record to p0",
        Op.SEND_1: "sends a record to p1",
        Op.OFFSETS: "sends its offsets into the transaction",
        Op.COMMIT: "commits its transaction",
        Op.ABORT: "aborts its transaction",
        Op.FETCH: "goes on from where it is" if remembers_position(setup, client) else "fetches the committed offset",
        Op.STORE: "stores its producer id and epoch outside, where it is decided to commit",
    }
    return f"{name} {words.get(op, 'stops')}{_first_asks(setup, state, c, op)}"


def remembers_position(setup: Setup, client: Client) -> bool:
    """Whether a member goes on from its own position, and asks the group nothing."""
    return setup.bounds.keeps_position == 1 and client.generation != NONE


def _first_asks(setup: Setup, state: State, c: int, op: Op) -> str:
    """Before transaction version 2 a client asks the coordinator to add a partition before it sends anything there."""
    p = {Op.SEND_0: 0, Op.SEND_1: 1, Op.OFFSETS: OFFSETS}.get(op)
    if p is None or setup.bounds.transactional_id[c] < 0 or is_tv2(setup) or (state.clients[c].added >> p) & 1 == 1:
        return ""
    return f": first it asks to add {partition_name(p)}"


def message_name(message: Message, setup: Setup, *, to: bool = True) -> str:
    """A message in words: who sent what, under which identity, and where `to`."""
    late = "" if message.live else "late "
    identity = f"(producer {message.producer_id}, epoch {message.producer_epoch})"
    where = f" to {partition_name(message.partition)}" if to else ""
    if message.kind == Kind.MARKER:
        return f"{'the ' if late else ''}{late}{marker_name(message)}{where}"
    who = client_name(message.client)
    if message.kind == Kind.INIT_PRODUCER_ID:
        return f"{who}'s {late}InitProducerId{f' {identity}' if message.detail else ''}"
    if message.kind == Kind.END_TXN:
        return f"{who}'s {late}EndTxn {'COMMIT' if message.detail else 'ABORT'} {identity}"
    if message.kind == Kind.PRODUCE:
        return f"{who}'s {late}Produce {identity} sequence {message.value}{where}"
    if message.kind == Kind.TXN_OFFSET_COMMIT:
        given = f" in generation {message.detail}" if setup.rules.kip447_fence == 1 else " without a generation"
        generation = given if message.stage == Stage.TO_LEADER else ""
        return f"{who}'s {late}TxnOffsetCommit {identity} of offset {message.value}{generation}"
    what = "AddOffsetsToTxn" if message.kind == Kind.ADD_OFFSETS else "AddPartitionsToTxn"
    return f"{who}'s {late}{what} {identity} for {partition_name(message.partition)}"


def marker_name(message: Message) -> str:
    """A marker on its way, in the words of the record that it will be."""
    outcome = "COMMIT" if message.detail else "ABORT"
    who = f"producer {message.producer_id}, epoch {message.producer_epoch}"
    return f"{outcome} marker ({who}, coordinator epoch {message.value})"


def arrival(state: State, setup: Setup, message: Message) -> str:
    """A message and where it arrives."""
    p = message.partition
    if replicas.is_waiting(message):
        return _answer_of_log(state, setup, message)
    if message.kind != Kind.MARKER and message.stage == Stage.TO_COORDINATOR:
        asked = coordinator_name(state, setup, message.node)
        what = message_name(message, setup, to=False)
        task = f"add {partition_name(p)}, for" if is_tv2(setup) else "verify"
        return f"{leader_name(p)} asks {asked} to {task} {what}"
    if message.kind != Kind.MARKER and message.stage == Stage.ABANDONED:
        asked = coordinator_name(state, setup, message.node)
        what = message_name(message, setup, to=False)
        return f"a question that {leader_name(p)} gave up reaches {asked}: to add {partition_name(p)}, for {what}"
    if message.kind != Kind.MARKER and message.stage == Stage.BACK_TO_LEADER:
        what = message_name(message, setup, to=False)
        return f"the coordinator's answer {Error(message.error).name} for {what} arrives at {leader_name(p)}"
    to_coordinator = speaks_to_coordinator(message.kind)
    place = coordinator_name(state, setup, message.node) if to_coordinator else leader_name(p)
    if not to_coordinator and not state.partitions[p].leader:
        return f"{message_name(message, setup, to=False)} finds {partition_name(p)} without a leader"
    return f"{message_name(message, setup, to=False)} arrives at {place}"


def _answer_of_log(state: State, setup: Setup, message: Message) -> str:
    """Whoever waited for the other replicas is answered."""
    what = message_name(message, setup, to=False)
    if message.kind == Kind.MARKER:
        return (
            f"the answer to {what}, which all replicas have, arrives at {coordinator_name(state, setup, message.node)}"
        )
    if setup.bounds.answers_travel == 1:
        return f"the word that all replicas have {what} reaches {leader_name(message.partition)}"
    return f"the answer to {what}, which all replicas have, arrives at {client_name(message.client)}"


def _message_action(state: State, setup: Setup, kind: int, message: Message) -> str:
    what = message_name(message, setup)
    sender = "its coordinator" if message.kind == Kind.MARKER else client_name(message.client)
    if kind == Action.REFUSE:
        leader = leader_name(message.partition)
        return f"{leader} has too few replicas for {message_name(message, setup, to=False)}: {sender} sends it again"
    if kind == Action.DOUBLE:
        return f"{what} times out and is sent again: a late copy stays in flight"
    if kind == Action.GIVE_UP and message.kind == Kind.END_TXN:
        if times_out(state, message.client):
            call = end_name(message.detail == 1)
            return f"{sender} waits no longer: its {call} has timed out, {what} stays in flight"
        return f"{client_name(message.client)} gives up waiting and closes its producer: {what} stays in flight"
    if kind == Action.GIVE_UP:
        return f"{client_name(message.client)} gives up waiting: {what} stays in flight"
    if message.answered and kind == Action.LOSE_ANSWER:
        return f"the answer {Error(message.error).name} to {what} is lost, and {sender} sends it again"
    if message.answered:
        return f"the answer {Error(message.error).name} to {what} arrives at {sender}"
    if kind == Action.LOSE_ANSWER and replicas.is_waiting(message):
        return f"{sender} waits no longer for the answer to {what}, and sends it again"
    arrives = arrival(state, setup, message)
    if kind == Action.LOSE_ANSWER:
        return f"{arrives}; the answer to {sender} is lost, and {sender} sends it again"
    if kind == Action.UNKNOWN_APPEND:
        return f"{arrives}, whose append is durable but reported as failed"
    return arrives


def _fault_of_coordinator(state: State, setup: Setup, kind: int, i: int) -> str:
    now = coordinator_name(state, setup, state.coordinator)
    other = 1 - state.coordinator
    words = {
        Action.RESIGN: f"node {i} learns that it is no longer the coordinator",
        Action.TIME_OUT: f"{now} times out the open transaction of {id_name(i)}",
        Action.FAIL_OVER: f"{now} crashes; node {other} takes over and loads the log",
        Action.DEPOSE: f"node {other} becomes coordinator and loads the log; node {state.coordinator} does not know it",
        Action.EXPIRE: f"{now} takes {id_name(i)} for unused and lets it expire",
    }
    return words[Action(kind)]


def append_name(under_way: UnderWay) -> str:
    """An append in words: the record that it makes true."""
    k, target = id_name(under_way.subject), under_way.pending.target
    if under_way.pending.operation == Operation.EXPIRE:
        return f"the tombstone of {k}"
    identity = f"producer {target.producer_id}, epoch {target.producer_epoch}"
    return f"the record of {k} in {TransactionState(target.state).name} ({identity})"


def _at_append(state: State, setup: Setup, kind: int, number: int) -> str:
    under_way = state.appends[number]
    who, what = coordinator_name(state, setup, under_way.node), append_name(under_way)
    if kind == Action.TELL_APPEND and under_way.phase == Phase.COMPLETED:
        return f"{who} looks again, {what} being durable"
    if kind == Action.TELL_APPEND:
        outcome = "is durable" if under_way.error == Error.NONE else f"failed with {Error(under_way.error).name}"
        return f"{who} learns that {what} {outcome}"
    words = {
        Action.MAKE_APPEND: f"{who} appends {what}",
        Action.FAIL_APPEND: f"{who} appends {what}, which fails",
        Action.DOUBT_APPEND: f"{who} appends {what}, which is durable but reported as failed",
        Action.REJECT_APPEND: f"{who} appends {what}, which its log takes neither now nor later",
        Action.CLOSE_LOG: f"{who} appends {what}, its disk fails, and the other node takes over",
    }
    return words[Action(kind)]


def _ids_name(state: State, setup: Setup, first: int) -> str:
    """A block of producer ids in words: ids count by when the controller hands them out."""
    last = first + setup.bounds.id_blocks - 1
    return f"producer id block {first}" if last == first else f"producer id block {first} to {last}"


def _at_block(state: State, setup: Setup, kind: int, node: int) -> str:
    who, allocation = f"node {node}", state.allocations[node]
    given, late = (_ids_name(state, setup, first) for first in (allocation.first, allocation.late))
    hands = f"the controller hands {_ids_name(state, setup, state.next_block)} out to {who}"
    words = {
        Action.ALLOCATE_BLOCK: hands,
        Action.LOSE_BLOCK: f"{hands}, and its answer is lost",
        Action.GIVE_BLOCK: f"{who} gets {given}",
        Action.DOUBLE_BLOCK: f"the controller's answer to {who}, {given}, is there twice: a late copy stays in flight",
        Action.GIVE_LATE_BLOCK: f"a late answer of the controller arrives at {who}: {late}",
    }
    return words[Action(kind)]


def _at_commit(state: State, setup: Setup, kind: int, i: int) -> str:
    what = message_name(state.messages[i], setup)
    words = {
        Action.ANSWER_COMMIT: f"{what} is answered: replicas have its record",
        Action.FAIL_COMMIT: f"{what} arrives at {leader_name(OFFSETS)}, whose append fails",
        Action.DOUBT_COMMIT: f"{what} is answered: its replicas were waited for too long, although the log has it",
    }
    return words[Action(kind)]


def _at_controller(state: State, setup: Setup, kind: int) -> str:
    if kind == Action.RECORD_BLOCK:
        return f"the controller's log has that {_ids_name(state, setup, state.next_block)} is the next"
    return f"the controller crashes; in its log {_ids_name(state, setup, state.recorded[0])} is the next"


def _p(i: int) -> str:
    p = partition_of(i)
    return partition_name(p) if p <= OFFSETS else "?"


def _fault(setup: Setup, kind: int, i: int) -> str:
    p = partition_name(i) if i <= OFFSETS else ""
    reads = "reads the log" if setup.rules.leader_reads_log == 1 else "does not read the log"
    words = {
        Action.ABORT_BY_HAND: f"an administrator aborts by hand what producer {producer_of(i)} has open on {_p(i)}",
        Action.MISLEAD: f"{client_name(i % len(NAMES))} looks its coordinator up, and is told the other node",
        Action.COMMIT_PLAINLY: f"{client_name(i % len(NAMES))}'s consumer commits its position beside the transaction",
        Action.READ_ONE: f"{READERS[i % len(READERS)]} fetches one batch",
        Action.READ_ALL: f"{READERS[i % len(READERS)]} fetches everything it may",
        Action.ELECT: f"{p} gets a leader again, which {reads}",
        Action.CRASH: f"{client_name(i) if i < len(NAMES) else i} crashes",
        Action.CHANGE_LEADER: f"{p} gets another leader, which {reads}",
        Action.LOSE_LEADER: f"{p} loses its leader",
        Action.REBALANCE: "the group rebalances: the other member owns the input from now on",
        Action.FORGET_PRODUCER: f"the leader of {_p(i)} forgets the silent producer {producer_of(i)}",
        Action.FORGET_GUARD: f"the leader of {_p(i)} forgets the verification of producer {producer_of(i)}",
        Action.REPLICATE: f"the other replicas of {p} have its next record: the high watermark rises",
        Action.DELETE_GROUP: "an administrator deletes the group, which has no members (DeleteGroups)",
        Action.RECREATE_INPUT: "the input topic is deleted, and created again under its name with another id",
        Action.TRUNCATE: f"{p} gets a leader whose log ends at the high watermark: what lay above it is lost",
    }
    return words[Action(kind)]


def _begin_fetch(state: State, setup: Setup, r: int) -> str:
    if setup.rules.aborted_list_last == 0:
        return f"a fetch of {READERS[r]} gets its list of aborted transactions, and nothing else yet"
    return f"a fetch of {READERS[r]} gets its bound, and reads nothing yet"


def _at_log(state: State, kind: int, i: int) -> str:
    if kind == Action.CLEAN:
        return f"the cleaner goes over {partition_name(i // LOG)} below offset {i % LOG + 1}"
    if kind == Action.CLOSE_SEGMENT:
        end = state.partitions[i].end
        return f"a segment of {partition_name(i)} is closed, and a snapshot of its producers is kept at offset {end}"
    return f"retention drops what {partition_name(i)} has below offset {state.snapshots[i].offset}"
