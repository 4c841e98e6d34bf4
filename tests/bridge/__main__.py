"""Write `stories.json` anew: the shortest story of every mutant, as the checker finds it."""

import json

from tests.bridge.paths import STORIES, Actions
from zombieproof.checker.checking import Request, check
from zombieproof.checker.scenarios import SCENARIOS


def found(name: str) -> dict[str, Actions]:
    """Each mutant of a scenario -> the actions of the shortest way to its broken promise."""
    stories: dict[str, Actions] = {}
    scenario = SCENARIOS[name]
    for mutant in sorted(scenario.mutants, key=lambda each: each.name):
        violated = check(scenario, Request(mutant=mutant.name)).result.violated
        assert violated is not None, f"{scenario.name}: {mutant.name} breaks nothing"
        assert violated.actions is not None, f"{scenario.name}: {mutant.name} has no path"
        stories[mutant.name] = tuple(violated.actions)
    return stories


def as_text(stories: dict[str, dict[str, Actions]]) -> str:
    """The file: a line for each mutant."""
    each_scenario = []
    for name, mutants in stories.items():
        lines = ",\n".join(f"  {json.dumps(mutant)}: {json.dumps(actions)}" for mutant, actions in mutants.items())
        each_scenario.append(f" {json.dumps(name)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(each_scenario) + "\n}\n"


if __name__ == "__main__":
    everywhere = {name: found(name) for name in sorted(SCENARIOS)}
    STORIES.write_text(as_text({name: stories for name, stories in everywhere.items() if stories}))
