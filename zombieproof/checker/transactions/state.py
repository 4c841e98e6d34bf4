"""A state: one packed record that holds everything a scenario can be in.

Clients with their programs' position, coordinator nodes with cache and the durable log behind them, partitions with
log and producer entries, a consumer group, readers, messages in flight, what is left of each fault's budget, and the
*ghost* facts that promises need: what each application asked for and was told.

Bounds that Kafka does not have are ``capacities`` here (`CLIENTS`, `LOG`, `MESSAGES`, ...). Reaching one sets
`State.overflow`, and the run is then inconclusive: a bound that was hit is never reported as "holds".

Partitions 0 and 1 hold data; partition 2 (`OFFSETS`) is the ``__consumer_offsets`` partition of the one group.
A *label* names one transaction (or, without transactions, one batch) of one application: 1 + client * TXNS + number.
"""

from dataclasses import dataclass, field

from zombieproof.checker.transactions.budget import Budget
from zombieproof.checker.transactions.capacities import (
    CACHED,
    CLIENTS,
    IDS,
    LABELS,
    LOG,
    MESSAGES,
    NODES,
    PARTITIONS,
    PRODUCER_IDS,
    READERS,
)
from zombieproof.model.fields import array, integer
from zombieproof.model.records import CachedBatch, GroupOffset, PendingOffset, ProducerEntry, Transaction
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.consumer.reading import ConsumerEffects
from zombieproof.statemachines.coordinator.completion import MarkerAnswer
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects
from zombieproof.statemachines.coordinator.records import PendingTransition
from zombieproof.statemachines.group_coordinator.effects import GroupEffects
from zombieproof.statemachines.notes import Notes
from zombieproof.statemachines.partition_leader.effects import PartitionEffects
from zombieproof.statemachines.partition_leader.questions import Lane
from zombieproof.statemachines.producer.effects import ProducerEffects
from zombieproof.statemachines.producer.records import Numbering, Producer
from zombieproof.statemachines.producer_ids import ProducerIdBlocks


@dataclass(slots=True)
class Message:
    """One message in flight: a request, its answer in the same place (`answered`), or a marker and its answer.

    It is `live` while somebody waits for the answer; one that is not is a late copy: it can still have its effect, but
    its answer reaches nobody. `producer_id` and `producer_epoch` are those that it names; of an answer that grants an
    identity, the granted ones. `label` is that of the transaction that it belongs to. The other fields, by `kind`:

    ==================  ====================  ====================  ===========  ===================  ===============
    kind                client                node                  partition    value                detail
    ==================  ====================  ====================  ===========  ===================  ===============
    INIT_PRODUCER_ID    who asks              coordinator asked     -            -                    1: raises epoch
    ADD_PARTITIONS      who asks              coordinator asked     that joins   -                    -
    ADD_OFFSETS         who asks              coordinator asked     OFFSETS      -                    -
    PRODUCE             who sends             coordinator asked *   written to   first sequence       behind whom **
    TXN_OFFSET_COMMIT   who sends             coordinator asked *   OFFSETS      offset               generation
    END_TXN             who asks              coordinator asked     -            -                    1: commit
    MARKER              index of the id       coordinator, sender   written to   coordinator epoch    1: commit
    ==================  ====================  ====================  ===========  ===================  ===============

    (**) where batches may be refused: those of smaller numbers go first, and of one number by their sequences.
    (*) while its leader asks, or waits to ask, about it; 0 otherwise. `stage` of a MARKER is its transaction version.
    `error` is what the answer says; in `stage` APPENDING 1 + the number of the append that is waited for, in `stage`
    REPLICATING the high watermark that is. A MARKER that is in the log has that in `error`, too.
    The bag has messages in the order of their fields as they stand here, the first field first (`network.normalise`).
    `guard` is the token under which a PRODUCE or TXN_OFFSET_COMMIT is verified, 0 for none.
    """

    kind: int = 0
    live: bool = False
    answered: bool = False
    client: int = 0
    node: int = 0
    stage: int = 0
    partition: int = 0
    producer_id: int = integer(NONE)
    producer_epoch: int = integer(NONE)
    value: int = 0
    detail: int = 0
    error: int = 0
    label: int = 0
    guard: int = 0


@dataclass(slots=True)
class LogRecord:
    """One batch or marker of a partition: `value` is its sequence, committed offset, or coordinator epoch.

    Of the tombstones of offsets it is a ghost fact: a mask of the transactions that were decided before.
    """

    kind: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    value: int = 0
    label: int = 0


@dataclass(slots=True)
class CheckedEntry(ProducerEntry):
    """A producer entry with fewer remembered batches than Kafka's five."""

    batches: list[CachedBatch] = array(CachedBatch, CACHED)


@dataclass(slots=True)
class Partition:
    """A partition: its log up to `end`, and its leader's memory. `leader`: there is one."""

    leader: bool = True
    end: int = 0
    log: list[LogRecord] = array(LogRecord, LOG)
    entries: list[CheckedEntry] = array(CheckedEntry, PRODUCER_IDS)


@dataclass(slots=True)
class Node:
    """A broker as coordinator; it `believes` to be one, also when another one has taken over.

    `driving` is 1 while it sends markers, 2 (``marker_actions.AT_LOG``) while their end is on its way into the log.
    """

    believes: bool = False
    epoch: int = 0
    cache: list[Transaction] = array(Transaction, IDS)
    driving: list[int] = array(int, IDS)


@dataclass(slots=True)
class Client(Producer):
    """One producer instance and its application's position in its program.

    `added` is a mask of the data partitions that have joined the transaction; `sequences` are the next ones. `op` is
    the line of its program, and beyond all lines where a commit or abort has timed out (``asked_again``).
    """

    alive: bool = False
    node: int = 0
    txn: int = 0
    op: int = 0
    added: int = 0
    generation: int = integer(NONE)
    position: int = 0
    sequences: list[int] = array(int, PARTITIONS)


@dataclass(slots=True)
class Group:
    """The consumer group: who owns the input partition in which generation, and what is committed."""

    generation: int = 0
    owner: int = 0
    committed: GroupOffset = field(default_factory=GroupOffset)
    pending: list[PendingOffset] = array(PendingOffset, PRODUCER_IDS)


@dataclass(slots=True)
class Reader:
    """A consumer of partition 0: `delivered` and `held` are bit masks of offsets."""

    position: int = 0
    delivered: int = integer(0, width="u1")
    held: int = integer(0, width="u1")
    states: list[int] = array(int, PRODUCER_IDS)


@dataclass(slots=True)
class FetchUnderWay:
    """A reader's fetch between its two moments: its `bound`, NONE before it has one.

    `listed` is a mask of markers: what the list tells of, where it was taken before the bound.
    """

    under_way: bool = False
    bound: int = integer(NONE)
    listed: int = integer(0, width="u1")


@dataclass(slots=True)
class Remains:
    """What cleaner and retention have left of a partition's log, which begins at `start`; masks of offsets.

    `gone`: nothing is left of the batch; `empty`: its records are gone. `under_horizon`: markers of which a pass has
    met no batch; `unlisted`: those that the index of aborted transactions has no more. The log itself has everything
    still, so that promises can be judged by what was written; nobody reads what is not left.
    """

    start: int = 0
    gone: int = integer(0, width="u1")
    empty: int = integer(0, width="u1")
    under_horizon: int = integer(0, width="u1")
    unlisted: int = integer(0, width="u1")


@dataclass(slots=True)
class ProducerSnapshot:
    """What was known of the producers of a partition at `offset`, where a segment begins; NONE: there is none."""

    offset: int = integer(NONE)
    entries: list[CheckedEntry] = array(CheckedEntry, PRODUCER_IDS)


@dataclass(slots=True)
class LabelFacts:
    """What became of one label: asked 1 commit, 2 abort; result, which the application got, and decided likewise.

    `acked` is a mask of partitions.
    """

    asked: int = 0
    result: int = 0
    decided: int = 0
    acked: int = 0
    input: int = integer(NONE)


@dataclass(slots=True)
class Ghost:
    """Facts that no broker knows. `owner` is the label that opened the present transaction of each id.

    `illegal` is that of `Notes`. `outrun`: a question that waited has given its place to one of a newer epoch.
    """

    labels: list[LabelFacts] = array(LabelFacts, LABELS)
    owner: list[int] = array(int, IDS)
    illegal: int = 0
    contradiction: bool = False
    usurped: bool = False
    insane: bool = False
    outrun: bool = False


@dataclass(slots=True)
class UnderWay:
    """An append of a coordinator node that is under way, for transactional id `subject`.

    `label` is that of the request that asked for it. `error` is what the log has answered, once `phase` is ANSWERED.
    """

    phase: int = 0
    node: int = 0
    subject: int = 0
    label: int = 0
    error: int = 0
    pending: PendingTransition = field(default_factory=PendingTransition)


@dataclass(slots=True)
class Allocation:
    """Under way between a node and the controller: a request (`asked`), its answer (`first` id), a late copy.

    `held`: the answer is still at the controller, until its log has what it says.
    """

    asked: bool = False
    first: int = integer(NONE)
    late: int = integer(NONE)
    held: bool = False


@dataclass(slots=True)
class Replica:
    """What of a log all replicas in sync have: up to `high_watermark`. `is_cut`: an election lost records."""

    high_watermark: int = 0
    is_cut: bool = False


@dataclass(slots=True)
class State:
    """Everything. `appends` and what stands behind it have room only in the model that is about them.

    `partitions` stand behind the rest: in most words there nothing changes in a step, and changes are looked for in 64
    words at a time.
    Where more travels there is room for `MORE_PRODUCER_IDS`, elsewhere for `PRODUCER_IDS`.
    `next_block` is what the controller knows of the next block, `recorded` what its log says, if it may change.
    `replicated` is where that ends in the offsets log which all replicas have, where commits take their time.
    `outdated`: the TxnOffsetCommit that the client waits for names the id of an input topic that was deleted since.
    """

    messages: list[Message] = array(Message, MESSAGES)
    clients: list[Client] = array(Client, CLIENTS)
    nodes: list[Node] = array(Node, NODES)
    durable: list[Transaction] = array(Transaction, IDS)
    group: Group = field(default_factory=Group)
    readers: list[Reader] = array(Reader, READERS)
    ghost: Ghost = field(default_factory=Ghost)
    budget: Budget = field(default_factory=Budget)
    coordinator: int = 0
    highest_epoch: int = 0
    next_producer_id: int = 0
    next_block: int = 0
    overflow: int = 0
    partitions: list[Partition] = array(Partition, PARTITIONS)
    appends: list[UnderWay] = array(UnderWay, 0)
    lanes: list[Lane] = array(Lane, 0)
    blocks: list[ProducerIdBlocks] = array(ProducerIdBlocks, 0)
    allocations: list[Allocation] = array(Allocation, 0)
    given: list[int] = array(int, 0)
    recorded: list[int] = array(int, 0)
    replicated: list[int] = array(int, 0)
    replicas: list[Replica] = array(Replica, 0)
    fetches: list[FetchUnderWay] = array(FetchUnderWay, 0)
    remains: list[Remains] = array(Remains, 0)
    snapshots: list[ProducerSnapshot] = array(ProducerSnapshot, 0)
    outdated: list[bool] = array(bool, 0)


@dataclass(slots=True)
class Trail(Notes):
    """What one step did. Scratch space for what the steps of a coordinator want done, and what they make pending.

    `answered`: an answer set out, to a client or from the coordinator to a leader, and `error` what it says;
    `asker` is 1 + the slot of the message that an append has an answer for.
    `leader`, `group` and `consumer`: what a step of a partition leader, the group coordinator, a consumer wants done.
    `producer` is what a step of a client wants done; `numbering` are the sequences of the partition that it is about.
    `log_fails`: an append of offsets fails in this step.
    """

    answered: bool = False
    error: int = 0
    asker: int = 0
    pending: PendingTransition = field(default_factory=PendingTransition)
    effects: CoordinatorEffects = field(default_factory=CoordinatorEffects)
    markers: MarkerAnswer = field(default_factory=MarkerAnswer)
    leader: PartitionEffects = field(default_factory=PartitionEffects)
    group: GroupEffects = field(default_factory=GroupEffects)
    consumer: ConsumerEffects = field(default_factory=ConsumerEffects)
    producer: ProducerEffects = field(default_factory=ProducerEffects)
    numbering: Numbering = field(default_factory=Numbering)
    log_fails: bool = False
