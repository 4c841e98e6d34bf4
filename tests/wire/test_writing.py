"""What is written without an entity is what kio writes of it, byte for byte, in every version of every message."""

import random
import struct
from collections.abc import Mapping
from dataclasses import fields
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest

from tests.wire.test_codec import every_entity
from zombieproof.model.vocabulary import Error
from zombieproof.wire.api import SAYS_NOTHING
from zombieproof.wire.apis import WIRE_APIS
from zombieproof.wire.counts import array_of, struct_in
from zombieproof.wire.entities import entity_class, hints_of, made, write
from zombieproof.wire.writing import Writer

ENTITIES = every_entity()
HOT = ("Produce", "Fetch", "AddPartitionsToTxn", "EndTxn", "InitProducerId", "Metadata")
TRIES, TRIES_OF_HOT = 8, 1_000
FIXED = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "int64": 64}
ERRORS = [int(each) for each in Error]
NULL_CHANCE, LEFT_OUT_CHANCE = 0.15, 0.2


def drawn(kind: Any, dice: random.Random) -> dict[str, Any]:
    """Values at random of which an entity can be made; some fields are left out, some are null."""
    hints = hints_of(kind)
    found = {}
    for field in fields(kind):
        if dice.random() >= LEFT_OUT_CHANCE:
            found[field.name] = _field(hints[field.name], field.metadata.get("kafka_type", ""), dice)
    return found


def _field(hint: Any, kafka_type: str, dice: random.Random) -> Any:
    element, struct_of = array_of(hint), struct_in(hint)
    if dice.random() < NULL_CHANCE:
        return None
    if element is not None:
        of = struct_in(element)
        return [drawn(of, dice) if of else _value(kafka_type, dice) for _ in range(dice.choice((0, 1, 1, 2, 5)))]
    if struct_of is not None:
        inside = drawn(struct_of, dice)
        return [inside] if dice.random() < 0.3 else inside
    return _value(kafka_type, dice)


def _value(kafka_type: str, dice: random.Random) -> Any:
    if kafka_type in FIXED:
        bits, signed = FIXED[kafka_type], not kafka_type.startswith("u")
        largest = (1 << (bits - signed)) - 1
        return dice.choice(
            (0, 1, -1 if signed else 2, largest, -largest - 1 if signed else largest, dice.randrange(100))
        )
    if kafka_type in {"timedelta_i32", "timedelta_i64", "datetime_i64"}:
        return dice.choice((0, 1, 999, 1_000, 86_400_000, 1_795_392_676_750 if kafka_type == "datetime_i64" else 7))
    if kafka_type == "error_code":
        return dice.choice(ERRORS)
    if kafka_type == "bool":
        return dice.random() < 0.5
    if kafka_type == "float64":
        return dice.random()
    if kafka_type == "uuid":
        return UUID(int=dice.choice((0, 1, dice.getrandbits(128))))
    size = dice.choice((0, 1, 5, 126, 127, 128, 2_000))
    return dice.randbytes(size) if kafka_type in {"bytes", "records"} else "ü" * size


def written_by_kio(kind: Any, values: Mapping[str, Any], besides: Mapping[str, Any]) -> bytes:
    out = BytesIO()
    write(out, made(kind, values, besides))
    return out.getvalue()


def besides_of(kind: Any) -> Mapping[str, Any]:
    api = next((each for each in WIRE_APIS.values() if int(each.key) == int(kind.__api_key__)), None)
    return SAYS_NOTHING if api is None else api.besides


def compare(kind: Any, tries: int) -> None:
    besides, dice = besides_of(kind), random.Random(kind.__module__)
    writes = Writer(kind, besides)
    for values in ({}, *(drawn(kind, dice) for _ in range(tries))):
        out = bytearray()
        writes(out, values)
        assert bytes(out) == written_by_kio(kind, values, besides), f"{kind.__module__}: {values}"


def test_whatever_is_said_or_not_is_written_as_by_kio() -> None:
    assert len(ENTITIES) > 500
    for kind in ENTITIES:
        compare(kind, TRIES)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOT)
def test_answers_that_are_given_most_are_written_as_by_kio(name: str) -> None:
    kinds = [kind for kind in ENTITIES if kind.__name__ == f"{name}Response"]
    assert kinds
    for kind in kinds:
        compare(kind, TRIES_OF_HOT)


def test_a_number_that_does_not_fit_is_an_error() -> None:
    kind = entity_class(next(key for key in WIRE_APIS if key.name == "END_TXN"), 3, "response")
    with pytest.raises(struct.error):
        Writer(kind, {})(bytearray(), {"throttle_time": 1 << 31})
    with pytest.raises(struct.error):
        Writer(kind, {})(bytearray(), {"error_code": 1 << 15})
