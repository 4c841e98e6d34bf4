"""What commands that choose scenarios have in common: which scenarios, and under which rules."""

from __future__ import annotations

from functools import partial

import click

from zombieproof.checker.scenarios import MODELS, SCENARIOS
from zombieproof.cli.options import Command, completed
from zombieproof.model.rules import switches


def names_of_scenarios(incomplete: str) -> list[str]:
    """The registered scenarios whose names begin so."""
    return [name for name in SCENARIOS if name.startswith(incomplete)]


def names_of_models(incomplete: str) -> list[str]:
    """The registered models whose names begin so."""
    return [model for model in MODELS if model.startswith(incomplete)]


def names_of_rules(incomplete: str) -> list[str]:
    """The rules that can be switched, Kafka's and those of other models, whose names begin so."""
    readings = dict.fromkeys(name for scenario in SCENARIOS.values() for name in scenario.readings)
    return [name for name in (*(rule.name for rule in switches()), *readings) if name.startswith(incomplete)]


scenarios_to_explore = click.argument(
    "names",
    metavar="[SCENARIO|FILE.py[:NAME]]...",
    nargs=-1,
    shell_complete=completed(names_of_scenarios),
    help="which; all by default",
)

of_model = click.option(
    "--model",
    metavar="NAME",
    default="",
    shell_complete=completed(names_of_models),
    help="only scenarios of this model",
)


_switches = partial(click.option, metavar="RULE", multiple=True, shell_complete=completed(names_of_rules))


def under_rules(command: Command) -> Command:
    """The rules of a release, by --rules, and those that --with and --without switch."""
    preset = click.option("--rules", metavar="PRESET", default="", help="rules of a release: newest, 3.9, 4.3-tv0")
    on = _switches("--with", "on", help="switch a rule on, or set a number: transaction_version=0; repeatable")
    off = _switches("--without", "off", help="switch a rule off; repeatable")
    return preset(on(off(command)))
