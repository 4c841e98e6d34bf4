"""Symmetry: orbits of the size that others found, the same verdicts, and paths that the model itself takes."""

import copy
import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.hosts import InterpretedHost, ModelFault
from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.model import Malformed, Model, Promise
from zombieproof.checker.engine.reductions import reduced
from zombieproof.checker.engine.replay import agree_everywhere, breaks, replay
from zombieproof.checker.engine.sorts import Sort
from zombieproof.checker.engine.symmetry import image, symmetric
from zombieproof.checker.two_phase_commit.model import Rules, two_phase_commit
from zombieproof.model.fields import array, integer

ALL = ("nobody_commits_what_another_aborted", "everybody_commits", "everybody_aborts")


def alike(model: Model, setup: object) -> Model:
    """The model that does not tell apart what may change places."""
    return symmetric(model, setup, [promise.name for promise in model.promises]).model


@pytest.mark.long("6-553", "7-920", "8-1461", "9-2232")
@pytest.mark.sample("5-314")
@pytest.mark.parametrize(
    ("managers", "orbits"), [(5, 314), (6, 553), (7, 920), (8, 1_461), (9, 2_232), (10, 3_300), (20, 54_922)]
)
def test_the_number_of_orbits_is_the_one_that_others_found(managers: int, orbits: int) -> None:
    result = explore(alike(two_phase_commit(managers), Rules()), Rules(), promises=ALL)
    assert (result.verdict, result.distinct, result.depth) == ("holds", orbits, 3 * managers + 1)


def test_compiled_and_interpreted_find_the_same_representatives() -> None:
    model = alike(two_phase_commit(4), Rules())
    exact, explored = agree_everywhere(model, Rules()), explore(model, Rules(), promises=ALL)
    assert (exact.distinct, exact.generated, exact.depth) == (explored.distinct, explored.generated, explored.depth)


def test_a_shortest_counterexample_is_as_long_and_is_one_of_the_model_itself() -> None:
    model, rules = two_phase_commit(6), Rules(wait_for_all=0)
    small = reduced(model, rules, ALL, ["symmetry"])
    full, found = explore(model, rules, promises=ALL), small.of_the_model(explore(small.smaller, rules, promises=ALL))
    assert full.violated is not None
    assert found.violated is not None
    assert found.violated.actions is not None
    assert full.violated.actions is not None
    assert len(found.violated.actions) == len(full.violated.actions)
    last = replay(model, rules, found.violated.actions)[-1].after
    assert breaks(model, rules, model.promises[0], last)


def test_a_way_to_what_happens_sometimes_is_one_of_the_model_itself() -> None:
    model = two_phase_commit(5)
    small = reduced(model, Rules(), ALL, ["symmetry"])
    witnesses = small.of_the_model(explore(small.smaller, Rules(), promises=ALL)).witnesses
    assert {name: len(path) for name, path in witnesses.items()} == {"everybody_commits": 16, "everybody_aborts": 5}
    for name, path in witnesses.items():
        promise = next(each for each in model.promises if each.name == name)
        assert promise.judge(replay(model, Rules(), path)[-1].after, Rules())


@pytest.mark.slow
def test_nothing_tells_resource_managers_apart() -> None:
    for rules in (Rules(), Rules(wait_for_all=0)):
        nobody_notices(two_phase_commit(3), rules, ALL)


# --- a model whose members are named: two players hand tokens to each other ---


@dataclass(slots=True)
class Player:
    """One who has said something to somebody: 1 + who; and whom it has met, a mask."""

    said_to: int = 0
    met: int = 0


@dataclass(slots=True)
class Hall:
    """Two players; who holds the ball; notes on the wall, 1 + 3 * who + what, in any order; what each one has."""

    players: list[Player] = array(Player, 2)
    holder: int = integer(-1)
    notes: list[int] = array(int, 2)
    points: list[int] = array(int, 4)


@dataclass(slots=True)
class Habits:
    """`favours` 1: only number 0 scores."""

    favours: int = 0


@dataclass(slots=True)
class Nothing:
    """No trail."""

    unused: int = 0


def play(state: Hall, action: int, habits: Habits, trail: Nothing) -> bool:
    """Take the ball, say something, meet, put a note on the wall, score."""
    who, what = action % 2, action // 2
    if what == 0:
        if state.holder != -1:
            return False
        state.holder = who
    elif what == 1:
        if state.holder != who or state.players[who].said_to != 0:
            return False
        state.players[who].said_to = 1 + (1 - who)
        state.holder = 1 - who
    elif what == 2:
        if state.players[who].said_to == 0 or state.players[who].met != 0:
            return False
        state.players[who].met = 1 << (1 - who)
    elif what == 3:
        if state.notes[0] != 0 and state.notes[1] != 0:
            return False
        state.notes[0 if state.notes[0] == 0 else 1] = 1 + 3 * who + state.points[2 * who]
    elif state.points[2 * who] == 2 or (habits.favours == 1 and who == 1):
        return False
    else:
        state.points[2 * who] += 1
        state.points[2 * who + 1] = 2 - state.points[2 * who]
    return True


def hang_notes_in_order(state: Hall, habits: Habits) -> None:
    """Of two notes the smaller comes first."""
    if state.notes[1] != 0 and state.notes[1] < state.notes[0]:
        state.notes[0], state.notes[1] = int(state.notes[1]), int(state.notes[0])


def nobody_meets_himself(state: Hall) -> bool:
    """A promise that tells nobody apart."""
    return state.players[0].met & 1 == 0 and state.players[1].met & 2 == 0


def not_all_points_are_made(state: Hall) -> bool:
    """One that breaks."""
    return state.points[0] + state.points[2] < 4


def the_second_holds_the_ball(state: Hall) -> bool:
    """One that names a player."""
    return state.holder == 1


PLAYERS = Sort(
    "players",
    2,
    arrays={(Hall, "players"): 1, (Hall, "points"): 2},
    values={(Hall, "holder"): (0, 1), (Hall, "notes"): (1, 3), (Player, "said_to"): (1, 1)},
    masks={(Player, "met"): 1},
    told_apart_by=frozenset({"the_second_holds_the_ball"}),
)
GAME = Model(
    name="game",
    state=Hall,
    setup=Habits,
    trail=Nothing,
    actions=10,
    step=play,
    normalise=hang_notes_in_order,
    describe=lambda state, action, habits: f"player {action % 2} does {action // 2}",
    initial=lambda habits: Hall(),
    promises=(
        Promise("nobody_meets_himself", "always", nobody_meets_himself),
        Promise("not_all_points_are_made", "always", not_all_points_are_made),
        Promise("the_second_holds_the_ball", "sometimes", the_second_holds_the_ball),
    ),
    sorts=lambda habits: (PLAYERS,),
)
OF_ALL = ("nobody_meets_himself", "not_all_points_are_made")


@pytest.mark.slow
def test_members_that_are_named_are_renamed_everywhere() -> None:
    nobody_notices(GAME, Habits(), OF_ALL)


@pytest.mark.slow
def test_one_of_each_two_images_is_kept() -> None:
    model = symmetric(GAME, Habits(), OF_ALL).model
    reached = agree_everywhere(GAME, Habits()).states
    layout = layout_of(Hall)
    orbits = {
        min(packed, layout.pack(image(GAME, PLAYERS, layout.unpack(packed), Habits(), 0, 1))) for packed in reached
    }
    found = explore(model, Habits(), promises=["nobody_meets_himself"])
    assert found.verdict == "holds"
    assert found.distinct == len(orbits) < len(reached)
    assert agree_everywhere(model, Habits()).distinct == len(orbits)


def test_who_is_named_in_a_counterexample_is_who_really_did_it() -> None:
    small = reduced(GAME, Habits(), OF_ALL, ["symmetry"])
    found = small.of_the_model(explore(small.smaller, Habits(), promises=OF_ALL))
    assert found.violated is not None
    assert found.violated.promise == "not_all_points_are_made"
    assert len(replay(GAME, Habits(), found.violated.actions or ())) == 4


def test_a_promise_that_names_a_member_keeps_members_apart() -> None:
    found = symmetric(GAME, Habits(), ["the_second_holds_the_ball"])
    assert found.model is GAME
    assert found.unused == {"players": "the_second_holds_the_ball tells them apart"}


def test_an_initial_state_that_names_a_member_keeps_members_apart() -> None:
    model = replace(GAME, name="begun", initial=lambda habits: Hall(holder=0))
    assert symmetric(model, Habits(), OF_ALL).unused == {"players": "the initial state tells them apart"}


def test_the_same_model_is_made_once() -> None:
    assert symmetric(GAME, Habits(), OF_ALL).model is symmetric(GAME, Habits(), OF_ALL).model


def test_a_model_that_favours_a_member_is_found_out_when_its_path_is_told() -> None:
    small = reduced(GAME, Habits(favours=1), OF_ALL, ["symmetry"])
    found = explore(small.smaller, Habits(favours=1), promises=OF_ALL)
    with pytest.raises(ModelFault, match="members that the model declares to be alike are not"):
        small.of_the_model(found)


def test_a_model_that_favours_a_member_is_found_out_by_trying_all() -> None:
    with pytest.raises(AssertionError):
        nobody_notices(GAME, Habits(favours=1), OF_ALL)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"arrays": {(Hall, "seats"): 1}}, "names Hall.seats, which no state has"),
        ({"arrays": {(Rules, "wait_for_all"): 1}}, "names Rules.wait_for_all, which no state has"),
        ({"arrays": {(Hall, "holder"): 1}}, "has 2 members; Hall.holder has no room for them"),
        ({"arrays": {(Hall, "notes"): 2}}, "has 2 members; Hall.notes has no room for them"),
        ({"values": {(Hall, "players"): (0, 1)}}, "Hall.players is a record and names nobody"),
        ({"special": {Rules: image}}, "names Rules, which no state has"),
        ({"count": 3, "arrays": {(Hall, "points"): 1}}, "has 3 members that others name; give two"),
    ],
)
def test_a_sort_that_cannot_be_is_refused(changed: dict[str, Any], says: str) -> None:
    model = replace(GAME, name="wrong", sorts=lambda habits: (replace(PLAYERS, **changed),))
    with pytest.raises(Malformed, match=says):
        symmetric(model, Habits(), OF_ALL)


def test_a_reduction_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Malformed, match="no reduction 'symetry'; did you mean symmetry"):
        reduced(GAME, Habits(), OF_ALL, ["symetry"])


def nobody_notices(model: Model, setup: object, judged: tuple[str, ...]) -> None:
    """In every reachable state: successors of an image are images of successors, and promises say the same."""
    layout = layout_of(model.state, model.sizes)
    sorts = symmetric(model, setup, judged).used
    assert sorts
    for packed in agree_everywhere(model, setup).states:
        for sort in sorts:
            for j in range(1, sort.count):
                state, turn = layout.unpack(packed), functools.partial(turned, model, setup, sort, j)
                alike_in_one(model, setup, judged, state, turn)


def turned(model: Model, setup: object, sort: Sort, j: int, state: Any) -> Any:
    return image(model, sort, state, setup, 0, j)


def alike_in_one(model: Model, setup: object, judged: tuple[str, ...], state: Any, turn: Callable[[Any], Any]) -> None:
    other = turn(state)
    for promise in model.promises:
        if promise.name in judged:
            assert promise.judge(state, setup) == promise.judge(other, setup), promise.name
    assert successors(model, setup, other, lambda s: s) == successors(model, setup, state, turn)


def successors(model: Model, setup: object, state: Any, turn: Callable[[Any], Any]) -> Counter[Any]:
    """The successors after a turn, and whether they are by faults."""
    layout = layout_of(model.state, model.sizes)
    host = InterpretedHost(model, setup, layout, layout_of(model.trail, model.sizes))
    found: Counter[Any] = Counter()
    for action in range(model.actions):
        after, _ = host.step(copy.deepcopy(state), action)
        if after is not None:
            found[action in model.faults, layout.pack(turn(after))] += 1
    return found
