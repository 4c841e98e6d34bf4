"""What each expression of a model is: an integer, a record, an array. Followed through all functions beforehand.

Records have classes, so from the parameters of `step` on it is known which fields there are. A misspelt field, an
undeclared rule or a record where an integer is wanted is refused with its line; Numba would refuse the same later, in
words of its own. What cannot be known is left to it.
"""

from __future__ import annotations

import ast
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, NoReturn

from zombieproof.checker.engine.layout import Sizes, class_of, is_record, layout_of
from zombieproof.checker.engine.model import Model, near
from zombieproof.checker.engine.rewriting import Lowered
from zombieproof.checker.engine.sources import INT64, OF_RECORDS, REPLACE, LoweringError, plain_function
from zombieproof.model.fields import exchange


@dataclass(frozen=True)
class Array:
    """A list of fixed length, a table or a range; `width` of its integers, if it is a list of a record."""

    of: Kind
    width: str = ""


class Unknown:
    """What is not followed."""


Kind = type | Array
"""int, a record class, a NamedTuple class, `Unknown`, or an array of one of them."""

_SHOWN_FIELDS: Final = 16
_INTEGERS: Final = frozenset({INT64, "min", "max", "abs", "bool"})


def follow(model: Model, lowered: Mapping[types.FunctionType, Lowered]) -> Follower:
    """Follow all functions of a model. Raises LoweringError at the first use of something that is not there."""
    follower = Follower(lowered, model.sizes)
    follower.entry(model.step, (model.state, int, model.setup, model.trail), returns=True)
    follower.entry(model.worth_trying, (model.state, model.setup, int), returns=True)
    follower.entry(model.tasks, (model.state, int, model.setup), returns=True)
    follower.entry(model.normalise, (model.state, model.setup), returns=False)
    follower.entry(model.bound_hit, (model.state, model.setup), returns=True)
    follower.entry(model.followed.is_ready, (model.state, model.setup, int), returns=True)
    for promise in model.promises:
        follower.entry(promise.holds, (model.state, model.setup), returns=True)
    return follower


class Follower:
    """Follows functions, each once for the kinds of its arguments.

    Attributes:
        known, unknown: how many attributes belong to a record that is known, and how many to one that is not.
        stores: statement -> widths of the fields into which it writes.
    """

    def __init__(self, lowered: Mapping[types.FunctionType, Lowered], sizes: Sizes | None = None) -> None:
        self.lowered, self.sizes = lowered, sizes or {}
        self.stores: dict[ast.stmt, set[str]] = {}
        self.known = self.unknown = 0
        self._returns: dict[tuple[types.FunctionType, tuple[Kind, ...]], Kind] = {}

    def entry(self, function: Callable[..., Any], kinds: tuple[Kind, ...], *, returns: bool) -> None:
        """Follow a function that the engine calls; `returns`: its value is used, so each path has to give one."""
        plain = plain_function(function)
        one = self.lowered[plain]
        self.call(plain, kinds[: len(one.tree.args.args)])
        if returns and not _always_returns(one.tree.body):
            refuse(one, one.tree, "it can end without a value", "a return at the end of each way through it")

    def call(self, function: types.FunctionType, kinds: tuple[Kind, ...]) -> Kind:
        """What the function returns for arguments of these kinds."""
        key = (function, kinds)
        if key not in self._returns:
            self._returns[key] = _Body(self, self.lowered[function], kinds).returned
        return self._returns[key]


def refuse(one: Lowered, node: ast.AST, what: str, legal: str) -> NoReturn:
    """Raise LoweringError for a node of a function."""
    line = getattr(node, "lineno", one.tree.lineno)
    raise LoweringError(
        f"{one.filename}:{line}: {one.function.__qualname__} cannot be lowered: {what}. Legal: {legal}."
    )


class _Body:
    """One function, for arguments of certain kinds."""

    def __init__(self, follower: Follower, one: Lowered, kinds: tuple[Kind, ...]) -> None:
        self.follower, self.one = follower, one
        self.names: dict[str, Kind] = dict(zip((a.arg for a in one.tree.args.args), kinds, strict=False))
        self.results: list[Kind] = []
        self.block(one.tree.body)

    @property
    def returned(self) -> Kind:
        return _joined(self.results)

    # --- statements ---

    def block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                self.assign(node)
            case ast.AugAssign():
                self.integer(node.value)
                self.store(node, node.target, int)
            case ast.For():
                self.bind(node.target, self.element(node.iter))
                self.block(node.body)
            case ast.If() | ast.While():
                self.kind(node.test)
                self.block(node.body)
                self.block(node.orelse)
            case ast.Return() if node.value is not None:
                self.results.append(self.kind(node.value))
            case ast.Expr():
                self.kind(node.value)

    def assign(self, node: ast.Assign) -> None:
        value = self.kind(node.value)
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for part, given in zip(target.elts, node.value.elts, strict=False):
                    self.bind(part, self.kind(given))
            elif isinstance(target, ast.Name | ast.Tuple):
                self.bind(target, value)
            else:
                self.store(node, target, value)

    def bind(self, target: ast.expr, value: Kind) -> None:
        if isinstance(target, ast.Name):
            known = self.names.get(target.id)
            self.names[target.id] = value if known is None else _joined((known, value))
        elif isinstance(target, ast.Tuple):
            for part in target.elts:
                self.bind(part, Unknown)

    def store(self, node: ast.stmt, target: ast.expr, value: Kind) -> None:
        """Something is written into a field or an element."""
        into = self.kind(target)
        width = self.width(target)
        if width:
            self.follower.stores.setdefault(node, set()).add(width)
        if value not in (int, Unknown):
            self.refuse(
                target,
                f"{_words(value)} is stored in {ast.unparse(target)}",
                "integers; a record is filled field by field",
            )
        if into not in (int, Unknown):
            self.refuse(
                target,
                f"{ast.unparse(target)} is {_words(into)}, and is assigned as a whole",
                "assigning its fields or elements one by one",
            )

    def width(self, target: ast.expr) -> str:
        """The width of the field or array into which something is written; "" if it is not known."""
        if isinstance(target, ast.Subscript):
            whole = self.kind(target.value)
            return whole.width if isinstance(whole, Array) else ""
        owner = self.kind(target.value) if isinstance(target, ast.Attribute) else Unknown
        if isinstance(target, ast.Attribute) and is_record(owner):
            members = layout_of(typing.cast("type", owner), self.follower.sizes).members
            return next((m.element for m in members if m.name == target.attr and isinstance(m.element, str)), "")
        return ""

    # --- expressions ---

    def kind(self, node: ast.expr) -> Kind:
        """What an expression is."""
        match node:
            case ast.Name():
                return self.name(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                self.integer(node.slice)
                return self.element(node.value)
            case ast.Call():
                return self.called(node)
            case ast.IfExp():
                self.kind(node.test)
                return _joined((self.kind(node.body), self.kind(node.orelse)))
            case ast.BinOp():
                self.integer(node.left)
                self.integer(node.right)
                return int
            case ast.Compare():
                for part in (node.left, *node.comparators):
                    self.integer(part)
                return int
            case ast.Tuple():
                return Array(_joined([self.kind(part) for part in node.elts]))
            case ast.Constant():
                return Unknown if node.value is None else int
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.kind(child)
        return int

    def name(self, node: ast.Name) -> Kind:
        if node.id in self.one.tables:
            return Array(Array(int) if isinstance(self.one.tables[node.id][0], tuple) else int)
        return self.names.get(node.id, Unknown)

    def attribute(self, node: ast.Attribute) -> Kind:
        owner = self.kind(node.value)
        if owner is Unknown:
            self.follower.unknown += 1
            return Unknown
        self.follower.known += 1
        there = _fields(owner)
        if node.attr not in there:
            self.misspelt(node, f"{ast.unparse(node.value)} is {_words(owner)}, and", node.attr, there)
        found = there[node.attr]
        if isinstance(found, Array) and found.of is int and is_record(owner):
            members = layout_of(typing.cast("type", owner), self.follower.sizes).members
            return Array(int, next(m.element for m in members if m.name == node.attr and isinstance(m.element, str)))
        return found

    def misspelt(self, node: ast.AST, owner: str, name: str, there: Iterable[str]) -> NoReturn:
        there = list(there)
        close = near(name, there)
        guess = f" ({close})" if close.startswith("did") else ""
        shown = ", ".join(there[:_SHOWN_FIELDS]) + (", ..." if len(there) > _SHOWN_FIELDS else "")
        self.refuse(node, f"{owner} has no field {name}{guess}", shown or "fields of records")

    def element(self, node: ast.expr) -> Kind:
        """What is in an array."""
        whole = self.kind(node)
        if isinstance(whole, Array):
            return whole.of
        if whole is int or is_record(whole):
            self.refuse(
                node, f"{ast.unparse(node)} is {_words(whole)}, and has no elements", "arrays, tables and ranges"
            )
        return Unknown

    def integer(self, node: ast.expr) -> None:
        found = self.kind(node)
        if found not in (int, Unknown):
            self.refuse(
                node, f"{ast.unparse(node)} is {_words(found)} where an integer is wanted", "integers and booleans"
            )

    def called(self, node: ast.Call) -> Kind:
        name = ast.unparse(node.func)
        if name in self.one.functions:
            return self.follower.call(self.one.functions[name], tuple(self.kind(a) for a in node.args))
        if name == REPLACE:
            return self.replaced(node)
        if name in OF_RECORDS.values():
            return self.of_records(node)
        if name in self.one.classes:
            for argument in node.args:
                self.kind(argument)
            return self.one.classes[name]
        if name == "len":
            self.element(node.args[0])
        elif name in _INTEGERS or name == "range":
            for argument in node.args:
                self.integer(argument)
        return Array(int) if name == "range" else int

    def of_records(self, node: ast.Call) -> Kind:
        """Two records are compared as wholes, or exchanged, which has no value."""
        legal = "two records of one class whose fields are all integers of one byte with a sign"
        found = {self.kind(argument) for argument in node.args}
        for kind in found - {Unknown}:
            if not is_record(kind):
                self.refuse(node, f"{_words(kind)} is taken for a record", legal)
            members = layout_of(typing.cast("type", kind), self.follower.sizes).members
            other = next((m.name for m in members if m.length is not None or m.element != "i1"), None)
            if other is not None:
                self.refuse(node, f"{_words(kind)} has a field {other}", legal)
        if len(found) > 1:
            self.refuse(node, " and ".join(sorted(map(_words, found))), legal)
        return Unknown if ast.unparse(node.func) == OF_RECORDS[exchange] else int

    def replaced(self, node: ast.Call) -> Kind:
        owner = self.kind(node.args[0])
        field = node.args[1]
        self.kind(node.args[2])
        if owner is not Unknown and isinstance(field, ast.Constant) and field.value not in _fields(owner):
            self.misspelt(node, _words(owner), str(field.value), _fields(owner))
        return owner

    def refuse(self, node: ast.AST, what: str, legal: str) -> NoReturn:
        refuse(self.one, node, what, legal)


def _fields(kind: Kind) -> Mapping[str, Kind]:
    """The fields of a record or a NamedTuple, and what they are."""
    if isinstance(kind, Array):
        return {}
    if is_record(kind):
        found = {}
        for field in fields(kind):
            of: Kind = class_of(kind, field)
            of = of if is_record(of) else int
            found[field.name] = of if field.metadata.get("length") is None else Array(of)
        return found
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = typing.get_type_hints(kind)
        return {name: int if _is_integer(hints.get(name)) else Unknown for name in kind._fields}
    return {}


def _is_integer(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, int)


def _joined(kinds: Iterable[Kind]) -> Kind:
    found = set(kinds)
    return found.pop() if len(found) == 1 else Unknown


def _words(kind: Kind) -> str:
    if isinstance(kind, Array):
        return "an array"
    return "an integer" if kind is int else f"a {kind.__name__}"


def _always_returns(body: list[ast.stmt]) -> bool:
    """Whether no way leads past the end."""
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _always_returns(last.body) and _always_returns(last.orelse)
    endless = isinstance(last, ast.While) and isinstance(last.test, ast.Constant) and bool(last.test.value)
    return (isinstance(last, ast.Return) and last.value is not None) or endless
