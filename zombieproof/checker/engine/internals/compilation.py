"""How Numba compiles a model: functions are translated one by one, but optimised and turned into machine code together.

Numba optimises and emits each function with everything that it calls, and then again inside each of its callers. In a
model of hundreds of small functions, called five or six deep, most of the time would go into code that is thrown
away. Here a lowered function is a `Part` that only holds its LLVM module; an entry point is a `Whole` that links the
parts it needs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import llvmlite.binding as llvm
import numba
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.typed_passes import NativeLowering

from zombieproof.checker.engine.internals.emission import Emission
from zombieproof.checker.engine.internals.native import Code, spread, spreading_to
from zombieproof.checker.engine.internals.remembering import forget, remembering

_COMMON: Final[dict[str, Any]] = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "_nrt": False,  # records and the arrays in them never own memory
}
_INLINE_THRESHOLD: Final = 2_000
"""What a call that LLVM inlines may cost, in its own measure: more makes exploring faster, and compiling slower."""
_USUAL_INLINE_THRESHOLD: Final = 225
# Closures, context managers, exceptions, array expressions, literal loops: lowering refuses them, kernels lack them.
# And the last three: what was not supported was refused before, nothing is released, nobody reads the types.
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
        "NoPythonSupportedFeatureValidation",
        "IRLegalization",
        "AnnotateTypes",
    }
)


class _NoEnvironments:
    """Stands for the code generator of a part, which is asked only to note the environment of a function for Python."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Do nothing: environments serve Python objects, and parts have none."""


class Part(JITCodeLibrary):  # type: ignore[misc, unused-ignore]  # Numba is untyped
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

    def module(self) -> llvm.ModuleRef:
        """Return a copy of its module, to be linked into another one."""
        return self._final_module.clone()

    def needs(self) -> list[Any]:
        """Return the libraries that this part calls."""
        return list(self._linking_libraries)


class Whole(JITCodeLibrary):  # type: ignore[misc, unused-ignore]  # Numba is untyped
    """The code of an entry point, with all parts it needs."""

    def finalize(self) -> None:
        """Link the parts that parts need, then go on as Numba does."""
        self._entries = {one.name for one in self._final_module.functions if not one.is_declaration}
        libraries = list(_all_needed(list(self._linking_libraries), set()))
        parts = [library for library in libraries if isinstance(library, Part)]
        self._linking_libraries.clear()
        for library in libraries:
            if not isinstance(library, Part):
                self.add_linking_library(library)
        if parts:
            self._final_module.link_in(_linked([part.module() for part in parts]))
        super().finalize()

    def _optimize_final_module(self) -> None:
        """Optimise, when it is told that nobody else calls a part: then LLVM inlines what is called once or is small.

        Otherwise it keeps each part as others might link it, and most calls of a step stay calls. Numba inlines in a
        pass of its own before, to find what counts references; here nothing does, and it takes a fifth of the time.
        """
        for one in self._final_module.functions:
            if not one.is_declaration and one.name not in self._entries:
                one.linkage = "internal"
        with _inlining_up_to(_INLINE_THRESHOLD):
            passes, builder = self._codegen._module_pass_manager()  # noqa: SLF001  # as Numba's own does, at the end
        passes.run(self._final_module, builder)


@contextlib.contextmanager
def _inlining_up_to(threshold: int) -> Iterator[None]:
    """LLVM inlines what costs at most so much, also where it believes that a call is rare.

    Untold it believes that of most of what a step does: a call stands behind several conditions, of which each is taken
    to hold as often as not. A tuning option of the passes would leave such calls as they are; this one does not, but is
    an option of the whole process, read where passes are made. So it is set back then, under Numba's compiler lock.
    What others compile later is inlined up to LLVM's usual measure, in rare calls too: unset it cannot be.
    """
    llvm.set_option("zombieproof", f"--inline-threshold={threshold}")
    try:
        yield
    finally:
        llvm.set_option("zombieproof", f"--inline-threshold={_USUAL_INLINE_THRESHOLD}")


def _all_needed(libraries: list[Any], seen: set[Any]) -> Iterator[Any]:
    for library in libraries:
        if library not in seen:
            seen.add(library)
            if isinstance(library, Part):
                yield from _all_needed(library.needs(), seen)
            yield library


def _linked(modules: list[llvm.ModuleRef]) -> llvm.ModuleRef:
    """Link modules, two and two: LLVM goes through all that a module holds already whenever it links one more."""
    while len(modules) > 1:
        for one, other in zip(modules[::2], modules[1::2], strict=False):
            one.link_in(other)
        modules = modules[::2]
    return modules[0]


class _Flags(compiler.Flags):  # type: ignore[misc, unused-ignore]  # Numba is untyped
    """Numba's flags, which are quick to compare: what implements an operation is looked up by them, again and again."""

    __slots__ = ()

    def __hash__(self) -> int:
        """Numba's own is over the names of the options, which are those of the class."""
        return _HASH_OF_FLAGS

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, compiler.Flags):
            return NotImplemented
        mine, others = self._values, other._values
        return mine == others or all(getattr(self, name) == getattr(other, name) for name in mine.keys() | others)


_HASH_OF_FLAGS: Final = hash(compiler.Flags())


class _Arguments(tuple):  # type: ignore[type-arg]
    """The kinds of a function's arguments. Numba has them written out before each pass, in case that somebody asks."""

    __slots__ = ()

    def __str__(self) -> str:
        return "(...)"


class _PartCompiler(compiler.Compiler):  # type: ignore[misc, unused-ignore]  # Numba is untyped
    """Numba's pipeline without the passes that have nothing to do, and with a `Part` for the result."""

    library: type[JITCodeLibrary] = Part

    def define_pipelines(self) -> list[Any]:
        """Return the one pipeline."""
        pipeline = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        needed = [step for step in pipeline.passes if step[0].__name__ not in _IDLE_PASSES]
        pipeline.passes = [(Emission, why) if step is NativeLowering else (step, why) for step, why in needed]
        pipeline.finalize()
        return [pipeline]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function into a library of our own."""
        self.state.library = self.library(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        self.state.flags = _Flags(self.state.flags)
        self.state.args = _Arguments(self.state.args)
        self.state.typingctx = remembering(self.state.typingctx)
        return super().compile_extra(func)


class _WholeCompiler(_PartCompiler):
    library = Whole


def part(function: Callable[..., Any], *, checked: bool) -> Any:
    """Return a dispatcher for a function that only compiled code calls.

    `checked`: an index outside its array raises IndexError, instead of reading or writing something else.
    """
    options = {**_COMMON, "boundscheck": checked, "no_cpython_wrapper": True}
    return numba.jit(**options, pipeline_class=_PartCompiler)(function)


def entry(function: Callable[..., Any], **options: Any) -> Any:
    """Return a dispatcher with all parts that a function needs; `options` are further ones of Numba."""
    return numba.jit(**_COMMON, **options, boundscheck=False, pipeline_class=_WholeCompiler)(function)


def machine_code(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Code:
    """Compile an entry point for arguments; it returns an integer or nothing.

    Raises:
        numba.core.errors.NumbaError: it cannot be compiled.
    """
    dispatcher = entry(function, no_cpython_wrapper=True)
    try:
        dispatcher.compile(tuple(numba.typeof(argument) for argument in arguments))
    finally:
        forget()
    [made] = dispatcher.overloads.values()
    gives = numba.types.unliteral(made.signature.return_type)
    assert gives in (numba.int64, numba.none)
    library = made.library
    module = library._final_module  # noqa: SLF001  # Numba tells nobody else what a library calls
    others = [one.name for one in (*module.functions, *module.global_variables) if one.is_declaration]
    return Code(
        made.fndesc.llvm_func_name,
        gives == numba.int64,
        tuple(sorted(name for name in others if not name.startswith("llvm."))),
        library._get_compiled_object(),  # noqa: SLF001  # as Numba's own cache does
        spreading_to(made.fndesc.llvm_func_name, len(spread(arguments)[1])),
    )
