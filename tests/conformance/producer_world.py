"""The producer state of one partition under a case: what surrounds it, and what the last actions came to."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.broker.partitions import Tokens
from tests.conformance.cases import Failed
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.producer_states import CompletedTransaction, ProducerStates
from zombieproof.broker.partition.snapshots import MemorySnapshots
from zombieproof.formats.batches import Batch, Record
from zombieproof.model.records import ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, Mode, Origin
from zombieproof.statemachines.partition_leader.offsets import Reach

PRODUCER_ID = 1


class CountingSnapshots(MemorySnapshots):
    """Snapshots that know how often one was written."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def write(self, offset: int, data: bytes) -> None:
        """Keep `data`, and count."""
        self.writes += 1
        super().write(offset, data)


@dataclass
class World:
    """One partition's producer state with all that surrounds it, and what the last actions came to."""

    rules: Rules
    settings: Settings = field(default_factory=Settings)
    clock: ManualClock = field(default_factory=ManualClock)
    journal: Journal = field(default_factory=Journal)
    tokens: Tokens = field(default_factory=Tokens)
    store: CountingSnapshots = field(default_factory=CountingSnapshots)
    producer_id: int = PRODUCER_ID
    mode: Mode = Mode.GENERIC
    error: int = 0
    completed: list[CompletedTransaction] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    guards: list[int] = field(default_factory=list)
    kept_copies: dict[int, bytes] = field(default_factory=dict)
    segments: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    result: object = None
    was_visible: bool = False

    def __post_init__(self) -> None:
        self.states = self.fresh()

    def fresh(self) -> ProducerStates:
        """Producer state that knows nothing but where its snapshots are."""
        return ProducerStates("t-0", self.rules, self.settings, self.clock, self.journal, self.store)

    @property
    def entry(self) -> ProducerEntry | None:
        """What is known of the producer that the last action named."""
        return self.states.get(self.producer_id)

    @property
    def first_unstable_offset(self) -> int:
        """Where the earliest transaction begins that is open or whose marker is not replicated, or NONE."""
        return self.states.readable(Reach(0, NONE, NONE)).first_unstable

    @property
    def guard(self) -> int:
        """The guard of that producer, 0 for none."""
        return 0 if self.entry is None else self.entry.guard

    def verify(self, sequence: int, epoch: int) -> None:
        """Open, or look up, the verification of a batch."""
        batch = Batch(self.producer_id, epoch, sequence, True)
        self.guards.append(self.states.begin_verification(batch, self.mode, self.tokens).guard)

    def write(self, batch: Batch, origin: Origin) -> None:
        """Judge a batch, and record it if it is accepted."""
        self.judge(batch, origin)()

    def judge(self, batch: Batch, origin: Origin) -> Callable[[], None]:
        """Judge a batch; what comes back records it if it was accepted. Judging alone must leave no trace."""
        before = {each: copy.deepcopy(self.states.get(each)) for each in self.states}
        verdict = self.states.judge(batch, self.guard, origin)
        self.was_visible = before != {each: self.states.get(each) for each in self.states}
        self.error = verdict.error
        if self.was_visible:
            raise Failed("a batch that was only judged has changed what is remembered")
        return lambda: self._record(batch, verdict.event)

    def _record(self, batch: Batch, event: int) -> None:
        if event == NOTHING:
            return
        entry = self.entry
        was_open = entry is not None and entry.txn_first_offset != NONE
        completed = self.states.record(batch, event)
        if completed is not None:
            self.completed.append(completed)
        if batch.marker is None and batch.transactional and not was_open:
            self.started.append(batch.base_offset)


def data_batch(producer: tuple[int, int], sequence: int, first: int, last: int, transactional: bool) -> Batch:
    records = tuple(Record(None, str(offset).encode()) for offset in range(first, last + 1))
    return Batch(*producer, sequence, transactional, records, None, last - first, base_offset=first)
