"""zombieproof stories: list and describe the bundled fault plans."""

import json
from collections.abc import Sequence

import click

from zombieproof.cli.usage import known
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Column, Screen
from zombieproof.wire.plan.stories import Story, stories

HELP = """List the bundled fault plans of `serve --story`, or describe one: faults, effect on clients, and bug.

\b
Examples:
  zombieproof stories
  zombieproof stories late_end_txn
  zombieproof stories --json
"""

_COLUMNS = (Column("fault plan"), Column("bug"), Column("cluster"), Column("summary"))


@click.command("stories", help=HELP)
@click.argument("names", metavar="[NAME]...", nargs=-1, help="fault plans to describe; default: list all")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
def stories_command(names: tuple[str, ...], as_json: bool) -> int:
    """Run the command."""
    list_stories(Screen(), names, as_json=as_json)
    return Exit.HOLDS


def list_stories(screen: Screen, names: Sequence[str], *, as_json: bool) -> None:
    """Describe the named fault plans, or list all.

    Raises:
        WrongUsage: a name is unknown.
    """
    every = stories()
    chosen = [every[known("fault plan", name, every, "zombieproof stories")] for name in names]
    if as_json:
        told = [each.model_dump(mode="json", exclude_none=True) for each in chosen or every.values()]
        screen.data(json.dumps({"stories": told}, indent=2))
    elif chosen:
        for each in chosen:
            _show(screen, each)
    else:
        screen.table(_COLUMNS, [_cells(each) for each in every.values()])
        screen.say()
        screen.say("zombieproof stories NAME describes one; zombieproof serve --story NAME runs it")


def _cells(told: Story) -> tuple[str, ...]:
    return told.name, ", ".join(told.bug), _cluster(told), told.description.split(". ")[0] + "."


def _cluster(told: Story) -> str:
    brokers = f"{told.brokers} brokers, " if told.brokers > 1 else ""
    return f"{brokers}tv{told.rules().transaction_version}"


def _show(screen: Screen, told: Story) -> None:
    screen.say(told.name, "bold")
    screen.say(told.description, indent=2)
    for name, says in (
        ("published as", ", ".join((*told.bug, told.issues))),
        ("reproducible with", told.needs),
        ("cluster", _cluster(told) + "".join(f", without {rule}" for rule in told.rules_off)),
        ("a client sees", told.client_sees),
        ("violates", told.breaks or "nothing"),
    ):
        screen.say(f"{name}: {says}", indent=2)
    for fault in told.faults:
        screen.say(f"{fault.kind}: {fault.name}", indent=2)
    screen.say()
