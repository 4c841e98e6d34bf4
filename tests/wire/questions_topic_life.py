"""What clients are told while a topic that they use is deleted and created again: asked of a real Kafka, or of ours.

Each act is a function that asks, in order, and yields what it was told under a label. Topic ids, member ids and
producer ids are replaced by whose they are, so that two brokers can be compared.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from tests.wire.raw import Ours, answer_values, request_bytes
from zombieproof.broker.embedded import Embedded
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.encoding import write_batch
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.names import NO_ID

Values = Mapping[str, Any]
Told = Iterator[tuple[str, Any]]
NONE = -1
WAIT_S = 10.0
MORE_THAN_ASSIGNMENTS_TAKE_S = 1.2
"""Kafka 4.4 assigns no more often than once a second (KIP-1263)."""
KEPT = (
    "error_code",
    "topics",
    "topic",
    "name",
    "topic_id",
    "partitions",
    "partition_index",
    "index",
    "partition",
    "responses",
    "errors",
    "results",
    "committed_offset",
    "groups",
    "group_id",
    "member_id",
    "member_epoch",
    "assignment",
    "topic_partitions",
    "group_state",
    "group_epoch",
    "assignment_epoch",
    "target_assignment",
    "members",
    "topic_name",
    "transaction_state",
    "transaction_states",
    "low_watermark",
    "offset",
    "assignments",
    "partition_responses",
    "topic_responses",
    "results_by_topic_v3_and_below",
    "results_by_partition_v3_and_below",
    "results_by_transaction",
    "topic_results",
    "results_by_partition",
    "partition_error_code",
    "markers",
)
"""Fields that say something of topics; the others are another broker's, or another day's."""


class Line(Protocol):
    """A connection: a request may be sent before another connection's, and its response awaited later."""

    def send(self, api: ApiKey, version: int, values: Values) -> None:
        """Send a request."""
        ...

    def wait(self) -> Any:
        """Wait for the response to what was sent last."""
        ...


class OurLine:
    """A connection to a broker in this process, whose clock does not move by itself."""

    def __init__(self, brokers: Embedded, advance: Callable[[int], None], node: int = 1) -> None:
        self._brokers, self._advance, self._node = brokers, advance, node
        self._front = Ours(brokers.cluster, node).front
        self._waits: Any = None
        self._sent = (ApiKey.API_VERSIONS, 0)

    def send(self, api: ApiKey, version: int, values: Values) -> None:
        """Send a request."""
        self._sent = api, version
        asked = self._front.ask(request_bytes(api, version, values))
        answers: dict[int, Any] = {}
        for number, message in enumerate(asked.messages):
            self._brokers.submit(message, self._node, partial(answers.__setitem__, number))
        while self._brokers.pump():
            pass
        self._waits = asked, answers

    def wait(self) -> Any:
        """Let time pass until the response is there."""
        asked, answers = self._waits
        for _ in range(int(WAIT_S * 10)):
            if len(answers) == len(asked.messages):
                break
            self._advance(100)
        else:
            raise TimeoutError("nothing was answered")
        if None in answers.values():
            raise ConnectionResetError("the broker closed the connection")
        data = self._front.answered(asked, tuple(answers[each] for each in sorted(answers)))
        return answer_values(*self._sent, data[4:])


class World:
    """Two connections to one broker, and the names of what was seen."""

    def __init__(self, line: Callable[[], Line], rest: Callable[[float], None] = time.sleep, prefix: str = "") -> None:
        self.lines = [line(), line()]
        self.rest, self.prefix = rest, prefix
        self._seen: dict[str, str] = {}
        self.ids: dict[str, str] = {}

    def ask(self, api: ApiKey, version: int, values: Values, line: int = 0) -> Any:
        """The response to a request."""
        self.lines[line].send(api, version, values)
        return self.lines[line].wait()

    def create(self, topic: str, partitions: int = 2) -> None:
        """Create a topic, and wait until the broker knows it."""
        row = {
            "name": self.prefix + topic,
            "num_partitions": partitions,
            "replication_factor": 1,
            "assignments": [],
            "configs": [],
        }
        for _ in range(20):
            answer = self.ask(ApiKey.CREATE_TOPICS, 5, {"topics": [row], "timeout": 5000, "validate_only": False}, 1)
            if answer["topics"][0]["error_code"] == 0:
                break
            self.rest(0.5)
        self.rest(0.6)
        rows = [{"topic_id": str(NO_ID), "name": self.prefix + topic}]
        answer = self.ask(
            ApiKey.METADATA,
            12,
            {"topics": _ids(rows), "allow_auto_topic_creation": False, "include_topic_authorized_operations": False},
            1,
        )
        found = answer["topics"][0]["topic_id"]
        self.ids[topic] = found
        self._seen[found] = (
            f"id {1 + sum(each.startswith('id ') and each.endswith(topic) for each in self._seen.values())} of {topic}"
        )

    def delete(self, topic: str) -> int:
        """Delete a topic, and wait until the broker has forgotten it."""
        answer = self.ask(ApiKey.DELETE_TOPICS, 5, {"topic_names": [self.prefix + topic], "timeout": 5000}, 1)
        self.rest(0.6)
        return answer["responses"][0]["error_code"]  # type: ignore[no-any-return]

    def named(self, value: str, name: str) -> str:
        """From now on `value` is called `name`."""
        self._seen[value] = name
        return value

    def told(self, value: Any) -> Any:
        """A response without what is by chance."""
        if isinstance(value, dict):
            return {key: self.told(each) for key, each in value.items() if key in KEPT}
        if isinstance(value, list):
            return [self.told(each) for each in value]
        if isinstance(value, str):
            known = self._seen.get(value)
            return known if known is not None else value.removeprefix(self.prefix)
        return value


def _ids(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "topic_id": UUID(row["topic_id"])} for row in rows]


def coordinator(world: World, key: str, kind: int) -> None:
    """Wait until the coordinator of a group (kind 0) or transactional id (1) is there."""
    for _ in range(40):
        if world.ask(ApiKey.FIND_COORDINATOR, 3, {"key": key, "key_type": kind})["error_code"] == 0:
            break
        world.rest(0.5)
    for _ in range(40):
        if kind != 0:
            break
        answer = world.ask(ApiKey.DESCRIBE_GROUPS, 5, {"groups": [key], "include_authorized_operations": False})
        if answer["groups"][0]["error_code"] not in (14, 15, 16):
            break
        world.rest(0.5)


# ---------------------------------------------------------------- members of a KIP-848 group


def beat(
    world: World,
    group: str,
    member: str,
    epoch: int,
    *,
    topics: list[str] | None = None,
    owned: list[tuple[str, list[int]]] | None = None,
) -> Any:
    """A heartbeat of a member; `owned` are topic ids with partitions."""
    return world.ask(
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        {
            "group_id": group,
            "member_id": member,
            "member_epoch": epoch,
            "instance_id": None,
            "rack_id": None,
            "rebalance_timeout": 300_000 if epoch == 0 else -1,
            "subscribed_topic_names": None if topics is None else [world.prefix + each for each in topics],
            "subscribed_topic_regex": None,
            "server_assignor": None,
            "topic_partitions": None
            if owned is None
            else [{"topic_id": UUID(each), "partitions": numbers} for each, numbers in owned],
        },
    )


def described(world: World, group: str) -> Any:
    """A group as ConsumerGroupDescribe tells it."""
    return world.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": [group], "include_authorized_operations": False})


class Member:
    """A member of a KIP-848 group that follows what it is told."""

    def __init__(self, world: World, group: str, name: str, called: str, topics: list[str]) -> None:
        self.world, self.group, self.topics = world, group, topics
        self.name = world.named(world.prefix + name, called)
        self.epoch = 0
        self.owned: dict[str, list[int]] = {}

    def beat(self, *, says_owned: bool = True, follows: bool = True) -> Any:
        """One heartbeat; `follows`: the member has what it is told from then on."""
        joins = self.epoch == 0
        owned = list(self.owned.items()) if says_owned or joins else None
        answer = beat(self.world, self.group, self.name, self.epoch, topics=self.topics if joins else None, owned=owned)
        if answer["error_code"] == 0:
            self.epoch = answer["member_epoch"]
        if follows and answer["assignment"] is not None:
            rows = answer["assignment"]["topic_partitions"]
            self.owned = {row["topic_id"]: row["partitions"] for row in rows}
        self.world.rest(MORE_THAN_ASSIGNMENTS_TAKE_S)
        return answer

    def leave(self) -> Any:
        """Leave the group."""
        return beat(self.world, self.group, self.name, -1)


def member_of_a_deleted_topic(world: World, *, recreated: bool) -> Told:
    """A member has the partitions of two topics, of which one is deleted, and perhaps created again at once."""
    group = world.named(f"{world.prefix}g", "group")
    member = Member(world, group, "member", "member", ["kept", "t"])
    world.create("kept", 1)
    world.create("t")
    coordinator(world, group, 0)
    yield "joins", member.beat()
    yield "has them", member.beat()
    world.delete("t")
    if recreated:
        world.create("t", 2)
    yield "described after the deletion", described(world, group)
    for number in range(3):
        yield f"beat {number} that names all", member.beat(follows=False)
    yield "described before it has given back", described(world, group)
    member.owned = {world.ids["kept"]: [0]}
    for number in range(3):
        yield f"beat {number} that names what is left", member.beat()
    yield "described in the end", described(world, group)
    yield "leaves", member.leave()


def members_whose_only_topic_is_deleted(world: World) -> Told:
    """A member has one topic, which is deleted; it says no more what it has, another one joins, and both leave."""
    group = world.named(f"{world.prefix}g1", "group")
    member = Member(world, group, "member1", "member", ["only"])
    other = Member(world, group, "other1", "other member", ["only"])
    world.create("only")
    coordinator(world, group, 0)
    yield "joins", member.beat()
    yield "has them", member.beat()
    world.delete("only")
    yield "a beat that says nothing", member.beat(says_owned=False, follows=False)
    yield "another beat that says nothing", member.beat(says_owned=False, follows=False)
    yield "another joins", other.beat()
    yield "a beat that names all", member.beat(follows=False)
    yield "described", described(world, group)
    member.owned = {}
    yield "a beat that names nothing", member.beat()
    yield "the other beats", other.beat()
    yield "described in the end", described(world, group)
    yield "leaves", member.leave()
    yield "the other leaves", other.leave()


def member_that_joins_later(world: World) -> Told:
    """A topic is deleted while one of two members has it; the topic is there again before anybody has said a word."""
    group = world.named(f"{world.prefix}g2", "group")
    member = Member(world, group, "member2", "member", ["two"])
    other = Member(world, group, "other2", "other member", ["two"])
    world.create("two")
    coordinator(world, group, 0)
    yield "joins", member.beat()
    yield "another joins", other.beat()
    for number in range(2):
        yield f"round {number} of the first", member.beat()
        yield f"round {number} of the other", other.beat()
    world.delete("two")
    world.create("two", 3)
    for number in range(3):
        yield f"round {number} of the first afterwards", member.beat()
        yield f"round {number} of the other afterwards", other.beat()
    yield "described in the end", described(world, group)
    yield "leaves", member.leave()
    yield "the other leaves", other.leave()


# ---------------------------------------------------------------- waiting fetches


def waiting_fetches(world: World) -> Told:
    """Fetches wait on two partitions, by name and by id, while their topic is deleted."""
    for version in (11, 13, 17):
        topic = f"f{version}"
        world.create(topic)
        name = {"topic": world.prefix + topic} if version < 13 else {"topic_id": UUID(world.ids[topic])}
        rows = [
            {
                "partition": number,
                "current_leader_epoch": NONE,
                "fetch_offset": 0,
                "last_fetched_epoch": NONE,
                "log_start_offset": NONE,
                "partition_max_bytes": 1 << 20,
            }
            for number in (0, 1)
        ]
        values = {
            "replica_id": NONE,
            "max_wait": 5000,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "isolation_level": 0,
            "session_id": 0,
            "session_epoch": NONE,
            "topics": [{**name, "partitions": rows}],
            "forgotten_topics_data": [],
            "rack_id": "",
        }
        world.lines[0].send(ApiKey.FETCH, version, values)
        world.delete(topic)
        yield f"Fetch {version} that waited", world.lines[0].wait()
        yield f"Fetch {version} afterwards", world.ask(ApiKey.FETCH, version, values)
        world.create(topic)
        yield (
            f"Fetch {version} of the old one when there is another",
            world.ask(ApiKey.FETCH, version, {**values, "max_wait": 100}),
        )


# ---------------------------------------------------------------- committed offsets


def offsets_of_a_deleted_topic(world: World) -> Told:
    """A simple group has offsets of two topics, of which one is deleted and created again."""
    group = f"{world.prefix}simple"
    world.named(group, "group")
    world.create("c")
    world.create("d")
    coordinator(world, group, 0)
    topics = [
        {
            "name": world.prefix + topic,
            "partitions": [
                {
                    "partition_index": number,
                    "committed_offset": 0,
                    "committed_leader_epoch": NONE,
                    "committed_metadata": "",
                }
                for number in (0, 1)
            ],
        }
        for topic in ("c", "d")
    ]
    commit = {
        "group_id": group,
        "generation_id_or_member_epoch": NONE,
        "member_id": "",
        "group_instance_id": None,
        "topics": topics,
    }
    fetch = {
        "groups": [{"group_id": group, "member_id": None, "member_epoch": NONE, "topics": None}],
        "require_stable": False,
    }
    yield "commits", world.ask(ApiKey.OFFSET_COMMIT, 9, commit)
    yield "has", world.ask(ApiKey.OFFSET_FETCH, 9, fetch)
    world.delete("c")
    world.rest(0.5)
    yield "has after the deletion", world.ask(ApiKey.OFFSET_FETCH, 9, fetch)
    yield "commits after the deletion", world.ask(ApiKey.OFFSET_COMMIT, 9, commit)
    world.create("c")
    yield "has after the creation", world.ask(ApiKey.OFFSET_FETCH, 9, fetch)
    deletion = {
        "group_id": group,
        "topics": [{"name": world.prefix + "gone", "partitions": [{"partition_index": 0}]}],
    }
    yield "deletes an offset of a topic that is not there", world.ask(ApiKey.OFFSET_DELETE, 0, deletion)


# ---------------------------------------------------------------- transactions


def _batch(producer_id: int, epoch: int, sequence: int) -> bytes:
    return write_batch(
        Batch(producer_id, epoch, sequence, transactional=True, records=(Record(None, b"v"),), timestamp_ms=1)
    )


def transaction_over_a_deleted_topic(world: World, *, committed: bool) -> Told:
    """A transaction lists two topics, of which one is deleted before it ends."""
    txn = f"{world.prefix}txn-{committed}"
    world.named(txn, "id")
    world.create("k", 1)
    world.create("x", 1)
    coordinator(world, txn, 1)
    init: Any = None
    for _ in range(40):
        init = world.ask(
            ApiKey.INIT_PRODUCER_ID,
            4,
            {"transactional_id": txn, "transaction_timeout": 60_000, "producer_id": NONE, "producer_epoch": NONE},
        )
        if init["error_code"] == 0:
            break
        world.rest(0.5)
    producer_id, epoch = init["producer_id"], init["producer_epoch"]
    add = {
        "transactional_id": txn,
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "topics": [{"name": world.prefix + topic, "partitions": [0]} for topic in ("k", "x")],
    }
    yield "lists both", world.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, _v3(add))

    def produce(topic: str, sequence: int) -> Any:
        return world.ask(
            ApiKey.PRODUCE,
            9,
            {
                "transactional_id": txn,
                "acks": NONE,
                "timeout": 5000,
                "topic_data": [
                    {
                        "name": world.prefix + topic,
                        "partition_data": [{"index": 0, "records": _batch(producer_id, epoch, sequence)}],
                    }
                ],
            },
        )

    yield "writes to the first", produce("k", 0)
    yield "writes to the second", produce("x", 0)
    world.delete("x")
    yield "described", world.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": [txn]})
    yield "writes to the deleted one", produce("x", 1)
    yield "lists both again", world.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, _v3(add))
    end = {
        "transactional_id": txn,
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "committed": committed,
    }
    yield "ends", world.ask(ApiKey.END_TXN, 3, end)
    world.rest(1.0)
    yield "described in the end", world.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": [txn]})
    world.create("x", 1)
    yield "lists both of the next one", world.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, _v3(add))
    yield "writes to the new one with the old sequence", produce("x", 1)
    yield "writes to the new one from 0", produce("x", 0)
    world.delete("x")
    world.create("x", 1)
    yield "described when there is another", world.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": [txn]})
    yield "ends when there is another", world.ask(ApiKey.END_TXN, 3, end)
    world.rest(1.0)
    yield "described after all", world.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": [txn]})
    yield "what is in the new one", world.ask(ApiKey.LIST_OFFSETS, 7, _latest(world.prefix + "x"))
    world.delete("k")
    world.delete("x")


def _v3(values: Values) -> Values:
    return {
        "v3_and_below_transactional_id": values["transactional_id"],
        "v3_and_below_producer_id": values["producer_id"],
        "v3_and_below_producer_epoch": values["producer_epoch"],
        "v3_and_below_topics": values["topics"],
    }


def _latest(topic: str) -> Values:
    rows = [{"partition_index": 0, "current_leader_epoch": NONE, "timestamp": -1}]
    return {"replica_id": NONE, "isolation_level": 0, "topics": [{"name": topic, "partitions": rows}]}


# ---------------------------------------------------------------- names that are not legal


def illegal_names(world: World) -> Told:
    """A topic that begins with "?", asked for by every API that names topics."""
    group = world.named(f"{world.prefix}simple", "group")
    world.create("e", 1)
    coordinator(world, group, 0)
    row = {
        "partition_index": 0,
        "committed_offset": 0,
        "committed_leader_epoch": NONE,
        "committed_metadata": "",
    }

    def commit(topic: str) -> Values:
        return {
            "group_id": group,
            "generation_id_or_member_epoch": NONE,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": topic, "partitions": [row]}],
        }

    yield "OffsetCommit 9", world.ask(ApiKey.OFFSET_COMMIT, 9, commit(f"{world.prefix}e"))
    for topic in ("?x", f"?{NO_ID}"):
        new = {"name": topic, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
        yield (
            f"CreateTopics {topic}",
            world.ask(ApiKey.CREATE_TOPICS, 5, {"topics": [new], "timeout": 5000, "validate_only": False}),
        )
        yield (
            f"Metadata 4 {topic}",
            world.ask(ApiKey.METADATA, 4, {"topics": [{"name": topic}], "allow_auto_topic_creation": True}),
        )
        yield f"DeleteTopics 5 {topic}", world.ask(ApiKey.DELETE_TOPICS, 5, {"topic_names": [topic], "timeout": 5000})
        rows = [{"name": topic, "topic_id": NO_ID}]
        yield f"DeleteTopics 6 {topic}", world.ask(ApiKey.DELETE_TOPICS, 6, {"topics": rows, "timeout": 5000})
        yield f"ListOffsets 7 {topic}", world.ask(ApiKey.LIST_OFFSETS, 7, _latest(topic))
        yield f"OffsetCommit 9 {topic}", world.ask(ApiKey.OFFSET_COMMIT, 9, commit(topic))
        asked = {
            "groups": [
                {
                    "group_id": group,
                    "member_id": None,
                    "member_epoch": NONE,
                    "topics": [{"name": topic, "partition_indexes": [0]}],
                }
            ],
            "require_stable": False,
        }
        yield f"OffsetFetch 9 {topic}", world.ask(ApiKey.OFFSET_FETCH, 9, asked)
        deletion = {"group_id": group, "topics": [{"name": topic, "partitions": [{"partition_index": 0}]}]}
        yield f"OffsetDelete 0 {topic}", world.ask(ApiKey.OFFSET_DELETE, 0, deletion)
        records = {
            "topics": [{"name": topic, "partitions": [{"partition_index": 0, "offset": 0}]}],
            "timeout": 1000,
        }
        yield f"DeleteRecords 2 {topic}", world.ask(ApiKey.DELETE_RECORDS, 2, records)


# ---------------------------------------------------------------- topics by id


def topics_by_id(world: World) -> Told:
    """Requests name a topic by its id when it is there, when it is gone, and when there is another of its name."""
    group = world.named(f"{world.prefix}by-id", "group")
    coordinator(world, group, 0)
    world.create("i", 1)
    known = UUID(world.ids["i"])

    def ask_all() -> Told:
        partitions = [{"index": 0, "records": write_batch(Batch(records=(Record(None, b"v"),), timestamp_ms=1))}]
        produce = {
            "transactional_id": None,
            "acks": NONE,
            "timeout": 5000,
            "topic_data": [{"topic_id": known, "partition_data": partitions}],
        }
        yield "Produce 13", world.ask(ApiKey.PRODUCE, 13, produce)
        offset = {
            "partition_index": 0,
            "committed_offset": 0,
            "committed_leader_epoch": NONE,
            "committed_metadata": "",
        }
        commit = {
            "group_id": group,
            "generation_id_or_member_epoch": NONE,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"topic_id": known, "partitions": [offset]}],
        }
        yield "OffsetCommit 10", world.ask(ApiKey.OFFSET_COMMIT, 10, commit)
        rows = [{"topic_id": known, "partition_indexes": [0]}]
        fetch = {
            "groups": [{"group_id": group, "member_id": None, "member_epoch": NONE, "topics": rows}],
            "require_stable": False,
        }
        yield "OffsetFetch 10", world.ask(ApiKey.OFFSET_FETCH, 10, fetch)
        metadata = {
            "topics": [{"topic_id": known, "name": None}],
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": False,
        }
        yield "Metadata 12", world.ask(ApiKey.METADATA, 12, metadata)

    yield from ((f"{label}, there", answer) for label, answer in ask_all())
    by_id = {"topics": [{"name": None, "topic_id": known}], "timeout": 5000}
    yield "DeleteTopics 6 by id", world.ask(ApiKey.DELETE_TOPICS, 6, by_id)
    world.rest(0.6)
    yield "DeleteTopics 6 by id again", world.ask(ApiKey.DELETE_TOPICS, 6, by_id)
    yield from ((f"{label}, gone", answer) for label, answer in ask_all())
    world.create("i", 1)
    yield from ((f"{label}, another", answer) for label, answer in ask_all())
    by_name = {"topics": [{"name": f"{world.prefix}i", "topic_id": NO_ID}], "timeout": 5000}
    yield "DeleteTopics 6 by name", world.ask(ApiKey.DELETE_TOPICS, 6, by_name)


ACTS: Mapping[str, Callable[[World], Told]] = {
    "a member, and one of its topics is deleted": lambda world: member_of_a_deleted_topic(world, recreated=False),
    "a member, and one of its topics is deleted and created again": lambda world: member_of_a_deleted_topic(
        world, recreated=True
    ),
    "a member, and its only topic is deleted": members_whose_only_topic_is_deleted,
    "two members, and their topic is another one": member_that_joins_later,
    "fetches that wait": waiting_fetches,
    "committed offsets": offsets_of_a_deleted_topic,
    "a transaction that commits": lambda world: transaction_over_a_deleted_topic(world, committed=True),
    "a transaction that aborts": lambda world: transaction_over_a_deleted_topic(world, committed=False),
    "topics by id": topics_by_id,
    "names that are not legal": illegal_names,
}
