"""Stories on the live system, and traces of live runs: what the command says, writes, and exits with."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.paths import stories
from tests.live.scripts import BREAKING, two_transactions
from zombieproof.bridge.live import Arrival, LiveRun
from zombieproof.checker.checking import Request, chosen
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.cli import run_live
from zombieproof.traces.trace import Conclusion, Header, Trace, TraceStep, rules_as_data
from zombieproof.traces.trace_file import write_trace


def story(folder: Path, scenario: str, mutant: str) -> Path:
    """A story as `check -o` writes it, without what it says of moves."""
    found = SCENARIOS[scenario]
    breaks = found.mutant(mutant)
    assert breaks is not None
    rules, bounds = chosen(found, Request(mutant=mutant))
    actions = stories()[scenario, mutant]
    steps = tuple(
        TraceStep(number=number, action=action, argument=0, name="step", description="")
        for number, action in enumerate(actions, start=1)
    )
    header = Header(
        model=found.model(bounds).name,
        scenario=scenario,
        mutant=mutant,
        rules=rules_as_data(rules) if scenario != "two_phase_commit" else {},
        bounds=bounds,
        promise=breaks.breaks,
    )
    path = folder / "story.jsonl"
    write_trace(path, Trace(header, steps, Conclusion(verdict="violated", steps=len(steps), promise=breaks.breaks)))
    return path


def live_run(folder: Path, promise: str = "") -> Path:
    lines: list[str] = []
    (BREAKING[promise] if promise else two_transactions)(lines.append)
    path = folder / "run.jsonl"
    path.write_text("".join(lines))
    return path


# ---------------------------------------------------------------- stories


def test_a_story_that_arrives_on_the_live_system_exits_0(run: Any, tmp_path: Path) -> None:
    path = story(tmp_path, "zombie_takeover", "end_txn_ignores_epoch")
    outcome = run("replay", "--live", path)
    assert outcome.code == 0
    assert " 1. A starts and asks for its producer id and epoch" in outcome.out
    assert "* coordinator x0: ONGOING --ABORT--> PREPARE_ABORT" in outcome.out
    assert outcome.out.splitlines()[-1] == (
        f"{path}: arrives: after 11 steps the live system stands where the checker stands, "
        "and breaks only_its_owner_ends_a_transaction"
    )


def test_a_story_that_differs_exits_1_and_tells_the_first_difference(run: Any, tmp_path: Path) -> None:
    path = story(tmp_path, "epoch_recovery", "the_client_raises_no_epoch")
    outcome = run("replay", "--live", path)
    assert outcome.code == 1
    assert outcome.out.splitlines()[-2:] == [
        f"{path}: differs in step 5 of 17",
        "  A: state is 7 in the checker, and 8 in the live producer",
    ]
    assert run("replay", "--live-brokers", path).code == 0


def test_a_story_without_a_lever_exits_3_and_says_so(run: Any, tmp_path: Path) -> None:
    outcome = run("replay", "--live", story(tmp_path, "two_phase_commit", "commit_without_waiting_for_all"))
    assert outcome.code == 3
    assert "inconclusive: the live system has no lever for its beginning" in outcome.out
    assert "is a protocol that no live broker speaks" in outcome.out


@pytest.mark.parametrize(
    ("scenario", "mutant", "says"),
    [
        (
            "appends_under_way",
            "markers_of_a_coordinator_of_before_count",
            (
                " 2. A's InitProducerId arrives at coordinator node 0",
                "* append 1 of broker 1, x0 EMPTY: waits to be made",
                "* append 1 of broker 1, x0 EMPTY: is durable, and waits to be told",
                "* append 1 of broker 1, x0 EMPTY: is over",
                "* append 3 of broker 1, x0 PREPARE_COMMIT: is durable, and waits to be looked at again",
            ),
        ),
        (
            "producer_id_blocks",
            "a_late_block_is_used_again",
            (
                " 3. the controller hands producer id block 0 out to node 0",
                "* producer ids of broker 1: left none, next block none; a block is on its way",
                "* producer ids of broker 1: left none, next block 0; a late copy is on its way",
                "* producer ids of broker 1: left none, next block 0; asks for a block",
            ),
        ),
    ],
)
def test_a_story_between_brokers_is_told_with_what_the_live_brokers_hold(
    run: Any, tmp_path: Path, scenario: str, mutant: str, says: tuple[str, ...]
) -> None:
    outcome = run("replay", "--live", story(tmp_path, scenario, mutant))
    assert outcome.code == 0
    told = iter(outcome.out.splitlines())
    for line in says:
        assert any(line in each for each in told), line
    assert ": arrives: after " in outcome.out


def test_what_happened_live_is_told_as_json_too(run: Any, tmp_path: Path) -> None:
    outcome = run("replay", "--live", story(tmp_path, "zombie_takeover", "end_txn_ignores_epoch"), "--json")
    (found,) = outcome.json["live"]
    assert (outcome.code, found["arrival"], len(found["steps"])) == (0, "arrives", 11)
    assert found["broken"] == ["only_its_owner_ends_a_transaction"]
    assert found["steps"][0]["text"] == "A starts and asks for its producer id and epoch"


def test_a_story_that_was_damaged_exits_3_with_its_line(run: Any, tmp_path: Path) -> None:
    path = story(tmp_path, "zombie_takeover", "end_txn_ignores_epoch")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[4]["action"] = 1
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    outcome = run("replay", "--live", path)
    assert outcome.code == 3
    assert f"damaged: {path}, line 5: step 4: action 1 is not possible here" in outcome.out


def test_the_worst_of_several_stories_is_the_exit_code(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    paths = (story(first, "zombie_takeover", "end_txn_ignores_epoch"), story(second, "late_produce", "no_verification"))
    assert run("replay", "--live", *paths).code == 0
    differs = iter([LiveRun(Arrival.NO_LEVER, (), 0, "none"), LiveRun(Arrival.DIFFERS, (), 1, "so")])
    monkeypatch.setattr(run_live, "run_live", lambda *given, **options: next(differs))
    assert run("replay", "--live", *paths).code == 1


def test_live_is_for_stories(run: Any, tmp_path: Path) -> None:
    outcome = run("replay", "--live", "tests/recordings/01-commit")
    assert outcome.code == 2
    assert "--live replays a counterexample, and tests/recordings/01-commit is not one" in outcome.err
    path = story(tmp_path, "zombie_takeover", "end_txn_ignores_epoch")
    assert run("replay", "--live", path, "--format", "junit").code == 2
    assert run("replay", "--live", path, "--rules", "3.9").code == 2


# ---------------------------------------------------------------- live runs


def test_a_live_run_that_conforms_exits_0(run: Any, tmp_path: Path) -> None:
    path = live_run(tmp_path)
    outcome = run("replay", path)
    events = len(path.read_text().splitlines()) - 2
    assert outcome.code == 0
    assert f"conforms: {path}: {events} events came out as the trace says, and no promise is broken" in outcome.out


def test_a_live_run_that_broke_a_promise_exits_1_with_its_line(run: Any, tmp_path: Path) -> None:
    path = live_run(tmp_path, "only_its_owner_ends_a_transaction")
    outcome = run("replay", path, "--json")
    (found,) = outcome.json["live_runs"]
    assert (outcome.code, found["verdict"]) == (1, "violates")
    assert found["finding"]["promise"] == "only_its_owner_ends_a_transaction"
    line = found["finding"]["line"]
    assert f"violates: {path}, line {line}: only_its_owner_ends_a_transaction" in run("replay", path).out


def test_a_live_run_that_is_cut_exits_3_and_says_where(run: Any, tmp_path: Path) -> None:
    path = live_run(tmp_path)
    path.write_bytes(path.read_bytes()[:-10])
    outcome = run("replay", path)
    assert outcome.code == 3
    assert f"inconclusive: {path}, line " in outcome.out
    assert "is torn after" in outcome.out
    path.write_text(path.read_text().replace('"kind":"event"', '"kind":"evening"', 1))
    outcome = run("replay", path)
    assert (outcome.code, "damaged: " in outcome.out) == (3, True)


@pytest.mark.sample("only_its_owner")
@pytest.mark.parametrize("promise", BREAKING)
def test_a_live_run_that_broke_a_promise_becomes_a_scenario_that_finds_it(
    run: Any, tmp_path: Path, promise: str
) -> None:
    target = tmp_path / "seen.py"
    outcome = run("replay", live_run(tmp_path, promise), "--write-scenario", target)
    assert outcome.code == 1
    assert f"zombieproof check {target}:live_seen" in outcome.out
    checked = run("check", f"{target}:live_seen", "--brief")
    assert checked.code == 1
    assert f"{promise} is broken" in checked.out.splitlines()[0]


def test_a_scenario_is_written_of_a_broken_promise_into_a_new_file_and_of_nothing_else(
    run: Any, tmp_path: Path
) -> None:
    target = tmp_path / "seen.py"
    path = live_run(tmp_path)
    outcome = run("replay", path, "--write-scenario", target)
    assert (outcome.code, target.exists()) == (2, False)
    assert "no promise of the checker is broken in the run: there is nothing to look for" in outcome.err
    path = live_run(tmp_path, "only_its_owner_ends_a_transaction")
    target.write_text("mine")
    outcome = run("replay", path, "--write-scenario", target)
    assert (outcome.code, target.read_text()) == (2, "mine")
    assert "the file exists; give a new name" in outcome.err
    outcome = run("replay", path, "--write-scenario", tmp_path / "nowhere" / "seen.py")
    assert outcome.code == 2
    assert "cannot be written" in outcome.err
    outcome = run("replay", "tests/recordings/01-commit", "--write-scenario", tmp_path / "other.py")
    assert outcome.code == 2
    assert "give exactly one file, the trace of a live run" in outcome.err


def test_options_of_recordings_and_stories_are_refused_for_a_live_run(run: Any, tmp_path: Path) -> None:
    path = live_run(tmp_path)
    for option in (("--live",), ("--open",), ("--rules", "3.9"), ("--scenario", "examples/own_scenario.py")):
        assert run("replay", path, *option).code == 2
    assert run("replay", path, "--format", "markdown").code == 2
    assert run("replay", path, "tests/recordings/01-commit").code == 2
