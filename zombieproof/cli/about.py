"""zombieproof about: show versions, rules, the model and its limits."""

import platform
from importlib import metadata

import click

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.cli.main import version
from zombieproof.model.catalogue import IN_RECORDINGS, IN_STATES
from zombieproof.model.omissions import OMISSIONS
from zombieproof.model.rules import PRESETS, switches
from zombieproof.report.exits import Exit
from zombieproof.report.rules_page import in_releases
from zombieproof.report.screen import Column, Screen, plural
from zombieproof.statemachines.registry import MACHINES

HELP = """Show versions, the rules of each release, and the limits of the model.

\b
Examples:
  zombieproof about
  zombieproof about | grep KIP-890
"""

LIBRARIES = ("numba", "numpy", "pydantic", "transitions", "click", "rich", "crc32c", "cramjam")


@click.command("about", help=HELP)
def about_command() -> int:
    """Run the command."""
    screen = Screen()
    screen.say(f"zombieproof {version()}", "bold")
    libraries = ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES)
    screen.say(f"Python {platform.python_version()} on {platform.platform()}; {libraries}", indent=2)
    _show_rules(screen)
    _show_modelled(screen)
    _show_omissions(screen)
    return Exit.HOLDS


def _show_omissions(screen: Screen) -> None:
    for part in dict.fromkeys(omission.part for omission in OMISSIONS):
        screen.say()
        screen.say(f"Not in the {part}", "bold")
        for omission in OMISSIONS:
            if omission.part == part:
                screen.say(f"- {omission.what}: {omission.why}", indent=2, hang=2)


def _show_rules(screen: Screen) -> None:
    screen.say()
    screen.say("Rules (--rules PRESET, --with RULE, --without RULE)", "bold")
    screen.say(f"presets: {', '.join(PRESETS)}; zombieproof rules describes them", indent=2, hang=9)
    screen.say()
    columns = (Column("rule"), Column("releases"), Column("source"), Column("meaning"))
    screen.table(columns, [(f.name, in_releases(f), f.source, f.meaning) for f in switches()], indent=2)


def _show_modelled(screen: Screen) -> None:
    screen.say()
    screen.say("Modelled", "bold")
    rows = [
        (machine.name, str(len(machine.states)), str(len(machine.rows)), ", ".join(s.name for s in machine.states))
        for machine in MACHINES.values()
    ]
    columns = (Column("machine"), Column("states", "right"), Column("rows", "right"), Column(""))
    screen.table(columns, rows, indent=2)
    screen.say()
    always = sum(promise.kind == "always" for promise in IN_STATES.values())
    mutants = sum(len(scenario.mutants) for scenario in SCENARIOS.values())
    screen.say(
        f"{plural(len(SCENARIOS), 'scenario')} with {plural(mutants, 'mutant')}, {always} invariants in the checker, "
        f"{len(IN_RECORDINGS)} properties of recordings in replay; zombieproof scenarios lists the scenarios",
        indent=2,
    )
