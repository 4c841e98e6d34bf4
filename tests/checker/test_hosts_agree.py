"""Interpreted decisions and compiled ones say the same, on random records, requests and rules.

Every public function of `zombieproof.model.decisions` is found by itself, so a new one is compared too. Records are
drawn in bulk, from domains so small that equal ids, neighbouring epochs and the ends of the ranges are common.
"""

import dataclasses
import importlib
import inspect
import itertools
import pkgutil
import typing
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zombieproof.checker.engine.internals.compilation import entry
from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.lowering import Lowering
from zombieproof.model import decisions
from zombieproof.model.access import Rights
from zombieproof.model.decisions.end_txn import decide_end_txn
from zombieproof.model.decisions.fetch import first_unstable_offset
from zombieproof.model.decisions.write_txn_markers import evolve_marker
from zombieproof.model.fields import array, integer
from zombieproof.model.records import ProducerEntry, Transaction, Verdict
from zombieproof.model.rules import Rules, switches
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, PartitionEvent, Row

EXAMPLES = 2000
"""Rows drawn for each example of hypothesis."""

BATCHES = max(2, settings().max_examples // 50)
"""Examples of hypothesis for each function: few in the gate, more in the profile `explore`."""

LOWERING = Lowering()


@dataclasses.dataclass(slots=True)
class Request:
    """Any request, batch, marker, group or verdict that a decision reads by attribute."""

    version: int = integer(0)
    producer_id: int = integer(0)
    producer_epoch: int = integer(0)
    committed: bool = False
    partitions: int = integer(0)
    base_sequence: int = integer(0)
    last_sequence: int = integer(0)
    transactional: bool = False
    coordinator_epoch: int = integer(0)
    transaction_version: int = integer(0)
    generation: int = integer(0)
    member: int = integer(0)
    instance: int = integer(0)
    known: int = integer(0)
    dead: int = integer(0)
    empty: int = integer(0)
    state: int = integer(0)
    is_consumer: int = integer(0)


@dataclasses.dataclass(slots=True)
class Partition:
    """What a leader knows of all its producers."""

    entries: list[ProducerEntry] = array(ProducerEntry, 3)


def first_unstable_of(partition: Partition) -> int:
    """`first_unstable_offset` of the records that a packed partition holds."""
    return first_unstable_offset(partition.entries)


OF_LISTS = {"create_topics.refusal_of_places", "create_topics.refusal_of_assignment"}
"""Decisions about lists of brokers of any length, which no state of the checker has, nor an array of Numba's."""


def public_functions() -> Iterator[FunctionType]:
    for found in pkgutil.iter_modules(decisions.__path__):
        module = importlib.import_module(f"{decisions.__name__}.{found.name}")
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__ == module.__name__ and not name.startswith("_"):
                yield value


def name_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__.split('.')[-1]}.{function.__name__}"


SUBJECTS: list[Callable[..., Any]] = [
    first_unstable_of if function is first_unstable_offset else function
    for function in public_functions()
    if name_of(function) not in OF_LISTS
]

DOMAINS: dict[str, tuple[int, int]] = {
    "state": (0, 7),
    "pending_state": (-1, 7),
    "event": (0, 9),
    "version": (0, 7),
    "error": (-1, 120),
    "api": (0, 28),
    "reaction": (0, 8),
    "batch_count": (0, 5),
    "offset_delta": (0, 3),
    "partitions": (0, 3),
    "transaction_version": (0, 2),
    "client_transaction_version": (0, 2),
    "epoch_max": (3, 6),
    "sequence_max": (4, 7),
    "cached_batches": (1, 5),
    "origin": (0, 2),
    "mode": (0, 2),
    "isolation": (0, 2),
    "producer_id": (-1, 1),
    "request_guard": (0, 2),
    "guard": (0, 2),
    "fault": (0, 16),
}
"""Name of a field or argument -> the smallest and largest number drawn for it; (-1, 5) for every other."""

FLAGS = (
    {facts.name for facts in switches()}
    | {name for function in SUBJECTS for name, hint in typing.get_type_hints(function).items() if hint is bool}
    | {
        each.name
        for record in (Transaction, ProducerEntry, Request, Rights)
        for each in layout_of(record).members
        if each.is_flag
    }
)

USUAL = {
    "known": 1,
    "pending_state": NONE,
    "state": 1,
    "version": 5,
    "has_group_id": 1,
    "is_consumer": 0,
    "dead": 0,
} | {facts.name: 1 for facts in switches()}
"""Name of a field -> the number that half of all draws are, so that many requests come far down the ladders."""


def draw(random: np.random.Generator, name: str, count: int) -> np.ndarray[Any, Any]:
    low, high = (0, 1) if name in FLAGS else DOMAINS.get(name, (-1, 5))
    drawn = random.integers(low, high, count, endpoint=True)
    if name in USUAL:
        drawn[random.random(count) < 0.5] = USUAL[name]
    return drawn


def fill(random: np.random.Generator, records: np.ndarray[Any, Any]) -> None:
    """Give every leaf of a structured array, nested ones too, numbers of its domain."""
    for name in records.dtype.names or ():
        inner = records[name]
        if inner.dtype.names:
            # A view for each element: to flatten the array would copy it.
            for part in [inner] if inner.ndim == 1 else [inner[:, i] for i in range(inner.shape[1])]:
                fill(random, part)
        else:
            inner[...] = draw(random, name, inner.size).reshape(inner.shape)


class Argument(NamedTuple):
    """One parameter: the record class it takes, or None for a number, or for a flag."""

    name: str
    record: type | None
    rebuild: type | None = None
    is_flag: bool = False


def record_of_verdict(cls: Any) -> type:
    """A record with the fields of a NamedTuple, which is what a packed host passes for one."""
    kinds = typing.get_type_hints(cls)
    declared = [(name, bool, False) if kinds[name] is bool else (name, int, integer(0)) for name in cls._fields]
    made: type = dataclasses.make_dataclass(f"{cls.__name__}Record", declared, slots=True)
    return made


VERDICTS: dict[type, type] = {}


def arguments_of(function: Callable[..., Any]) -> list[Argument]:
    hints = typing.get_type_hints(function)
    found = []
    for name in inspect.signature(function).parameters:
        hint = hints[name]
        if hint in (int, bool):
            found.append(Argument(name, None, is_flag=hint is bool))
        elif hasattr(hint, "_fields"):
            found.append(Argument(name, VERDICTS.setdefault(hint, record_of_verdict(hint)), hint))
        elif dataclasses.is_dataclass(hint):
            assert isinstance(hint, type)
            found.append(Argument(name, hint))
        else:
            assert getattr(hint, "_is_protocol", False), f"{function.__qualname__}: {name} is a {hint}"
            found.append(Argument(name, Request))
    return found


def compiled(function: Callable[..., Any]) -> Callable[..., None]:
    """The function over arrays of its arguments, as a checker runs it; what it returns goes into the rows of `out`."""
    arguments = arguments_of(function)
    result = typing.get_type_hints(function)["return"]
    scope: dict[str, Any] = {"decide": LOWERING.lower(function)}
    scope |= {argument.rebuild.__name__: argument.rebuild for argument in arguments if argument.rebuild}
    passed = []
    for argument in arguments:
        item = f"{argument.name}_[i]"
        if argument.rebuild:
            kinds = typing.get_type_hints(argument.rebuild)
            fields = ", ".join(f"{'bool' if kinds[name] is bool else 'int'}({item}.{name})" for name in kinds)
            item = f"{argument.rebuild.__name__}({fields})"
        passed.append(f"bool({item})" if argument.is_flag else item)
    call = f"decide({', '.join(passed)})"
    if result is type(None):
        body = [call]
    elif hasattr(result, "_fields"):
        body = [f"said = {call}", *(f"out[i, {k}] = int(said[{k}])" for k in range(len(result._fields)))]
    else:
        body = [f"out[i, 0] = int({call})"]
    lines = "\n        ".join(body)
    parameters = ", ".join(f"{argument.name}_" for argument in arguments)
    text = f"def run({parameters}, out):\n    for i in range(out.shape[0]):\n        {lines}\n"
    exec(text, scope)
    run: Callable[..., None] = entry(scope["run"])
    return run


def width_of(function: Callable[..., Any]) -> int:
    return len(getattr(typing.get_type_hints(function)["return"], "_fields", (0,)))


def interpret(function: Callable[..., Any], columns: list[Any], out: np.ndarray[Any, Any]) -> None:
    """The same over plain objects, which are written back into the columns."""
    arguments = arguments_of(function)
    for i in range(len(out)):
        given: list[Any] = []
        for argument, column in zip(arguments, columns, strict=True):
            if argument.record is None:
                given.append(bool(column[i]) if argument.is_flag else int(column[i]))
            else:
                made = layout_of(argument.record).unpack(column[i].tobytes())
                if argument.rebuild:
                    made = argument.rebuild(*(getattr(made, name) for name in argument.rebuild._fields))  # type: ignore[attr-defined]  # a NamedTuple
                given.append(made)
        said = function(*given)
        if said is not None:
            out[i] = said if isinstance(said, tuple) else int(said)
        for argument, column, value in zip(arguments, columns, given, strict=True):
            if argument.record is not None and argument.rebuild is None:
                packed = layout_of(argument.record).pack(value)[: column.dtype.itemsize]
                column[i : i + 1].view(np.uint8)[:] = np.frombuffer(packed, np.uint8)


def drawn(function: Callable[..., Any], seed: int, count: int) -> list[Any]:
    """A column for each argument; most requests name the producer id and epoch of the record they are about."""
    random = np.random.default_rng(seed)
    columns: list[Any] = []
    for argument in arguments_of(function):
        if argument.record is None:
            columns.append(draw(random, argument.name, count))
        else:
            records = np.zeros(count, layout_of(argument.record).dtype)
            fill(random, records)
            columns.append(records)
    names = [(column, column.dtype.names or ()) for column in columns]
    owners = [column for column, fields in names if "state" in fields and "version" not in fields]
    requests = [column for column in columns if "instance" in (column.dtype.names or ())]
    for owner, request in itertools.product(owners, requests):
        for name in ("producer_id", "producer_epoch"):
            if name in owner.dtype.names:
                same = random.random(count) < 0.7
                request[name][same] = owner[name][same]
    return columns


def difference(
    run: Callable[..., None], function: Callable[..., Any], seed: int, count: int = EXAMPLES
) -> tuple[str | None, np.ndarray[Any, Any]]:
    """The first row at which a compiled function and an interpreted one differ, told; and what the latter said."""
    before = drawn(function, seed, count)
    fast, slow = [column.copy() for column in before], [column.copy() for column in before]
    fast_out, slow_out = (np.zeros((count, width_of(function)), np.int64) for _ in range(2))
    run(*fast, fast_out)
    interpret(function, slow, slow_out)
    wrong = (fast_out != slow_out).any(axis=1)
    for one, other in zip(fast, slow, strict=True):
        wrong |= (one.view(np.uint8) != other.view(np.uint8)).reshape(count, -1).any(axis=1)
    if not wrong.any():
        return None, slow_out
    i = int(wrong.argmax())
    names = [argument.name for argument in arguments_of(function)]
    asked = {name: column[i].item() for name, column in zip(names, before, strict=True)}
    left = {name: (f[i].item(), s[i].item()) for name, f, s in zip(names, fast, slow, strict=True) if f[i] != s[i]}
    said = f"compiled {fast_out[i].tolist()}, interpreted {slow_out[i].tolist()}"
    return f"{function.__qualname__}: {said}, left {left} of {asked}", slow_out


SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.share(3)
@pytest.mark.sample("verification.", "sync_group.")
@pytest.mark.parametrize("function", SUBJECTS, ids=name_of)
def test_compiled_and_interpreted_agree(function: Callable[..., Any]) -> None:
    run = compiled(function)

    @given(SEEDS)
    @settings(max_examples=BATCHES)
    def agree(seed: int) -> None:
        told, _ = difference(run, function, seed)
        assert told is None, told

    agree()


def test_every_decision_is_compared() -> None:
    assert len(SUBJECTS) > 80
    compared = {name_of(function) for function in SUBJECTS} | OF_LISTS | {"fetch.first_unstable_offset"}
    assert {name_of(function) for function in public_functions()} == compared - {name_of(first_unstable_of)}


@pytest.mark.slow
def test_the_random_requests_reach_every_row() -> None:
    """What is compared is not only refused requests: each row of the reference answers some of them."""
    seen: set[int] = set()
    for function in SUBJECTS:
        result = typing.get_type_hints(function)["return"]
        if "row" in getattr(result, "_fields", ()):
            for seed in range(6):
                columns = drawn(function, seed, EXAMPLES)
                out = np.zeros((EXAMPLES, width_of(function)), np.int64)
                interpret(function, columns, out)
                seen |= set(out[:, result._fields.index("row")].tolist())
    assert set(Row) - seen == set()


def an_end_that_forgets_the_last_epoch(
    txn: Transaction, request: Request, rules: Rules, from_client: bool, next_producer_id: int
) -> Verdict:
    verdict = decide_end_txn(txn, request, rules, from_client, next_producer_id)
    if verdict.event == CoordinatorEvent.COMMIT and verdict.next_producer_id != NONE:
        return verdict._replace(last_producer_epoch=NONE)
    return verdict


def a_marker_that_keeps_the_first_offset(entry: ProducerEntry, marker: Request, event: int, state: int) -> int:
    first_offset = entry.txn_first_offset
    ended = evolve_marker(entry, marker, event, state)
    if event == PartitionEvent.ABORT_MARKER and entry.batch_count == 2:
        entry.txn_first_offset = first_offset
    return ended


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "right"),
    [(an_end_that_forgets_the_last_epoch, decide_end_txn), (a_marker_that_keeps_the_first_offset, evolve_marker)],
    ids=["a decision", "an evolution"],
)
def test_a_compiled_function_that_is_wrong_is_noticed(wrong: Callable[..., Any], right: Callable[..., Any]) -> None:
    """The twin differs in one field, in rare cases, and is found out with the row that shows it."""
    told, _ = difference(compiled(wrong), right, seed=1)
    assert told is not None
    assert told.startswith(f"{right.__name__}: compiled [")
    assert difference(compiled(right), right, seed=1)[0] is None
