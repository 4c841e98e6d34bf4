"""What happens to the producer state of one partition, as cases write it down.

A phrase is one or more actions, with commas, semicolons or "and" between them. Batches and markers have their offsets
in the phrase; an epoch that is not given is the one that the producer has. Defaults: producer id 1, epoch 0.
"""

import re
from collections.abc import Callable

from tests.conformance.cases import Failed, NotRunnable
from tests.conformance.producer_world import PRODUCER_ID, World, data_batch
from zombieproof.formats.batches import Batch, Marker
from zombieproof.model.decisions.produce import LATE_BUFFER_MS, newest_sequence
from zombieproof.model.vocabulary import NONE, SEQUENCE_MAX, Error, Origin


def perform(world: World, phrase: object) -> None:
    """Do what a phrase says.

    Raises:
        NotRunnable: part of it is not understood.
    """
    if not isinstance(phrase, str):
        raise NotRunnable(f"step {phrase!r} is not understood")
    world.completed, world.started, rest = [], [], phrase
    while rest:
        for pattern, action in ACTIONS:
            match = re.match(rf"(?:{pattern})(?=$|[,; ])", rest)
            if match is not None:
                action(world, match)
                rest = re.sub(r"^(?:[,;]| and)? *(?:then )?", "", rest[match.end() :])
                break
        else:
            raise NotRunnable(f"{rest!r} in step {phrase!r} is not understood")


# ---------------------------------------------------------------- batches and markers


def _named(world: World, match: re.Match[str]) -> tuple[int, int]:
    return _producer(world, match["pid"], match["epoch"])


def _producer(world: World, pid: str | None, epoch: str | None) -> tuple[int, int]:
    """The producer id and epoch told, or those of the defaults."""
    world.producer_id = PRODUCER_ID if pid is None else int(pid)
    known = world.entry
    current = 0 if known is None or known.producer_epoch == NONE else known.producer_epoch
    return world.producer_id, current if epoch is None else int(epoch)


def _append(world: World, match: re.Match[str]) -> None:
    producer = _named(world, match)
    offset = int(match["offset"])
    # A verification is that of a transactional batch.
    transactional = match["t"] is not None or world.guard != 0
    world.write(data_batch(producer, int(match["seq"]), offset, offset, transactional), Origin.CLIENT)


def _append_next(world: World, match: re.Match[str]) -> None:
    """A transactional batch with the sequences that come next."""
    producer = _named(world, match)
    first = int(match["first"])
    last = int(match["last"] or first)
    newest = NONE if world.entry is None else newest_sequence(world.entry)
    world.write(data_batch(producer, (newest + 1) & SEQUENCE_MAX, first, last, True), Origin.CLIENT)


def _replicate(world: World, match: re.Match[str]) -> None:
    producer = _named(world, match)
    first = int(match["first"])
    last = int(match["last"] or first)
    batch = data_batch(producer, int(match["seq"]), first, last, False)
    if batch.last_sequence != int(match["to"] or match["seq"]):
        raise NotRunnable(f"{match[0]!r} has other sequences than offsets")
    world.write(batch, Origin.REPLICATION)


def _mark(world: World, match: re.Match[str]) -> None:
    told = {name: re.search(pattern, match[0]) for name, pattern in OF_MARKERS.items()}
    number = {name: None if found is None else found[1] for name, found in told.items()}
    producer = _producer(world, number["pid"], number["epoch"])
    offset = world.states.map_end_offset if number["offset"] is None else int(number["offset"])
    marker = Marker("COMMIT" in match[0], int(number["coordinator"] or 0), int(number["tv"] or 0))
    batch = Batch(*producer, NONE, True, marker=marker, base_offset=offset)
    world.write(batch, Origin.COORDINATOR)


def _append_emptied_marker(world: World, match: re.Match[str]) -> None:
    world.states.replay(Batch(world.producer_id, 0, base_offset=int(match["offset"]), is_empty_control=True))
    world.error = Error.NONE


# ---------------------------------------------------------------- verification


def _open_verification(world: World, match: re.Match[str]) -> None:
    for _ in range(2 if match["twice"] else 1):
        world.verify(0, 0)


def _verify(world: World, match: re.Match[str]) -> None:
    world.verify(int(match["seq"]), int(match["epoch"]))


# ---------------------------------------------------------------- time


def _pass(world: World, match: re.Match[str]) -> None:
    world.clock.advance(int(match["ms"]))


def _pass_expiration(world: World, match: re.Match[str]) -> None:
    world.clock.advance(world.settings.producer_id_expiration_ms + int(match["ms"]))


def _pass_half(world: World, match: re.Match[str]) -> None:
    half = world.settings.producer_id_expiration_ms // 2
    world.clock.advance(half + int(match["ms"] or 0))
    _expire(world, match)


def _pass_limit(world: World, match: re.Match[str]) -> None:
    """Until the earliest open transaction has been silent for longer than any may be."""
    first = next(each for each in world.states if _begins(world, each) == world.states.first_undecided_offset)
    limit = world.settings.transaction_max_timeout_ms + LATE_BUFFER_MS + int(match["ms"])
    world.clock.advance(world.states.last_timestamp_ms(first) + limit - world.clock.now_ms())


def _late(world: World, match: re.Match[str]) -> None:
    world.clock.advance(world.settings.transaction_max_timeout_ms + LATE_BUFFER_MS + 1)


def _begins(world: World, producer_id: int) -> int:
    entry = world.states.get(producer_id)
    return NONE if entry is None else entry.txn_first_offset


def _expire(world: World, match: re.Match[str]) -> None:
    for _ in range(2 if match.groupdict().get("twice") else 1):
        world.states.expire()


# ---------------------------------------------------------------- offsets, snapshots, truncation


def _high_watermark(world: World, match: re.Match[str]) -> None:
    world.states.on_high_watermark(int(match["offset"]))


def _snapshot(world: World, match: re.Match[str]) -> None:
    if match["at"] is not None and int(match["at"]) != world.states.map_end_offset:
        raise NotRunnable(f"{match[0]!r}, but what is known ends at {world.states.map_end_offset}")
    writes = world.store.writes
    world.states.take_snapshot()
    if match["again"] and world.store.writes != writes:
        raise Failed("a snapshot was written although nothing had changed")


def _recover(world: World, match: re.Match[str]) -> None:
    """Another broker begins on the same snapshots."""
    world.states = world.fresh()
    world.states.truncate_and_reload(int(match["first"]), int(match["last"]))


def _recovered(world: World, match: re.Match[str]) -> None:
    end = world.states.map_end_offset
    world.states = world.fresh()
    world.states.truncate_and_reload(0, end)


def _reload(world: World, match: re.Match[str]) -> None:
    world.states.truncate_and_reload(int(match["first"]), int(match["last"]))


def _truncate(world: World, match: re.Match[str]) -> None:
    world.states.truncate_and_reload(0, int(match["end"]))


def _truncate_fully(world: World, match: re.Match[str]) -> None:
    world.states.truncate_fully_and_start_at(int(match["start"]))


def _delete_before(world: World, match: re.Match[str]) -> None:
    world.states.snapshots.delete_before(int(match["offset"]))


def _remove_strays(world: World, match: re.Match[str]) -> None:
    world.states.snapshots.remove_strays(world.segments)


def _mark_for_deletion(world: World, match: re.Match[str]) -> None:
    world.result = int(match["offset"]) if world.states.snapshots.delete(int(match["offset"])) else NONE


def _put_back(world: World, match: re.Match[str]) -> None:
    offset = int(match["offset"])
    if offset not in world.kept_copies:
        raise NotRunnable(f"there is no copy of the snapshot at {offset}")
    world.store.write(offset, world.kept_copies[offset])


def _look_again(world: World, match: re.Match[str]) -> None:
    world.states.truncate_fully_and_look_again()


def make_snapshots(world: World, offsets: list[int]) -> None:
    """Good snapshots at `offsets`, ascending."""
    for offset in offsets:
        perform(world, f"append({world.states.map_end_offset}@{world.states.map_end_offset})")
        while world.states.map_end_offset < offset:
            perform(world, f"append({world.states.map_end_offset}@{world.states.map_end_offset})")
        perform(world, "snapshot")
    if world.store.offsets() != tuple(offsets):
        raise NotRunnable(f"snapshots at {offsets} cannot be made: at {world.store.offsets()} there are some")


def damage(world: World, offset: int, how: str) -> None:
    """Make the snapshot at `offset` unreadable."""
    data = bytearray(world.store.read(offset) or b"")
    match = re.fullmatch(r"(?P<count>\d+)(?: zero)? bytes(?P<over> written over)?", how)
    if match is None:
        raise NotRunnable(f"a snapshot with {how!r} is not understood")
    count, middle = int(match["count"]), len(data) // 2
    data[middle : middle + count] = bytes(count)
    world.store.write(offset, bytes(data) if match["over"] else bytes(count))


MARKER = r"(?:TV\d|COMMIT|ABORT|marker|epoch \d+|pid \d+|@\d+|coordinator \d+|again)"
OF_MARKERS = {
    "tv": r"TV(\d)",
    "pid": r"pid (\d+)",
    "epoch": r"\bepoch (\d+)",
    "offset": r"@(\d+)",
    "coordinator": r"coordinator (\d+)",
}

WHO = r"(?:pid (?P<pid>\d+) ?)?(?:epoch (?P<epoch>\d+) ?)?"

ACTIONS: tuple[tuple[str, Callable[[World, re.Match[str]], None]], ...] = (
    (rf"(?:client )?{WHO}(?P<t>T )?append\((?P<seq>\d+)@(?P<offset>\d+)\)(?:, clear verification)?", _append),
    (rf"{WHO}T ?@(?P<first>\d+)(?:\.\.(?P<last>\d+))?", _append_next),
    (rf"T {WHO}@(?P<first>\d+)(?:\.\.(?P<last>\d+))?", _append_next),
    (
        (
            rf"replicated (?:batch )?{WHO}seq (?P<seq>\d+)(?:\.\.(?P<to>\d+))?"
            r"(?: @|, offsets )(?P<first>\d+)(?:\.\.(?P<last>\d+))?"
        ),
        _replicate,
    ),
    (rf"(?=[^,;]*\b(?:COMMIT|ABORT)\b){MARKER}(?: ?{MARKER})*", _mark),
    (r"append a control batch without records(?: \(left by compaction\))? @(?P<offset>\d+)", _append_emptied_marker),
    (r"one append:", lambda world, match: None),
    (r"open verification(?P<twice> twice)?", _open_verification),
    (r"seq (?P<seq>\d+) epoch (?P<epoch>\d+)", _verify),
    (r"\+(?P<ms>\d+) ms", _pass),
    (r"pass expiration \+ (?P<ms>\d+) ms", _pass_expiration),
    (r"half the expiration time(?P<ms>)", _pass_half),
    (r"the other half \+ (?P<ms>\d+) ms", _pass_half),
    (r"pass the limit of the first by (?P<ms>\d+) ms", _pass_limit),
    (r"late", _late),
    (r"expire(?: producers)?(?: now)?(?P<twice> twice)?", _expire),
    (r"high watermark (?P<offset>\d+)", _high_watermark),
    (r"snapshot(?: at (?P<at>\d+))?(?P<again> again)?", _snapshot),
    (r"recover for (?P<first>\d+)\.\.(?P<last>\d+)", _recover),
    (r"recovered", _recovered),
    (r"reload for (?P<first>\d+)\.\.(?P<last>\d+)", _reload),
    (r"(?:reload|truncate) to (?P<end>\d+)", _truncate),
    (r"truncate fully(?: and start)? at (?P<start>\d+)", _truncate_fully),
    (r"before (?P<offset>\d+)", _delete_before),
    (r"remove strays", _remove_strays),
    (r"mark (?P<offset>\d+) for deletion", _mark_for_deletion),
    (r"put file (?P<offset>\d+) back", _put_back),
    (r"forget all in memory and reload from disk", _look_again),
)
