"""One step of a transactional id: whether a record of ``__transaction_state`` may follow what the coordinator knows.

A record must be one that some decision would have made durable. The log shows durable transitions only (reference
§9.4): a fence shows as PrepareAbort under a raised epoch, and which request was answered is not told; so each request
that could have been is tried.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.decisions.add_partitions_to_txn import decide_join
from zombieproof.model.decisions.end_txn import completion_of, decide_end_txn
from zombieproof.model.decisions.init_producer_id import decide_init_producer_id
from zombieproof.model.decisions.transaction_timeout import decide_timeout
from zombieproof.model.decisions.transactional_id_expiration import decide_expiration
from zombieproof.model.decisions.transition import complete, prepare
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import (
    NONE,
    NOTHING,
    CoordinatorEvent,
    Error,
    Row,
    TransactionState,
    TransactionVersion,
)
from zombieproof.statemachines.coordinator import COORDINATOR
from zombieproof.statemachines.kernel import ILLEGAL
from zombieproof.traces.evidence import TransactionLogValue
from zombieproof.traces.verdict.report import named

S, E = TransactionState, CoordinatorEvent
EVENT_INTO = {
    S.EMPTY: E.INIT,
    S.ONGOING: E.ADD_PARTITION,
    S.PREPARE_COMMIT: E.COMMIT,
    S.PREPARE_ABORT: E.ABORT,
    S.COMPLETE_COMMIT: E.MARKERS_WRITTEN,
    S.COMPLETE_ABORT: E.MARKERS_WRITTEN,
}
"""The event that leads to a record of a state."""

END_TXN_VERSIONS = (4, 5)
SOME_PRODUCER_ID = 1 << 62
"""Stands for a producer id that was allocated and that the log does not show."""
LATER = 1 << 62


class Request(NamedTuple):
    """A request as decisions read it."""

    producer_id: int
    producer_epoch: int
    version: int = 0
    committed: bool = False
    partitions: int = 0


class Broken(NamedTuple):
    """A record that may not follow: the promise it breaks, why, and the epoch that it should have (None: unknown).

    `moved` are the states before and behind an illegal move.
    """

    promise: str
    message: str
    epoch: int | None = None
    moved: tuple[str, str] | None = None


class Coordinator:
    """What the coordinator knows of one transactional id, as decisions read it.

    `instead` is what it would know if the record before had been right: the step behind a fault is judged by both.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.memory = Transaction()
        self.instead: Transaction | None = None
        self.bits: dict[TopicPartition, int] = {}

    def take(self, value: TransactionLogValue | None) -> None:
        """Memory becomes what a record says, whatever was before. None is a tombstone."""
        self.instead = None
        self.memory = Transaction() if value is None else self._as_memory(value)

    def step(self, value: TransactionLogValue | None) -> Broken | None:
        """Follow a record, None for a tombstone; what is wrong about it, if anything."""
        alternative, self.instead = self.instead, None
        broken = self._judge(value)
        if broken is None:
            return None
        if alternative is not None:
            memory, instead = self.memory, self.instead
            self.memory, self.instead = alternative, None
            if self._judge(value) is None:
                return None
            self.memory, self.instead = memory, instead
        instead = self.instead
        self.take(value)
        self.instead = instead
        return broken

    def _judge(self, value: TransactionLogValue | None) -> Broken | None:
        """Judge a record against memory; memory follows only when it is right."""
        state = S.DEAD if value is None else value.state
        event = E.EXPIRE if value is None else EVENT_INTO.get(state, E.NOTHING)
        if not self.memory.known and event != E.INIT:
            begins = f"{state.name} is recorded where the id is not known"
            message = f"{begins}; it begins in EMPTY, when a producer takes it"
            return Broken("states_follow_the_table", message, moved=("unknown", state.name))
        target = COORDINATOR.table[self.memory.state][event]
        if target == ILLEGAL or target != state:
            legal = sorted({row.target.name for row in COORDINATOR.rows if row.state == self.memory.state})
            message = f"{state.name} is recorded directly after {S(self.memory.state).name}"
            message += f", where only {', '.join(legal)} may follow"
            return Broken("states_follow_the_table", message, moved=(S(self.memory.state).name, state.name))
        if value is None:
            return self._judge_expiry()
        return self._judge_value(value, event)

    def _judge_expiry(self) -> Broken | None:
        # When the id was used last and how long ids live is not in the log: it is taken to be long ago.
        verdict = decide_expiration(self.memory, LATER, 0, self.rules)
        assert verdict.event == E.EXPIRE, "the table lets an id expire where the decision does not"
        self.take(None)
        return None

    def _judge_value(self, value: TransactionLogValue, event: int) -> Broken | None:
        nearest: tuple[list[str], Transaction] | None = None
        refused: Verdict | None = None
        for verdict in self._candidates(value, event):
            if verdict.event == NOTHING:
                refused = refused or verdict
                continue
            target = self._prepared(verdict, value)
            differences = self._differences(target, value)
            if not differences:
                self._follow(target, value)
                return None
            if nearest is None or len(differences) < len(nearest[0]):
                nearest = differences, target
        if nearest is None and event == E.ADD_PARTITION:
            own = Request(self.memory.producer_id, self.memory.producer_epoch, partitions=self._mask(value.partitions))
            version = value.client_transaction_version or TransactionVersion.TV0
            verdict = decide_join(self.memory, own, self.rules, version)
            if verdict.event != NOTHING:
                nearest = [], self._prepared(verdict, value)
        return self._unexplained(value, nearest, refused)

    def _prepared(self, verdict: Verdict, value: TransactionLogValue) -> Transaction:
        target = Transaction()
        prepare(self.memory, verdict, value.state, value.timeout_ms, value.last_update_ms, target)
        return target

    def _follow(self, target: Transaction, value: TransactionLogValue) -> None:
        """The record is durable. It tells the next producer id where an older release did not name it before."""
        if target.producer_id == SOME_PRODUCER_ID:
            target.producer_id = value.producer_id
        complete(self.memory, target)
        self.instead = None

    # ---- what could have led to a record

    def _candidates(self, value: TransactionLogValue, event: int) -> Iterator[Verdict]:
        """The verdict of each request or server action that could have led to a record of this state."""
        if event == E.INIT:
            yield from self._grants(value)
        elif event == E.ADD_PARTITION:
            request = Request(value.producer_id, value.producer_epoch, partitions=self._mask(value.partitions))
            version = value.client_transaction_version or TransactionVersion.TV0
            yield decide_join(self.memory, request, self.rules, version)
        elif event == E.MARKERS_WRITTEN:
            yield completion_of(self.memory)
        else:
            yield from self._ends(value, event == E.COMMIT)

    def _grants(self, value: TransactionLogValue) -> Iterator[Verdict]:
        """InitProducerId without an expectation, with the present identity, with the last one, with the rotated one."""
        memory = self.memory
        new = value.producer_id if value.producer_id != memory.producer_id else NONE
        for request in (
            Request(NONE, NONE),
            Request(memory.producer_id, memory.producer_epoch),
            Request(memory.producer_id, memory.last_producer_epoch),
            Request(memory.previous_producer_id, self.rules.epoch_max - 1),
        ):
            yield decide_init_producer_id(memory, request, self.rules, new)

    def _ends(self, value: TransactionLogValue, committed: bool) -> Iterator[Verdict]:
        """EndTxn of the client in both forms, and the abort of a fence (a takeover, or a time-out)."""
        memory, rules = self.memory, self.rules
        new = SOME_PRODUCER_ID if value.next_producer_id in (None, NONE) else value.next_producer_id
        for version in END_TXN_VERSIONS:
            request = Request(memory.producer_id, memory.producer_epoch, version, committed)
            yield decide_end_txn(memory, request, rules, True, new or NONE)
        fence = decide_timeout(memory, memory.producer_id, rules)
        if not committed and fence.event == E.FENCE:
            fenced = replace(memory, pending_state=int(S.PREPARE_EPOCH_FENCE))
            for version in END_TXN_VERSIONS:
                request = Request(memory.producer_id, fence.producer_epoch, version)
                yield decide_end_txn(fenced, request, rules, False, new or NONE)

    # ---- what is different

    def _differences(self, target: Transaction, value: TransactionLogValue) -> list[str]:
        """How a record differs from the one that a decision would have written, in words; times are not compared."""
        unseen = target.producer_id == SOME_PRODUCER_ID
        found = []
        if value.producer_id != target.producer_id and not unseen:
            found.append(f"producer id {value.producer_id} instead of {target.producer_id}")
        if value.producer_epoch != target.producer_epoch:
            found.append(f"epoch {value.producer_epoch} instead of {target.producer_epoch}")
        if self._mask(value.partitions) != target.partitions:
            found.append(f"partitions {_list(value.partitions)} instead of {_list(self._set(target.partitions))}")
        if value.timeout_ms != target.timeout_ms:
            found.append(f"time-out {value.timeout_ms} instead of {target.timeout_ms} ms")
        if value.next_producer_id not in (None, NONE, target.next_producer_id):
            found.append(f"next producer id {value.next_producer_id} instead of {target.next_producer_id}")
        if value.previous_producer_id not in (None, NONE, target.previous_producer_id) and not unseen:
            found.append(f"previous producer id {value.previous_producer_id} instead of {target.previous_producer_id}")
        # Releases before 4.1 forget the client's version when a producer takes the id (reference §2.3).
        if value.state != S.EMPTY and value.client_transaction_version not in (None, target.client_transaction_version):
            versions = f"{value.client_transaction_version} instead of {target.client_transaction_version}"
            found.append(f"client transaction version {versions}")
        return found

    def _unexplained(
        self, value: TransactionLogValue, nearest: tuple[list[str], Transaction] | None, refused: Verdict | None
    ) -> Broken:
        state, memory = S(value.state).name, self.memory
        differences, target = nearest or ([], None)
        epoch = None if target is None else target.producer_epoch
        self._expect(target)
        if value.producer_id == memory.producer_id and value.producer_epoch < memory.producer_epoch:
            lower = f"{state} is recorded with epoch {value.producer_epoch} after epoch {memory.producer_epoch}"
            can = f"the epoch of producer id {value.producer_id} can only rise"
            return Broken("epochs_never_go_down", f"{lower}; {can}", epoch)
        if differences:
            found = f"{state} is recorded with {' and '.join(differences)}"
            return Broken("records_are_what_decisions_write", found, epoch)
        by = "" if refused is None else f" ({Error(refused.error).name}, row {Row(refused.row).name})"
        held = f"producer id {memory.producer_id}, epoch {memory.producer_epoch}, state {S(memory.state).name}"
        asked = f"producer id {value.producer_id}, epoch {value.producer_epoch}"
        found = f"{state} is recorded for {asked}, and a coordinator that holds {held} refuses every request for it{by}"
        return Broken("records_are_what_decisions_write", found, epoch)

    def _expect(self, target: Transaction | None) -> None:
        """Remember what the coordinator would know if the record had been the nearest right one."""
        if target is not None:
            self.instead = replace(self.memory)
            complete(self.instead, target)

    # ---- memory

    def _as_memory(self, value: TransactionLogValue) -> Transaction:
        return Transaction(
            known=True,
            state=int(value.state),
            producer_id=value.producer_id,
            previous_producer_id=NONE if value.previous_producer_id is None else value.previous_producer_id,
            next_producer_id=NONE if value.next_producer_id is None else value.next_producer_id,
            producer_epoch=value.producer_epoch,
            partitions=self._mask(value.partitions),
            timeout_ms=value.timeout_ms,
            start_ms=NONE if value.start_ms is None else value.start_ms,
            last_update_ms=value.last_update_ms,
            client_transaction_version=value.client_transaction_version or 0,
        )

    def _mask(self, partitions: frozenset[TopicPartition]) -> int:
        mask = 0
        for place in partitions:
            mask |= 1 << self.bits.setdefault(place, len(self.bits))
        return mask

    def _set(self, mask: int) -> frozenset[TopicPartition]:
        return frozenset(place for place, bit in self.bits.items() if mask >> bit & 1)


def _list(partitions: frozenset[TopicPartition]) -> str:
    return "[" + ", ".join(sorted(named(place) for place in partitions)) + "]"
