"""A report as JSON, whatever bytes are in the names of files."""

import json
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from zombieproof.report.screen import printable


def json_of(value: object) -> str:
    """The text of a JSON document. A file name that is not UTF-8 is in it with escape sequences."""
    adapter: TypeAdapter[Any] = TypeAdapter(type(value))
    try:
        return adapter.dump_json(value, indent=2).decode()
    except PydanticSerializationError:
        return json.dumps(_escaped(adapter.dump_python(value, mode="json")), indent=2, ensure_ascii=False)


def _escaped(value: object) -> object:
    """The same without lone surrogates, which stand for bytes that are not UTF-8."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {name: _escaped(each) for name, each in value.items()}
    return list(map(_escaped, value)) if isinstance(value, list) else value
