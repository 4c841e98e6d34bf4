"""What every test may use. Fixtures for one kind of test live in that folder's own conftest.py."""

import gc
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
"""The large recordings that may lie beside a clone."""

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
# What `make test` draws: fewer of the same.
settings.register_profile("quick", settings.get_profile("gate"), max_examples=30)

PROFILE = os.environ.get("ZOMBIEPROOF_TESTS", "quick")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick" if PROFILE == "quick" else "gate"))


LEFT_OUT = {"quick": ("slow", "deep", "spark"), "ci": ("deep", "spark"), "deep": ("spark",)}
"""The marks of tests that each profile leaves out; ZOMBIEPROOF_TESTS chooses one, and `-m` with a mark overrules it.

`-m spark` takes those on real Spark that are not too long for the profile.
"""


LOOKS_FOR_GARBAGE = 50_000, 20, 20
"""After how many new objects garbage is looked for (`gc.set_threshold`).

Explorations on the live system keep millions of objects: by Python's own measure half of their time would go into that.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which brokers the tests of the pipeline are run at."""
    parser.addoption("--real-kafka", action="store_true", help="tests/pipeline, tests/spark: at a real Kafka, of Maven")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark as slow the cases outside a sample, and as deep the long ones and those outside CI's share."""
    sample, long, share = (item.get_closest_marker(name) for name in ("sample", "long", "share"))
    is_in_sample = sample is not None and any(word in item.name for word in sample.args)
    if sample is not None and not is_in_sample:
        item.add_marker(pytest.mark.slow)
    if share is not None and not is_in_sample and zlib.crc32(item.name.encode()) % share.args[0]:
        item.add_marker(pytest.mark.deep)
    if long is not None and any(word in item.name for word in long.args):
        item.add_marker(pytest.mark.deep)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays until the end: looking for garbage in it again and again takes a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*LOOKS_FOR_GARBAGE)
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes longer than the profile allows."""
    if PROFILE not in LEFT_OUT:
        raise pytest.UsageError(f"ZOMBIEPROOF_TESTS={PROFILE} is no profile; there are: {', '.join(LEFT_OUT)}")
    asked = config.getoption("markexpr")
    is_narrowed = any("::" in given for given in config.args) or config.getoption("keyword") or asked
    if not is_narrowed and SHARED.is_dir():  # of what lies there, some samples are
        _samples_name_tests(items)
    marks = [mark for mark in LEFT_OUT[PROFILE] if mark not in asked]
    long = [item for item in items if any(item.get_closest_marker(mark) for mark in marks)]
    config.hook.pytest_deselected(items=long)
    left_out = set(long)
    items[:] = [item for item in items if item not in left_out]


def _samples_name_tests(items: list[pytest.Item]) -> None:
    """Refuse marks that name no case: an empty sample would leave a kind of test out of `make test`.

    An empty share would leave it out of CI.
    """
    for name in ("sample", "long"):
        named: dict[tuple[str, str], bool] = {}
        for item in items:
            mark = item.get_closest_marker(name)
            for word in mark.args if mark else ():
                key = item.nodeid.partition("[")[0], word
                named[key] = named.get(key, False) or word in item.name
        if nothing := [f"{test}: {word}" for (test, word), found in named.items() if not found]:
            raise pytest.UsageError(f"@pytest.mark.{name} names no test of its own: {'; '.join(nothing)}")
    shared = [item for item in items if item.get_closest_marker("share")]
    in_ci = {item.nodeid.partition("[")[0] for item in shared if not item.get_closest_marker("deep")}
    if none_left := {item.nodeid.partition("[")[0] for item in shared} - in_ci:
        raise pytest.UsageError(f"@pytest.mark.share leaves nothing to CI: {'; '.join(sorted(none_left))}")


@pytest.fixture(scope="session")
def repository_root() -> Path:
    """The folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """The large recordings that may lie beside a clone; a test that needs them is skipped where they do not."""
    if not SHARED.is_dir():
        pytest.skip("../shared is not beside this clone: the committed samples in tests/recordings are tested instead")
    return SHARED
