"""Under the old protocol an epoch lasts for many transactions: order and time tell which marker belongs to which."""

from typing import TYPE_CHECKING

import pytest

from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.traces.judging.across import alignment

if TYPE_CHECKING:
    from tests.traces.replay.conftest import History

T0, T1 = ("t", 0), ("t", 1)


def many(made: "type[History]", outcomes: str) -> "History":
    """Transactions of one epoch, of two records each on t-0: C commits, A aborts."""
    history = made()
    history.state(S.EMPTY, 7, 0)
    for number, outcome in enumerate(outcomes):
        history.transaction(0, T0, commit=outcome == "C", tv=0, sequence=2 * number)
    return history


@pytest.fixture(params=["compared", "too many to compare"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of putting markers beside transactions."""
    if request.param != "compared":
        monkeypatch.setattr(alignment, "CELLS", 0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("outcomes", ["CCC", "CAC", "ACA", "AAAAAA", "CCACCAACC"])
def test_markers_of_one_epoch_belong_to_its_transactions_in_order(outcomes: str, made: "type[History]") -> None:
    assert many(made, outcomes).findings() == []


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("lost", range(4))
@pytest.mark.parametrize("outcomes", ["CCCC", "ACAC", "CAAC"])
def test_the_transaction_whose_marker_is_missing_is_told_from_its_neighbours(
    outcomes: str, lost: int, made: "type[History]"
) -> None:
    history = many(made, outcomes)
    history.remove(T0, 2 * lost + 1)
    found = history.findings()
    assert [(finding.promise, finding.offset) for finding in found] == [
        ("every_listed_partition_has_its_marker", 3 * lost)
    ]
    assert ("COMMIT" if outcomes[lost] == "C" else "ABORT") in found[0].message


@pytest.mark.parametrize("turned", range(3))
def test_a_marker_that_says_the_opposite_is_told_from_a_missing_one(turned: int, made: "type[History]") -> None:
    history = many(made, "CCC")
    history.turn(T0, 2 * turned + 1)
    found = history.findings()
    assert [(finding.promise, finding.offset) for finding in found] == [
        ("same_outcome_on_every_partition", 3 * turned + 2)
    ]


def test_a_repeated_marker_is_not_taken_for_that_of_the_next_transaction(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.transaction(0, T0, commit=False, tv=0)
    history.marker(T0, 7, 0, commit=False)
    history.state(S.ONGOING, 7, 0, T0, tv=0)
    history.data(T0, 7, 0, 2)
    history.state(S.PREPARE_ABORT, 7, 0, T0, tv=0)
    assert history.findings() == []


def test_a_record_that_arrives_behind_its_marker_hangs(made: "type[History]") -> None:
    history = many(made, "CAC")
    offset = history.data(T0, 7, 0, 6)
    assert [(finding.promise, finding.offset) for finding in history.findings()] == [
        ("no_open_transaction_that_nobody_owns", offset)
    ]


def test_an_id_may_change_between_both_protocols(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.transaction(0, T0, T1, tv=0)
    history.transaction(0, T0, T1, tv=2, sequence=2)
    history.transaction(1, T0, T1, tv=0, commit=False)
    history.transaction(1, T0, T1, tv=2, sequence=2)
    assert history.findings() == []


def test_thousands_of_transactions_of_one_epoch_are_judged(made: "type[History]") -> None:
    history = many(made, "CAC" * 300)
    history.remove(T0, 2 * 600 + 1)
    found = history.findings()
    assert [(finding.promise, finding.offset) for finding in found] == [
        ("every_listed_partition_has_its_marker", 3 * 600)
    ]
