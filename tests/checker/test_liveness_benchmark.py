"""What *leads to* promises cost, as it is measured: of explorations that find the same, in which everything holds."""

from typing import Any

import pytest

from benchmarks import liveness
from benchmarks.liveness import TITLES, Explored

HOLDS = Explored(1.0, 100, 10, 30, "holds")


def answering(monkeypatch: pytest.MonkeyPatch, without: list[Explored], owing: list[Explored]) -> None:
    """Have processes find this, one after the other; the first with promises is not measured."""
    left = {False: list(without), True: [owing[0], *owing]}

    def beside(name: str, bounds: dict[str, int], *, leads_to: bool) -> Explored:
        del name, bounds
        return left[leads_to].pop(0)

    monkeypatch.setattr(liveness, "beside", beside)


def test_a_row_has_the_median_of_ratios_and_the_most_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    without = [HOLDS, HOLDS._replace(seconds=2.0, mib=120), HOLDS._replace(seconds=4.0)]
    owing = [HOLDS._replace(seconds=3.0), HOLDS._replace(seconds=3.0), HOLDS._replace(seconds=8.0, mib=150)]
    answering(monkeypatch, without, owing)
    told = dict(zip(TITLES, liveness.row_of("a_scenario", {"n": 3, "late": 1}, 3), strict=True))
    assert told == {
        "scope": "`a_scenario`, n=3, late=1",
        "states:": "10",
        "generated:": "30",
        "without, s:": "2.00",
        "with, s:": "3.00",
        "ratio:": "2.0",
        "MiB without:": "120",
        "MiB with:": "150",
    }


@pytest.mark.parametrize("other", [{"distinct": 11}, {"generated": 31}, {"verdict": "violated"}])
def test_runs_that_differ_are_not_compared(other: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, [HOLDS], [HOLDS._replace(**other)])
    with pytest.raises(ValueError, match="a_scenario"):
        liveness.row_of("a_scenario", {"n": 3}, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("gives_up", "code"), [(1, 0), (0, 1)])
def test_explorations_are_measured(
    gives_up: int, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(liveness, "SCOPES", (("two_phase_commit_ends", {"n": 4, "gives_up": gives_up}),))
    assert liveness.main(["--rounds", "1"]) == code
    said = capsys.readouterr()
    assert ("| `two_phase_commit_ends`, n=4, gives_up=1 | 1," in said.out) == (code == 0)
    assert ("'violated'" in said.err) == (code == 1)


def test_no_rounds_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        liveness.main(["--rounds", "0"])
    assert "--rounds 0: give 1 or more" in capsys.readouterr().err
