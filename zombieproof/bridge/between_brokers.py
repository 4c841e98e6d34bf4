"""What travels between brokers where a scenario asks for it, as commands: appends of coordinators, producer ids.

Source: `AT_APPENDS` and `AT_BLOCKS` of ``zombieproof.checker.transactions.action_kinds``.
"""

from zombieproof.bridge.clusters import asker_of_block, transactions_of
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Message
from zombieproof.broker.cluster.node import AppendFault
from zombieproof.checker.transactions.id_blocks import LATER_MS
from zombieproof.formats.topics import TRANSACTION_STATE
from zombieproof.messages.controller import AllocateProducerIdsAnswer
from zombieproof.model.vocabulary import Error

NOBODYS = 0
"""The number of an answer that nobody waits for any more: no request has it."""

# ---------------------------------------------------------------- appends to the transaction log


def make_append(cluster: Cluster, node: int, number: int) -> bool:
    """Append number `number` of a broker is made: it looks again, and it is in the log, or is refused (False)."""
    broker = cluster.brokers[node]
    transactions = transactions_of(broker)
    (append,) = (each for each in transactions.held_appends if each.number == number)
    transactions.release_append(append)
    cluster.replication.replicate(broker)
    return number in transactions.outcomes


def fail_append(cluster: Cluster, node: int, number: int) -> bool:
    """It is made, and fails: nothing of it is in the log."""
    return _make_with(cluster, node, number, AppendFault(Error.NOT_ENOUGH_REPLICAS, is_written=False))


def doubt_append(cluster: Cluster, node: int, number: int) -> bool:
    """It is made and in the log, but reported as failed."""
    return _make_with(cluster, node, number, AppendFault(Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, is_written=True))


def reject_append(cluster: Cluster, node: int, number: int) -> bool:
    """It is made, and the log takes no such record."""
    return _make_with(cluster, node, number, AppendFault(Error.MESSAGE_TOO_LARGE, is_written=False))


def close_log(cluster: Cluster, node: int, number: int) -> bool:
    """It is made, and the disk of the log fails: another broker is elected, of which this one does not know yet."""
    is_made = _make_with(cluster, node, number, AppendFault(Error.KAFKA_STORAGE_ERROR, is_written=False))
    cluster.elect((TRANSACTION_STATE, 0), old_resigns=False)
    return is_made


def _make_with(cluster: Cluster, node: int, number: int, fault: AppendFault) -> bool:
    faults = cluster.brokers[node].transactions.append_faults
    faults.append(fault)
    made = make_append(cluster, node, number)
    faults.clear()
    return made


def tell_append(cluster: Cluster, node: int, number: int) -> None:
    """The coordinator handles what became of an append; or looks again behind a decision that it was told of before."""
    broker = cluster.brokers[node]
    transactions_of(broker).tell(number)
    cluster.replication.replicate(broker)


# ---------------------------------------------------------------- blocks of producer ids


def requests_for_blocks(cluster: Cluster, node: int) -> list[Message]:
    """What a broker has asked the controller and is on its way, the oldest first."""
    return [each for each in cluster.network.in_flight if asker_of_block(each) == node and not each.is_answer]


def answered_blocks(cluster: Cluster, node: int, *, is_late: bool = False) -> list[Message]:
    """The controller's answers that are on their way to a broker; `is_late`: the copies that nobody waits for."""
    answers = [each for each in cluster.network.in_flight if asker_of_block(each) == node and each.is_answer]
    return [each for each in answers if (each.number == NOBODYS) == is_late]


def allocate_block(cluster: Cluster, node: int) -> None:
    """The controller hands out a block; the answer is on its way.

    What is older of the same broker gives its place: a state has one for the request, and one for the answer.
    """
    older = answered_blocks(cluster, node)
    _reach_controller(cluster, node)
    for message in older:
        cluster.network.in_flight.remove(message)


def lose_block(cluster: Cluster, node: int) -> None:
    """The controller hands out a block, and its answer does not arrive: the broker sees the connection end."""
    older = answered_blocks(cluster, node)
    _reach_controller(cluster, node)
    (answer,) = (each for each in answered_blocks(cluster, node) if each not in older)
    cluster.network.lose(answer)
    cluster.deliver(cluster.network.in_flight[-1])


def _reach_controller(cluster: Cluster, node: int) -> None:
    *older, request = requests_for_blocks(cluster, node)
    for message in older:
        cluster.network.in_flight.remove(message)
    cluster.deliver(request)


def give_block(cluster: Cluster, node: int) -> None:
    """The controller's answer arrives."""
    (answer,) = answered_blocks(cluster, node)
    _some_time_ago(cluster, -LATER_MS)
    cluster.deliver(answer)
    _some_time_ago(cluster, LATER_MS)


def double_block(cluster: Cluster, node: int) -> None:
    """The controller's answer is there twice: a late copy stays behind."""
    (answer,) = answered_blocks(cluster, node)
    cluster.network.in_flight.append(Message(NOBODYS, answer.sender, node, answer.body, is_answer=True))


def give_late_block(cluster: Cluster, node: int) -> None:
    """A late copy is taken for the answer that the broker waits for.

    A live broker knows an answer by the number of its request, and would not look at it: it is handed to whoever is
    behind that, as by a connection that mixes answers up.
    """
    (late,) = answered_blocks(cluster, node, is_late=True)
    cluster.network.in_flight.remove(late)
    assert isinstance(late.body, AllocateProducerIdsAnswer), "an answer of the controller"
    _some_time_ago(cluster, -LATER_MS)
    cluster.brokers[node].transactions.allocated(late.body)
    _some_time_ago(cluster, LATER_MS)


def _some_time_ago(cluster: Cluster, milliseconds: int) -> None:
    """Answers came before anything else: no failure is too fresh for a broker to ask again."""
    assert isinstance(cluster.clock, ManualClock), "the clock of a twin is moved by hand"
    cluster.clock.advance(milliseconds)
