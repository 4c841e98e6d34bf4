"""The pytest plugin: brokers for a test of an application, under a plan of faults, judged when the test is over.

`txn_broker` is a broker of the test's own, `txn_cluster` are three; `@pytest.mark.txn_faults(plan=...)` and
`@pytest.mark.txn_story("name")` say how they misbehave. Nothing of brokers is imported before a test asks for them.
"""

from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from zombieproof.bridge.under_test import TestedBrokers
    from zombieproof.wire.plan.parts import Plan

BROKERS_OF_A_CLUSTER = 3
BROKERS: pytest.StashKey[list["TestedBrokers"]] = pytest.StashKey()
TRACE = "zombieproof-run.jsonl"


def pytest_configure(config: pytest.Config) -> None:
    """Tell the markers."""
    config.addinivalue_line(
        "markers",
        "txn_faults(plan, allow=()): txn_broker and txn_cluster misbehave by a plan (a Plan, a dict, or a YAML file "
        "beside the test); the promises named by allow may break",
    )
    config.addinivalue_line("markers", "txn_story(name, allow=()): they play a story; `zombieproof stories` lists them")


@pytest.fixture
def txn_broker(request: pytest.FixtureRequest, tmp_path: Path) -> "Iterator[TestedBrokers]":
    """A broker of the test's own, with the protocol's promises judged when the test is over."""
    yield from _brokers(request, tmp_path / TRACE, 1)


@pytest.fixture
def txn_cluster(request: pytest.FixtureRequest, tmp_path: Path) -> "Iterator[TestedBrokers]":
    """Three brokers of the test's own; the same is judged."""
    yield from _brokers(request, tmp_path / f"cluster-{TRACE}", BROKERS_OF_A_CLUSTER)


def _brokers(request: pytest.FixtureRequest, trace: Path, count: int) -> "Iterator[TestedBrokers]":
    try:
        from zombieproof.bridge.under_test import TestedBrokers  # noqa: PLC0415  # not before a test asks for it
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("kio"):
            raise
        pytest.fail("brokers that listen need the extra `wire`: pip install 'zombieproof[wire]'", pytrace=False)
    plan, allowed = _planned(request.node)
    try:
        brokers, wrong = TestedBrokers(plan, trace, max(count, plan.brokers), allowed), ""
    except ValueError as error:
        wrong = str(error)
    if wrong:
        _refuse(request.node, wrong)
    request.node.stash.setdefault(BROKERS, []).append(brokers)
    try:
        yield brokers
    finally:
        brokers.close()


def _planned(item: pytest.Item) -> "tuple[Plan, tuple[str, ...]]":
    """What the markers of a test say; the nearest counts."""
    from zombieproof.wire.plan.parts import Plan  # noqa: PLC0415  # not before a test asks for it
    from zombieproof.wire.plan.stories import story  # noqa: PLC0415

    faults, told = item.get_closest_marker("txn_faults"), item.get_closest_marker("txn_story")
    marker = faults or told
    if marker is None:
        return Plan(), ()
    name = "plan" if faults else "name"
    given, allowed = _arguments(item, marker, name)
    if faults and told:
        _refuse(item, "has txn_faults and txn_story: one test has one plan; write the faults of both into one")
    plan, wrong = None, ""
    try:
        plan = _plan_of(item, given) if faults else story(str(given))
    except ValueError as error:
        wrong = str(error)
    if plan is None:
        _refuse(item, f"{marker.name}: {wrong}")
    return plan, allowed


def _arguments(item: pytest.Item, marker: pytest.Mark, name: str) -> tuple[Any, tuple[str, ...]]:
    said = {**dict(zip((name,), marker.args, strict=False)), **marker.kwargs}
    if len(marker.args) > 1 or name not in said or set(said) - {name, "allow"}:
        _refuse(item, f"{marker.name} is given {_shown(marker)}; legal is {marker.name}({name}=..., allow=(...))")
    allowed = said.get("allow", ())
    return said[name], (allowed,) if isinstance(allowed, str) else tuple(allowed)


def _shown(marker: pytest.Mark) -> str:
    return ", ".join([*map(repr, marker.args), *(f"{name}={value!r}" for name, value in marker.kwargs.items())]) or "()"


def _plan_of(item: pytest.Item, given: Any) -> "Plan":
    from zombieproof.wire.plan.files import load_plan, plan_of  # noqa: PLC0415  # not before a test asks for it
    from zombieproof.wire.plan.parts import Plan  # noqa: PLC0415

    if isinstance(given, Plan):
        return given
    if isinstance(given, Mapping):
        return plan_of(given)
    if isinstance(given, str | Path):
        return load_plan(item.path.parent / given)
    raise ValueError(f"{given!r} is no plan; legal are a Plan, a dict, and the name of a YAML file beside the test")


def _refuse(item: pytest.Item, says: str) -> NoReturn:
    pytest.fail(f"{item.nodeid}: {says}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """When a test is over, judge what it did; one that has failed is told what brokers saw of it."""
    try:
        result = yield
    except BaseException:
        for brokers in item.stash.get(BROKERS, []):
            wrong = brokers.wrong()
            if wrong is not None:
                item.add_report_section("call", "zombieproof", str(wrong))
        raise
    found = [wrong for brokers in item.stash.get(BROKERS, []) if (wrong := brokers.wrong()) is not None]
    if found:
        pytest.fail("\n".join(map(str, found)), pytrace=False)
    return result
