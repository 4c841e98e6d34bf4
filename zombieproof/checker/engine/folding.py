"""What a model's layout makes constant in its functions: lengths of lists, and what is never reached because of them.

A part that a model does not have is a list of no elements. A function that asks whether there are any is compiled
without what it would do then, and what only that calls is not compiled at all.
"""

from __future__ import annotations

import ast
import dataclasses
import operator
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

from zombieproof.checker.engine.layout import Sizes, class_of, is_record, layout_of

_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[int, int], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Lengths:
    """How long the lists are that a function reaches from its parameters, where their classes say so.

    `sizes` is that of the model; None: nothing is known. A parameter that is assigned anew is not followed.
    """

    def __init__(self, function: types.FunctionType, node: ast.FunctionDef, sizes: Sizes | None) -> None:
        self._sizes = sizes
        self._records: dict[str, type] = {}
        if sizes is None:
            return
        stored = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
        parameters = {one.arg: one.annotation for one in node.args.args if one.annotation is not None}
        for name, annotation in parameters.items():
            found = _named(annotation, function)
            if name not in stored and isinstance(found, type) and is_record(found):
                self._records[name] = found

    def of(self, node: ast.expr) -> int | None:
        """The length of a list, or None if it is not known."""
        if self._sizes is None or not isinstance(node, ast.Attribute):
            return None
        owner = self._record(node.value)
        if owner is None:
            return None
        return next((m.length for m in layout_of(owner, self._sizes).members if m.name == node.attr), None)

    def _record(self, node: ast.expr) -> type | None:
        """The class of a record, or of the elements of a list of records."""
        if isinstance(node, ast.Name):
            return self._records.get(node.id)
        whole = node.value if isinstance(node, ast.Subscript) else node
        owner = self._record(whole.value) if isinstance(whole, ast.Attribute) else None
        if owner is None or not isinstance(whole, ast.Attribute):
            return None
        field = next((one for one in dataclasses.fields(owner) if one.name == whole.attr), None)
        found = class_of(owner, field) if field is not None else None
        return found if is_record(found) else None


def _named(annotation: ast.expr, function: types.FunctionType) -> Any:
    """What an annotation stands for; None where that is more than a name."""
    name = ast.unparse(annotation).strip("'\"")
    return function.__globals__.get(name)


def truth(node: ast.expr) -> bool | None:
    """Whether a condition always or never holds, or None."""
    return bool(node.value) if isinstance(node, ast.Constant) and node.value is not None else None


def compared(node: ast.Compare) -> ast.expr:
    """A comparison of two constants as what it gives; others as they are."""
    if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARISONS:
        return node
    one, other = node.left, node.comparators[0]
    if not (isinstance(one, ast.Constant) and isinstance(other, ast.Constant)):
        return node
    if not (isinstance(one.value, int) and isinstance(other.value, int)):
        return node
    return ast.Constant(_COMPARISONS[type(node.ops[0])](one.value, other.value))


def is_empty(node: ast.expr) -> bool:
    """Whether a loop over this is never entered: a range of nothing."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "range"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value == 0
    )


def ends(statements: list[ast.stmt]) -> bool:
    """Whether what comes behind these statements is never reached."""
    return bool(statements) and isinstance(statements[-1], ast.Return | ast.Continue | ast.Break)


def either(node: ast.BoolOp, rewritten: Callable[[ast.expr], ast.expr]) -> ast.expr:
    """`and` or `or` of what is rewritten one by one, as long as something depends on it."""
    decides = isinstance(node.op, ast.Or)
    values: list[ast.expr] = []
    for value in node.values:
        new = rewritten(value)
        known = truth(new)
        if known is None:
            values.append(new)
        elif known is decides:
            values.append(ast.Constant(decides))
            break
    if not values:
        return ast.Constant(not decides)
    return values[0] if len(values) == 1 else ast.BoolOp(node.op, values)
