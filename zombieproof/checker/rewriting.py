"""From a plain function to the text that can be compiled: the part of lowering that knows nothing of Numba.

`Rewriter` takes the syntax tree of one function and

* drops docstring, annotations and decorators;
* folds what is constant: members of an IntEnum, integers of a module, attributes of frozen objects;
* keeps as tables the tuples of integers of a module, of one or two dimensions;
* writes every call of a lowered function and of a NamedTuple with positional arguments, defaults filled in, and makes each argument
  that is annotated `int` or `bool` an int64 or a boolean, so that one function is compiled once;
* unrolls `x in (A, B)`; replaces `verdict._replace(...)`.

What is not understood raises `LoweringError`. Lines keep their numbers.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

INT64: Final = "__int64"
REPLACE: Final = "__replace"
BUILTINS: Final = frozenset({"range", "len", "min", "max", "abs", "bool", "int"})

_FORBIDDEN: Final[dict[type[ast.AST], str]] = {
    ast.Raise: "an exception; answer with a value, and let the interpreted host raise",
    ast.Assert: "an assertion; make it a promise",
    ast.Try: "an exception handler; nothing that is lowered raises",
    ast.With: "a with statement; nothing that is lowered holds a resource",
    ast.Lambda: "a lambda; define a function in the module",
    ast.FunctionDef: "a nested function; define it in the module",
    ast.ClassDef: "a class; define it in the module",
    ast.ListComp: "a comprehension; write a loop",
    ast.SetComp: "a comprehension; write a loop",
    ast.DictComp: "a comprehension; write a loop",
    ast.GeneratorExp: "a comprehension; write a loop",
    ast.List: "a list; a record's arrays have a fixed length",
    ast.Dict: "a dictionary; use a record or a table",
    ast.Set: "a set; use a bit mask",
    ast.JoinedStr: "text; texts belong to interpreted functions",
    ast.Yield: "a generator; write a loop",
    ast.YieldFrom: "a generator; write a loop",
    ast.Await: "a coroutine",
    ast.Global: "a global statement; state lives in records",
    ast.Nonlocal: "a nonlocal statement; state lives in records",
    ast.Delete: "a del statement; clear the record's fields",
    ast.Match: "a match statement; write if and elif",
    ast.Pow: "the operator **; use a shift or a product",
    ast.Div: "the operator /; use //",
    ast.Starred: "a starred expression; name the arguments",
    ast.Import: "an import; import at the head of the module",
    ast.ImportFrom: "an import; import at the head of the module",
}


class LoweringError(Exception):
    """A function that cannot be lowered: names file, line, function, what stands there and what would be legal."""


@dataclasses.dataclass(slots=True)
class Lowered:
    """One function after rewriting: `globals` are the names that its text uses, with plain values for constants."""

    function: Callable[..., Any]
    tree: ast.FunctionDef
    filename: str
    functions: dict[str, types.FunctionType] = dataclasses.field(default_factory=dict)
    tables: dict[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict)
    classes: dict[str, type] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """Module and name of the function."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def text(self) -> str:
        """Return all that decides what the function compiles to, apart from the functions it calls."""
        classes = {name: [cls.__name__, *getattr(cls, "_fields", ())] for name, cls in self.classes.items()}
        calls = {name: f"{f.__module__}.{f.__qualname__}" for name, f in self.functions.items()}
        return f"{self.name}\n{ast.unparse(self.tree)}\n{calls}\n{self.tables}\n{classes}\n"


def rewrite(function: Callable[..., Any], packages: frozenset[str], special: Mapping[Any, str]) -> Lowered:
    """Return the rewritten text of a function of a module of `packages` (names of top-level packages).

    `special` maps functions that the host itself provides to the names they have in lowered text.
    Raises LoweringError.
    """
    return _Rewriter(plain_function(function), packages, special).lowered


def plain_function(function: Callable[..., Any]) -> types.FunctionType:
    """Return the function under decorators that keep `__wrapped__`."""
    inner = inspect.unwrap(function)
    if not isinstance(inner, types.FunctionType):
        raise LoweringError(f"{function!r} is not a plain function; give a function of a module")
    return inner


@functools.lru_cache(maxsize=256)
def _definitions(filename: str, modified_ns: int) -> dict[tuple[str, int], ast.FunctionDef]:
    """Every function of a file by name and first line (that of its first decorator, as in its code object)."""
    del modified_ns  # part of the key only: a file that was edited is read again
    found = {}
    for node in ast.walk(ast.parse(Path(filename).read_bytes(), filename)):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[node.name, first] = node
    return found


def definition(function: types.FunctionType) -> ast.FunctionDef:
    """Return the syntax tree of a function; raises LoweringError where its source is not in a file."""
    filename = function.__code__.co_filename
    try:
        known = _definitions(filename, Path(filename).stat().st_mtime_ns)
        return known[function.__name__, function.__code__.co_firstlineno]
    except (OSError, SyntaxError, KeyError):
        raise LoweringError(
            f"{function.__module__}.{function.__qualname__}: its source is not found at {filename}:"
            f"{function.__code__.co_firstlineno}; give a function written with def in a module that did not change since it was imported"
        ) from None


class _Rewriter(ast.NodeTransformer):
    def __init__(self, function: types.FunctionType, packages: frozenset[str], special: Mapping[Any, str]) -> None:
        self.function = function
        self.packages = packages
        self.special = special
        original = definition(function)
        if function.__closure__:
            self.refuse(
                original, f"a closure over {', '.join(function.__code__.co_freevars)}", "a function of a module"
            )
        self.local = set(function.__code__.co_varnames)
        self.returns = _scalar(original.returns, function)
        arguments = [ast.copy_location(ast.arg(a.arg), a) for a in _parameters(self, original)]
        signature = ast.arguments([], arguments, None, [], [], None, [])
        tree = ast.copy_location(ast.FunctionDef(original.name, signature, [], []), original)
        self.lowered = Lowered(function, tree, function.__code__.co_filename)
        body = original.body[1:] if ast.get_docstring(original, clean=False) is not None else original.body
        for statement in body:
            new = self.visit(statement)
            tree.body.extend(new if isinstance(new, list) else [] if new is None else [new])
        tree.body = tree.body or [ast.Pass()]
        ast.fix_missing_locations(tree)

    def refuse(self, node: ast.AST, what: str, legal: str) -> NoReturn:
        where = f"{self.function.__code__.co_filename}:{getattr(node, 'lineno', '?')}"
        raise LoweringError(f"{where}: {self.function.__qualname__} cannot be lowered: {what}. Legal: {legal}.")

    def visit(self, node: ast.AST) -> Any:
        reason = _FORBIDDEN.get(type(node))
        if reason is not None:
            what, _, legal = reason.partition("; ")
            self.refuse(node, what, legal or "a plain function")
        return copied(super().visit(node), node) if isinstance(node, ast.expr) else super().visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        # The trees of a file are shared by all who read them: change copies only.
        fields = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                changed: list[Any] = []
                for item in value:
                    new = self.visit(item) if isinstance(item, ast.AST) else item
                    changed.extend(new if isinstance(new, list) else [] if new is None else [new])
                if name == "body" and not changed:
                    changed = [ast.Pass()]
                fields[name] = changed
            elif isinstance(value, ast.AST):
                fields[name] = self.visit(value)
            else:
                fields[name] = value
        return ast.copy_location(type(node)(**fields), node)

    # --- statements ---

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        value = self.visit(node.value)
        scalar = _scalar(node.annotation, self.function)
        return ast.copy_location(ast.Assign([self.visit(node.target)], converted(value, scalar)), node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        value = None if node.value is None else converted(self.visit(node.value), self.returns)
        return ast.copy_location(ast.Return(value), node)

    def visit_For(self, node: ast.For) -> ast.AST:
        if node.orelse:
            self.refuse(node, "a loop with else", "a flag")
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant):
            return None
        return self.generic_visit(node)

    # --- names and constants ---

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if node.value is None or isinstance(node.value, bool | int):
            return node
        self.refuse(node, f"the constant {node.value!r}", "integers and booleans")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.local or not isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Name(node.id, node.ctx), node)
        return self.folded(node, node.id, self.value(node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        static, value = self.static(node)
        if static:
            return self.folded(node, ast.unparse(node), value)
        return self.generic_visit(node)

    def value(self, name: ast.Name) -> Any:
        """Return what a global name stands for."""
        scope = self.function.__globals__
        if name.id in scope:
            return scope[name.id]
        if hasattr(builtins, name.id):
            return getattr(builtins, name.id)
        self.refuse(name, f"the name {name.id} is not defined", "names of the function's module")

    def static(self, node: ast.expr) -> tuple[bool, Any]:
        """Whether `node` is a chain of attributes of a global object, and its value."""
        if isinstance(node, ast.Name):
            return (False, None) if node.id in self.local else (True, self.value(node))
        if not isinstance(node, ast.Attribute):
            return False, None
        static, owner = self.static(node.value)
        if not static:
            return False, None
        frozen = dataclasses.is_dataclass(owner) and owner.__dataclass_params__.frozen  # type: ignore[union-attr]  # typeshed does not know it
        if not (isinstance(owner, types.ModuleType | enum.EnumMeta | enum.IntEnum) or frozen or owner is typing):
            self.refuse(
                node,
                f"attribute {node.attr} of the global {ast.unparse(node.value)}",
                "attributes of modules, enums and frozen dataclasses",
            )
        if not hasattr(owner, node.attr):
            self.refuse(node, f"{ast.unparse(node)} does not exist", "names that are defined")
        return True, getattr(owner, node.attr)

    def folded(self, node: ast.expr, name: str, value: Any) -> ast.expr:
        """Return what stands for a global value in lowered text, and keep what it needs."""
        alias = name.replace(".", "__")
        if isinstance(value, bool):
            return ast.Constant(value)
        if isinstance(value, int):
            return ast.Constant(int(value))
        if isinstance(value, tuple) and type(value) is tuple:
            self.lowered.tables[alias] = self.table(node, name, value)
        elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
            self.lowered.classes[alias] = value
        elif name in BUILTINS and value is getattr(builtins, name):
            alias = INT64 if name == "int" else name
        elif callable(value) and inspect.unwrap(value) in self.special:
            alias = self.special[inspect.unwrap(value)]
        elif isinstance(value, types.FunctionType | types.MethodType) or hasattr(value, "__wrapped__"):
            self.lowered.functions[alias] = self.callee(node, name, value)
        else:
            self.refuse(
                node,
                f"the global {name} is {_kind(value)}",
                "integers, members of IntEnums, tuples of integers, NamedTuple classes, functions of "
                + ", ".join(sorted(self.packages))
                + ", and "
                + ", ".join(sorted(BUILTINS)),
            )
        return ast.Name(alias, ast.Load())

    def callee(self, node: ast.expr, name: str, value: Callable[..., Any]) -> types.FunctionType:
        function = inspect.unwrap(value)
        if not isinstance(function, types.FunctionType) or function.__module__.partition(".")[0] not in self.packages:
            self.refuse(node, f"{name} is {_kind(value)}", "functions of " + ", ".join(sorted(self.packages)))
        if function is self.function:
            self.refuse(node, f"{name} calls itself", "loops")
        return function

    def table(self, node: ast.expr, name: str, value: tuple[Any, ...]) -> tuple[Any, ...]:
        rows = [row if isinstance(row, tuple) else (row,) for row in value]
        flat = all(isinstance(row, int) for row in value)
        square = all(isinstance(row, tuple) for row in value) and len({len(row) for row in rows}) == 1
        if not value or not (flat or square) or not all(isinstance(cell, int) for row in rows for cell in row):
            self.refuse(
                node, f"the tuple {name} is no table", "tuples of integers, and tuples of such tuples of one length"
            )
        if flat:
            return tuple(int(cell) for cell in value)
        return tuple(tuple(int(cell) for cell in row) for row in rows)

    # --- expressions ---

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == "_replace"
            and not self.static(node.func.value)[0]
        ):
            return self.replaced(node)
        static, value = self.static(node.func)
        if not static:
            self.refuse(node, f"the call of {ast.unparse(node.func)}", "calls of functions of a module")
        if value is typing.cast:
            return self.visit(node.args[1])
        if value is len and len(node.args) == 1 and isinstance(self.static(node.args[0])[1], enum.EnumMeta | tuple):
            return ast.Constant(len(self.static(node.args[0])[1]))
        function = self.visit(node.func)
        name = ast.unparse(function)
        if name in self.lowered.functions:
            arguments = self.bound_to_function(node, self.lowered.functions[name])
        elif name in self.lowered.classes:
            arguments = self.bound_to_class(node, self.lowered.classes[name])
        elif node.keywords:
            self.refuse(node, f"keyword arguments for {name}", "positional arguments")
        else:
            arguments = [self.visit(argument) for argument in node.args]
        return ast.Call(function, arguments, [])

    def replaced(self, node: ast.Call) -> ast.expr:
        """`verdict._replace(a=x, b=y)` sets one field after the other."""
        value: ast.expr = self.visit(node.func.value)  # type: ignore[attr-defined]  # visit_Call saw an attribute
        for keyword in node.keywords:
            if keyword.arg is None or node.args:
                self.refuse(node, "_replace without names", "_replace(field=value, ...)")
            changed = self.visit(keyword.value)
            value = ast.Call(ast.Name(REPLACE, ast.Load()), [value, ast.Constant(keyword.arg), changed], [])
        return value

    def bound_to_function(self, node: ast.Call, function: types.FunctionType) -> list[ast.expr]:
        parameters = _parameters(self, definition(function))
        given = self.bind(node, [p.arg for p in parameters], _defaults(function))
        return [
            converted(value, _scalar(parameter.annotation, function))
            for value, parameter in zip(given, parameters, strict=True)
        ]

    def bound_to_class(self, node: ast.Call, cls: type) -> list[ast.expr]:
        fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]  # `folded` saw a NamedTuple
        hints = typing.get_type_hints(cls)
        given = self.bind(node, list(fields), cls._field_defaults)  # type: ignore[attr-defined]  # same
        return [converted(value, _scalar_class(hints.get(name))) for value, name in zip(given, fields, strict=True)]

    def bind(self, node: ast.Call, names: list[str], defaults: Mapping[str, Any]) -> list[ast.expr]:
        """Return the arguments of a call in the order of `names`, defaults filled in."""
        given = dict(zip(names, node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in names or keyword.arg in given:
                self.refuse(
                    node,
                    f"argument {keyword.arg or '**'} of {ast.unparse(node.func)}",
                    f"once each: {', '.join(names)}",
                )
            given[keyword.arg] = keyword.value
        if len(node.args) > len(names):
            self.refuse(
                node, f"{len(node.args)} arguments of {ast.unparse(node.func)}", f"{len(names)}: {', '.join(names)}"
            )
        bound: list[ast.expr] = []
        for name in names:
            if name in given:
                bound.append(self.visit(given[name]))
            elif isinstance(defaults.get(name), bool | int):
                value = defaults[name]
                bound.append(ast.Constant(value if isinstance(value, bool) else int(value)))
            else:
                self.refuse(
                    node, f"{ast.unparse(node.func)} lacks {name}", "every argument, or a default that is an integer"
                )
        return bound

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.In | ast.NotIn):
            return self.generic_visit(node)
        inside = isinstance(node.ops[0], ast.In)
        if any(isinstance(part, ast.Call) for part in ast.walk(node.left)):
            self.refuse(node, f"{ast.unparse(node)} would call more than once", "a variable on the left of `in`")
        tests: list[ast.expr] = [
            ast.Compare(self.visit(node.left), [ast.Eq() if inside else ast.NotEq()], [choice])
            for choice in self.choices(node.comparators[0])
        ]
        if not tests:
            return ast.Constant(not inside)
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or() if inside else ast.And(), tests)

    def choices(self, node: ast.expr) -> list[ast.expr]:
        """Return what may stand on the right of `in`, one by one."""
        if isinstance(node, ast.Tuple):
            return [self.visit(choice) for choice in node.elts]
        static, value = self.static(node)
        if static and isinstance(value, tuple | frozenset) and all(isinstance(choice, int) for choice in value):
            return [ast.Constant(int(choice)) for choice in (value if isinstance(value, tuple) else sorted(value))]
        self.refuse(node, f"membership in {ast.unparse(node)}", "a tuple, or a global tuple or frozenset of integers")


def converted(value: ast.expr, scalar: str | None) -> ast.expr:
    """Make `value` an int64 or a boolean where an annotation says so.

    Literals too: Numba would compile a function anew for each literal that it is called with.
    """
    if scalar is None:
        return value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == scalar:
        return value
    return ast.copy_location(ast.Call(ast.Name(scalar, ast.Load()), [value], []), value)


def copied(new: Any, old: ast.AST) -> Any:
    """Give a new expression the place of the old one."""
    return ast.copy_location(new, old) if isinstance(new, ast.AST) else new


def _parameters(rewriter: _Rewriter, node: ast.FunctionDef) -> list[ast.arg]:
    arguments = node.args
    if arguments.vararg or arguments.kwarg:
        rewriter.refuse(node, f"{node.name} has a starred parameter", "named parameters")
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _defaults(function: types.FunctionType) -> dict[str, Any]:
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }


def _scalar(annotation: ast.expr | None, function: types.FunctionType) -> str | None:
    """Return the conversion that an annotation asks for."""
    name = ast.unparse(annotation).strip("'\"") if annotation is not None else ""
    if name in ("int", "bool"):
        return INT64 if name == "int" else "bool"
    found: Any = function.__globals__.get(name.partition(".")[0])
    for attribute in name.split(".")[1:]:
        found = getattr(found, attribute, None)
    return _scalar_class(found)


def _scalar_class(cls: Any) -> str | None:
    if cls is bool:
        return "bool"
    return INT64 if isinstance(cls, type) and issubclass(cls, int) else None


def _kind(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType):
        return f"the function {value.__module__}.{value.__qualname__}"
    return f"of type {type(value).__name__}"


if sys.byteorder != "little":  # pragma: no cover  # layouts, fingerprints and packed constants are little-endian
    raise ImportError("zombieproof.checker needs a little-endian machine")
