"""zombieproof verify: all that a clone promises, in one table with one exit code."""

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
