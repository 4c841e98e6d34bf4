"""Each story that ships shows what it says, breaks what it says, and is harmless where the rule is there."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.wire.plan.groups import commit_offset, joined, offset_of
from tests.wire.plan.staged import Staged
from zombieproof.bridge.applications import OWED
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.transactions import EndTxn, EndTxnAnswer
from zombieproof.model.catalogue import IN_STATES
from zombieproof.model.vocabulary import Error
from zombieproof.wire.plan.files import PlanError, parse_plan
from zombieproof.wire.plan.stories import NoSuchStory, Story, stories, story

LATE, BESIDE = ("late", 0), ("late", 1)
WORK, AWAY = ("work", 0), ("work", 1)
ORDERS, INVOICES = ("orders", 0), ("invoices", 0)
Seen = dict[str, Any]


def _two_transactions(staged: Staged, *, committed: bool) -> Seen:
    """One that ends so, and one that ends otherwise, in two partitions; clients speak no EndTxn 5."""
    me = staged.begin()
    staged.adding(me, LATE)
    staged.write(me, LATE, b"first")
    ends = [staged.end(me, committed=committed).error]
    staged.adding(me, LATE)
    staged.write(me, LATE, b"second", sequence=1)
    staged.adding(me, BESIDE)
    staged.write(me, BESIDE, b"third")
    ends.append(staged.end(me, committed=not committed).error)
    return {"ends": ends, "late": staged.readable(LATE), "beside": staged.readable(BESIDE)}


def late_end_txn(staged: Staged) -> Seen:
    return _two_transactions(staged, committed=True)


def late_abort(staged: Staged) -> Seen:
    return _two_transactions(staged, committed=False)


def late_produce(staged: Staged) -> Seen:
    me = staged.begin()
    staged.adding(me, LATE)
    lost = staged.write(me, LATE, b"aborted")
    ends = [staged.end(me, committed=False).error]
    staged.adding(me, LATE)
    stored = staged.write(me, LATE, b"committed", sequence=0 if lost == [None] else 1)
    ends.append(staged.end(me, committed=True).error)
    return {"lost": lost, "error": _error(stored[0], LATE), "ends": ends, "late": staged.readable(LATE)}


def late_produce_after_abort(staged: Staged) -> Seen:
    me, other = staged.begin(), staged.begin("other")
    staged.adding(me, LATE)
    staged.write(me, LATE, b"aborted")
    end = staged.end(me, committed=False).error
    staged.adding(other, LATE, name="other")
    staged.write(other, LATE, b"of another", name="other")
    ends = [end, staged.end(other, committed=True, name="other").error]
    return {"ends": ends, "late": staged.readable(LATE)}


def timeout_without_a_new_epoch(staged: Staged) -> Seen:
    me, before, behind = staged.begin(), ("pause", 0), ("pause", 1)
    staged.adding(me, before)
    staged.write(me, before, b"before")
    added = staged.adding(me, behind).transactions[0].errors[behind]
    if added == Error.NONE:
        staged.write(me, behind, b"behind")
    end = staged.end(me, committed=True).error
    return {"added": added, "end": end, "before": staged.readable(before), "behind": staged.readable(behind)}


def zombie_commits_offsets(staged: Staged) -> Seen:
    stalled = joined(staged, "zombie")
    zombie = staged.begin("zombie")
    staged.write(zombie, INVOICES, b"of the zombie", name="zombie", version=12)
    successor, new = joined(staged, "successor"), staged.begin("successor")
    staged.write(new, INVOICES, b"of the successor", name="successor", version=12)
    errors = [commit_offset(staged, new, "successor", ORDERS, 1, successor)]
    ends = [staged.end(new, committed=True, version=5, name="successor").error]
    errors.append(commit_offset(staged, zombie, "zombie", ORDERS, 1, stalled))
    ends.append(staged.end(zombie, committed=errors[-1] == Error.NONE, version=5, name="zombie").error)
    return {"errors": errors, "ends": ends, "outputs": len(staged.readable(INVOICES))}


def offsets_read_before_the_marker(staged: Staged) -> Seen:
    first = staged.begin("first")
    staged.write(first, INVOICES, b"of the first", name="first", version=12)
    commit_offset(staged, first, "first", ORDERS, 1)
    ends = [staged.end(first, committed=True, version=5, name="first").error]
    offset = offset_of(staged, ORDERS, stable=True)
    again = offset_of(staged, ORDERS, stable=True)
    if offset < again:
        second = staged.begin("second")
        staged.write(second, INVOICES, b"of the second", name="second", version=12)
        commit_offset(staged, second, "second", ORDERS, 1)
        ends.append(staged.end(second, committed=True, version=5, name="second").error)
    return {"offsets": (offset, again), "ends": ends, "outputs": len(staged.readable(INVOICES))}


def zombie_takeover(staged: Staged) -> Seen:
    me = staged.begin()
    staged.write(me, WORK, b"of the zombie", version=12)
    heard = staged.send(EndTxn(5, "app", *me, committed=True))
    assert heard == []
    new = staged.begin()
    (told,) = heard
    assert isinstance(told, EndTxnAnswer)
    return {"told": Error(told.error), "epoch raised": new > me, "work": staged.readable(WORK)}


def epoch_exhaustion(staged: Staged) -> Seen:
    me = first = staged.begin(version=5)
    ids, ends = [me[0]], []
    for number in range(6):
        staged.write(me, WORK, b"%d" % number, version=12)
        ended = staged.end(me, committed=True, version=5)
        me = ended.producer_id, ended.producer_epoch
        ends.append(ended.error)
        ids.append(me[0])
    old = staged.end((first[0], staged.plan.epoch_max - 1), committed=True, version=5).error
    return {"ends": set(ends), "ids": len(set(ids)), "old": Error(old), "work": len(staged.readable(WORK))}


def hanging_transaction(staged: Staged) -> Seen:
    name = next(each for each in ("a", "b", "c", "d", "e") if staged.embedded.cluster.coordinator_of(each) == 1)
    me = staged.begin(name)
    staged.adding(me, WORK, AWAY, name=name)
    staged.write(me, WORK, b"here", name=name)
    staged.write(me, AWAY, b"away", name=name)
    end = staged.end(me, committed=True, name=name).error
    staged.later(5_001)
    staged.later(10_000)
    return {"end": end, "here": staged.readable(WORK), "away": staged.readable(AWAY)}


def _error(answer: object, place: TopicPartition) -> int:
    error: int = answer.partitions[place].error  # type: ignore[attr-defined]  # a ProduceAnswer
    return error


NOTHING_IS_WRONG: dict[str, object] = {}
"""Of a story in which every release does what it shows."""
ALL_WELL = [Error.NONE, Error.NONE]

PLAYED: dict[Callable[[Staged], Seen], tuple[Seen, Seen, dict[str, object]]] = {
    late_end_txn: (
        {"ends": ALL_WELL, "late": [b"first", b"second"], "beside": []},
        {"ends": ALL_WELL, "late": [b"first"], "beside": []},
        {"faults": ()},
    ),
    late_abort: (
        {"ends": ALL_WELL, "late": [], "beside": [b"third"]},
        {"ends": ALL_WELL, "late": [b"second"], "beside": [b"third"]},
        {"faults": ()},
    ),
    late_produce: (
        {"lost": [None], "error": Error.NONE, "ends": ALL_WELL, "late": [b"aborted"]},
        {"error": Error.NONE, "ends": ALL_WELL, "late": [b"committed"]},
        {"faults": ()},
    ),
    late_produce_after_abort: (
        {"ends": ALL_WELL, "late": []},
        {"ends": ALL_WELL, "late": [b"of another"]},
        {"rules_off": ()},
    ),
    timeout_without_a_new_epoch: (
        {"added": Error.NONE, "end": Error.NONE, "before": [], "behind": [b"behind"]},
        {"added": Error.PRODUCER_FENCED, "end": Error.PRODUCER_FENCED, "before": [], "behind": []},
        {"rules_off": ("verification",)},
    ),
    zombie_commits_offsets: (
        {"errors": ALL_WELL, "ends": ALL_WELL, "outputs": 2},
        {"errors": [Error.NONE, Error.UNKNOWN_MEMBER_ID], "outputs": 1},
        {"rules_off": ()},
    ),
    offsets_read_before_the_marker: (
        {"offsets": (-1, 1), "ends": ALL_WELL, "outputs": 2},
        {"outputs": 1},
        {"faults": ()},
    ),
    zombie_takeover: (
        {"told": Error.PRODUCER_FENCED, "epoch raised": True, "work": []},
        {},
        NOTHING_IS_WRONG,
    ),
    epoch_exhaustion: (
        {"ends": {Error.NONE}, "ids": 2, "old": Error.INVALID_PRODUCER_ID_MAPPING, "work": 6},
        {"ids": 1},
        {"epoch_max": 32767},
    ),
    hanging_transaction: (
        {"end": Error.NONE, "here": [b"here"], "away": []},
        {"end": Error.NONE, "here": [b"here"], "away": [b"away"]},
        {"rules_off": ()},
    ),
}
"""Each story as it is played: what is seen, what is seen where it is harmless, and what of the plan is other there."""

each_story = pytest.mark.parametrize("play", PLAYED, ids=lambda play: play.__name__)


def test_every_story_is_played() -> None:
    assert {play.__name__ for play in PLAYED} == set(stories())


@each_story
def test_a_story_shows_what_it_says(play: Callable[[Staged], Seen], tmp_path: Path) -> None:
    told, staged = story(play.__name__), Staged(story(play.__name__))
    seen, expected = play(staged), PLAYED[play][0]
    assert {name: seen[name] for name in expected} == expected
    assert staged.play.report().is_whole, staged.play.report()
    owed = {each.promise for each in staged.owed()}
    judgement = staged.judged(tmp_path)
    broken = {judgement.finding.promise} if judgement.finding else set()
    assert broken | owed == ({told.breaks} if told.breaks else set())
    assert not judgement.open_question


@pytest.mark.parametrize(
    "play", [each for each, (_, _, change) in PLAYED.items() if change], ids=lambda play: play.__name__
)
def test_a_story_is_harmless_where_its_rule_is_there(play: Callable[[Staged], Seen], tmp_path: Path) -> None:
    _, expected, change = PLAYED[play]
    staged = Staged(Story.model_validate({**story(play.__name__).model_dump(exclude_unset=True), **change}))
    seen = play(staged)
    assert {name: seen[name] for name in expected} == expected
    assert not staged.owed()
    assert staged.judged(tmp_path).finding is None


def test_with_transaction_version_2_a_late_end_txn_does_nothing(tmp_path: Path) -> None:
    plan = Story.model_validate({**story("late_end_txn").model_dump(exclude_unset=True), "transaction_version": 2})
    staged = Staged(plan)
    me = staged.begin(version=5)
    staged.write(me, LATE, b"first", version=12)
    ended = staged.end(me, committed=True, version=5)
    me = ended.producer_id, ended.producer_epoch
    staged.write(me, LATE, b"second", version=12)
    staged.write(me, BESIDE, b"third", version=12)
    assert staged.end(me, committed=False, version=5).error == Error.NONE
    assert staged.readable(LATE) == [b"first"]
    assert staged.play.report().is_whole
    assert staged.judged(tmp_path).finding is None


# ---------------------------------------------------------------- what is told


@pytest.mark.parametrize("told", stories().values(), ids=lambda told: told.name)
def test_a_story_names_promises_and_bugs_that_there_are(told: Story, repository_root: Path) -> None:
    assert not told.breaks or told.breaks in {*IN_STATES, *OWED}
    listed = (repository_root / "docs/bugs.md").read_text()
    assert all(f"| {bug} |" in listed for bug in told.bug)


def test_a_story_that_does_not_exist_is_refused_by_name() -> None:
    for name in ("nothing", "../parts", ""):
        with pytest.raises(NoSuchStory, match="there are epoch_exhaustion, hanging_transaction"):
            story(name)


def test_a_story_is_told_in_three_sentences() -> None:
    with pytest.raises(PlanError, match=r"x\.yaml, line 2: description: has 1 sentences; a story is told in 3"):
        parse_plan(
            "name: x\ndescription: Once.\nbug: []\nissues: x\nneeds: x\nclient_sees: x\nbreaks: ''", "x.yaml", Story
        )


COMMAND = "import sys; from zombieproof.cli import main; sys.exit(main())"


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_the_command_lists_stories_and_tells_one() -> None:
    listed = _run("stories")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert all(name in listed.stdout for name in stories())
    told = _run("stories", "late_end_txn")
    assert told.returncode == 0
    assert "KAFKA-17754" in told.stdout
    assert "a copy of the commit is late" in told.stdout


def test_the_command_refuses_a_name_that_it_does_not_know() -> None:
    refused = _run("stories", "late_end")
    assert refused.returncode == 2
    assert "did you mean late_end_txn" in refused.stderr


def test_the_trace_of_a_story_is_replayed_and_becomes_a_scenario(tmp_path: Path) -> None:
    staged, trace, scenario = Staged(story("late_end_txn")), tmp_path / "run.jsonl", tmp_path / "seen.py"
    late_end_txn(staged)
    staged.embedded.close()
    staged.trace.end()
    trace.write_text("".join(staged.lines), encoding="utf-8")
    done = _run("replay", str(trace), "--write-scenario", str(scenario))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "late_end_txn_seen" in scenario.read_text()
    refused = _run("replay", "--live", str(trace))
    assert refused.returncode == 2
    assert "is a zombieproof trace: omit" in refused.stderr
