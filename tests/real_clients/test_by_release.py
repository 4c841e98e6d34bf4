"""Brokers of an old release let clients of their time in, up to a committed record."""

from pathlib import Path

import pytest

from tests.real_clients.by_release import KINDS, PAGE, drive
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


def test_the_page_tells_of_every_release() -> None:
    rows = [
        line.split("|")[1].strip() for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")
    ]
    assert rows[2:] == list(RELEASES)
