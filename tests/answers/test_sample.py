"""Brokers in this process answer as real ones did, and an answer that is not the recorded one is found."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from zombieproof.conformance.comparison import Difference
from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.recording import Recorded, Sequence
from zombieproof.conformance.runner import play
from zombieproof.model.rules import Rules

Json = dict[str, Any]


def test_every_answer_of_the_sample_is_given_again(sample: list[Json], play_json: Any) -> None:
    played = [play_json(sequence) for sequence in sample]
    assert [each.difference for each in played if each.difference is not None] == []
    assert sum(each.steps for each in played) == sum(len(sequence["steps"]) for sequence in sample) > 2500


def test_the_sample_has_every_kind_of_recording(sample: list[Json]) -> None:
    assert {(s["kafka"], s["tv"]) for s in sample} == {
        *(("4.3.1", 0), ("4.3.1", 1), ("4.3.1", 2), ("3.9.1", 0)),
        *(("4.4.0", 0), ("4.4.0", 1), ("4.4.0", 2)),
    }
    assert {step["api"] for s in sample for step in s["steps"]} >= {
        *("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "Produce", "TxnOffsetCommit", "EndTxn"),
        *("WriteTxnMarkers", "DescribeTransactions", "ListTransactions", "DescribeProducers", "ListOffsets", "Fetch"),
        *("OffsetCommit", "OffsetFetch", "JoinGroup", "SyncGroup", "LeaveGroup", "ConsumerGroupHeartbeat"),
        *("FindCoordinator", "Wait", "Sleep", "Restart", "Move", "Stop", "Kill", "Return"),
        *("ApiVersions", "SaslHandshake", "SaslAuthenticate", "SaslToken", "Metadata"),
    }
    assert any("security" in s for s in sample)
    assert any(not s["config"]["transaction.partition.verification.enable"] for s in sample)
    assert any("closed" in step["answer"] for s in sample for step in s["steps"])
    assert any(not step["settled"] for s in sample for step in s["steps"])


# ---------------------------------------------------------------- a wrong answer is seen


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every number, text, flag and null in an answer that is compared."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not key.startswith("_"):
                yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, (*path, i))
    else:
        yield path


def other(value: Any) -> Any:
    """A value that is not `value`."""
    if isinstance(value, bool) or value is None:
        return not value
    return value + 1 if isinstance(value, int) else value + "-tampered"


def tampered(sequence: Json, step: int, choice: int) -> Json:
    """A copy of which one leaf of one answer has another value; an empty answer gets a field."""
    copy: Json = json.loads(json.dumps(sequence))
    answer = copy["steps"][step]["answer"]
    paths = list(leaves(answer))
    if not paths:
        answer["error"] = 0
        return copy
    *way, last = paths[choice % len(paths)]
    for part in way:
        answer = answer[part]
    answer[last] = other(answer[last])
    return copy


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(3))
def test_one_tampered_value_anywhere_is_the_difference(sample: list[Json], play_json: Any, turn: int) -> None:
    for number, sequence in enumerate(sample):
        step = (number * 7 + turn * 5) % len(sequence["steps"])
        played = play_json(tampered(sequence, step, number + turn * 3))
        assert played.difference is not None, (sequence["id"], step + 1)
        assert (played.difference.id, played.difference.step) == (sequence["id"], step + 1)
        assert played.steps == step + 1


def test_what_is_only_for_reading_is_not_compared(one: Json, play_json: Any) -> None:
    for step in one["steps"]:
        step["answer"]["_message"] = "nobody compares this"
        step["transient"] = [51]
    assert play_json(one).difference is None


@pytest.mark.slow
def test_a_row_too_many_or_too_few_is_the_difference(sample: list[Json], play_json: Any) -> None:
    seen = 0
    for sequence in sample:
        found = [i for i, step in enumerate(sequence["steps"]) if step["answer"].get("partitions")]
        if not found:
            continue
        for rows in (lambda old: old[1:], lambda old: [*old, old[0]]):
            copy = json.loads(json.dumps(sequence))
            answer = copy["steps"][found[0]]["answer"]
            answer["partitions"] = rows(answer["partitions"])
            difference = play_json(copy).difference
            assert difference is not None
            assert difference.step == found[0] + 1
            seen += 1
    assert seen > 300


# ---------------------------------------------------------------- a wrong host is seen


def first_difference_under(sample: list[Json], changes: dict[str, int]) -> Difference | None:
    """The first difference when every broker obeys other rules."""

    class Other(InProcess):
        def __init__(self, recorded: Recorded) -> None:
            super().__init__(recorded)
            for name, value in changes.items():
                setattr(self.cluster.rules, name, value)

    for sequence in sample:
        played = play(Recorded("a test", 1, Sequence.model_validate_json(json.dumps(sequence))), Other)
        if played.difference is not None:
            return played.difference
    return None


SEEN = (
    *("strict_end", "duplicate_check", "sequence_check", "epoch_fencing", "kip360", "kip447_stable", "verification"),
    *("guard_lowest_seq", "abortable_code", "epoch_aware_ongoing", "tv2_first_seq_zero", "single_fence_bump"),
    *("marker_strict", "pending_first", "init_raises_epoch", "stable_bound", "reload_drives_markers"),
)
"""Switches whose absence the sample must show."""


@pytest.mark.sample("strict_end", "kip360", "pending_first")
@pytest.mark.parametrize("switch", SEEN)
def test_a_host_without_a_rule_answers_otherwise(sample: list[Json], switch: str) -> None:
    assert getattr(Rules(), switch) == 1
    assert first_difference_under(sample, {switch: 0}) is not None


@pytest.mark.slow
def test_a_host_with_the_recorded_rules_does_not(sample: list[Json]) -> None:
    assert first_difference_under(sample, {}) is None


def test_no_answer_reaches_the_host(sample: list[Json], play_json: Any) -> None:
    """What a host is asked is the same whatever was recorded: with all answers gone it answers as before."""
    for sequence in sample[:40]:
        step = len(sequence["steps"]) - 1
        expected = play_json(tampered(sequence, step, 0)).difference
        assert expected is not None
        recorded = Sequence.model_validate_json(json.dumps(sequence))
        blank = tuple(
            each.model_copy(update={"answer": each.answer if i < step else {}}) for i, each in enumerate(recorded.steps)
        )
        again = play(Recorded("a test", 1, recorded.model_copy(update={"steps": blank})), InProcess).difference
        assert again is not None
        assert again == replace(expected, expected={}, file=again.file)
