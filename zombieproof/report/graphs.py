"""A machine's table as the graph machine of `transitions`, in our words and styles.

States are written as Kafka's documents write them (PrepareCommit), events in words (markers written). Events that lead
from one state to the same other one share an arrow; those that leave a state as it is stand inside its box, because
loops run through their neighbours; those that come from everywhere (`zombieproof.report.bundles`) share an arrow from a
note that names the states they leave. A terminal state has a double border, one that is only ever pending or passed
through a dashed one.

A page shows about 800 points of width. A machine with few states is drawn from left to right, a larger one from top to
bottom, so that its text is as large there as it is in the drawing.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal

import graphviz
from transitions.extensions import GraphMachine
from transitions.extensions.diagrams_graphviz import Graph as DotGraph

from zombieproof.report.bundles import ANY_OTHER_STATE, Bundle, bundles, single_rows
from zombieproof.statemachines.kernel import Machine

Styles = dict[str, str | dict[str, str | dict[str, Any]]]
"""As `transitions` declares them: "node", "edge" or "graph" -> name of a style -> attribute -> value."""

SPACE = "\N{NO-BREAK SPACE}"
NEWLINE = r"\n"
"""A line break, as DOT writes it in a label."""

_BETWEEN_EVENTS = " | "
"""What `transitions` puts between the events of one arrow."""

_LABEL_OF_STATE = re.compile(r'label="(\w+)\\l"')
"""What `transitions` writes for a state: the name, and a line break that aligns it to the left."""

_LOOP = re.compile(r"\s+(\w+) --?> \1\b")
"""An arrow from a state to itself, in DOT or Mermaid."""

_ARROW = re.compile(r'(\s\w+ -> \w+ \[label=)("[^"]*"|\w+)')
"""An arrow in DOT, up to its label, and the label."""

MOST_IN_A_ROW = 5
"""A machine with more states than that does not fit into the width of a page when they stand in a row."""

_START = "start"
_FONT = "Helvetica,Arial,sans-serif"
_DASHED = {"style": "rounded,filled,dashed", "fillcolor": "white"}
_ENDS = {"color": "#b0bec5", "fontcolor": "#78909c", "weight": "0"}
"""The way into a terminal state is often the same from everywhere, and must not hide the rest."""

_NOTE = {"shape": "plaintext", "fillcolor": "none", "fontcolor": "#546e7a", "fontsize": "11", "margin": "0.02"}

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
        "ends": _ENDS,
    },
    "graph": {
        "default": {
            "fontname": _FONT,
            "fontsize": "18",
            "labelloc": "t",
            "bgcolor": "white",
            "nodesep": "0.35",
            "ranksep": "0.5",
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
        "note": {"fill": "none", "stroke": "none", "color": "#546e7a"},
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
    lines = [_ARROW.sub(_spaced, line) for line in graph.body if not _LOOP.match(line)]
    graph.body.clear()
    graph.node(_START, label="", shape="circle", width="0.15", fillcolor="#37474f")
    graph.body.extend(_LABEL_OF_STATE.sub(lambda found: f"label=<{_label(machine, found[1])}>", line) for line in lines)
    graph.edge(_START, state_name(machine.initial.name))
    for bundle in bundles(machine):
        _draw_bundle(graph, machine, bundle)
    signs = _legend(machine)
    legend = (" · ".join(signs[i : i + 2]) for i in range(0, len(signs), 2))
    graph.graph_attr["label"] = f"<{title(machine)}{''.join(map(_small, legend))}>"
    return graph


def _spaced(arrow: re.Match[str]) -> str:
    """The label with its events below each other, and a blank at each side: `dot` puts it close to the line."""
    events = arrow[2].strip('"').split(_BETWEEN_EVENTS)
    return f'{arrow[1]}"{NEWLINE.join(f"{SPACE}{event}{SPACE}" for event in events)}"'


def _draw_bundle(graph: graphviz.Digraph, machine: Machine, bundle: Bundle) -> None:
    note, target = note_name(bundle), state_name(bundle.target)
    label = f"{SPACE}{event_words(bundle.event)}{SPACE}"
    graph.node(note, label=NEWLINE.join(note_lines(bundle)), **_NOTE)
    if bundle.rows[0].target in machine.terminal:
        graph.edge(note, target, label=label, **_ENDS)
    else:
        graph.edge(note, target, label=label)
    if bundle.rows[0].target not in (*machine.terminal, machine.initial):
        # Ways lead on from here: the state has its place behind those that it comes from.
        graph.edge(state_name(bundle.sources[-1]), target, style="invis")


def note_name(bundle: Bundle) -> str:
    """What the note of a bundle is called in a drawing: fatal_failure_from."""
    return f"{bundle.event}_from".lower()


def note_lines(bundle: Bundle) -> tuple[str, ...]:
    """What the note of a bundle says."""
    return (ANY_OTHER_STATE,) if bundle.from_all else tuple(state_name(source) for source in bundle.sources)


def _direction(machine: Machine) -> str:
    return "LR" if len(machine.states) <= MOST_IN_A_ROW else "TB"


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


def _legend(machine: Machine) -> list[str]:
    """What the signs in this drawing mean; two to a line, so that they are no wider than the drawing."""
    signs = {
        "small print in a box: events that leave the state as it is": bool(_staying(machine)),
        "words without a box: where an arrow comes from": bool(bundles(machine)),
        "double border: terminal": bool(machine.terminal),
        "dashed border: pending only, never durable": bool(machine.transient),
    }
    return [sign for sign, is_drawn in signs.items() if is_drawn]


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
    text = "\n".join([*head, *lines, *_mermaid_bundles(machine), *stays, *ends])
    return text.replace(_BETWEEN_EVENTS, "<br/>") + "\n"


def _mermaid_bundles(machine: Machine) -> Iterator[str]:
    for bundle in bundles(machine):
        yield f'  state "{"<br/>".join(note_lines(bundle))}" as {note_name(bundle)}'
        yield f"  Class {note_name(bundle)} s_note"
        yield f"  {note_name(bundle)} --> {state_name(bundle.target)}: {event_words(bundle.event)}"


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
            for row in single_rows(machine)
        ],
        auto_transitions=False,
        graph_engine=engine,
        title=title(machine),
    )
    drawn.machine_attributes = {"rankdir": _direction(machine)}
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
