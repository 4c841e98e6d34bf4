"""Output of tools and snapshots, for people: open transactions, positions of groups, comparisons with logs."""

from collections.abc import Callable

from zombieproof.report.screen import Column, Screen, plural
from zombieproof.traces.explaining.open.models import EndedBy, StatedOpen, StatedTransaction
from zombieproof.traces.readers.timestamps import utc
from zombieproof.traces.verdict.report import StatedByTools, StatedEnd, StatedPosition

Written = Callable[[int | None], str]
SHOWN = 40
MINUTE_MS = 60_000


def show_stated(screen: Screen, stated: StatedByTools | None) -> None:
    """Write snapshots without a log, positions of groups, and the comparison of tools with logs."""
    if stated is None:
        return
    for sentence in stated.snapshots[:SHOWN]:
        screen.say(sentence, hang=2)
    if len(stated.snapshots) > SHOWN:
        screen.say(f"and {len(stated.snapshots) - SHOWN} more snapshots; --json has them all")
    if stated.positions:
        _show_positions(screen, stated.positions)
    if stated.ends:
        _show_ends(screen, stated.ends)
    if stated.agreed:
        verb = "agrees" if stated.agreed == 1 else "agree"
        screen.say(f"compared: {plural(stated.agreed, 'row')} of tools {verb} with the logs")
    for sentence in stated.compared[:SHOWN]:
        screen.say(f"compared: {sentence}", hang=2)
    if len(stated.compared) > SHOWN:
        screen.say(f"and {len(stated.compared) - SHOWN} more comparisons; --json has them all")
    if stated.unfinished:
        known = plural(stated.unfinished, "open transaction")
        screen.say(
            f"{known} according to tools and snapshots: --open lists them, with the commands that end them", hang=2
        )
    for note in stated.notes[:SHOWN]:
        screen.say(f"note: {note}", "yellow", hang=2)


def _show_ends(screen: Screen, ends: list[StatedEnd]) -> None:
    rows = [(each.partition, f"{each.offset:,}") for each in ends[:SHOWN]]
    screen.table((Column("partition"), Column("reported end", "right")), rows)
    if len(ends) > SHOWN:
        screen.say(f"and {len(ends) - SHOWN} more ends; --json has them all")
    either = "an end is the high watermark, or the last stable offset if isolation.level was read_committed"
    screen.say(f"{either}: the tool does not say which", "dim", hang=2)


def _show_positions(screen: Screen, positions: list[StatedPosition]) -> None:
    rows = [
        (
            each.group or "(not named)",
            each.partition,
            f"{each.offset:,}",
            "" if each.end_offset is None else f"{each.end_offset:,}",
            "" if each.lag is None else f"{each.lag:,}",
            "" if each.committed_ms is None else utc(each.committed_ms),
        )
        for each in sorted(positions, key=lambda one: (one.group or "", one.partition))[:SHOWN]
    ]
    names = [Column("group"), Column("partition"), Column("offset", "right")]
    names += [Column("end", "right"), Column("lag", "right"), Column("committed")]
    used = [at for at in range(len(names)) if any(row[at] for row in rows)]
    screen.table([names[at] for at in used], [tuple(row[at] for at in used) for row in rows])
    if len(positions) > SHOWN:
        screen.say(f"and {len(positions) - SHOWN} more positions; --json has them all")
    if any(each.is_record for each in positions):
        caution = (
            "a console consumer prints every commit: one inside a transaction that is open or aborted does not count"
        )
        screen.say(caution, "dim", hang=2)
    if any(each.end_offset is not None for each in positions):
        caution = (
            "the end is the high watermark: a reader of committed data can get no further than the last stable offset"
        )
        screen.say(caution, "dim", hang=2)


def show_stated_open(screen: Screen, txn: StatedOpen, written: Written) -> None:
    """Write a transaction that is open according to tools or a snapshot."""
    place = f"{txn.topic}-{txn.partition}" if txn.partition is not None else "a partition that nothing names"
    epoch = "" if txn.producer_epoch is None else f" epoch {txn.producer_epoch}"
    coordinator = "" if txn.coordinator_epoch is None else f" (coordinator epoch {txn.coordinator_epoch})"
    who = f"producer {txn.producer_id}{epoch}{coordinator}"
    if txn.as_of_offset is not None:
        line = f"{place}, as of offset {txn.as_of_offset}: held back at {txn.first_offset} by {who}"
    else:
        tool = txn.told_by[0].partition(" (")[0]
        minutes = "" if txn.duration_min is None else f" for {plural(txn.duration_min, 'minute')}"
        line = f"{place}: held at offset {txn.first_offset} by {who}{minutes}, as {tool} says"
    if txn.last_written_ms is not None:
        line += f", last written {written(txn.last_written_ms)}"
    screen.say()
    screen.say(line, "bold", hang=2)
    if txn.age_ms is not None and txn.age_ms >= MINUTE_MS and txn.duration_min is None:
        from zombieproof.report.open_text import duration  # noqa: PLC0415  # which shows this among the rest

        screen.say(f"that is {duration(txn.age_ms)} before the newest time in the evidence", indent=2, hang=2)
    screen.say(_ending(txn, place, written), "red" if txn.ended_by is EndedBy.NOBODY else "", indent=2, hang=2)
    for group in txn.waiting_groups:
        screen.say(f"waits there: {group}", indent=2, hang=2)
    if txn.log_says:
        screen.say(f"compared: {txn.log_says}", indent=2, hang=2)
    screen.say(f"from {'; '.join(txn.told_by)}", "dim", indent=2, hang=2)
    _show_commands(screen, txn)


def _show_commands(screen: Screen, txn: StatedOpen) -> None:
    if not txn.commands:
        screen.say("do not abort it: that would lose its records", indent=2, hang=2)
        return
    screen.say("before you end it, check that", indent=2)
    for command, shows in txn.checks:
        screen.say(f"{shows}: {command}", indent=4, hang=2)
    newer, older = txn.commands
    if_left = " if it is still open after that" if txn.ended_by in (EndedBy.OWNER, EndedBy.MARKER) else ""
    screen.say(f"to end it{if_left} (an abort: readers of committed data never get its records):", indent=2, hang=2)
    screen.say(f"brokers 3.0 or later: {newer}", indent=4, hang=2)
    screen.say(f"older brokers: {older}", indent=4, hang=2)


def _ending(txn: StatedOpen, place: str, written: Written) -> str:
    if txn.ended_by is EndedBy.NOBODY:
        if txn.state is None:
            return "its coordinator has nothing open here, as the tool says: nobody will end it"
        return f"{txn.transactional_id} is {txn.state}, and has nothing open here: nobody will end it"
    if txn.state is None:
        return "whose it is, is not known"
    owner = f"{txn.transactional_id or 'its transactional id'} is {txn.state}"
    if txn.ended_by is EndedBy.OWNER:
        due = "" if txn.due_ms is None else f", or else its coordinator aborts it after {written(txn.due_ms)}"
        return f"{owner} and lists {place}: its producer ends it{due}"
    if txn.ended_by is EndedBy.MARKER:
        return f"{owner} and lists {place}: it is decided, and the marker is still to come"
    return f"{owner}; whether it lists {place} is not known"


def show_stated_transaction(screen: Screen, txn: StatedTransaction, written: Written) -> None:
    """Write an unfinished transaction of a coordinator, according to a tool."""
    from zombieproof.report.open_text import duration  # noqa: PLC0415  # which shows this among the rest

    epoch = "" if txn.producer_epoch is None else f" epoch {txn.producer_epoch}"
    since = "" if txn.start_ms is None else f" since {written(txn.start_ms)}"
    long = "" if txn.duration_ms is None else f", for {duration(txn.duration_ms)} when the tool was run"
    at = "" if txn.coordinator_id is None else f", coordinator {txn.coordinator_id}"
    who = f"{txn.transactional_id or 'a transactional id that is not named'}: {txn.state}{since}{long}"
    screen.say(f"{who}, producer {txn.producer_id}{epoch}{at}", indent=2, hang=2)
    if txn.due_ms is not None:
        screen.say(f"time-out {txn.timeout_ms:,} ms: due {written(txn.due_ms)}", indent=4, hang=2)
    if txn.partitions:
        screen.say(f"lists {', '.join(txn.partitions)}", indent=4, hang=2)
    if txn.log_says:
        screen.say(f"compared: {txn.log_says}", indent=4, hang=2)
    screen.say(f"from {txn.told_by}", "dim", indent=4, hang=2)
