"""In small scopes the live system and the checker take the same steps and reach the same states."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from types import ModuleType

import pytest

from tests.refinement.exploration import Differs, Explored, live_reachable, live_steps, pack, reachable, refined, walked
from tests.refinement.scopes import SCOPES, Scope
from zombieproof.bridge import commands, flights, projected_travels, projection
from zombieproof.bridge.beginning import first_twin
from zombieproof.bridge.flights import InFlight
from zombieproof.bridge.names import OutOfScope
from zombieproof.bridge.steps import step
from zombieproof.bridge.twin import Twin
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions import late_copies
from zombieproof.checker.transactions.action_kinds import Action
from zombieproof.checker.transactions.model import TRANSACTIONS
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State
from zombieproof.checker.transactions.vocabulary import Kind, Op
from zombieproof.model.rules import PRESETS, with_switches
from zombieproof.statemachines.kernel import IllegalTransition

MANY = 200
"""Scopes with more states are left to `make deep`; CI takes random walks through them (below)."""
ALSO_IN_CI = {"crash", "late_blocks"}
ON_WALKS = ("consume_transform_produce", "coordinator_failover", "forgotten", "leaderless", "readers")
"""Some kinds of action are taken in no smaller one: CI explores the first, and takes walks through the others."""


def is_deep(scope: Scope) -> bool:
    """Whether a scope is explored by `make deep` alone."""
    return scope.scenario.distinct > MANY and scope.scenario.name not in ALSO_IN_CI


def as_long_as(scope: Scope) -> list[pytest.MarkDecorator]:
    """The marks of a scope."""
    slow = [pytest.mark.slow] if scope.scenario.name in ALSO_IN_CI else []
    return [pytest.mark.deep] if is_deep(scope) else slow


BY_NAME = {scope.scenario.name: scope for scope in SCOPES}

MUTANTS = (
    ("zombie_takeover", "init_raises_epoch"),
    ("zombie_takeover", "strict_end"),
    ("coordinator_failover", "reload_drives_markers"),
    ("coordinator_failover", "persist_prev_next"),
    ("coordinator_failover", "marker_coordinator_epoch"),
    ("consume_transform_produce", "kip447_fence"),
    ("consume_transform_produce", "kip447_stable"),
    ("crash", "single_fence_bump"),
    ("time_out_of_version_0", "timeout_bump"),
    ("expiry", "only_idle_ids_expire"),
    ("leaders", "duplicate_check"),
    ("leaders", "marker_retry_relax"),
    ("leaderless", "marker_waits_for_leader"),
    ("readers", "stable_bound"),
    ("two_in_flight", "sequence_check"),
    ("exhaustion", "epoch_aware_ongoing"),
    ("forgotten", "verification_guard"),
    ("waiting_questions", "questions_follow"),
    ("kafka_0_11", "fence_bump"),
    ("kafka_0_11", "epoch_fencing"),
    ("kafka_3_9", "verification"),
    ("offsets_by_the_client", "kip447_stable"),
    ("leaders", "leader_reads_log"),
    ("appends_asked_for_again", "reload_drives_markers"),
    ("appends_of_sweeps", "only_idle_ids_expire"),
    ("refused_appends", "refused_append_clears_pending"),
    ("refused_appends_of_a_failover", "reload_drives_markers"),
    ("late_blocks", "pid_block_order"),
)
"""(scope, rule that the live system is without): the refinement must see it."""


OWN = [SCENARIOS[name] for name in ("late_produce", "delayed_commit", "delayed_abort", "kip98_takeover")]
"""Scenarios of the checker, as they stand, that are small enough."""

NOT_WALKED = {
    "resumed_commit": "whose identity was stored outside",
    "refused_batch": "a leader refuses no batch alone",
    "plain_commit": "offsets are committed in transactions",
    "hanging_transaction": "nobody aborts by hand",
    "stale_lookup": "no look-up is stale",
    "offsets_under_way": "no commit of offsets waits for replicas",
    "recorded_blocks": "no other controller takes over",
    "forgotten_partition": "no producer forgets a partition",
    "fetches_in_steps": "a fetch has one moment",
    "cleaned_log": "a fetch has one moment",
    "cleaned_log_of_version_0": "a fetch has one moment",
    "cleaned_offsets": "nobody cleans a log",
    "shortened_log": "a log has one segment",
    "shortened_for_readers": "a log has one segment",
    "shortened_for_a_producer": "a log has one segment",
    "all_comes_to_an_end": "a partition without a leader has one replica",
    "repeated_init": "no record that a live coordinator writes has room",
}
"""Scenarios of transactions that a twin has no levers for, and what it says."""

WALKED = [
    scenario
    for scenario in SCENARIOS.values()
    if scenario.model(scenario.bounds) is TRANSACTIONS and scenario.name not in NOT_WALKED
]
"""Scenarios that are walked through at random, as they stand."""

WALKED.append(replace(SCENARIOS["late_offset_commit"], name="late_offset_commit_of_3_9", changes={}))
"""Here a refused commit takes along what waits."""

WALKS = 2

LATE = transaction_scenario(
    "late",
    "Whatever can be late is late.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),),
    distinct=0,
    sometimes=(),
    late=1,
    doubled=1,
    doubled_batches=1,
    doubled_markers=1,
    crashes=1,
)


DOUBLED = transaction_scenario(
    "doubled",
    "A request is there twice, and another producer takes the id over.",
    (((Op.SEND_0, Op.COMMIT),), ((),)),
    distinct=0,
    sometimes=(),
    doubled=1,
)


@cache
def explored(name: str) -> Explored:
    scope = BY_NAME[name]
    return refined(scope.setup, ways=scope.ways)


@pytest.mark.sample("refused_appends", "refused_appends_of_several")
@pytest.mark.parametrize(
    "scope", [pytest.param(scope, marks=as_long_as(scope), id=scope.scenario.name) for scope in SCOPES]
)
def test_the_live_system_takes_the_checkers_steps_and_reaches_its_states(scope: Scope) -> None:
    live = explored(scope.scenario.name)
    checked = reachable(scope.setup)
    assert live.states == checked.states
    assert live.kinds == checked.kinds
    assert (len(live.states), live.transitions) == (scope.scenario.distinct, scope.transitions)


def test_every_kind_of_action_has_a_command_or_is_the_clients() -> None:
    kinds = [commands.COMMANDS, commands.OF_CLIENTS, commands.NO_LEVER]
    assert set[Action]().union(*kinds) == set(Action)
    assert sum(map(len, kinds)) == len(Action)


@pytest.mark.slow
def test_every_kind_of_action_is_taken_in_a_scope_or_on_a_walk_in_ci() -> None:
    """By the checker, which takes as many of each kind as the live system: that is the test above."""
    taken = {kind for scope in SCOPES if not is_deep(scope) for kind in reachable(scope.setup).kinds}
    for name in ON_WALKS:
        taken |= set[Action]().union(*(walked(BY_NAME[name].setup, seed).kinds for seed in range(WALKS)))
    assert taken == set(Action) - set(commands.NO_LEVER)


def test_every_field_of_a_state_is_projected_or_listed() -> None:
    projected = {field.name for field in fields(State)} & {
        *vars(projection),
        *vars(projected_travels),
        flights.messages.__name__,
    }
    assert projected | set(projection.NOT_PROJECTED) == {field.name for field in fields(State)}
    assert not projected & set(projection.NOT_PROJECTED)


@pytest.mark.slow
@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(scenario, marks=[pytest.mark.deep] if scenario.distinct > 600 else [], id=scenario.name)
        for scenario in OWN
    ],
)
def test_the_live_system_reaches_the_pinned_number_of_states_of_a_scenario(scenario: Scenario) -> None:
    assert len(refined(_setup(scenario, scenario.rules)).states) == scenario.distinct


@pytest.mark.share(2)
@pytest.mark.sample("two_transactions", "coordinator_failover")
@pytest.mark.parametrize("scenario", WALKED, ids=lambda scenario: scenario.name)
def test_the_live_system_takes_the_checkers_steps_on_random_walks(scenario: Scenario) -> None:
    for seed in range(WALKS):
        assert walked(_setup(scenario, scenario.rules), seed).steps > 0


@pytest.mark.share(2)
@pytest.mark.slow
@pytest.mark.parametrize("scope", [scope for scope in SCOPES if is_deep(scope)], ids=lambda scope: scope.scenario.name)
def test_the_live_system_takes_the_checkers_steps_on_random_walks_through_what_is_deep(scope: Scope) -> None:
    for seed in range(5 * WALKS):
        assert walked(scope.setup, seed).steps > 0


@pytest.mark.parametrize(("name", "why"), NOT_WALKED.items())
def test_scenarios_that_a_twin_has_no_levers_for_are_refused(name: str, why: str) -> None:
    with pytest.raises(OutOfScope, match=why):
        first_twin(_setup(SCENARIOS[name], SCENARIOS[name].rules))


@pytest.mark.slow
@pytest.mark.long("zombie_takeover")
@pytest.mark.parametrize("name", ["zombie_takeover", "coordinator_failover"])
@pytest.mark.parametrize("rules", PRESETS)
def test_the_live_system_takes_the_checkers_steps_under_the_rules_of_every_release(rules: str, name: str) -> None:
    assert walked(_setup(SCENARIOS[name], rules), 0).steps > 0


def _setup(scenario: Scenario, rules: str) -> Setup:
    setup = scenario.setup(scenario.own_rules(rules), scenario.bounds)
    assert isinstance(setup, Setup)
    return setup


@pytest.mark.share(2)
@pytest.mark.slow
@pytest.mark.parametrize("rules", ["newest", "4.0", "3.9", "2.5"])
def test_copies_that_are_refused_for_good_may_stay_in_flight(rules: str) -> None:
    drops = _setup(DOUBLED, rules)
    keeps = replace(drops, bounds=replace(drops.bounds, keep_refused_copies=1))
    live = refined(keeps)
    assert live.states == reachable(keeps).states
    assert len(live.states) > len(reachable(drops).states)


@pytest.mark.share(2)
@pytest.mark.slow
@pytest.mark.parametrize("rules", ["newest", "4.0", "3.9", "2.5"])
def test_what_the_normal_form_drops_would_have_changed_nothing(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lose, dropped = Twin.lose_on_its_way, list[InFlight]()

    def deliver_instead(twin: Twin, flight: InFlight) -> None:
        cluster, beside = pickle.loads(pickle.dumps((twin.cluster, twin.beside)))
        other = Twin(cluster, beside, twin.setup, twin.state, [])
        commands.deliver(cluster, flight.live)
        beside.names.update(cluster, beside.lost)
        assert pack(other.brokers()) == pack(twin.brokers())
        dropped.append(flight)
        lose(twin, flight)

    monkeypatch.setattr(Twin, "lose_on_its_way", deliver_instead)
    for seed in range(20):
        walked(_setup(LATE, rules), seed)
    assert {flight.message.kind for flight in dropped} >= {Kind.PRODUCE, Kind.END_TXN}


# ---------------------------------------------------------------- what it would see


@pytest.mark.share(2)
@pytest.mark.sample("duplicate_check", "stable_bound")
@pytest.mark.parametrize(("name", "switch"), MUTANTS)
def test_a_live_system_without_a_rule_is_found_out(name: str, switch: str) -> None:
    scope = BY_NAME[name]
    with pytest.raises((Differs, IllegalTransition)):
        refined(scope.setup, with_switches(scope.setup.rules, off=(switch,)))


@pytest.mark.share(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("coordinator_failover", Action.RESIGN),
        ("crash", Action.CRASH),
        ("leaderless", Action.ELECT),
        ("time_out", Action.TIME_OUT),
    ],
)
def test_a_live_system_that_cannot_do_something_is_found_out(name: str, kind: Action) -> None:
    setup = BY_NAME[name].setup
    assert live_reachable(setup, without=frozenset({kind})).states < explored(name).states
    with pytest.raises(Differs, match="the checker does it, the live system does not"):
        refined(setup, without_live=frozenset({kind}))


def test_a_live_system_that_does_more_is_found_out() -> None:
    with pytest.raises(Differs, match="the live system does it, the checker does not"):
        refined(BY_NAME["crash"].setup, without_checked=frozenset({Action.CRASH}))


@pytest.mark.parametrize(
    ("name", "module", "abstraction", "nothing_left_out"),
    [
        ("offsets_by_the_client", projection, "without_sequence", lambda entry: entry),
    ],
)
def test_an_abstraction_is_needed(
    name: str,
    module: ModuleType,
    abstraction: str,
    nothing_left_out: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, abstraction, nothing_left_out)
    with pytest.raises(Differs):
        refined(BY_NAME[name].setup)


def test_a_difference_is_told_with_the_way_there() -> None:
    setup = BY_NAME["kafka_0_11"].setup
    with pytest.raises(Differs) as caught:
        refined(setup, with_switches(setup.rules, off=("fence_bump",)))
    assert "STEP: A starts and asks for its producer id and epoch" in str(caught.value)


# ---------------------------------------------------------------- the twin itself


def test_a_copied_cluster_goes_on_like_the_one_it_was_copied_from() -> None:
    twin = first_twin(BY_NAME["consume_transform_produce"].setup)
    for _ in range(40):
        following = list(live_steps(twin, frozenset()))
        if not following:
            return
        action, after = following[-1]
        copied = Twin(copy.deepcopy(twin.cluster), copy.deepcopy(twin.beside), twin.setup, twin.state, twin.flights)
        assert step(copied, action)
        copied.refresh()
        assert pack(copied.state) == pack(after.state)
        twin = copied
    raise AssertionError("the scenario does not end")


@pytest.mark.parametrize(
    ("bounds", "why"),
    [
        ({"leaderless": 1, "leader_changes": 1}, "has one replica"),
        ({"id_blocks": 1, "appends_travel": 1}, "one thing travels between brokers"),
        ({"appends_travel": 1, "leader_changes": 1}, "leaders of partitions stay"),
    ],
)
def test_what_a_twin_cannot_do_is_refused(bounds: dict[str, int], why: str) -> None:
    scenario = SCENARIOS["one_transaction"]
    setup = scenario.setup(scenario.own_rules(), scenario.own_bounds(bounds))
    assert isinstance(setup, Setup)
    with pytest.raises(OutOfScope, match=why):
        first_twin(setup)


@pytest.mark.slow
def test_a_leader_that_knows_nothing_does_so_on_both_sides() -> None:
    setup = BY_NAME["leaders"].setup
    without = replace(setup, rules=with_switches(setup.rules, off=("leader_reads_log",)))
    late_copies.ask_all(without)
    assert len(refined(without).states) == 591
