"""An action in words."""

from zombieproof.checker.acts import ACTIONS, Act
from zombieproof.checker.client_actions import next_op
from zombieproof.checker.world import OFFSETS, PRODUCER_IDS, Kind, Message, Op, Setup, Stage, World
from zombieproof.model.vocabulary import Error, ProducerState

NAMES = "AB"


def client_name(c: int) -> str:
    """A, B."""
    return NAMES[c]


def partition_name(p: int) -> str:
    """p0, p1, or the offsets partition."""
    return "__consumer_offsets" if p == OFFSETS else f"p{p}"


def describe(world: World, action: int, setup: Setup) -> str:
    """What the action does in this world, in one line."""
    act, i = ACTIONS[action]
    if act in (Act.STEP, Act.ABORT_INSTEAD):
        return _client_step(world, setup, i, act == Act.ABORT_INSTEAD)
    if Act.DELIVER <= act <= Act.UNKNOWN_APPEND:
        return _message_act(world, setup, act, world.messages[i])
    return _strike(act, i)


def _client_step(world: World, setup: Setup, c: int, abort_instead: bool) -> str:
    client, name = world.clients[c], client_name(c)
    if client.state == ProducerState.UNINITIALIZED:
        return f"{name} starts and asks for its producer id and epoch"
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
        Op.FETCH: "fetches the committed offset",
    }
    return f"{name} {words.get(op, 'stops')}"


def message_name(message: Message, setup: Setup) -> str:
    """A message in words: who sent what, under which identity."""
    late = "" if message.live else "late "
    identity = f"(producer {message.producer_id}, epoch {message.producer_epoch})"
    where = partition_name(message.partition)
    if message.kind == Kind.MARKER:
        outcome = "COMMIT" if message.detail else "ABORT"
        return f"{late}{outcome} marker {identity} of coordinator epoch {message.value} for {where}"
    who = client_name(message.client)
    if message.kind == Kind.INIT_PRODUCER_ID:
        return f"{who}'s {late}InitProducerId"
    if message.kind == Kind.END_TXN:
        return f"{who}'s {late}EndTxn {'COMMIT' if message.detail else 'ABORT'} {identity}"
    if message.kind == Kind.PRODUCE:
        return f"{who}'s {late}Produce {identity} sequence {message.value} to {where}"
    if message.kind == Kind.TXN_OFFSET_COMMIT:
        return f"{who}'s {late}TxnOffsetCommit {identity} of offset {message.value}"
    what = "AddOffsetsToTxn" if message.kind == Kind.ADD_OFFSETS else "AddPartitionsToTxn"
    return f"{who}'s {late}{what} {identity} for {where}"


def _message_act(world: World, setup: Setup, act: int, message: Message) -> str:
    what = message_name(message, setup)
    if act == Act.LOSE_ANSWER:
        return f"{what} has its effect, but the answer is lost and it is sent again"
    if act == Act.DOUBLE:
        return f"{what} times out and is sent again: a late copy stays in flight"
    if act == Act.GIVE_UP:
        return f"{client_name(message.client)} gives up waiting: {what} stays in flight"
    if act == Act.UNKNOWN_APPEND:
        return f"{what}: the coordinator's append is durable but reported as failed"
    if message.answered:
        return f"the answer {Error(message.error).name} to {what} arrives"
    if message.stage == Stage.TO_COORDINATOR and message.kind != Kind.MARKER:
        return f"the leader of {partition_name(message.partition)} asks the coordinator about {what}"
    if message.stage == Stage.BACK_TO_LEADER and message.kind != Kind.MARKER:
        return f"the coordinator's answer about {what} reaches the leader: {Error(message.error).name}"
    return f"{what} arrives"


def _p(i: int) -> str:
    p = i // PRODUCER_IDS
    return partition_name(p) if p <= OFFSETS else "?"


def _strike(act: int, i: int) -> str:
    p = partition_name(i) if i <= OFFSETS else ""
    words = {
        Act.READ_ONE: f"the {'read_committed' if i == 0 else 'buffering'} reader fetches one batch",
        Act.READ_ALL: f"the {'read_committed' if i == 0 else 'buffering'} reader fetches everything it may",
        Act.RESIGN: f"node {i} learns that it is no longer the coordinator",
        Act.ELECT: f"{p} gets a leader again, which reads the log",
        Act.CRASH: f"{client_name(i) if i < len(NAMES) else i} crashes",
        Act.TIME_OUT: f"the coordinator times out the open transaction of id {i}",
        Act.FAIL_OVER: "the coordinator crashes; the other node loads the log",
        Act.DEPOSE: "the other node becomes coordinator; the old one does not know it yet",
        Act.CHANGE_LEADER: f"{p} gets another leader, which reads the log",
        Act.LOSE_LEADER: f"{p} loses its leader",
        Act.REBALANCE: "the group rebalances: the other member owns the input from now on",
        Act.EXPIRE: f"the idle transactional id {i} expires",
        Act.FORGET_PRODUCER: f"the leader of {_p(i)} forgets the silent producer {i % PRODUCER_IDS}",
        Act.FORGET_GUARD: f"the leader of {_p(i)} forgets the verification of producer {i % PRODUCER_IDS}",
    }
    return words[Act(act)]
