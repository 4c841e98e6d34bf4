"""The world of the 2014 proposal: its bounds and capacities, nothing in it is dead, its stories, both hosts agree."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pytest

from zombieproof.checker.checking import Checked, Request, check
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.replay import _Both, replay
from zombieproof.checker.engine.result import Result
from zombieproof.checker.proposal2014 import state as world
from zombieproof.checker.proposal2014.action_kinds import ACTIONS, FAULTS, TASKS, Action
from zombieproof.checker.proposal2014.model import PROPOSAL2014
from zombieproof.checker.proposal2014.scenarios import (
    CLEANED,
    COPY,
    CRASH,
    FAILOVER,
    INTERLEAVED,
    LOST,
    READINGS,
    ZOMBIE,
)
from zombieproof.checker.scenario import Scenario, UnknownBound
from zombieproof.checker.scenarios import scenarios_of
from zombieproof.cli import main
from zombieproof.model.proposal2014.records import LOG, TRANSACTIONS, Transaction
from zombieproof.model.proposal2014.vocabulary import JournalState, TransactionState
from zombieproof.model.rules import Rules
from zombieproof.statemachines.registry import ALL_MACHINES
from zombieproof.statemachines.registry import PROPOSAL2014 as MACHINES

PROPOSAL_SCENARIOS = scenarios_of("proposal2014")
MUTANTS = [(scenario, mutant) for scenario in PROPOSAL_SCENARIOS for mutant in scenario.mutants]
NOTHING_JUDGED = ("no_machine_leaves_its_table",)
"""What is judged where all of a world is to be explored."""


@cache
def checked(scenario_name: str, mutant: str = "") -> Checked:
    """A scenario or mutant, explored once for all tests."""
    scenario = next(each for each in PROPOSAL_SCENARIOS if each.name == scenario_name)
    return check(scenario, Request(mutant=mutant, workers=2))


def setup_of(scenario: Scenario, **bounds: int) -> world.Setup:
    setup = scenario.setup(Rules(), scenario.own_bounds(bounds))
    assert isinstance(setup, world.Setup)
    return setup


def explored(scenario: Scenario, *promises: str, **bounds: int) -> Result:
    """A scenario within other bounds, judged by these promises."""
    return explore(PROPOSAL2014, setup_of(scenario, **bounds), promises=promises or NOTHING_JUDGED)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("records", 3, "records=3 is out of range; give 1 to 2"),
        ("records", 0, "records=0 is out of range; give 1 to 2"),
        ("instances", 0, "instances=0 is out of range; give 1 to 2"),
        ("instances", 3, "instances=3 is out of range; give 1 to 2"),
        ("starts", 4, "starts=4 is out of range; give 1 to 3"),
        ("blocks", 4, "blocks=4 is out of range; give 1 to 3"),
        ("partitions", 3, "partitions=3 is out of range; give 1 to 2"),
        ("readers", 3, "readers=3 is out of range; give 0 to 2"),
        ("own_ids", 2, "own_ids=2 is out of range; give 0 to 1"),
        ("grouped", 2, "grouped=2 is out of range; give 0 to 1"),
        ("read_committed", 2, "read_committed=2 is out of range; give 0 to 1"),
        ("lost", 101, "lost=101 is out of range; give 0 to 100"),
        ("doubt_aborts", 2, "doubt_aborts=2 is neither off nor on; give 0 or 1"),
        ("zombies", 1, "there is no bound 'zombies'; there are: instances"),
    ],
)
def test_a_bound_that_cannot_be_is_refused_with_what_can(name: str, value: int, says: str) -> None:
    with pytest.raises(UnknownBound, match=says) as refused:
        check(COPY, Request(bounds={name: value}))
    assert refused.value.what == name


@pytest.mark.parametrize(
    ("name", "least", "most"), [("records", 1, 2), ("starts", 1, 3), ("instances", 1, 2), ("readers", 0, 2)]
)
def test_the_ends_of_a_range_are_in_it(name: str, least: int, most: int) -> None:
    for value in (least, most):
        assert getattr(setup_of(COPY, **{name: value}), name) == value


def test_every_reading_and_fault_of_the_bounds_reaches_the_setup() -> None:
    names = [*READINGS, *world.Budget.__dataclass_fields__]
    assert set(names) < set(COPY.bounds)
    for name in names:
        setup = setup_of(COPY, **{name: 1 - COPY.bounds[name]})
        usual = setup_of(COPY)
        part = "rules" if name in READINGS else "budget"
        differ = [each for each in names if value_of(setup, each) != value_of(usual, each)]
        assert differ == [name], part


def value_of(setup: world.Setup, name: str) -> int:
    return int(getattr(setup.rules if name in READINGS else setup.budget, name))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command line: exit code, stdout, stderr."""

    def run_main(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        return int(code), written.out, written.err

    return run_main


Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("bound", ["records=3", "late=3", "instances=0"])
def test_the_command_line_refuses_it_as_well(run: Run, bound: str) -> None:
    code, out, err = run("check", "proposal_copy", "--bounds", bound)
    assert (code, out) == (2, "")
    assert f"proposal2014: {bound} is out of range; give" in err


def test_a_reading_is_switched_off_by_its_name(run: Run) -> None:
    code, out, _ = run("check", "proposal_cleaned", "--without", "controls_stay")
    assert (code, "the_group_goes_on_behind_what_is_committed is broken" in out) == (1, True)
    code, _, err = run("check", "proposal_cleaned", "--without", "control_stays")
    assert (code, "did you mean controls_stay" in err) == (2, True)


def test_a_scenario_is_chosen_of_its_model(run: Run) -> None:
    code, out, _ = run("check", "--model", "proposal2014", "proposal_cleaned")
    assert (code, f"{CLEANED.distinct:,} distinct" in out) == (0, True)
    code, _, err = run("check", "--model", "proposal2014", "late_produce")
    assert code == 2
    assert "late_produce belongs to the model transactions; proposal2014 has: proposal_copy" in err


@pytest.mark.slow
def test_the_scenarios_of_the_model_hold(run: Run) -> None:
    code, out, _ = run("check", "--model", "proposal2014")
    assert code == 0
    assert f"{len(PROPOSAL_SCENARIOS)} scenarios" in out


def test_a_run_that_needs_more_transactions_than_there_is_room_for_is_inconclusive() -> None:
    small = {"blocks": 1, "partitions": 1, "readers": 0}
    enough = explored(COPY, *COPY.kept, **small, aborts=TRANSACTIONS - 1)
    assert (enough.verdict, enough.bound_hits) == ("holds", {})
    result = explored(COPY, *COPY.kept, **small, aborts=TRANSACTIONS)
    assert result.verdict == "inconclusive"
    assert list(result.bound_hits) == [world.FULL[1]]
    assert result.lacked_room


@pytest.mark.parametrize(
    ("bounds", "needed"),
    [
        ({"blocks": 3, "records": 2, "plain_messages": 1}, 10),
        ({"blocks": 3, "records": 2, "plain_messages": 2}, 11),
        ({"blocks": 1, "records": 1, "plain_messages": 8}, 10),
        ({"blocks": 1, "records": 1, "plain_messages": 9}, 11),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value),
)
def test_a_run_that_needs_more_records_than_there_is_room_for_is_inconclusive(
    bounds: dict[str, int], needed: int
) -> None:
    """Also where it is a plain message that has no room: then a transaction has none where it comes behind it."""
    result = explored(INTERLEAVED, *INTERLEAVED.kept, instances=1, **bounds)
    if needed <= LOG:
        assert (result.verdict, result.bound_hits) == ("holds", {})
    else:
        assert (result.verdict, list(result.bound_hits)) == ("inconclusive", [world.FULL[2]])


def test_an_application_that_is_given_more_than_it_has_room_for_is_inconclusive() -> None:
    """Only one that is given messages twice needs so much: where that is a broken promise, it is found before."""
    more = {"instances": 1, "plain_messages": 0, "doubt_aborts": 0, "second_controls_are_ignored": 0}
    result = explored(INTERLEAVED, "a_transaction_has_one_end", **more, lost=4)
    assert (result.verdict, list(result.bound_hits)) == ("inconclusive", [world.FULL[3]])
    found = explored(INTERLEAVED, "nothing_is_delivered_twice", **more, lost=4)
    assert (found.verdict, found.bound_hits) == ("violated", {})
    enough = explored(INTERLEAVED, "a_transaction_has_one_end", **more, lost=3)
    assert (enough.verdict, enough.bound_hits) == ("holds", {})


def test_every_capacity_is_hit_above() -> None:
    assert set(world.FULL) == {1, 2, 3}


TWICE = (
    "the reader of partition 0 reads the COMMITTED control record of TxId 1 at offset 2, and delivers offset 0, a "
    "message of TxId 1"
)


@pytest.mark.parametrize(
    ("scenario", "mutant", "lines"),
    [
        (
            ZOMBIE,
            "admit_two_connections",
            [
                "instance A starts: no generation is stored, so it takes generation 0",
                "instance B starts: no generation is stored, so it takes generation 0",
                "instance A asks the coordinator to begin, with generation 0: TxId 1 begins",
                "instance B asks the coordinator to begin, with generation 0: TxId 1 has begun already",
                "instance A sends its input offsets of TxId 1 to the offsets partition: it is appended",
                "instance A asks the coordinator to commit TxId 1: it will be committed",
                "instance B fetches the offsets of its group: block 1 is next",
                "instance B sends block 1 of TxId 1 to partition 0: it is appended",
                "instance A sends block 1 of TxId 2 to partition 0: it is appended",
                (
                    "instance A asks the coordinator to commit TxId 2: it will be committed, although block 1 is "
                    "already committed"
                ),
            ],
        ),
        (
            LOST,
            "send_again_what_is_in_doubt",
            [
                "the leader of partition 0 learns that TxId 1 has begun",
                "instance A sends block 0 of TxId 1 to partition 0: it is appended, and the response is lost",
                "instance A sends block 0 of TxId 1 to partition 0: it is appended, although it is already there",
            ],
        ),
        (
            LOST,
            "deliver_at_a_second_control_record",
            [
                "the reader of partition 0 reads a message of TxId 1 at offset 0, and holds it back",
                "the leader of partition 0 appends the COMMITTED control record of TxId 1",
                TWICE,
            ],
        ),
        (
            FAILOVER,
            "leave_an_abort_unrecorded",
            ["the coordinator fails over, and the new one reads the journal"],
        ),
        (
            CRASH,
            "commit_the_generation_with_the_state",
            ["instance A will store its generation 0 with its next transaction", "instance A crashes"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_counterexample_is_told_in_words(scenario: Scenario, mutant: str, lines: list[str]) -> None:
    found = checked(scenario.name, mutant)
    assert found.result.violated is not None
    told = [step.text for step in replay(found.model, found.setup, found.result.violated.actions or [])]
    places = [told.index(line) for line in lines]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("scenario", "mutant"), [(ZOMBIE, "admit_two_connections"), (LOST, "send_again_what_is_in_doubt")]
)
def test_a_counterexample_goes_into_a_file_and_runs_again(
    run: Run, tmp_path: Path, scenario: Scenario, mutant: str
) -> None:
    path = tmp_path / "story.jsonl"
    code, out, _ = run("check", scenario.name, "--mutant", mutant, "-o", path)
    breaks, steps = next((each.breaks, each.steps) for each in scenario.mutants if each.name == mutant)
    assert (code, f"{breaks} is broken" in out) == (1, True)
    code, again, _ = run("replay", path)
    assert code == 1
    assert f"violates: {breaks} is broken after {steps} steps, as the file says" in again
    moves = [line for line in out.splitlines() if "-->" in line]
    assert "proposal2014 producer instance A: STOPPED --START--> STARTING" in moves[0]
    assert moves == [line for line in again.splitlines() if "-->" in line]


def told_in(result: Result) -> set[str]:
    """The kinds of actions in a story of what is broken, or in those of what is reached."""
    stories = [*result.witnesses.values(), (result.violated.actions or []) if result.violated else []]
    return {Action(ACTIONS[action][0]).name for story in stories for action in story}


@pytest.mark.slow
def test_every_kind_of_action_is_in_a_story() -> None:
    """Of what a scenario reaches, or of what a mutant breaks, on a shortest way: what is dead is in none."""
    dead = {kind.name for kind in Action}
    for scenario in PROPOSAL_SCENARIOS:
        dead -= told_in(checked(scenario.name).result)
    for scenario, mutant in sorted(MUTANTS, key=lambda each: each[1].steps):
        dead -= told_in(checked(scenario.name, mutant.name).result) if dead else set()
    assert dead == set()


def test_each_action_is_of_somebody_who_has_to_act_or_a_fault() -> None:
    assert len(ACTIONS) == len(set(ACTIONS)) == len(TASKS)
    tasks = [task for task in TASKS if task]
    assert sorted(tasks) == list(range(1, len(tasks) + 1))
    for action, task in enumerate(TASKS):
        assert (task == 0) == (action in FAULTS)


Row = tuple[str, str, str]


def rows_of(result: Result) -> set[Row]:
    """The rows of the machines of the proposal that an exploration took: machine, state, event."""
    assert result.coverage is not None
    numbers = {name: number for number, name in enumerate(ALL_MACHINES)}
    return {
        (name, row.state.name, row.event.name)
        for name, machine in MACHINES.items()
        for row in machine.rows
        if result.coverage[numbers[name]][row.state][row.event]
    }


OTHERWISE: dict[Row, tuple[Scenario, dict[str, int]]] = {
    ("proposal2014_coordinator", "PREPARED_ABORT", "LEAVE_UNRECORDED"): (COPY, {"aborted_is_recorded": 0}),
    ("proposal2014_producer", "ABORTING", "HEAR_COMMITTED"): (ZOMBIE, {"one_connection": 0, "aborts": 1, "blocks": 1}),
    ("proposal2014_producer", "CLOSED", "START"): (ZOMBIE, {"starts": 2, "blocks": 1}),
    ("proposal2014_producer", "CLOSED", "CRASH"): (ZOMBIE, {"crashes": 1, "blocks": 1}),
    ("proposal2014_leader", "UNKNOWN", "APPEND_CONTROL_AND_FORGET"): (
        LOST,
        {"leaders_remember_finished": 0, "late": 0},
    ),
    ("proposal2014_leader", "PENDING", "APPEND_CONTROL_AND_FORGET"): (COPY, {"leaders_remember_finished": 0}),
}
"""The rows that no scenario takes as it is, and with which reading, or within which bounds, one does."""


@pytest.mark.slow
def test_every_row_is_taken_by_some_scenario_as_it_is_or_otherwise() -> None:
    there_are = {(name, row.state.name, row.event.name) for name, machine in MACHINES.items() for row in machine.rows}
    taken = {row for scenario in PROPOSAL_SCENARIOS for row in rows_of(checked(scenario.name).result)}
    assert there_are - taken == set(OTHERWISE)


@pytest.mark.parametrize("row", OTHERWISE, ids=" ".join)
def test_a_row_is_taken_otherwise(row: Row) -> None:
    scenario, bounds = OTHERWISE[row]
    assert row in rows_of(explored(scenario, **bounds))
    readings = {name: 1 for name in bounds if name in READINGS}
    if readings:
        assert row not in rows_of(explored(scenario, **{**bounds, **readings})), "it needs the reading"


@pytest.mark.parametrize("fault", ["timeouts", "aborts"])
def test_a_control_record_that_was_cleaned_away_leaves_the_table_of_offsets_alone(fault: str) -> None:
    result = explored(CLEANED, "no_machine_leaves_its_table", controls_stay=0, **{fault: 1})
    assert (result.verdict, result.violated) == ("holds", None)


def test_every_reading_is_off_in_a_mutant() -> None:
    off = {name for scenario in PROPOSAL_SCENARIOS for mutant in scenario.mutants for name in mutant.bounds}
    assert set(READINGS) - off == {"coordinator_chooses_tx_ids"}, "whose other way breaks nothing"


def test_every_promise_is_broken_by_a_mutant_but_that_of_all_tables() -> None:
    kept = {promise.name for promise in PROPOSAL2014.promises if promise.kind != "sometimes"}
    broken = {mutant.breaks for _, mutant in MUTANTS}
    assert kept - broken == {"no_machine_leaves_its_table"}


COMPARED = 12
"""Actions of a state that a walk tries on both hosts, most of them disabled; then it takes one that is enabled."""


def walk_of_both(scenario: Scenario, seed: str, steps: int, **bounds: int) -> int:
    """Walk at random, interpreted and compiled, comparing actions, enabled or not, and all promises: how far."""
    random, both = Random(seed), _Both(PROPOSAL2014, setup_of(scenario, **bounds))
    state = both.interpreted.initial()
    for taken in range(steps):
        if both.judge(state):
            return taken
        where = f"{scenario.name}, seed {seed!r}, step {taken}"
        actions = random.sample(range(PROPOSAL2014.actions), PROPOSAL2014.actions)
        packed = both.compiled.engine.state.pack(state)
        enabled = [action for action in actions if both.compiled.step(packed, action)[0] is not None]
        for action in actions[:COMPARED]:
            both.step(state, action, where)
        if not enabled:
            return taken
        state, _ = both.step(state, enabled[0], where)
    return steps


@pytest.mark.parametrize("scenario", PROPOSAL_SCENARIOS, ids=lambda scenario: scenario.name)
def test_compiled_and_interpreted_agree_along_random_walks(scenario: Scenario) -> None:
    """As it is, and with readings drawn at random."""
    assert walk_of_both(scenario, scenario.name, steps=40) > 15
    random = Random(scenario.name)
    walk_of_both(scenario, scenario.name, 40, **{name: random.randint(0, 1) for name in READINGS})


@pytest.mark.share(2)
@pytest.mark.slow
@pytest.mark.parametrize("scenario", PROPOSAL_SCENARIOS, ids=lambda scenario: scenario.name)
def test_compiled_and_interpreted_agree_along_many_random_walks(scenario: Scenario) -> None:
    """With more that may go wrong, and most readings as they are."""
    for seed in range(8):
        random = Random(f"{scenario.name} {seed}")
        more = {name: 1 for name in world.Budget.__dataclass_fields__ if random.random() < 0.5}
        readings = {name: int(random.random() < 0.8) for name in READINGS}
        walk_of_both(scenario, f"{scenario.name} {seed}", 100, **more, **readings)


def test_an_illegal_move_is_a_broken_promise() -> None:
    """Nothing in the scenarios makes one: a state that no step leads to does."""
    assert all("no_machine_leaves_its_table" in scenario.always for scenario in PROPOSAL_SCENARIOS)
    promise = next(each for each in PROPOSAL2014.promises if each.name == "no_machine_leaves_its_table")
    setup = setup_of(ZOMBIE)
    for state_of_journal, holds in ((JournalState.HELD, True), (JournalState.AT_END, False)):
        state, trail = PROPOSAL2014.initial(setup), world.Trail()
        state.coordinator.transactions[0] = Transaction(int(TransactionState.PREPARED_ABORT), partitions=1, to_end=1)
        state.coordinator.state = int(state_of_journal)
        assert PROPOSAL2014.step(state, ACTIONS.index((Action.CONTROL, 0)), setup, trail)
        assert promise.judge(state, setup) == holds
