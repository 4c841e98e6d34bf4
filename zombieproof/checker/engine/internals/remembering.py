"""What Numba found out about a call is remembered, while one entry point is compiled."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

from numba.core import typing


class _Typing(typing.Context):  # type: ignore[misc, unused-ignore]  # Numba is untyped
    """Numba's context of types; it remembers what a call gives for arguments of some kinds, until it is told to forget.

    Numba asks each time all that is known by a name, a few dozen for an operator, and for each call several times.
    """

    remembered: ClassVar[dict[Any, Any]] = {}

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        if kws or isinstance(func, str):  # what Numba calls by a word takes values too, which may have no hash
            return super().resolve_function_type(func, args, kws)
        call = func, args
        found = self.remembered.get(call)  # another thread may forget it at any time
        if found is None:
            found = self.remembered[call] = super().resolve_function_type(func, args, kws)
        return found


def remembering(context: Any) -> Any:
    """Return a copy of Numba's context of types that remembers, until `forget` is called."""
    mine = copy.copy(context)
    mine.__class__ = _Typing
    return mine


def forget() -> None:
    """Forget what calls gave."""
    _Typing.remembered.clear()
