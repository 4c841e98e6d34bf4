"""Histories drawn at random: a legal one conforms, wherever it is cut and however its producers are interleaved.

The histories are made from a script of the protocol that shares nothing with the judge: each producer is a generator of
steps, and the steps of several producers are mixed. The same histories, changed in one place, must be found out.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Judgement, TransactionOutcome

if TYPE_CHECKING:
    from tests.traces.replay.conftest import History

PLACES = (("t", 0), ("t", 1), ("u", 0))
# A history is drawn step by step, which takes its time.
few = settings(max_examples=(settings.default or settings()).max_examples * 3 // 5)
KINDS = ("commit", "abort", "timeout", "takeover", "nothing")


class Producer:
    """One transactional id: its steps in the protocol of transaction version `tv`, one record or batch at a time."""

    def __init__(self, history: "History", number: int, tv: int, draw: st.DrawFn) -> None:
        self.history, self.tv, self.draw = history, tv, draw
        self.name, self.producer_id, self.epoch = f"id-{number}", 100 * number, 0
        self.coordinator_epoch = 0
        self.sequences: dict[tuple[str, int], int] = {}

    def state(self, state: S | None, *places: tuple[str, int], tv: int | None = None) -> None:
        version = self.tv if tv is None else tv
        self.history.state(
            state, self.producer_id, self.epoch, *places, tv=version, transactional_id=self.name, partition=0
        )

    def steps(self) -> Iterator[None]:
        self.state(S.EMPTY)
        yield
        for _ in range(self.draw(st.integers(1, 4))):
            kind = self.draw(st.sampled_from(KINDS))
            if kind == "nothing":
                yield from self.expire()
                continue
            yield from self.transaction(kind)

    def transaction(self, kind: str) -> Iterator[None]:
        self.tv = self.draw(st.sampled_from([self.tv, self.tv, 2 - self.tv]))
        places = self.draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3, unique=True))
        listed: list[tuple[str, int]] = []
        for place in places:
            listed.append(place)
            self.state(S.ONGOING, *listed)
            yield
            for _ in range(self.draw(st.integers(0, 2))):
                self.write(place)
                yield
        fenced = kind in ("timeout", "takeover")
        commit = kind == "commit"
        if self.tv == 2 or fenced:
            self.raise_epoch()
        self.state(S.PREPARE_COMMIT if commit else S.PREPARE_ABORT, *listed)
        yield
        for place in self.draw(st.permutations(listed)):
            for _ in range(self.draw(st.sampled_from([1, 1, 1, 2]))):
                self.history.marker(place, self.producer_id, self.epoch, commit, self.coordinator_epoch)
                yield
        # A coordinator that takes over sends the markers again, under its own epoch or the same.
        for place in listed if self.draw(st.integers(0, 3)) == 0 else ():
            self.coordinator_epoch += self.draw(st.integers(0, 1))
            self.history.marker(place, self.producer_id, self.epoch, commit, self.coordinator_epoch)
            yield
        self.state(S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
        yield
        if kind == "takeover" or (fenced and self.tv == 0):
            self.raise_epoch()
            self.state(S.EMPTY)
            yield

    def write(self, place: tuple[str, int]) -> None:
        count = self.draw(st.integers(1, 3))
        sequence = self.sequences.get(place, 0)
        self.history.data(place, self.producer_id, self.epoch, sequence, count)
        self.sequences[place] = sequence + count

    def raise_epoch(self) -> None:
        self.epoch += 1
        self.sequences.clear()

    def expire(self) -> Iterator[None]:
        self.state(None)
        yield
        self.producer_id, self.epoch = self.producer_id + 1, 0
        self.sequences.clear()
        self.state(S.EMPTY)
        yield


def others(history: "History", draw: st.DrawFn) -> Iterator[None]:
    """An idempotent producer and one without idempotence."""
    for sequence in range(draw(st.integers(0, 4))):
        history.data(("t", 0), 9_000, 0, sequence, plain=True)
        yield
        history.plain(("t", 1))
        yield


@st.composite
def legal(draw: st.DrawFn, made: "type[History]", complete: bool = False, producers: int = 3) -> "History":
    """A legal history of some producers, cut at a random step unless it must be complete."""
    history = made()
    running: list[Iterator[None]] = [
        Producer(history, number + 1, draw(st.sampled_from([0, 2])), draw).steps()
        for number in range(draw(st.integers(1, producers)))
    ]
    running.append(others(history, draw))
    left = 10_000 if complete else draw(st.integers(0, 60))
    while running and left:
        left -= 1
        chosen = draw(st.sampled_from(running))
        if next(chosen, "over") == "over":
            running.remove(chosen)
    return history


@few
@given(data=st.data())
def test_a_legal_history_conforms_wherever_it_is_cut(data: st.DataObject, made: "type[History]") -> None:
    history = data.draw(legal(made))
    found = replay(history.evidence)
    assert found.findings == []
    is_something = any(log.batches for log in history.evidence.logs)
    assert found.verdict is (Judgement.CONFORMS if is_something else Judgement.DAMAGED)


@few
@given(data=st.data())
def test_part_of_a_legal_history_conforms(data: st.DataObject, made: "type[History]") -> None:
    history = data.draw(legal(made))
    logs = history.evidence.logs
    history.evidence.logs = [log for log in logs if log.is_internal or data.draw(st.booleans())]
    if data.draw(st.booleans()):
        history.without_coordinator()
    assert history.findings() == []


@few
@given(data=st.data())
def test_a_legal_history_behind_retention_conforms(data: st.DataObject, made: "type[History]") -> None:
    """Old batches and old records of the coordinator are deleted from the front, each log on its own."""
    history = data.draw(legal(made))
    for log in history.evidence.logs:
        gone = data.draw(st.integers(0, len(log.batches)))
        if gone:
            log.start_offset = log.batches[gone - 1].last_offset + 1
            log.batches = log.batches[gone:]
    begins = history.log(("__transaction_state", 0)).start_offset
    states = history.evidence.transaction_states
    history.evidence.transaction_states = [record for record in states if record.offset >= begins]
    assert history.findings() == []


@few
@given(data=st.data())
def test_a_legal_history_with_a_torn_tail_conforms(data: st.DataObject, made: "type[History]") -> None:
    history = data.draw(legal(made))
    for log in history.evidence.logs:
        left = data.draw(st.integers(0, len(log.batches)))
        if left < len(log.batches):
            log.batches = log.batches[:left]
            log.end_offset = log.batches[-1].last_offset + 1 if log.batches else 0
            log.torn_tail = True
    ends = history.log(("__transaction_state", 0)).end_offset
    states = history.evidence.transaction_states
    history.evidence.transaction_states = [record for record in states if record.offset < ends]
    assert history.findings() == []


@few
@given(data=st.data())
def test_a_legal_history_with_unreadable_batches_conforms(data: st.DataObject, made: "type[History]") -> None:
    history = data.draw(legal(made))
    lost_states: set[int] = set()
    for log in history.evidence.logs:
        kept, damaged_at, broken = [], set(), False
        for batch in log.batches:
            if data.draw(st.integers(0, 9)) == 0:
                broken = True
                log.unsound.append(batch)
                if log.topic == "__transaction_state":
                    lost_states.add(batch.base_offset)
                continue
            if broken:
                damaged_at.add(batch.base_offset)
                broken = False
            kept.append(batch)
        log.batches, log.damaged_at, log.torn_tail = kept, frozenset(damaged_at), broken
        log.end_offset = kept[-1].last_offset + 1 if kept else 0
    states = history.evidence.transaction_states
    history.evidence.transaction_states = [record for record in states if record.offset not in lost_states]
    assert history.findings() == []


@few
@given(data=st.data())
def test_a_legal_history_whose_coordinator_log_was_compacted_conforms(
    data: st.DataObject, made: "type[History]"
) -> None:
    """Of the records up to some point only the last of each id is left."""
    history = data.draw(legal(made))
    states = history.evidence.transaction_states
    clean = data.draw(st.integers(0, len(states)))
    last = {record.transactional_id: record.offset for record in states[:clean]}
    kept = [record for record in states if record.offset >= clean or last[record.transactional_id] == record.offset]
    history.evidence.transaction_states = kept
    log = history.log(("__transaction_state", 0))
    left = {record.offset for record in kept}
    log.batches = [batch for batch in log.batches if batch.base_offset in left]
    assert history.findings() == []


@few
@given(data=st.data())
def test_a_legal_history_with_compacted_partitions_conforms(data: st.DataObject, made: "type[History]") -> None:
    """The cleaner takes overwritten records, data of aborted transactions, and then their markers."""
    history = data.draw(legal(made))
    report = replay(history.evidence)
    for log in history.evidence.logs:
        if log.is_internal:
            continue
        stable = report.lso[f"{log.topic}-{log.partition}"]
        visible = set(report.committed[f"{log.topic}-{log.partition}"])
        kept = []
        for batch in log.batches:
            aborted = not batch.is_control and not visible & set(range(batch.base_offset, batch.last_offset + 1))
            if batch.base_offset >= stable or batch.is_control or not (aborted or data.draw(st.booleans())):
                kept.append(batch)
        data_left = {(b.producer_id, b.producer_epoch) for b in kept if not b.is_control}
        log.batches = [
            batch
            for batch in kept
            if not batch.is_control
            or batch.base_offset >= stable
            or (batch.producer_id, batch.producer_epoch) in data_left
            or (batch.producer_id, batch.producer_epoch - 1) in data_left
            or data.draw(st.booleans())
        ]
        log.cleaned = True
    assert history.findings() == []


@pytest.mark.slow
@few
@given(data=st.data())
def test_the_derived_outcomes_are_those_of_the_script(data: st.DataObject, made: "type[History]") -> None:
    history = data.draw(legal(made, complete=True))
    report = replay(history.evidence)
    prepared = [record.value for record in history.evidence.transaction_states if record.value is not None]
    for state, outcome in ((S.PREPARE_COMMIT, TransactionOutcome.COMMIT), (S.PREPARE_ABORT, TransactionOutcome.ABORT)):
        wanted = sum(value.state == state for value in prepared)
        assert sum(txn.outcome is outcome for txn in report.transactions) == wanted


CHANGES = ("lose a marker", "turn a marker", "lose data", "double data", "lower an epoch", "lose a decision")


@pytest.mark.sample("lose a marker", "lose a decision")
@pytest.mark.parametrize("change", CHANGES)
@few
@given(data=st.data())
def test_a_legal_history_changed_in_one_place_violates(data: st.DataObject, change: str, made: "type[History]") -> None:
    """Every change that the rest of the evidence contradicts is found."""
    history = data.draw(legal(made, complete=True))
    if changed(history, change, data):
        assert replay(history.evidence).verdict is Judgement.VIOLATES


def changed(history: "History", change: str, data: st.DataObject) -> bool:
    """Make the change where it can be told from a legal history; False when there is no such place."""
    choices = []
    for log in history.evidence.logs:
        for index, batch in enumerate(log.batches):
            same = [each for each in log.batches if each.producer_id == batch.producer_id]
            at = same.index(batch)
            before, after = same[:at], same[at + 1 :]
            if batch.producer_id < 0 or log.is_internal:
                continue
            ends_data = bool(before) and not before[-1].is_control
            alone = not any(
                each.is_control and each.producer_epoch == batch.producer_epoch for each in (*before, *after)
            )
            inside = any(not each.is_control and each.producer_epoch == batch.producer_epoch for each in before)
            goes_on = bool(after) and not after[0].is_control and after[0].producer_epoch == batch.producer_epoch
            fits = {
                # One of two equal markers may be missing; and in the old protocol one epoch has many.
                "lose a marker": batch.is_control and alone and ends_data,
                "turn a marker": batch.is_control and alone,
                # A leader that does not know a producer takes any first sequence (reference §3.3.1).
                "lose data": not batch.is_control and inside and goes_on,
                "double data": not batch.is_control,
                "lower an epoch": not batch.is_control and bool(before) and before[-1].producer_epoch > 0,
            }
            if fits.get(change, False):
                choices.append((log.topic_partition, index))
    if change == "lose a decision":
        states = history.evidence.transaction_states
        decisions = [
            i for i, r in enumerate(states) if r.value and r.value.state in (S.PREPARE_COMMIT, S.PREPARE_ABORT)
        ]
        if not decisions:
            return False
        history.forget_states(data.draw(st.sampled_from(decisions)))
        return True
    if not choices:
        return False
    place, index = data.draw(st.sampled_from(choices))
    batch = history.log(place).batches[index]
    if change in ("lose a marker", "lose data"):
        history.remove(place, index)
    elif change == "turn a marker":
        history.turn(place, index)
    elif change == "double data":
        history.insert(place, index + 1, batch)
    else:
        known = max(
            each.producer_epoch for each in history.log(place).batches[:index] if each.producer_id == batch.producer_id
        )
        history.change(place, index, producer_epoch=known - 1)
    return True
