"""Times for people: UTC and the zone of the machine; what no calendar has is still said."""

import time
from collections.abc import Callable, Iterator

import pytest

from zombieproof.traces.readers.timestamps import local, timestamp_ms, utc

MOMENT = 1795267188339


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Sets the zone of the machine."""

    def choose(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield choose
    monkeypatch.undo()
    time.tzset()


def test_a_time_is_written_in_utc() -> None:
    assert utc(MOMENT) == "2026-11-21 13:19:48.339Z"
    assert utc(0) == "1970-01-01 00:00:00.000Z"


def test_what_is_written_at_the_head_of_a_line_is_read_again() -> None:
    assert timestamp_ms(f"{utc(MOMENT)} x") == MOMENT


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("UTC0", "2026-11-21 13:19:48.339+00:00"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-11-21 14:19:48.339+01:00"),
        ("IST-5:30", "2026-11-21 18:49:48.339+05:30"),
        ("EST5", "2026-11-21 08:19:48.339-05:00"),
    ],
)
def test_a_local_time_says_its_offset(zone: Callable[[str], None], name: str, written: str) -> None:
    zone(name)
    assert local(MOMENT) == written


def test_a_local_time_knows_summer(zone: Callable[[str], None]) -> None:
    zone("CET-1CEST,M3.5.0,M10.5.0/3")
    assert local(MOMENT - 150 * 24 * 3600_000).endswith("+02:00")


@pytest.mark.parametrize("ms", [10**18, -(10**14), 2**63 - 1])
def test_a_time_that_no_calendar_has_is_given_as_its_number(ms: int) -> None:
    assert (utc(ms), local(ms)) == (f"{ms} ms", f"{ms} ms")


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-11-21T13:19:48.339Z x", MOMENT),
        ("2026-11-21T13:19:48,339 x", MOMENT),
        ("[2026-11-21 13:19:48.339] x", MOMENT),
        ("2026-11-21T14:19:48.339+01:00 x", MOMENT),
        ("2026-11-21T14:19:48.339+0100\tx", MOMENT),
        ("2026-11-21 14:19:48,339 +0100 x", MOMENT),
        ("2026-11-21T07:49:48.339-05:30 x", MOMENT),
        ("2026-11-21T14:19:48.339+01 x", MOMENT),
        ("2026-11-21T13:19:48.339123456Z x", MOMENT),
        ("2026-11-21 13:19:48.3 UTC x", MOMENT - 39),
        ("2026-11-21 13:19:48 x", MOMENT - 339),
        ("2026-11-21 13:19:48 -5 x", MOMENT - 339),
        ("1969-12-31 23:59:59,250 x", -750),
        ("2026-11-21 13:19:48.339x", None),
        ("2026-11-21T13:19:48.339+99:00 x", None),
        ("0001-01-01T00:00:00+05:00 x", -62135614800000),
        ("2026-13-21 13:19:48 x", None),
    ],
)
def test_a_time_at_the_head_of_a_line_is_read_with_its_offset(text: str, ms: int | None) -> None:
    assert timestamp_ms(text) == ms
