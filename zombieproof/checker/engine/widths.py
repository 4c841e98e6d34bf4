"""Values that leave the width of their field: compiled code would cut them to fit, and explore another model.

In a model of one's own each value that is stored goes through one of these functions. A value that does not fit asks a
table for a row that it does not have, which compiled code refuses like every index outside its array. The models of
this program bound their values themselves, and pay for nothing.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Mapping
from typing import Final

from zombieproof.checker.engine.lowering import Lowering
from zombieproof.checker.engine.model import Model
from zombieproof.checker.engine.rewriting import Lowered, converted
from zombieproof.checker.engine.sources import INT64, plain_function

ONLY: Final = (0,)
"""A table with one row."""


def fits_i1(value: int) -> int:
    """Return the value, which has to be -128 to 127."""
    return value + ONLY[abs((value + 128) >> 8)]


def fits_u1(value: int) -> int:
    """Return the value, which has to be 0 to 255."""
    return value + ONLY[abs(value >> 8)]


def fits_i2(value: int) -> int:
    """Return the value, which has to be -32,768 to 32,767."""
    return value + ONLY[abs((value + 32768) >> 16)]


def fits_u2(value: int) -> int:
    """Return the value, which has to be 0 to 65,535."""
    return value + ONLY[abs(value >> 16)]


def fits_i4(value: int) -> int:
    """Return the value, which has to be a signed integer of 32 bits."""
    return value + ONLY[min(abs((value + 2147483648) >> 32), 1)]


def fits_u4(value: int) -> int:
    """Return the value, which has to be an unsigned integer of 32 bits."""
    return value + ONLY[min(abs(value >> 32), 1)]


FITS: Final[Mapping[str, types.FunctionType]] = {
    width: plain_function(function)
    for width, function in (
        ("i1", fits_i1),
        ("u1", fits_u1),
        ("i2", fits_i2),
        ("u2", fits_u2),
        ("i4", fits_i4),
        ("u4", fits_u4),
    )
}
"""Width -> what a value stored there goes through; 64 bits hold whatever compiled code computes."""


def is_ours(model: Model) -> bool:
    """Whether a model is one of this program's."""
    return plain_function(model.step).__module__.startswith("zombieproof.")


def guard(lowering: Lowering, stores: Mapping[ast.stmt, set[str]]) -> None:
    """Let what is stored by these statements, into fields of these widths, go through the check of the width."""
    for one in list(lowering.lowered.values()):
        guarded = _Guarded(one, stores)
        guarded.visit(one.tree)
        for width in guarded.used:
            one.functions[_name(width)] = FITS[width]
            lowering.read(FITS[width])
        ast.fix_missing_locations(one.tree)


def _name(width: str) -> str:
    return f"__fits_{width}"


class _Guarded(ast.NodeTransformer):
    def __init__(self, one: Lowered, stores: Mapping[ast.stmt, set[str]]) -> None:
        self.one, self.stores = one, stores
        self.used: set[str] = set()

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        return ast.copy_location(ast.Assign(node.targets, self.checked(node, node.value)), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if not self.widths(node):
            return node
        now = copy.deepcopy(node.target)
        now.ctx = ast.Load()
        changed = ast.copy_location(ast.BinOp(now, node.op, node.value), node)
        return ast.copy_location(ast.Assign([node.target], self.checked(node, changed)), node)

    def widths(self, node: ast.stmt) -> set[str]:
        return self.stores.get(node, set()) & set(FITS)

    def checked(self, node: ast.stmt, value: ast.expr) -> ast.expr:
        widths = self.widths(node)
        if not widths or len(self.stores[node]) > len(widths):
            return value
        # One function may be called with records of several widths: only what fits into none of them is a fault.
        width = max(widths, key=list(FITS).index)
        self.used.add(width)
        call = ast.Call(ast.Name(_name(width), ast.Load()), [converted(value, INT64)], [])
        return ast.copy_location(call, value)
