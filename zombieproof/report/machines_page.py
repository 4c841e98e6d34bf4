"""docs/machines.md: every machine with its theory of operation, its diagram and its rows."""

import inspect
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from zombieproof.report.diagrams import MARKER
from zombieproof.report.graphs import mermaid_text, title
from zombieproof.report.pages import Stale, stale_page, write_page
from zombieproof.statemachines.kernel import Machine
from zombieproof.statemachines.registry import ALL_MACHINES, PROPOSAL2014

_HEAD = f"""<!-- {MARKER} -->
# The machines

Each machine is one table of rows: in a *state*, an *event* leads to a *target*, and *why*. The runtime, the checker,
the diagrams and this page read the same rows; what the table does not allow is refused by the runtime and is a violated
promise in the checker. Which event happens is decided elsewhere (`zombieproof/model/decisions`).

States and events have the names of the source and of error messages here; in the diagrams `PREPARE_COMMIT` is
PrepareCommit. Events inside a box leave the state as it is. Words without a box name the states that an arrow comes
from. A dashed border means: pending only, never durable. A thick or double border means: terminal.
"""


def page(machines: Iterable[Machine] = tuple(ALL_MACHINES.values())) -> str:
    """The whole page as Markdown."""
    sections, first = [_HEAD], dict[str, Machine]()
    for machine in machines:
        told = first.setdefault(module_name(machine), machine)
        sections.append(section(machine, theory(machine) if told is machine else f"Its theory: {_link(told)}"))
    return "\n".join(sections)


def module_name(machine: Machine) -> str:
    """Where the table of a machine stands: in a folder of its own, or with those that it works together with."""
    return "proposal2014.tables" if machine.name in PROPOSAL2014 else f"{machine.name}.table"


def theory(machine: Machine) -> str:
    """What the module of a machine says of it, and of the others that stand there."""
    module = import_module(f"zombieproof.statemachines.{module_name(machine)}")
    return inspect.cleandoc(module.__doc__ or "").replace("``", "`")


def _link(machine: Machine) -> str:
    return f"[{title(machine)}](#{title(machine).lower().replace(' ', '-')})"


def section(machine: Machine, text: str) -> str:
    """One machine as Markdown, introduced by `text`."""
    rows = "\n".join(
        f"| `{row.state.name}` | `{row.event.name}` | `{row.target.name}` | {row.why} |" for row in machine.rows
    )
    terminal = ", ".join(f"`{state.name}`" for state in sorted(machine.terminal)) or "none"
    transient = ", ".join(f"`{state.name}`" for state in sorted(machine.transient)) or "none"
    return f"""## {title(machine)}

{text}

Begins in `{machine.initial.name}`. Terminal: {terminal}. Never durable: {transient}. Drawn larger:
[diagrams/{machine.name}.svg](../diagrams/{machine.name}.svg)

```mermaid
{mermaid_text(machine)}```

| state | event | target | why |
|---|---|---|---|
{rows}
"""


def write(path: Path) -> Path:
    """Write the page."""
    return write_page(path, page())


def check(path: Path) -> list[Stale]:
    """The page, if it is missing or not what the tables say; otherwise nothing."""
    return stale_page(path, page(), "the table says", "zombieproof diagrams")
