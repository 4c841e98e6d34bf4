"""zombieproof scenarios: list and describe scenarios."""

import json
from collections.abc import Sequence

import click

from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.cli.naming import scenarios_chosen
from zombieproof.cli.scenario_options import of_model
from zombieproof.report.exits import Exit
from zombieproof.report.scenario_text import scenario_data, show_scenario
from zombieproof.report.screen import Column, Screen

HELP = """List the scenarios, or describe one: summary, faults, bounds, properties, known violations and mutants.

\b
Examples:
  zombieproof scenarios
  zombieproof scenarios leaderless_partition
  zombieproof scenarios examples/own_scenario.py
  zombieproof scenarios --model spark_sink
  zombieproof scenarios --json
"""

_COLUMNS = (
    Column("scenario"),
    Column("rules"),
    Column("distinct", "right"),
    Column("mutants", "right"),
    Column("summary"),
)


@click.command("scenarios", help=HELP)
@click.argument("names", metavar="[NAME|FILE.py[:NAME]]...", nargs=-1, help="scenarios to describe; default: list all")
@of_model
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
def scenarios_command(names: tuple[str, ...], model: str, as_json: bool) -> int:
    """Run the command."""
    list_scenarios(Screen(), names, model=model, as_json=as_json)
    return Exit.HOLDS


def list_scenarios(screen: Screen, names: Sequence[str], *, model: str = "", as_json: bool) -> None:
    """Describe the named scenarios, or list all (of a model).

    Raises:
        WrongUsage: a name is unknown, or a scenario belongs to another model.
    """
    chosen = scenarios_chosen(names, SCENARIOS, model)
    if as_json:
        data = [scenario_data(scenario) for scenario in chosen]
        screen.data(json.dumps({"scenarios": data}, indent=2))
    elif names:
        for scenario in chosen:
            show_scenario(screen, scenario)
    else:
        screen.table(_COLUMNS, [_cells(scenario) for scenario in chosen])
        screen.say()
        screen.say("zombieproof scenarios NAME describes one of them")


def _cells(scenario: Scenario) -> tuple[str, ...]:
    first = scenario.story.split(". ")[0].rstrip(".") + "."
    return scenario.name, scenario.rules_in_words, f"{scenario.distinct:,}", str(len(scenario.mutants)), first
