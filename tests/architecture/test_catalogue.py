"""The catalogue of promises: each is a sentence with a source, is judged where it says so, and is seen broken.

That mutants break what is judged in states is shown by `checker/test_scenarios.py`, that changed histories break what
is judged in recordings by `traces/replay/test_replay_promises.py`: here the catalogue names them.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.test_stateful import NOT_HERE
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.model import TRANSACTIONS
from zombieproof.checker.transactions.state import State
from zombieproof.model import durability, endings, folds, progress, promises, witnesses
from zombieproof.model.catalogue import CATALOGUE, IN_RECORDINGS, IN_STATES, Guarantee, Where

HELPERS = {"fate", "is_data"}
"""Public functions of `promises` that are no promise: what several of them ask."""

MUTANTS = {(mutant.name, mutant.breaks) for scenario in SCENARIOS.values() for mutant in scenario.mutants}
FIELDS = {"not_judged", "base_offset"}
"""Texts of judges that look like a promise and name a field of data."""
NAME = re.compile(r"[a-z]+(?:_[a-z]+)+")

each = pytest.mark.parametrize("guarantee", CATALOGUE, ids=lambda guarantee: f"{guarantee.name}-{guarantee.where[0]}")


@each
def test_a_promise_is_a_sentence_with_a_source_and_a_place_and_something_that_breaks_it(guarantee: Guarantee) -> None:
    assert guarantee.name.isidentifier()
    assert guarantee.sentence[0].isupper()
    assert guarantee.sentence.endswith(".")
    assert all((guarantee.source, guarantee.where, guarantee.broken_by))
    assert (guarantee.predicate is not None) == (Where.STATE in guarantee.where)
    assert bool(guarantee.needs) == (Where.RECORDING in guarantee.where)


@each
def test_a_form_of_another_promise_names_one_of_states(guarantee: Guarantee) -> None:
    assert guarantee.form_of in {"", *IN_STATES}
    if Where.RECORDING in guarantee.where and guarantee.name in IN_STATES:
        assert guarantee.form_of == guarantee.name, "the same name is the same promise"


def test_no_place_has_two_promises_of_one_name() -> None:
    for where in Where:
        names = [guarantee.name for guarantee in CATALOGUE if where in guarantee.where]
        assert len(names) == len(set(names)) > 0, where


def predicates() -> set[str]:
    found = {
        name
        for module in (promises, folds, durability, endings, progress, witnesses)
        for name, value in inspect.getmembers(module, inspect.isfunction)
        if value.__module__ == module.__name__ and not name.startswith("_")
    }
    return found - HELPERS


def test_every_predicate_is_in_the_catalogue_and_in_the_model() -> None:
    assert predicates() == set(IN_STATES) == {promise.name for promise in TRANSACTIONS.promises}


@each
def test_what_is_judged_in_states_is_broken_by_what_it_names(guarantee: Guarantee) -> None:
    if guarantee.kind == "sometimes":
        assert guarantee.broken_by == "the initial state"
        assert not guarantee.holds(State()), "it holds before anything happened: nothing would have to be reached"
    elif Where.STATE in guarantee.where:
        assert (guarantee.broken_by, guarantee.name) in MUTANTS


def test_a_promise_of_recordings_says_that_it_cannot_judge_a_state() -> None:
    with pytest.raises(ValueError, match="replicas_agree is judged in recordings, not in states"):
        IN_RECORDINGS["replicas_agree"].holds(State())


def test_live_clusters_are_judged_by_what_the_catalogue_says() -> None:
    live = {name for name, one in IN_STATES.items() if Where.CLUSTER in one.where}
    always = {name for name, one in IN_STATES.items() if one.kind == "always"}
    assert live == always - set(NOT_HERE)


# ---------------------------------------------------------------- who judges recordings names an entry


def named_in(sources: Iterator[tuple[str, str]]) -> dict[str, set[str]]:
    """Texts that look like the name of a promise, by file."""
    found: dict[str, set[str]] = {}
    for name, source in sources:
        texts = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
        found[name] = {text for text in texts if isinstance(text, str) and NAME.fullmatch(text)}
    return found


def judging_sources(root: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((root / "zombieproof" / "traces" / "judging").rglob("*.py")):
        yield path.name, path.read_text()


def test_every_judge_names_an_entry_and_every_entry_has_a_judge(repository_root: Path) -> None:
    found = named_in(judging_sources(repository_root))
    assert set().union(*found.values()) - FIELDS == set(IN_RECORDINGS)


def test_a_judge_that_names_no_entry_is_noticed() -> None:
    found = named_in(iter([("judge.py", 'Fault("a_promise_that_nobody_made", message)')]))
    assert found == {"judge.py": {"a_promise_that_nobody_made"}}
