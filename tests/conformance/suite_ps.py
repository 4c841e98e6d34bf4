"""ProducerStateManager: what the leader of a partition remembers of its producers.

A case is a state, steps (`producer_phrases`), and what is so behind each of them. Verification is off but for cases
that open one: it belongs to the log around the producer state. A refused batch, and one that was only judged, must
leave no trace; that is asserted in every step.
"""

import copy
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, NotRunnable
from tests.conformance.phrases import Fields, check, error_name, error_of, listed, matched
from tests.conformance.producer_phrases import damage, make_snapshots, perform
from tests.conformance.producer_readers import READERS, WORDS, number_of
from tests.conformance.producer_world import World, data_batch
from zombieproof.model.rules import with_switches
from zombieproof.model.vocabulary import Mode, Origin


def run(case: Case) -> None:
    """Run one case; one that leaves a setting open is run with each of its values."""
    given = dict(case.given) if isinstance(case.given, Mapping) else case.given
    enabled = given.pop("verification_enabled", None) if isinstance(given, dict) else None
    if enabled is None:
        _run(replace(case, given=given), None)
        return
    matched("true, or switched off meanwhile", enabled, "verification_enabled")
    for is_on in (True, False):
        _run(replace(case, given=given), is_on)


def _run(case: Case, verification_stays_on: bool | None) -> None:
    world = World(rules_of(case.baseline))
    if not _opens_verification(case) and not (isinstance(case.given, Mapping) and "verification" in case.given):
        world.rules = world.states.rules = _switched(world, on=False)
    reads_late = _given(world, Fields(case.given, "given"))
    if verification_stays_on is not None:
        world.rules = world.states.rules = _switched(world, on=verification_stays_on)
    steps, expected = _aligned(case)
    for step, wanted in zip(steps, expected, strict=True):
        before = copy.deepcopy(world.entry)
        if isinstance(wanted, Mapping) and "before_first_commit" in wanted:
            _validate_and_commit(world, step, Fields(wanted, "expect"))
            continue
        perform(world, step)
        if world.error and world.entry is not None and before is not None:
            check(f"{step}: what is remembered behind a refusal", before, world.entry)
        _expect(world, step, wanted, reads_late, str(case.note))


def _switched(world: World, *, on: bool) -> Any:
    return with_switches(world.rules, **{"on" if on else "off": ["verification"]})


def _aligned(case: Case) -> tuple[list[Any], list[Any]]:
    """The steps, and for each what is expected behind it."""
    steps, expected = listed(case.when), case.expect
    if isinstance(case.when, str):
        steps = case.when.split("; ")
        if not isinstance(expected, list) or len(steps) == 1:
            return [case.when], [expected]
    if not isinstance(expected, list) or len(steps) != len(expected):
        raise NotRunnable(f"{len(steps)} steps, but other expectations")
    return steps, expected


def _opens_verification(case: Case) -> bool:
    phrases = [phrase for phrase in listed(case.when) if isinstance(phrase, str)]
    return any(re.match(r"open verification|seq \d+ epoch", phrase) for phrase in phrases)


# ---------------------------------------------------------------- given


def _given(world: World, fields: Fields) -> bool:
    """Bring about what is given; returned is whether plain booleans in expect say if a transaction is late."""
    opened = fields.take("verification")
    late_after = fields.take("late_after_ms")
    if late_after is not None:
        matched(r"max timeout \+ buffer", late_after, "late_after_ms")
    nothing_known = fields.take("no_state_for_pid")
    if nothing_known not in (None, True):
        raise NotRunnable(f"no_state_for_pid is {nothing_known!r}")
    for key in ("state", "open"):
        phrase = fields.take(key)
        if phrase is not None:
            perform(world, phrase)
            check(f"{key}: error", 0, world.error)
    if opened is not None:
        _open(world, opened)
    _snapshots(world, fields)
    fields.done()
    return late_after is not None


def _open(world: World, phrase: object) -> None:
    match = matched(
        r"open(?:, (?P<mode>TV2|before TV2), lowest sequence (?P<lowest>\d+))?|seq (?P<seq>\d+) epoch (?P<epoch>\d+)",
        phrase,
        "verification",
    )
    world.mode = Mode.ADD if match["mode"] == "TV2" else Mode.GENERIC
    world.verify(int(match["lowest"] or match["seq"] or 0), int(match["epoch"] or 0))


def _snapshots(world: World, fields: Fields) -> None:
    told, on_disk, files = fields.take("snapshots"), fields.take("snapshots_on_disk"), fields.take("files")
    segments, kept = fields.take("segments"), fields.take("kept_copy")
    if isinstance(told, str):
        rows = [matched(r"at (\d+) \((.+)\)", row, "snapshot") for row in told.split(", ")]
        make_snapshots(world, [int(row[1]) for row in rows])
        for row in rows:
            if row[2] != "good":
                damage(world, int(row[1]), row[2])
                world.damaged.append(int(row[1]))
        return
    gone = None
    if isinstance(files, str):
        match = matched(r"(\d+), then removed by someone else", files, "files")
        gone, files = int(match[1]), [int(match[1])]
    for offsets in (told, on_disk, files):
        if offsets is not None:
            make_snapshots(world, offsets)
    if gone is not None:
        world.store.delete(gone)
    for offset in [] if kept is None else listed(kept):
        world.kept_copies[offset] = world.store.read(offset) or b""
    world.segments = [] if segments is None else segments


# ---------------------------------------------------------------- expect


def _expect(world: World, step: str, wanted: Any, reads_late: bool, note: str) -> None:
    if isinstance(wanted, bool) and reads_late:
        check(f"{step}: late", wanted, world.states.has_late_transaction())
    elif isinstance(wanted, str) and wanted in WORDS:
        WORDS[wanted](world, note)
    elif isinstance(wanted, str) and re.fullmatch(r"[A-Z_]{5,}", wanted):
        check(f"{step}: error", wanted, error_name(world.error))
        error_of(wanted)
    elif wanted == "none" or (isinstance(wanted, int) and not isinstance(wanted, bool)):
        matched(r"reload to \d+", step, "step with a plain number in expect")
        check(f"{step}: first unstable offset", number_of(wanted), world.first_unstable_offset)
    elif isinstance(wanted, list):
        if not wanted:
            matched(r"before \d+|truncate fully at \d+", step, "step behind which no snapshot is expected")
        check(f"{step}: snapshots", wanted, list(world.store.offsets()))
        check(f"{step}: snapshots that are known", wanted, list(world.states.snapshots.offsets))
    elif isinstance(wanted, Mapping) and wanted and all(isinstance(key, int) for key in wanted):
        for producer_id, part in wanted.items():
            world.producer_id = producer_id
            _expect_fields(world, f"{step}: producer {producer_id}", Fields(part, "expect"), note)
        check(f"{step}: producers", sorted(wanted), list(world.states))
    else:
        _expect_fields(world, step, Fields(wanted, "expect"), note)


def _expect_fields(world: World, step: str, fields: Fields, note: str) -> None:
    visible = fields.take("visible_before_commit")
    if visible is not None:
        check(f"{step}: visible before it was committed", visible, world.was_visible)
    error = fields.take("error")
    if error is not None:
        check(f"{step}: error", error_of(error), world.error)
    for key, value in list(fields.items()):
        if key not in READERS:
            raise NotRunnable(f"expect: {key!r} is not understood")
        check(f"{step}: {key}", number_of(value), READERS[key](world, value))


def _validate_and_commit(world: World, phrase: str, fields: Fields) -> None:
    """Validation and commitment are two steps: what is expected before each commitment, and behind the last."""
    parts = [
        matched(r"validate seq (\d+)\.\.(\d+) @(\d+)\.\.(\d+), (?:then )?commit it", part)
        for part in phrase.split("; ")
    ]
    names = ["before_first_commit", "before_second_commit"]
    if len(parts) != len(names):
        raise NotRunnable(f"{phrase!r} has {len(parts)} validations")
    for name, part in zip(names, parts, strict=True):
        first, last, start, end = (int(number) for number in part.groups())
        batch = data_batch((world.producer_id, 0), first, start, end, False)
        check("sequences that fit the offsets", last, batch.last_sequence)
        commit = world.judge(batch, Origin.CLIENT)
        check(f"{part[0]}: error", 0, world.error)
        _expect(world, name, fields.take(name), False, "")
        commit()
    _expect(world, "after", fields.take("after"), False, "")
    fields.done()
