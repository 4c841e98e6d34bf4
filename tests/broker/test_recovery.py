"""At any step, a cluster that lost its memory and read its logs answers as one that did not.

But for what Kafka too keeps only in memory: ``omissions.MEMORY_ONLY``, each entry of which is seen to matter here.
"""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pytest

from tests.live.recovery import DROPS, Twins
from tests.live.recovery_program import IDS, LONG_METADATA, Operation, Program
from tests.live.recovery_questions import battery, probes

NAMES = st.sampled_from(IDS)
YES_OR_NO = st.booleans()
RARELY = st.sampled_from((0, 0, 0, 1))
"""Which of the two versions of a request."""
STEPS = st.sampled_from((1_000, 1_000, 1_000, 1_000, 0, 1, 2, 3, 5))
"""How many messages arrive before something else happens; the rest stay under way."""
TRANSACTIONAL = st.one_of(
    st.tuples(st.just("init"), NAMES, st.sampled_from((0, 0, 1, 2)), STEPS, RARELY),
    st.tuples(st.just("add"), NAMES, st.sampled_from((0, 1)), STEPS),
    st.tuples(st.just("add_offsets"), NAMES, STEPS),
    st.tuples(st.just("produce"), NAMES, st.sampled_from((0, 1)), RARELY, STEPS),
    st.tuples(st.just("txn_commit"), NAMES, RARELY, STEPS),
    st.tuples(st.just("end"), NAMES, YES_OR_NO, RARELY, STEPS),
    st.tuples(st.just("whole"), NAMES, YES_OR_NO, RARELY),
    st.tuples(st.just("whole"), NAMES, YES_OR_NO),
)
OTHERS = st.one_of(
    st.tuples(st.just("stream"), st.sampled_from((0, 1))),
    st.tuples(st.just("again"), st.integers(0, 6), STEPS),
    st.tuples(st.just("marker"), NAMES, YES_OR_NO, st.integers(0, 2)),
    st.tuples(st.just("commit"), st.sampled_from(("", LONG_METADATA))),
    st.tuples(st.sampled_from(("join", "sync", "leave", "heartbeat", "another_heartbeat"))),
    st.tuples(st.just("wait"), st.sampled_from((1_000, 61_000, 310_000))),
    st.tuples(
        st.just("sweep"),
        st.sampled_from(("abort_timed_out_transactions", "remove_expired_ids", "expire_producers", "resend_markers")),
    ),
    st.tuples(st.just("fault"), YES_OR_NO),
    st.tuples(st.just("starve"), YES_OR_NO),
    st.tuples(st.sampled_from(("lag", "catch_up")), st.sampled_from((0, 1))),
    st.tuples(st.just("restart"), YES_OR_NO),
)
OPERATIONS: st.SearchStrategy[list[Operation]] = st.lists(st.one_of(TRANSACTIONAL, OTHERS), min_size=3, max_size=14)
CLUSTERS = [("newest", 1), ("newest", 3), ("4.3-tv0", 1), ("4.3-tv0", 3), ("3.9", 1), ("3.9", 3), ("0.11.0", 1)]
SLICES = 4
"""A check asks every question, and every fourth of all that could be sent next."""

SOME = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(("release", "nodes"), CLUSTERS)
@given(operations=OPERATIONS, how=st.sampled_from(sorted(DROPS)), part=st.integers(0, SLICES - 1))
@SOME
def test_who_reads_the_logs_answers_as_who_remembers(
    release: str, nodes: int, operations: list[Operation], how: str, part: int
) -> None:
    if nodes == 1 and how == "failed over":
        how = "killed"
    program = Program(release, nodes).run(*operations)
    twins = Twins(program, how)
    twins.remembers(battery)
    for probe in list(probes(program).values())[part::SLICES]:
        twins.remembers(probe)
