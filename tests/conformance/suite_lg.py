"""The log of one partition: what is accepted, what is stable, and what is known after truncation or a restart.

A case is what was appended before, steps (`log_phrases`), and what is so behind each of them. An expectation that is a
list has one value for each step, or for each move of the high watermark. Verification is off but where a case is about
it. Cases in plain prose are not understood here: tests are written for them.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.broker.partitions import data
from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, Failed, NotRunnable
from tests.conformance.log_phrases import World, actions, perform
from tests.conformance.phrases import Fields, check, error_name, error_of, listed, matched
from zombieproof.model.decisions.produce import has_open_transaction
from zombieproof.model.rules import with_switches
from zombieproof.model.vocabulary import NONE, Isolation, Mode

SAME = "same pid, base offset and base sequence for each batch"


def run(case: Case) -> None:
    """Run one case."""
    if isinstance(case.given, Mapping) and "verification" in case.given:
        _guards(case)
        return
    world = World(with_switches(rules_of(case.baseline), off=["verification"]))
    if case.given != {}:
        perform(world, case.given)
        check("given: error", 0, world.error)
    if isinstance(case.expect, list | str):
        _each_step(world, listed(case.when), listed(case.expect))
        return
    steps = listed(case.when)
    moves = [(step, match, action) for step in steps for match, action in actions(step)]
    _series(world, moves, Fields(case.expect, "expect"), len(steps))


def _each_step(world: World, steps: list[Any], expected: list[Any]) -> None:
    if len(steps) != len(expected):
        raise NotRunnable(f"{len(steps)} steps, but {len(expected)} expectations")
    for step, wanted in zip(steps, expected, strict=True):
        before, sent = world.replica.log.end_offset, len(world.sent)
        perform(world, step)
        if isinstance(wanted, str):
            _answer(world, step, wanted, before, sent)
        else:
            fields = Fields(wanted, "expect")
            _values(world, step, fields)
            fields.done()


def _answer(world: World, step: str, wanted: str, before: int, sent: int) -> None:
    """An error, or "ok", or that the batch was in the log before."""
    if wanted == "ok" or re.fullmatch(r"[A-Z_]{5,}", wanted):
        expected = "NONE" if wanted == "ok" else wanted
        check(f"{step}: error", expected, error_name(world.error))
        error_of(expected)
        if wanted != "ok":
            check(f"{step}: end of the log behind a refusal", before, world.replica.log.end_offset)
        return
    matched(r"same offsets as the first time(?: and nothing appended)?|accepted as a duplicate and nothing appended",
            wanted, "expect")  # fmt: skip
    last = world.sent[-1]
    first = next(batch for batch in world.sent if _is_same(batch, last) and batch.base_offset != NONE)
    check(f"{step}: error", "NONE", error_name(world.error))
    check(f"{step}: duplicate", True, world.is_duplicate)
    check(f"{step}: offset", first.base_offset, world.offset)
    appended = sum(batch.last_offset_delta + 1 for batch in world.sent[sent:-1])
    check(f"{step}: end of the log", before + appended, world.replica.log.end_offset)


def _is_same(one: Any, other: Any) -> bool:
    return bool((one.producer_id, one.base_sequence, one.last_sequence)
                == (other.producer_id, other.base_sequence, other.last_sequence))  # fmt: skip


# ---------------------------------------------------------------- series of values


def _series(world: World, moves: list[Any], fields: Fields, steps: int) -> None:
    """Perform everything, compare lists value by value and plain values at the end."""
    wanted = dict(fields.items())
    index = wanted.pop("aborted", None)
    reads = wanted.pop("read_committed_fetch", None)
    series = {key: list(value) for key, value in wanted.items() if isinstance(value, list)}
    if not all(series.values()):
        raise NotRunnable(f"{next(key for key, values in series.items() if not values)} is empty: it says nothing")
    by_watermark = {key: len(values) != len(moves) for key, values in series.items()}
    for number, (step, match, action) in enumerate(moves):
        action(world, match)
        last_of_step = number + 1 == len(moves) or moves[number + 1][0] is not step
        for key, values in series.items():
            if not by_watermark[key] or match[0].startswith("HW"):
                if not values:
                    raise NotRunnable(f"{key} has fewer values than there are steps")
                _compare(world, f"{match[0]}: {key}", key, values.pop(0))
        if reads is not None:
            _reads(world, reads)
        if last_of_step:
            world.follows = False
    if any(series.values()):
        raise NotRunnable(f"{', '.join(key for key, values in series.items() if values)}: more values than steps")
    if index is not None:
        _index(world, index)
    rest = {key: value for key, value in wanted.items() if key not in series}
    _values(world, "at the end", Fields(rest, "expect", is_rest=True))


def _values(world: World, step: str, fields: Fields) -> None:
    for key, value in fields.items():
        _compare(world, f"{step}: {key}", key, value)


def _compare(world: World, what: str, key: str, value: Any) -> None:
    of_producer = re.fullmatch(r"pid(\d+)_last_seq", key)
    if of_producer is not None:
        world.producer_id, key = int(of_producer[1]), "last_seq"
    if key not in READERS:
        raise NotRunnable(f"expect: {key!r} is not understood")
    if key == "read":
        matched(SAME, value, "read")
    check(what, _number(world, value), READERS[key](world))


def _number(world: World, value: Any) -> Any:
    names = {"none": NONE, "end of log": world.replica.log.end_offset}
    return names.get(value, value) if isinstance(value, str) else value


def _described(world: World, name: str) -> int:
    rows = [row for row in world.replica.describe_producers().producers if row.producer_id == world.producer_id]
    if len(rows) != 1:
        raise Failed(f"producer {world.producer_id} is not described")
    return int(getattr(rows[0], name))


def _read(world: World) -> str:
    """Whether what is read back is what was sent."""
    read = [(b.producer_id, b.base_offset, b.base_sequence) for b in world.replica.log.read()]
    sent = [(b.producer_id, b.base_offset, b.base_sequence) for b in world.sent]
    return SAME if read == sent else f"{read}, sent were {sent}"


READERS: Mapping[str, Callable[[World], Any]] = {
    "error": lambda world: error_name(world.error),
    "fuo": lambda world: world.replica.first_unstable_offset,
    "lso": lambda world: world.replica.last_stable_offset,
    "log_end": lambda world: world.replica.log.end_offset,
    "log_start": lambda world: world.replica.log.start_offset,
    "active_producers": lambda world: len(world.replica.producers),
    "last_seq": lambda world: _described(world, "last_sequence"),
    "txn_start": lambda world: _described(world, "txn_start_offset"),
    "coordinator_epoch": lambda world: _described(world, "coordinator_epoch"),
    "read": _read,
    "snapshots": lambda world: len(world.place.snapshots.offsets()),
    "newest_snapshot": lambda world: world.replica.producers.snapshots.newest,
    "oldest_snapshot": lambda world: world.replica.producers.snapshots.oldest,
}


def _index(world: World, wanted: Any) -> None:
    pattern = r"\(pid (\d+), first (\d+), last (\d+), lso (\d+)\)"
    rows = [tuple(int(number) for number in matched(pattern, row, "entry").groups()) for row in listed(wanted)]
    check("aborted", rows, [tuple(entry) for entry in world.replica.aborted])


def _reads(world: World, wanted: Any) -> None:
    matched("non-empty from log start up to LSO - 1, empty from LSO on, at every step", wanted, "read_committed_fetch")
    replica = world.replica
    for offset in range(replica.log.start_offset, replica.log.end_offset + 1):
        found = bool(replica.fetch(offset, Isolation.READ_COMMITTED).batches)
        check(f"read_committed fetch at {offset} finds something", offset < replica.last_stable_offset, found)


# ---------------------------------------------------------------- guards


def _guards(case: Case) -> None:
    """The life of a guard; transactional batches come with the guard that their producer was given last."""
    fields = Fields(case.given, "given")
    if fields.take("verification") is not True:
        raise NotRunnable("verification is not on")
    world = World(rules_of(case.baseline))
    world.producer_id = int(fields.take("pid", 1))
    epoch = int(fields.take("epoch", 0))
    held = fields.take("guard")
    fields.done()
    steps = [part for step in listed(case.when) for part in str(step).split("; ")]
    expected = listed(case.expect)
    guards: dict[str, int] = {}
    if held is not None:
        matched("held", held, "guard")
        guards["held"] = _begin(world, epoch, steps)
    if isinstance(case.expect, Mapping):
        expected = [None] * (len(steps) - 1) + expected
    if len(steps) != len(expected):
        raise NotRunnable(f"{len(steps)} steps, but {len(expected)} expectations")
    for step, wanted in zip(steps, expected, strict=True):
        given = _guard_step(world, step, epoch, steps)
        if wanted is not None or isinstance(case.expect, list):
            _expect_guard(world, step, Fields(wanted, "expect"), epoch, guards, given)


def _begin(world: World, epoch: int, steps: list[str]) -> int:
    """Ask for the guard of the transactional batch that is to come: what is idempotent goes before it."""
    ahead = next((steps.index(step) for step in steps if step.startswith("transactional append")), len(steps))
    waiting = sum(1 for step in steps[:ahead] if step == "idempotent append")
    first = world.next_sequence + (waiting if world.next_sequence == 0 else 0)
    batch = data(world.producer_id, first, epoch=epoch)
    return world.replica.begin_verification(batch, Mode.GENERIC).guard


def _guard_step(world: World, step: str, epoch: int, steps: list[str]) -> int:
    """Do one step; returned is the guard that it was given."""
    entry = world.replica.producers.get(world.producer_id)
    guard = 0 if entry is None else entry.guard
    if step in ("begin verification", "begin verification again in the same transaction"):
        return _begin(world, epoch, steps)
    if step == "idempotent append":
        world.write(data(world.producer_id, world.next_sequence, epoch=epoch, transactional=False))
    elif step in ("transactional append with the guard", "transactional append without guard"):
        world.write(data(world.producer_id, world.next_sequence, epoch=epoch), guard if "with the" in step else 0)
    elif step == "switch verification off":
        rules = with_switches(world.rules, off=["verification"])
        world.rules = world.replica.rules = world.replica.producers.rules = rules
    elif step in ("COMMIT marker", "ABORT marker"):
        perform(world, step.removesuffix(" marker"))
    else:
        raise NotRunnable(f"step {step!r} is not understood")
    check(f"{step}: error", 0, world.error)
    return 0


def _expect_guard(world: World, step: str, fields: Fields, epoch: int, guards: dict[str, int], given: int) -> None:
    entry = world.replica.producers.get(world.producer_id)
    ongoing, wanted = fields.take("ongoing"), fields.take("guard")
    if ongoing is not None:
        check(f"{step}: ongoing", ongoing, entry is not None and has_open_transaction(entry, epoch, world.rules))
    fields.done()
    if wanted is None:
        return
    guard = 0 if entry is None else entry.guard
    match = matched(
        r"new (?P<new>\w+)|(?P<kept>\w+) kept|cleared|none|(?P<needless>none needed)"
        r"|new and different from (?P<other>\w+)",
        wanted,
        "guard",
    )
    if match["new"]:
        check(f"{step}: a guard was given", True, given != 0)
        guards[match["new"]] = given
    elif match["kept"] or match["other"]:
        name = match["kept"] or match["other"]
        if name not in guards:
            raise NotRunnable(f"no guard is called {name}")
        check(f"{step}: {wanted}", bool(match["kept"]), guard == guards[name])
        check(f"{step}: there is a guard", True, guard != 0)
    else:
        check(f"{step}: guard", 0, given if match["needless"] else guard)
