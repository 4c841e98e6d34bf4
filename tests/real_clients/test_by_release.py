"""Brokers of an old release let clients of their time in, up to a committed record."""

from pathlib import Path

import pytest

from tests.real_clients.by_release import KINDS, PAGE, drive, page, rows_of
from tests.real_clients.install import GENERATIONS, JAVA, OF_THEIR_TIME, clients_of, how_to, is_ready
from zombieproof.model.releases import RELEASES


@pytest.mark.parametrize("release", GENERATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_client_of_its_time_commits_a_record(
    release: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = clients_of(release)[kind]
    request.node.user_properties += [("row", f"brokers of {release}"), ("client", kind)]
    if not is_ready(name):
        pytest.skip(how_to(name))
    assert drive(release, name, tmp_path).split()[1:] == ["committed"]


def test_there_are_three_clients_of_each_release() -> None:
    assert {*GENERATIONS} <= {*RELEASES} == {*JAVA}
    for release in RELEASES:
        assert {*clients_of(release).values()} <= {*OF_THEIR_TIME}


def test_the_page_has_what_came_of_every_client() -> None:
    rows = rows_of(PAGE.read_text(encoding="utf-8"))
    assert [*rows] == list(RELEASES)
    for release, row in rows.items():
        of_their_time = clients_of(release)
        assert row == tuple(of_their_time[kind].removeprefix(f"{kind}-") for kind in KINDS), release


def test_a_run_of_some_releases_keeps_the_rows_of_the_others() -> None:
    rows = {release: (release, "**failed**", "1.0: not installed") for release in RELEASES}
    assert rows_of(page(rows)) == rows
    assert rows_of(page({"4.4": rows["4.4"]})) == {**dict.fromkeys(RELEASES, ("not run",) * 3), "4.4": rows["4.4"]}
