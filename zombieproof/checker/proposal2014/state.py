"""The state: a journal with its coordinator, logs with their leaders, instances of producers, readers of the data.

A request and its answer are one step, which may go wrong in two ways: the answer is lost, or the request itself is late
and arrives some other time, when nobody waits for its answer. What a coordinator tells leaders is under way as long as
it is in `Transaction.to_tell` or `to_end`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from zombieproof.model.fields import array
from zombieproof.model.proposal2014.records import (
    DATA,
    LOG,
    PARTITIONS,
    PRODUCERS,
    TRANSACTIONS,
    Coordinator,
    Instance,
    Journal,
    Leader,
    Log,
    Reader,
    Request,
)
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.statemachines.consumer.reading import ConsumerEffects
from zombieproof.statemachines.notes import Notes

INSTANCES = 2
LATE = 2


@dataclass(slots=True)
class Output:
    """What the application of a reader was given: the first `count` of `offsets`, `saved` of them in its checkpoint."""

    offsets: list[int] = array(int, LOG)
    count: int = 0
    saved: int = 0


@dataclass(slots=True)
class Budget:
    """How often each fault, and what need not happen, may still happen."""

    lost: int = 0
    """Answers, and acknowledgements of leaders."""
    late: int = 0
    """Requests nobody waits for any more, which arrive some time."""
    crashes: int = 0
    timeouts: int = 0
    aborts: int = 0
    failovers: int = 0
    leader_changes: int = 0
    watermark_checkpoints: int = 0
    plain_messages: int = 0
    reader_checkpoints: int = 0
    reader_crashes: int = 0
    cleanings: int = 0


@dataclass(slots=True)
class State:
    """Everything.

    Attributes:
        stored: the generation that each producer has stored; -1: none.
        told: what was heard of each TxId; 1: committed, 2: aborted.
        newest: the newest generation of each producer of which each partition has appended a message; -1: none.
        is_outrun: an older one was appended behind it.
        is_stuck: a machine was to make a move that its table does not have.
        full: what had no room, see `FULL`.
    """

    journal: Journal = field(default_factory=Journal)
    coordinator: Coordinator = field(default_factory=Coordinator)
    logs: list[Log] = array(Log, PARTITIONS)
    leaders: list[Leader] = array(Leader, PARTITIONS)
    instances: list[Instance] = array(Instance, INSTANCES)
    stored: list[int] = array(int, PRODUCERS)
    late: list[Request] = array(Request, LATE)
    readers: list[Reader] = array(Reader, DATA)
    outputs: list[Output] = array(Output, DATA)
    told: list[int] = array(int, TRANSACTIONS)
    newest: list[int] = array(int, PARTITIONS * PRODUCERS)
    is_outrun: bool = False
    is_stuck: bool = False
    full: int = 0
    budget: Budget = field(default_factory=Budget)


COMMITTED = 1
ABORTED = 2

FULL = {
    1: "transactions in one journal",
    2: "records in one partition",
    3: "records that one application was given",
}


@dataclass(slots=True)
class Setup:
    """What is constant during a run.

    Attributes:
        instances: how many processes of producers there are.
        own_ids: 1 if each has a producerId of its own.
        grouped: 1 if they copy the input of one consumer group, whose offsets go with the output.
        groups: how many consumer groups there are: each instance has its own, or both have one.
        blocks: how many blocks of input there are: of each group, or of each instance.
        partitions: how many partitions of data a block goes to.
        records: how many messages of a block go to each.
        starts: how often each instance may be started.
        readers: how many of the partitions are read.
        read_committed: 0 if readers take everything.
    """

    rules: Rules = field(default_factory=Rules)
    instances: int = 1
    own_ids: int = 0
    grouped: int = 1
    groups: int = 1
    blocks: int = 1
    partitions: int = 1
    records: int = 1
    starts: int = 1
    readers: int = 1
    read_committed: int = 1
    budget: Budget = field(default_factory=Budget)


@dataclass(slots=True)
class Trail(Notes):
    """What one step did. Scratch space: the request that is answered, and what a reader makes of a record."""

    request: Request = field(default_factory=Request)
    reading: ConsumerEffects = field(default_factory=ConsumerEffects)
