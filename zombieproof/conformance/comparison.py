"""Whether an answer is the recorded one, and what is told of one that is not."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from zombieproof.broker.cluster.journal import Decided
from zombieproof.conformance.symbols import is_group, place_group
from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.model.vocabulary import Error, Row

Json = dict[str, JsonValue]

UNORDERED = frozenset({"partitions", "producers", "transactions", "aborted", "unknown"})
"""Lists whose order says nothing; those of markers and batches does."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first answer of a sequence that is not the recorded one. Steps are counted from 1."""

    file: str
    id: str
    step: int
    api: str
    version: int
    request: JsonValue
    expected: Json
    got: Json
    decision: Decided | None

    @property
    def row(self) -> str:
        """The reference row that answered, empty where none did."""
        return "" if self.decision is None or self.decision.row == Row.NO_ROW else self.decision.row.name


def canonical(answer: Mapping[str, JsonValue], offsets_partitions: int) -> Json:
    """The part of an answer that is compared, in one order; partitions named after groups get their numbers."""
    return {
        key: _canonical_list(key, value, offsets_partitions) if isinstance(value, list) else _typed(key, value)
        for key, value in answer.items()
        if not key.startswith("_")
    }


def _canonical_list(key: str, rows: Sequence[JsonValue], count: int) -> list[JsonValue]:
    found = [_canonical_row(row, count) for row in rows]
    return sorted(found, key=json.dumps) if key in UNORDERED else found


def _canonical_row(row: JsonValue, count: int) -> JsonValue:
    if isinstance(row, dict):
        found = canonical(row, count)
        if "topic" in found:
            found["partition"] = _number(found["topic"], found.get("partition"), count)
        return found
    if isinstance(row, list) and len(row) > 1 and row[0] == CONSUMER_OFFSETS:
        return [row[0], _number(row[0], row[1], count), *row[2:]]
    return row


def _typed(key: str, value: JsonValue) -> JsonValue:
    """Python takes true for 1; recordings do not. A member that is nobody is null in some, and "" in others."""
    if key == "member" and value is None:
        return ""
    return json.dumps(value) if isinstance(value, bool) else value


def _number(topic: JsonValue, partition: JsonValue, count: int) -> JsonValue:
    if topic == CONSUMER_OFFSETS and isinstance(partition, str) and is_group(partition):
        return place_group(partition, count)
    return partition


def errors_in(answer: JsonValue) -> set[int]:
    """Every error code in an answer, those of rows (topic, partition, error, …) too."""
    if isinstance(answer, dict):
        own = answer.get("error")
        found = {own} if isinstance(own, int) else set[int]()
        return found.union(*(errors_in(value) for value in answer.values() if isinstance(value, dict | list)))
    if not isinstance(answer, list):
        return set()
    if len(answer) > 2 and isinstance(answer[0], str) and isinstance(answer[2], int):
        return {answer[2]}
    return set[int]().union(*(errors_in(value) for value in answer))


def answering(api: str, decisions: Sequence[Decided], errors: set[int]) -> Decided | None:
    """The decision that gave the answer to a request of `api`.

    It is the last that says one of the answer's errors, best in the module of that API; else (the error was translated
    for an old version, or there is none) the last of that module; else the last of all.
    """
    module = re.sub(r"(?<!^)(?=[A-Z])", "_", api).lower()
    refused = [each for each in decisions if each.error in errors and each.error != Error.NONE]
    own = [each for each in decisions if each.decision == module]
    for found in ([each for each in refused if each in own], refused, own, decisions):
        if found:
            return found[-1]
    return None
