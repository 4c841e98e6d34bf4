"""Damage to a stopped directory: the outcome of the next start, and the data that clients then read.

Each case copies a directory (stopped cleanly, killed, or killed again after a start; of one or three brokers), damages
one file or folder, opens it, reads everything from every replica, lets clients write, and opens it again. Every
outcome is one of `Outcome`; anything else is a finding: a difference that nothing announced, a server that ended, an
exception that is not a refusal.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from random import Random

from tests.store.clients import COMPACTED, Client, NoAnswer, Notebook
from tests.store.crashing import LATER_MS, Reached
from tests.store.workloads import OFTEN_CLEANED, SMALL, SMALL_AND_COMPACTED
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Replicas
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.data_directory import DataDirectoryError
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.repairing import Repaired, Repairs
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.fault_disk import FaultDisk
from zombieproof.broker.store.findings import NOTHING, forgotten
from zombieproof.broker.store.known_logs import SNAPSHOT
from zombieproof.broker.timers import CLEANER_MS
from zombieproof.formats.record_batch import HEADER, LOG_OVERHEAD, BatchHeader
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import OffsetCommit, OffsetFetch, OffsetFetchAnswer, TxnOffsetCommit
from zombieproof.messages.partitions import (
    DeleteRecords,
    DescribeProducers,
    DescribeProducersAnswer,
    Fetch,
    FetchAnswer,
    Fetched,
    Produce,
)
from zombieproof.messages.transactions import DescribeTransactions, DescribeTransactionsAnswer, EndTxn, InitProducerId
from zombieproof.model.vocabulary import Error, Isolation

T0, T1, C0, D0 = ("t", 0), ("t", 1), (COMPACTED, 0), ("d", 0)
WRITTEN: tuple[TopicPartition, ...] = (T0, T1, C0, D0)
GROUPS, IDS = ("g0", "g1", "plain"), ("a", "b", "open")
AFTER = "after "
"""Values that are written after the damage begin so."""
SETTINGS = Settings(
    transaction_state_log_num_partitions=2, offsets_topic_num_partitions=2, group_initial_rebalance_delay_ms=0
)
CONFIGS = {TRANSACTION_STATE: SMALL_AND_COMPACTED, CONSUMER_OFFSETS: SMALL_AND_COMPACTED, COMPACTED: OFTEN_CLEANED}
FORGOTTEN = forgotten(0).partition(" 0")[0]
OFFLINE = frozenset({int(Error.KAFKA_STORAGE_ERROR)})


STOPS = ((True, False), (False, False), (False, True))
"""How a directory was stopped: in order, killed, and killed again after a start (arguments of `base`)."""


class Outcome(Enum):
    """What became of a damaged directory."""

    SAME = "same reading"
    REBUILT = "rebuilt"
    REFUSED = "refused, remedy worked"
    OFFLINE = "one partition offline"
    DIFFERENT = "silent difference"
    ENDED = "ended server"
    UNEXPECTED = "traceback"
    NO_REMEDY = "refused, no remedy"


ALLOWED = frozenset({Outcome.SAME, Outcome.REBUILT, Outcome.REFUSED, Outcome.OFFLINE})


# ---------------------------------------------------------------- the directories


def open_on(disk: Disk, nodes: int, clock: ManualClock | None = None) -> Embedded:
    """The cluster of all cases."""
    ids = range(1, nodes + 1)
    spread: list[tuple[int, ...]] = [tuple((first + i) % nodes + 1 for i in range(nodes)) for first in ids]
    topics: dict[str, int | Replicas] = {"t": [spread[0], spread[1 % nodes]], COMPACTED: [spread[0]], "d": [spread[-1]]}
    topics["in"] = [spread[0], spread[0]]
    return Embedded(
        nodes=nodes,
        topics=topics,
        settings=SETTINGS,
        clock=clock or ManualClock(LATER_MS),
        default_config=SMALL,
        configs=CONFIGS,
        disk=disk,
    )


class RoutedClient(Client):
    """A client that asks the broker that a request goes to."""

    def _node(self, request: object) -> int | None:
        cluster = self.embedded.cluster
        match request:
            case Produce():
                return cluster.leader_of(next(iter(request.partitions)))
            case OffsetCommit() | TxnOffsetCommit():
                return cluster.group_coordinator_of(request.group)
            case InitProducerId() | EndTxn() if request.transactional_id is not None:
                return cluster.coordinator_of(request.transactional_id)
        return None


@dataclass(frozen=True, slots=True)
class Base:
    """A stopped directory, an older one of the same cluster, and its content as clients read it.

    `starts_again`: it was killed, started, and killed again: what that start wrote is there, and nothing since.
    """

    nodes: int
    is_clean: bool
    disk: FaultDisk
    older: FaultDisk
    reading: "Reading"
    starts_again: bool = False

    @property
    def name(self) -> str:
        """What findings call it."""
        stop = "clean" if self.is_clean else "killed again after a start" if self.starts_again else "killed"
        return f"{self.nodes} broker{'s' * (self.nodes > 1)}, {stop}"


def _work(embedded: Embedded, clock: ManualClock, first: int, rounds: int) -> None:
    """Committed and aborted transactions, plain and idempotent records, group offsets, deleted records."""
    notes = Notebook()
    plain = RoutedClient(embedded, notes, f"plain{first}")
    plain.init()
    for number in range(first, first + rounds):
        client = RoutedClient(embedded, notes, f"p{number}", "ab"[number % 2])
        client.init()
        for part in range(3):
            client.begin(f"txn {number} {part}")
            client.send((T0, T1)[(number + part) % 2], f"v{number}-{part}-0", f"v{number}-{part}-1")
            client.send(C0, f"c{number}-{part}", key=f"k{(number + part) % 4}")
            client.send_offsets(f"g{number % 2}", {("in", 0): number + part})
            client.end(committed=(number + part) % 3 != 0)
        plain.send(T0, f"plain {number}")
        plain.send(D0, *(f"d{number}-{index}" for index in range(4)))
        plain.send_offsets("plain", {("in", 0): number})
        clock.advance(CLEANER_MS)
        while embedded.pump():
            pass
    replica = embedded.cluster.stores[embedded.cluster.leader_of(D0) or 1, D0].log
    embedded.ask(DeleteRecords(2, {D0: replica.end_offset // 2}), embedded.cluster.leader_of(D0))


@cache
def base(nodes: int, is_clean: bool, starts_again: bool = False) -> Base:
    """The directory that the cases of one kind start from, built once in each process."""
    disk, clock = FaultDisk(), ManualClock()
    embedded = open_on(disk, nodes, clock)
    _work(embedded, clock, 0, 4)
    embedded.close()
    older = disk.copy()
    embedded = open_on(disk, nodes, clock)
    _work(embedded, clock, 4, 5)
    opened = RoutedClient(embedded, Notebook(), "open", "open")
    opened.init()
    opened.begin("open")
    opened.send(T1, "in an open transaction")
    # Of the last second before a kill nothing is recorded: a log that lost its last batches looks the same as one that
    # never had them.
    clock.advance(2_000)
    while embedded.pump():
        pass
    if is_clean:
        embedded.close()
    stopped = disk.copy()
    if starts_again:
        open_on(stopped, nodes, clock).abandon()
    stopped.close()
    again = open_on(stopped.copy(), nodes)
    try:
        reading = read(again)
    finally:
        again.abandon()
    return Base(nodes, is_clean, stopped, older, reading, starts_again)


# ---------------------------------------------------------------- reading


@dataclass(slots=True)
class Reading:
    """The data that clients read, by subject. `offline`: partitions that all of their brokers refuse to serve."""

    parts: dict[str, object] = field(default_factory=dict)
    offline: set[TopicPartition] = field(default_factory=set)


def read(embedded: Embedded) -> Reading:
    """Read every partition from every replica, the offsets of groups, transactions, producers and settings."""
    found, cluster = Reading(), embedded.cluster
    for partition, known in list(cluster.metadata.partitions.items()):
        answers = {node: _of_partition(embedded, node, partition) for node in known.replicas}
        served = {node: each for node, each in answers.items() if each is not None}
        if not served:
            found.offline.add(partition)
        for node, each in served.items():
            found.parts[f"{partition[0]}-{partition[1]} at {node}"] = each
    for group in GROUPS:
        answer = embedded.ask(
            OffsetFetch(7, group, require_stable=False, partitions=(("in", 0),)), cluster.group_coordinator_of(group)
        )
        of_group = cluster.metadata.group_partition(group)
        if isinstance(answer, OffsetFetchAnswer) and answer.error == Error.NONE:
            found.parts[f"offsets of {group} in {of_group[1]}"] = answer.partitions["in", 0]
        else:
            found.offline.add(of_group)
    for name in IDS:
        answer = embedded.ask(DescribeTransactions(0, (name,)), cluster.coordinator_of(name))
        assert answer is None or isinstance(answer, DescribeTransactionsAnswer)
        row = None if answer is None else answer.transactions[0]
        of_id = cluster.metadata.transaction_partition(name)
        if row is None or row.error in (Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE):
            found.offline.add(of_id)
        else:
            found.parts[f"transaction of {name} in {of_id[1]}"] = row.error, row.state, row.producer_id, row.partitions
    found.parts["topics"] = {
        topic: (cluster.metadata.topic_ids[topic], cluster.metadata.count(topic), cluster.metadata.config_of(topic))
        for topic in sorted(cluster.metadata.topic_ids)
    }
    return found


def _of_partition(embedded: Embedded, node: int, partition: TopicPartition) -> object | None:
    """What a replica serves: where its log starts, its records under both isolations, its producers; None: nothing."""
    parts = list[object]()
    for isolation in (Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED):
        for _ in range(2):  # A replica that is damaged may be fetched again from its leader: then it serves.
            start = embedded.cluster.stores[node, partition].log.start_offset
            answer = embedded.ask(Fetch(12, isolation, {partition: start}), node)
            assert isinstance(answer, FetchAnswer)
            fetched = answer.partitions[partition]
            if fetched.error == Error.NONE:
                break
        if fetched.error in OFFLINE:
            return None
        if fetched.error != Error.NONE:
            return Error(fetched.error).name
        records = _records(fetched, skips_aborted=isolation is Isolation.READ_COMMITTED)
        parts += [start, fetched.last_stable_offset, fetched.high_watermark, records]
    producers = embedded.ask(DescribeProducers(0, (partition,)), node)
    assert isinstance(producers, DescribeProducersAnswer)
    rows = producers.partitions[partition].producers
    parts.append(sorted((each.producer_id, each.producer_epoch, each.last_sequence) for each in rows))
    return parts


def _records(fetched: Fetched, *, skips_aborted: bool) -> list[tuple[object, ...]]:
    """What a consumer makes of an answer; markers are listed as well."""
    found, aborting = list[tuple[object, ...]](), set[int]()
    firsts = sorted(fetched.aborted or (), key=lambda each: each[1], reverse=True)
    for batch in fetched.batches:
        while skips_aborted and firsts and firsts[-1][1] <= batch.last_offset:
            aborting.add(firsts.pop()[0])
        if batch.marker is not None:
            aborting.discard(batch.producer_id)
            found.append((batch.base_offset, batch.producer_id, batch.marker.committed))
        elif not (batch.transactional and batch.producer_id in aborting):
            for offset, record in zip(batch.offsets, batch.records, strict=True):
                found.append((offset, record.key, record.value, batch.producer_id, batch.transactional))
    return found


# ---------------------------------------------------------------- damage


@dataclass(frozen=True, slots=True)
class Damage:
    """What was done, to which file or folder, which is of this kind."""

    kind: str
    path: str
    how: str


def kind_of(path: str) -> str:
    """The kind of a file, as the table names it."""
    name = path.rpartition("/")[2]
    suffixes = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".deleted")
    return next((each for each in suffixes if name.endswith(each)), name)


def files_of(disk: FaultDisk) -> list[str]:
    """All files, without locks."""
    return sorted(path for path, content in disk._names.items() if content is not None and path != ".lock")


def inflict(disk: FaultDisk, of: Base, chance: Random) -> Damage:
    """One damage, drawn by chance: kinds of files equally often, logs more often."""
    files = files_of(disk)
    by_kind = dict[str, list[str]]()
    for path in files:
        by_kind.setdefault(kind_of(path), []).append(path)
    kinds = [*sorted(by_kind), *[".log"] * 4, *[".txnindex"] * 2, "folder"]
    kind = chance.choice(kinds)
    if kind == "folder":
        folders = sorted({path.rpartition("/")[0] for path in files if "/" in path})
        folder = chance.choice(folders)
        disk.remove(folder)
        return Damage(kind, folder, "removed")
    how = chance.choice(["bit", "bit", "cut", "cut", "batch", "empty", "delete", "zeros", "older", "other"])
    full = [path for path in by_kind[kind] if disk.size(path)]
    # Segments that are copied into the folder of an empty partition are served on purpose.
    takes_empty = how in ("delete", "older") or (how == "other" and kind != ".log")
    path = chance.choice(by_kind[kind] if takes_empty or not full else full)
    data = disk.read(path)
    if how == "batch" and kind != ".log":
        how = "cut"
    if how in ("bit", "cut", "batch", "empty", "zeros") and not data:
        how = "delete"
    match how:
        case "bit":
            bit = chance.randrange(8 * len(data))
            disk.damage(path, bit)
            return Damage(kind, path, f"bit {bit % 8} of byte {bit // 8} of {len(data)}")
        case "cut":
            at = chance.randrange(len(data))
            disk.truncate(path, at)
            return Damage(kind, path, f"cut at byte {at} of {len(data)}")
        case "batch":
            at = chance.choice([*boundaries(data)])
            disk.truncate(path, at)
            return Damage(kind, path, f"cut before the batch at byte {at} of {len(data)}")
        case "empty":
            disk.truncate(path, 0)
            return Damage(kind, path, f"emptied, {len(data)} bytes")
        case "zeros":
            disk.write(path, 0, bytes(len(data)))
            return Damage(kind, path, f"{len(data)} bytes are zeros")
        case "older":
            if of.older.exists(path):
                older = of.older.read(path)
                disk.truncate(path, 0)
                disk.write(path, 0, older)
                return Damage(kind, path, f"an older version, {len(data)} -> {len(older)} bytes")
        case "other":
            others = [each for each in by_kind[kind] if each != path]
            if others:
                other = chance.choice(others)
                disk.truncate(path, 0)
                disk.write(path, 0, disk.read(other))
                return Damage(kind, path, f"replaced with {other}")
    disk.remove(path)
    return Damage(kind, path, f"deleted, {len(data)} bytes")


def exchange_snapshots(disk: FaultDisk) -> list[str]:
    """Let each snapshot of producers be the newest one of another log; returned are those that differ then."""
    paths = [path for path in files_of(disk) if path.endswith(SNAPSHOT)]
    newest = {path.rpartition("/")[0]: disk.read(path) for path in paths}
    others = dict(zip(newest, [*newest][1:] + [*newest][:1], strict=True))
    found = {path: newest[others[path.rpartition("/")[0]]] for path in paths}
    changed = [path for path, data in found.items() if disk.read(path) != data]
    for path in changed:
        disk.truncate(path, 0)
        disk.write(path, 0, found[path])
    return changed


def boundaries(data: bytes) -> Iterator[int]:
    """Where the batches of a log begin."""
    at = 0
    while at + HEADER.size <= len(data):
        yield at
        at += BatchHeader(*HEADER.unpack_from(data, at)).length + LOG_OVERHEAD


# ---------------------------------------------------------------- outcomes


class _Notices(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line."""
        self.lines.append(record.getMessage())


@contextmanager
def noticing() -> Iterator[list[str]]:
    """Collect the lines that brokers report, instead of printing them on stderr."""
    logger, handler = logging.getLogger("zombieproof"), _Notices()
    logger.addHandler(handler)
    propagates, logger.propagate = logger.propagate, False
    try:
        yield handler.lines
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates


def differences(expected: Reading, found: Reading, reported: str = "") -> list[str]:
    """Differences from an earlier reading; partitions that are offline do not count.

    Nor do producers that a replica does not know any more, where that is `reported`.
    """
    lines = list[str]()
    for name, part in expected.parts.items():
        now = found.parts.get(name)
        if now == part or _about(name, found.offline):
            continue
        if not (FORGOTTEN in reported and _knows_fewer_producers(part, now)):
            lines.append(f"{name}: {_difference(part, now)}")
    return lines


def _knows_fewer_producers(before: object, now: object) -> bool:
    """Whether a replica serves the same, but knows fewer producers."""
    if not (isinstance(before, list) and isinstance(now, list) and len(before) == len(now)):
        return False
    return before[:-1] == now[:-1] and set(now[-1]) < set(before[-1])


def _difference(before: object, now: object) -> str:
    """The first place at which two parts differ."""
    if isinstance(before, list | tuple) and type(now) is type(before):
        for index, (one, other) in enumerate(zip(before, now, strict=False)):
            if one != other:
                return f"[{index}]{_difference(one, other)}"
        return f" {len(before)} -> {len(now)} entries"
    return f" {before!r} -> {now!r}"


def _about(name: str, offline: set[TopicPartition]) -> bool:
    """Whether a part of a reading is of a partition that is offline."""
    return any(
        name.startswith(f"{topic}-{number} at ")
        or (topic == CONSUMER_OFFSETS and name.startswith("offsets of ") and name.endswith(f" in {number}"))
        or (topic == TRANSACTION_STATE and name.startswith("transaction of ") and name.endswith(f" in {number}"))
        for topic, number in offline
    )


def judge(disk: FaultDisk, of: Base, damage: Damage) -> tuple[Outcome, str]:
    """Open a damaged directory, read it, write to it, and open it again."""
    untouched = disk.copy()
    with noticing() as lines:
        try:
            embedded = open_on(disk, of.nodes)
        except (Damaged, DataDirectoryError) as error:
            return _remedied(untouched, of, str(error))
        except Exception as error:  # noqa: BLE001  # whatever it is, it is no refusal
            return Outcome.UNEXPECTED, f"at start: {type(error).__name__}: {error}"
        try:
            return _judge_opened(embedded, disk, untouched, of, damage, lines)
        except Exception as error:  # noqa: BLE001  # nothing may end a server
            return Outcome.ENDED, f"{type(error).__name__}: {error}"
        finally:
            embedded.abandon()


def _judge_opened(
    embedded: Embedded, disk: FaultDisk, untouched: FaultDisk, of: Base, damage: Damage, lines: list[str]
) -> tuple[Outcome, str]:
    first = read(embedded)
    if fault := _fault(of.reading, first, damage, " ".join(lines)):
        return fault
    write(embedded, first.offline)
    written = read(embedded)
    if written.offline - first.offline:
        return Outcome.DIFFERENT, f"offline only after writing: {sorted(written.offline - first.offline)}"
    embedded.close()
    again = open_on(disk, of.nodes)
    try:
        second = read(again)
        wrong = differences(written, second)
        if first.offline:
            # A marker that waits for the partition may be written before its damage is found again.
            wrong = [each for each in wrong if not each.startswith(("transaction of", TRANSACTION_STATE))]
        if second.offline - first.offline or wrong:
            return Outcome.DIFFERENT, f"after a restart: {sorted(second.offline - first.offline)} {wrong[:3]}"
    finally:
        again.abandon()
    if first.offline:
        outcome, text = _remedied(untouched, of, " ".join(lines))
        return (Outcome.OFFLINE if outcome is Outcome.REFUSED else outcome), text
    return (Outcome.REBUILT, "; ".join(lines[:2])) if lines else (Outcome.SAME, "")


def _fault(expected: Reading, found: Reading, damage: Damage, reported: str) -> tuple[Outcome, str] | None:
    wrong = differences(expected, found, reported)
    if wrong:
        return Outcome.DIFFERENT, "; ".join(wrong[:3])
    others = {tp for tp in found.offline if f"/{tp[0]}-{tp[1]}/" not in f"/{damage.path}/"}
    if others:
        return Outcome.DIFFERENT, f"offline without damage: {sorted(others)}"
    return None


def write(embedded: Embedded, offline: set[TopicPartition]) -> None:
    """Clients continue: one of each transactional id, and a new producer."""
    notes, cluster = Notebook(), embedded.cluster
    sound = [partition for partition in WRITTEN if partition not in offline]
    for name in IDS:
        if cluster.metadata.transaction_partition(name) in offline:
            continue
        client = RoutedClient(embedded, notes, f"{AFTER}{name}", name)
        try:
            client.init()
        except NoAnswer:
            # Its last transaction cannot be completed while one of its partitions is offline.
            assert offline, f"{name} cannot be initialised"
            continue
        client.begin(f"{AFTER}{name}")
        for partition in sound:
            assert client.send(partition, f"{AFTER}{name} {partition}") == Error.NONE, (name, partition)
        assert client.end(committed=True) == Error.NONE
    plain = RoutedClient(embedded, notes, f"{AFTER}plain")
    plain.init()
    for partition in sound:
        assert plain.send(partition, f"{AFTER}plain {partition}") == Error.NONE, "its producer id is another's"
    for group in GROUPS:
        if cluster.metadata.group_partition(group) not in offline:
            assert plain.send_offsets(group, {("in", 1): 1}) == Error.NONE
    while embedded.pump():
        pass


def _remedied(disk: FaultDisk, of: Base, said: str) -> tuple[Outcome, str]:
    """Run the repair that a refusal names. The directory must open, and lack only the announced losses."""
    if "zombieproof repair" not in said:
        return Outcome.NO_REMEDY, said
    repaired = Repairs(disk, "repaired").apply()
    lossy = [each for each in repaired if each.loses != NOTHING]
    try:
        embedded = open_on(disk, of.nodes)
    except (Damaged, DataDirectoryError) as error:
        return Outcome.NO_REMEDY, f"{said}; after the repair: {error}"
    try:
        found = read(embedded)
        if found.offline:
            return Outcome.NO_REMEDY, f"{said}; offline after the repair: {sorted(found.offline)}"
        reported = "; ".join(each.loses for each in repaired)
        differs = differences(of.reading, found, reported)
        wrong = [each for each in differs if not _is_said(each, of.reading, found, lossy)]
        if wrong:
            return Outcome.DIFFERENT, f"after the repair of {[each.loses for each in repaired]}: {'; '.join(wrong[:3])}"
        write(embedded, found.offline)
        embedded.close()
    finally:
        embedded.abandon()
    return Outcome.REFUSED, "; ".join(each.loses for each in repaired)


def _is_said(difference: str, expected: Reading, found: Reading, lossy: list[Repaired]) -> bool:
    """Whether a repair has announced this loss; no repair shows records that were not there."""
    name = difference.partition(": ")[0]
    was, now = expected.parts[name], found.parts.get(name)
    about = {each.finding.partition for each in lossy if each.finding.partition is not None}
    if _about(name, about):
        return True
    if any(topic == TRANSACTION_STATE for topic, _ in about) and _adds_markers(was, now):
        return True  # Where no newer epoch shows that a transaction was completed, its markers are written again.
    if isinstance(was, list) and isinstance(now, list) and not {*map(repr, now[7])} <= {*map(repr, was[7])}:
        return False
    return len(about) < len(lossy) or CONSUMER_OFFSETS in {topic for topic, _ in about}


def _adds_markers(was: object, now: object) -> bool:
    """Whether a replica serves what it served before, and behind that markers only."""
    if not (isinstance(was, list) and isinstance(now, list) and len(was) == len(now)):
        return False
    start, committed, records = was[0], was[3], was[7]
    added = now[7][len(records) :]
    is_marker = all(isinstance(row[2], bool) for row in added)
    return start == now[0] and is_marker and (now[3][: len(committed)], now[7][: len(records)]) == (committed, records)


def damages(count: int, seed: int, nodes: tuple[int, ...] = (1, 1, 1, 3)) -> Reached:
    """So many damages of directories of so many brokers, clean and killed; counts are of "kind|outcome"."""
    chance, reached = Random(f"damage {seed}"), Reached()
    for _ in range(count):
        of = base(chance.choice(nodes), *chance.choice(STOPS))
        disk = of.disk.copy()
        damage = inflict(disk, of, chance)
        outcome, text = judge(disk, of, damage)
        reached.counts[f"{damage.kind}|{outcome.value}"] += 1
        if outcome not in ALLOWED:
            reached.findings.append(f"{of.name}: {damage.path}: {damage.how}: {outcome.value}: {text}")
    return reached


def by_kind(reached: Reached) -> dict[str, Counter[str]]:
    """The outcomes of each kind of file, and of all together."""
    rows = dict[str, Counter[str]]()
    for name, count in sorted(reached.counts.items()):
        kind, _, outcome = name.partition("|")
        for row in (kind, "all"):
            rows.setdefault(row, Counter())[outcome] += count
    return dict(sorted(rows.items(), key=lambda row: row[0] == "all"))
