"""``python -m tests.messages.kafka_fields`` writes down the fields of Kafka's messages as kio has them.

For each API of the registry, for request and response: the path of each field through arrays, and the first and the
last of the described versions that have it. Versions that kio
lacks are those of `wire.later_versions`. Needed: kio (the extra ``wire``).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from zombieproof.messages.registry import APIS, Api
from zombieproof.wire.entities import entity_class
from zombieproof.wire.later_versions import Side

FILE = Path(__file__).with_name("kafka_fields.json")
SIDES: tuple[Side, ...] = ("request", "response")
Fields = dict[str, dict[str, dict[str, list[int]]]]


def snake(name: str) -> str:
    """Kafka's name of a field or message as kio has it: times have no unit."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().removesuffix("_ms")


def fields_in_kio() -> Fields:
    """Every field of every described version."""
    return {api.name: {side: _of(api, side) for side in SIDES} for api in APIS}


def _of(api: Api, side: Side) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for version in api.versions:
        for path in _walk(entity_class(api.key, version, side), ""):
            first, last = found.get(path, [version, version - 1])
            assert last == version - 1, f"{api.name} {side} {path}: is missing in a version between two that have it"
            found[path] = [first, version]
    return found


def _walk(message: Any, before: str) -> Iterator[str]:
    hints = get_type_hints(message)
    for field in fields(message):
        yield before + field.name
        inner = _message_in(hints[field.name])
        if inner is not None:
            yield from _walk(inner, f"{before}{field.name}.")


def _message_in(hint: Any) -> Any:
    if hasattr(hint, "__dataclass_fields__"):
        return hint
    return next((found for found in map(_message_in, get_args(hint)) if found is not None), None)


def written(found: Fields) -> str:
    """As JSON, a line for each message."""
    rows = {f"{name} {side}": each[side] for name, each in found.items() for side in SIDES}
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(written(fields_in_kio()), encoding="utf-8")
