"""Judges find each by itself: in which order they are asked makes no difference, and none changes what another reads.

What explains what is said when all have spoken (`explaining.relations`); here every relation is seen at work.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.traces.evidence import AbortedTransaction, Evidence
from zombieproof.traces.explaining.relations import relate
from zombieproof.traces.judging import judges
from zombieproof.traces.judging.folded import Folded, fold
from zombieproof.traces.judging.found import Found
from zombieproof.traces.judging.judges import JUDGES, Judge, find
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Finding
from zombieproof.traces.watching import Watch

if TYPE_CHECKING:
    from tests.traces.replay.conftest import History

T0, T1, GROUPS = ("t", 0), ("t", 1), (CONSUMER_OFFSETS, 0)
RELATED = ("partitions", "markers", "told", "aborted index")
"""The judges whose faults explain each other; all their orders are tried."""
FEW = settings(max_examples=(settings.default or settings()).max_examples // 2)


def folded(evidence: Evidence) -> Folded:
    return fold(evidence, Rules(), Watch())


def findings(given: Folded, order: Sequence[str]) -> list[Finding]:
    return [fault.finding() for fault in relate(find(given, order=order))]


def orders_of_the_related() -> Iterator[list[str]]:
    others = [name for name in JUDGES if name not in RELATED]
    return ([*order, *others] for order in permutations(RELATED))


def many_faults(made: "type[History]") -> "History":
    """A history with several faults that explain each other, of which an application and the index tell too."""
    history = made.two_transactions()
    for place in (T0, T1):
        history.sent(place, 0)
    history.call("commit")
    history.turn(T1, 1)
    history.marker(T0, 7, 9, commit=False)
    history.data(T0, 7, 4, 0)
    history.data(T1, 7, 0, 2)
    history.evidence.aborted_transactions.append(AbortedTransaction(*T1, "", 7, 5, 9, 9, "by hand"))
    return history


def test_the_order_of_judges_makes_no_difference(made: "type[History]") -> None:
    given = folded(many_faults(made).evidence)
    usual = findings(given, list(JUDGES))
    assert len({finding.promise for finding in usual}) > 1
    for order in orders_of_the_related():
        assert findings(given, order) == usual, order


@FEW
@given(data=st.data())
def test_the_order_of_judges_makes_no_difference_to_what_is_drawn(data: st.DataObject, made: "type[History]") -> None:
    history = made.two_transactions() if data.draw(st.booleans()) else many_faults(made)
    for place in (T0, T1):
        for _ in range(data.draw(st.integers(0, 3))):
            what, epoch = data.draw(st.sampled_from(["commit", "abort", "data", "lose"])), data.draw(st.integers(0, 4))
            if what == "lose" and history.log(place).batches:
                history.remove(place, 0)
            elif what == "data":
                history.data(place, 7, epoch, 0)
            else:
                history.marker(place, 7, epoch, what == "commit")
    given = folded(history.evidence)
    assert findings(given, data.draw(st.permutations(list(JUDGES)))) == findings(given, list(JUDGES))


def recordings() -> list[Path]:
    root = Path(__file__).resolve().parents[3]
    shared = [
        path
        for path in (root.parent / "shared" / "traces").glob("*/about.yaml")
        if path.parent.name
        not in ("19-soak", "20-epoch-exhaustion", "17-producer-performance", "18-streams-word-count")
    ]
    return sorted(path.parent for path in [*(root / "tests" / "recordings").glob("*/about.yaml"), *shared])


@pytest.mark.parametrize("folder", recordings(), ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_the_order_of_judges_makes_no_difference_to_a_recording(folder: Path) -> None:
    given = folded(collect([folder]))
    usual = findings(given, list(JUDGES))
    for order in (list(JUDGES)[::-1], *list(orders_of_the_related())[1::7]):
        assert findings(given, order) == usual, order


def test_there_are_recordings_to_judge() -> None:
    assert len(recordings()) >= 8


def as_text(given: Folded) -> str:
    parts = (given.histories, given.partitions, given.seen, given.applications)
    for partition in given.partitions.values():
        assert partition.is_compacted in (True, False), "it is found out once, and kept"
    return repr(parts)


@pytest.mark.parametrize("name", JUDGES)
def test_a_judge_changes_nothing_that_it_reads(name: str, made: "type[History]") -> None:
    given = folded(many_faults(made).evidence)
    before = as_text(given)
    find(given, order=[name])
    assert as_text(given) == before


def test_a_judge_that_deletes_what_another_found_is_noticed(
    made: "type[History]", monkeypatch: pytest.MonkeyPatch
) -> None:
    def deletes(given: Folded, watch: Watch) -> list[Found]:
        for partition in given.partitions.values():
            partition.faults.clear()
        return []

    monkeypatch.setattr(judges, "JUDGES", {**JUDGES, "deletes": Judge(deletes)})
    given = folded(many_faults(made).evidence)
    before = as_text(given)
    usual = findings(given, [*JUDGES, "deletes"])
    assert findings(given, ["deletes", *JUDGES]) != usual
    assert as_text(given) != before


def test_nothing_that_was_found_is_lost_but_what_another_fault_explains(made: "type[History]") -> None:
    found = find(folded(many_faults(made).evidence))
    reported = relate(found)
    count = sum(map(len, found.values()))
    assert count > len(reported) > 1
    assert all(fault.consequences == list(dict.fromkeys(fault.consequences)) for fault in reported)


# ---------------------------------------------------------------- each relation


def refused(history: "History") -> None:
    history.marker(T1, 7, 0, commit=False)


def wrong_epoch(history: "History") -> None:
    history.change(T0, 1, producer_epoch=2)


def left_open(history: "History") -> None:
    history.remove(T0, 1)


def nobodys(history: "History") -> None:
    history.data(T1, 7, 5, 0)


def index_follows(history: "History") -> None:
    history.remove(T0, 1)
    history.evidence.aborted_transactions.append(AbortedTransaction(*T0, "", 7, 0, 9, 9, "by hand"))


def told_what_was_turned(history: "History") -> None:
    history.turn(T0, 1)
    history.sent(T0, 0)
    history.sent(T1, 0)
    history.call("commit")


RELATIONS: dict[str, tuple[Callable[["History"], None], str, str]] = {
    "a refused marker that nobody decided": (
        refused,
        "epochs_never_go_down",
        "no decision of the coordinator explains it",
    ),
    "what is rightful looks fenced": (wrong_epoch, "marker_follows_a_decision", "looks fenced"),
    "what joined an open transaction": (left_open, "every_listed_partition_has_its_marker", "joined what it left open"),
    "data of nobody stays open": (
        nobodys,
        "no_open_transaction_that_nobody_owns",
        "it leaves a transaction open that nobody will ever end",
    ),
    "the index says so too": (index_follows, "every_listed_partition_has_its_marker", "the index of aborted"),
    "the application had been told": (
        told_what_was_turned,
        "same_outcome_on_every_partition",
        "application 'app' had been told that it was committed",
    ),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_a_fault_that_another_one_explains_is_told_with_it(name: str, made: "type[History]") -> None:
    change, promise, says = RELATIONS[name]
    history = made.two_transactions()
    change(history)
    given = folded(history.evidence)
    assert sum(map(len, find(given).values())) > 1, "there is nothing to relate"
    [finding] = replay(history.evidence).findings
    assert (finding.promise, says in finding.message) == (promise, True), finding.message


def test_of_a_told_transaction_only_what_nothing_else_explains_is_left(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.transaction(0, T0, T1)
    history.turn(T0, 1)
    history.sent(T0, 0)
    history.sent(T1, 0)
    history.sent(T1, 50)
    history.call("commit")
    contrary, told = replay(history.evidence).findings
    assert contrary.promise == "same_outcome_on_every_partition"
    assert "application 'app' had been told that it was committed" in contrary.message
    assert (told.partition, told.offset) == (1, 50)
    assert "t-0" not in told.message
