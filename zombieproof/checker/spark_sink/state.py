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


class Reads(IntEnum):
    """Meaning of the two partitions of a scenario: two of the source, or two reads of one partition of it.

    Two reads share the position of that partition, and its transactional id.
    """

    PARTITIONS = 0
    """Two partitions of the source, each with its own position."""
    BRANCHES = 1
    """Two branches of one `load()`, in a union: a batch has the same offsets of both."""
    LOADS = 2
    """Two `load()`s in a union: the second has no limit for the size of a batch."""
    WRITES = 3
    """What `foreachBatch` writes to the first of two outputs, and to the second."""
    QUERIES = 4
    """Two queries in one group: driver A runs the first, driver B the second, each on its own checkpoint."""
    KINDS = 5
    """One partition, one group, one output and sink: driver A runs a stream, driver B a batch query.

    A batch query has no checkpoint. The second checkpoint of the model holds its range, for when it is run again.
    """


class Modes(IntEnum):
    """The modes and transactional ids of the two drivers."""

    ONE = 0
    """Both have the same."""
    TWO = 1
    """The second driver has the other one of the modes *batch* and *partition*, under the same transactional id."""
    TWO_WITH_OWN_IDS = 2
    """The same, and it has another transactional id."""


class Phase(IntEnum):
    """What a driver is doing."""

    DOWN = 0
    IDLE = 1
    RUNNING_TASKS = 2
    COMMITTING = 3
    RETURNED = 4
    """The sink has returned; the commit log is to be written."""
    ABORTING = 5
    REFUSED = 6
    """Its query was refused before it read rows, which does not change by itself."""


@dataclass(slots=True)
class Range:
    """A range of the source: for each partition from `first` to before `past`."""

    first: list[int] = array(int, PARTITIONS)
    past: list[int] = array(int, PARTITIONS)


@dataclass(slots=True)
class Checkpoint:
    """Spark's logs: `planned` is the newest batch of the offset log, with its range, `done` that of the commit log.

    `topic` is the topic of its offsets, as in `State`.
    """

    query: int = 1
    planned: int = 0
    done: int = 0
    range: Range = field(default_factory=Range)
    topic: int = 0


@dataclass(slots=True)
class Work:
    """A delivery with its rows: whose batch it is, which rows, and from where they are still to be sent.

    `sink` is the number of the write: of several in one batch, or in one group.
    `found` is 1 + what a look-up told that came before the id was taken, where the sink does it in that order.

    `seen_mode` and `seen` are mode and generation of the claim that it has seen. If `takes_tasks`, that is its own, and
    tasks of earlier claims are to be fenced. Else it claims for itself: `holder_epoch` is 1 + the epoch with which it
    holds the transactional id of the claim, and `is_newest` says that it has since read the same claim. `taken` is the
    generation for which it has fenced tasks.
    """

    delivery: Delivery = field(default_factory=Delivery)
    query: int = 0
    sink: int = 0
    batch: int = 0
    range: Range = field(default_factory=Range)
    rows: int = 0
    transactional_id: int = 0
    epoch: int = 0
    start: list[int] = array(int, PARTITIONS)
    found: int = 0
    seen_mode: int = 0
    seen: int = 0
    takes_tasks: bool = False
    holder_epoch: int = 0
    is_newest: bool = False
    taken: int = 0


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
    sink: int = 0
    batch: int = 0
    generation: int = 0


@dataclass(slots=True)
class Claim:
    """The newest claim: its mode (0: none), its generation, and whether one so far was of mode *partition*."""

    mode: int = 0
    generation: int = 0
    has_tasks: bool = False
    is_in_group: bool = False
    """Whether the group has it still, and not the progress topic alone."""


@dataclass(slots=True)
class Group:
    """What is committed: positions of the source, the identity of the newest batch, and the claim.

    `rows` are those of that batch, for a sink that compares them. `expired` is a mask of the partitions whose positions
    are in the progress topic alone. `generations` are those of the claims under which positions were committed, and
    `topic` is the topic of the newest one, as in `State`.
    """

    positions: list[int] = array(int, PARTITIONS)
    query: int = 0
    sink: int = 0
    batch: int = 0
    rows: int = 0
    expired: int = 0
    generations: list[int] = array(int, PARTITIONS)
    topic: int = 0
    claim: Claim = field(default_factory=Claim)


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
    old_checkpoints: int = 0
    """Checkpoints that are replaced by an older copy of themselves."""
    expiries: int = 0
    """Deletions of all positions of the group, by age or by hand."""
    recreated_topics: int = 0
    """Source topics that are deleted and created again, with other records."""


@dataclass(slots=True)
class State:
    """Everything. Drivers share the first checkpoint, unless each runs its own query.

    `topic` counts how often the topic of the source was deleted and created again. The output is that of its present
    records.
    """

    checkpoints: list[Checkpoint] = array(Checkpoint, DRIVERS)
    old: Checkpoint = field(default_factory=Checkpoint)
    """A copy of the first checkpoint; of query 0 if no copy was made."""
    drivers: list[Driver] = array(Driver, DRIVERS)
    attempts: list[Attempt] = array(Attempt, ATTEMPTS)
    transactions: list[Transaction] = array(Transaction, IDS)
    group: Group = field(default_factory=Group)
    decided: Decided = field(default_factory=Decided)
    output: list[int] = array(int, LABELS)
    topic: int = 0
    illegal: bool = False
    """A machine was to make a move that its table does not have."""
    budget: Budget = field(default_factory=Budget)


@dataclass(slots=True)
class Setup:
    """What is constant during a run: the sink, what the plan between source and sink is, and how large it all is.

    `reads` says what the partitions are (`Reads`). `shuffled`: rows of a partition meet several tasks. `holds_back`:
    the plan keeps the first row of each partition until it has the last one. `checks_plan` 0 starts with any plan,
    `checks_group` 0 in a group that another write uses. `compares_writes` 0 takes the position of any write for its
    own. `compares_rows` 0 takes a batch for written if the newest one has its number, `compares_numbers` 0 if it has a
    greater number. `delivers_empty` 0 delivers no batch that has no rows. `compares_topics` 0 takes a topic for the
    same if it has the same name. `keeps_progress` 0 has no progress topic, so that positions are there as long as the
    group has them.

    `starting_offset` is where a stream begins that has neither checkpoint nor position. `starts_at_latest` 1 begins at
    the end: the source is empty when the first query starts, and complete when a later one does. `checks_start` 0 lets
    a query begin after records that its sink has not written. `stream_compares_kinds` 0 lets a stream use the position
    of a batch query, and `batch_query_compares_kinds` 0 the other way round.

    `modes` are those of the drivers (`Modes`). `claims` 0 never claims; `claims_under_holder` 0 claims under its own
    transactional id, `shares_first_claim` 0 does so where there is no claim yet; `fences_tasks` 0 does not take the ids
    of tasks of earlier claims.

    `fences_first` 0 looks up before it takes the id; `offsets_inside` 0 commits positions by themselves;
    `begins_at_group` 0 ignores the group where there is no checkpoint; `decides` 1 records a decision before the first
    end of a two-phase commit; `trusts_abort` 1 aborts what Spark says is to be aborted.
    """

    sink: int = int(Sink.BATCH)
    key: int = int(Key.POSITIONS)
    reads: int = int(Reads.PARTITIONS)
    shuffled: int = 0
    holds_back: int = 0
    checks_plan: int = 1
    checks_group: int = 1
    compares_writes: int = 1
    compares_rows: int = 1
    compares_numbers: int = 1
    delivers_empty: int = 1
    compares_topics: int = 1
    keeps_progress: int = 1
    starting_offset: int = 0
    starts_at_latest: int = 0
    checks_start: int = 1
    stream_compares_kinds: int = 1
    batch_query_compares_kinds: int = 1
    modes: int = int(Modes.ONE)
    claims: int = 1
    claims_under_holder: int = 1
    shares_first_claim: int = 1
    fences_tasks: int = 1
    fences_first: int = 1
    offsets_inside: int = 1
    begins_at_group: int = 1
    decides: int = 0
    trusts_abort: int = 0
    partitions: int = 2
    records: int = 2
    batch_records: int = 2
    budget: Budget = field(default_factory=Budget)
