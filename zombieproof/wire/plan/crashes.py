"""Brokers that crash at a moment of a request, and come back."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.cluster.waiting import FOR_EVER
from zombieproof.broker.embedded import Embedded, Submitted
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.groups import OffsetCommit, TxnOffsetCommit
from zombieproof.messages.partitions import Produce
from zombieproof.wire.plan.faults import CouldNot
from zombieproof.wire.plan.kinds import CrashBroker, Moment


@dataclass(slots=True)
class Crashes:
    """The brokers of a cluster that went down by a plan. `told`: whoever has to know which one does."""

    embedded: Embedded
    told: list[Callable[[int], None]] = field(default_factory=list)
    _back: dict[int, int] = field(default_factory=dict)

    @property
    def next_ms(self) -> int:
        """When the next one comes back."""
        return min(self._back.values(), default=FOR_EVER)

    def run(self, now_ms: int) -> bool:
        """Those come back whose time it is; False: none does."""
        due = [node for node, at_ms in self._back.items() if at_ms <= now_ms]
        for node in due:
            del self._back[node]
            if node not in self.embedded.cluster.brokers:
                self.embedded.cluster.start(node, was_clean=False)
        return bool(due)

    def crash(self, does: CrashBroker, come: Submitted) -> None:
        """The broker that a request came to crashes at a moment of it.

        Raises:
            CouldNot: the broker is down, or the request, which goes its way, appends nothing there.
        """
        if does.node is not None:
            self._crash_another(does.node, does, come)
            return
        cluster = self.embedded.cluster
        node = min(cluster.brokers, default=None) if come.node is None else come.node
        if node not in cluster.brokers:
            come.done(None)
            raise CouldNot(f"broker {node} is down already")
        come = replace(come, node=node)
        match does.moment:
            case Moment.BEFORE_APPEND:
                self._kill(node, does)
                come.done(None)
            case Moment.AFTER_FSYNC:
                self.embedded.hand_in(replace(come, done=lambda answer: self._before_the_answer(come, does, answer)))
            case Moment.AFTER_APPEND | Moment.BEFORE_FSYNC:
                before, watched = self._ends(node), _watched(come.request)
                self.embedded.hand_in(come)
                while all(end == before.get(tp, 0) for tp, end in self._ends(node).items() if watched(tp)):
                    if not self.embedded.step():
                        raise CouldNot(f"the request appended nothing at broker {node}")
                self._kill(node, does, before if does.moment is Moment.BEFORE_FSYNC else {})

    def _crash_another(self, node: int, does: CrashBroker, come: Submitted) -> None:
        is_up = node in self.embedded.cluster.brokers
        if is_up:
            self._kill(node, does)
            self.embedded.settle()
        self.embedded.hand_in(come)
        if not is_up:
            raise CouldNot(f"broker {node} is down already")

    def _before_the_answer(self, come: Submitted, does: CrashBroker, answer: Answer | None) -> None:
        if answer is not None and come.node in self.embedded.cluster.brokers:
            self._kill(come.node, does)
        come.done(None)

    def _ends(self, node: int) -> dict[TopicPartition, int]:
        """Where the logs of a broker end."""
        return {tp: store.log.end_offset for (at, tp), store in self.embedded.cluster.stores.items() if at == node}

    def _kill(self, node: int, does: CrashBroker, lost: dict[TopicPartition, int] | None = None) -> None:
        """It is gone, and with it what is behind `lost` or was not on the disk; it comes back when it is to."""
        cluster = self.embedded.cluster
        cluster.kill(node)
        for partition, end in (lost or {}).items():
            log = cluster.stores[node, partition].log
            if min(end, log.durable_offset) < log.end_offset:
                log.truncate(min(end, log.durable_offset))
        for tell in self.told:
            tell(node)
        if does.back == 0:
            cluster.start(node, was_clean=False)
        elif does.back != "never":
            self._back[node] = self.embedded.clock.now_ms() + does.back


def _watched(request: Request) -> Callable[[TopicPartition], bool]:
    """The logs of which a request means one to be appended to; what it makes others append comes before."""
    if isinstance(request, Produce):
        return lambda partition: partition in request.partitions
    if isinstance(request, OffsetCommit | TxnOffsetCommit):
        return lambda partition: partition[0] == CONSUMER_OFFSETS
    return lambda partition: True
