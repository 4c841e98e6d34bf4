"""``python -m tests.wire.sequences``: sequences of valid requests of every API, from several connections at once.

The requests are about the same few topics, groups and transactional ids, which are created, deleted and created again
in between, by name and by the ids that they had. Bytes come in and go out; several requests may come in within one
turn; time passes. A data directory is opened again after power failures. An exception, or a
response that cannot be read, is an unexpected error.
"""

import argparse
import random
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, partial
from types import UnionType
from typing import Any, ClassVar, Union, get_args, get_origin
from uuid import UUID

from tests.store.crashing import Reached
from tests.wire.raw import answer_values, request_bytes
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.fault_disk import Fate, FaultDisk
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.encoding import write_batch
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.wire.api import Address, Around
from zombieproof.wire.apis import WIRE_APIS
from zombieproof.wire.connection import Connection
from zombieproof.wire.entities import entity_class, hints_of, inner_class
from zombieproof.wire.faults import Malformed
from zombieproof.wire.front import Asked, Front

TOPICS = ("a", "b", "c_1", "c.2")
GROUPS = ("classic", "consumer", "simple")
TRANSACTIONS = ("x", "y")
CONNECTIONS = 4
REQUESTS = (4, 12)
"""How many requests a sequence has."""
READ = 4
"""Of so many responses one is read; those that later requests are about always are."""
LEARNED = frozenset({ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.INIT_PRODUCER_ID})
RECREATED = 0.04
"""So often a topic is deleted and created again in one turn."""
SEQUENCES_OF_A_CLUSTER = 25
"""The next sequences meet new brokers."""
SETTINGS = Settings(
    transaction_state_log_num_partitions=2, offsets_topic_num_partitions=2, group_initial_rebalance_delay_ms=0
)
OFTEN = (
    *(ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS) * 3,
    *(ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.PRODUCE, ApiKey.FETCH) * 2,
    *(ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.INIT_PRODUCER_ID, ApiKey.END_TXN, ApiKey.TXN_OFFSET_COMMIT),
    *(ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.CREATE_PARTITIONS, ApiKey.DELETE_RECORDS),
)
EVERY = (*OFTEN, *WIRE_APIS)
WAITS_MS = (0, 1, 100, 1_500, 7_000, 50_000, 400_000)
"""How long nothing happens: transactions time out, sessions end, assignments are due."""


# ---------------------------------------------------------------- arguments


@dataclass(slots=True)
class Pool:
    """The arguments of requests: names, and values from earlier responses.

    `consumers` are the members of the KIP-848 group: their epoch, and the partitions that they have.
    """

    draw: random.Random
    topic_ids: list[UUID] = field(default_factory=lambda: [UUID(int=0), UUID(int=7)])
    members: list[tuple[str, int]] = field(default_factory=lambda: [("", 0)])
    consumers: dict[str, tuple[int, list[dict[str, Any]]]] = field(default_factory=dict)
    producers: list[tuple[int, int]] = field(default_factory=lambda: [(NONE, NONE)])
    member: tuple[str, int] = ("", 0)
    producer: tuple[int, int] = (NONE, NONE)
    sequence: int = 0

    def begin(self) -> None:
        """Another request: one member and one producer are meant by it."""
        self.member = self.draw.choice(self.members[-6:])
        self.producer = self.draw.choice(self.producers[-4:])

    def topic(self) -> str:
        """The name of a topic, which is legal most times."""
        return self.draw.choice((*TOPICS, *TOPICS, *TOPICS, "?x", f"?{self.topic_ids[-1]}", "", "__consumer_offsets"))

    def topic_id(self) -> UUID:
        """The id of a topic that is there, was there, or never was."""
        return self.draw.choice(self.topic_ids[-8:])

    def records(self) -> bytes:
        """A batch of the producer, or of nobody."""
        producer_id, epoch = self.producer
        self.sequence += 1
        is_transactional = producer_id != NONE and self.draw.random() < 0.7
        sequence = NONE if producer_id == NONE else self.draw.choice((0, 0, 1, self.sequence))
        batch = Batch(
            producer_id,
            epoch,
            sequence,
            transactional=is_transactional,
            records=(Record(self.draw.choice((None, b"k")), b"v"),),
            timestamp_ms=1,
        )
        return write_batch(batch)


Draw = Callable[[Pool], Any]


def _one_of(*values: Any) -> Draw:
    return lambda pool: pool.draw.choice(values)


def _some(of: Draw, most: int = 3) -> Draw:
    return lambda pool: [of(pool) for _ in range(pool.draw.randint(0, most))]


NUMBER, OFFSET = _one_of(0, 0, 0, 1, 1, 2, 5), _one_of(0, 0, 1, 2, 5, -1, -2, 1 << 40)
GROUP, TRANSACTION = _one_of(*GROUPS, *GROUPS, ""), _one_of(*TRANSACTIONS, *TRANSACTIONS, *TRANSACTIONS, "")

BY_NAME: Mapping[str, Draw] = {
    "name": lambda pool: pool.topic(),
    "topic": lambda pool: pool.topic(),
    "topic_name": lambda pool: pool.topic(),
    "resource_name": lambda pool: pool.topic(),
    "topic_names": _some(lambda pool: pool.topic()),
    "subscribed_topic_names": lambda pool: list(pool.draw.sample(TOPICS, pool.draw.randint(0, 3))),
    "subscribed_topic_regex": _one_of(None, None, "a|b", ".*", "("),
    "topic_id": Pool.topic_id,
    "group_id": GROUP,
    "group": GROUP,
    "groups_names": _some(GROUP),
    "group_ids": _some(GROUP),
    "key": _one_of(*GROUPS, *TRANSACTIONS),
    "coordinator_keys": _some(_one_of(*GROUPS, *TRANSACTIONS)),
    "key_type": _one_of(0, 1),
    "transactional_id": TRANSACTION,
    "v3_and_below_transactional_id": TRANSACTION,
    "transactional_ids": _some(TRANSACTION),
    "member_id": lambda pool: pool.member[0],
    "member_epoch": lambda pool: pool.draw.choice((pool.member[1], pool.member[1], 0, -1, -2)),
    "generation_id": lambda pool: pool.draw.choice((pool.member[1], pool.member[1], -1)),
    "generation_id_or_member_epoch": lambda pool: pool.draw.choice((pool.member[1], pool.member[1], -1)),
    "group_instance_id": _one_of(None, None, None, "static"),
    "instance_id": _one_of(None, None, None, "static"),
    "producer_id": lambda pool: pool.producer[0],
    "v3_and_below_producer_id": lambda pool: pool.producer[0],
    "producer_epoch": lambda pool: pool.producer[1],
    "v3_and_below_producer_epoch": lambda pool: pool.producer[1],
    "coordinator_epoch": _one_of(0, 1, 2),
    "partition": NUMBER,
    "partition_index": NUMBER,
    "index": NUMBER,
    "partition_indexes": _some(NUMBER),
    "partition_id": NUMBER,
    "partitions": _some(NUMBER),
    "offset": OFFSET,
    "fetch_offset": OFFSET,
    "committed_offset": _one_of(0, 1, 5),
    "timestamp": _one_of(-1, -2, -3, 0, 1),
    "current_leader_epoch": _one_of(-1, -1, 0, 1),
    "leader_epoch": _one_of(-1, 0, 1),
    "last_fetched_epoch": _one_of(-1, -1, 0),
    "records": lambda pool: pool.records(),
    "isolation_level": _one_of(0, 1),
    "acks": _one_of(-1, 1, -1, 0),
    "session_id": _one_of(0, 0, 0, 1),
    "session_epoch": _one_of(-1, -1, 0, 1),
    "max_wait": _one_of(0, 500, 60_000),
    "min_bytes": _one_of(0, 1, 1_000),
    "max_bytes": _one_of(1 << 20, 1),
    "partition_max_bytes": _one_of(1 << 20, 1),
    "replica_id": lambda pool: NONE,
    "num_partitions": _one_of(1, 2, 3, -1),
    "count": _one_of(1, 2, 3, 4, 6),
    "replication_factor": _one_of(1, 1, -1, 2),
    "timeout": _one_of(1_000, 0),
    "session_timeout": _one_of(10_000, 6_000),
    "rebalance_timeout": _one_of(10_000, 60_000, -1),
    "transaction_timeout": _one_of(1_000, 60_000),
    "protocol_type": lambda pool: "consumer",
    "protocol_name": lambda pool: "range",
    "metadata": lambda pool: b"\0\1\0\0\0\1\0\1a\xff\xff\xff\xff",
    "assignment": lambda pool: b"\0\0\0\0\0\0\xff\xff\xff\xff",
    "server_assignor": _one_of(None, "uniform", "range"),
    "resource_type": _one_of(2, 4),
    "validate_only": _one_of(False, False, True),
    "allow_auto_topic_creation": _one_of(True, True, False),
    "election_type": _one_of(0, 1),
    "broker_id": _one_of(1, 2),
    "controller_epoch": NUMBER,
}
"""Draws the fields of requests, by their names."""
FITTED = 0.8
"""So many requests in all are made to fit."""
IDS_OF_FETCH = 13
FEW = ("assignments", "configs", "forgotten_topics_data", "cursor")
"""Arrays that are empty as a rule, as most clients leave them."""


def drawn(kind: Any, pool: Pool) -> dict[str, Any]:
    """Values for the fields of a request, or of a row of it."""
    return {name: draw(pool) for name, draw in _drawing(kind)}


@cache
def _drawing(kind: Any) -> tuple[tuple[str, Draw], ...]:
    hints = hints_of(kind)
    return tuple((each.name, _draw_of(each.name, hints[each.name])) for each in fields(kind))


def _draw_of(name: str, hint: Any) -> Draw:
    may_be_none, kind = _without_none(hint)
    row = get_args(kind)[0] if get_origin(kind) is tuple else None
    if row is not None and hasattr(row, "__dataclass_fields__"):
        of: Draw = partial(drawn, row)
        rows = (
            _some(of, 1) if name in FEW else lambda pool: [of(pool) for _ in range(pool.draw.choice((1, 1, 1, 2, 0)))]
        )
        return _or_none(rows, 0.1) if may_be_none else rows
    if hasattr(kind, "__dataclass_fields__"):
        inner: Draw = partial(drawn, kind)
        return _or_none(inner, 0.9) if may_be_none else inner
    known = BY_NAME.get(name)
    if known is not None:
        return _or_none(known, 0.2) if may_be_none and name in ("name", "transactional_id") else known
    if may_be_none:
        return lambda pool: None
    return _plain(kind)


def _without_none(hint: Any) -> tuple[bool, Any]:
    if get_origin(hint) in (UnionType, Union):
        kinds = [each for each in get_args(hint) if each is not type(None)]
        return len(kinds) < len(get_args(hint)), kinds[0]
    return False, hint


def _or_none(of: Draw, share: float) -> Draw:
    return lambda pool: None if pool.draw.random() < share else of(pool)


def _plain(kind: Any) -> Draw:
    if get_origin(kind) is tuple:
        return _some(_plain(get_args(kind)[0]), 1)
    if isinstance(kind, type) and issubclass(kind, bool):
        return _one_of(False, True)
    if isinstance(kind, type) and issubclass(kind, str):
        return _one_of("", "z")
    if isinstance(kind, type) and issubclass(kind, bytes):
        return lambda pool: b""
    if kind is UUID:
        return Pool.topic_id
    return _one_of(0, 1, -1, 2)


def fitted(api: ApiKey, version: int, values: dict[str, Any], pool: Pool) -> dict[str, Any]:
    """The same request, but one that comes further than the first look at its fields, most times."""
    if pool.draw.random() > FITTED:
        return values
    if api is ApiKey.CONSUMER_GROUP_HEARTBEAT:
        return _beat(values, pool)
    if api in (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP):
        values["group_id"] = "classic"
    if api is ApiKey.JOIN_GROUP:
        values["protocols"] = [{"name": "range", "metadata": BY_NAME["metadata"](pool)}]
    if api is ApiKey.CREATE_TOPICS:
        values["topics"] = [new_topic(pool)]
    if api is ApiKey.FETCH:
        rows = [
            {
                **drawn(_rows_of_fetch(version), pool),
                "partition": number,
                "fetch_offset": 0,
                "current_leader_epoch": NONE,
            }
            for number in (0, 1)
        ]
        topic = {"topic_id": pool.topic_ids[-1]} if version >= IDS_OF_FETCH else {"topic": pool.draw.choice(TOPICS)}
        values |= {
            "max_wait": 60_000,
            "min_bytes": 1_000,
            "session_epoch": NONE,
            "topics": [topic | {"partitions": rows}],
        }
    return values


@cache
def _rows_of_fetch(version: int) -> Any:
    topic = inner_class(entity_class(ApiKey.FETCH, version, "request"), "topics")
    return inner_class(topic, "partitions")


def new_topic(pool: Pool, name: str | None = None) -> dict[str, Any]:
    """A topic to be created."""
    return {
        "name": name or pool.draw.choice(TOPICS),
        "num_partitions": pool.draw.choice((1, 2, 3)),
        "replication_factor": 1,
        "assignments": [],
        "configs": [],
    }


def _beat(values: dict[str, Any], pool: Pool) -> dict[str, Any]:
    """A heartbeat of a member that follows its assignment, or of a new one."""
    member = pool.draw.choice((*pool.consumers, *pool.consumers, f"m{pool.draw.randrange(3)}"))
    epoch, owned = pool.consumers.get(member, (0, []))
    values |= {"group_id": "consumer", "member_id": member, "member_epoch": epoch, "instance_id": None}
    values |= {"rebalance_timeout": 60_000, "topic_partitions": owned, "subscribed_topic_regex": None}
    values["subscribed_topic_names"] = pool.draw.choice((["a", "b"], ["a"])) if epoch == 0 else None
    return values


# ---------------------------------------------------------------- brokers and connections


@dataclass(slots=True)
class Line:
    """One connection, and the API and version of its last request."""

    connection: Connection
    node: int
    api: ApiKey = ApiKey.API_VERSIONS
    version: int = 0
    waits: bool = False
    is_over: bool = False


@dataclass(slots=True)
class Stage:
    """Brokers without sockets, with some connections."""

    draw: random.Random
    nodes: int
    disk: FaultDisk | None
    outcomes: Counter[str]
    clock: ManualClock = field(default_factory=ManualClock)
    embedded: Embedded = field(init=False)
    pool: Pool = field(init=False)
    fronts: list[Front] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    sent: deque[str] = field(default_factory=lambda: deque(maxlen=40))
    pool_of: ClassVar[type[Pool]] = Pool

    def __post_init__(self) -> None:
        """Open the brokers."""
        self.pool = self.pool_of(self.draw)
        self.open()

    def open(self) -> None:
        """Start the brokers, on the data directory if there is one."""
        self.embedded = Embedded(
            nodes=self.nodes, settings=SETTINGS, clock=self.clock, disk=self.disk, topics={"a": 2, "b": 3}
        )
        cluster = self.embedded.cluster
        addresses = {node: Address("127.0.0.1", 9091 + node) for node in cluster.nodes}
        around = Around(cluster.metadata, addresses, self.embedded.cluster_id, lambda: cluster.brokers)
        self.fronts = [Front(cluster, node, around) for node in cluster.nodes]
        self.lines = [self._line() for _ in range(CONNECTIONS)]
        self.pool.topic_ids += cluster.metadata.topic_names

    def _line(self) -> Line:
        front = self.draw.choice(self.fronts)
        return Line(Connection(front), front.node)

    def ask(self) -> None:
        """A connection that waits for nothing sends a request."""
        for number, line in enumerate(self.lines):
            if line.is_over:
                self.lines[number] = self._line()
        idle = [line for line in self.lines if not line.waits]
        if not idle:
            # Every connection waits: one client hangs up.
            self.lines[self.draw.randrange(len(self.lines))] = self._line()
            self.outcomes["hung up"] += 1
            return
        line, pool = self.draw.choice(idle), self.pool
        pool.begin()
        api = self.draw.choice(EVERY)
        versions = WIRE_APIS[api].versions
        version = self.draw.choice((versions[-1], versions[-1], *versions))
        kind = entity_class(api, version, "request")
        self._send(line, api, version, fitted(api, version, drawn(kind, pool), pool))

    def recreate(self) -> None:
        """Two connections delete a topic and create it again, in one turn."""
        idle = [line for line in self.lines if not line.waits and not line.is_over]
        if len(idle) > 1:
            name = self.draw.choice(TOPICS)
            topic = new_topic(self.pool, name)
            self._send(idle[0], ApiKey.DELETE_TOPICS, 1, {"topic_names": [name], "timeout": 1_000})
            created = {"topics": [topic], "timeout": 1_000, "validate_only": False}
            self._send(idle[1], ApiKey.CREATE_TOPICS, 4, created)

    def _send(self, line: Line, api: ApiKey, version: int, values: dict[str, Any]) -> None:
        line.api, line.version = api, version
        message = request_bytes(line.api, line.version, values)
        self.sent.append(f"{line.api.name} {line.version} to {line.node}: {values}")
        line.waits = True
        try:
            line.connection.receive(len(message).to_bytes(4, "big") + message)
            asked = line.connection.next_request()
        except Malformed:
            self._end(line, "refused")
            return
        assert asked is not None, "a connection that is idle takes a request"
        self._hand_in(line, asked)

    def _hand_in(self, line: Line, asked: Asked) -> None:
        answers: dict[int, Any] = {}

        def done(number: int, answer: Any) -> None:
            answers[number] = answer
            if len(answers) == len(asked.messages):
                self._answered(line, asked, [answers[each] for each in range(len(answers))])

        if not asked.wants_answer:
            line.waits = False
        for number, message in enumerate(asked.messages):
            hears = partial(done, number) if asked.wants_answer else _nobody
            self.embedded.submit(message, line.node, hears, "client")
        if not asked.messages:
            self._answered(line, asked, [])

    def _answered(self, line: Line, asked: Asked, answers: list[Any]) -> None:
        response = line.connection.answer(answers)
        if response is None:
            self._end(line, "closed")
            return
        line.waits = False
        self.outcomes["answered"] += 1
        self._learn(line.api, line.version, response.whole())

    def _end(self, line: Line, how: str) -> None:
        line.waits, line.is_over = False, True
        self.outcomes[how] += 1

    def _learn(self, api: ApiKey, version: int, data: bytes) -> None:
        """Read the response, and use its values in later requests."""
        known = self.embedded.cluster.metadata.topic_names
        self.pool.topic_ids += [each for each in known if each not in self.pool.topic_ids]
        if api not in LEARNED and self.draw.randrange(READ):
            return
        try:
            told, pool = answer_values(api, version, data[4:]), self.pool
        except Malformed as error:
            if "negative timestamp" in str(error):
                return  # kio does not read -1, which is what Kafka writes for no time
            raise
        if api is ApiKey.CONSUMER_GROUP_HEARTBEAT:
            self._follow(told)
        if api is ApiKey.CONSUMER_GROUP_HEARTBEAT and told["member_id"]:
            pool.members.append((told["member_id"], told["member_epoch"]))
        elif api is ApiKey.JOIN_GROUP and told["member_id"]:
            pool.members.append((told["member_id"], max(told["generation_id"], 0)))
        elif api is ApiKey.INIT_PRODUCER_ID and told["producer_id"] >= 0:
            pool.producers.append((told["producer_id"], told["producer_epoch"]))

    def _follow(self, told: Any) -> None:
        """Keep the assignment and epoch of a member of the KIP-848 group, until it is fenced."""
        consumers = self.pool.consumers
        if told["error_code"] in (Error.FENCED_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID):
            consumers.clear()
        if not told["member_id"] or told["error_code"]:
            return
        _, owned = consumers.get(told["member_id"], (0, []))
        if told["assignment"] is not None:
            owned = [
                {"topic_id": UUID(each["topic_id"]), "partitions": each["partitions"]}
                for each in told["assignment"]["topic_partitions"]
            ]
        consumers[told["member_id"]] = max(told["member_epoch"], 0), owned

    def turn(self) -> None:
        """Let the brokers handle all requests that came in."""
        while self.embedded.pump():
            pass

    def let_time_pass(self) -> None:
        """Advance the clock, and run the timers that are due."""
        self.clock.advance(self.draw.choice(WAITS_MS))
        self.turn()

    def crash(self) -> None:
        """The power fails at one of the next operations, or the brokers are stopped; they begin again."""
        assert self.disk is not None, "what is in memory is gone"
        fate = self.draw.choice((None, *Fate))
        if fate is None:
            self.embedded.close()
            self.outcomes["stops"] += 1
        else:
            survivor = self.disk.survivor(fate, self.draw)
            self.embedded.abandon()
            self.disk = survivor
            self.outcomes["power failures"] += 1
        self.sent.append(f"power failure: {fate}" if fate else "stop")
        self.open()


def _nobody(_: Any) -> None:
    """Nobody waits for a response."""


def sequences(count: int, seed: int, *, nodes: int = 1, stored: bool = False, stage_of: type[Stage] = Stage) -> Reached:
    """Send `count` sequences, all drawn by `seed`; findings are unexpected errors with the requests before them."""
    found, stage = Reached(), None
    for number in range(count):
        draw = random.Random(f"{seed} {nodes} {stored} {number}")
        try:
            if stage is None or number % SEQUENCES_OF_A_CLUSTER == 0:
                stage = stage_of(draw, nodes, FaultDisk() if stored else None, found.counts)
            stage.draw = stage.pool.draw = draw
            for _ in range(draw.randint(*REQUESTS)):
                stage.recreate() if draw.random() < RECREATED else stage.ask()
                if draw.random() < 0.6:
                    stage.turn()
                if draw.random() < 0.1:
                    stage.let_time_pass()
            stage.turn()
            if stored and draw.random() < 0.1:
                stage.crash()
        except Exception as error:  # noqa: BLE001  # whatever it is, it is what is looked for
            sent = "" if stage is None else "\n    ".join(stage.sent)
            where = _where(error)
            found.findings.append(
                f"seed {seed}, sequence {number}, {nodes} brokers{', stored' if stored else ''}: "
                f"{type(error).__name__}: {error} at {where}, after\n    {sent}"
            )
            stage = None
        found.counts["sequences"] += 1
    return found


def _where(error: BaseException) -> str:
    place = error.__traceback__
    frames = []
    while place is not None:
        frames.append(f"{place.tb_frame.f_code.co_filename.rpartition('/')[2]}:{place.tb_lineno}")
        place = place.tb_next
    return " < ".join(reversed(frames[-5:]))


def part(count: int, seed: int, nodes: int, stored: bool) -> Reached:
    """So many sequences, as a part of the gate."""
    return sequences(count, seed, nodes=nodes, stored=stored)


def main() -> int:
    """Send as many sequences as wanted, and tell."""
    parser = argparse.ArgumentParser(prog="python -m tests.wire.sequences", description=__doc__.partition("\n")[0])
    parser.add_argument("--sequences", type=int, default=10_000, help="how many (10,000)")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn by (1)")
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--stored", action="store_true", help="with a data directory, whose power fails now and then")
    parser.add_argument("--findings", type=int, default=5, help="how many unexpected errors are told (5)")
    given = parser.parse_args()
    since = time.monotonic()
    found = sequences(given.sequences, given.seed, nodes=given.brokers, stored=given.stored)
    kinds = Counter(each.partition(": ")[2].partition(", after")[0] for each in found.findings)
    told = [f"{dict(found.counts)} in {time.monotonic() - since:.0f} s, {len(found.findings)} unexpected errors"]
    told += [f"{times} x {kind}" for kind, times in kinds.most_common()]
    sys.stdout.write("\n".join((*told, *found.findings[: given.findings])) + "\n")
    return 1 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
