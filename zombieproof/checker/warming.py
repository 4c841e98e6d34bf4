"""Compiling models in another process, which leaves them in the cache; where nothing is kept, none is begun.

Numba compiles one thing at a time in a process: models that come later are compiled *beside* this one, so that they are
there when they are asked for. And it holds hundreds of MiB, which the system does not get back: where memory is limited
a model is compiled *apart*, before it is explored.
"""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Final

from zombieproof.checker.request import Request
from zombieproof.checker.scenario import Scenario

if TYPE_CHECKING:
    from zombieproof.checker.engine.explore import Stop
    from zombieproof.checker.engine.model import Model

_LOOK_SECONDS: Final = 0.1
_APART: Final = (
    "import pickle, sys; from zombieproof.checker.warming import compile_asked; compile_asked(sys.stdin.buffer)"
)
_PROGRAM: Final = "import sys; from zombieproof.checker.warming import compile_all; compile_all(sys.argv[1:])"


@contextlib.contextmanager
def compiling_beside(scenarios: Sequence[Scenario], cores: int) -> Iterator[None]:
    """Compile the models of these scenarios beside, but for that of the first; what is not done at the end is ended."""
    from zombieproof.checker.engine.compiled import is_keeping  # noqa: PLC0415  # Numba is loaded when it is needed

    others = [*firsts_of(scenarios)[1:], *firsts_of([each for each in scenarios if each.leads_to])]
    if cores < 2 or not is_keeping() or not others:
        yield
        return
    with _process(_PROGRAM, *(each.name for each in others)):
        yield


@contextlib.contextmanager
def _process(program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Begin a process that compiles, and end it; what it cannot compile is told by who asks for it."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(BrokenPipeError):  # it has ended before it has read all
            process.communicate()


def firsts_of(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """For each model the first scenario that has it, in their order."""
    firsts: dict[str, Scenario] = {}
    for scenario in scenarios:
        firsts.setdefault(scenario.model(scenario.bounds).name, scenario)
    return list(firsts.values())


def compile_all(names: Sequence[str]) -> None:
    """Have the models of registered scenarios in the cache, one after the other."""
    from zombieproof.checker.engine.explore import explore  # noqa: PLC0415  # the same
    from zombieproof.checker.scenarios import SCENARIOS  # noqa: PLC0415  # the same

    for name in names:
        scenario = SCENARIOS[name]
        model, setup = scenario.model(scenario.bounds), scenario.setup(scenario.own_rules(), scenario.bounds)
        # What leads to what is looked for in a whole graph, by functions of their own; those graphs are small.
        explore(model, setup, promises=scenario.leads_to, max_states=None if scenario.leads_to else 1)


def compile_apart(model: Model, scenario: Scenario, request: Request, stop: Stop | None) -> float:
    """Have what a registered scenario explores in the cache, compiled by another process; returns the seconds."""
    from zombieproof.checker.engine.cache import can_keep  # noqa: PLC0415  # the same
    from zombieproof.checker.engine.compiled import is_keeping, is_kept  # noqa: PLC0415  # the same
    from zombieproof.checker.scenarios import SCENARIOS  # noqa: PLC0415  # the same

    if SCENARIOS.get(scenario.name) is not scenario or is_kept(model) or not (is_keeping() and can_keep()):
        return 0.0
    began = time.perf_counter()
    bounds = None if request.bounds is None else dict(request.bounds)
    asked = replace(request, bounds=bounds, workers=1, memory_bytes=None, keeping=None, spill=None)
    with _process(_APART) as apart:
        assert apart.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the same
            apart.stdin.write(pickle.dumps((scenario.name, asked)))
            apart.stdin.flush()
        while apart.poll() is None and not (stop is not None and stop.is_set()):
            with contextlib.suppress(subprocess.TimeoutExpired):
                apart.wait(_LOOK_SECONDS)
    return time.perf_counter() - began


def compile_asked(asked: IO[bytes]) -> None:
    """Have in the cache what a scenario explores under the request that is read, both pickled; no state is judged."""
    from zombieproof.checker.checking import check  # noqa: PLC0415  # it is what asks for this
    from zombieproof.checker.engine.compiled import compiled  # noqa: PLC0415  # the same
    from zombieproof.checker.engine.storage import Memory, Table  # noqa: PLC0415  # the same
    from zombieproof.checker.scenarios import SCENARIOS  # noqa: PLC0415  # the same

    name, request = pickle.load(asked)  # noqa: S301  # of the process that began this one
    at_once = threading.Event()
    at_once.set()
    checked = check(SCENARIOS[name], request, stop=at_once)
    Table(Memory()).grow(compiled(checked.reduced.smaller if checked.reduced else checked.model).rehash)
