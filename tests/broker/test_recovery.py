"""At any step, a cluster that lost its memory and read its logs answers as one that did not.

But for what Kafka too keeps only in memory: ``omissions.MEMORY_ONLY``, each entry of which is seen to matter here.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.live.frozen import Frozen
from tests.live.recovery import DROPS, EPOCHS, Difference, Twins, check
from tests.live.recovery_folds import difference_to_the_logs
from tests.live.recovery_memory import FORGET
from tests.live.recovery_program import DATA, IDS, LONG_METADATA, Operation, Program
from tests.live.recovery_questions import battery, probes
from zombieproof.broker.coordinator import store as transaction_store
from zombieproof.broker.coordinator.store import TransactionStore
from zombieproof.broker.group import consumer_group_log
from zombieproof.broker.group.consumer_group import loaded_consumer_group
from zombieproof.broker.group.offset_store import OffsetStore
from zombieproof.broker.group.store import GroupStore
from zombieproof.broker.partition import producer_states
from zombieproof.broker.partition.aborted_index import AbortedIndex
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.partition.snapshots import entry_of
from zombieproof.formats.batches import GroupValue
from zombieproof.model.decisions import transition
from zombieproof.model.omissions import MEMORY_ONLY
from zombieproof.model.records import Transaction

X = "x0"
NEVER_MS = 10**12
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
    st.tuples(st.just("late_commit"), NAMES),
    st.tuples(st.just("end"), NAMES, YES_OR_NO, RARELY, STEPS),
    st.tuples(st.just("whole"), NAMES, YES_OR_NO, RARELY),
    st.tuples(st.just("whole"), NAMES, YES_OR_NO),
)
OTHERS = st.one_of(
    st.tuples(st.just("stream"), st.sampled_from((0, 1))),
    st.tuples(st.just("again"), st.integers(0, 6), STEPS),
    st.tuples(st.just("marker"), NAMES, YES_OR_NO, st.integers(0, 2)),
    st.tuples(st.just("commit"), st.sampled_from(("", LONG_METADATA))),
    st.tuples(st.just("delete_offsets")),
    st.tuples(st.sampled_from(("join", "sync", "leave", "heartbeat", "another_heartbeat"))),
    st.tuples(st.just("wait"), st.sampled_from((1_000, 61_000, 310_000))),
    st.tuples(
        st.just("sweep"),
        st.sampled_from(
            (
                "abort_timed_out_transactions",
                "remove_expired_ids",
                "expire_producers",
                "expire_offsets",
                "resend_markers",
            )
        ),
    ),
    st.tuples(st.just("fault"), YES_OR_NO),
    st.tuples(st.just("starve"), YES_OR_NO),
    st.tuples(st.just("hold"), YES_OR_NO),
    st.tuples(st.sampled_from(("lag", "catch_up")), st.sampled_from((0, 1))),
    st.tuples(st.just("restart"), YES_OR_NO),
)


def in_turn(*operations: st.SearchStrategy[Operation]) -> st.SearchStrategy[list[Operation]]:
    """Operations that follow each other; some say nothing alone."""
    return st.tuples(*operations).map(list)


def an_open_transaction(name: str) -> st.SearchStrategy[list[Operation]]:
    """A transaction that has begun, and perhaps is decided while something is under way."""
    begin = (st.just(("init", name)), st.just(("add", name, 0)), st.just(("produce", name, 0)))
    ends = st.tuples(st.just("end"), st.just(name), YES_OR_NO, RARELY, STEPS)
    return in_turn(*begin, st.one_of(ends, st.just(("txn_commit", name)), st.just(("init", name))))


def with_a_fault(name: str) -> st.SearchStrategy[list[Operation]]:
    """An append of the coordinator fails."""
    injected: st.SearchStrategy[Operation] = st.sampled_from(
        [("init", name), ("add", name, 1), ("end", name, True), ("end", name, False)]
    )
    return in_turn(st.tuples(st.just("fault"), YES_OR_NO), injected)


MEMBERS_CHANGE: list[Operation] = [("heartbeat",), ("another_heartbeat",), ("wait", 1_000), ("heartbeat",)]
BLOCKS = st.one_of(
    st.one_of(TRANSACTIONAL, OTHERS).map(lambda operation: [operation]),
    NAMES.flatmap(an_open_transaction),
    NAMES.flatmap(with_a_fault),
    st.sampled_from([[("join",), ("join",)], [("join",), ("join",), ("sync",)], MEMBERS_CHANGE]),
    in_turn(st.just(("starve", True)), st.tuples(st.just("end"), NAMES, YES_OR_NO)),
    in_turn(
        st.just(("hold", True)),
        st.one_of(st.tuples(st.just("init"), NAMES), st.tuples(st.just("end"), NAMES, YES_OR_NO)),
    ),
)
OPERATIONS: st.SearchStrategy[list[Operation]] = st.lists(BLOCKS, min_size=5, max_size=10).map(
    lambda blocks: [operation for block in blocks for operation in block]
)
CLUSTERS = [("newest", 1), ("newest", 3), ("4.3-tv0", 1), ("4.3-tv0", 3), ("3.9", 1), ("3.9", 3), ("0.11.0", 1)]
SLICES = 4
"""A check asks every question, and every fourth of all that could be sent next."""

SOME = settings(max_examples=24, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.share(2)
@pytest.mark.long("3.9-1", "4.3-tv0-1")
@pytest.mark.slow
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


@pytest.mark.parametrize(("release", "nodes"), CLUSTERS)
@given(operations=OPERATIONS)
@SOME
def test_memory_is_the_fold_of_the_logs(release: str, nodes: int, operations: list[Operation]) -> None:
    program = Program(release, nodes)
    program.cluster.configure("producer_id_expiration_ms", NEVER_MS)
    for operation in operations:
        program.run(operation)
        assert difference_to_the_logs(program) == {}


def blind(*_: object, **__: object) -> None:
    """Does nothing."""


def forgets_the_time(complete_by: Callable[..., None]) -> Callable[..., None]:
    """A coordinator whose memory has another time than its log."""

    def complete(transaction: Transaction, *others: object) -> None:
        complete_by(transaction, *others)
        transaction.last_update_ms = 0

    return complete


STRAYING_HOSTS: dict[str, tuple[object, str, object, str]] = {
    "a coordinator": (transition, "complete_by", forgets_the_time(transition.complete_by), "last_update_ms of x0"),
    "a leader": (AbortedIndex, "append", blind, "aborted of ('t', 0)"),
    "a group coordinator": (OffsetStore, "end", blind, "waiting for 0"),
}


@pytest.mark.parametrize("name", STRAYING_HOSTS)
def test_memory_that_strays_from_the_logs_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, what, bad, fact = STRAYING_HOSTS[name]
    monkeypatch.setattr(where, what, bad)
    assert fact in difference_to_the_logs(Program("newest").run(("whole", X, False)))


# -------------------------------------------------------------------- each fact of the list makes a difference

OPEN: list[Operation] = [("init", X), ("add", X, 0)]
LATE: list[Operation] = [("whole", X, True), ("init", X), ("add_offsets", X), ("txn_commit", X), ("late_commit", X)]
UNFINISHED = "a generation without an assignment yet, and an unfinished rebalance"
HEARD_OF = "the last heartbeat of a member"
TAKEN_ALONG = "that a failed commit dropped pending offsets, before 4.0"


class Example(NamedTuple):
    """After these operations, and after brokers were killed, this is answered otherwise, by the lack of these facts."""

    operations: list[Operation]
    probe: str
    facts: tuple[str, ...]
    release: str = "newest"


EXAMPLES = [
    Example([("whole", X, True)], "x0: init as (0, 0)", ("the last producer epoch",)),
    Example(
        [("init", X), ("wear_out", X), ("init", X, 1)],
        "x0: init as (0, 32766)",
        ("the previous and the next producer id, in value version 0 and before 4.3",),
        "4.3-tv0",
    ),
    Example(
        [("init", X), ("wear_out", X), ("produce", X, 0), ("end", X, True, 0, 3)],
        "questions",
        (
            "which markers of a prepared transaction have been written",
            "the previous and the next producer id, in value version 0 and before 4.3",
        ),
        "4.2",
    ),
    Example(
        [*OPEN, ("fault", False), ("init", X)], "x0: end True", ("a fence whose abort could not be written",), "3.9"
    ),
    Example(
        [("whole", X, True), ("init", X)],
        "questions",
        ("the start of the transaction before the last InitProducerId, before 4.0",),
        "3.9",
    ),
    Example(
        [*OPEN, ("end", X, True, 1)],
        "x0: a new instance",
        ("a pending transition whose record cannot be written",),
        "4.3-tv0",
    ),
    Example([("fault", False), ("init", X)], "questions", ("an id whose first record could not be written",)),
    Example(
        [("init", X), ("fault", True), ("add", X, 0)],
        "questions",
        ("that an append was reported as failed although the log has it",),
    ),
    Example(
        [*OPEN, ("produce", X, 0, 1), ("end", X, True, 0, 3)],
        "questions",
        ("which markers of a prepared transaction have been written",),
    ),
    Example([("init", X), ("produce", X, 0, 1)], "x0: add, then the batch after the next", ("verifications",)),
    Example([("stream", 0)], "produce 1 again", ("all batches of a producer except the newest",)),
    Example(
        [("stream", 0), ("wait", 310_000)],
        "questions",
        ("an expired producer that has not been removed yet",),
    ),
    Example([("stream", 0), ("lag", 0)], "questions", ("the high watermark",)),
    Example([("whole", X, True), ("produce", X, 0, 0, 0)], "questions", ("requests in progress",)),
    Example([*OPEN, ("hold", True), ("end", X, True)], "questions", ("requests in progress",)),
    Example([("join",)], "the member joins", ("member ids that were assigned but have not joined",)),
    Example([("join",), ("join",)], "the member syncs", (UNFINISHED,)),
    Example([("join",), ("join",), ("sync",), ("wait", 40_000)], "the member commits later", (HEARD_OF,)),
    Example([("commit", LONG_METADATA)], "offsets are deleted", ("a group without any record",)),
    Example(LATE, "questions", (TAKEN_ALONG,), "3.9"),
    Example([*LATE, ("end", X, True)], "questions", (TAKEN_ALONG,), "3.9"),
    Example([("heartbeat",)], "another heartbeat", ("the time of the last assignment of a consumer group",)),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.release}: {example.facts[-1][:50]}")
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_what_only_memory_holds_makes_a_difference(example: Example, how: str) -> None:
    program = Program(example.release).run(*example.operations)
    twins, probe = Twins(program, how), {"questions": battery, **probes(program)}[example.probe]
    assert twins.remembers(probe)
    assert twins.explain(probe) == frozenset(example.facts)


def test_since_4_0_a_late_commit_makes_no_difference() -> None:
    for release in ("newest", "4.3-tv0"):
        assert "questions" not in check(Program(release).run(*LATE), "killed", lambda name: name == "questions")


def test_epochs_rise_with_every_start() -> None:
    """Nearly every answer shows it; so the other comparisons begin with equal epochs."""
    program = Program("newest").run(("whole", X, True))
    twins = Twins(program, "killed")
    new_batch = probes(program)["next plain to ('t', 0)"]
    remembered = Frozen(program.cluster).thaw()
    assert new_batch(remembered) != new_batch(twins.forgot())
    assert remembered.metadata.leader_epoch(DATA[0]) < twins.forgot().metadata.leader_epoch(DATA[0])


def test_each_fact_that_only_memory_holds_has_an_example() -> None:
    listed = [fact.what for fact in MEMORY_ONLY]
    assert sorted(listed) == sorted(FORGET)
    assert {fact for example in EXAMPLES for fact in example.facts} | EPOCHS == set(listed)


# -------------------------------------------------------------------- hosts that do not read their logs well


def drives_nobody(finish_loading: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """A coordinator that loads, and names no id whose transaction is to be brought to its end."""

    def finish(*arguments: object) -> list[str]:
        finish_loading(*arguments)
        return []

    return finish


def remembers_too_much(load: Callable[..., None]) -> Callable[..., None]:
    """A coordinator that finds in its log what no log holds."""

    def too_much(transaction: Transaction, durable: Transaction, *others: object) -> None:
        load(transaction, durable, *others)
        transaction.last_producer_epoch = max(0, durable.producer_epoch - 1)

    return too_much


DECIDED: list[Operation] = [*OPEN, ("produce", X, 0), ("starve", True), ("end", X, True)]
ABORTED: list[Operation] = [*OPEN, ("produce", X, 0), ("end", X, False)]
WAITING: list[Operation] = [*OPEN, ("txn_commit", X)]


def without_epochs_before(value: GroupValue) -> GroupValue:
    consumers = tuple(
        (name, replace(member, previous_epoch=dict(value.members)[name])) for name, member in value.consumers
    )
    return replace(value, consumers=consumers)


BAD_HOSTS: dict[str, tuple[object, str, object, list[Operation]]] = {
    "a coordinator that does not read its log": (transaction_store, "last_values", lambda _: {}, OPEN),
    "a coordinator that does not go on with what was decided": (
        TransactionStore,
        "finish_loading",
        drives_nobody(TransactionStore.finish_loading),
        DECIDED,
    ),
    "a coordinator that knows more than its log": (
        transition,
        "load",
        remembers_too_much(transition.load),
        [("whole", X, True)],
    ),
    "a leader that does not rebuild the aborted index": (Replica, "_rebuild_index", blind, ABORTED),
    "a leader that does not replay its log": (Replica, "_fold_log", lambda *_: [], [("stream", 0)]),
    "a leader that loses open transactions": (
        producer_states,
        "entry_of",
        lambda told: entry_of(told._replace(current_txn_first_offset=-1)),
        WAITING,
    ),
    "a leader that loses coordinator epochs": (
        producer_states,
        "entry_of",
        lambda told: entry_of(told._replace(coordinator_epoch=-1)),
        ABORTED,
    ),
    "a group coordinator that does not read its log": (GroupStore, "load", blind, [("commit",)]),
    "a group coordinator that loses waiting offsets": (OffsetStore, "replay", blind, WAITING),
    "a group coordinator that loses the epoch before": (
        consumer_group_log,
        "loaded_consumer_group",
        lambda name, value: loaded_consumer_group(name, without_epochs_before(value)),
        MEMBERS_CHANGE,
    ),
}


@pytest.mark.sample(*list(BAD_HOSTS)[:3])
@pytest.mark.parametrize("name", BAD_HOSTS)
def test_a_host_that_reads_its_logs_badly_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, what, bad, operations = BAD_HOSTS[name]
    program = Program("newest").run(*operations)
    check(program, "killed")
    monkeypatch.setattr(where, what, bad)
    with pytest.raises(Difference):
        check(program, "killed")
