"""What is owed for ever although all who can act do: judged as by trying every set of states, on graphs at random."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zombieproof.checker.engine import fairness, recording, search
from zombieproof.checker.engine.compiled import compiled
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.hosts import ModelFault
from zombieproof.checker.engine.internals import native
from zombieproof.checker.engine.model import Malformed, Model, Promise
from zombieproof.checker.engine.recording import MOST_LEADS_TO
from zombieproof.checker.engine.replay import replay
from zombieproof.checker.engine.result import Counterexample, Result
from zombieproof.checker.engine.storage import OutOfMemory
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.model.fields import array

NODES = 6
ACTIONS = 4
FAULT = ACTIONS - 1
OWED, ALSO_OWED = "what_is_owed_is_paid", "what_is_also_owed_is_paid"


@dataclass(slots=True)
class Place:
    """Where a walker through a graph is."""

    node: int = 0


@dataclass(slots=True)
class Map:
    """A graph: for each node and action where it leads (-1: disabled) and whose action it is, and what nodes owe."""

    targets: list[int] = array(int, NODES * ACTIONS)
    tasks: list[int] = array(int, NODES * ACTIONS)
    owed: list[int] = array(int, NODES)
    also_owed: list[int] = array(int, NODES)
    bound: int = -1


@dataclass(slots=True)
class Nothing:
    """No trail."""

    unused: int = 0


def step(state: Place, action: int, graph: Map, trail: Nothing) -> bool:
    """Go where the action leads."""
    target = graph.targets[state.node * ACTIONS + action]
    if target < 0:
        return False
    state.node = target
    return True


def tasks(state: Place, action: int, graph: Map) -> int:
    """Whose action it is."""
    return graph.tasks[state.node * ACTIONS + action]


def what_is_owed_is_paid(state: Place, graph: Map) -> bool:
    """Nothing is owed here."""
    return graph.owed[state.node] == 0


def what_is_also_owed_is_paid(state: Place, graph: Map) -> bool:
    """Nothing else is owed here."""
    return graph.also_owed[state.node] == 0


def bound_hit(state: Place, graph: Map) -> int:
    """Code 1 at one of the nodes."""
    return 1 if state.node == graph.bound else 0


GRAPHS = Model(
    name="graphs",
    state=Place,
    setup=Map,
    trail=Nothing,
    actions=ACTIONS,
    step=step,
    tasks=tasks,
    describe=lambda state, action, graph: f"from {state.node} by {action}",
    initial=lambda graph: Place(),
    promises=(
        Promise(OWED, "leads_to", what_is_owed_is_paid),
        Promise(ALSO_OWED, "leads_to", what_is_also_owed_is_paid),
    ),
    bound_hit=bound_hit,
    bounds={1: "a node too far"},
    faults=frozenset({FAULT}),
)


def a_map(steps: dict[tuple[int, int], tuple[int, int]], owed: set[int], also_owed: set[int] | None = None) -> Map:
    """A graph: (node, action) -> (target, task)."""
    graph = Map(targets=[-1] * (NODES * ACTIONS))
    for (node, action), (target, task) in steps.items():
        graph.targets[node * ACTIONS + action] = target
        graph.tasks[node * ACTIONS + action] = task
    graph.owed = [int(node in owed) for node in range(NODES)]
    graph.also_owed = [int(node in (also_owed or set())) for node in range(NODES)]
    return graph


# --- the oracle: every set of states ----------------------------------------------------------------------------------


def steps_of(graph: Map, node: int) -> Iterator[tuple[int, int, int]]:
    """Action, target and task of each step from a node that changes something; of faults the task is 0."""
    for action in range(ACTIONS):
        target = graph.targets[node * ACTIONS + action]
        if target not in (-1, node):
            yield action, target, 0 if action == FAULT else graph.tasks[node * ACTIONS + action]


def reached(graph: Map, start: int, inside: set[int]) -> set[int]:
    found, waiting = {start}, [start]
    while waiting:
        for _, target, _ in steps_of(graph, waiting.pop()):
            if target in inside and target not in found:
                found.add(target)
                waiting.append(target)
    return found


def is_fair(graph: Map, visited: set[int], acting: set[int]) -> bool:
    """Whether each task acts, or cannot act in one of the states that are visited for ever."""
    able = [{task for _, _, task in steps_of(graph, node)} for node in visited]
    return not set.intersection(*able) - acting - {0}


def may_owe_for_ever(graph: Map, owed: list[int]) -> bool:
    """Whether any set of reachable states that owe is strongly connected and fair. A single state may stay as it is."""
    owing = [node for node in sorted(reached(graph, 0, set(range(NODES)))) if owed[node]]
    for size in range(1, len(owing) + 1):
        for chosen in map(set, combinations(owing, size)):
            if all(reached(graph, node, chosen) == chosen for node in chosen):
                acting = {task for node in chosen for _, target, task in steps_of(graph, node) if target in chosen}
                if is_fair(graph, chosen, acting):
                    return True
    return False


def check_counterexample(graph: Map, owed: list[int], violated: Counterexample) -> None:
    """See that a counterexample is one: it can happen, closes, owes for ever, and is fair."""
    assert violated.actions is not None
    assert violated.repeats_from is not None
    run = replay(GRAPHS, graph, violated.actions)
    nodes = [0, *(taken.after.node for taken in run)]
    cycle = nodes[violated.repeats_from :]
    assert cycle[0] == cycle[-1]
    assert all(owed[node] for node in cycle)
    acting = set()
    for taken in run[violated.repeats_from :]:
        if taken.action != FAULT and taken.before.node != taken.after.node:
            acting.add(graph.tasks[taken.before.node * ACTIONS + taken.action])
    assert is_fair(graph, set(cycle), acting)


def outcome(result: Result, name: str) -> bool | None:
    return next(judged.holds for judged in result.promises if judged.name == name)


@st.composite
def maps(draw: st.DrawFn) -> Map:
    places = NODES * ACTIONS
    graph = Map()
    node = st.sampled_from([-1, -1, -1, *range(NODES)])
    graph.targets = draw(st.lists(node, min_size=places, max_size=places))
    graph.tasks = draw(st.lists(st.integers(0, 3), min_size=places, max_size=places))
    mostly = st.sampled_from([1, 1, 1, 0])
    graph.owed = draw(st.lists(mostly, min_size=NODES, max_size=NODES))
    graph.also_owed = draw(st.lists(mostly, min_size=NODES, max_size=NODES))
    return graph


def judge_as_the_oracle(graph: Map) -> bool:
    """Compare what is found with every set of states, and return whether something is owed for ever."""
    result = explore(GRAPHS, graph)
    expected = {OWED: not may_owe_for_ever(graph, graph.owed), ALSO_OWED: not may_owe_for_ever(graph, graph.also_owed)}
    assert {name: outcome(result, name) for name in expected} == expected
    assert result.verdict == ("holds" if all(expected.values()) else "violated")
    if result.violated is None:
        return False
    owed = graph.owed if result.violated.promise == OWED else graph.also_owed
    check_counterexample(graph, owed, result.violated)
    return True


def test_where_nothing_is_ever_owed_nothing_is_owed_for_ever() -> None:
    assert not judge_as_the_oracle(a_map({}, set()))
    assert not judge_as_the_oracle(a_map({(0, 0): (1, 1), (1, 0): (0, 1)}, set()))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(maps())
def test_on_any_graph_the_verdict_is_that_of_trying_every_set_of_states(graph: Map) -> None:
    judge_as_the_oracle(graph)


@pytest.mark.slow
def test_rounds_that_are_put_together_of_parts_are_fair_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fairness, "_MOST_PLACES", 0)
    found = []

    @settings(max_examples=200, deadline=None)
    @given(maps())
    def judged(graph: Map) -> None:
        result = explore(GRAPHS, graph)
        if result.violated is not None and result.violated.actions is not None:
            found.append(len(result.violated.actions) - (result.violated.repeats_from or 0))
        judge_as_the_oracle(graph)

    judged()
    assert max(found) > 2


# --- one graph for each thing -----------------------------------------------------------------------------------------

ROUND = {(0, 0): (1, 1), (1, 0): (2, 1), (2, 0): (1, 1)}


def found(graph: Map) -> tuple[str, list[int] | None, int | None]:
    violated = explore(GRAPHS, graph, promises=[OWED]).violated
    return (violated.promise, violated.actions, violated.repeats_from) if violated else ("", None, None)


def test_a_round_in_which_something_is_owed_is_told_with_the_shortest_way_there() -> None:
    assert found(a_map(ROUND, {1, 2})) == (OWED, [0, 0, 0], 1)


def test_a_round_that_pays_in_one_of_its_states_is_none() -> None:
    assert found(a_map(ROUND, {1})) == ("", None, None)


def test_who_can_always_act_leaves_the_round_some_time() -> None:
    assert found(a_map({**ROUND, (1, 1): (3, 2), (2, 1): (3, 2)}, {1, 2})) == ("", None, None)


def test_who_can_act_in_some_states_of_a_round_only_need_not() -> None:
    assert found(a_map({**ROUND, (1, 1): (3, 2)}, {1, 2})) == (OWED, [0, 0, 0], 1)


def test_a_fault_need_not_happen_though_it_always_can() -> None:
    assert found(a_map({**ROUND, (1, FAULT): (3, 2), (2, FAULT): (3, 2)}, {1, 2})) == (OWED, [0, 0, 0], 1)


def test_a_round_goes_where_those_act_who_always_can() -> None:
    detour = {(1, 1): (3, 2), (2, 1): (3, 2), (3, 1): (1, 2)}
    assert found(a_map({**ROUND, **detour}, {1, 2, 3})) == (OWED, [0, 1, 1], 1)
    both = {**detour, (3, 0): (4, 1), (4, 0): (1, 3)}
    del both[3, 1]
    assert found(a_map({**ROUND, **both}, {1, 2, 3, 4})) == (OWED, [0, 1, 0, 0], 1)


def test_what_is_owed_where_nobody_can_act_is_owed_for_ever() -> None:
    assert found(a_map({(0, 0): (1, 1), (1, FAULT): (2, 0)}, {1})) == (OWED, [0], 1)


def test_a_step_that_changes_nothing_is_shown_where_nobody_can_act_and_is_no_act_elsewhere() -> None:
    assert found(a_map({(0, 0): (1, 1), (1, 2): (1, 1)}, {1})) == (OWED, [0, 2], 1)
    assert found(a_map({(0, 0): (1, 1), (1, 0): (1, 1), (1, 1): (2, 1)}, {1})) == ("", None, None)


def test_the_nearer_of_two_broken_promises_is_told_and_both_are_known() -> None:
    result = explore(GRAPHS, a_map({(0, 0): (1, 1), (1, 0): (2, 1)}, {2}, {0, 1, 2}))
    assert (outcome(result, OWED), outcome(result, ALSO_OWED)) == (False, False)
    result = explore(GRAPHS, a_map({**ROUND, (0, 1): (3, 1), (3, 0): (4, 1)}, {4}, {1, 2}))
    assert result.violated is not None
    assert result.violated.promise == ALSO_OWED


def test_a_graph_that_was_not_explored_completely_leaves_it_open() -> None:
    line = {(0, 0): (1, 1), (1, 0): (2, 1), (2, 0): (3, 1)}
    graph = a_map(line, {0, 1, 2})
    for result in (explore(GRAPHS, graph, max_states=2), explore(GRAPHS, graph, max_depth=1)):
        assert (result.verdict, outcome(result, OWED)) == ("inconclusive", None)
    graph.bound = 2
    result = explore(GRAPHS, graph)
    assert (result.verdict, outcome(result, OWED)) == ("inconclusive", None)


def test_what_is_found_before_a_capacity_is_exceeded_is_found() -> None:
    graph = a_map({**ROUND, (0, 1): (3, 1)}, {1, 2})
    graph.bound = 3
    assert found(graph) == (OWED, [0, 0, 0], 1)


def test_a_graph_that_does_not_fit_into_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(self: Any, needed: int, what: str) -> None:
        if what.startswith("a graph of"):
            raise OutOfMemory(f"{what} is too much")

    monkeypatch.setattr("zombieproof.checker.engine.storage.Memory.check", check)
    result = explore(GRAPHS, a_map(ROUND, {1, 2}))
    assert (result.verdict, result.why) == ("inconclusive", "a graph of 2 states and 2 steps is too much")


def test_a_task_that_cannot_be_is_refused() -> None:
    with pytest.raises(ModelFault, match="graphs: tasks gives 64; give 1 to 63, or 0 for nobody"):
        explore(GRAPHS, a_map({(0, 0): (1, 64)}, {0}))


def test_more_promises_than_can_be_noted_are_refused() -> None:
    many = tuple(Promise(f"paid_{i}", "leads_to", what_is_owed_is_paid) for i in range(MOST_LEADS_TO + 1))
    with pytest.raises(Malformed, match="graphs: 17 promises of the kind leads_to; give up to 16"):
        explore(replace(GRAPHS, promises=many), a_map(ROUND, {1, 2}))


# --- threads, and what it costs who does not ask ----------------------------------------------------------------------


def less_than_full(state: Any, house: Any) -> bool:
    """No heap is full."""
    return not (state.heaps[0] == house.most or state.heaps[1] == house.most or state.heaps[2] == house.most)


@pytest.mark.parametrize("workers", [2, 3, 64])
def test_what_is_owed_is_noted_by_one_of_any_number_of_threads(
    coins: Model, house: Callable[..., Any], workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    owing = replace(coins, promises=(*coins.promises, Promise("paid", "leads_to", less_than_full)))
    setup = house(most=6)
    alone = explore(owing, setup)
    assert alone.violated is not None
    assert alone.violated.actions is not None
    assert (len(alone.violated.actions), alone.violated.repeats_from, alone.distinct) == (18, 18, 343)
    monkeypatch.setattr(search.Search, "_worth", lambda *_: workers)
    threaded = explore(owing, setup, workers=workers)
    assert (threaded.violated, threaded.promises) == (alone.violated, alone.promises)
    assert (threaded.distinct, threaded.generated, threaded.depth) == (alone.distinct, alone.generated, alone.depth)
    assert threaded.coverage.tolist() == alone.coverage.tolist()


def test_who_does_not_ask_is_told_what_an_exploration_without_notes_tells(
    coins: Model, house: Callable[..., Any]
) -> None:
    owing = replace(coins, promises=(*coins.promises, Promise("paid", "leads_to", less_than_full)))
    asked, plain = explore(owing, house(most=3)), explore(coins, house(most=3))
    assert (asked.distinct, asked.generated, asked.depth) == (plain.distinct, plain.generated, plain.depth)
    assert explore(owing, house(most=3), promises=["the_sum_is_allowed"]).verdict == "holds"


@pytest.mark.parametrize("gives_up", [1, 0])
def test_notes_in_many_chunks_say_the_same(gives_up: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many calls and chunks the notes are spread over, the graph of them is the same."""
    scenario = SCENARIOS["two_phase_commit_ends"]
    bounds = scenario.own_bounds({"n": 5, "gives_up": gives_up})
    setup, model = scenario.setup(scenario.own_rules(), bounds), scenario.model(bounds)
    chunks: list[int] = []
    joined = fairness.graph_of

    def counted(found: recording.RecordingSearch) -> fairness.Graph:
        chunks.append(len(found.chunks))
        return joined(found)

    monkeypatch.setattr(fairness, "graph_of", counted)
    whole = explore(model, setup, promises=scenario.leads_to)
    assert whole.verdict == ("holds" if gives_up else "violated")
    monkeypatch.setattr(search, "_SMALL_BUFFER", 1)
    monkeypatch.setattr(recording, "_ROWS_AT_ONCE", 1)
    monkeypatch.setattr(recording, "_CALLS", 1)
    parts = explore(model, setup, promises=scenario.leads_to)
    assert (parts.verdict, parts.violated, parts.distinct) == (whole.verdict, whole.violated, whole.distinct)
    assert chunks[0] == 1
    assert chunks[1] > 50


@pytest.mark.parametrize("seed", range(3))
def test_the_first_step_that_leads_back_is_found_wherever_it_is(seed: int) -> None:
    """Among many nodes, each with some steps to later ones and to states where nothing is owed, in two parts."""
    chance = np.random.default_rng(seed)
    nodes, most = 3_000, 6
    prints = chance.integers(1, 1 << 64, nodes + 50, dtype=np.uint64)
    degrees = chance.integers(0, most, nodes, dtype=np.uint32)
    sources = np.repeat(np.arange(nodes), degrees)
    targets = chance.integers(sources + 1, nodes + 50)
    back = int(chance.integers(nodes // 2, len(sources)))

    def first_of(targets: Any) -> list[int]:
        met, half = np.zeros((1, 4_608), np.uint64), nodes // 2
        steps = int(degrees[:half].sum())
        parts = (0, half, 0, steps), (half, nodes, steps, len(sources))
        owed = prints[:nodes].reshape(1, -1)
        return [
            find(owed, met, first, degrees[first:behind], prints[targets[one:other]])
            for first, behind, one, other in parts
        ]

    find = compiled(GRAPHS).first_back
    assert first_of(targets) == [-1, -1]
    targets[back] = chance.integers(0, sources[back])
    assert max(first_of(targets)) == sources[back]


def test_steps_are_linked_where_one_leads_back(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    joined = fairness.graph_of

    def counted(found: recording.RecordingSearch) -> fairness.Graph:
        graph = joined(found)
        steps.append(len(graph.targets))
        return graph

    monkeypatch.setattr(fairness, "graph_of", counted)
    assert found(a_map({(0, 0): (1, 1), (1, 0): (2, 1)}, {0, 1, 2})) == (OWED, [0, 0], 2)
    assert found(a_map(ROUND, {1, 2})) is not None
    assert steps == [0, 2]


def test_a_call_that_is_made_again_and_again_is_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """To tell compiled code where all arrays are takes longer than a phase of a small buffer."""
    spread, called = native.spread, native.Linked.called
    counts = {"spread": 0, "called": 0}

    def counted_spread(arguments: tuple[Any, ...]) -> Any:
        counts["spread"] += 1
        return spread(arguments)

    def counted(linked: native.Linked, block: Any) -> int | None:
        counts["called"] += 1
        return called(linked, block)

    monkeypatch.setattr(native, "spread", counted_spread)
    monkeypatch.setattr(native.Linked, "called", counted)
    monkeypatch.setattr(search, "_SMALL_BUFFER", 1)
    monkeypatch.setattr(recording, "_ROWS_AT_ONCE", 1)
    scenario = SCENARIOS["two_phase_commit_ends"]
    bounds = scenario.own_bounds({"n": 5})
    setup = scenario.setup(scenario.own_rules(), bounds)
    result = explore(scenario.model(bounds), setup, promises=scenario.kept)
    assert (result.verdict, result.distinct) == ("holds", 8_832)
    assert counts["called"] > 2_000
    assert counts["spread"] < counts["called"] // 2
