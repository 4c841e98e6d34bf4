"""What applications do: programs that do not fit into a state are refused when a scenario is made."""

from __future__ import annotations

from typing import Any

from zombieproof.checker.transactions.capacities import CLIENTS, IDS, OPS, READERS, TXNS
from zombieproof.checker.transactions.vocabulary import Op
from zombieproof.checker.validation import ScenarioFault, in_short


def check_programs(name: str, programs: Any, ids: Any, grouped: Any, readers: Any, inputs: Any = 1) -> None:
    """Raise ScenarioFault for programs, ids, readers or inputs of a scenario that do not fit into a state."""
    who = f"scenario {name!r}"
    legal = "programs holds clients, each a tuple of transactions, each a tuple of Ops: (((Op.SEND_0, Op.COMMIT),),)"
    _sequence(who, "programs", programs, legal)
    if not 1 <= len(programs) <= CLIENTS:
        raise ScenarioFault(f"{who}: {len(programs)} clients; 1 to {CLIENTS} fit into a state", "programs")
    for c, program in enumerate(programs):
        _sequence(who, f"programs[{c}]", program, legal)
        if len(program) > TXNS:
            raise ScenarioFault(
                f"{who}: client {c} has {len(program)} transactions; at most {TXNS} fit into a state", "programs"
            )
        for t, ops in enumerate(program):
            _sequence(who, f"programs[{c}][{t}]", ops, legal)
            if len(ops) > OPS or not all(isinstance(op, Op) for op in ops):
                raise ScenarioFault(
                    f"{who}: programs[{c}][{t}] is {ops!r}; give up to {OPS} of "
                    + ", ".join(f"Op.{op.name}" for op in Op),
                    "programs",
                )
    _sequence(who, "ids", ids, f"for each client an index below {IDS}, or -1: ids=(0, 1)")
    if not len(programs) <= len(ids) <= CLIENTS or not all(isinstance(i, int) and -1 <= i < IDS for i in ids):
        raise ScenarioFault(f"{who}: ids={ids!r}; give for each client an index below {IDS}, or -1", "ids")
    legal_numbers = (("grouped", grouped, 0, 1), ("readers", readers, 0, READERS), ("inputs", inputs, 1, TXNS))
    for what, value, least, most in legal_numbers:
        if not isinstance(value, int) or not least <= value <= most:
            raise ScenarioFault(f"{who}: {what}={value!r}; give {least} to {most}", what)


def _sequence(who: str, what: str, value: Any, legal: str) -> None:
    if not isinstance(value, tuple):
        comma = "is a comma missing? " if isinstance(value, Op | int | str) else ""
        raise ScenarioFault(f"{who}: {what} is {in_short(value)}, not a tuple; {comma}{legal}", what.partition("[")[0])
