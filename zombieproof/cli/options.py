"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import click

Command = TypeVar("Command", bound=Callable[..., Any])

PATH: Final = click.Path(path_type=Path)
"""A file or folder, which need not exist."""


threads = click.option(
    "--workers", metavar="N", type=int, help="threads, up to 64; default 1; 2 to 4 is usually fastest"
)


class OneOf(click.Choice[str]):
    """A member of an enumeration, by its value."""

    def __init__(self, members: type[StrEnum]) -> None:
        super().__init__([member.value for member in members])
        self._members = members

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the member; the error lists the legal values."""
        return self._members(super().convert(value, param, ctx))


def reported(forms: Any) -> Callable[[Command], Command]:
    """Add --format, with the words of a `Literal`, and --json."""

    def with_options(command: Command) -> Command:
        json = click.option("--json", "as_json", is_flag=True, help="the same as --format json")
        form = click.option(
            "--format",
            "form",
            type=click.Choice(get_args(forms)),
            default="text",
            show_default=True,
            help="output format",
        )
        return form(json(command))

    return with_options


def completed(names: Callable[[str], list[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return a shell completion from a function that lists the names with a prefix."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        del context, parameter
        return names(incomplete)

    return complete
