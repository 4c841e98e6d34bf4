"""The words that a suite knows: those of its own patterns and tables, and the names of the protocol.

A case is read by patterns, look-ups and comparisons, in many places. Whichever place a word stands in: if it stands
nowhere in the source of the suite, then the suite cannot have understood it. So one look at all words of a case, before
it is run, makes sure that none is taken for a value that was expected and did not come.

Not looked up are numbers, and names with a number behind a hyphen or a single letter (``foo-0``, ``g1``): cases make
them up. Other names that cases make up stand in ``MADE_UP`` of their suite. What is in messages and docstrings does not
count.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.conformance.cases import Case, NotRunnable
from zombieproof.model.vocabulary import Error

ROOT = Path(__file__).parents[2]
PACKAGE = "tests.conformance"
NAME = re.compile(r"\w+(?:-\w+)*-\d+|\b[a-z]\d+\b")
WORD = re.compile(r"[^\W\d_]+")


def require_words(case: Case) -> None:
    """Every word of given, when and expect is one that the suite of the case knows.

    Raises:
        NotRunnable: one is not; the message names it and where it stands.
    """
    known = words_of(case.prefix)
    for part in ("given", "when", "expect"):
        for phrase in _phrases(getattr(case, part)):
            for word in WORD.findall(NAME.sub(" ", phrase)):
                if word not in known and f"{word}s" not in known:
                    raise NotRunnable(f"{part}: {word!r} is not understood, in {phrase!r}")


@cache
def words_of(prefix: str) -> frozenset[str]:
    """The words of the suite of a prefix."""
    names = " ".join(error.name for error in Error)
    source = " ".join(_strings(f"{PACKAGE}.suite_{prefix.lower()}", set()))
    return frozenset(WORD.findall(f"{names} {source}"))


def _phrases(value: object) -> Iterator[str]:
    """Every text in a part of a case, keys of mappings too.

    Raises:
        NotRunnable: something is of a kind that no case has (a fraction, a date).
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _phrases(key)
            yield from _phrases(part)
    elif isinstance(value, list):
        for part in value:
            yield from _phrases(part)
    elif value is not None and not isinstance(value, int):
        raise NotRunnable(f"{value!r} is not understood: it is neither a text nor a whole number")


def _strings(module: str, seen: set[str]) -> Iterator[str]:
    """The texts in the source of a module, and of what it imports from this folder."""
    if module in seen:
        return
    seen.add(module)
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8"))
    told = {id(part) for node in ast.walk(tree) for part in _of_messages(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            for name in node.names:
                yield from _strings(f"{PACKAGE}.{name.name}", seen)
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{PACKAGE}."):
            yield from _strings(str(node.module), seen)


def _of_messages(node: ast.AST) -> Iterator[ast.AST]:
    """What a docstring, the message of an error, or the first argument of `check` is made of."""
    if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        yield from ast.walk(node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check" and node.args:
        yield from ast.walk(node.args[0])
