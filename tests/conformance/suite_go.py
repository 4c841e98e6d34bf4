"""OffsetMetadataManager: offsets of a group, those that wait for a marker, and who may commit them.

The group of a case is loaded from a log that holds it, so that what is expected is seen at a whole coordinator over a
real replica. Every TxnOffsetCommit is sent in each version that names a member. What is committed and what waits is
compared twice: in the memory that handled the events, and in that of a new coordinator which reads the log.
"""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.broker.group_host import GROUP, GroupHost
from tests.broker.partitions import Place
from tests.broker.questions import was_asked
from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, NotRunnable
from tests.conformance.phrases import Fields, check, error_name, error_of, listed, matched, partition_of
from zombieproof.broker.cluster.metadata import Metadata, PartitionMetadata
from zombieproof.broker.group.store import GroupStore
from zombieproof.formats.batches import Batch, ConsumerMemberValue, GroupKey, GroupValue, OffsetKey, OffsetValue, Record
from zombieproof.formats.consumer_group_records import records_of
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.groups import OffsetDelete, OffsetsDeleted, OffsetToCommit, TxnOffsetCommit
from zombieproof.model.vocabulary import NONE, Error, Origin

MEMBER, SOMEBODY_ELSE = "member", "other"
METADATA = "metadata"
VERSIONS_WITH_MEMBERS = (3, 4, 5)
MINUTE_MS = 60_000
COUNT = "rises only for a commit that adds a new partition, never for an abort or a replaced offset"

NAME = r"[a-z]+-\d+"
GROUPS = (
    r"(?P<kind>classic|consumer)(?P<stable>, Stable)?"
    r"(?:, generation (?P<generation>\d+)|, member at epoch (?P<epoch>\d+)|(?P<without>, without that member)"
    r"|(?P<unread> without subscription))"
)
COMMIT = (
    r"TxnOffsetCommit(?: with)?(?: member(?: id)?)?(?:,| and)?(?: (?:epoch|generation) (?P<generation>\d+))?"
    rf"(?:, (?P<partition>{NAME}) at (?P<offset>\d+)(?: leader epoch (?P<leader_epoch>\d+))?)?"
)
DEFAULT_ROW = OffsetToCommit(("bar", 0), 100, METADATA)
PRODUCER_ID = 5


@dataclass(slots=True)
class Scene:
    """A coordinator with the group of a case, and what has come of the step of the case."""

    host: GroupHost
    named: set[TopicPartition] = field(default_factory=set)
    generation: int = 1
    written_before: int = 0
    errors: set[int] = field(default_factory=set)

    @property
    def store(self) -> GroupStore:
        """What the coordinator holds."""
        store = self.host.coordinator.store(0)
        assert store is not None
        return store

    def partition(self, name: object) -> TopicPartition:
        """A partition that the case names: it exists."""
        partition = partition_of(name)
        self.host.metadata.partitions.setdefault(partition, PartitionMetadata((1,), (1,), 1))
        self.named.add(partition)
        return partition

    def write(self, *records: Record) -> None:
        """Records stand in the log, and a new coordinator reads them."""
        batch = Batch(base_sequence=0, records=records, last_offset_delta=len(records) - 1)
        check("records written", Error.NONE, Error(self.host.replica.append(batch, 0, Origin.COORDINATOR).error))
        self.host.restart()

    def plain(self, name: object, offset: int) -> None:
        """An offset is committed outside of transactions."""
        partition = self.partition(name)
        check("plain commit", {partition: 0}, self.host.commit((partition, offset)).errors)

    def transactional(self, producer_id: int, name: object, offset: int) -> None:
        """An offset is committed inside a transaction."""
        partition = self.partition(name)
        answer = self.host.txn_commit((partition, offset), producer_id=producer_id)
        check("TxnOffsetCommit", {partition: 0}, answer.errors)

    def mark(self) -> None:
        """The step of the case begins here."""
        self.written_before = len(self.host.written())

    def written(self) -> list[tuple[TopicPartition, OffsetValue | None]]:
        """The offset records that the step has written."""
        return self.host.written()[self.written_before :]


def run(case: Case) -> None:
    """Run one case, once for each version of the request of its step."""
    for version in VERSIONS_WITH_MEMBERS if str(case.when).startswith("TxnOffsetCommit") else (0,):
        if isinstance(case.expect, dict) and "count" in case.expect:
            _count(case)
            continue
        scene = _scene(case)
        scene.mark()
        _step(scene, case.when, version)
        _compare(scene, Fields(case.expect, "expect"))


# ---------------------------------------------------------------- given


def _scene(case: Case) -> Scene:
    metadata = Metadata()
    metadata.create(CONSUMER_OFFSETS, [(1,)])
    place = Place(partition=(CONSUMER_OFFSETS, 0), rules=rules_of(case.baseline))
    scene = Scene(GroupHost(place=place, metadata=metadata))
    given = Fields(case.given, "given")
    _set_up_group(scene, given.take("group", "none"))
    for phrase in listed(given.take("committed", [])):
        _set_up_committed(scene, phrase)
    for phrase in _parts(given.take("pending")):
        _set_up_pending(scene, phrase)
    for position, phrase in enumerate(_parts(given.take("log"), ", ")):
        _set_up_log(scene, phrase, position)
    given.done()
    return scene


def _parts(phrases: object, separator: str = "; ") -> list[str]:
    return [] if phrases is None else str(phrases).split(separator)


def _set_up_group(scene: Scene, phrase: object) -> None:
    if phrase == "none":
        return
    match = matched(GROUPS, phrase, "group")
    scene.generation = int(match["generation"] or match["epoch"] or 1)
    member = SOMEBODY_ELSE if match["without"] else MEMBER
    members = () if match["unread"] else ((member, scene.generation),)
    is_classic = match["kind"] == "classic"
    if match["epoch" if is_classic else "generation"] is not None:
        raise NotRunnable(f"group {phrase!r}: members of classic groups have no epoch, others no generation")
    value = GroupValue(
        scene.generation,
        members,
        leader="" if match["unread"] else member,
        assignment_epoch=scene.generation,
        consumers=tuple((name, ConsumerMemberValue(scene.generation, topics=("bar",))) for name, _ in members),
    )
    topic_ids = scene.host.metadata.topic_ids
    scene.write(*((Record(GroupKey(GROUP), value),) if is_classic else records_of(GROUP, value, topic_ids)))


def _set_up_committed(scene: Scene, phrase: object) -> None:
    match = matched(rf"(?P<name>{NAME})(?: (?P<offset>\d+))?(?P<old>, older than the retention time)?", phrase)
    scene.plain(match["name"], int(match["offset"] or 0))
    if match["old"]:
        scene.host.place.clock.advance(scene.host.place.settings.offsets_retention_minutes * MINUTE_MS)


def _set_up_pending(scene: Scene, phrase: str) -> None:
    match = matched(rf"pid (?P<pid>\d+): (?P<rows>{NAME}(?: \d+)?(?:, {NAME}(?: \d+)?)*)", phrase)
    for row in match["rows"].split(", "):
        name, _, offset = row.partition(" ")
        scene.transactional(int(match["pid"]), name, int(offset or 0))


def _set_up_log(scene: Scene, phrase: str, position: int) -> None:
    match = matched(
        rf"(?:pending pid (?P<pid>\d+):|plain commit) (?P<name>{NAME}) (?P<offset>\d+) \(log position (?P<at>\d+)\)",
        phrase,
    )
    check("log position", int(match["at"]), position)
    if match["pid"]:
        scene.transactional(int(match["pid"]), match["name"], int(match["offset"]))
    else:
        scene.plain(match["name"], int(match["offset"]))


# ---------------------------------------------------------------- when


def _step(scene: Scene, phrase: object, version: int) -> None:
    steps: dict[str, Callable[[Scene, re.Match[str], int], None]] = {
        COMMIT: _commit,
        rf"OffsetDelete (?P<name>{NAME})": _delete,
        r"expire offsets": lambda scene, _, __: scene.host.coordinator.expire_offsets(),
        rf"replay tombstones of (?P<names>{NAME}(?:(?:, | and ){NAME})*)": _replay_tombstones,
        r"(?P<outcome>COMMIT|ABORT) marker of pid (?P<pid>\d+)": _marker,
    }
    for pattern, step in steps.items():
        match = re.fullmatch(pattern, phrase) if isinstance(phrase, str) else None
        if match is not None:
            step(scene, match, version)
            return
    raise NotRunnable(f"step {phrase!r} is not understood")


def _commit(scene: Scene, match: re.Match[str], version: int) -> None:
    row = DEFAULT_ROW
    if match["partition"]:
        leader_epoch = int(match["leader_epoch"] or NONE)
        row = OffsetToCommit(partition_of(match["partition"]), int(match["offset"]), METADATA, leader_epoch)
    scene.partition(f"{row.partition[0]}-{row.partition[1]}")
    generation = int(match["generation"] or scene.generation)
    request = TxnOffsetCommit(version, "x", GROUP, PRODUCER_ID, 0, (row,), generation, MEMBER)
    work = scene.host.coordinator.commit(request, scene.host.replica)
    was_asked(work)
    scene.errors = set(work.finish().errors.values())


def _delete(scene: Scene, match: re.Match[str], _: int) -> None:
    answer = scene.host.ask(OffsetDelete(0, GROUP, (scene.partition(match["name"]),)), OffsetsDeleted)
    scene.errors = {answer.error, *answer.errors.values()}


def _replay_tombstones(scene: Scene, match: re.Match[str], _: int) -> None:
    names = re.split(", | and ", match["names"])
    scene.write(*(Record(OffsetKey(GROUP, *scene.partition(name)), None) for name in names))


def _marker(scene: Scene, match: re.Match[str], _: int) -> None:
    scene.host.end(int(match["pid"]), committed=match["outcome"] == "COMMIT")


# ---------------------------------------------------------------- expect


def _compare(scene: Scene, expect: Fields) -> None:
    error = expect.take("error")
    if error is not None:
        # A marker that was refused would have raised an error in the step.
        got = scene.errors or {int(Error.NONE)}
        check("errors", {error_name(error_of(str(error).upper()))}, {error_name(code) for code in got})
    _compare_written(scene, expect)
    group_may_go = expect.take("group_may_go")
    if group_may_go is not None:
        check("group may go", group_may_go, GROUP not in scene.store.groups)
    committed, pending = expect.take("committed"), expect.take("pending")
    expect.done()
    for where in ("memory", "the log"):
        if committed is not None:
            _compare_committed(scene, committed, where)
        if pending is not None:
            wanted = {} if pending == "none" else dict(_pending_of(part) for part in str(pending).split("; "))
            check(f"pending in {where}", wanted, _pending(scene, wanted))
        scene.host.restart()


def _compare_written(scene: Scene, expect: Fields) -> None:
    appended = expect.take("appended")
    if appended is not None:
        match = matched(
            r"(?P<count>\d+) offset records?(?: with offset (?P<offset>\d+), leader epoch (?P<epoch>\d+), metadata)?",
            appended,
        )
        values = [value for _, value in scene.written()]
        check("records appended", int(match["count"]), len(values))
        if match["offset"]:
            wanted = (int(match["offset"]), int(match["epoch"]), METADATA)
            got = [value and (value.offset, value.leader_epoch, value.metadata) for value in values]
            check("appended", [wanted] * len(values), got)
    tombstones = expect.take("tombstones")
    if tombstones is not None:
        wanted_names = sorted(scene.partition(name) for name in listed(tombstones))
        check("tombstones", wanted_names, sorted(tp for tp, value in scene.written() if value is None))


def _compare_committed(scene: Scene, phrase: object, where: str) -> None:
    wanted: dict[TopicPartition, int] = {}
    for part in [] if phrase == "none" else str(phrase).split("; "):
        match = matched(rf"(?P<name>{NAME}) (?P<offset>\d+|none)", part, "committed")
        partition = partition_of(match["name"])
        if partition not in scene.named:
            raise NotRunnable(f"{match['name']} occurs in the expectation only")
        if match["offset"] != "none":
            wanted[partition] = int(match["offset"])
    check(f"committed in {where}", wanted, _committed(scene))


def _committed(scene: Scene) -> dict[TopicPartition, int]:
    offsets = scene.store.offsets
    values = {(key.topic, key.partition): offsets.committed(key) for key in offsets.committed_keys(GROUP)}
    return {partition: value.offset for partition, value in values.items() if value is not None}


def _pending_of(phrase: str) -> tuple[int, dict[TopicPartition, int]]:
    match = matched(rf"pid (?P<pid>\d+): (?P<rows>{NAME} \d+(?:, {NAME} \d+)*)", phrase, "pending")
    rows = (row.split(" ") for row in match["rows"].split(", "))
    return int(match["pid"]), {partition_of(name): int(offset) for name, offset in rows}


def _pending(scene: Scene, wanted: dict[int, dict[TopicPartition, int]]) -> dict[int, dict[TopicPartition, int]]:
    """What waits, by producer id; ids that are asked for and have nothing are told as that."""
    ids = {batch.producer_id for batch in scene.host.replica.log.read()} | set(wanted)
    found = {producer_id: scene.host.waiting(producer_id) for producer_id in ids - {NONE}}
    return {producer_id: rows for producer_id, rows in found.items() if rows or producer_id in wanted}


# ---------------------------------------------------------------- how many offsets there are


def _count(case: Case) -> None:
    """The number of committed offsets, in every order of markers and with every outcome of each."""
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    match = matched(
        rf"pid (?P<ids>\d+(?:, \d+)*) over (?P<names>{NAME}(?:, {NAME})*)(?:, \.\.\.)?", given.take("pending")
    )
    given.done()
    matched("COMMIT and ABORT markers one by one", case.when, "step")
    matched(re.escape(COUNT), expect.take("count"), "count")
    expect.done()
    ids, names = [int(number) for number in match["ids"].split(", ")], match["names"].split(", ")
    for order in itertools.permutations(ids):
        for outcomes in itertools.product((True, False), repeat=len(ids)):
            scene = _scene(Case(case.id, case.suite, case.prefix, case.name, case.baseline, {}, "", {}, ""))
            for position, producer_id in enumerate(ids):
                for name in names[: position + 1]:
                    scene.transactional(producer_id, name, 100 + position)
            for producer_id, committed in zip(order, outcomes, strict=True):
                before = set(_committed(scene))
                new = set(scene.host.waiting(producer_id)) - before if committed else set()
                scene.host.end(producer_id, committed=committed)
                check(f"offsets behind the marker of pid {producer_id}", len(before) + len(new), len(_committed(scene)))
