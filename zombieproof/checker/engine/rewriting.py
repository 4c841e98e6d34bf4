"""From a plain function to the text that is compiled: the part of lowering that knows nothing of Numba.

The rewriter takes the syntax tree of one function and

* drops docstring, annotations and decorators;
* folds what is constant: members of IntEnums, integers of modules, attributes of frozen dataclasses;
* keeps as tables the tuples of integers of a module, of one or two dimensions;
* writes every call of a lowered function and of a NamedTuple with positional arguments, defaults filled in, and
  converts each argument that is annotated as an integer or a boolean, so that one function is compiled once;
* leaves out what the layout of a model never lets happen (see `folding`);
* unrolls `x in (A, B)`, and writes `verdict._replace(a=x)` as a call;
* has LLVM compare and exchange records as wholes, where `model.fields` does it field by field.

What it does not understand raises `LoweringError`. Lines keep their numbers.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from zombieproof.checker.engine import folding
from zombieproof.checker.engine.layout import Sizes
from zombieproof.checker.engine.sources import (
    FORBIDDEN,
    INT64,
    OF_RECORDS,
    REPLACE,
    LoweringError,
    defaults,
    definition,
    kind_of,
    parameters,
    scalar,
    scalar_of,
)

BUILTINS: Final = frozenset({"range", "len", "min", "max", "abs", "bool", "int"})


@dataclasses.dataclass(slots=True)
class Lowered:
    """One function after rewriting, with what its text refers to: functions, tables of integers, NamedTuple classes."""

    function: types.FunctionType
    tree: ast.FunctionDef
    filename: str
    functions: dict[str, types.FunctionType] = dataclasses.field(default_factory=dict)
    tables: dict[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict)
    classes: dict[str, type] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """Module and name of the function."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def mentions(self, field: str) -> bool:
        """Whether the function reads or writes a field of that name."""
        return any(isinstance(node, ast.Attribute) and node.attr == field for node in ast.walk(self.tree))

    def text(self) -> str:
        """Return all that decides what the function compiles to, apart from the bodies of the functions it calls."""
        classes = {name: [cls.__name__, *getattr(cls, "_fields", ())] for name, cls in self.classes.items()}
        calls = {name: f"{f.__module__}.{f.__qualname__}" for name, f in self.functions.items()}
        return f"{self.name}\n{ast.unparse(self.tree)}\n{calls}\n{self.tables}\n{classes}\n"


def rewrite(function: types.FunctionType, packages: frozenset[str], sizes: Sizes | None = None) -> Lowered:
    """Rewrite a function; it may call functions of `packages`, names of top-level packages. Raises LoweringError.

    `sizes`: those of the model, so that what its layout makes constant is folded; None: it is for any model.
    """
    return _Rewriter(function, packages, sizes).lowered


class _Rewriter(ast.NodeTransformer):
    def __init__(self, function: types.FunctionType, packages: frozenset[str], sizes: Sizes | None) -> None:
        self.function = function
        self.packages = packages
        self.line = function.__code__.co_firstlineno
        original = definition(function)
        if function.__closure__:
            names = ", ".join(function.__code__.co_freevars)
            self.refuse(original, f"it is a closure over {names}", "a function of a module")
        if original.args.vararg or original.args.kwarg:
            self.refuse(original, "it has a starred parameter", "parameters one by one")
        self.local = {*function.__code__.co_varnames}
        self.lengths = folding.Lengths(function, original, sizes)
        self.returns = scalar(original.returns, function)
        arguments = [ast.copy_location(ast.arg(a.arg), a) for a in parameters(original)]
        signature = ast.arguments([], arguments, None, [], [], None, [])
        tree = ast.copy_location(ast.FunctionDef(original.name, signature, [], []), original)
        self.lowered = Lowered(function, tree, function.__code__.co_filename)
        body = original.body[1:] if ast.get_docstring(original, clean=False) is not None else original.body
        tree.body = self.statements(body)
        ast.fix_missing_locations(tree)

    def refuse(self, node: ast.AST, what: str, legal: str) -> NoReturn:
        where = f"{self.function.__code__.co_filename}:{getattr(node, 'lineno', self.line)}"
        raise LoweringError(f"{where}: {self.function.__qualname__} cannot be lowered: {what}. Legal: {legal}.")

    def visit(self, node: ast.AST) -> Any:
        self.line = getattr(node, "lineno", self.line)
        if type(node) in FORBIDDEN:
            what, legal = FORBIDDEN[type(node)]
            self.refuse(node, what, legal)
        new = super().visit(node)
        return ast.copy_location(new, node) if isinstance(new, ast.AST) else new

    def generic_visit(self, node: ast.AST) -> ast.AST:
        # The trees of a file are shared by all who read them: only copies are changed.
        fields: dict[str, Any] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                fields[name] = self.visit(value)
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                fields[name] = self.statements(value)
            elif isinstance(value, list):
                fields[name] = [self.visit(item) if isinstance(item, ast.AST) else item for item in value]
            else:
                fields[name] = value
        return type(node)(**fields)

    # --- statements ---

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Rewrite a block; docstrings and bare annotations vanish."""
        new: list[ast.stmt] = []
        for statement in body:
            found = self.visit(statement)
            new += found if isinstance(found, list) else [found] if found is not None else []
            if folding.ends(new):
                break
        return new or [ast.Pass()]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        target, value = self.visit(node.target), self.visit(node.value)
        return ast.Assign([target], converted(value, scalar(node.annotation, self.function)))

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        targets, value = [self.visit(target) for target in node.targets], self.visit(node.value)
        stored = any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets)
        if stored and isinstance(value, ast.Name | ast.Attribute | ast.Subscript):
            # A record cannot be converted, and must not be stored: one host would share it and the other copy it.
            value = converted(value, INT64)
        return ast.Assign(targets, value)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return ast.Return(None if node.value is None else converted(self.visit(node.value), self.returns))

    def visit_For(self, node: ast.For) -> ast.AST | None:
        if node.orelse:
            self.refuse(node, "a loop with else", "a flag")
        if self.lengths.of(node.iter) == 0:
            return None
        over = self.visit(node.iter)
        if folding.is_empty(over):
            return None
        return ast.For(self.visit(node.target), over, self.statements(node.body), [])

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt] | None:
        test = self.visit(node.test)
        holds = folding.truth(test)
        if holds is None:
            return ast.If(test, self.statements(node.body), self.statements(node.orelse) if node.orelse else [])
        taken = node.body if holds else node.orelse
        return self.statements(taken) if taken else None

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    # --- names and constants ---

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if node.value is None or isinstance(node.value, bool | int):
            return ast.Constant(node.value)
        return self.refuse(node, f"the constant {node.value!r}", "integers and booleans")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.local or not isinstance(node.ctx, ast.Load):
            return ast.Name(node.id, node.ctx)
        return self.folded(node, node.id, self.value(node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        static, value = self.static(node)
        return self.folded(node, ast.unparse(node), value) if static else self.generic_visit(node)

    def value(self, name: ast.Name) -> Any:
        """Return what a global name stands for."""
        scope = self.function.__globals__
        if name.id in scope:
            return scope[name.id]
        if hasattr(builtins, name.id):
            return getattr(builtins, name.id)
        return self.refuse(name, f"the name {name.id} is not defined", "names of the function's module")

    def static(self, node: ast.expr) -> tuple[bool, Any]:
        """Whether `node` is a global name or a chain of attributes of one, and its value."""
        if isinstance(node, ast.Name):
            return (False, None) if node.id in self.local else (True, self.value(node))
        if not isinstance(node, ast.Attribute):
            return False, None
        static, owner = self.static(node.value)
        if not static:
            return False, None
        frozen = dataclasses.is_dataclass(owner) and getattr(owner, "__dataclass_params__").frozen  # noqa: B009  # untyped
        if not (isinstance(owner, types.ModuleType | enum.EnumMeta | enum.IntEnum) or frozen):
            legal = "attributes of modules, IntEnums and frozen dataclasses"
            self.refuse(node, f"attribute {node.attr} of the global {ast.unparse(node.value)}", legal)
        if not hasattr(owner, node.attr):
            self.refuse(node, f"{ast.unparse(node)} does not exist", "names that are defined")
        return True, getattr(owner, node.attr)

    def folded(self, node: ast.expr, name: str, value: Any) -> ast.expr:
        """Return what stands for a global value in lowered text, and keep what it needs."""
        alias = name.replace(".", "__")
        if isinstance(value, bool | int):
            return ast.Constant(value if isinstance(value, bool) else int(value))
        if type(value) is tuple:
            self.lowered.tables[alias] = self.table(node, name, value)
        elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
            self.lowered.classes[alias] = value
        elif name in BUILTINS and value is getattr(builtins, name):
            alias = INT64 if name == "int" else name
        elif callable(value) and isinstance(inspect.unwrap(value), types.FunctionType):
            self.lowered.functions[alias] = self.callee(node, name, value)
        else:
            legal = (
                f"integers, IntEnums, tuples of integers, NamedTuples, functions of {self.known()}, {sorted(BUILTINS)}"
            )
            self.refuse(node, f"the global {name} is {kind_of(value)}", legal)
        return ast.Name(alias, ast.Load())

    def known(self) -> str:
        own = self.function.__module__
        return ", ".join(sorted("this file and those beside it" if name == own else name for name in self.packages))

    def callee(self, node: ast.expr, name: str, value: Callable[..., Any]) -> types.FunctionType:
        function = inspect.unwrap(value)
        if not isinstance(function, types.FunctionType) or not (
            function.__module__.partition(".")[0] in self.packages or self.is_beside(function)
        ):
            self.refuse(node, f"{name} is {kind_of(value)}", f"functions of {self.known()}")
        return function

    def is_beside(self, function: types.FunctionType) -> bool:
        """Whether a function is defined in the folder of the one that calls it."""
        one, other = (Path(each.__code__.co_filename).resolve().parent for each in (self.function, function))
        return one == other

    def table(self, node: ast.expr, name: str, value: tuple[Any, ...]) -> tuple[Any, ...]:
        rows = [row if isinstance(row, tuple) else (row,) for row in value]
        flat = all(isinstance(row, int) for row in value)
        square = all(isinstance(row, tuple) for row in value) and len({len(row) for row in rows}) == 1
        if not value or not (flat or square) or not all(isinstance(cell, int) for row in rows for cell in row):
            self.refuse(node, f"the tuple {name} is no table", "tuples of integers, or of such tuples of one length")
        return tuple(map(int, value)) if flat else tuple(tuple(map(int, row)) for row in rows)

    # --- expressions ---

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        test = self.visit(node.test)
        holds = folding.truth(test)
        if holds is None:
            return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))
        return self.visit(node.body if holds else node.orelse)  # type: ignore[no-any-return]  # what the node needs

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return folding.either(node, self.visit)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        operand = self.visit(node.operand)
        holds = folding.truth(operand)
        if isinstance(node.op, ast.Not) and holds is not None:
            return ast.Constant(not holds)
        return ast.UnaryOp(node.op, operand)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        for argument in node.args:
            if type(argument) in FORBIDDEN:
                self.visit(argument)  # all(... for ...): the argument says more than the function
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == "_replace"
            and not self.static(node.func.value)[0]
        ):
            return self.replaced(node, node.func.value)
        static, value = self.static(node.func)
        if not static:
            self.refuse(node, f"the call of {ast.unparse(node.func)}", "calls of functions of a module")
        if value is typing.cast:
            return self.visit(node.args[1])  # type: ignore[no-any-return]  # visit returns what the node needs
        if value is len and isinstance(self.static(node.args[0])[1], enum.EnumMeta | tuple):
            return ast.Constant(len(self.static(node.args[0])[1]))
        if value is len and (length := self.lengths.of(node.args[0])) is not None:
            return ast.Constant(length)
        if isinstance(value, types.FunctionType) and value in OF_RECORDS:
            return ast.Call(ast.Name(OF_RECORDS[value], ast.Load()), self.bound_to_function(node, value), [])
        function = self.visit(node.func)
        name = ast.unparse(function)
        if name in self.lowered.functions:
            arguments = self.bound_to_function(node, self.lowered.functions[name])
        elif name in self.lowered.classes:
            arguments = self.bound_to_class(node, self.lowered.classes[name])
        elif node.keywords or name in self.lowered.tables or isinstance(function, ast.Constant):
            self.refuse(node, ast.unparse(node), "calls of functions; of builtins with positional arguments")
        else:
            arguments = [self.visit(argument) for argument in node.args]
        return ast.Call(function, arguments, [])

    def replaced(self, node: ast.Call, verdict: ast.expr) -> ast.expr:
        """`verdict._replace(a=x, b=y)` sets one field after the other."""
        if node.args or any(keyword.arg is None for keyword in node.keywords):
            self.refuse(node, "_replace without names", "_replace(field=value)")
        value: ast.expr = self.visit(verdict)
        for keyword in node.keywords:
            changed = self.visit(keyword.value)
            value = ast.Call(ast.Name(REPLACE, ast.Load()), [value, ast.Constant(keyword.arg), changed], [])
        return value

    def bound_to_function(self, node: ast.Call, function: types.FunctionType) -> list[ast.expr]:
        expected = parameters(definition(function))
        given = self.bind(node, [p.arg for p in expected], defaults(function))
        return [converted(value, scalar(p.annotation, function)) for value, p in zip(given, expected, strict=True)]

    def bound_to_class(self, node: ast.Call, cls: Any) -> list[ast.expr]:
        hints = typing.get_type_hints(cls)
        given = self.bind(node, list(cls._fields), cls._field_defaults)
        return [converted(value, scalar_of(hints.get(name))) for value, name in zip(given, cls._fields, strict=True)]

    def bind(self, node: ast.Call, names: list[str], optional: Mapping[str, Any]) -> list[ast.expr]:
        """Return the arguments of a call in the order of `names`, defaults filled in."""
        called, legal = ast.unparse(node.func), f"each of {', '.join(names)} once"
        if len(node.args) > len(names):
            self.refuse(node, f"{called} gets {len(node.args)} arguments", legal)
        given = dict(zip(names, node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in names or keyword.arg in given:
                self.refuse(node, f"the argument {keyword.arg or '**'} of {called}", legal)
            given[keyword.arg] = keyword.value
        bound: list[ast.expr] = []
        for name in names:
            default = optional.get(name)
            if name in given:
                bound.append(self.visit(given[name]))
            elif isinstance(default, bool | int):
                bound.append(ast.Constant(default if isinstance(default, bool) else int(default)))
            else:
                self.refuse(node, f"{called} lacks {name}", "every argument, or an integer for a default")
        return bound

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if not any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            compared = ast.Compare(self.visit(node.left), node.ops, [self.visit(each) for each in node.comparators])
            return folding.compared(compared)
        if len(node.ops) != 1 or any(isinstance(part, ast.Call) for part in ast.walk(node.left)):
            self.refuse(
                node, f"{ast.unparse(node)} would be evaluated more than once", "a variable on the left of `in`"
            )
        inside = isinstance(node.ops[0], ast.In)
        tests: list[ast.expr] = [
            ast.Compare(self.visit(node.left), [ast.Eq() if inside else ast.NotEq()], [choice])
            for choice in self.choices(node.comparators[0])
        ]
        if len(tests) < 2:
            return tests[0] if tests else ast.Constant(not inside)
        return ast.BoolOp(ast.Or() if inside else ast.And(), tests)

    def choices(self, node: ast.expr) -> list[ast.expr]:
        """Return what may stand on the right of `in`, one by one."""
        if isinstance(node, ast.Tuple):
            return [self.visit(choice) for choice in node.elts]
        static, value = self.static(node)
        if static and isinstance(value, tuple | frozenset) and all(isinstance(choice, int) for choice in value):
            return [ast.Constant(int(choice)) for choice in (value if isinstance(value, tuple) else sorted(value))]
        legal = "a tuple, or a global tuple or frozenset of integers"
        return self.refuse(node, f"membership in {ast.unparse(node)}", legal)


def converted(value: ast.expr, conversion: str | None) -> ast.expr:
    """Make `value` an int64 or a boolean where that is asked for.

    Literals too: Numba would compile a function anew for each literal that it is called with.
    """
    if conversion is None:
        return value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == conversion:
        return value
    return ast.copy_location(ast.Call(ast.Name(conversion, ast.Load()), [value], []), value)
