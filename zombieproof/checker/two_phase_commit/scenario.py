"""Two-phase commit: the second model of the engine, without any rule of Kafka's."""

from collections.abc import Mapping

from zombieproof.checker.engine.model import Model
from zombieproof.checker.scenario import Mutant, Scenario, UnknownBound
from zombieproof.checker.two_phase_commit.model import MOST_MANAGERS, PROMISES, Rules, two_phase_commit


def _model(bounds: Mapping[str, int]) -> Model:
    if not 1 <= bounds["n"] <= MOST_MANAGERS:
        raise UnknownBound(f"two_phase_commit: n={bounds['n']} is out of range; give 1 to {MOST_MANAGERS}")
    return two_phase_commit(bounds["n"])


def _setup(_: object, bounds: Mapping[str, int]) -> Rules:
    return Rules(bounds["wait_for_all"], bounds["gives_up"])


_READINGS = ("wait_for_all", "gives_up")


TWO_PHASE_COMMIT = Scenario(
    name="two_phase_commit",
    story="One transaction manager and n resource managers agree whether to commit. A resource manager may abort "
    "on its own while it works. Messages stay in the network, so they may be delayed, duplicated or never "
    "delivered. Other checkers were measured on the same state graph.",
    always=tuple(promise.name for promise in PROMISES if promise.kind == "always"),
    sometimes=tuple(promise.name for promise in PROMISES if promise.kind == "sometimes"),
    distinct=296_448,
    bounds={"n": 7, "wait_for_all": 1, "gives_up": 1},
    readings=_READINGS,
    model=_model,
    setup=_setup,
    mutants=(
        Mutant(
            "commit_without_waiting_for_all",
            breaks="nobody_commits_what_another_aborted",
            steps=3,
            bounds={"wait_for_all": 0},
        ),
    ),
)

TWO_PHASE_COMMIT_ENDS = Scenario(
    name="two_phase_commit_ends",
    story="One transaction manager and n resource managers agree whether to commit, and none of them fails. Each "
    "of them eventually takes every step that it can, so all of them finish. A manager that waits for an "
    "aborted one would leave the others prepared forever, with all their locks.",
    always=TWO_PHASE_COMMIT.always,
    sometimes=TWO_PHASE_COMMIT.sometimes,
    leads_to=tuple(promise.name for promise in PROMISES if promise.kind == "leads_to"),
    distinct=1_568,
    bounds={"n": 4, "wait_for_all": 1, "gives_up": 1},
    readings=_READINGS,
    model=_model,
    setup=_setup,
    mutants=(Mutant("the_manager_never_gives_up", breaks="everybody_ends", steps=6, bounds={"gives_up": 0}),),
)
