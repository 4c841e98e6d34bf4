"""What clients hear at a twin: the answers of live brokers, told to the checker's clients and to live producers."""

from zombieproof.bridge.clusters import COORDINATOR_NODES
from zombieproof.bridge.flights import Answered, InFlight
from zombieproof.bridge.requests import DATA, INPUT, names_partition
from zombieproof.bridge.twin import Twin, copied_message
from zombieproof.broker.cluster.network import CLIENT, Answer
from zombieproof.broker.cluster.network import Message as LiveMessage
from zombieproof.checker.transactions import client_answers, network, replies
from zombieproof.checker.transactions.capacities import MESSAGES
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.vocabulary import Stage
from zombieproof.messages.groups import OffsetsCommitted
from zombieproof.messages.partitions import ProduceAnswer
from zombieproof.messages.transactions import (
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxnAnswer,
    EndTxnAnswer,
    InitProducerIdAnswer,
)
from zombieproof.model.vocabulary import NONE, Error


def answer_client(twin: Twin, flight: InFlight, is_lost: bool) -> None:
    """What a client is told now, if it is told anything: the checker's clients make of it what they make of it."""
    told = next((each for each in twin.cluster.network.in_flight if each.receiver == CLIENT), None)
    if told is None and is_lost and flight.live.number in twin.beside.appends.asked:
        told = _hang_up(twin, flight)
    if told is None:
        return
    if told.number != flight.request:
        flight, is_lost = _outrun(twin, told.number, flight), False
    i = next(slot for slot, each in enumerate(twin.flights) if each is flight)
    twin.cluster.network.in_flight.remove(told)
    if not twin.beside.sent[flight.request].waits:
        del twin.beside.sent[flight.request]
        return
    twin.beside.names.update(twin.cluster, twin.beside.lost)
    state = _listening(twin, i)
    message = state.messages[i]
    if is_lost:
        message.answered = True
    else:
        assert isinstance(told.body, Answer), "a broker that was asked lives, and answers"
        message.answered, message.error = True, _told(twin, told.body, message)
    if twin.setup.bounds.answers_travel == 1 and not is_lost:
        twin.beside.answers[flight.request] = Answered(copied_message(message), told)
    else:
        _hear(twin, i, state, told, is_lost)


def hear_client(twin: Twin, i: int, is_lost: bool) -> bool:
    """The answer that is on its way to a client arrives, or is lost."""
    flight = twin.flights[i]
    assert flight is not None, "an answer is in flight"
    _, told = twin.beside.answers.pop(flight.request)
    state = twin.brokers()
    for slot in range(MESSAGES):
        network.copy(twin.state.messages[slot], state.messages[slot])
    _hear(twin, i, state, told, is_lost)
    return True


def _hear(twin: Twin, i: int, state: State, told: LiveMessage, is_lost: bool) -> None:
    """The client, and the live producer beside it, hears the answer in slot `i` of `state`; or does not."""
    flight, message = twin.flights[i], state.messages[i]
    assert flight is not None, "who is answered has asked"
    del twin.beside.sent[flight.request]
    _answer_producer(twin, flight, told.body, is_lost)
    if is_lost:
        replies.restore_request(state, message)
    else:
        client_answers.handle(state, twin.setup, Trail(), i, message.error)
    twin.take(state)
    twin.follow(state, answered=i)


def _hang_up(twin: Twin, flight: InFlight) -> LiveMessage:
    """A client waits no longer for a request that waits for an append; what it would have heard, had it waited."""
    del twin.beside.appends.asked[flight.request]
    twin.cluster.brokers[flight.live.receiver].desk.disconnected(flight.request)
    twin.cluster.network.answer(flight.request, flight.live.receiver, CLIENT, None)
    return twin.cluster.network.in_flight[-1]


def _answer_producer(twin: Twin, flight: InFlight, told: object, is_lost: bool) -> None:
    """The live producer hears what the checker's client hears.

    Of a lost answer the checker's client asks the same node again: the look-up before that says nothing new.
    """
    producers, around = twin.beside.producers, twin.around_producers()
    if producers is None:
        return
    if not is_lost:
        producers.answered(flight.request, told, around)
    elif names_partition(flight.message.kind):
        producers.lost(flight.request, around)
    else:
        producers.lost(flight.request, around._replace(coordinator=COORDINATOR_NODES[flight.message.node]))


def _outrun(twin: Twin, number: int, newer: InFlight) -> InFlight:
    """The request whose question has given its place in a leader's channel to the one of `newer`."""
    older = next(each for each in twin.flights if each is not None and each.request == number)
    assert older.message.stage == Stage.WAITING, "only who asked, or is replaced, is answered"
    if older.message.producer_epoch < newer.message.producer_epoch:
        twin.beside.ghost.outrun = True
    return older


def _listening(twin: Twin, i: int) -> State:
    """The state as a client finds it that is about to be answered."""
    state = twin.brokers()
    for slot in range(MESSAGES):
        network.copy(twin.state.messages[slot], state.messages[slot])
    message = state.messages[i]
    message.stage, message.error, message.guard = Stage.TO_LEADER, Error.NONE, 0
    if names_partition(message.kind):
        message.node = 0
    return state


def _told(twin: Twin, answer: Answer, message: Message) -> int:
    """The error of an answer; what it grants is left in the message."""
    match answer:
        case InitProducerIdAnswer() | EndTxnAnswer():
            if answer.error == Error.NONE and answer.producer_id != NONE:
                message.producer_id = twin.beside.names.producer_id(answer.producer_id)
                message.producer_epoch = answer.producer_epoch
            return answer.error
        case AddPartitionsToTxnAnswer():
            return answer.error or next(iter(answer.transactions[0].errors.values()))
        case AddOffsetsToTxnAnswer():
            return answer.error
        case ProduceAnswer():
            return answer.partitions[DATA[message.partition]].error
        case OffsetsCommitted():
            return answer.errors[INPUT]
        case _:
            raise AssertionError(f"{answer!r} answers no request of a client")
