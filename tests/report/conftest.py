"""What tests of reports share."""

import re

import pytest


@pytest.fixture
def arrives() -> re.Pattern[str]:
    """What a step has in it that says where something arrives."""
    return re.compile(
        r"(arrives at|reaches|asks|finds) ((the )?(transaction )?coordinator( node \d)?|node \d \(|the leader of p\d|"
        r"the group coordinator|p\d without|__consumer_offsets without|[AB]$)"
    )
