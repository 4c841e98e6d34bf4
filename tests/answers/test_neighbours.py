"""What lies beside the given recordings: asked of a real Kafka by `tests.answers.recorder`, and answered here alike."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.answers.recorder.neighbours import neighbours
from tests.answers.recorder.rights import rights
from zombieproof.broker.group import consumer_group, consumer_members
from zombieproof.broker.group.assignors import SERVER_ASSIGNORS
from zombieproof.broker.group.consumer_group import ConsumerGroup
from zombieproof.broker.group.consumer_members import ConsumerMembers
from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.recording import Recorded, read
from zombieproof.conformance.runner import play
from zombieproof.conformance.tally import play_all
from zombieproof.model.decisions import consumer_group_heartbeat as decisions
from zombieproof.model.decisions.verdicts import append_accepted
from zombieproof.model.vocabulary import NOTHING, MembershipEvent, Row
from zombieproof.statemachines.classic_group import joining, membership, rebalances
from zombieproof.statemachines.consumer_group_member import heartbeat, reconciling
from zombieproof.statemachines.kernel import IllegalTransition

NEIGHBOURS = Path(__file__).with_name("neighbours.jsonl.gz")
CLUSTERS = (("3.9.1", 0), ("4.3.1", 2))


def recorded() -> dict[str, Recorded]:
    return {each.sequence.id: each for each in read(NEIGHBOURS)}


def test_every_neighbour_is_answered_as_a_real_kafka_answered() -> None:
    [tally] = play_all([NEIGHBOURS], InProcess)
    assert (tally.differences, tally.damaged) == ([], [])
    assert tally.sequences == len(recorded())


def test_a_deleted_groups_offsets_come_back_in_3_9_by_the_rule() -> None:
    """With the other rule 3.9.1 would have answered otherwise behind a restart, and nowhere before it."""

    class Other(InProcess):
        def __init__(self, sequence: Recorded) -> None:
            super().__init__(sequence)
            self.cluster.rules.loaded_tombstone_ends_pending = 1

    differ = [(each, play(each, Other).difference) for each in recorded().values() if each.sequence.kafka == "3.9.1"]
    found = [(each.sequence.steps, difference) for each, difference in differ if difference is not None]
    assert [(steps[-2].api, steps[difference.step - 1].api) for steps, difference in found] == [
        ("Restart", "OffsetFetch")
    ] * 3


@pytest.mark.parametrize(("kafka", "tv"), CLUSTERS)
def test_what_was_asked_is_what_stands_here(kafka: str, tv: int) -> None:
    """A question that is changed has to be asked again."""
    kept = {name: each for name, each in recorded().items() if each.sequence.kafka == kafka}
    every = [*neighbours(kafka, tv), *(rights(kafka, tv) if kafka.startswith("4.") else ())]
    asked = {sequence["id"]: sequence for sequence in every}
    assert set(kept) == set(asked)
    for name, sequence in asked.items():
        steps = kept[name].sequence.steps
        said = [[step.api, step.version, step.request.model_dump(mode="json", exclude_unset=True)] for step in steps]
        wanted = [[step["api"], step["version"], step["request"]] for step in sequence["steps"]]
        assert said == json.loads(json.dumps(wanted)), name
        security = kept[name].sequence.security
        given = None if security is None else security.model_dump(mode="json")
        assert given == json.loads(json.dumps(sequence.get("security"))), name
        assert [step.principal for step in steps] == [step.get("principal") for step in sequence["steps"]], name


def test_late_commits_are_told_apart_by_the_rule() -> None:
    """With the other rule 3.9.1 would have answered otherwise where an offset of the live owner was taken along.

    Not where the owner committed again, or the log was loaded, before anybody looked.
    """

    class Other(InProcess):
        def __init__(self, sequence: Recorded) -> None:
            super().__init__(sequence)
            self.cluster.rules.refused_commit_keeps_pending = 1

    old = {name: each for name, each in recorded().items() if each.sequence.kafka == "3.9.1"}
    found = {name: play(each, Other).difference for name, each in old.items()}
    seen = {name.split("/")[0].removeprefix("n-") for name, difference in found.items() if difference is not None}
    assert seen == {
        "late-commit",
        "late-commit-of-one-of-two-partitions",
        "late-commit-of-two-partitions",
        "late-commit-of-an-unknown-partition-too",
        "late-commit-and-abort",
        "late-commit-beside-a-plain-one",
        "plain-commit-then-late-commit",
        "late-commit-to-another-group",
        "late-commit-of-the-same-instance",
        "late-commit-of-a-member",
        "late-commit-with-long-metadata",
    }


WAITS = [
    (rebalances, "all_have_joined", lambda members: True),
    (rebalances, "complete", lambda *_: None),
    (rebalances, "remove", lambda members, member: None),
    (rebalances, "answer_sync", lambda member, error: None),
    (rebalances, "forget_syncs", lambda members: None),
    (rebalances, "someone_joined_leads", lambda members: True),
    (membership, "answer_sync", lambda member, error: None),
    (joining, "keep_alive", lambda member, now_ms: None),
    (joining, "answer_join", lambda member, error: None),
    (membership, "has_synced", lambda members, member: None),
    (membership, "keep_alive", lambda member, now_ms: None),
    (joining, "rebalance", lambda *_: None),
    (membership, "remove", lambda members, member: None),
    (membership, "knows_that_it_leads", lambda version: False),
    (rebalances, "resigned", lambda members, error: None),
]
"""Parts of the steps by which members wait, each without its effect."""


@pytest.mark.parametrize(("module", "name", "without"), WAITS, ids=lambda each: getattr(each, "__name__", str(each)))
def test_members_that_wait_otherwise_answer_otherwise(
    module: ModuleType, name: str, without: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, without)
    waiting = [each for each in recorded().values() if "group.min.session.timeout.ms" in each.sequence.config]
    assert any(_differs(each) for each in waiting)


OTHERWISE: list[tuple[Any, str, Any]] = [
    (joining, "has_room", lambda *_: True),
    (joining, "remove", lambda members, member: None),
    (heartbeat, "assignment_is_due", lambda group_epoch, assignment_epoch, *_: group_epoch > assignment_epoch),
    (heartbeat, "decide_shape", lambda said: append_accepted(Row.NO_ROW, NOTHING)),
    (decisions, "decide_static_member", decisions.decide_dynamic_member),
    (decisions, "decide_epoch", lambda facts, epoch: append_accepted(Row.MEMBER_IS_IN, MembershipEvent.STAY)),
    (reconciling, "epoch_after", lambda epoch, target_epoch, event: target_epoch),
    (reconciling, "decide_time", lambda *_: append_accepted(Row.NO_ROW, NOTHING)),
    (reconciling, "patterns_are_due", lambda *_: False),
    (ConsumerGroup, "_held_by_others", lambda group, member, wanted: set()),
    (ConsumerGroup, "forget_patterns", lambda group: group.patterns.clear()),
    (ConsumerMembers, "loaded", lambda members, group: group.members.clear() or []),
    (consumer_group, "server_assignor", lambda wanted: SERVER_ASSIGNORS["uniform"]),
    (consumer_members, "matching", lambda pattern, names: frozenset()),
]
"""Parts of the steps and drivers of groups, each wrong."""


@pytest.mark.parametrize(("where", "name", "wrong"), OTHERWISE, ids=lambda each: str(getattr(each, "__name__", each)))
def test_groups_that_are_wrong_answer_otherwise(
    where: Any, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, wrong)
    members = [each for each in recorded().values() if "group.consumer.session.timeout.ms" in each.sequence.config]
    assert any(_differs(each) for each in members)


def _differs(each: Recorded) -> bool:
    """A step that leaves the table is told as well."""
    try:
        return play(each, InProcess).difference is not None
    except IllegalTransition:
        return True


ERRORS: dict[str, tuple[str, int, set[int]]] = {
    "Produce by id": ("Produce", 13, {0, 3, 100}),
    "Fetch by id": ("Fetch", 17, {0, 1, 3, 100}),
    "Metadata": ("Metadata", 12, {0, 3, 100}),
    "OffsetCommit by id": ("OffsetCommit", 10, {0, 3, 12, 25, 100}),
    "OffsetFetch by id": ("OffsetFetch", 10, {0, 88, 100}),
    "Heartbeat": ("Heartbeat", 3, {0, 22, 24, 25, 27, 82}),
    "LeaveGroup": ("LeaveGroup", 3, {0, 24, 25, 82}),
    "SyncGroup": ("SyncGroup", 3, {0, 22, 25, 27, 82}),
    "JoinGroup": ("JoinGroup", 3, {0, 23, 24, 25, 26, 81}),
    "JoinGroup that may name an instance": ("JoinGroup", 5, {0, 23, 24, 25, 26, 79, 81, 82}),
    "Answered": ("Answered", 0, {0, 16, 23, 24, 25, 26, 27, 82}),
    "ConsumerGroupHeartbeat": ("ConsumerGroupHeartbeat", 1, {0, 25, 42, 69, 81, 82, 110, 111, 112, 128}),
    "OffsetCommit to members": ("OffsetCommit", 9, {0, 25, 113}),
    "DeleteGroups": ("DeleteGroups", 2, {0, 68, 69}),
}


@pytest.mark.parametrize("name", ERRORS)
def test_every_kind_of_answer_was_seen(name: str) -> None:
    api, version, expected = ERRORS[name]
    assert seen(api, version, with_rights=False) == expected


ERRORS_OF_RIGHTS: dict[tuple[str, int], set[int]] = {
    ("Produce", 11): {0, 29, 53, 120},
    ("Produce", 13): {0, 29, 100},
    ("Fetch", 11): {0, 29},
    ("Fetch", 13): {0, 29, 100},
    ("ListOffsets", 5): {0, 29},
    ("Metadata", 12): {0, 3, 29, 100},
    ("OffsetCommit", 8): {0, 29},
    ("OffsetCommit", 10): {0, 29, 100},
    ("OffsetFetch", 7): {0, 29, 30},
    ("OffsetFetch", 8): {0, 29, 30},
    ("OffsetDelete", 0): {0, 29, 30, 69},
    ("DeleteGroups", 2): {0, 30, 69},
    ("DeleteTopics", 5): {0, 3, 29},
    ("DeleteTopics", 6): {29, 42, 100},
    ("DescribeProducers", 0): {0, 3, 17, 29},
    ("ConsumerGroupHeartbeat", 1): {0, 29, 30, 69},
    ("JoinGroup", 5): {30},
    ("SyncGroup", 3): {30},
    ("Heartbeat", 3): {30},
    ("LeaveGroup", 3): {30},
    ("FindCoordinator", 4): {0, 30},
    ("InitProducerId", 5): {0, 31},
    ("InitProducerId", 6): {0, 53},
    ("AddPartitionsToTxn", 3): {0, 29, 53, 55},
    ("AddPartitionsToTxn", 5): {0, 31, 120},
    ("TxnOffsetCommit", 3): {3, 29, 30, 48, 53},
    ("EndTxn", 3): {0, 53},
    ("WriteTxnMarkers", 1): {0, 3, 31},
}


@pytest.mark.parametrize(("api", "version"), ERRORS_OF_RIGHTS)
def test_every_refusal_for_lack_of_rights_was_seen(api: str, version: int) -> None:
    assert seen(api, version, with_rights=True) == ERRORS_OF_RIGHTS[api, version]


def seen(api: str, version: int, *, with_rights: bool) -> set[int]:
    """Every error that a version of an API was answered with, where rights were asked for, or where not."""
    of_kind = (each for each in recorded().values() if (each.sequence.security is not None) == with_rights)
    steps = [step for each in of_kind for step in each.sequence.steps if (step.api, step.version) == (api, version)]
    return set[int]().union(*(codes(step.answer) for step in steps))


def codes(answer: Any) -> set[int]:
    """The errors of an answer: by name, in rows of topics and members at the end, in rows of offsets in the middle."""
    if isinstance(answer, dict):
        own = {answer["error"]} if "error" in answer else set[int]()
        rows = (value for name, value in answer.items() if name not in ("aborted", "batches", "assignment"))
        return own.union(*(codes(value) for value in rows))
    if not isinstance(answer, list) or not answer:
        return set()
    if isinstance(answer[0], str):
        return {answer[2] if len(answer) > 2 else answer[-1]}
    return set[int]().union(*(codes(value) for value in answer))
