"""The state: a checkpoint, drivers, attempts of tasks, and what brokers know of the output, the group and transactions.

Brokers are taken at their word here: taking a transactional id, sending into a transaction and ending it are one step
each, whose answer may be lost. That they keep it is what the scenarios of the transaction protocol are for.

A record of the source is named by its partition and offset, and is a bit in a mask of labels. A position of 0 is that
of a group which has committed nothing; queries and batches are numbered from 1, so that 0 is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from zombieproof.model.fields import array
from zombieproof.statemachines.delivery.steps import Delivery
from zombieproof.statemachines.micro_batch_reader.steps import Reader

PARTITIONS = 2
RECORDS = 3
LABELS = PARTITIONS * RECORDS
TASKS = 2
DRIVERS = 2
ATTEMPTS = 4
IDS = 4


class Sink(IntEnum):
    """How rows get into the output."""

    BATCH = 1
    """The driver commits one transaction for each batch, when all tasks are done."""
    PARTITION = 2
    """Each task commits a transaction under the id of its partition."""
    NAIVE = 3
    """Each attempt of a task commits a transaction of its own, under an id that nobody else has."""
    TWO_PHASE = 4
    """Tasks leave their transactions open, and the driver ends them when all tasks are done."""


class Key(IntEnum):
    """By what a delivery knows that its rows were delivered before."""

    NOTHING = 0
    POSITIONS = 1
    """The positions of the source, committed with the rows."""
    BATCH = 2
    """The number of the batch, committed with the rows."""
    QUERY_AND_BATCH = 3
    """The same together with the query that counts so: another one cannot be compared."""


class Phase(IntEnum):
    """What a driver is doing."""

    DOWN = 0
    IDLE = 1
    RUNNING_TASKS = 2
    COMMITTING = 3
    RETURNED = 4
    """The sink has returned; the commit log is to be written."""
    ABORTING = 5


@dataclass(slots=True)
class Range:
    """A range of the source: for each partition from `first` to before `past`."""

    first: list[int] = array(int, PARTITIONS)
    past: list[int] = array(int, PARTITIONS)


@dataclass(slots=True)
class Checkpoint:
    """Spark's logs: `planned` is the newest batch of the offset log, with its range, `done` that of the commit log."""

    query: int = 1
    planned: int = 0
    done: int = 0
    range: Range = field(default_factory=Range)


@dataclass(slots=True)
class Work:
    """A delivery with its rows: whose batch it is, which rows, and from where they are still to be sent.

    `found` is 1 + what a look-up told that came before the id was taken, where the sink does it in that order.
    """

    delivery: Delivery = field(default_factory=Delivery)
    query: int = 0
    batch: int = 0
    range: Range = field(default_factory=Range)
    rows: int = 0
    transactional_id: int = 0
    epoch: int = 0
    start: list[int] = array(int, PARTITIONS)
    found: int = 0


@dataclass(slots=True)
class Driver:
    """A driver: its batch and range, which tasks have reported, and of a two-phase sink with which epochs."""

    phase: int = int(Phase.DOWN)
    reader: Reader = field(default_factory=Reader)
    query: int = 0
    batch: int = 0
    range: Range = field(default_factory=Range)
    reported: int = 0
    epochs: list[int] = array(int, TASKS)
    ended: int = 0
    work: Work = field(default_factory=Work)


@dataclass(slots=True)
class Attempt:
    """An attempt of a task: `driver` is 1 + who started it, 0 a free slot; `orphaned`: nobody waits for it."""

    driver: int = 0
    task: int = 0
    orphaned: bool = False
    work: Work = field(default_factory=Work)


@dataclass(slots=True)
class Transaction:
    """A transactional id: its epoch (see `normal_form`), and what its open transaction holds."""

    epoch: int = 0
    is_open: bool = False
    rows: int = 0
    positions: list[int] = array(int, PARTITIONS)
    query: int = 0
    batch: int = 0


@dataclass(slots=True)
class Group:
    """What the group has committed: positions of the source, and the identity of the newest batch."""

    positions: list[int] = array(int, PARTITIONS)
    query: int = 0
    batch: int = 0


@dataclass(slots=True)
class Decided:
    """The decision record of a two-phase sink: for which batch, and the epochs that are to be committed."""

    batch: int = 0
    epochs: list[int] = array(int, TASKS)


@dataclass(slots=True)
class Budget:
    """How often each fault may still happen."""

    crashes: int = 0
    orphans: int = 0
    """Attempts that go on when their driver has crashed."""
    second_drivers: int = 0
    """Drivers that start on the checkpoint while another one runs."""
    extra_attempts: int = 0
    failed_attempts: int = 0
    lost: int = 0
    """Answers of brokers, and messages of attempts to their driver."""
    raised: int = 0
    """Commits of the sink that raise although they took effect."""
    timeouts: int = 0
    lost_checkpoints: int = 0


@dataclass(slots=True)
class State:
    """Everything."""

    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    drivers: list[Driver] = array(Driver, DRIVERS)
    attempts: list[Attempt] = array(Attempt, ATTEMPTS)
    transactions: list[Transaction] = array(Transaction, IDS)
    group: Group = field(default_factory=Group)
    decided: Decided = field(default_factory=Decided)
    output: list[int] = array(int, LABELS)
    illegal: bool = False
    """A machine was to make a move that its table does not have."""
    budget: Budget = field(default_factory=Budget)


@dataclass(slots=True)
class Setup:
    """What is constant during a run: the sink, what the plan between source and sink is, and how large it all is.

    `shuffled`: rows of a partition meet several tasks. `fences_first` 0 looks up before it takes the id;
    `offsets_inside` 0 commits positions by themselves; `begins_at_group` 0 ignores the group where there is no
    checkpoint; `decides` 1 records a decision before the first end of a two-phase commit; `trusts_abort` 1 aborts what
    Spark says is to be aborted.
    """

    sink: int = int(Sink.BATCH)
    key: int = int(Key.POSITIONS)
    shuffled: int = 0
    fences_first: int = 1
    offsets_inside: int = 1
    begins_at_group: int = 1
    decides: int = 0
    trusts_abort: int = 0
    partitions: int = 2
    records: int = 2
    batch_records: int = 2
    budget: Budget = field(default_factory=Budget)
