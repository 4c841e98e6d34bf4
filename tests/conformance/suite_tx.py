"""TransactionCoordinatorConcurrency: what Kafka tries with threads holds here for every order of events.

Two requests that race are run in every order of the requests and of their appends, and each outcome that a case tells
of has to occur; many ids are run in every order for two of them, and in some orders for all.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import cycle
from typing import Any

from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, NotRunnable
from tests.conformance.interleaving import (
    EVENTS_OF_A_REQUEST,
    TOPIC_PARTITION,
    Ask,
    Lane,
    Lanes,
    interleavings,
    some_orders,
)
from tests.conformance.phrases import Fields, check, error_name, error_of, matched, partition_of, state_name, state_of
from zombieproof.formats.batches import Batch, Record, TransactionValue
from zombieproof.messages.transactions import AddPartitionsToTxn, EndTxn, InitProducerId, TransactionToAdd
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, TransactionState, TransactionVersion

MANY, ORDERS, SEED = 10, 50, 20
PRODUCER_ID, EPOCH = 11, 7
RACING = "known"
LOADING = 3
"""The partition that is being loaded."""
TV0, TV2 = int(TransactionVersion.TV0), int(TransactionVersion.TV2)
S = TransactionState


def run(case: Case) -> None:
    """Run one case by the rules of its baseline; of ``both`` by those of either."""
    for baseline in ("2024-10", "2026") if case.baseline == "both" else (case.baseline,):
        _understood(case)(case, rules_of(baseline))


def _understood(case: Case) -> Callable[[Case, Rules], None]:
    for pattern, play in PLAYS.items():
        if isinstance(case.when, str) and re.fullmatch(pattern, case.when):
            return play
    raise NotRunnable(f"when {case.when!r} is not understood")


# ---------------------------------------------------------------- what a client asks


def _init(producer_id: int = NONE, producer_epoch: int = NONE) -> Ask:
    return lambda lane: InitProducerId(4, lane.transactional_id, 1000, producer_id, producer_epoch)


def _add(version: int, place: tuple[str, int]) -> Ask:
    def ask(lane: Lane) -> AddPartitionsToTxn:
        asked = TransactionToAdd(lane.transactional_id, *lane.granted, (place,))
        return AddPartitionsToTxn(5 if version == TV2 else 3, (asked,))

    return ask


def _end(version: int, committed: bool) -> Ask:
    return lambda lane: EndTxn(5 if version == TV2 else 4, lane.transactional_id, *lane.granted, committed)


def _number_of(transactional_id: str) -> int:
    return int(transactional_id.rpartition("-")[2])


def _good_path(name: str, version: int, place: tuple[str, int] = TOPIC_PARTITION) -> Lane:
    """Init, add, end: a commit for even ids, an abort for odd ones."""
    return Lane(name, (_init(), _add(version, place), _end(version, _number_of(name) % 2 == 0)))


def _ids(how_many: int) -> list[str]:
    return [f"id-{number}" for number in range(how_many)]


def _across(name: str, partitions: int) -> int:
    """Ids are spread over all partitions but the last, which is for others."""
    return LOADING if name.startswith("other") else _number_of(name) % LOADING


def _turns(lanes: list[Lane]) -> list[int]:
    return [EVENTS_OF_A_REQUEST * len(lane.script) for lane in lanes]


# ---------------------------------------------------------------- TX-001 to TX-003: many ids


def _while_another_partition_loads(case: Case, rules: Rules) -> None:
    matched("many ids, one more log partition being marked as loading again and again", case.given, "given")
    words = r"every operation ends with (\w+) and the entry ends in (\w+) or (\w+) \(KAFKA-9777\)"
    error, *states = matched(words, case.expect, "expect").groups()
    place = partition_of(matched(r"for each id: init, add (\S+), end .*", case.when)[1])
    wanted = [state_of(name) for name in states]
    for version in (TV0, TV2):
        at, lanes = (
            Lanes(rules, partitions=LOADING + 1, place=_across),
            [_good_path(name, version, place) for name in _ids(MANY)],
        )
        at.metadata.create(place[0], [(0,)] * (place[1] + 1))
        outsider = Lane("other-0", (_init(),))
        for epoch, turn in enumerate(next(some_orders(_turns(lanes), 1, SEED))):
            at.coordinator.begin_loading(LOADING, epoch)
            at.turn(lanes[turn])
        at.turn(outsider)
        check("the partition is loading", [Error.COORDINATOR_LOAD_IN_PROGRESS], outsider.errors)
        for lane in lanes:
            check(f"answers of {lane.transactional_id}", [error_of(error)] * len(lane.script), lane.errors)
            even = _number_of(lane.transactional_id) % 2 == 0
            check(f"state of {lane.transactional_id}", state_name(wanted[0 if even else 1]), _state(at, lane))


def _state(at: Lanes, lane: Lane) -> str:
    return state_name(at.entry(lane.transactional_id).state)


def _any_interleaving(case: Case, rules: Rules) -> None:
    matched("many ids", case.given, "given")
    matched("same as when run alone", case.expect, "expect")
    for version in (TV0, TV2):
        alone = {name: _as_run_alone(name, version, rules) for name in _ids(MANY)}
        check("what runs alone succeeds", {(0, 0, 0)}, {errors for errors, _ in alone.values()})
        for names, orders in (
            (_ids(2), interleavings(_turns([_good_path(name, version) for name in _ids(2)]))),
            (_ids(MANY), some_orders(_turns([_good_path(name, version) for name in _ids(MANY)]), ORDERS, SEED)),
        ):
            for order in orders:
                at, lanes = Lanes(rules), [_good_path(name, version) for name in names]
                for turn in order:
                    at.turn(lanes[turn])
                got = {lane.transactional_id: (tuple(lane.errors), _state(at, lane)) for lane in lanes}
                check(f"order {order}", {name: alone[name] for name in names}, got)


def _as_run_alone(name: str, version: int, rules: Rules) -> tuple[tuple[int, ...], str]:
    at, lane = Lanes(rules), _good_path(name, version)
    for _ in range(_turns([lane])[0]):
        at.turn(lane)
    return tuple(lane.errors), _state(at, lane)


def _random_sequences(case: Case, rules: Rules) -> None:
    matched("many ids", case.given, "given")
    words = r"each reply is the one its entry's state allows; a second EndTxn after the end gives (\w+)"
    second = error_of(matched(words, case.expect, "expect")[1])
    half_merged = rules.end_by_request_version == 0
    for version in (TV0,) if half_merged else (TV0, TV2):
        chance = random.Random(SEED)  # an order of a test, no secret
        of_the_cluster = replace(rules, transaction_version=TV0) if half_merged else rules
        at, lanes = Lanes(of_the_cluster), [Lane(name, []) for name in _ids(MANY)]
        ended = 0
        for _ in range(ORDERS * MANY):
            lane = chance.choice(lanes)
            _ask_and_check(at, lane, chance.choice(("init", "add", "end")), version)
            if at.entry(lane.transactional_id).state in (S.COMPLETE_COMMIT, S.COMPLETE_ABORT):
                ended += 1
                other = version == TV2 or at.entry(lane.transactional_id).state == S.COMPLETE_ABORT
                check("a second EndTxn", error_name(second), error_name(_now(at, lane, _end(version, other))))
        check("transactions were ended", expected=True, got=ended > MANY)


def _ask_and_check(at: Lanes, lane: Lane, operation: str, version: int) -> None:
    committed, entry = _number_of(lane.transactional_id) % 2 == 0, at.entry(lane.transactional_id)
    allowed = _allowed(operation, entry, committed, version)
    asks = {"init": _init(), "add": _add(version, TOPIC_PARTITION), "end": _end(version, committed)}
    said = f"{operation} in {state_name(entry.state) if entry.known else 'nothing'}, version {version}"
    check(said, error_name(allowed), error_name(_now(at, lane, asks[operation])))


def _now(at: Lanes, lane: Lane, ask: Ask) -> int:
    """The error of a request that is run to its end. A client that was fenced goes on as its entry stands."""
    entry = at.entry(lane.transactional_id)
    lane.script, lane.asked, lane.identity = [ask], 0, (entry.producer_id, entry.producer_epoch)
    before = len(lane.answers)
    for _ in range(EVENTS_OF_A_REQUEST):
        at.turn(lane)
    check("answers", 1, len(lane.answers) - before)
    return lane.errors[-1]


def _allowed(operation: str, entry: Transaction, committed: bool, version: int) -> int:
    """What an entry's state allows to whoever owns it, in words of its own."""
    if operation == "init":
        return Error.CONCURRENT_TRANSACTIONS if entry.known and entry.state == S.ONGOING else Error.NONE
    if not entry.known:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if operation == "add" or entry.state == S.ONGOING:
        return Error.NONE
    if version == TV2:
        return Error.INVALID_TXN_STATE if committed else Error.NONE
    same = entry.state == (S.COMPLETE_COMMIT if committed else S.COMPLETE_ABORT)
    return Error.NONE if same else Error.INVALID_TXN_STATE


# ---------------------------------------------------------------- TX-004: load and unload


def _load_and_unload(case: Case, rules: Rules) -> None:
    given = Fields(case.given, "given")
    prepared = state_of(matched(r"entries ending in (\w+)", given.take("half_to_load"))[1])
    matched("loaded", given.take("half_to_unload"))
    given.done()
    words = r"loaded entries reach (\w+); unloaded entries are gone"
    reached = state_name(state_of(matched(words, case.expect, "expect")[1]))
    names, half = _ids(4), 2
    log = {name: [Batch(records=(Record(name, _value(prepared)),))] for name in names}
    for order in interleavings([2, 2, 1, 1]):
        at = Lanes(rules, partitions=len(names), place=lambda name, count: _number_of(name))
        for name in names[half:]:
            at.hold(name, Transaction(known=True, state=S.ONGOING, producer_id=PRODUCER_ID, producer_epoch=0))
        check("the other half is loaded", expected=True, got=all(at.entry(name).known for name in names[half:]))
        begun = set[int]()
        for lane in order:
            if lane >= half:
                at.coordinator.resign(lane, 1)
            elif lane in begun:
                at.carry_out(at.coordinator.finish_loading(lane, 1, log[names[lane]]), None)
                at.write_markers()
            else:
                begun.add(lane)
                at.coordinator.begin_loading(lane, 1)
        for name in names[:half]:
            check(f"order {order}: {name}", reached, state_name(at.entry(name).state))
        left = [name for name in names[half:] if at.coordinator.entries(_number_of(name))]
        check(f"order {order}: left of the unloaded", [], left)


def _value(state: TransactionState) -> TransactionValue:
    partitions = frozenset({TOPIC_PARTITION})
    return TransactionValue(PRODUCER_ID, PRODUCER_ID, NONE, 0, NONE, 1000, state, partitions, 0, 0, 0)


# ---------------------------------------------------------------- TX-005 to TX-008: two InitProducerId at once

Identities = tuple[tuple[int, int] | None, ...]
"""What each of two racing requests was granted; None where it was refused."""


def _races(rules: Rules, entry: Transaction | None, producer_ids: list[int], asks: list[Ask]) -> set[Identities]:
    """Every outcome of a race, over all orders of its requests and appends."""
    outcomes = set[Identities]()
    for order in interleavings([EVENTS_OF_A_REQUEST] * len(asks)):
        at = Lanes(rules, producer_ids)
        if entry is not None:
            at.hold(RACING, replace(entry))
        lanes = [Lane(RACING, (ask,)) for ask in asks]
        for turn in order:
            at.turn(lanes[turn])
        check(f"order {order}: answers", [1] * len(lanes), [len(lane.answers) for lane in lanes])
        outcomes.add(tuple(lane.granted if lane.errors == [0] else None for lane in lanes))
    return outcomes


def _entry(producer_id: int, producer_epoch: int, **facts: Any) -> Transaction:
    usual: dict[str, Any] = {
        "previous_producer_id": producer_id,
        "last_producer_epoch": producer_epoch - 1,
        "timeout_ms": 1000,
    }
    return Transaction(known=True, producer_id=producer_id, producer_epoch=producer_epoch, **(usual | facts))


def _new_and_continuing(case: Case, rules: Rules) -> None:
    given = Fields(case.given, "given")
    matched("E", given.take("epoch"), "epoch")
    given.done()
    producer_id = int(matched(r"one InitProducerId without identity and one with \((\d+), E\) at once", case.when)[1])
    words = r"at least one NONE; both: continuing E\+(\d+) and new E\+(\d+) \(new ran second\); one: E\+(\d+)"
    continuing, new, one = (EPOCH + int(more) for more in matched(words, case.expect, "expect").groups())
    got = _races(rules, _entry(producer_id, EPOCH), [], [_init(producer_id, EPOCH), _init()])
    either = {((producer_id, one), None), (None, (producer_id, one))}
    check("outcomes", {((producer_id, continuing), (producer_id, new)), *either}, got)


def _two_without_state(case: Case, rules: Rules) -> None:
    given = Fields(case.given, "given")
    check("the entry given", None, given.take("txn", "missing"))
    given.done()
    producer_id, epoch = map(int, matched(r"two InitProducerId with \((\d+), (\d+)\) at once", case.when).groups())
    words = r"exactly one NONE, with epoch (\d+); the other is refused"
    granted = (producer_id, int(matched(words, case.expect, "expect")[1]))
    asks = [_init(producer_id, epoch), _init(producer_id, epoch)]
    check("outcomes", {(granted, None), (None, granted)}, _races(rules, None, [producer_id], asks))


def _at_the_last_epoch(case: Case, rules: Rules) -> None:
    given = Fields(case.given, "given")
    state, producer_id, epoch = state_of(given.take("state")), given.take("pid"), given.take("epoch")
    given.done()
    asked = tuple(map(int, matched(r"\((\d+), (\d+)\) and no identity at once", case.when).groups()))
    check("the identity that continues", (producer_id, epoch), asked)
    words = rf"both NONE: continuing {IDENTITY}, new {IDENTITY}; either alone: {IDENTITY}"
    continuing, new, alone = _identities(words, case.expect)
    got = _races(rules, _entry(producer_id, epoch, state=state), [alone[0]], [_init(*asked), _init()])
    check("outcomes", {(continuing, new), (alone, None), (None, alone)}, got)


def _retry_after_rotation(case: Case, rules: Rules) -> None:
    given = Fields(case.given, "given")
    producer_id, epoch = given.take("already_rotated_to")
    given.done()
    before, last = map(int, matched(r"retry \((\d+), (\d+)\) and no identity at once", case.when).groups())
    words = rf"both NONE: retry {IDENTITY}, new {IDENTITY}; only retry: {IDENTITY}; only new: {IDENTITY}"
    retry, new, only_retry, only_new = _identities(words, case.expect)
    entry = _entry(producer_id, epoch, previous_producer_id=before, last_producer_epoch=last)
    got = _races(rules, entry, [], [_init(before, last), _init()])
    check("outcomes", {(retry, new), (only_retry, None), (None, only_new)}, got)


IDENTITY = r"\((\d+), (\d+)\)"


def _identities(words: str, phrase: object) -> Iterator[tuple[int, int]]:
    numbers = cycle(map(int, matched(words, phrase, "expect").groups()))
    for _ in range(words.count(IDENTITY)):
        yield next(numbers), next(numbers)


PLAYS: Mapping[str, Callable[[Case, Rules], None]] = {
    r"for each id: init, add \S+, end \(commit for even ids, abort for odd\)": _while_another_partition_loads,
    r"init, add, end, all ids interleaved": _any_interleaving,
    r"random operation sequences": _random_sequences,
    r"load the one half while unloading the other": _load_and_unload,
    r"one InitProducerId without identity and one with .* at once": _new_and_continuing,
    r"two InitProducerId with .* at once": _two_without_state,
    r"\(\d+, \d+\) and no identity at once": _at_the_last_epoch,
    r"retry .* and no identity at once": _retry_after_rotation,
}
"""What a case does, and who knows how."""
