"""How instructions are emitted: as Numba does, less what serves references, exceptions of Python and debuggers.

Records, and arrays in them, never own memory; the only exception is an IndexError; nobody debugs compiled models. What
Numba emits for the rest is every second instruction, which LLVM removes again: a copy of each variable before it is
overwritten and zeros after its last use, to release what it held; ten instructions on what may have ended a call; the
seven numbers that make an array, written down and read again for each element.
"""

from __future__ import annotations

import math
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import callconv, cgutils, cpu, lowering
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.np import arrayobj

from zombieproof.checker.engine.internals.remembering import remembering

_OK: Final = callconv.RETCODE_OK


class _Convention(callconv.CPUCallConv):  # type: ignore[misc, unused-ignore]  # Numba is untyped
    """Numba's calling convention, where only an exception of a model or a kernel ends a call before its time.

    The place for the exception is passed on from caller to callee, so that nobody has to hand it back.
    """

    def call_function(self, builder: Any, callee: Any, resty: Any, argtys: Any, args: Any, attrs: Any = None) -> Any:
        """Call a function; return how it ended, of which only whether it failed is ever asked, and what it returned."""
        result = slot(builder, self.get_return_type(resty).pointee)
        exception = self._get_excinfo_argument(builder.function)
        arguments = self._get_arg_packer(argtys).as_arguments(builder, args)
        code = builder.call(callee, [result, exception, *arguments], attrs=attrs or ())
        failed = builder.icmp_signed("!=", code, _OK)
        status = callconv.Status(code, None, None, failed, None, None, None, exception)
        returned = builder.load(result)
        if isinstance(resty, types.Boolean):
            return status, builder.icmp_unsigned("!=", returned, returned.type(0))
        return status, self.context.get_returned_value(builder, resty, returned)

    def return_native_none(self, builder: Any) -> None:
        """Refuse: None beside other values is what lowering refuses, and `call_function` would take it for an error."""
        raise NotImplementedError

    def return_status_propagate(self, builder: Any, status: Any) -> None:
        """End as a callee ended."""
        self._return_errcode_raw(builder, status.code)

    def return_user_exc(
        self, builder: Any, exc: Any, exc_args: Any = None, loc: Any = None, func_name: Any = None
    ) -> None:
        """End with an exception; nothing in compiled code catches it."""
        self.set_static_user_exc(builder, exc, exc_args=exc_args, loc=loc, func_name=func_name)
        self._return_errcode_raw(builder, callconv.RETCODE_USEREXC)


class _Context(cpu.CPUContext):  # type: ignore[misc, unused-ignore]  # Numba is untyped
    """Numba's context of this processor, with our calling convention."""

    @property
    def call_conv(self) -> _Convention:
        return _Convention(self)


class _Lower(lowering.Lower):  # type: ignore[misc, unused-ignore]  # Numba is untyped
    """Emits the instructions of one function."""

    def __init__(self, context: Any, *rest: Any, **named: Any) -> None:
        super().__init__(context, *rest, **named)
        self.context.__class__ = _Context  # it is a copy of Numba's, made for this function
        self.context.typing_context = remembering(self.context.typing_context)

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        """Emit what Python calls, for tests that call a kernel: it hands an exception on to Python as Numba does."""
        self.context.__class__ = cpu.CPUContext
        super().create_cpython_wrapper(release_gil)

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """Emit the right side of an assignment. What is called is known by its name, not by a pointer."""
        if isinstance(ty, types.Dispatcher):
            return self.context.get_dummy_value()
        return super().lower_assign(ty, inst)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Emit an expression. An array in a record is told by its address; the rest of what Numba tells is constant."""
        if expr.op == "getattr":
            record = self.typeof(expr.value.name)
            if isinstance(record, types.Record) and isinstance(record.typeof(expr.attr), types.NestedArray):
                return self._array_in(record, expr.attr, self.loadvar(expr.value.name))
        return super().lower_expr(resty, expr)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Emit an operation of two values; Numba looks first for one that is only for constants, as for exponents."""
        builder, cast = self.builder, self.context.cast
        kinds = self.fndesc.calltypes[expr].args
        operands = [
            cast(builder, self.loadvar(each.name), self.typeof(each.name), kind)
            for each, kind in zip((expr.lhs, expr.rhs), kinds, strict=True)
        ]
        operator = self.context.typing_context.resolve_value_type(op)
        signature = self.context.typing_context.resolve_function_type(operator, kinds, {})
        result = self.context.get_function(operator, signature)(builder, operands)
        return cast(builder, result, signature.return_type, resty)

    def _array_in(self, record: Any, name: str, address: Any) -> Any:
        kind = record.typeof(name)
        model = self.context.data_model_manager[kind]
        told = {
            "nitems": math.prod(kind.shape),
            "itemsize": kind.size,
            "shape": kind.shape,
            "strides": kind.strides,
            "data": None,
            "meminfo": None,
            "parent": None,
        }
        whole = model.get_value_type()
        fields = [ir.Constant(each, told[field]) for field, each in zip(model._fields, whole.elements, strict=True)]
        element = self.context.get_data_type(kind.dtype)
        data = cgutils.get_record_member(self.builder, address, record.offset(name), element)
        return self.builder.insert_value(ir.Constant(whole, fields), data, model.get_field_position("data"))

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Emit the reading of an element; Numba emits the rest, a part of an array."""
        kind, _ = signature.args
        place = self._place_of(value, index, signature)
        if place is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        element = arrayobj.load_item(self.context, self.builder, kind, place)
        return self.context.cast(self.builder, element, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> None:
        """Emit the writing of an element; Numba emits the rest."""
        kind, _, given = signature.args
        place = self._place_of(target_var, index_var, signature)
        if place is None:
            super().lower_setitem(target_var, index_var, value_var, signature)
            return
        value = self.context.cast(self.builder, self.loadvar(value_var.name), self.typeof(value_var.name), given)
        value = self.context.cast(self.builder, value, given, kind.dtype)
        arrayobj.store_item(self.context, self.builder, kind, value, place)

    def _place_of(self, array: Any, index: Any, signature: Any) -> Any:
        """Return the address of an element, or None if the index is no integer for each dimension."""
        kind, index_kind = signature.args[:2]
        kinds = tuple(index_kind) if isinstance(index_kind, types.BaseTuple) else (index_kind,)
        are_integers = all(isinstance(each, types.Integer) for each in kinds)
        if not (isinstance(kind, types.Array) and are_integers and len(kinds) == kind.ndim):
            return None
        builder, context = self.builder, self.context
        told, model = self.loadvar(array.name), context.data_model_manager[kind]
        given = context.cast(builder, self.loadvar(index.name), self.typeof(index.name), index_kind)
        indices = cgutils.unpack_tuple(builder, given) if isinstance(index_kind, types.BaseTuple) else [given]
        data, shape, strides = (
            builder.extract_value(told, model.get_field_position(name)) for name in ("data", "shape", "strides")
        )
        lengths, strides = cgutils.unpack_tuple(builder, shape), cgutils.unpack_tuple(builder, strides)
        places = [
            arrayobj.fix_integer_index(context, builder, *each) for each in zip(kinds, indices, lengths, strict=True)
        ]
        if context.enable_boundscheck:
            for place, length in zip(places, lengths, strict=True):
                with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", place, length)):
                    self.call_conv.return_user_exc(builder, IndexError, ("index is out of bounds",))
        return cgutils.get_item_pointer2(context, builder, data, lengths, strides, kind.layout, places)

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Return a place for a variable; nothing is read from it before something is written."""
        del datamodel
        return slot(self.builder, lltype, name)

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        """Store a value in a variable, whatever it held."""
        del argidx
        self._alloca_var(name, self.typeof(name))
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))


def slot(builder: Any, kind: Any, name: str = "") -> Any:
    """Return a place on the stack, made once where the function begins."""
    with builder.goto_entry_block():
        return builder.alloca(kind, name=name)


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[misc, unused-ignore]  # untyped decorator
class Emission(NativeLowering):  # type: ignore[misc, unused-ignore]  # Numba is untyped
    """Numba's pass that emits a function, with our class."""

    _name = "zombieproof_emission"

    @property
    def lowering_class(self) -> type[_Lower]:
        """Return what emits."""
        return _Lower
