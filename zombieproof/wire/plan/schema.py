"""The JSON Schema of a plan, made of its parts, for editors that complete and check YAML."""

import json
from pathlib import Path
from typing import Final

from zombieproof.wire.plan.parts import Plan

SCHEMA_PATH: Final = Path(__file__).resolve().parents[3] / "docs" / "fault-plan-schema.json"
"""Where it is committed, in a clone: `python -m zombieproof.wire.plan.schema` writes it."""


def plan_schema() -> str:
    """The schema, as text that ends with a newline."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of faults",
        "description": "Generated: do not edit. What is legal by the protocol is checked when a plan is read.",
    }
    return json.dumps({**Plan.model_json_schema(), **head}, indent=1) + "\n"


if __name__ == "__main__":
    SCHEMA_PATH.write_text(plan_schema(), encoding="utf-8", newline="\n")
