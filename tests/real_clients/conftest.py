"""A stage for a client that is installed; the test of one that is not is skipped, with how to install it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.real_clients.scenarios", "tests.real_clients.frameworks")

from tests.real_clients.install import how_to, is_ready  # noqa: E402  # after what its asserts are told by
from tests.real_clients.scenarios import Stage  # noqa: E402  # after what its asserts are told by


@pytest.fixture
def client(request: pytest.FixtureRequest) -> str:
    name, told = str(request.param), request.node.callspec.params
    row = told.get("scenario") or told.get("fault") or request.node.originalname
    request.node.user_properties += [("row", row), ("client", name)]
    if not is_ready(name):
        pytest.skip(how_to(name))
    return name


@pytest.fixture
def stage(client: str, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(client, tmp_path)
    with made.ends:
        yield made
