"""Evidence of several clusters in one call: what is of one must not be held against what is of another.

Cluster ids that differ say it outright. Otherwise it shows in contradictions that one cluster cannot have: a topic with
two ids, a node with two different copies of a partition, a transactional id in two partitions of
``__transaction_state``, a producer id of two transactional ids, copies that differ in every partition from the first
batch on.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

from zombieproof.formats.topics import TRANSACTION_STATE, TopicPartition
from zombieproof.traces.evidence import Evidence, LoggedBatch, PartitionLog, Unit
from zombieproof.traces.judging.gathering.coverage import judged
from zombieproof.traces.readers.merge import node_folder
from zombieproof.traces.verdict.report import DamagedPlace, Gap, Judgement, NotJudged, Report, named

SHOWN = 3
ADVICE = "call once for each cluster"


def several_clusters(evidence: Evidence) -> list[str]:
    """What tells that the evidence is of several clusters, as sentences; empty when nothing does."""
    return [
        sentence
        for sentence in (
            _different_cluster_ids(evidence),
            _different_topic_ids(evidence),
            _one_node_twice(evidence),
            _different_copies(evidence),
            _ids_in_two_places(evidence),
            _producers_of_two_ids(evidence),
        )
        if sentence
    ]


def report_of_several(evidence: Evidence, contradictions: list[str]) -> Report:
    """A report that concludes nothing: damaged, with the contradiction before all other damage."""
    folder = str(Path(evidence.files[0]).parent) if evidence.files else ""
    sentence = (
        f"this is evidence of several clusters, and nothing is concluded across them: {'; '.join(contradictions)}"
    )
    first = DamagedPlace(file=folder, position=0, unit=Unit.BYTE, message=f"{sentence}; {ADVICE}")
    others = [DamagedPlace(file=d.file, position=d.position, unit=d.unit, message=d.message) for d in evidence.damage]
    why = "what is of one cluster must not be held against what is of another"
    gap = NotJudged(name="everything", gap=Gap.CLUSTERS, why=why, fetch=f"nothing more; {ADVICE}")
    return Report(
        verdict=Judgement.DAMAGED,
        findings=[],
        damage=[first, *others],
        transactions=[],
        committed={},
        lso={},
        group_offsets={},
        judged=judged(evidence, []).model_copy(update={"partitions": []}),
        not_judged=[gap],
    )


def _different_cluster_ids(evidence: Evidence) -> str:
    folders: dict[str, list[str]] = {}
    for disk in evidence.disks:
        if disk.cluster_id:
            folders.setdefault(disk.cluster_id, []).append(disk.folder)
    if len(folders) < 2:
        return ""
    return " and ".join(f"cluster {cluster} is in {_some(places)}" for cluster, places in folders.items())


def _some(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - SHOWN} more" if len(distinct) > SHOWN else ""
    return ", ".join(distinct[:SHOWN]) + more


def _different_topic_ids(evidence: Evidence) -> str:
    """A topic that was deleted and made anew has two ids in the life of a cluster, but all its topics have not."""
    found: dict[str, dict[str, list[str]]] = {}
    for each in evidence.topic_identities:
        found.setdefault(each.topic, {}).setdefault(each.topic_id, []).append(each.folder)
    shared = {topic: ids for topic, ids in found.items() if sum(map(len, ids.values())) > 1}
    if not shared or any(len(ids) == 1 for ids in shared.values()):
        return ""
    topic, ids = next(iter(shared.items()))
    where = " and ".join(f"{topic_id} in {_some(folders)}" for topic_id, folders in ids.items())
    return f"topic {topic!r} has the id {where}"


def _one_node_twice(evidence: Evidence) -> str:
    """Whether two directories of the same node hold the same partition, and differ: a node has each partition once."""
    nodes = {disk.folder: disk.node_id for disk in evidence.disks if disk.node_id is not None}
    for one, other in _pairs(evidence) if nodes else ():
        here, there = node_folder(one), node_folder(other)
        if here == there or one.compacted or other.compacted:
            continue
        if nodes.get(here) is not None and nodes.get(here) == nodes.get(there) and any(_differences(one, other)):
            return f"node {nodes[here]} has {named(one.topic_partition)} in {here} and another one in {there}"
    return ""


def _pairs(evidence: Evidence) -> Iterator[tuple[PartitionLog, PartitionLog]]:
    """Two copies each of every partition of which the number is known."""
    for (_, partition), logs in evidence.copies().items():
        if partition >= 0:
            yield from combinations(logs, 2)


def _different_copies(evidence: Evidence) -> str:
    """Whether every partition of which there are two copies differs in them from the first batch that both hold on."""
    differ: dict[TopicPartition, tuple[PartitionLog, PartitionLog]] = {}
    for place, logs in evidence.copies().items():
        logs = [log for log in logs if not log.compacted] if place[1] >= 0 and len(logs) > 1 else []
        pairs = [(pair, _differences(*pair)) for pair in combinations(logs, 2) if not _agree_elsewhere(pair, evidence)]
        compared = [(pair, found) for pair, found in pairs if found]
        if not compared:
            continue
        strange = [pair for pair, found in compared if all(found)]
        if not strange:
            return ""
        differ[place] = strange[0]
    batches = sum(len(_differences(*pair)) for pair in differ.values())
    if batches < 2:
        return ""
    one, other = next(iter(differ.values()))
    places = _some(map(named, differ))
    return f"the copies of {places} differ in every batch that both hold, as in {_where(one, other)}"


def _agree_elsewhere(pair: tuple[PartitionLog, PartitionLog], evidence: Evidence) -> bool:
    """Whether the folders agree about another partition; one folder may hold dumps of several clusters."""
    folders = frozenset(map(node_folder, pair))
    return len(folders) > 1 and folders in evidence.agreements


def _where(one: PartitionLog, other: PartitionLog) -> str:
    """The folders of two copies; where that is one, their files."""
    here, there = _folder(one), _folder(other)
    if here != there:
        return f"{here} and {there}"
    here, there = one.files[0], other.files[0]
    return f"{here}, which prints both" if here == there else f"{here} and {there}"


def _folder(log: PartitionLog) -> str:
    return str(Path(log.files[0]).parent) if log.files else log.replica


def _differences(one: PartitionLog, other: PartitionLog) -> list[bool]:
    """For each batch that both copies hold at the same offset under the same leader epoch, whether it differs."""
    known = {batch.base_offset: batch for batch in one.batches}
    pairs = ((known.get(batch.base_offset), batch) for batch in other.batches)
    return [_differ(mine, theirs) for mine, theirs in pairs if mine and _comparable(mine, theirs)]


def _comparable(one: LoggedBatch, other: LoggedBatch) -> bool:
    return one.partition_leader_epoch == other.partition_leader_epoch


def _differ(one: LoggedBatch, other: LoggedBatch) -> bool:
    if one.crc is not None and other.crc is not None:
        return one.crc != other.crc
    return (one.producer_id, one.producer_epoch, one.base_sequence, one.max_timestamp_ms) != (
        other.producer_id,
        other.producer_epoch,
        other.base_sequence,
        other.max_timestamp_ms,
    )


def _ids_in_two_places(evidence: Evidence) -> str:
    homes: dict[str, dict[int, str]] = {}
    for record in evidence.transaction_states:
        if record.partition >= 0:
            homes.setdefault(record.transactional_id, {}).setdefault(record.partition, record.file)
    twice: Iterator[tuple[str, dict[int, str]]] = ((name, at) for name, at in homes.items() if len(at) > 1)
    found = next(twice, None)
    if found is None:
        return ""
    where = " and ".join(f"partition {number} ({file})" for number, file in found[1].items())
    return f"{found[0]!r} is in two partitions of __transaction_state, {where}, and an id has one"


def _producers_of_two_ids(evidence: Evidence) -> str:
    """A cluster hands out a producer id once: two ids with the same one, in folders that share nothing, are of two."""
    homes = {
        log.partition: node_folder(log) for log in evidence.partition_logs().values() if log.topic == TRANSACTION_STATE
    }
    owners: dict[int, dict[str, str]] = {}
    for record in evidence.transaction_states:
        if record.value is not None and record.partition in homes:
            owners.setdefault(record.value.producer_id, {}).setdefault(record.transactional_id, homes[record.partition])
    for producer_id, ids in owners.items():
        for (one, here), (other, there) in combinations(ids.items(), 2):
            if here != there and frozenset((here, there)) not in evidence.agreements:
                return f"producer id {producer_id} is that of {one!r} in {here} and that of {other!r} in {there}"
    return ""
