"""A machine's table as the graph machine of `transitions`, in our words and styles.

States are written as Kafka's documents write them (PrepareCommit), events in words (markers written). Events that lead
from one state to the same other one share an arrow; those that leave a state as it is stand inside its box, because
loops run through their neighbours. A terminal state has a double border, one that is only ever
pending or passed through a dashed one.
"""

import re
from typing import Any, Literal

import graphviz
from transitions.extensions import GraphMachine
from transitions.extensions.diagrams_graphviz import Graph as DotGraph

from zombieproof.statemachines.kernel import Machine

Styles = dict[str, str | dict[str, str | dict[str, Any]]]
"""As `transitions` declares them: "node", "edge" or "graph" -> name of a style -> attribute -> value."""

_BETWEEN_EVENTS = " | "
"""What `transitions` puts between the events of one arrow."""

_LABEL_OF_STATE = re.compile(r'label="(\w+)\\l"')
"""What `transitions` writes for a state: the name, and a line break that aligns it to the left."""

_LOOP = re.compile(r"\s+(\w+) --?> \1\b")
"""An arrow from a state to itself, in DOT or Mermaid."""

_START = "start"
_FONT = "Helvetica,Arial,sans-serif"
_DASHED = {"style": "rounded,filled,dashed", "fillcolor": "white"}
_DOT_STYLES: Styles = {
    "node": {
        "default": {
            "shape": "rectangle",
            "style": "rounded,filled",
            "fillcolor": "#f4f6f8",
            "color": "#37474f",
            "fontname": _FONT,
            "fontsize": "14",
            "margin": "0.16,0.1",
        },
        "terminal": {"peripheries": "2"},
        "transient": _DASHED,
        "terminal_transient": {"peripheries": "2", **_DASHED},
    },
    "edge": {
        "default": {"color": "#546e7a", "fontname": _FONT, "fontsize": "12", "arrowsize": "0.8"},
        # The way into a terminal state is often the same from everywhere, and must not hide the rest.
        "ends": {"color": "#b0bec5", "fontcolor": "#78909c", "weight": "0"},
    },
    "graph": {
        "default": {
            "fontname": _FONT,
            "fontsize": "18",
            "labelloc": "t",
            "bgcolor": "white",
            "nodesep": "0.35",
            "ranksep": "0.6",
        },
    },
}

_STATE = {"fill": "#f4f6f8", "stroke": "#37474f", "color": "#263238"}
_MERMAID_STYLES: Styles = {
    "node": {
        "default": _STATE,
        "terminal": {**_STATE, "stroke-width": "4px"},
        "transient": {**_STATE, "stroke-dasharray": "5 5"},
        "terminal_transient": {**_STATE, "stroke-width": "4px", "stroke-dasharray": "5 5"},
    },
    "edge": {},
    "graph": {},
}


class _Subject:
    """What a drawn machine is about: nothing in particular."""


def state_name(name: str) -> str:
    """PREPARE_COMMIT -> PrepareCommit."""
    return "".join(word.capitalize() for word in name.split("_"))


def event_words(name: str) -> str:
    """ADD_PARTITION -> add partition."""
    return name.replace("_", " ").lower()


def title(machine: Machine) -> str:
    """partition_leader -> Partition leader."""
    return machine.name.replace("_", " ").capitalize()


def dot_graph(machine: Machine) -> graphviz.Digraph:
    """The graph of a machine; its `source` is made without the program `dot`."""
    graph = _graph(machine, "graphviz", _DOT_STYLES)
    lines = [line.replace(_BETWEEN_EVENTS, r"\n") for line in graph.body if not _LOOP.match(line)]
    graph.body.clear()
    graph.node(_START, label="", shape="circle", width="0.15", fillcolor="#37474f")
    graph.body.extend(_LABEL_OF_STATE.sub(lambda found: f"label=<{_label(machine, found[1])}>", line) for line in lines)
    graph.edge(_START, state_name(machine.initial.name))
    graph.graph_attr["label"] = f"<{title(machine)}{_small(_legend(machine))}>"
    return graph


def _label(machine: Machine, name: str) -> str:
    """The text in the box of a state, as Graphviz's HTML."""
    return name + "".join(_small(event) for event in _staying(machine).get(name, ()))


def _staying(machine: Machine) -> dict[str, list[str]]:
    """State -> events that leave it as it is."""
    found: dict[str, list[str]] = {}
    for row in machine.rows:
        if row.state == row.target:
            found.setdefault(state_name(row.state.name), []).append(event_words(row.event.name))
    return found


def _legend(machine: Machine) -> str:
    """What the signs in this drawing mean."""
    signs = {
        "small print in a box: events that leave the state as it is": bool(_staying(machine)),
        "double border: terminal": bool(machine.terminal),
        "dashed border: pending only, never durable": bool(machine.transient),
    }
    return " · ".join(sign for sign, is_drawn in signs.items() if is_drawn)


def _small(text: str) -> str:
    return f'<br/><font point-size="11" color="#546e7a">{text}</font>'


def mermaid_text(machine: Machine, comment: str = "") -> str:
    """The state diagram of a machine for Mermaid, with a comment in its head."""
    lines = _graph(machine, "mermaid", _MERMAID_STYLES).source.splitlines()
    # transitions writes the title as the whole front matter; Mermaid reads it from the key `title`.
    head = ["---", f"title: {title(machine)}", "---", *([f"%% {comment}"] if comment else [])]
    ends = [f"  {state_name(state.name)} --> [*]" for state in sorted(machine.terminal)]
    stays = [f"  {state}: {'<br/>'.join(events)}" for state, events in _staying(machine).items()]
    lines = [line.rstrip() for line in lines[3:] if not _LOOP.match(line)]
    text = "\n".join([*head, *lines, *stays, *ends])
    return text.replace(_BETWEEN_EVENTS, "<br/>") + "\n"


def _graph(machine: Machine, engine: Literal["graphviz", "mermaid"], styles: Styles) -> graphviz.Digraph:
    """The graph as `transitions` draws it; the states in the order in which the table speaks of them."""
    subject = _Subject()
    order = list(dict.fromkeys([row.state for row in machine.rows] + list(machine.states)))
    drawn = GraphMachine(
        model=subject,
        states=[state_name(state.name) for state in order],
        initial=state_name(machine.initial.name),
        transitions=[
            {
                "trigger": event_words(row.event.name),
                "source": state_name(row.state.name),
                "dest": state_name(row.target.name),
            }
            for row in machine.rows
        ],
        auto_transitions=False,
        graph_engine=engine,
        title=title(machine),
    )
    drawn.machine_attributes = {"rankdir": "LR"}
    drawn.style_attributes = styles
    graph = drawn.model_graphs[id(subject)]
    # transitions highlights the state in which the subject is; a table is in no state.
    graph.reset_styling()
    for state in machine.states:
        kinds = [kind for kind in ("terminal", "transient") if state in getattr(machine, kind)]
        if kinds:
            graph.set_node_style(state_name(state.name), "_".join(kinds))
    if isinstance(graph, DotGraph):
        for row in machine.rows:
            if row.target in machine.terminal:
                edges = graph.custom_styles["edge"][state_name(row.state.name)]
                edges[state_name(row.target.name)] = "ends"  # type: ignore[index]  # the stub lacks the inner mapping
    return graph.get_graph(title=title(machine))
