"""One session of Spark with its own Kafka connector for all tests here."""

from collections.abc import Iterator

import pytest

from tests.real_clients.install import how_to, is_ready
from tests.spark_connector.talking import NAME, Connector


@pytest.fixture(scope="session")
def connector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connector]:
    """The connector, which does steps at the brokers of each test."""
    if not is_ready(NAME):
        pytest.skip(f"{how_to(NAME)}; tests/real_clients has Kafka's own Java clients, on which it stands")
    with Connector(tmp_path_factory.mktemp("connector") / "spark.log") as begun:
        yield begun


@pytest.fixture(autouse=True)
def _row_of_the_page(request: pytest.FixtureRequest) -> None:
    """What the page tells of this test: its sentence, and which option or broker it is about."""
    named = request.node.callspec.params if "connector" in request.fixturenames else {}
    if not named:
        return
    option = named.get("option") or next(reversed(named.get("options", {})), "")
    title = (request.function.__doc__ or "").partition("\n")[0]
    row = f"{title}: `{option.replace('_', '.')}`" if option else title
    request.node.user_properties += [("row", row), ("client", str(named["brokers"]))]
