"""What every test may use. Fixtures for one kind of test live in that folder's own conftest.py."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# `make test` must give the same answer twice, so examples are derived from the test itself.
# HYPOTHESIS_PROFILE=explore looks for new examples, and many more of them.
settings.register_profile("gate", deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "explore",
    deadline=None,
    max_examples=2000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))


LEFT_OUT = {"quick": ("slow", "deep"), "ci": ("deep",), "deep": ()}
"""The marks of tests that each profile leaves out; ZOMBIEPROOF_TESTS chooses one, and `-m` with a mark overrules it."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes longer than the profile allows."""
    profile = os.environ.get("ZOMBIEPROOF_TESTS", "quick")
    if profile not in LEFT_OUT:
        raise pytest.UsageError(f"ZOMBIEPROOF_TESTS={profile} is no profile; there are: {', '.join(LEFT_OUT)}")
    asked = config.getoption("markexpr")
    marks = [mark for mark in LEFT_OUT[profile] if mark not in asked]
    long = [item for item in items if any(item.get_closest_marker(mark) for mark in marks)]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in set(long)]


@pytest.fixture(scope="session")
def repository_root() -> Path:
    """The folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """The large recordings that may lie beside a clone; a test that needs them is skipped where they do not."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared is not beside this clone: the committed samples in tests/recordings are tested instead")
    return folder
