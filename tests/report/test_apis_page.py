"""docs/apis.md holds every API of Kafka's, says why one is not served, and is never stale."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.model.kafka_versions import known

pytestmark = pytest.mark.skipif(find_spec("kio") is None, reason="kio (extra `wire`) is missing; nothing else says it")

OFFERED: dict[str, list[int]] = json.loads(
    (Path(__file__).parents[1] / "model" / "versions_of_brokers.json").read_text(encoding="utf-8")
)["4.4.0"]


def test_the_committed_page_is_that_of_the_files(repository_root: Path) -> None:
    from zombieproof.report.apis_page import check  # noqa: PLC0415  # needs kio

    assert [str(stale) for stale in check(repository_root / "docs" / "apis.md")] == []


def test_every_api_that_kafka_offers_has_a_row() -> None:
    from zombieproof.report.apis_page import page  # noqa: PLC0415  # needs kio

    text, names = page(), {row[0]: name for name, row in known()["4.4"].items()}
    for key, (oldest, newest) in OFFERED.items():
        span = str(oldest) if oldest == newest else f"{oldest} to {newest}"
        rows = [line for line in text.splitlines() if line.startswith(f"| {key} | {names[int(key)]} | ")]
        assert len(rows) == 1, names[int(key)]
        assert f" | {span} | " in rows[0]


def test_every_file_says_which_api_and_versions_it_is_of() -> None:
    from zombieproof.report.apis_page import told_of  # noqa: PLC0415  # needs kio
    from zombieproof.wire.apis import WIRE_APIS  # noqa: PLC0415  # needs kio

    for key in WIRE_APIS:
        told = told_of(key)
        assert len(told) > 20, key.name
        assert "versions " not in told.split(":")[0].split(".")[0], f"{key.name}: {told}"


def test_an_api_that_is_served_is_not_told_as_one_that_is_not() -> None:
    from zombieproof.report.apis_page import page  # noqa: PLC0415  # needs kio
    from zombieproof.wire.not_served import NOT_SERVED, NotServed  # noqa: PLC0415  # with it

    both = {**NOT_SERVED, 0: NotServed("Produce", 0, 3, 13, "an error")}
    assert page(both) == page()


def test_a_page_that_was_edited_or_is_missing_is_found(tmp_path: Path) -> None:
    from zombieproof.report.apis_page import COMMAND, check, write  # noqa: PLC0415  # needs kio

    path = write(tmp_path / "docs" / "apis.md")
    assert check(path) == []
    path.write_text(path.read_text(encoding="utf-8").replace("Produce", "Consume"), encoding="utf-8")
    assert [stale.why.partition(":")[0] for stale in check(path)] == ["stale"]
    path.unlink()
    assert [stale.why for stale in check(path)] == [f"missing: run `{COMMAND}`"]
