"""How Numba compiles a model: every function is translated by itself, but optimised and turned into machine code once, together.

Numba optimises and emits each function with everything it calls, and then again inside each of its callers. In a model of hundreds of
small functions, called five or six deep, most of the time of compilation would be spent on code that is thrown away.
Here a lowered function is a `Part` that only holds its LLVM module; the entry point is a `Whole` that links the parts it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numba
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary

_COMMON: Final[dict[str, Any]] = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "no_cfunc_wrapper": True,
    "_nrt": False,  # records and the arrays in them never own memory
}
# Closures, context managers, exceptions, array expressions and literal loops are refused by lowering or not used in the kernels.
_IDLE_PASSES: Final = frozenset(
    {
        "WithLifting",
        "InlineClosureLikes",
        "RewriteSemanticConstants",
        "DeadBranchPrune",
        "RewriteDynamicRaises",
        "MakeFunctionToJitFunction",
        "InlineInlinables",
        "FindLiterallyCalls",
        "LiteralUnroll",
        "LiteralPropagationSubPipelinePass",
        "InlineOverloads",
        "NopythonRewrites",
        "DumpParforDiagnostics",
    }
)


class _NoEnvironments:
    """Stands for the code generator of a part, which is asked only to note the environment of a function for Python."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Do nothing: environments serve exceptions and Python objects, and parts have neither."""


class Part(JITCodeLibrary):  # type: ignore[misc, unused-ignore]  # untyped base
    """The code of one function that is only reached from compiled code."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Take the module as it is."""
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        """Be done: what links this part optimises it."""
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        del name
        return 0

    @property
    def codegen(self) -> Any:
        """Return what takes the place of the code generator after lowering."""
        return _NoEnvironments


class Whole(JITCodeLibrary):  # type: ignore[misc, unused-ignore]  # untyped base
    """The code of an entry point, with all parts it needs."""

    def finalize(self) -> None:
        """Link the parts that parts need, then go on as Numba does."""
        direct = self._linking_libraries
        self._linking_libraries = []
        for library in reversed(list(_callees_first(direct, set()))):
            # Callers first: LLVM does not link a part to which nothing refers yet.
            super().add_linking_library(library)
        super().finalize()


def _callees_first(libraries: list[Any], seen: set[Any]) -> Iterator[Any]:
    for library in libraries:
        if library not in seen:
            seen.add(library)
            if isinstance(library, Part):
                yield from _callees_first(library._linking_libraries, seen)
            yield library


class _PartCompiler(compiler.Compiler):  # type: ignore[misc, unused-ignore]  # untyped base
    """Numba's pipeline, with a `Part` for the result."""

    library: type[JITCodeLibrary] = Part

    def define_pipelines(self) -> list[Any]:
        """Return Numba's pipeline without the passes that have nothing to do in lowered functions."""
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [step for step in passes.passes if step[0].__name__ not in _IDLE_PASSES]
        passes.finalize()
        return [passes]

    def compile_extra(self, func: Any) -> Any:
        self.state.library = self.library(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)


class _WholeCompiler(_PartCompiler):
    library = Whole


def part(function: Any) -> Any:
    """Return a dispatcher for a function that only compiled code calls."""
    return numba.jit(**_COMMON, no_cpython_wrapper=True, pipeline_class=_PartCompiler)(function)


def entry(function: Any, *, cache: bool) -> Any:
    """Return a dispatcher that Python calls."""
    return numba.jit(**_COMMON, cache=cache, pipeline_class=_WholeCompiler)(function)
