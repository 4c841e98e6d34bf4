"""Counterexamples and random paths of the checker on live brokers and producers: both arrive at the same place."""

import re
from dataclasses import fields
from functools import partial

import pytest

from tests.bridge.paths import SCENARIOS, chosen_for, stories, walk
from zombieproof.bridge import between_brokers, commands, producers, steps
from zombieproof.bridge.answers import hear_client
from zombieproof.bridge.beginning import first_twin
from zombieproof.bridge.between_brokers import answered_blocks
from zombieproof.bridge.clusters import UnhurriedCoordinator
from zombieproof.bridge.commands import COMMANDS
from zombieproof.bridge.live import Arrival, LiveRun, LiveStep, run_live
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.coordinator.coordinator import TransactionCoordinator
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.transactions.action_kinds import ACTIONS, AT_APPENDS, AT_BLOCKS, HARD, Action
from zombieproof.checker.transactions.setup import Setup
from zombieproof.clients.transaction_manager import TransactionManager
from zombieproof.model.rules import with_switches
from zombieproof.statemachines.producer.records import Producer

STORIES = stories()

NO_LEVER = {
    name: "is a protocol that no live broker speaks"
    for name in SCENARIOS
    if name.startswith(("two_phase_commit", "spark_", "proposal_"))
}
NO_LEVER |= {
    "resumed_commit": "whose identity was stored outside",
    "refused_batch": "a leader refuses no batch alone",
    "plain_commit": "offsets are committed in transactions",
    "hanging_transaction": "nobody aborts by hand",
    "stale_lookup": "no look-up is stale",
    "offsets_under_way": "no commit of offsets waits for replicas",
    "recorded_blocks": "no other controller takes over",
    **dict.fromkeys(("cut_transaction", "cut_offsets", "cut_batches"), "every append is replicated"),
    "forgotten_partition": "no producer forgets a partition",
    "fetches_in_steps": "a fetch has one moment",
    "cleaned_log": "a fetch has one moment",
    "cleaned_log_of_version_0": "a fetch has one moment",
    "cleaned_offsets": "nobody cleans a log",
    "shortened_log": "a log has one segment",
    "shortened_for_readers": "a log has one segment",
    "shortened_for_a_producer": "a log has one segment",
    "all_comes_to_an_end": "a partition without a leader has one replica",
    "deleted_group": "a twin deletes no group",
    "recreated_input": "a twin deletes no topic",
}
"""Scenarios that the live system has no levers for, and what is said."""

NO_LEVER_UNDER_ITS_RULES = {"repeated_init": "no record that a live coordinator writes has room"}
"""Scenarios whose mutants can be taken live, but not what holds: no live broker has its rule. And what is said."""

BY_HAND = {
    ("one_transaction", "a_marker_by_hand_outlives_what_the_leader_knew"),
    ("one_transaction", "a_batch_comes_again_behind_an_abort_by_hand"),
    ("one_transaction", "a_copy_of_a_batch_comes_behind_an_abort_by_hand"),
    ("cleaned_log", "a_marker_by_hand_outlives_what_was_cleaned"),
}
NO_LEVER_FOR = {(s, m): NO_LEVER[s] for s, m in STORIES if s in NO_LEVER}
NO_LEVER_FOR |= dict.fromkeys(BY_HAND, "nobody aborts by hand")
"""The stories that it has no levers for, also of scenarios that can be taken live otherwise, and what is said."""

GIVES_UP_FOR_GOOD = "A: state is 7 in the checker, and 8 in the live producer"
CLIENTS_DIFFER = {
    ("epoch_recovery", "the_client_raises_no_epoch"): GIVES_UP_FOR_GOOD,
    ("late_produce", "no_epoch_of_its_own_for_each_transaction"): GIVES_UP_FOR_GOOD,
    ("version_0_crash", "the_client_keeps_its_epoch"): GIVES_UP_FOR_GOOD,
}
"""Where no epoch can be raised (before KIP-360) a live producer that gives a batch up does not go on; the checker's
clients leave nothing unresolved (`zombieproof.model.omissions`), and do. So is Kafka's producer (reference §5.6: fatal
if no bump is possible). With the checker's clients the brokers arrive."""

REFUSED_LIVE = {
    ("id_expiration", "an_open_transaction_is_buried"),
    ("id_expiration", "ids_expire_in_the_middle_of_a_transaction"),
}
"""The last step is a move that no table has: the checker notes it, a live broker raises."""

FOR_EVER = {
    (each.name, mutant.name)
    for each in SCENARIOS.values()
    for mutant in each.mutants
    if mutant.breaks in {promise.name for promise in each.model(each.bounds).promises if promise.kind == "leads_to"}
}
"""What breaks for ever breaks in no state, so that a cluster that has come there shows nothing."""

PATHS_THAT_DIFFER = {
    ("one_member", 1): (
        "the checker's client sends A's Produce (producer 0, epoch 1) sequence 0 to p0 to node 3; the live producer "
        "sends nothing"
    ),
}
"""Random paths on which checker and live producer differ, and how.

Kafka's producer sends no batch while a request of its transaction is under way (``Sender.runOnce``), and neither does
the live one; a batch of the checker that is to be sent again goes at once, and may arrive later all the same
(`zombieproof.model.omissions`).
"""

BREAKING = sorted(set(STORIES) - FOR_EVER - set(NO_LEVER_FOR))


def lived(scenario: str, mutant: str, *, live_producers: bool = True) -> LiveRun:
    model, setup = chosen_for(SCENARIOS[scenario], mutant)
    kept = {*SCENARIOS[scenario].kept, breaks(scenario, mutant)}
    return run_live(model, setup, STORIES[scenario, mutant], kept, live_producers=live_producers)


def breaks(scenario: str, mutant: str) -> str:
    if (scenario, mutant) in REFUSED_LIVE:
        return "no_machine_leaves_its_table"
    found = SCENARIOS[scenario].mutant(mutant)
    assert found is not None
    return found.breaks


def test_every_mutant_has_a_story_here() -> None:
    assert set(STORIES) == {(each.name, m.name) for each in SCENARIOS.values() for m in each.mutants}


@pytest.mark.slow
@pytest.mark.share(3)
@pytest.mark.parametrize("scenario", sorted({name for name, _ in STORIES}))
def test_the_stories_are_those_that_the_checker_finds(scenario: str) -> None:
    from tests.bridge.__main__ import found  # noqa: PLC0415  # it compiles

    assert found(scenario) == {mutant: each for (name, mutant), each in STORIES.items() if name == scenario}


@pytest.mark.parametrize(("scenario", "mutant"), sorted(set(BREAKING) - set(CLIENTS_DIFFER)))
def test_a_counterexample_breaks_the_same_promise_on_the_live_system(scenario: str, mutant: str) -> None:
    run = lived(scenario, mutant)
    assert (run.arrival, run.why if scenario != "id_expiration" else "") == (Arrival.ARRIVES, "")
    assert breaks(scenario, mutant) in run.broken


@pytest.mark.parametrize(("scenario", "mutant"), CLIENTS_DIFFER)
def test_where_live_producers_differ_the_first_difference_is_told(scenario: str, mutant: str) -> None:
    run = lived(scenario, mutant)
    assert (run.arrival, run.at, run.why) == (Arrival.DIFFERS, 5, CLIENTS_DIFFER[scenario, mutant])
    brokers_only = lived(scenario, mutant, live_producers=False)
    assert brokers_only.arrival is Arrival.ARRIVES
    assert breaks(scenario, mutant) in brokers_only.broken


@pytest.mark.parametrize(("scenario", "mutant"), sorted(NO_LEVER_FOR))
def test_what_there_is_no_lever_for_is_said_and_nothing_is_skipped(scenario: str, mutant: str) -> None:
    run = lived(scenario, mutant)
    assert (run.arrival, run.at, run.steps) == (Arrival.NO_LEVER, 0, ())
    assert re.search(NO_LEVER_FOR[scenario, mutant], run.why)


@pytest.mark.parametrize(
    ("scenario", "bounds", "why"),
    [
        *((name, {}, why) for name, why in NO_LEVER_UNDER_ITS_RULES.items()),
        ("idempotent_producer", {"answers_travel": 1}, "a live producer sends batches again one by one"),
        ("appends_under_way", {"verification_queue": 1}, "one thing travels between brokers"),
        ("producer_id_blocks", {"leader_changes": 1}, "leaders of partitions stay"),
    ],
)
def test_what_bounds_ask_for_and_there_is_no_lever_for_is_said(scenario: str, bounds: dict[str, int], why: str) -> None:
    found = SCENARIOS[scenario]
    own = found.own_bounds(bounds)
    run = run_live(found.model(own), found.setup(found.own_rules(), own), (0,), found.always)
    assert (run.arrival, run.at) == (Arrival.NO_LEVER, 0)
    assert why in run.why


@pytest.mark.sample("idempotent_producer")
@pytest.mark.parametrize(
    "scenario",
    [s for s in SCENARIOS.values() if s.name not in {**NO_LEVER, **NO_LEVER_UNDER_ITS_RULES}],
    ids=lambda s: s.name,
)
def test_a_random_path_arrives_on_the_live_system(scenario: Scenario) -> None:
    model, setup = chosen_for(scenario)
    for seed in range(3):
        path = walk(model, setup, seed)
        run = run_live(model, setup, path, scenario.always)
        if (scenario.name, seed) in PATHS_THAT_DIFFER:
            assert (run.arrival, run.why) == (Arrival.DIFFERS, PATHS_THAT_DIFFER[scenario.name, seed])
            continue
        assert (run.arrival, run.why, len(run.steps)) == (Arrival.ARRIVES, "", len(path))
        assert run.broken == ()


@pytest.mark.sample("zombie_takeover-keep")
@pytest.mark.parametrize("bound", ["answers_travel", "keep_refused_copies"])
@pytest.mark.parametrize("name", ["zombie_takeover", "coordinator_failover", "waiting_questions", "appends_under_way"])
def test_a_random_path_without_a_reduction_arrives_on_the_live_system(name: str, bound: str) -> None:
    scenario = SCENARIOS[name]
    own = scenario.own_bounds({bound: 1})
    model, setup = scenario.model(own), scenario.setup(scenario.own_rules(), own)
    for seed in range(3):
        path = walk(model, setup, seed)
        run = run_live(model, setup, path, scenario.always)
        if run.arrival is Arrival.NO_LEVER:
            assert "asks about two transactional ids in one request, the checker in two messages" in run.why
            continue
        assert (run.arrival, run.why, len(run.steps)) == (Arrival.ARRIVES, "", len(path))


@pytest.mark.sample("deposed")
@pytest.mark.parametrize(
    ("name", "faults", "seeds"),
    [
        ("producer_id_blocks", {"deposed": 1, "crashes": 1}, (25, 27, 28, 58)),
        ("producer_id_blocks", {"id_blocks": 2, "unknown_appends": 1, "answers_travel": 1}, range(4)),
        ("appends_under_way", {"expirations": 1, "late": 1, "answers_travel": 1}, range(6)),
        ("appends_under_way", {"lost": 1, "failovers": 1, "doubled": 1, "timeouts": 1}, range(4)),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else None,
)
def test_a_random_path_with_more_faults_arrives_on_the_live_system(
    name: str, faults: dict[str, int], seeds: tuple[int, ...]
) -> None:
    scenario = SCENARIOS[name]
    own = scenario.own_bounds(faults)
    model, setup = scenario.model(own), scenario.setup(scenario.own_rules(), own)
    for seed in seeds:
        path = walk(model, setup, seed)
        run = run_live(model, setup, path, ())
        assert (run.arrival, run.why, len(run.steps)) == (Arrival.ARRIVES, "", len(path))


def test_an_answer_that_is_heard_before_it_arrives_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = SCENARIOS["zombie_takeover"]
    travels = scenario.own_bounds({"answers_travel": 1})
    model, setup = scenario.model(travels), scenario.setup(scenario.own_rules(), travels)
    _, at_once = chosen_for(scenario)
    monkeypatch.setattr("zombieproof.bridge.live.first_twin", lambda _, **options: first_twin(at_once, **options))
    run = run_live(model, setup, walk(model, setup, 0), ())
    assert run.arrival is Arrival.DIFFERS
    assert re.search(r"messages\[\d\]", run.why)


def test_an_answer_that_was_lost_on_its_way_and_is_heard_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = SCENARIOS["zombie_takeover"]
    own = scenario.own_bounds({"answers_travel": 1})
    model, setup = scenario.model(own), scenario.setup(scenario.own_rules(), own)
    path = next(p for p in (walk(model, setup, seed) for seed in range(100)) if Action.LOSE_ANSWER in kinds_of(p))
    monkeypatch.setattr(steps, "hear_client", lambda twin, i, *, is_lost: hear_client(twin, i, is_lost=False))
    run = run_live(model, setup, path, ())
    assert (run.arrival, run.at) == (Arrival.DIFFERS, 1 + kinds_of(path).index(Action.LOSE_ANSWER))


def kinds_of(path: tuple[int, ...]) -> list[int]:
    return [ACTIONS[action][0] for action in path]


def test_each_step_is_told_when_it_is_taken() -> None:
    scenario, heard = SCENARIOS["zombie_takeover"], list[LiveStep]()
    model, setup = chosen_for(scenario, "end_txn_ignores_epoch")
    path = STORIES["zombie_takeover", "end_txn_ignores_epoch"]
    run = run_live(model, setup, path, scenario.always, hear=heard.append)
    assert tuple(heard) == run.steps
    assert heard[0].text == "A starts and asks for its producer id and epoch"
    assert any(
        line.startswith("coordinator x0: ONGOING --ABORT--> PREPARE_ABORT") for each in heard for line in each.did
    )


# ---------------------------------------------------------------- what it would see


@pytest.mark.parametrize(
    ("scenario", "mutant", "switch"),
    [
        ("zombie_takeover", "end_txn_ignores_epoch", "strict_end"),
        ("leaderless_partition", "marker_skips_a_partition_without_leader", "marker_waits_for_leader"),
        ("idempotent_producer", "leader_recognises_no_duplicates", "duplicate_check"),
        ("leader_failover", "a_new_leader_knows_nothing", "leader_reads_log"),
        ("appends_under_way", "what_is_loaded_pending_is_left_alone", "reload_drives_markers"),
        ("producer_id_blocks", "a_late_block_is_used_again", "pid_block_order"),
    ],
)
def test_a_live_system_with_other_rules_than_the_checker_is_found_out(
    scenario: str, mutant: str, switch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, setup = chosen_for(SCENARIOS[scenario], mutant)
    repaired = with_switches(setup.rules, on=(switch,))
    made = partial(first_twin, rules=repaired)
    monkeypatch.setattr("zombieproof.bridge.live.first_twin", made)
    run = run_live(model, setup, STORIES[scenario, mutant], SCENARIOS[scenario].always)
    assert run.arrival is Arrival.DIFFERS
    assert 0 < run.at <= len(STORIES[scenario, mutant])
    assert run.why


def nothing_happens(*_: object) -> bool:
    return True


def answer_is_gone(cluster: Cluster, node: int) -> None:
    for late in answered_blocks(cluster, node, is_late=True):
        cluster.network.in_flight.remove(late)


WRONG = {
    Action.MAKE_APPEND: between_brokers.fail_append,
    Action.FAIL_APPEND: between_brokers.make_append,
    Action.DOUBT_APPEND: between_brokers.fail_append,
    Action.REJECT_APPEND: between_brokers.fail_append,
    Action.CLOSE_LOG: between_brokers.reject_append,
    Action.TELL_APPEND: nothing_happens,
    Action.ALLOCATE_BLOCK: between_brokers.lose_block,
    Action.LOSE_BLOCK: between_brokers.allocate_block,
    Action.GIVE_BLOCK: between_brokers.double_block,
    Action.DOUBLE_BLOCK: nothing_happens,
    Action.GIVE_LATE_BLOCK: answer_is_gone,
}
"""What happens between brokers -> what a live system does that gets it wrong."""


def with_a(kind: Action) -> tuple[Scenario, tuple[int, ...], int]:
    """A scenario, and a path of it in which such a step comes; the number of that step."""
    of_appends = "refused_completion" if kind in HARD else "appends_under_way"
    scenario = SCENARIOS[of_appends if kind in AT_APPENDS else "producer_id_blocks"]
    model, setup = chosen_for(scenario)
    for seed in range(100):
        path = walk(model, setup, seed)
        if kind in kinds_of(path):
            return scenario, path, 1 + kinds_of(path).index(kind)
    raise AssertionError(f"no path has a {kind.name}")


@pytest.mark.sample("MAKE_APPEND", "TELL_APPEND", "GIVE_BLOCK", "GIVE_LATE_BLOCK")
@pytest.mark.parametrize("kind", WRONG, ids=lambda kind: kind.name)
def test_what_goes_wrong_between_live_brokers_is_found_out_in_that_step(
    kind: Action, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, path, number = with_a(kind)
    model, setup = chosen_for(scenario)
    assert run_live(model, setup, path, ()).arrival is Arrival.ARRIVES
    monkeypatch.setitem(COMMANDS, kind, WRONG[kind])
    run = run_live(model, setup, path, ())
    assert (run.arrival, run.at) == (Arrival.DIFFERS, number)


def test_every_kind_that_only_happens_between_brokers_is_got_wrong_here() -> None:
    assert set(WRONG) == {*AT_APPENDS, *AT_BLOCKS}


def test_a_live_coordinator_that_does_not_look_before_an_append_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    model, setup = chosen_for(SCENARIOS["appends_under_way"])
    number = {each: n for n, each in enumerate(ACTIONS)}
    happens = (Action.STEP, Action.DELIVER, Action.DEPOSE, Action.RESIGN, Action.MAKE_APPEND)
    refused = tuple(number[kind, 0] for kind in happens)
    assert run_live(model, setup, refused, ()).arrival is Arrival.ARRIVES
    monkeypatch.setattr(TransactionCoordinator, "may_append", lambda coordinator, append: 0)
    run = run_live(model, setup, refused, ())
    assert (run.arrival, run.at) == (Arrival.DIFFERS, len(refused))


def test_a_live_coordinator_that_looks_behind_a_decision_at_once_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    story = STORIES["appends_under_way", "markers_of_a_coordinator_of_before_count"]
    model, setup = chosen_for(SCENARIOS["appends_under_way"], "markers_of_a_coordinator_of_before_count")
    monkeypatch.setattr(UnhurriedCoordinator, "_look_again", TransactionCoordinator._look_again)
    run = run_live(model, setup, story, ())
    assert run.arrival is Arrival.DIFFERS
    assert "appends[" in run.why or "messages[" in run.why


def test_a_leader_that_has_read_its_log_is_none_that_knows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    story = STORIES["leader_failover", "a_new_leader_knows_nothing"]
    model, setup = chosen_for(SCENARIOS["leader_failover"], "a_new_leader_knows_nothing")
    monkeypatch.setattr(commands, "lose_memory", nothing_happens)
    run = run_live(model, setup, story, ())
    assert (run.arrival, run.at) == (Arrival.DIFFERS, len(story))
    assert "entries[0].known is False and True" in run.why


def test_a_live_producer_that_does_something_else_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    model, setup = chosen_for(SCENARIOS["coordinator_failover"], "a_loaded_decision_is_not_driven")
    monkeypatch.setattr(TransactionManager, "begin_commit", TransactionManager.begin_abort)
    run = run_live(model, setup, STORIES["coordinator_failover", "a_loaded_decision_is_not_driven"], ())
    assert run.arrival is Arrival.DIFFERS
    assert "the live producer sends" in run.why


def test_a_live_producer_that_remembers_something_else_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    model, setup = chosen_for(SCENARIOS["one_transaction"])
    path = walk(model, setup, 0)
    new_producer = producers.new_producer

    def altered(setup: Setup, c: int) -> producers.LiveProducer:
        made = new_producer(setup, c)
        made.manager.producer.bump = True
        return made

    monkeypatch.setattr(producers, "new_producer", altered)
    run = run_live(model, setup, path, ())
    assert (run.arrival, run.why) == (Arrival.DIFFERS, "A: bump is 0 in the checker, and 1 in the live producer")


def test_an_impossible_action_is_a_mistake_of_the_path() -> None:
    model, setup = chosen_for(SCENARIOS["one_transaction"])
    with pytest.raises(ValueError, match=r"step 1: there is no action 4000; legal: 0 to"):
        run_live(model, setup, (4000,), ())
    with pytest.raises(ValueError, match="step 1: action 1 is not possible here"):
        run_live(model, setup, (1,), ())


def test_what_is_not_compared_is_a_field_of_the_record() -> None:
    assert set(producers.NOT_COMPARED) < {each.name for each in fields(Producer)}
