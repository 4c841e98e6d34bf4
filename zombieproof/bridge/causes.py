"""What causes events of a live run, made to happen again: an equal cluster, and for each cause the command.

Whatever `Cluster` tells its journal as a cause (``caused``) has its row in `HAPPENS`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from zombieproof.broker.authorization.access_list import AccessList, entry_of_data
from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.live_trace import REFUSED, LiveTrace
from zombieproof.broker.cluster.metadata import Metadata, PartitionMetadata
from zombieproof.broker.cluster.network import Message, number_in_traces
from zombieproof.broker.cluster.node import Store
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.coordinator.producer_id_blocks import ProducerIdController
from zombieproof.broker.partition.log import Damaged, MemoryLog, StorageFailure
from zombieproof.broker.partition.snapshots import MemorySnapshots
from zombieproof.broker.store.config_names import config_named
from zombieproof.formats.batches import Batch
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.plain import from_plain
from zombieproof.model.rules import Rules
from zombieproof.traces.trace import Cause, LiveRecord, TraceError


class CannotHappen(Exception):
    """What caused an event is not possible here; the message says why."""


# ---------------------------------------------------------------- an equal cluster


@dataclass(frozen=True, slots=True)
class _TimesOfEvents:
    """The clock of the run: the time of the event that is taken next."""

    record: LiveRecord
    again: LiveTrace

    def now_ms(self) -> int:
        """The time of the next event; of the last one when there is none."""
        events = self.record.events
        return events[min(self.again.events, len(events) - 1)].ms if events else 0


class _FlushedLog(MemoryLog):
    """A log that is durable as far as the trace says."""

    def __init__(self, batches: tuple[Batch, ...] = (), start_offset: int = 0) -> None:
        super().__init__(batches, start_offset)
        self.durable = self.end_offset

    @property
    def durable_offset(self) -> int:
        return min(self.durable, self.end_offset)

    def flush(self) -> None:
        self.durable = self.end_offset


def equal_cluster(record: LiveRecord, file: str, journal: LiveTrace) -> Cluster:
    """A cluster as the header says, with what its stores held.

    Raises:
        TraceError: the header describes none.
    """
    header, told = record.header, record.header.cluster or {}
    waits = {(e.cause.node, tuple(e.cause.partition or ())) for e in record.events if e.cause.what == "flushed"}

    held: dict[tuple[int | None, tuple[str, int] | None], Cause] = {}

    def open_store(node: int, partition: TopicPartition) -> Store:
        # A log that is fetched again begins empty.
        found, made = held.pop((node, partition), None), _FlushedLog if (node, partition) in waits else MemoryLog
        snapshots = MemorySnapshots()
        if found is None:
            return Store(made(), snapshots)
        for offset, data in _fields(found)["snapshots"]:
            snapshots.write(offset, base64.b64decode(data, validate=True))
        log = made(from_plain(found.body), int(_fields(found)["start"]))
        if "damage" in _fields(found):
            log.offline = Damaged(_fields(found)["damage"])
        return Store(log, snapshots)

    try:
        for cause in (event.cause for event in record.events if event.cause.what == "found"):
            held[cause.node, cause.partition] = cause
        return Cluster(
            told["nodes"],
            header.rules_in_force(),
            Settings(**told["settings"]),
            {},
            _TimesOfEvents(record, journal),
            _metadata(told),
            told["release"],
            open_store,
            journal,
            told["was_clean"],
            AccessList.of_data(told["access"]) if "access" in told else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise TraceError(file, 1, f"describes no cluster: {type(error).__name__}: {error}") from error


def _metadata(told: Mapping[str, Any]) -> Metadata:
    """What the header says of topics, leaders and producer ids."""
    metadata = Metadata(producer_ids=ProducerIdController(*told["producer_ids"]))
    metadata.default_config = config_named(told.get("default_config", {}))
    for topic, known in told["topics"].items():
        each_partition = known["partitions"]
        metadata.create(topic, [tuple(each["replicas"]) for each in each_partition], UUID(known["id"]))
        metadata.configs[topic] = config_named(known.get("config", {}))
        if "stated" in known:
            metadata.stated[topic] = known["stated"]
        for number, each in enumerate(each_partition):
            places = tuple(each["replicas"]), tuple(each["in_sync"])
            metadata.partitions[topic, number] = PartitionMetadata(*places, each["leader"], each["leader_epoch"])
    metadata.version = told["version"]
    return metadata


# ---------------------------------------------------------------- what happens


def message_in_flight(cluster: Cluster, cause: Cause) -> Message:
    """The message in flight that a cause is about.

    Raises:
        CannotHappen: there is none.
    """
    for message in cluster.network.in_flight:
        ends = number_in_traces(message.sender), number_in_traces(message.receiver)
        same = (message.number, *ends) == (cause.number, cause.sender, cause.receiver)
        if same and message.is_answer == cause.is_answer:
            return message
    what = "answer" if cause.is_answer else "request"
    where = f"the {what} {cause.number} from {cause.sender} to {cause.receiver}"
    raise CannotHappen(
        f"{where} is not in flight here: somebody put it there beside the cluster, or the event was changed"
    )


def _send(cluster: Cluster, cause: Cause) -> None:
    said = None if cause.fields is None else cause.fields.get("principal")
    cluster.send(from_plain(cause.body), cause.receiver, None if said is None else Principal(*said))


def _deliver(cluster: Cluster, cause: Cause) -> None:
    keep_deletion = cluster.metadata.keep_deletion
    if cause.fields is not None and REFUSED in cause.fields:
        cluster.metadata.keep_deletion = _refused
    try:
        cluster.deliver(message_in_flight(cluster, cause))
    finally:
        cluster.metadata.keep_deletion = keep_deletion


def _refused(topics: Collection[str]) -> None:
    raise OSError(f"{', '.join(topics)}: the disk has refused the deletion in the run that is replayed")


def _access(cluster: Cluster, cause: Cause) -> None:
    cluster.set_access(entry_of_data(each) for each in _fields(cause)["entries"])


def _flushed(cluster: Cluster, cause: Cause) -> None:
    node, partition = _node(cause), _partition(cause)
    log = cluster.stores[node, partition].log
    assert isinstance(log, _FlushedLog), "a log that says when it is durable"
    log.durable = int(_fields(cause)["durable"])
    cluster.flushed(node, partition)


def _create(cluster: Cluster, cause: Cause) -> None:
    told = _fields(cause)
    replicas = [tuple(each) for each in told["replicas"]]
    cluster.create_topic(told["name"], replicas, config_named(told.get("config", {})))


def _retention(cluster: Cluster, cause: Cause) -> None:
    cluster.raise_log_start(_node(cause), _partition(cause), int(_fields(cause)["offset"]))


def _compact(cluster: Cluster, cause: Cause) -> None:
    first_dirty, end = _fields(cause)["dirty"]
    retention_ms = int(_fields(cause)["delete_retention_ms"])
    cluster.compact(_node(cause), _partition(cause), (first_dirty, end), retention_ms)


def _start(cluster: Cluster, cause: Cause) -> None:
    for topic, number, end in _fields(cause)["ends"]:
        cluster.stores[_node(cause), (topic, number)].log.truncate(end)
    cluster.start(_node(cause), bool(_fields(cause)["was_clean"]))


def _upgrade(cluster: Cluster, cause: Cause) -> None:
    cluster.upgrade(_node(cause), Rules(**_fields(cause)["rules"]), _fields(cause)["release"])


def _disconnect(cluster: Cluster, cause: Cause) -> None:
    exchange = cluster.network.exchanges.get(cause.number or 0)
    if exchange is None:
        raise CannotHappen(f"nobody waits for the answer to request {cause.number} here")
    cluster.disconnect(exchange)


def _lost_store(cluster: Cluster, cause: Cause) -> None:
    log = cluster.stores[_node(cause), _partition(cause)].log
    assert isinstance(log, MemoryLog), "stores are in memory"
    if _fields(cause)["is_damaged"]:
        log.offline = Damaged("the log was damaged in the run that is replayed")
    else:
        log.failure = StorageFailure("the log could not be written in the run that is replayed")
    cluster.lost_store(_node(cause), _partition(cause))


def _reopened(cluster: Cluster, cause: Cause) -> None:
    store = cluster.stores[_node(cause), _partition(cause)]
    assert isinstance(store.log, MemoryLog), "stores are in memory"
    store.log.failure = store.log.offline = None
    store.log.truncate(int(_fields(cause)["end"]))
    cluster.reopened(_node(cause), _partition(cause), store)


def _timer(cluster: Cluster, cause: Cause) -> None:
    name = _fields(cause)["name"]
    timers: Mapping[str, Callable[[int | None], None]] = {
        "send_markers": cluster.resend_markers,
        "abort_timed_out_transactions": cluster.abort_timed_out_transactions,
        "remove_expired_ids": cluster.remove_expired_ids,
        "expire_producers": cluster.expire_producers,
        "expire_offsets": cluster.expire_offsets,
        "end_waits": cluster.end_waits,
    }
    if name not in timers:
        raise CannotHappen(f"{name!r} is no timer; legal: {', '.join(timers)}")
    timers[name](cause.node)


HAPPENS: Mapping[str, Callable[[Cluster, Cause], object]] = {
    "send": _send,
    "deliver": _deliver,
    "lose": lambda cluster, cause: cluster.lose(message_in_flight(cluster, cause)),
    "double": lambda cluster, cause: cluster.double(message_in_flight(cluster, cause)),
    "disconnect": _disconnect,
    "fault": lambda cluster, cause: cluster.faulted(**_fields(cause)),
    "flushed": _flushed,
    "timer": _timer,
    "create": _create,
    "access": _access,
    "retention": _retention,
    "compact": _compact,
    "configure": lambda cluster, cause: cluster.configure(_fields(cause)["name"], _fields(cause)["value"]),
    "upgrade": _upgrade,
    "finalize": lambda cluster, cause: cluster.finalize_transaction_version(_fields(cause)["version"]),
    "elect": lambda cluster, cause: cluster.elect(_partition(cause), _node(cause), _fields(cause)["old_resigns"]),
    "resign": lambda cluster, cause: cluster.resign(_node(cause)),
    "stop": lambda cluster, cause: cluster.stop(_node(cause)),
    "kill": lambda cluster, cause: cluster.kill(_node(cause)),
    "start": _start,
    "lost_store": _lost_store,
    "reopened": _reopened,
}
"""What can happen to a cluster -> how it happens again. What brokers do when it begins needs no cause."""


def _fields(cause: Cause) -> dict[str, Any]:
    if cause.fields is None:
        raise KeyError("fields")
    return cause.fields


def _node(cause: Cause) -> int:
    if cause.node is None:
        raise KeyError("node")
    return cause.node


def _partition(cause: Cause) -> TopicPartition:
    if cause.partition is None:
        raise KeyError("partition")
    return cause.partition
