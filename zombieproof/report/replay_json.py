"""What `replay` concluded of a counterexample, in the same JSON as of a recording."""

from collections.abc import Sequence

from zombieproof.checker.transactions import replicas
from zombieproof.checker.transactions.capacities import OFFSETS, TXNS
from zombieproof.checker.transactions.narration import id_name
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State
from zombieproof.model.promises import fate, is_data
from zombieproof.model.vocabulary import Outcome
from zombieproof.report.counterexample import Again
from zombieproof.report.replay_text import Replayed, worst
from zombieproof.traces.evidence import Unit
from zombieproof.traces.verdict.report import (
    DamagedPlace,
    Finding,
    Judgement,
    Report,
    TransactionOutcome,
    TransactionSummary,
)

_ENDED = {
    Outcome.COMMIT: TransactionOutcome.COMMIT,
    Outcome.ABORT: TransactionOutcome.ABORT,
    Outcome.UNDECIDED: TransactionOutcome.OPEN,
}


def as_report(replayed: Sequence[Replayed], unread: Sequence[DamagedPlace] = ()) -> Report:
    """Counterexamples that were run again, and files that could not be, as one report.

    Partition p0 of the model is partition 0 of topic "p".
    """
    state = setup = None
    if len(replayed) == 1:
        state, setup = replayed[0].again.story.state, replayed[0].again.story.setup
    return Report(
        verdict=worst([each.verdict for each in replayed] + [Judgement.DAMAGED for _ in unread]),
        findings=[
            _finding(promise, each.again)
            for each in replayed
            if (promise := each.again.trace.conclusion.promise) and not each.again.fault
        ],
        damage=[
            *unread,
            *(
                DamagedPlace(file=each.file, position=each.again.line, unit=Unit.LINE, message=each.again.fault)
                for each in replayed
                if each.again.fault
            ),
        ],
        transactions=_transactions(state, setup) if isinstance(state, State) and isinstance(setup, Setup) else [],
        committed=_committed(state, setup) if isinstance(state, State) and isinstance(setup, Setup) else {},
        lso=_last_stable(state, setup) if isinstance(state, State) and isinstance(setup, Setup) else {},
        group_offsets={},
    )


def _finding(promise: str, again: Again) -> Finding:
    steps = len(again.story.beats)
    return Finding(
        promise=promise,
        transactional_id=None,
        producer_id=None,
        producer_epoch=None,
        topic=None,
        partition=None,
        offset=None,
        message=f"broken after step {steps} of {again.trace.header.scenario}: {again.sentence}",
    )


def _place(p: int) -> str:
    return "__consumer_offsets-0" if p == OFFSETS else f"p-{p}"


def _transactions(state: State, setup: Setup) -> list[TransactionSummary]:
    """The transactions that wrote something."""
    found = []
    for label in range(1, len(state.ghost.labels) + 1):
        records = [
            (p, offset)
            for p, partition in enumerate(state.partitions)
            for offset in range(partition.end)
            if partition.log[offset].label == label and is_data(partition.log[offset].kind)
        ]
        if not records:
            continue
        p, offset = records[0]
        first = state.partitions[p].log[offset]
        decided = Outcome(state.ghost.labels[label - 1].decided or fate(state.partitions[p], offset))
        k = setup.bounds.transactional_id[(label - 1) // TXNS]
        summary = TransactionSummary(
            transactional_id=id_name(k) if k >= 0 else None,
            producer_id=int(first.producer_id),
            producer_epoch=int(first.producer_epoch),
            outcome=_ENDED[decided],
            partitions=sorted({_place(p) for p, _ in records}),
        )
        found.append(summary)
    return found


def _committed(state: State, setup: Setup) -> dict[str, Sequence[int]]:
    stable = _last_stable(state, setup)
    return {
        _place(p): [
            offset
            for offset in range(stable[_place(p)])
            if is_data(partition.log[offset].kind) and fate(partition, offset) == Outcome.COMMIT
        ]
        for p, partition in enumerate(state.partitions)
        if partition.end
    }


def _last_stable(state: State, setup: Setup) -> dict[str, int]:
    return {
        _place(p): replicas.stable(state, p, setup.rules).last_stable
        for p, partition in enumerate(state.partitions)
        if partition.end
    }
