"""What counts once the high watermark has passed it: answers, what is read, what is stable, and what a cut leaves."""

import pytest

from zombieproof.model.decisions.replication import holds_back, is_everywhere, readable_end, reloads_when_cut
from zombieproof.model.rules import Rules, with_switches


@pytest.mark.parametrize(("end_offset", "answered"), [(8, True), (9, True), (10, False)])
def test_who_waits_is_answered_when_the_high_watermark_has_passed_the_last_record(
    end_offset: int, answered: bool
) -> None:
    assert is_everywhere(9, end_offset, Rules()) is answered


@pytest.mark.parametrize(("marker", "unstable"), [(8, False), (9, True), (10, True)])
def test_a_transaction_is_stable_when_its_marker_is_below_the_high_watermark(marker: int, unstable: bool) -> None:
    assert holds_back(marker, 9, Rules()) is unstable


def test_nobody_reads_above_the_high_watermark() -> None:
    assert readable_end(3, 5, Rules()) == 3


def test_a_replica_whose_log_is_cut_forgets_what_it_knew_from_there() -> None:
    assert reloads_when_cut(Rules())
    assert not reloads_when_cut(with_switches(Rules(), off=["cut_log_reloads"]))
