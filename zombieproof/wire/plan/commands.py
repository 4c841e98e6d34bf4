"""What a plan does to a cluster beside a request: time goes on, a transaction expires, others lead."""

from typing import Protocol, runtime_checkable

from zombieproof.broker.cluster.cluster import Cluster, NoSuchNode
from zombieproof.broker.embedded import Embedded
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.records import Transaction
from zombieproof.statemachines.coordinator.listings import STATE_NAMES
from zombieproof.wire.plan.calls import Call
from zombieproof.wire.plan.faults import CouldNot
from zombieproof.wire.plan.kinds import Command, ExpireTransaction, MoveCoordinator, MoveLeader, SkipTime
from zombieproof.wire.plan.parts import Plan


@runtime_checkable
class Movable(Protocol):
    """A clock that can be put forward."""

    def advance(self, milliseconds: int) -> None:
        """Put it forward."""
        ...


class Commands:
    """Carries out what is done to a cluster.

    Raises:
        ValueError: the plan moves time and the clock cannot be moved, or the cluster has fewer brokers than it needs.
    """

    def __init__(self, embedded: Embedded, plan: Plan) -> None:
        self._embedded = embedded
        clock, nodes = embedded.clock, len(embedded.cluster.nodes)
        moves = [each.kind for each in plan.faults if isinstance(each.does, ExpireTransaction | SkipTime)]
        if moves and not isinstance(clock, Movable):
            raise ValueError(
                f"plan {plan.name!r} has {moves[0]}, and the clock of these brokers cannot be moved; give them an "
                "AheadClock or a ManualClock"
            )
        if plan.brokers > nodes:
            raise ValueError(f"plan {plan.name!r} needs {plan.brokers} brokers, and here are {nodes}")

    def do(self, does: Command, call: Call) -> None:
        """Carry it out.

        Raises:
            CouldNot: the cluster is not as it would have to be.
        """
        match does:
            case SkipTime():
                self.advance(does.ms)
            case ExpireTransaction():
                self._expire(does.transactional_id or call.transactional_id)
            case MoveCoordinator():
                self._elect(self._place(does, call), does.to)
            case MoveLeader():
                if does.partition is None and not call.partitions:
                    raise CouldNot("the request names no partition")
                self._elect(does.partition or call.partitions[0], does.to)

    def advance(self, milliseconds: int) -> None:
        """Time goes on, and what is due by it happens."""
        clock = self._embedded.clock
        assert isinstance(clock, Movable), "looked at when the plan came"
        clock.advance(milliseconds)
        self._embedded.run_timers()
        self._embedded.settle()

    def _expire(self, transactional_id: str | None) -> None:
        if transactional_id is None:
            raise CouldNot("the request names no transactional id")
        found = transaction_of(self._embedded.cluster, transactional_id)
        state = "unknown" if found is None else STATE_NAMES[found.state]
        if found is None or state != "Ongoing":
            raise CouldNot(f"transactional id {transactional_id!r} has no open transaction: its state is {state}")
        self.advance(max(found.start_ms + found.timeout_ms + 1 - self._embedded.clock.now_ms(), 1))
        self._embedded.cluster.abort_timed_out_transactions()

    def _place(self, does: MoveCoordinator, call: Call) -> TopicPartition:
        metadata = self._embedded.cluster.metadata
        transactional_id = does.transactional_id or (None if does.group else call.transactional_id)
        if transactional_id is not None:
            return metadata.transaction_partition(transactional_id)
        group = does.group or next(iter(sorted(call.groups)), None)
        if group is None:
            raise CouldNot("the request names no transactional id and no group")
        return metadata.group_partition(group)

    def _elect(self, partition: TopicPartition, node: int | None) -> None:
        try:
            self._embedded.cluster.elect(partition, node)
        except (NoSuchNode, KeyError) as error:
            raise CouldNot(f"there is no partition {error}" if isinstance(error, KeyError) else str(error)) from error


def transaction_of(cluster: Cluster, transactional_id: str) -> Transaction | None:
    """What the coordinator of an id knows of it; None: nothing, or nobody coordinates it now."""
    number = cluster.metadata.transaction_partition(transactional_id)[1]
    node = cluster.coordinator_of(transactional_id)
    if node is None or node not in cluster.brokers:
        return None
    return cluster.brokers[node].coordinator.entries(number).get(transactional_id)
