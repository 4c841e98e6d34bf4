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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave deep walks out unless `-m` asks for them: they take longer than all other tests together."""
    if "deep" in config.getoption("markexpr"):
        return
    deep = [item for item in items if item.get_closest_marker("deep")]
    config.hook.pytest_deselected(items=deep)
    items[:] = [item for item in items if not item.get_closest_marker("deep")]


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
