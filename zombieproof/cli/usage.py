"""What is wrong with a command line, said so that the next try succeeds; and what options mean."""

import difflib
import re
from collections.abc import Iterable
from typing import TypeVar, cast


class WrongUsage(Exception):
    """The command line asks for something that does not exist or makes no sense: exit code 2."""


Form = TypeVar("Form", bound=str)

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_LEAST_MEMORY = 2**20


def closest(name: str, names: Iterable[str]) -> str:
    """A question after names that are close to the one given: "; did you mean ...?", or nothing."""
    names = list(names)
    begin = [each for each in names if name and each.startswith(name)]
    near = list(dict.fromkeys([*begin, *difflib.get_close_matches(name, names, n=3, cutoff=0.5)]))[:3]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def known(what: str, name: str, names: Iterable[str], see: str = "") -> str:
    """Return `name` if it is one of `names`.

    Raises:
        WrongUsage: it is none of them; near matches are named, or all if there are few, and `see` says what lists them.
    """
    names = list(names)
    if name in names:
        return name
    there_are = f"; there are: {', '.join(names)}" if len(names) <= 8 else ""
    listed = f" ({see} lists all)" if see else ""
    raise WrongUsage(f"there is no {what} named {name!r}{closest(name, names) or there_are}{listed}")


def form_of(form: Form, *, as_json: bool) -> Form:
    """The format that was asked for; `--json` is short for `--format json`.

    Raises:
        WrongUsage: --json and another format.
    """
    if as_json and form not in ("text", "json"):
        raise WrongUsage(f"--json and --format {form} are two formats; choose one")
    return cast("Form", "json") if as_json else form


def memory_bytes(text: str) -> int:
    """The bytes of a size such as 8G, 512M or 8GiB: K, M, G, T are powers of 1024.

    Raises:
        WrongUsage: it is no size, or too small to hold anything.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), flags=re.IGNORECASE)
    if not found:
        raise WrongUsage(f"--memory {text!r} is no size; give a number and a unit, such as 8G or 512M")
    size = int(float(found[1]) * _UNITS[found[2].upper()])
    if size < _LEAST_MEMORY:
        raise WrongUsage(
            f"--memory {text} is {size:,} bytes, which holds nothing; give at least 1M, such as 8G or 512M"
        )
    return size


def bounds_of(text: str) -> dict[str, int]:
    """Bounds such as "lost=2,crashes=1".

    Raises:
        WrongUsage: it is no list of names and numbers.
    """
    bounds: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        found = re.fullmatch(r"(\w+)\s*=\s*(-?\d+)", part)
        if not found:
            raise WrongUsage(
                f"--bounds {text!r}: {part!r} is not name=number; give for example --bounds lost=2,crashes=1"
            )
        if found[1] in bounds:
            raise WrongUsage(f"--bounds {text!r}: {found[1]} is there twice")
        bounds[found[1]] = int(found[2])
    return bounds


def reductions_of(text: str) -> tuple[str, ...]:
    """The reductions of --reduce, such as "symmetry,order"; "": none.

    Raises:
        WrongUsage: there is no such reduction, or one is named twice.
    """
    from zombieproof.checker.engine.wanted import REDUCTIONS  # noqa: PLC0415  # most commands need no checker

    names = [part.strip() for part in text.split(",")] if text else []
    for number, name in enumerate(names):
        if not name:
            raise WrongUsage(f"--reduce {text!r} names nothing; there are: {', '.join(REDUCTIONS)}")
        known("reduction", name, REDUCTIONS)
        if name in names[:number]:
            raise WrongUsage(f"--reduce {text!r}: {name} is there twice")
    return tuple(names)
