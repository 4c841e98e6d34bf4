"""The JSON Schema of the lines of a history, made of the events themselves."""

import json
from typing import Any

from pydantic import TypeAdapter

from zombieproof.traces.history.events import FORMAT, VERSION, Event, Header

TITLE = "one line of a zombieproof history: the first is the header, each of the others an event"


def history_schema() -> str:
    """The schema, as text that ends with a newline."""
    found: dict[str, Any] = TypeAdapter(Header | Event).json_schema()
    for name, line in found["$defs"].items():
        if "properties" not in line:
            continue
        _must_stand_in_a_file(line)
        if name == Header.__name__:
            line["properties"]["version"] = {"const": VERSION, "title": "Version", "type": "integer"}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": TITLE, "$comment": FORMAT}
    return json.dumps(head | found, indent=1) + "\n"


def _must_stand_in_a_file(line: dict[str, Any]) -> None:
    """What has one legal value has a default here, and no default in a file."""
    constants = [name for name, facts in line["properties"].items() if "const" in facts]
    for name in constants:
        line["properties"][name].pop("default", None)
    line["required"] = [*constants, *(name for name in line.get("required", []) if name not in constants)]
