"""zombieproof diagrams: a state diagram of every machine, and the page that shows them all."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import click

from zombieproof.cli.options import PATH
from zombieproof.cli.usage import WrongUsage
from zombieproof.report import diagrams, machines_page
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Screen
from zombieproof.statemachines.kernel import Machine
from zombieproof.statemachines.registry import ALL_MACHINES

HELP = """Draw every state machine from its transition table, into diagrams/ and docs/machines.md.

SVG needs Graphviz (`dot`); DOT and Mermaid need nothing. With -o, write only the diagrams. If you name a Python file,
draw only the machines that it defines.

\b
Examples:
  zombieproof diagrams             all formats, and docs/machines.md
  zombieproof diagrams --check     are the committed diagrams up to date?
  zombieproof diagrams --format mermaid -o build
  zombieproof diagrams examples/two_phase_commit.py -o build
"""

FOLDER = Path("diagrams")
PAGE = Path("docs/machines.md")


@click.command("diagrams", help=HELP)
@click.argument(
    "files", metavar="[FILE.py[:NAME]]...", nargs=-1, help="draw your own machines instead of zombieproof's"
)
@click.option("--check", is_flag=True, help="compare and write nothing; exit code 1 if anything is out of date")
@click.option("--format", "form", type=click.Choice(["svg", "dot", "mermaid"]), help="only this format; default: all")
@click.option("-o", "--output", "folder", metavar="DIR", type=PATH, help="output folder; default diagrams/")
def diagrams_command(
    files: tuple[str, ...], check: bool, form: Literal["svg", "dot", "mermaid"] | None, folder: Path | None
) -> int:
    """Run the command."""
    screen = Screen()
    if check:
        if form:
            raise WrongUsage("--check compares every format: omit --format")
        if files:
            raise WrongUsage("--check compares zombieproof's committed diagrams: omit the files")
        return _check(screen, folder)
    formats = (form,) if form else tuple(diagrams.SUFFIXES)
    try:
        written = diagrams.write_all(folder or FOLDER, formats, _own(files) if files else ALL_MACHINES.values())
    except diagrams.DotMissingError as error:
        raise WrongUsage(str(error)) from error
    if folder is None and form is None and not files:
        written.append(machines_page.write(PAGE))
    for path in written:
        screen.say(f"wrote {path}")
    return Exit.HOLDS


def _own(files: Sequence[str]) -> list[Machine]:
    """Load the machines that files define; their names must differ.

    Raises:
        WrongUsage: a file cannot be read as machines, or two of them have one name.
    """
    from zombieproof.checker.own import OwnFault, machines  # noqa: PLC0415  # it loads the checker

    found: dict[str, Machine] = {}
    for file in files:
        try:
            its = machines(file)
        except OwnFault as fault:
            raise WrongUsage(str(fault)) from fault
        for machine in its:
            if found.setdefault(machine.name, machine) is not machine:
                raise WrongUsage(
                    f"{file}: another file also defines a machine {machine.name!r}; draw one file at a time"
                )
    return list(found.values())


def _check(screen: Screen, folder: Path | None) -> int:
    faults = diagrams.check(folder or FOLDER) + (machines_page.check(PAGE) if folder is None else [])
    for fault in faults:
        screen.say(str(fault), "red")
    if not faults:
        screen.say(f"{folder or FOLDER} is up to date", "green")
    return Exit.VIOLATED if faults else Exit.HOLDS
