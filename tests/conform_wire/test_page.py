"""docs/conform.md says what there is."""

from pathlib import Path

import pytest

from tests.conform_wire.judging import SCENARIOS
from zombieproof.conformance.outside.judge import Judged
from zombieproof.conformance.outside.scenarios import FOLDER, ScenarioError, families, read_family


@pytest.fixture
def page(repository_root: Path) -> str:
    return (repository_root / "docs/conform.md").read_text()


def test_every_family_is_on_the_page(page: str) -> None:
    assert all(f"| {each.family} | " in page for each in families())


def test_scenarios_that_the_page_names_exist(page: str) -> None:
    found = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert found
    assert found <= set(SCENARIOS)


def test_what_is_told_of_each_verdict_is_on_the_page(page: str) -> None:
    assert all(f"`{name}`" in page for name in Judged.__dataclass_fields__)


def test_the_number_of_scenarios_is_the_one_on_the_page(page: str) -> None:
    assert f"testing it with {len(SCENARIOS)} sequences" in page


def test_names_of_scenarios_are_used_once() -> None:
    assert len(SCENARIOS) == sum(len(each.scenarios) for each in families())


WHOLE = (FOLDER / "errors.yaml").read_text()
DAMAGE = {
    "no YAML": ("[", "errors.yaml: "),
    "no family": ("about: nothing", "family: Field required"),
    "an unknown field": (WHOLE.replace("    rule:", "    rle:", 1), "scenarios.0."),
    "an unknown error": (
        WHOLE.replace("error: PRODUCER_FENCED", "error: PRODUCER_FENCES", 1),
        "'PRODUCER_FENCES' is no error of Kafka's",
    ),
    "an unknown API": (WHOLE.replace("InitProducerId: {}", "InitProducer: {}", 1), "InitProducer is no API"),
    "a step without an API": (WHOLE.replace("InitProducerId: {}", "version: 4", 1), "names 0 APIs"),
    "two expectations": (
        WHOLE.replace("expect: {error: NONE}", "expect: {error: NONE}\n        one_of: [{error: NONE}]", 1),
        "`expect` and `one_of` exclude each other",
    ),
    "no steps": (WHOLE.split("    steps:")[0] + "    steps: []\n", "steps: List should have at least 1 item"),
    "a release level that does not exist": (
        WHOLE.replace("    steps:", "    transaction_versions: [3]\n    steps:", 1),
        "transaction_versions.0",
    ),
    "a bug that is none": (
        WHOLE.replace("expect: {error: NONE}", "expect: {error: NONE}\n        matches: {X1: {}}", 1),
        "matches",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_of_scenarios_is_refused_by_its_place(tmp_path: Path, name: str) -> None:
    text, why = DAMAGE[name]
    path = tmp_path / "errors.yaml"
    path.write_text(text)
    assert text != WHOLE
    with pytest.raises(ScenarioError) as refused:
        read_family(path)
    assert why in str(refused.value)
