"""The life of topics against all that refers to them, compared with a model that knows what every client was told.

Topics are created, deleted, created again, widened and truncated while producers, transactions, waiting fetches, a
simple group and members of a KIP-848 group use them, by name and by id. Requests pass the real codec, the brokers have
a data directory, and the power fails at any point: what clients were told before is what they find afterwards.
"""

import os
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.wire.questions_topic_life import Member, OurLine, World
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.fault_disk import Fate, FaultDisk
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.encoding import read_batches, write_batch
from zombieproof.formats.topics import INTERNAL_TOPICS
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.wire.names import NO_ID

NAMES = ("t", "u")
GROUP, MEMBERS = "consumers", ("m0", "m1")
SETTINGS = Settings(
    transaction_state_log_num_partitions=1,
    offsets_topic_num_partitions=1,
    group_initial_rebalance_delay_ms=0,
    group_consumer_session_timeout_ms=60_000,
)
EXAMPLES = int(os.environ.get("TOPIC_LIFE_EXAMPLES", "3"))
"""How many runs; `TOPIC_LIFE_EXAMPLES=2000` takes about an hour of CPU."""
name, number = st.sampled_from(NAMES), st.integers(0, 2)


@dataclass
class Topic:
    """What clients know of a topic: its id, the values in each partition with their offsets, and committed offsets."""

    id: UUID
    partitions: list[dict[int, bytes]]
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    committed: dict[int, int] = field(default_factory=dict)


class TopicLife(RuleBasedStateMachine):
    """One or three brokers on a disk, and what clients of two topics were told."""

    def __init__(self) -> None:
        super().__init__()
        self.topics: dict[str, Topic] = {}
        self.old_ids: list[UUID] = []
        self.clock, self.disk = ManualClock(), FaultDisk()
        self.sent = self.sequence = 0
        self.transaction: set[tuple[str, UUID, int]] | None = None
        self.sequences: dict[tuple[UUID, int], int] = {}
        self.producer = (NONE, NONE)
        self.waiting: tuple[Any, str, UUID] | None = None

    @initialize(nodes=st.sampled_from([1, 3]))
    def open_brokers(self, nodes: int) -> None:
        self.nodes = nodes
        self._open()
        self.members = {each: Member(self.world, GROUP, each, each, list(NAMES)) for each in MEMBERS}

    def _open(self) -> None:
        self.embedded = Embedded(nodes=self.nodes, settings=SETTINGS, clock=self.clock, disk=self.disk)

        def rest(seconds: float) -> None:
            self.clock.advance(int(seconds * 1000))
            while self.embedded.pump():
                pass

        self.lines = {
            node: OurLine(self.embedded, lambda milliseconds: rest(milliseconds / 1000), node)
            for node in self.embedded.cluster.nodes
        }
        if not hasattr(self, "world"):
            self.world = World(lambda: self.lines[1], rest)
        self.world.lines, self.world.rest, self.rest = [_Coordinator(self)] * 2, rest, rest

    def teardown(self) -> None:
        if hasattr(self, "embedded"):
            self.embedded.close()

    def ask(self, api: ApiKey, version: int, values: Any, node: int = 1) -> Any:
        self.lines[node].send(api, version, values)
        return self.lines[node].wait()

    def leader(self, topic: str, partition: int) -> int:
        node = self.embedded.cluster.leader_of((topic, partition))
        return 1 if node is None else node

    # ------------------------------------------------------------ topics

    @rule(topic=name, partitions=st.integers(1, 3), replicas=st.sampled_from([1, 3]))
    def create(self, topic: str, partitions: int, replicas: int) -> None:
        row = {
            "name": topic,
            "num_partitions": partitions,
            "replication_factor": min(replicas, self.nodes),
            "assignments": [],
            "configs": [],
        }
        told = self.ask(ApiKey.CREATE_TOPICS, 7, {"topics": [row], "timeout": 1000, "validate_only": False})
        exists = topic in self.topics
        assert told["topics"][0]["error_code"] == (Error.TOPIC_ALREADY_EXISTS if exists else Error.NONE)
        if not exists:
            topic_id = UUID(told["topics"][0]["topic_id"])
            assert topic_id not in self.old_ids, "an id is never given again"
            self.topics[topic] = Topic(topic_id, [{} for _ in range(partitions)], [0] * partitions, [0] * partitions)

    @rule(topic=name, by_id=st.booleans())
    def delete(self, topic: str, by_id: bool) -> None:
        known = self.topics.pop(topic, None)
        topic_id = known.id if known is not None else (self.old_ids or [UUID(int=9)])[-1]
        row = {"name": None, "topic_id": topic_id} if by_id else {"name": topic, "topic_id": NO_ID}
        told = self.ask(ApiKey.DELETE_TOPICS, 6, {"topics": [row], "timeout": 1000})["responses"][0]
        unknown = Error.UNKNOWN_TOPIC_ID if by_id else Error.UNKNOWN_TOPIC_OR_PARTITION
        assert told["error_code"] == (unknown if known is None else Error.NONE)
        assert told["topic_id"] == (str(topic_id) if by_id or known is not None else None)
        if known is not None:
            self.old_ids.append(known.id)
            self._deleted(topic, known)

    def _deleted(self, topic: str, known: Topic) -> None:
        if self.waiting is not None and self.waiting[1:] == (topic, known.id):
            told = self.waiting[0].wait()
            self.waiting = None
            assert told["responses"][0]["topic_id"] == str(known.id)
            errors = {row["error_code"] for row in told["responses"][0]["partitions"]}
            assert errors == {Error.UNKNOWN_TOPIC_OR_PARTITION}

    @rule(topic=name, more=st.integers(0, 2))
    @precondition(lambda self: self.topics)
    def widen(self, topic: str, more: int) -> None:
        known = self.topics.get(topic)
        count = 2 if known is None else len(known.partitions) + more
        row = {"name": topic, "count": count, "assignments": None}
        told = self.ask(ApiKey.CREATE_PARTITIONS, 3, {"topics": [row], "timeout": 1000, "validate_only": False})
        error = told["results"][0]["error_code"]
        if known is None:
            assert error == Error.UNKNOWN_TOPIC_OR_PARTITION
        elif more == 0:
            assert error == Error.INVALID_PARTITIONS
        else:
            assert error == Error.NONE
            known.partitions += [{} for _ in range(more)]
            known.starts += [0] * more
            known.ends += [0] * more

    @rule(topic=name, partition=number, offset=st.integers(0, 3))
    def truncate(self, topic: str, partition: int, offset: int) -> None:
        known = self.topics.get(topic)
        row = {"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}
        values = {"topics": [row], "timeout": 1000}
        told = self.ask(ApiKey.DELETE_RECORDS, 2, values, self.leader(topic, partition))
        error = told["topics"][0]["partitions"][0]["error_code"]
        if known is None or partition >= len(known.partitions):
            assert error == Error.UNKNOWN_TOPIC_OR_PARTITION
        elif offset > known.ends[partition]:
            assert error == Error.OFFSET_OUT_OF_RANGE
        else:
            assert error == Error.NONE
            known.starts[partition] = max(known.starts[partition], offset)

    # ------------------------------------------------------------ records

    def _produce(self, topic: str, topic_id: UUID | None, partition: int, batch: Batch, txn: str | None = None) -> Any:
        version = 9 if topic_id is None else 13
        row = {"name": topic} if topic_id is None else {"topic_id": topic_id}
        data = [{**row, "partition_data": [{"index": partition, "records": write_batch(batch)}]}]
        values = {"transactional_id": txn, "acks": NONE, "timeout": 1000, "topic_data": data}
        told = self.ask(ApiKey.PRODUCE, version, values, self.leader(topic, partition))
        return told["responses"][0]["partition_responses"][0]

    def _wrote(self, known: Topic, partition: int, told: Any, value: bytes) -> None:
        known.partitions[partition][told["base_offset"]] = value
        known.ends[partition] = told["base_offset"] + 1
        if self.waiting is not None and self.waiting[2] == known.id:
            # Whether it is answered depends on which partitions it is about: it is not what is judged any more.
            self.waiting = None

    @rule(topic=name, partition=number, by_id=st.booleans(), old=st.booleans())
    def produce(self, topic: str, partition: int, by_id: bool, old: bool) -> None:
        known = self.topics.get(topic)
        self.sent += 1
        value = b"v%d" % self.sent
        topic_id = None
        if by_id and old and self.old_ids:
            topic_id = self.old_ids[-1]
        elif by_id and known is not None:
            topic_id = known.id
        told = self._produce(topic, topic_id, partition, Batch(records=(Record(None, value),), timestamp_ms=1))
        if topic_id in self.old_ids and topic_id is not None:
            assert told["error_code"] == Error.UNKNOWN_TOPIC_ID
        elif known is None or partition >= len(known.partitions):
            assert told["error_code"] == Error.UNKNOWN_TOPIC_OR_PARTITION
        else:
            assert told["error_code"] == Error.NONE
            self._wrote(known, partition, told, value)

    @rule(topic=name, old=st.booleans())
    def wait_at(self, topic: str, old: bool) -> None:
        """A client waits for records at the ends of all partitions, by id."""
        known = self.topics.get(topic)
        topic_id = self.old_ids[-1] if old and self.old_ids else known.id if known else None
        if topic_id is None or (known and topic_id == known.id and self.waiting is not None):
            return
        ends = known.ends if known and topic_id == known.id else [0]
        here = [each for each in range(len(ends)) if topic_id in self.old_ids or self.leader(topic, each) == 1]
        if not here:
            return
        line = OurLine(self.embedded, lambda milliseconds: self.rest(milliseconds / 1000))
        line.send(ApiKey.FETCH, 17, _fetch(topic_id, {each: ends[each] for each in here}, 1 << 30))
        if topic_id in self.old_ids:
            rows = line.wait()["responses"][0]["partitions"]
            assert {row["error_code"] for row in rows} == {Error.UNKNOWN_TOPIC_ID}
        else:
            self.waiting = line, topic, topic_id

    # ------------------------------------------------------------ transactions

    @rule()
    def init(self) -> None:
        values = {
            "transactional_id": "x",
            "transaction_timeout": 900_000,
            "producer_id": NONE,
            "producer_epoch": NONE,
        }
        node = self.embedded.cluster.coordinator_of("x") or 1
        for _ in range(100):
            told = self.ask(ApiKey.INIT_PRODUCER_ID, 4, values, node)
            if told["error_code"] != Error.CONCURRENT_TRANSACTIONS:
                break
            self.rest(0.1)
        assert told["error_code"] == Error.NONE
        self.producer = told["producer_id"], told["producer_epoch"]
        self.transaction = set()
        self.sequences.clear()

    @rule(topic=name, partition=number)
    @precondition(lambda self: self.transaction is not None)
    def write_in_transaction(self, topic: str, partition: int) -> None:
        producer_id, epoch = self.producer
        known = self.topics.get(topic)
        add = {
            "v3_and_below_transactional_id": "x",
            "v3_and_below_producer_id": producer_id,
            "v3_and_below_producer_epoch": epoch,
            "v3_and_below_topics": [{"name": topic, "partitions": [partition]}],
        }
        node = self.embedded.cluster.coordinator_of("x") or 1
        for _ in range(100):
            told = self.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, add, node)
            error = told["results_by_topic_v3_and_below"][0]["results_by_partition"][0]["partition_error_code"]
            if error != Error.CONCURRENT_TRANSACTIONS:
                break
            self.rest(0.1)
        if known is None or partition >= len(known.partitions):
            assert error == Error.UNKNOWN_TOPIC_OR_PARTITION
            return
        assert error == Error.NONE
        self.sent += 1
        value, key = b"v%d" % self.sent, (known.id, partition)
        sequence = self.sequences.get(key, 0)
        batch = Batch(producer_id, epoch, sequence, transactional=True, records=(Record(None, value),), timestamp_ms=1)
        told = self._produce(topic, None, partition, batch, "x")
        assert told["error_code"] == Error.NONE
        self.sequences[key] = sequence + 1
        assert self.transaction is not None
        self.transaction.add((topic, known.id, partition))
        self._wrote(known, partition, told, value)

    @rule(committed=st.booleans())
    @precondition(lambda self: self.transaction)
    def end(self, committed: bool) -> None:
        values = {
            "transactional_id": "x",
            "producer_id": self.producer[0],
            "producer_epoch": self.producer[1],
            "committed": committed,
        }
        node = self.embedded.cluster.coordinator_of("x") or 1
        assert self.ask(ApiKey.END_TXN, 3, values, node)["error_code"] == Error.NONE
        for _ in range(100):
            told = self.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": ["x"]}, node)
            state = told["transaction_states"][0]["transaction_state"]
            if state.startswith("Complete"):
                break
            self.rest(0.1)
        assert state.startswith("Complete"), "a topic that was deleted keeps no transaction open"
        self.transaction = set()
        self._read_ends()

    def _read_ends(self) -> None:
        """Markers are in the logs now."""
        for topic, known in self.topics.items():
            for partition in range(len(known.partitions)):
                rows = [{"partition_index": partition, "current_leader_epoch": NONE, "timestamp": -1}]
                values = {"replica_id": NONE, "isolation_level": 0, "topics": [{"name": topic, "partitions": rows}]}
                told = self.ask(ApiKey.LIST_OFFSETS, 7, values, self.leader(topic, partition))
                found = told["topics"][0]["partitions"][0]
                assert found["error_code"] == Error.NONE
                known.ends[partition] = found["offset"]
        self.waiting = None

    # ------------------------------------------------------------ groups

    @rule(topic=name, partition=number, offset=st.integers(0, 9))
    def commit(self, topic: str, partition: int, offset: int) -> None:
        known = self.topics.get(topic)
        row = {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_leader_epoch": NONE,
            "committed_metadata": "",
        }
        values = {
            "group_id": "simple",
            "generation_id_or_member_epoch": NONE,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": topic, "partitions": [row]}],
        }
        node = self.embedded.cluster.group_coordinator_of("simple") or 1
        told = self.ask(ApiKey.OFFSET_COMMIT, 9, values, node)
        is_known = known is not None and partition < len(known.partitions)
        error = told["topics"][0]["partitions"][0]["error_code"]
        assert error == (Error.NONE if is_known else Error.UNKNOWN_TOPIC_OR_PARTITION)
        if known is not None and is_known:
            known.committed[partition] = offset

    @rule(member=st.sampled_from(MEMBERS), times=st.integers(1, 3))
    def beat(self, member: str, times: int) -> None:
        for _ in range(times):
            self._beat(self.members[member])

    def _beat(self, member: Member) -> None:
        """One heartbeat; a member whose session is over joins again."""
        told = member.beat()
        if told["error_code"] in (Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH):
            member.epoch, member.owned = 0, {}
            told = member.beat()
        assert told["error_code"] == Error.NONE

    @rule()
    def let_members_settle(self) -> None:
        """When every member has beaten often enough, they have all partitions of all topics, and nothing else."""
        joined = [each for each in self.members.values() if each.epoch > 0]
        for _ in range(8):
            for member in joined:
                self._beat(member)
        has = [
            (UUID(each), number) for member in joined for each, numbers in member.owned.items() for number in numbers
        ]
        all_of_them = [(topic.id, number) for topic in self.topics.values() for number in range(len(topic.partitions))]
        assert sorted(has) == (sorted(all_of_them) if joined else [])

    # ------------------------------------------------------------ the end of brokers

    @rule()
    def restart(self) -> None:
        self.embedded.close()
        self.waiting = None
        self._open()

    @rule(fate=st.sampled_from(list(Fate)), seed=st.integers(0, 5))
    def lose_power(self, fate: Fate, seed: int) -> None:
        survivor = self.disk.survivor(fate, Random(seed))
        self.embedded.abandon()
        self.disk, self.waiting = survivor, None
        self._open()

    @rule(topic=name, at=st.integers(0, 40), fate=st.sampled_from(list(Fate)), recreated=st.booleans())
    def lose_power_while_deleting(self, topic: str, at: int, fate: Fate, recreated: bool) -> None:
        """Afterwards the topic is there, or it is gone with all that groups have committed of it."""
        known, points = self.topics.get(topic), list[FaultDisk]()
        if known is None:
            return

        def look() -> None:
            if len(points) <= at:
                points.append(self.disk.survivor(fate, Random(len(points))))

        self.disk.before = look
        self.delete(topic, by_id=False)
        if recreated:
            self.create(topic, 2, 1)
        self.disk.before = None
        self.embedded.abandon()
        self.waiting = None
        self.disk = points[min(at, len(points) - 1)] if points else self.disk.survivor(fate, Random(0))
        self._open()
        there = self.embedded.cluster.metadata.topic_ids.get(topic)
        again = self.topics.pop(topic, None)
        if there == known.id:
            self.old_ids.remove(known.id)
            self.topics[topic] = known
        elif there is not None:
            self.topics[topic] = again or Topic(there, [{}, {}], [0, 0], [0, 0])

    # ------------------------------------------------------------ what holds

    @invariant()
    def clients_find_what_they_were_told(self) -> None:
        if not hasattr(self, "embedded"):
            return
        node = self.embedded.cluster.group_coordinator_of("simple") or 1
        groups = [{"group_id": "simple", "member_id": None, "member_epoch": NONE, "topics": None}]
        told = self.ask(ApiKey.OFFSET_FETCH, 9, {"groups": groups, "require_stable": False}, node)
        found = {
            (topic["name"], row["partition_index"]): row["committed_offset"]
            for topic in told["groups"][0]["topics"]
            for row in topic["partitions"]
        }
        assert found == {
            (topic, partition): offset
            for topic, known in self.topics.items()
            for partition, offset in known.committed.items()
        }
        for topic, known in self.topics.items():
            for partition, values in enumerate(known.partitions):
                start = known.starts[partition]
                asked = _fetch(known.id, {partition: start}, 0)
                told = self.ask(ApiKey.FETCH, 17, asked, self.leader(topic, partition))
                row = told["responses"][0]["partitions"][0]
                assert row["error_code"] == Error.NONE
                batches = [each for each in read_batches(row["records"] or b"") if not each.is_control]
                values_found = {
                    offset: record.value
                    for each in batches
                    for offset, record in zip(each.offsets, each.records, strict=True)
                    if offset >= start
                }
                assert values_found == {offset: value for offset, value in values.items() if offset >= start}

    @invariant()
    def brokers_have_replicas_of_what_exists(self) -> None:
        if not hasattr(self, "embedded"):
            return
        cluster = self.embedded.cluster
        assert cluster.metadata.topic_ids.keys() - INTERNAL_TOPICS == self.topics.keys()
        for node, broker in cluster.brokers.items():
            theirs = {each for each, known in cluster.metadata.partitions.items() if node in known.replicas}
            assert broker.partitions.replicas.keys() == theirs
            logs = self.embedded.directories[node].logs
            assert logs.keys() == theirs


class _Coordinator:
    """The connection of a member: to the coordinator of its group."""

    def __init__(self, life: TopicLife) -> None:
        self._life = life

    @property
    def _line(self) -> OurLine:
        return self._life.lines[self._life.embedded.cluster.group_coordinator_of(GROUP) or 1]

    def send(self, api: ApiKey, version: int, values: Any) -> None:
        self._line.send(api, version, values)

    def wait(self) -> Any:
        return self._line.wait()


def _fetch(topic_id: UUID, offsets: dict[int, int], max_wait_ms: int) -> dict[str, Any]:
    rows = [
        {
            "partition": partition,
            "current_leader_epoch": NONE,
            "fetch_offset": offset,
            "last_fetched_epoch": NONE,
            "log_start_offset": NONE,
            "partition_max_bytes": 1 << 20,
        }
        for partition, offset in offsets.items()
    ]
    return {
        "max_wait": max_wait_ms,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": NONE,
        "topics": [{"topic_id": topic_id, "partitions": rows}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }


def test_what_refers_to_topics_follows_their_life() -> None:
    run_state_machine_as_test(
        TopicLife,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
