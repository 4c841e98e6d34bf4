"""TransactionCoordinator: one request after the other at one id, or what the coordinator does by itself.

A case is run for every alternative that it names (``tv: [0, 2]``, ``COMMIT or ABORT``), and where it holds in both
baselines by the rules of both. What is of "2026" only is run under the rules of KIP-939, which no release has whole.
"""

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, NotRunnable
from tests.conformance.coordinator_answers import (
    Seen,
    check_producer_id,
    compare,
    compare_record,
)
from tests.conformance.coordinator_operations import Client, carry_out, steps_of
from tests.conformance.coordinator_scenario import PARTITION, PRODUCER_EPOCH, PRODUCER_ID, Scenario, entry_of
from tests.conformance.phrases import Fields, check, error_name, error_of, listed, matched
from zombieproof.messages.transactions import InitProducerIdAnswer
from zombieproof.model.rules import Rules, preset
from zombieproof.model.vocabulary import Error

NEWEST_LINE = "kip939"
OLDER = "2024-10"
VERSIONS = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Variant:
    """One alternative of a case: `pick` is the position of the alternative in a phrase."""

    given: dict[str, Any]
    steps: list[dict[str, Any]]
    version: int
    client_version: int
    pick: int


def run(case: Case) -> None:
    """Run one case in all its alternatives."""
    expect, older = _without_older(case.expect)
    for rules in _lines(case.baseline):
        for variant in variants(case):
            _run(case, variant, expect, rules)
    if older is not None:
        for variant in variants(case):
            _run(case, variant, {"error": older}, rules_of(OLDER))


def _lines(baseline: str) -> list[Rules]:
    if baseline == "2026":
        return [preset(NEWEST_LINE)]
    return [rules_of(OLDER)] + ([rules_of(baseline)] if baseline == "both" else [])


def _without_older(expect: object) -> tuple[object, str | None]:
    """What is expected, and the error that the line of October 2024 answered instead."""
    if not isinstance(expect, Mapping) or "older" not in expect:
        return expect, None
    older = Fields(expect["older"], "older")
    error = older.take(OLDER)
    older.done()
    return {key: value for key, value in expect.items() if key != "older"}, error


# ---------------------------------------------------------------- alternatives


def variants(case: Case) -> Iterator[Variant]:
    """Every alternative of a case."""
    given = dict(case.given) if isinstance(case.given, Mapping) else {}
    if given != case.given:
        raise NotRunnable(f"given is {case.given!r}, not a mapping")
    entry = given.get("txn") or {}
    if isinstance(case.expect, Mapping) and "markers" in case.expect:
        entry = {"partitions": ["topic1-0"], **entry}
    states, epochs = _alternatives(entry.get("state", "Empty")), _alternatives(entry.get("epoch", PRODUCER_EPOCH))
    steps = steps_of(case.when)
    results = _alternatives(next((step["result"] for step in steps if "result" in step), "COMMIT"))
    for state, epoch, version in product(states, epochs, listed(entry.get("tv", 0))):
        for client_version in _client_versions(steps, version):
            for pick, result in enumerate(results):
                told = {**entry, "state": state, "epoch": epoch} if "txn" not in given or given["txn"] else None
                chosen = [{**step, "result": result} if "result" in step else dict(step) for step in steps]
                yield Variant({**given, "txn": told}, chosen, version, client_version, pick)


def _alternatives(value: object) -> list[Any]:
    """``A | B`` and ``A or B``; of a number it may be said where the producer id rotates."""
    if not isinstance(value, str):
        return [value]
    parts = [re.sub(r" \(rotation in (?:init|end)\)", "", part).strip() for part in re.split(r" \| | or ", value)]
    return [int(part) if part.isdigit() else part for part in parts]


def _client_versions(steps: list[dict[str, Any]], version: int) -> list[int]:
    named = [step["client_tv"] for step in steps if "client_tv" in step]
    if not named or named[0] == "same as stored":
        return [version]
    versions = listed(named[0])
    if any(each not in VERSIONS for each in versions):
        raise NotRunnable(f"client_tv {named[0]!r} is not understood")
    return versions


# ---------------------------------------------------------------- running


def _run(case: Case, variant: Variant, expect: object, rules: Rules) -> None:
    scenario, client, race = _prepared(variant, rules)
    seen = [_step(scenario, client, step, variant, race) for step in variant.steps[:1]]
    expected = expect if isinstance(expect, list) else None
    if expected is not None and len(expected) != len(variant.steps):
        raise NotRunnable(f"{len(variant.steps)} steps, but {len(expected)} expectations")
    for position, step in enumerate(variant.steps):
        if position > 0:
            seen.append(_step(scenario, client, step, variant, race))
        if expected is not None:
            _compare(seen[position], expected[position], variant, rules)
    if expected is None:
        is_phrase = isinstance(case.when, str)
        rest = _whole(seen, expect) if is_phrase else expect
        if not isinstance(case.when, str) and len(seen) != 1:
            raise NotRunnable(f"{len(seen)} steps, but one expectation")
        _compare(seen[-1], rest, variant, rules, is_rest=is_phrase)


def _prepared(variant: Variant, rules: Rules) -> tuple[Scenario, Client, object]:
    fields = Fields(variant.given, "given")
    server_version = fields.take("server_tv", 2)
    if server_version not in VERSIONS:
        raise NotRunnable(f"server_tv {server_version!r} is not understood")
    scenario = Scenario(
        replace(rules, transaction_version=server_version),
        fields.take("pid_generator"),
        fields.take("append", []),
        bool(fields.take("two_pc", False)),
    )
    entry, standing, race = fields.take("txn"), fields.take("coordinator"), fields.take("race")
    owns, epoch = fields.take("owns"), fields.take("coordinator_epoch", 0)
    fields.done()
    client = Client(PRODUCER_ID, PRODUCER_EPOCH, variant.client_version)
    if standing is not None:
        if error_of(standing) == Error.COORDINATOR_LOAD_IN_PROGRESS:
            scenario.coordinator.begin_loading(PARTITION, epoch)
        else:
            matched("NOT_COORDINATOR", standing, "coordinator")
        return scenario, client, race
    check("the partitions owned", [PARTITION], [PARTITION] if owns is None else owns)
    scenario.own(epoch)
    if entry is not None and owns is None:
        held = entry_of(scenario, entry, variant.version)
        client.producer_id, client.producer_epoch = held.producer_id, held.producer_epoch
        scenario.hold(held)
    return scenario, client, race


def _step(scenario: Scenario, client: Client, step: dict[str, Any], variant: Variant, race: object) -> Seen:
    before = copy.copy(scenario.entry)
    told = carry_out(scenario, client, step if race is None else {**step, "race": race})
    return Seen(scenario, client, told, before, variant.pick)


def _compare(seen: Seen, expect: object, variant: Variant, rules: Rules, *, is_rest: bool = False) -> None:
    fields = Fields(expect, "expect", is_rest=is_rest)
    note, also = fields.take("note"), fields.take("also")
    compare(seen, dict(fields.items()))
    if note is not None:
        _compare_note(seen, note, variant, rules)
    if also is not None:
        matched("repeating the call gives the same answer", also, "also")
        again = carry_out(seen.scenario, seen.client, variant.steps[-1])
        check("the repeated answer", seen.told.answer, again.answer)


# ---------------------------------------------------------------- of a phrase as a whole


def _whole(seen: list[Seen], expect: object) -> dict[str, Any]:
    """Assert what is expected of all steps together; returned is what is expected of the last one."""
    fields = Fields(expect, "expect")
    grants = [each.told.answer for each in seen if isinstance(each.told.answer, InitProducerIdAnswer)]
    epochs = fields.take("client_epochs")
    if epochs is not None:
        check("client epochs", epochs, [grant.producer_epoch for grant in grants])
    distinct = fields.take("distinct_pids")
    if distinct is not None:
        check("distinct pids", distinct, len(set(seen[0].scenario.producer_ids.handed_out)))
    final_epoch = fields.take("final_client_epoch")
    if final_epoch is not None:
        check("final client epoch", final_epoch, grants[-1].producer_epoch)
    _markers(seen, fields.take("markers"))
    _final(seen, fields.take("final"))
    retry = fields.take("retry")
    if retry is not None:
        check("error of the retry", error_name(error_of(retry)), error_name(seen[-1].error))
        check("appended by the retry", [], seen[-1].told.log)
    return dict(fields.items())


def _markers(seen: list[Seen], expect: object) -> None:
    if expect is None:
        return
    fields, start = Fields(expect, "markers"), seen[0].before
    markers = [marker for each in seen for marker in each.told.markers]
    check("there are markers", expected=True, got=bool(markers))
    matched("original", fields.take("pid"), "pid")
    above = int(matched(r"start \+ (\d+)", fields.take("epoch"), "epoch")[1])
    wanted = {(start.producer_id, start.producer_epoch + above)}
    check("markers", wanted, {(marker.producer_id, marker.producer_epoch) for marker in markers})
    fields.done()


def _final(seen: list[Seen], expect: object) -> None:
    if expect is None:
        return
    fields, start, entry = Fields(expect, "final"), seen[0].before, seen[-1].scenario.entry
    wanted: dict[str, Any] = {}
    for key, value in fields.items():
        match = re.fullmatch(r"epoch_if_start_(\d+)", key)
        if match is None:
            wanted[key] = start.producer_id if key == "prev_pid" and value == "original" else value
        elif int(match[1]) == start.producer_epoch:
            wanted["epoch"] = value
    check("the epoch is expected", expected=True, got="epoch" in wanted)
    compare_record(seen[-1], "final", entry, Fields(wanted, "final"))


# ---------------------------------------------------------------- notes


def _compare_note(seen: Seen, note: object, variant: Variant, rules: Rules) -> None:
    for pattern, told in NOTES.items():
        match = re.fullmatch(pattern, note) if isinstance(note, str) else None
        if match is not None:
            told(seen, match, variant, rules)
            return
    raise NotRunnable(f"note {note!r} is not understood")


Note = Callable[[Seen, re.Match[str], Variant, Rules], None]


def _asked_otherwise(variant: Variant, rules: Rules, client_version: int | None = None, **changes: object) -> Seen:
    """The only step of a case, with something else in it."""
    version = variant.client_version if client_version is None else client_version
    other = replace(variant, client_version=version)
    scenario, client, _ = _prepared(other, rules)
    return _step(scenario, client, {**variant.steps[0], **changes}, other, None)


def _epochs_in_log(seen: Seen, match: re.Match[str], variant: Variant, rules: Rules) -> None:
    record = seen.told.log[0]
    assert record is not None, "the states in the log were compared"
    if variant.client_version == 2:
        wanted: tuple[int, ...] = (int(match["raised"]), int(match["last"]))
        check("epoch and last epoch", wanted, (record.producer_epoch, record.last_producer_epoch))
    else:
        check("epoch", int(match["kept"]), record.producer_epoch)


def _next_attempt(seen: Seen, match: re.Match[str], variant: Variant, rules: Rules) -> None:
    told = carry_out(seen.scenario, seen.client, variant.steps[-1])
    check("epochs of the next attempt", [int(match[1])], [value.producer_epoch for value in told.log if value])


def _fencing_wins(seen: Seen, match: re.Match[str], variant: Variant, rules: Rules) -> None:
    other = _asked_otherwise(variant, rules, epoch=seen.before.producer_epoch)
    check("error without a fence", match[1], error_name(other.error))


def _bumped_back(seen: Seen, match: re.Match[str], variant: Variant, rules: Rules) -> None:
    check("the epoch that was bumped", variant.steps[0]["epoch"] + 1, seen.identity()[1])


def _entry_decides(seen: Seen, match: re.Match[str], variant: Variant, rules: Rules) -> None:
    for version in VERSIONS:
        other = _asked_otherwise(variant, rules, client_version=version)
        check(f"the answer to version {version}", (seen.error, *seen.identity()), (other.error, *other.identity()))


def _not_bumped(seen: Seen, match: re.Match[str], variant: Variant, rules: Rules) -> None:
    check("epoch", seen.before.producer_epoch, seen.identity()[1])


def _no_retry(seen: Seen, match: re.Match[str], variant: Variant, rules: Rules) -> None:
    retry = _asked_otherwise(variant, rules, epoch=seen.before.producer_epoch - 1)
    check("error of a retry", Error.NONE, Error(retry.error))


def _arguments_first(seen: Seen, match: re.Match[str], variant: Variant, rules: Rules) -> None:
    other = _asked_otherwise(variant, rules, tid="known")
    check("error with good arguments", variant.given["coordinator"], error_name(other.error))


def _one_below(seen: Seen, match: re.Match[str], variant: Variant, rules: Rules) -> None:
    if variant.client_version == 2:
        epochs = {seen.before.producer_epoch - 1: Error.NONE, seen.before.producer_epoch - 2: Error.PRODUCER_FENCED}
        for epoch, error in epochs.items():
            check(f"error of epoch {epoch}", error, Error(_asked_otherwise(variant, rules, epoch=epoch).error))


def _only_exhausted(seen: Seen, match: re.Match[str], variant: Variant, rules: Rules) -> None:
    """Behind a rotation at the end of the epochs the previous identity is known: its retry gets the new one again."""
    rotated = {**variant.given["txn"], "epoch": 0, "last_epoch": rules.epoch_max - 1}
    other = replace(variant, given={**variant.given, "txn": rotated})
    for epoch, error in ((rules.epoch_max - 1, Error.NONE), (rules.epoch_max - 2, Error.PRODUCER_FENCED)):
        told = _asked_otherwise(other, rules, pid=seen.before.previous_producer_id, epoch=epoch)
        check(f"error of epoch {epoch}", error, Error(told.error))
        if error == Error.NONE:
            check_producer_id(told, seen.before.producer_id, told.identity()[0])


NOTES: Mapping[str, Note] = {
    r"TV0 keeps epoch (?P<kept>\d+); TV2 appends epoch (?P<raised>\d+) with last_epoch (?P<last>\d+)": _epochs_in_log,
    r"the next attempt reuses epoch (\d+)": _next_attempt,
    r"fencing wins over the state's (\w+)": _fencing_wins,
    r"a TV2 retry carries the epoch before the bump and gets the bumped one back": _bumped_back,
    r"the stored entry's version decides, not the request's": _entry_decides,
    r"not bumped because the commit began under TV0": _not_bumped,
    r"an equal epoch is the next transaction's EndTxn and not a retry": _no_retry,
    r"argument check precedes the ownership check": _arguments_first,
    r"under TV2 exactly one below would be a retry; two below is fenced": _one_below,
    r"the previous pid is accepted only with an exhausted epoch": _only_exhausted,
}
"""What a note says, and how it is seen to be so."""
