"""Usage errors that tell the user what to change, and parsers of option values."""

import difflib
import re
from collections.abc import Iterable
from typing import TypeVar, cast


class WrongUsage(Exception):
    """Raised when the command line names something unknown or asks for something impossible: exit code 2."""


Form = TypeVar("Form", bound=str)

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_LEAST_MEMORY = 2**20


def closest(name: str, names: Iterable[str]) -> str:
    """Return "; did you mean ...?" with names close to the given one, or the empty string."""
    names = list(names)
    begin = [each for each in names if name and each.startswith(name)]
    near = list(dict.fromkeys([*begin, *difflib.get_close_matches(name, names, n=3, cutoff=0.5)]))[:3]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def known(what: str, name: str, names: Iterable[str], see: str = "", also: str = "") -> str:
    """Return `name` if it is one of `names`.

    Raises:
        WrongUsage: it is not. The message has near matches, or all names if there are few; the command `see`, which
            lists all of them; and `also`, another legal form.
    """
    names = list(names)
    if name in names:
        return name
    there_are = f"; there are: {', '.join(names)}" if len(names) <= 8 else ""
    listed = f" ({see} lists all{also})" if see else ""
    raise WrongUsage(f"there is no {what} named {name!r}{closest(name, names) or there_are}{listed}")


def form_of(form: Form, *, as_json: bool) -> Form:
    """Return the chosen format; `--json` is short for `--format json`.

    Raises:
        WrongUsage: --json and another format.
    """
    if as_json and form not in ("text", "json"):
        raise WrongUsage(f"--json and --format {form}: choose one format")
    return cast("Form", "json") if as_json else form


def memory_bytes(text: str) -> int:
    """Parse a size such as 8G, 512M or 8GiB; K, M, G and T are powers of 1024.

    Raises:
        WrongUsage: the text is not a size, or the size is too small.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), flags=re.IGNORECASE)
    if not found:
        raise WrongUsage(f"--memory {text!r} is not a valid size; give a number and a unit, such as 8G or 512M")
    size = int(float(found[1]) * _UNITS[found[2].upper()])
    if size < _LEAST_MEMORY:
        raise WrongUsage(f"--memory {text} is only {size:,} bytes; give at least 1M, such as 8G or 512M")
    return size


def bounds_of(text: str) -> dict[str, int]:
    """Parse bounds such as "lost=2,crashes=1".

    Raises:
        WrongUsage: the text is not a list of names and numbers.
    """
    bounds: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        found = re.fullmatch(r"(\w+)\s*=\s*(-?\d+)", part)
        if not found:
            raise WrongUsage(
                f"--bounds {text!r}: {part!r} is not NAME=NUMBER; give for example --bounds lost=2,crashes=1"
            )
        if found[1] in bounds:
            raise WrongUsage(f"--bounds {text!r}: {found[1]} is given twice; give it once")
        bounds[found[1]] = int(found[2])
    return bounds


def reductions_of(text: str) -> tuple[str, ...]:
    """Parse --reduce, such as "symmetry,order"; "": none.

    Raises:
        WrongUsage: a reduction is unknown or given twice.
    """
    from zombieproof.checker.engine.wanted import REDUCTIONS  # noqa: PLC0415  # most commands need no checker

    names = [part.strip() for part in text.split(",")] if text else []
    for number, name in enumerate(names):
        if not name:
            raise WrongUsage(f"--reduce {text!r}: a name is missing; there are: {', '.join(REDUCTIONS)}")
        known("reduction", name, REDUCTIONS)
        if name in names[:number]:
            raise WrongUsage(f"--reduce {text!r}: {name} is given twice; give it once")
    return tuple(names)
