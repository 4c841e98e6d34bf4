"""Internal errors: an exception in the handling of one request, timer or waiting operation, and what becomes of it.

Theory of operation: such an error ends what was being handled, and the connection of the client that asked for it. The
broker continues if its state can still be trusted. Coordinators keep in memory what their logs say, so theirs is built
again from the logs, under the next leader epoch, as after an election. The error ends the cluster instead where part
of an effect may be missing: a log, the topics or a file were being changed, or a coordinator cannot read its log.
Whoever drives a cluster says whether errors are contained (`Cluster.contain_errors`). Without that, they are raised.
"""

from collections.abc import Callable
from dataclasses import dataclass

from zombieproof.broker.cluster.network import Request
from zombieproof.messages.groups import TxnOffsetCommit
from zombieproof.messages.partitions import WriteTxnMarkers
from zombieproof.messages.registry import Receiver, api_of

WITHOUT_COORDINATOR = frozenset({Receiver.ANY_BROKER, Receiver.PARTITION_LEADER, Receiver.CONTROLLER})


@dataclass(frozen=True, slots=True)
class InternalError:
    """An error that was contained: at which node, while what was handled (a request, an operation, a timer's name)."""

    node: int
    subject: object
    error: Exception


Contain = Callable[[InternalError], None]
"""Hears of each internal error that was contained."""


def concerns_coordinators(subject: object) -> bool:
    """Whether what failed may have left a coordinator's memory other than its log."""
    if isinstance(subject, TxnOffsetCommit | WriteTxnMarkers):
        return True
    return not isinstance(subject, Request) or api_of(type(subject)).receiver not in WITHOUT_COORDINATOR
