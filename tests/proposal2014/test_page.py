"""What the page about the proposal of 2014 says is what explorations find; each reading was explored both ways."""

from pathlib import Path

import pytest

from tests.proposal2014 import __main__ as command
from tests.proposal2014.exploring import Outcome, explored, witness
from tests.proposal2014.page import BEGIN, END, PAGE, STORIES, MissingMarkers, stories_page, story, with_parts
from zombieproof.checker.proposal2014.promises import PROMISES
from zombieproof.checker.proposal2014.readings import OTHERWISE
from zombieproof.checker.proposal2014.scenarios import CLEANED
from zombieproof.checker.scenarios import scenarios_of
from zombieproof.model.proposal2014.rules import Reading, readings

COMMITTED = (command.ROOT / PAGE).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    """Half a minute of explorations."""
    return [explored(each) for each in OTHERWISE]


@pytest.mark.slow
def test_both_pages_say_what_is_found(outcomes: list[Outcome]) -> None:
    for path, text in command.pages(outcomes).items():
        assert (command.ROOT / path).read_text(encoding="utf-8") == text, "run make proposal"


REPAIRS = {"coordinator_chooses_tx_ids"}
"""Readings whose other way is as good: the text has two ways to make Begin safe to send again."""


@pytest.mark.slow
def test_a_reading_that_breaks_nothing_alone_breaks_something_together_with_another(outcomes: list[Outcome]) -> None:
    for reading in readings():
        its = [outcome for outcome in outcomes if outcome.asked.off[0] == reading.name]
        assert any(outcome.broken for outcome in its) != (reading.name in REPAIRS), reading.name


def test_every_reading_is_explored_the_other_way_and_by_itself() -> None:
    alone = {each.off[0] for each in OTHERWISE if len(each.off) == 1}
    assert alone == {reading.name for reading in readings()}


@pytest.mark.parametrize("reading", readings(), ids=lambda reading: reading.name)
def test_the_page_names_every_reading(reading: Reading) -> None:
    assert f"| `{reading.name}` | {reading.meaning} | {reading.otherwise} |" in COMMITTED, "run make proposal"


def test_the_page_names_every_promise_and_every_scenario() -> None:
    for promise in PROMISES:
        assert promise.kind == "sometimes" or f"| `{promise.name}` |" in COMMITTED, "run make proposal"
    for scenario in scenarios_of("proposal2014"):
        assert f"| `{scenario.name}` | {scenario.story} | {scenario.distinct:,} |" in COMMITTED, "run make proposal"


def test_a_part_is_written_between_its_markers_and_nowhere_else() -> None:
    text = f"before\n{BEGIN.format(part='a b')}old\n{END.format(part='a b')}\nbehind\n"
    assert with_parts(text, {"a b": "new\n"}) == text.replace("old", "new")


@pytest.mark.parametrize(
    "text", ["", END.format(part="a"), BEGIN.format(part="a"), END.format(part="a") + BEGIN.format(part="a")]
)
def test_a_page_without_a_place_is_refused(text: str) -> None:
    with pytest.raises(MissingMarkers):
        with_parts(text, {"a": "said"})


def test_a_page_that_differs_is_not_accepted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(command, "OTHERWISE", ())
    monkeypatch.setattr(command, "pages", lambda _: {STORIES: "one\n"})
    assert command.main(["--check"]) == 1
    assert "+one" in capsys.readouterr().err
    assert command.main([]) == 0
    assert command.main(["--check"]) == 0


def test_an_exploration_tells_what_breaks_shortest_first_and_what_holds() -> None:
    asked = next(each for each in OTHERWISE if each.scenario is CLEANED)
    outcome = explored(asked)
    assert [each.promise for each in outcome.broken][:2] == [
        "the_group_goes_on_behind_what_is_committed",
        "each_block_is_committed_once",
    ]
    assert len(outcome.broken[0].steps) == 14
    assert len(outcome.held) + len(outcome.broken) == len(CLEANED.kept)
    text = stories_page([outcome])
    assert f"{len(outcome.held)} properties hold in {outcome.distinct:,} states." in text
    assert outcome.broken[0].steps[-1] in text


def test_what_nobody_knows_is_not_told_as_held() -> None:
    unknown = Outcome(OTHERWISE[0], held=("a",), distinct=7, undecided="a capacity was exceeded")
    assert "The other properties are undecided: a capacity was exceeded." in stories_page([unknown])


def test_a_story_says_where_it_repeats() -> None:
    assert "Then, forever:\n 2. b" in story(["a", "b"], 1)
    assert "Then no one has to act any more." in story(["a", "b"], 2)


def test_a_way_to_what_does_not_happen_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no way to tell of"):
        witness(CLEANED, (), "nothing_is_delivered_twice", {})
