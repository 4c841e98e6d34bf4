"""Brokers that crash at a moment of a request, and come back."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.cluster.waiting import FOR_EVER
from zombieproof.broker.embedded import Embedded, Submitted
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.groups import OffsetCommit, TxnOffsetCommit
from zombieproof.messages.partitions import Produce
from zombieproof.wire.plan.kinds import CrashBroker, Moment

CouldNotBe = Callable[[str], None]
"""Hears why a crash is not to be."""


@dataclass(frozen=True, slots=True)
class _Appending:
    """A crash that waits until something is appended at a broker: where its logs ended before, which are meant."""

    node: int
    does: CrashBroker
    before: dict[TopicPartition, int]
    watches: Callable[[TopicPartition], bool]


@dataclass(slots=True)
class Crashes:
    """The brokers of a cluster that went down by a plan. `told`: whoever has to know which one does."""

    embedded: Embedded
    told: list[Callable[[int], None]] = field(default_factory=list)
    _back: dict[int, int] = field(default_factory=dict)
    _appending: list[_Appending] = field(default_factory=list)

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

    def crash(self, does: CrashBroker, come: Submitted, could_not: CouldNotBe) -> None:
        """The broker that a request came to crashes at a moment of it.

        `could_not` hears why it does not: it is down, or the request, which goes its way, appends nothing there.
        """
        if does.node is not None:
            self._crash_another(does.node, does, come, could_not)
            return
        cluster = self.embedded.cluster
        node = min(cluster.brokers, default=None) if come.node is None else come.node
        if node not in cluster.brokers:
            come.done(None)
            could_not(f"broker {node} is down already")
            return
        come = replace(come, node=node)
        match does.moment:
            case Moment.BEFORE_APPEND:
                self._kill(node, does)
                come.done(None)
            case Moment.AFTER_FSYNC:
                self.embedded.hand_in(replace(come, done=lambda answer: self._before_the_answer(come, does, answer)))
            case Moment.AFTER_APPEND | Moment.BEFORE_FSYNC:
                appending = _Appending(node, does, self._ends(node), _watched(come.request))
                self._appending.append(appending)
                done = partial(self._nothing_appended, appending, come, could_not)
                self.embedded.hand_in(replace(come, done=done))

    def look(self) -> None:
        """Brokers crash that have appended what they were to append before."""
        for each in tuple(self._appending):
            ends = self._ends(each.node)
            if any(end != each.before.get(tp, 0) for tp, end in ends.items() if each.watches(tp)):
                self._appending.remove(each)
                self._kill(each.node, each.does, each.before if each.does.moment is Moment.BEFORE_FSYNC else {})

    def _nothing_appended(
        self, appending: _Appending, come: Submitted, could_not: CouldNotBe, answer: Answer | None
    ) -> None:
        if appending in self._appending:
            self._appending.remove(appending)
            could_not(f"the request appended nothing at broker {appending.node}")
        come.done(answer)

    def _crash_another(self, node: int, does: CrashBroker, come: Submitted, could_not: CouldNotBe) -> None:
        is_up = node in self.embedded.cluster.brokers
        if is_up:
            self._kill(node, does)
            self.embedded.settle()
        self.embedded.hand_in(come)
        if not is_up:
            could_not(f"broker {node} is down already")

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
        if node not in cluster.brokers:
            return
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
