"""What is wrong with a model, found before it is compiled; and whose fault an error is."""

from __future__ import annotations

from collections.abc import Mapping

from zombieproof.checker import own
from zombieproof.checker.engine.compiled import compiled
from zombieproof.checker.engine.hosts import ModelFault
from zombieproof.checker.engine.layout import LayoutError
from zombieproof.checker.engine.model import Malformed, Model
from zombieproof.checker.engine.sources import LoweringError, place_of
from zombieproof.checker.scenario import Scenario
from zombieproof.model.rules import Rules


def examine(scenario: Scenario, rules: Rules, bounds: Mapping[str, int]) -> None:
    """Read all functions of the model, lay out its records, and make setup and initial state; nothing is compiled.

    Raises:
        LoweringError, LayoutError, Malformed: what is wrong; or whatever the scenario's own functions raise.
    """
    model = scenario.model(bounds)
    setup = scenario.setup(rules, bounds)
    if not isinstance(setup, model.setup):
        raise Malformed(
            f"{scenario.name}: setup gives {_a(setup)}; {model.name} wants an object of {model.setup.__name__}", "setup"
        )
    engine = compiled(model)
    engine.setup.pack(setup)
    state = model.initial(setup)
    if not isinstance(state, model.state):
        raise Malformed(
            f"{scenario.name}: initial gives {_a(state)}; {model.name} wants an object of {model.state.__name__}",
            "initial",
        )
    engine.state.pack(state)
    _try_each(scenario, model, setup, state)


def _try_each(scenario: Scenario, model: Model, setup: object, state: object) -> None:
    """Ask each interpreted function once: what raises there would raise in the middle of a story."""
    for action in range(model.actions):
        if not isinstance(model.describe(state, action, setup), str):
            raise Malformed(f"{scenario.name}: describe gives no text for action {action}", "describe")
    for promise in model.promises:
        promise.judge(state, setup)


def blame(error: Exception, scenario: Scenario) -> str:
    """What to tell the author of a model about an error in it: where, what, and the remedy; "" if it is not theirs.

    A registered scenario can be at fault only where its functions or records are read; all else is this program's.
    """
    if isinstance(error, LoweringError):
        return str(error)
    if isinstance(error, LayoutError) and error.record is not None:
        place = place_of(error.record, error.field, scenario.origin)
        return f"{place or scenario.origin or scenario.name}: {error}"
    if not scenario.origin:
        return ""
    said = own.explained(error, scenario.origin)
    if isinstance(error, ModelFault) and error.place:
        return f"{error.place}: {error}"
    if not said and isinstance(error, ModelFault | LayoutError | Malformed):
        return f"{own.place_of_text(scenario.origin, scenario.name)}: {error}"
    return said


def _a(value: object) -> str:
    return f"{value!r:.60} of type {type(value).__name__}"
