"""Arguments and options of commands that choose scenarios and rules."""

from __future__ import annotations

from functools import partial

import click

from zombieproof.checker.scenarios import MODELS, SCENARIOS
from zombieproof.cli.options import Command, completed
from zombieproof.model.rules import switches


def names_of_scenarios(incomplete: str) -> list[str]:
    """Return the registered scenarios with this prefix."""
    return [name for name in SCENARIOS if name.startswith(incomplete)]


def names_of_models(incomplete: str) -> list[str]:
    """Return the registered models with this prefix."""
    return [model for model in MODELS if model.startswith(incomplete)]


def names_of_rules(incomplete: str) -> list[str]:
    """Return the rules with this prefix, of Kafka and of other models."""
    readings = dict.fromkeys(name for scenario in SCENARIOS.values() for name in scenario.readings)
    return [name for name in (*(rule.name for rule in switches()), *readings) if name.startswith(incomplete)]


scenarios_to_explore = click.argument(
    "names",
    metavar="[SCENARIO|FILE.py[:NAME]]...",
    nargs=-1,
    shell_complete=completed(names_of_scenarios),
    help="scenarios to explore; default: all",
)

of_model = click.option(
    "--model",
    metavar="NAME",
    default="",
    shell_complete=completed(names_of_models),
    help="only the scenarios of this model",
)


_switches = partial(click.option, metavar="RULE", multiple=True, shell_complete=completed(names_of_rules))


def under_rules(command: Command) -> Command:
    """Add --rules, --with and --without."""
    preset = click.option(
        "--rules", metavar="PRESET", default="", help="use the rules of a release: newest, 3.9, 4.3-tv0"
    )
    on = _switches("--with", "on", help="enable a rule, or set a number: transaction_version=0; repeatable")
    off = _switches("--without", "off", help="disable a rule; repeatable")
    return preset(on(off(command)))
