"""System tests: copiers go on while brokers or copiers stop or are killed, or brokers upgraded (SY-001 to SY-010)."""

from functools import partial

import pytest

from tests.conformance.copies import ROUNDS, Copies, broker_bounces, copier_bounces, copies, zombies
from tests.conformance.end_to_end import replicated, stage_of
from tests.live.bounces import upgrade
from tests.live.copier import Flavour
from tests.live.stage import Waits
from zombieproof.model.rules import Rules, preset_for, with_switches

BOTH_FLAVOURS = pytest.mark.parametrize("flavour", list(Flavour))
OLD_AND_NEW = pytest.mark.parametrize("rules", [preset_for("3.9"), preset_for("4.3")], ids=["3.9", "4.3"])


@pytest.mark.share(2)
@pytest.mark.slow
@pytest.mark.long("Flavour.GROUP_ID")
@BOTH_FLAVOURS
@pytest.mark.parametrize(
    "clean",
    [
        pytest.param(False, marks=pytest.mark.case("SY-001"), id="SY-001"),
        pytest.param(True, marks=pytest.mark.case("SY-002"), id="SY-002"),
    ],
)
def test_sy_001_and_002_copies_survive_the_bounce_of_every_broker(clean: bool, flavour: Flavour) -> None:
    run = copies(2, 100_000, copiers=2, flavour=flavour)
    run.run(broker_bounces(run, clean=clean))


@pytest.mark.share(2)
@pytest.mark.slow
@pytest.mark.long("Flavour.GROUP_METADATA")
@BOTH_FLAVOURS
@pytest.mark.parametrize(
    "clean",
    [
        pytest.param(False, marks=pytest.mark.case("SY-003"), id="SY-003"),
        pytest.param(True, marks=pytest.mark.case("SY-004"), id="SY-004"),
    ],
)
def test_sy_003_and_004_copies_survive_the_bounce_of_every_copier(clean: bool, flavour: Flavour) -> None:
    run = copies(2, 100_000, copiers=2, flavour=flavour)
    run.run(copier_bounces(run, clean=clean))


@pytest.mark.share(2)
@pytest.mark.slow
@OLD_AND_NEW
@BOTH_FLAVOURS
@pytest.mark.case("SY-005")
def test_sy_005_killed_brokers_do_not_change_the_order(flavour: Flavour, rules: Rules) -> None:
    run = copies(1, 33_333, copiers=1, flavour=flavour, rules=rules)
    run.run(broker_bounces(run, clean=False))


@pytest.mark.share(2)
@pytest.mark.slow
@OLD_AND_NEW
@BOTH_FLAVOURS
@pytest.mark.parametrize(
    "clean",
    [
        pytest.param(False, marks=pytest.mark.case("SY-006"), id="SY-006"),
        pytest.param(True, marks=pytest.mark.case("SY-007"), id="SY-007"),
    ],
)
def test_sy_006_and_007_copiers_that_begin_anew_do_not_change_the_order(
    clean: bool, flavour: Flavour, rules: Rules
) -> None:
    run = copies(1, 33_333, copiers=1, flavour=flavour, rules=rules)
    run.run(copier_bounces(run, clean=clean))


@pytest.mark.slow
@pytest.mark.case("SY-008")
def test_sy_008_a_group_of_copiers_survives_killed_brokers() -> None:
    run = copies(9, 100_000, copiers=3, flavour=Flavour.GROUP_METADATA, in_group=True)
    run.run(broker_bounces(run, clean=False))


@pytest.mark.slow
@pytest.mark.case("SY-009")
def test_sy_009_partitions_move_between_copiers_that_are_killed() -> None:
    run = copies(9, 100_000, copiers=3, flavour=Flavour.GROUP_METADATA, in_group=True)
    run.run([*copier_bounces(run, clean=False), *zombies(run)])
    assert len(run.shared.by_generation) > ROUNDS * 3, "each bounce moves partitions"


@pytest.mark.slow
@BOTH_FLAVOURS
@pytest.mark.case("SY-010")
def test_sy_010_copies_go_on_while_brokers_are_upgraded(flavour: Flavour) -> None:
    old, new = "3.9", "4.3"
    topics = {"input": replicated(3), "output": replicated(3)}
    stage = stage_of(topics, min_insync_replicas=2, rules=preset_for(old), release=old, client_rules=preset_for(new))
    run = Copies(stage, 1000, copiers=3, flavour=flavour, transaction_size=5)
    committed_before: list[int] = []

    def raise_level() -> Waits[None]:
        committed_before.append(run.count)
        stage.cluster.finalize_transaction_version(2)
        yield lambda: True

    upgrades = [partial(upgrade, stage, node, preset_for(new, 0), new) for node in (1, 2, 3)]
    run.run([*upgrades, raise_level])
    assert 0 < committed_before[0] < 1000, "transactions go on during and after"
    assert all(copier.producer.manager.transaction_version == 2 for copier, _ in run.running.values())


# ---------------------------------------------------------------- what the runs above would notice


@pytest.mark.sample("aborted_list", "skipping_ends")
@pytest.mark.parametrize(
    ("off", "noticed"),
    [
        (["aborted_list"], "nothing twice"),
        (["stable_bound"], "every record once"),
        (["skipping_ends"], "every record once"),
        (["duplicate_check", "sequence_check"], "nothing twice"),
        (["reload_drives_markers"], "the copiers do not go on"),
    ],
    ids=lambda given: "-".join(given) if isinstance(given, list) else "",
)
def test_a_broken_rule_is_noticed_when_brokers_are_killed(off: list[str], noticed: str) -> None:
    rules = with_switches(Rules(), off=off)
    run = copies(2, 4500, copiers=2, flavour=Flavour.GROUP_METADATA, transaction_size=100, rules=rules)
    with pytest.raises(AssertionError, match=noticed):
        run.run(broker_bounces(run, clean=False), patience=3000)


@pytest.mark.slow
@pytest.mark.parametrize("off", ["kip447_stable", "kip447_fence"])
def test_a_broken_rule_is_noticed_when_partitions_move(off: str) -> None:
    rules = with_switches(Rules(), off=[off])
    run = copies(9, 15_000, copiers=3, flavour=Flavour.GROUP_METADATA, in_group=True, transaction_size=90, rules=rules)
    with pytest.raises(AssertionError, match="nothing twice"):
        run.run(zombies(run))


def test_what_the_copiers_lose_is_noticed() -> None:
    run = copies(2, 4500, copiers=2, flavour=Flavour.GROUP_ID, transaction_size=100)
    run.expected[0][0], run.expected[0][1] = run.expected[0][1], run.expected[0][0]
    with pytest.raises(AssertionError, match="in the order of the input"):
        run.run([])
