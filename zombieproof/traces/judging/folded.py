"""Evidence folded: the history of each transactional id and partition, which all judges read and none changes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zombieproof.formats.topics import TRANSACTION_STATE, TopicPartition
from zombieproof.model.rules import Rules
from zombieproof.traces.evidence import Evidence, PartitionLog
from zombieproof.traces.judging.histories.cleared_history import Latest, cleared_history
from zombieproof.traces.judging.histories.client_history import ApplicationTransaction, read_applications
from zombieproof.traces.judging.histories.coordinator_facts import CoordinatorFacts, facts_of
from zombieproof.traces.judging.histories.coordinator_history import IdHistory, read_histories
from zombieproof.traces.judging.histories.partition_fold import read_partition
from zombieproof.traces.judging.histories.partition_history import PartitionHistory
from zombieproof.traces.judging.histories.visibility import Visibility, visibility
from zombieproof.traces.verdict.faults import Fault
from zombieproof.traces.verdict.report import Report, named
from zombieproof.traces.watching import Stage, Watch


@dataclass(slots=True)
class Outside:
    """Transactions that list a partition and left nothing in its present log, and records told to applications.

    `earlier` were complete before the log began; of the others the evidence does not tell whether they were. Both are
    kept by the identity of a transaction or the place of a record, since several judges may ask.
    """

    earlier: dict[object, str] = field(default_factory=dict)
    unknown: dict[object, str] = field(default_factory=dict)


@dataclass(slots=True)
class Folded:
    """A body of evidence, and what was folded of it.

    `outside` is what judges note of transactions and records that they could not hold against a partition's log,
    `open_ends` what they found that rests on the end of a dump, by its partition.
    """

    evidence: Evidence
    rules: Rules
    applications: list[ApplicationTransaction] = field(default_factory=list)
    histories: list[IdHistory] = field(default_factory=list)
    facts: CoordinatorFacts = field(default_factory=CoordinatorFacts)
    partitions: dict[TopicPartition, PartitionHistory] = field(default_factory=dict)
    seen: dict[TopicPartition, Visibility] = field(default_factory=dict)
    outside: dict[TopicPartition, Outside] = field(default_factory=dict)
    open_ends: dict[TopicPartition, list[Fault]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Examined:
    """What was folded of a body of evidence, and the report: whatever explains a finding reads on from here."""

    folded: Folded
    report: Report

    @property
    def evidence(self) -> Evidence:
        """The whole body of evidence."""
        return self.folded.evidence

    @property
    def histories(self) -> list[IdHistory]:
        """The history of each transactional id."""
        return self.folded.histories

    @property
    def partitions(self) -> dict[TopicPartition, PartitionHistory]:
        """The history of each partition that was judged."""
        return self.folded.partitions

    @property
    def seen(self) -> dict[TopicPartition, Visibility]:
        """How far each partition can be read."""
        return self.folded.seen


def fold(evidence: Evidence, rules: Rules, watch: Watch) -> Folded:
    """Fold every log through machines and decisions; `watch` hears how far it is, and what each log alone tells."""
    logs = {place: log for place, log in evidence.partition_logs().items() if place[0] != TRANSACTION_STATE}
    applications = read_applications(evidence)
    ids = dict.fromkeys(f"id {record.transactional_id}" for record in evidence.transaction_states)
    names = [*ids, *(f"partition {named(place)}" for place in logs)]
    watch.begins(Stage.JUDGING, _events(evidence, logs.values(), applications), names)
    histories = read_histories(evidence, rules, watch)
    folded = Folded(evidence, rules, applications, histories, facts_of(histories))
    latest = Latest()
    for place, log in logs.items():
        watch.works_on(f"partition {named(place)}")
        cleared = None if log.has_lost_batches else cleared_history(log, folded.facts, rules, latest)
        folded.partitions[place] = cleared or read_partition(log, folded.facts, rules, watch)
        folded.partitions[place].created_ms = evidence.created_ms(place)
        folded.seen[place] = visibility(log, rules, watch)
        if log.cleared is not None:
            watch.advances(len(log.batches) * (1 if cleared is None else 2))
        watch.has_judged(f"partition {named(place)}", folded.partitions[place].faults)
    return folded


def _events(evidence: Evidence, logs: Iterable[PartitionLog], applications: Iterable[ApplicationTransaction]) -> int:
    """What `Stage.JUDGING` counts."""
    batches = sum(len(log.batches) for log in logs)
    return len(evidence.transaction_states) + 2 * batches + sum(len(each.records) for each in applications)
