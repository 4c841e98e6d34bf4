"""Messages in flight at a cluster as the checker's messages, and questions that wait at a leader to be in flight.

A client hears an answer in the step that gives it; with `answers_travel` the answer is on its way until it is
delivered, whatever becomes of its broker.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from zombieproof.bridge.appends import Appends
from zombieproof.bridge.clusters import COORDINATOR_NODES, OF_PRODUCER_IDS
from zombieproof.bridge.commands import COORDINATORS
from zombieproof.bridge.names import Names, OutOfScope, guard_of, leading_log
from zombieproof.bridge.requests import (
    PARTITIONS,
    TRANSACTIONAL_IDS,
    message_of,
    names_partition,
)
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import CLIENT
from zombieproof.broker.cluster.network import Message as LiveMessage
from zombieproof.broker.cluster.node import Broker
from zombieproof.broker.cluster.operations import MarkersUnderWay, QuestionsUnderWay, WriteUnderWay
from zombieproof.broker.partition.verification_channel import Question
from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message
from zombieproof.checker.transactions.views import mode
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.formats.batches import TransactionValue
from zombieproof.messages.partitions import MarkerToWrite, WriteTxnMarkers
from zombieproof.messages.transactions import AddPartitionsToTxnAnswer
from zombieproof.model.vocabulary import NONE, Error, TransactionState
from zombieproof.statemachines.notes import Notes
from zombieproof.statemachines.partition_leader.questions import Returned, word

Waiting = TypeVar("Waiting")

DECIDED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


@dataclass(frozen=True, slots=True)
class Sent:
    """What is known of a client's request beside its content: who sent it for which label, and whether it waits."""

    client: int
    label: int
    waits: bool


class Answered(NamedTuple):
    """An answer that has left its broker: the message that it is in a state, and the live one."""

    message: Message
    live: LiveMessage


class InFlight(NamedTuple):
    """One message of the state, the live message that its delivery delivers, and the client's request (0: none).

    Of a question that waits in a leader's channel it is the live message that it waits for.
    """

    message: Message
    live: LiveMessage
    request: int


def messages(
    cluster: Cluster, sent: Mapping[int, Sent], names: Names, setup: Setup, appends: Appends
) -> list[InFlight]:
    """Every message in flight, and every request that waits at its coordinator for an append."""
    in_flight = [each for each in cluster.network.in_flight if not isinstance(each.body, OF_PRODUCER_IDS)]
    return [
        *_messages(cluster, in_flight, sent, names, setup),
        *_appending(cluster, sent, names, setup, appends),
    ]


def _messages(
    cluster: Cluster, in_flight: Iterable[LiveMessage], sent: Mapping[int, Sent], names: Names, setup: Setup
) -> Iterator[InFlight]:
    for live in in_flight:
        if isinstance(live.body, WriteTxnMarkers):
            yield InFlight(_marker(cluster, live, live.body, names, setup), live, 0)
        elif live.sender == CLIENT:
            assert not live.is_answer, "a client is never asked"
            yield InFlight(_of_client(live, sent[live.number], names), live, live.number)
        elif not live.is_answer and live.number in sent:
            yield _abandoned(live, sent[live.number], names)
        else:
            yield from _verification(cluster, live, sent, names, setup)
    if setup.bounds.verification_queue == 1:
        yield from _forgotten(cluster, sent, names)


def _appending(
    cluster: Cluster, sent: Mapping[int, Sent], names: Names, setup: Setup, appends: Appends
) -> Iterator[InFlight]:
    """Requests of clients and questions of leaders that wait for an append: on their way, as far as a client knows."""
    for place, live in appends.waiting(cluster):
        for flight in _messages(cluster, [live], sent, names, setup):
            flight.message.stage, flight.message.error = Stage.APPENDING, 1 + place
            yield flight


def _of_client(live: LiveMessage, facts: Sent, names: Names) -> Message:
    message = message_of(live.body, facts.client, facts.label)
    message.producer_id = names.producer_id(message.producer_id)
    message.live = facts.waits
    if not names_partition(message.kind):
        message.node = COORDINATOR_NODES.index(live.receiver)
    return message


def _writes_behind(leader: Broker, questions: Iterable[Question]) -> list[WriteUnderWay]:
    """The clients' writes behind a leader's questions to the coordinator."""
    writes = [leader.desk.waits.get(question.ticket) for question in questions]
    assert all(isinstance(write, WriteUnderWay) for write in writes), "a question is asked for a write"
    return [write for write in writes if isinstance(write, WriteUnderWay)]


def waiting_for(broker: Broker, live: LiveMessage, kind: type[Waiting]) -> list[Waiting]:
    """What of a kind waits at a broker for the answer to a message of its own."""
    found = (broker.desk.waits.get(ticket) for ticket in broker.desk.waits.tickets(live.number))
    return [operation for operation in found if isinstance(operation, kind)]


def _verification(
    cluster: Cluster, live: LiveMessage, sent: Mapping[int, Sent], names: Names, setup: Setup
) -> Iterator[InFlight]:
    """The question that a request asks, or the word that comes back, and what waits in the leader's channel behind it.

    Raises:
        OutOfScope: a request holds several questions, which the checker sends as several messages.
    """
    leader = cluster.brokers[live.receiver if live.is_answer else live.sender]
    (asked,) = waiting_for(leader, live, QuestionsUnderWay)
    channel, lane = leader.writes.channel, asked.sent.lane
    writes = _writes_behind(leader, channel.in_flight[lane].values())
    if len(writes) > 1:
        raise OutOfScope("the live leader asks about two transactional ids in one request, the checker in two messages")
    (write,) = writes
    message = _asked_about(write, sent, names)
    if live.is_answer:
        message.stage, message.error = Stage.BACK_TO_LEADER, _error_of(live, setup)
    else:
        message.stage, message.node = Stage.TO_COORDINATOR, COORDINATOR_NODES.index(live.receiver)
    if setup.bounds.verification_queue == 1:
        message.node = COORDINATOR_NODES.index(asked.sent.node)
    yield InFlight(message, live, write.number)
    yield from _waiting(leader, lane, message.node, live, sent, names)


def _waiting(
    leader: Broker, lane: int, node: int, live: LiveMessage, sent: Mapping[int, Sent], names: Names
) -> Iterator[InFlight]:
    """The questions that wait in a lane of a leader."""
    for waits in _writes_behind(leader, leader.writes.channel.waiting.get(lane, {}).values()):
        behind = _asked_about(waits, sent, names)
        behind.stage, behind.node = Stage.WAITING, node
        yield InFlight(behind, live, waits.number)


def _forgotten(cluster: Cluster, sent: Mapping[int, Sent], names: Names) -> Iterator[InFlight]:
    """The questions that wait in a lane in which nothing is under way: without `questions_follow` nobody asks them."""
    for leader in cluster.brokers.values():
        channel = leader.writes.channel
        for lane in [lane for lane in channel.waiting if lane not in channel.in_flight]:
            nothing = LiveMessage(0, leader.node_id, lane, None)
            yield from _waiting(leader, lane, COORDINATOR_NODES.index(lane), nothing, sent, names)


def _asked_about(write: WriteUnderWay, sent: Mapping[int, Sent], names: Names) -> Message:
    facts = sent[write.number]
    message = message_of(write.work.request, facts.client, facts.label)
    message.producer_id = names.producer_id(message.producer_id)
    message.live = facts.waits
    message.guard = names.guard(guard_of(write.work))
    return message


def _abandoned(live: LiveMessage, facts: Sent, names: Names) -> InFlight:
    """A question whose asker has gone on: nobody waits for the answer."""
    message = message_of(live.body, facts.client, facts.label)
    message.kind = Kind.TXN_OFFSET_COMMIT if message.partition == OFFSETS else Kind.PRODUCE
    message.producer_id = names.producer_id(message.producer_id)
    message.stage, message.node = Stage.ABANDONED, COORDINATOR_NODES.index(live.receiver)
    return InFlight(message, live, live.number)


def _error_of(live: LiveMessage, setup: Setup) -> int:
    """What the coordinator has answered: in a channel as it was said, else as the checker translates it there."""
    answer = live.body
    if not isinstance(answer, AddPartitionsToTxnAnswer):
        return word(Returned(NONE, Error.NETWORK_EXCEPTION), Error.NONE, mode(setup), Notes())
    error = next(iter(answer.transactions[0].errors.values()), Error.NONE) if answer.transactions else Error.NONE
    if setup.bounds.verification_queue == 1:
        return answer.error or error
    return word(Returned(NONE, answer.error), error, mode(setup), Notes())


def _marker(cluster: Cluster, live: LiveMessage, request: WriteTxnMarkers, names: Names, setup: Setup) -> Message:
    """Each partition has a leader of its own and one transaction ends at a time, so a request holds one marker.

    Before version 2 (KIP-1228) it does not say of which transaction version it is; the checker's always does, but no
    rule reads it there (`marker_strict`).
    """
    (marker,) = request.markers
    (partition,) = marker.partitions
    transactional_id, decided = _decision(cluster, marker)
    return Message(
        kind=Kind.MARKER,
        live=is_waited_for(cluster, live, setup),
        client=TRANSACTIONAL_IDS.index(transactional_id),
        node=COORDINATOR_NODES.index(live.sender),
        stage=decided.client_transaction_version if request.version == 1 else marker.transaction_version,
        producer_id=names.producer_id(marker.producer_id),
        producer_epoch=marker.producer_epoch,
        partition=PARTITIONS.index(partition),
        value=marker.coordinator_epoch,
        detail=int(marker.committed),
    )


def _decision(cluster: Cluster, marker: MarkerToWrite) -> tuple[str, TransactionValue]:
    """The record that decided the transaction of a marker, and its id; the marker names the producer id only."""
    identity = marker.producer_id, marker.producer_epoch
    for batch in reversed(leading_log(cluster, COORDINATORS)):
        (record,) = batch.records
        match record.value:
            case TransactionValue() as value if value.state in DECIDED:
                if (value.producer_id, value.producer_epoch) == identity:
                    return str(record.key), value
    raise AssertionError(f"{marker} ends a transaction that nobody decided")


def is_waited_for(cluster: Cluster, live: LiveMessage, setup: Setup) -> bool:
    """Whether the answer to a marker can still mean something to the coordinator that sent it.

    Without the rule that a completion waits for all markers, the checker's coordinator waits for the others even so.
    """
    broker = cluster.brokers.get(live.sender)
    if broker is None:
        return False
    sent = waiting_for(broker, live, MarkersUnderWay)
    channel = broker.coordinator.channel
    epoch = broker.coordinator.coordinator_epoch(COORDINATORS[1])
    transactions = [each.transaction for one in sent for each in channel.in_flight.get(one.number, [])]
    if setup.rules.markers_before_completion == 0:
        return any(txn.coordinator_epoch == epoch for txn in transactions)
    return any(
        txn == channel.pending.get(txn.transactional_id) and txn.coordinator_epoch == epoch for txn in transactions
    )
