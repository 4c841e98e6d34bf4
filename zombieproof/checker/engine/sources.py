"""The source of plain functions: their syntax trees, parameters and annotations, and what may not stand in them."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from zombieproof.model.fields import exchange, is_same, precedes

INT64: Final = "__int64"
REPLACE: Final = "__replace"
OF_RECORDS: Final = {precedes: "__precedes", is_same: "__is_same", exchange: "__exchange"}
"""Functions on two records as wholes, and what stands for them in lowered text."""

FORBIDDEN: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Raise: ("an exception", "answering with a value; an interpreted host may raise"),
    ast.Assert: ("an assertion", "a promise"),
    ast.Try: ("an exception handler", "functions that do not raise"),
    ast.With: ("a with statement", "functions without resources"),
    ast.Lambda: ("a lambda", "a function of a module"),
    ast.FunctionDef: ("a nested function", "a function of a module"),
    ast.ClassDef: ("a class", "a class of a module"),
    ast.ListComp: ("a comprehension", "a loop"),
    ast.SetComp: ("a comprehension", "a loop"),
    ast.DictComp: ("a comprehension", "a loop"),
    ast.GeneratorExp: ("a generator expression", "a loop"),
    ast.List: ("a list", "an array of a record"),
    ast.Dict: ("a dictionary", "a record or a table"),
    ast.Set: ("a set", "a tuple or a bit mask"),
    ast.JoinedStr: ("text", "texts in interpreted functions"),
    ast.Yield: ("a generator", "a loop"),
    ast.YieldFrom: ("a generator", "a loop"),
    ast.Await: ("a coroutine", "a plain function"),
    ast.Global: ("a global statement", "state in records"),
    ast.Nonlocal: ("a nonlocal statement", "state in records"),
    ast.Delete: ("a del statement", "resetting fields"),
    ast.Match: ("a match statement", "if and elif"),
    ast.Pow: ("the operator **", "shifts and products"),
    ast.Div: ("the operator /", "the operator //"),
    ast.Starred: ("a starred expression", "arguments one by one"),
    ast.Import: ("an import", "imports at the head of the module"),
    ast.ImportFrom: ("an import", "imports at the head of the module"),
    ast.NamedExpr: ("the operator :=", "an assignment"),
}


class LoweringError(Exception):
    """A function that cannot be lowered: names file, line, function, what stands there and what would be legal."""


def plain_function(function: Callable[..., Any]) -> types.FunctionType:
    """Return the function under decorators that keep `__wrapped__`; raises LoweringError for other callables."""
    inner = inspect.unwrap(function)
    if not isinstance(inner, types.FunctionType):
        raise LoweringError(f"{function!r} cannot be lowered. Legal: a function of a module, written with def.")
    return inner


def definition(function: types.FunctionType) -> ast.FunctionDef:
    """Return the syntax tree of a function; it is shared, so do not change it.

    Raises LoweringError where the source is not in a file, or was changed since it was imported.
    """
    filename, line = function.__code__.co_filename, function.__code__.co_firstlineno
    if filename in _made:
        return _made[filename][function.__name__, line]
    try:
        return _definitions(filename, Path(filename).stat().st_mtime_ns)[function.__name__, line]
    except (OSError, SyntaxError, KeyError):
        if function.__name__ == "<lambda>":
            raise LoweringError(
                f"{filename}:{line}: a lambda cannot be lowered. Legal: a function of a module, written with def."
            ) from None
        raise LoweringError(
            f"{filename}:{line}: {function.__qualname__} cannot be lowered: its source is not there. "
            "Legal: a function of a module, written with def, in a file that has not changed since it was imported."
        ) from None


@functools.lru_cache(maxsize=256)
def _definitions(filename: str, modified_ns: int) -> dict[tuple[str, int], ast.FunctionDef]:
    """Every function of a file by name and first line (that of its first decorator, as in its code object)."""
    del modified_ns  # part of the key only: a file that was edited is read again
    return _defined(Path(filename).read_bytes(), filename)


def _defined(text: bytes | str, filename: str) -> dict[tuple[str, int], ast.FunctionDef]:
    found = {}
    for node in ast.walk(ast.parse(text, filename)):
        if isinstance(node, ast.FunctionDef):
            found[node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])] = node
    return found


_made: Final[dict[str, dict[tuple[str, int], ast.FunctionDef]]] = {}


def made(title: str, text: str, scope: dict[str, Any]) -> dict[str, Any]:
    """Define the functions of a text that was written by this program, in `scope`; they can be lowered like any other.

    `title` stands for the name of a file in messages; the same title with another text is another file.
    """
    filename = f"<{title}, {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    exec(compile(text, filename, "exec"), scope)  # noqa: S102  # our text
    _made[filename] = _defined(text, filename)
    return scope


def parameters(node: ast.FunctionDef) -> list[ast.arg]:
    """Return the parameters that have a name of their own."""
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def defaults(function: types.FunctionType) -> dict[str, Any]:
    """Return the values of optional parameters."""
    signature = inspect.signature(function)
    return {name: p.default for name, p in signature.parameters.items() if p.default is not inspect.Parameter.empty}


def scalar(annotation: ast.expr | None, function: types.FunctionType) -> str | None:
    """Return the conversion that an annotation in a function asks for."""
    name = ast.unparse(annotation).strip("'\"") if annotation is not None else ""
    if name in ("int", "bool"):
        return INT64 if name == "int" else "bool"
    found: Any = function.__globals__.get(name.partition(".")[0])
    for attribute in name.split(".")[1:]:
        found = getattr(found, attribute, None)
    return scalar_of(found)


def scalar_of(cls: Any) -> str | None:
    """Return the conversion to a class: to int64 for int and IntEnums, to bool for bool, else none."""
    if cls is bool:
        return "bool"
    return INT64 if isinstance(cls, type) and issubclass(cls, int) else None


def kind_of(value: Any) -> str:
    """Return what a value is, in words."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType):
        return f"the function {value.__module__}.{value.__qualname__}"
    return f"of type {type(value).__name__}"


if sys.byteorder != "little":  # pragma: no cover  # layouts and fingerprints are little-endian
    raise ImportError("zombieproof.checker needs a little-endian machine")


def file_of(module: Any) -> Path | None:
    """The file that a module was read from, or None."""
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if isinstance(file, str) else None


def place_of(record: type, field: str = "", origin: str = "") -> str:
    """`file:line` of a class, or of one of its fields; "" where the source is not there."""
    found = file_of(sys.modules.get(record.__module__))
    if found is None:
        return ""
    file = origin if origin and found == Path(origin).resolve() else str(found)
    for node in ast.walk(ast.parse(found.read_bytes())):
        if isinstance(node, ast.ClassDef) and node.name == record.__name__:
            lines = [
                part.lineno
                for part in node.body
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and part.target.id == field
            ]
            return f"{file}:{(lines or [node.lineno])[0]}"
    return file
