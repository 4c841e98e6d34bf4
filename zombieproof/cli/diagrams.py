"""zombieproof diagrams: every machine as a picture, and the page that shows them all."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from zombieproof.cli.usage import WrongUsage
from zombieproof.report import diagrams, machines_page
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Screen

HELP = """Render every machine from its table, into diagrams/ and docs/machines.md.

DOT and Mermaid need nothing else; SVG is laid out by Graphviz's `dot`. With -o only the drawings are written.

\b
Examples:
  zombieproof diagrams             all formats, and docs/machines.md
  zombieproof diagrams --check     is what is committed what the tables say?
  zombieproof diagrams --format mermaid -o build
"""

FOLDER = Path("diagrams")
PAGE = Path("docs/machines.md")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diagrams", help=HELP)(diagrams_command)


def diagrams_command(
    check: Annotated[
        bool, typer.Option("--check", help="compare, write nothing; exit code 1 if anything is stale")
    ] = False,
    form: Annotated[
        Literal["svg", "dot", "mermaid"] | None, typer.Option("--format", help="one format; all by default")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="where; diagrams/ by default")
    ] = None,
) -> int:
    """Run the command."""
    screen = Screen()
    if check:
        if form:
            raise WrongUsage("--check compares every format: leave --format away")
        return _check(screen, folder)
    formats = (form,) if form else tuple(diagrams.SUFFIXES)
    try:
        written = diagrams.write_all(folder or FOLDER, formats)
    except diagrams.DotMissingError as error:
        raise WrongUsage(str(error)) from error
    if folder is None and form is None:
        written.append(machines_page.write(PAGE))
    for path in written:
        screen.say(f"wrote {path}")
    return Exit.HOLDS


def _check(screen: Screen, folder: Path | None) -> int:
    faults = diagrams.check(folder or FOLDER) + (machines_page.check(PAGE) if folder is None else [])
    for fault in faults:
        screen.say(str(fault), "red")
    if not faults:
        screen.say(f"{folder or FOLDER} is what the tables say", "green")
    return Exit.VIOLATED if faults else Exit.HOLDS
