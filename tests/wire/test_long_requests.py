"""The time that a request takes grows no faster than the number of its rows: one request must not stop a broker.

Each array of each API gets many rows, with known and unknown names and ids.
"""

import gc
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args, get_origin
from uuid import UUID

import pytest

from tests.wire.sequences import Pool, Stage, drawn
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.apis import WIRE_APIS
from zombieproof.wire.entities import entity_class, hints_of, inner_class

FEW, MANY = 200, 3_200
MORE = {ApiKey.ADD_PARTITIONS_TO_TXN: 25_600, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: 12_800}
"""Pairs of their rows cost little."""
MOST_GROWTH = 4
"""The time may grow faster than the rows by this factor: caches are small, and the machine may have other work."""
TRIES = 3
"""The best of these counts."""
NAMED = ("name", "topic", "topic_name", "resource_name", "group_id", "transactional_id")
SMALL = {ApiKey.LIST_CONFIG_RESOURCES: 100}
"""Numbers of one byte."""


def _element(hint: Any) -> Any:
    """The type of the elements of an array."""
    for each in (hint, *get_args(hint)):
        if get_origin(each) is tuple:
            return get_args(each)[0]
    return None


def _arrays(kind: Any) -> Iterator[tuple[str, ...]]:
    """The arrays of a request, each by the fields that lead to it."""
    for each in fields(kind):
        if _element(hints_of(kind)[each.name]) is not None:
            yield (each.name,)
        row = inner_class(kind, each.name)
        if row is not None:
            yield from ((each.name, *rest) for rest in _arrays(row))


def _long(kind: Any, path: tuple[str, ...], rows: int, pool: Pool, api: ApiKey) -> dict[str, Any]:
    """A request, or a row of one, whose array at the end of `path` has `rows` rows."""
    values, (name, *rest) = drawn(kind, pool), path
    row, is_array = inner_class(kind, name), _element(hints_of(kind)[name]) is not None
    if rest:
        inner = _long(row, tuple(rest), rows, pool, api)
        values[name] = [inner] if is_array else inner
    elif row is not None:
        values[name] = [_row(row, number, pool) for number in range(rows)]
    else:
        of = _element(hints_of(kind)[name])
        is_text = isinstance(of, type) and issubclass(of, str)
        is_number = isinstance(of, type) and issubclass(of, int)
        if is_text or getattr(of, "__supertype__", None) is str:
            values[name] = [f"n{number}" for number in range(rows)]
        elif is_number or getattr(of, "__supertype__", None) is not None:
            values[name] = [number % SMALL.get(api, rows) for number in range(rows)]
        else:
            values[name] = [pool.topic_id() for _ in range(rows)]
    return values


def _row(kind: Any, number: int, pool: Pool) -> dict[str, Any]:
    """A row about something known, or something unknown by its name or its id."""
    values = {name: "a" if name == "name" and value is None else value for name, value in drawn(kind, pool).items()}
    if number % 2:
        values |= {each: f"n{number}" for each in NAMED if each in values}
    if number % 4 and "topic_id" in values:
        values["topic_id"] = UUID(int=number)
    return values


def _seconds(api: ApiKey, path: tuple[str, ...], rows: int) -> float:
    """The CPU time that new brokers need for a request with this number of rows."""
    stage = Stage(random.Random("rows"), 1, None, Counter())
    version = WIRE_APIS[api].versions[-1]
    stage.pool.begin()
    values = _long(entity_class(api, version, "request"), path, rows, stage.pool, api)
    gc.disable()  # nor collected first: that takes a second where thousands of other tests are in memory
    try:
        began = time.process_time()
        stage._send(stage.lines[0], api, version, values)
        stage.turn()
        return time.process_time() - began
    finally:
        gc.enable()


ARRAYS = [
    pytest.param(api, path, id=f"{api.name} {'.'.join(path)}")
    for api in sorted(WIRE_APIS)
    for path in _arrays(entity_class(api, WIRE_APIS[api].versions[-1], "request"))
]


@pytest.mark.sample("METADATA", "ADD_PARTITIONS_TO_TXN", "USER_SCRAM")
@pytest.mark.parametrize(("api", "path"), ARRAYS)
def test_a_request_takes_time_in_proportion_to_its_rows(api: ApiKey, path: tuple[str, ...]) -> None:
    rows, many = MORE.get(api, MANY), list[float]()
    most = MOST_GROWTH * rows / FEW * min(_seconds(api, path, FEW) for _ in range(2))
    while len(many) < TRIES:
        many.append(_seconds(api, path, rows))
        if many[-1] < max(most, 0.1):
            return
    pytest.fail(f"{rows} rows take {min(many):.3f} s, and {most:.3f} s are the most in proportion to {FEW} rows")
