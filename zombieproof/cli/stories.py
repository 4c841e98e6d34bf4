"""zombieproof stories: plans of faults that come with the program."""

import json
from collections.abc import Sequence

import click

from zombieproof.cli.usage import known
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Column, Screen
from zombieproof.wire.plan.stories import Story, stories

HELP = """List the stories that brokers can play, or tell one: what happens, what a client sees, which bug it is.

\b
Examples:
  zombieproof stories
  zombieproof stories late_end_txn
  zombieproof stories --json
"""

_COLUMNS = (Column("story"), Column("bug"), Column("cluster"), Column("what happens"))


@click.command("stories", help=HELP)
@click.argument("names", metavar="[NAME]...", nargs=-1, help="which to tell; all are listed")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
def stories_command(names: tuple[str, ...], as_json: bool) -> int:
    """Run the command."""
    list_stories(Screen(), names, as_json=as_json)
    return Exit.HOLDS


def list_stories(screen: Screen, names: Sequence[str], *, as_json: bool) -> None:
    """Write what is known of the named stories, or a list of all.

    Raises:
        WrongUsage: there is no story of that name.
    """
    every = stories()
    chosen = [every[known("story", name, every, "zombieproof stories")] for name in names]
    if as_json:
        told = [each.model_dump(mode="json", exclude_none=True) for each in chosen or every.values()]
        screen.data(json.dumps({"stories": told}, indent=2))
    elif chosen:
        for each in chosen:
            _show(screen, each)
    else:
        screen.table(_COLUMNS, [_cells(each) for each in every.values()])
        screen.say()
        screen.say("zombieproof stories NAME tells one of them")


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
        ("to be seen with", told.needs),
        ("brokers here", _cluster(told) + "".join(f", without {rule}" for rule in told.rules_off)),
        ("a client sees", told.client_sees),
        ("breaks", told.breaks or "nothing"),
    ):
        screen.say(f"{name}: {says}", indent=2)
    for fault in told.faults:
        screen.say(f"{fault.kind}: {fault.name}", indent=2)
    screen.say()
