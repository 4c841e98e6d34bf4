"""The transaction tests of sarama and franz-go pass against `zombieproof serve`, also with a kill."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.real_clients.go_suites import CLIENTS, ROWS, SUITES, Suite, listed, results, run, version
from tests.real_clients.install import how_to, is_ready
from tests.real_clients.scenarios import FAULTS
from tests.real_clients.test_scenarios import plan_without


@pytest.fixture
def go_suites() -> None:
    """Skip a test that needs the suites if they are not installed."""
    if not is_ready("go-suites"):
        pytest.skip(how_to("go-suites"))


@pytest.mark.slow
@pytest.mark.parametrize(("row", "client"), SUITES)
def test_the_tests_of_a_client_pass(row: str, client: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    request.node.user_properties += [("row", row), ("client", client)]
    request.getfixturevalue("go_suites")
    for suite in SUITES[row, client]:
        (tmp_path / suite.file).mkdir()
        run(suite, tmp_path / suite.file)


@pytest.mark.slow
def test_what_is_read_too_early_fails_a_test_of_sarama(tmp_path: Path, go_suites: None) -> None:
    suite = replace(SUITES["stay up", "sarama tests"][0], tests=("TestFuncTxnAbortedProduce",))
    with pytest.raises(AssertionError, match="'TestFuncTxnAbortedProduce': 'FAIL'"):
        run(suite, tmp_path, *plan_without(tmp_path, "stable_bound"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suite", "nth", "says"),
    [
        (SUITES["stay up", "franz-go tests"][0], 1, "consumed too much"),
        (SUITES["are killed", "sarama tests"][1], 30, "is read 2 times"),
    ],
)
def test_a_record_that_is_written_twice_fails_the_test(
    suite: Suite, nth: int, says: str, tmp_path: Path, go_suites: None
) -> None:
    fault = {**FAULTS["nobody hears of a record"], "request": {"api": "Produce", "nth": nth}}
    plan = plan_without(tmp_path, "duplicate_check", "sequence_check", faults=[fault])
    with pytest.raises(AssertionError, match=says):
        run(replace(suite, kills=False, kills_at=None), tmp_path, *plan)


def test_a_test_counts_that_has_passed() -> None:
    said = """\
=== RUN   TestTxnEtl
    some words --- PASS: TestOther (0.00s)
--- FAIL: TestTxnEtl (25.29s)
    --- PASS: TestTxnEtl/range (12.23s)
    --- SKIP: TestTxnEtl/range/848 (0.00s)
"""
    assert results(said) == {"TestTxnEtl": "FAIL", "TestTxnEtl/range": "PASS", "TestTxnEtl/range/848": "SKIP"}


def test_each_suite_is_in_a_row_and_a_column() -> None:
    assert {*SUITES} == {(row, client) for row in ROWS for client in CLIENTS}
    assert all(version(client).startswith("v1.") for client in CLIENTS)
    names = {name for suites in SUITES.values() for suite in suites for name in suite.tests}
    assert {name for name in names if f"`{name}`" not in listed()} == set()
