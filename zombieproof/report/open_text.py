"""What is open, for people."""

from collections.abc import Callable

from zombieproof.formats.topics import TRANSACTION_STATE
from zombieproof.report.coverage_text import how_far, show_gap_names
from zombieproof.report.narrowed_text import show_narrowed
from zombieproof.report.screen import STYLES, Screen, plural
from zombieproof.report.stated_text import show_stated_open, show_stated_transaction
from zombieproof.report.timeline_text import Times
from zombieproof.traces.explaining.open.models import EndedBy, HeldPartition, Open, OpenOnPartition, OpenTransaction
from zombieproof.traces.explaining.timeline.entries import span
from zombieproof.traces.readers.console_order import ORDER_OF
from zombieproof.traces.readers.timestamps import local, utc
from zombieproof.traces.verdict.report import Gap, TransactionOutcome

Written = Callable[[int | None], str]
SHOWN_UNREAD = 8
SHOWN_DAMAGE = 10
UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))


def show_open(screen: Screen, found: Open, times: Times = "utc") -> None:
    """Write what holds each partition back, then what the coordinators have open."""
    written = _writer(times)
    certain = [txn.is_certain for held in found.partitions for txn in held.transactions]
    certain += [txn.is_certain for txn in found.transactions]
    is_open = any(certain) or found.stated or found.stated_transactions
    has_holes = any(gap.gap is Gap.UNREADABLE and not gap.accepted for gap in found.not_judged)
    has_no_order = any(place.message.startswith(ORDER_OF) for place in found.damage)
    is_damaged = has_no_order or (found.damage and not found.unread)
    is_unknown = bool(certain or found.undecided or found.not_known or has_holes or is_damaged)
    what = "open" if is_open else "nothing is known to be open" if is_unknown else "nothing is open"
    as_of = "" if found.as_of_ms is None else f" as of {written(found.as_of_ms)}, the newest record of the evidence"
    if any(gap.gap is Gap.EVERYTHING for gap in found.not_judged):
        sources = "; ".join(found.sources) or "the evidence"
        limit = " as far as it could be read" if found.unread and not is_open else ""
        screen.say(f"{what}{limit}{as_of}, by {sources}; no log was judged", STYLES[found.verdict.value], hang=2)
    else:
        screen.say(f"{what}{as_of}; {how_far(found.verdict, found.not_judged)}", STYLES[found.verdict.value])
    show_narrowed(screen, found.narrowed)
    show_gap_names(screen, found.not_judged)
    for unread in found.unread[:SHOWN_UNREAD]:
        screen.say(f"note: {unread}", "yellow", hang=2)
    if len(found.unread) > SHOWN_UNREAD:
        screen.say(f"and {len(found.unread) - SHOWN_UNREAD} more notes; --json has them all")
    for sentence in found.undecided[:SHOWN_UNREAD]:
        screen.say(f"not decided: {sentence}", "yellow", hang=2)
    if len(found.undecided) > SHOWN_UNREAD:
        screen.say(f"and {len(found.undecided) - SHOWN_UNREAD} more that are not decided; --json has them all")
    for place in found.damage[:SHOWN_DAMAGE]:
        screen.say(f"damaged: {place.file}, {place.unit} {place.position}: {place.message}", "yellow", hang=2)
    if len(found.damage) > SHOWN_DAMAGE:
        screen.say(
            f"and {plural(len(found.damage) - SHOWN_DAMAGE, 'damaged place')} more; --json has them all", "yellow"
        )
    for held in found.partitions:
        _show_held(screen, held, written)
    for each in found.not_known:
        screen.say()
        least = f"last stable offset at least {each.at_least:,} of {each.end_offset:,}"
        screen.say(f"{each.topic}-{each.partition}: {least}; {each.why}", "bold", hang=2)
    if found.transactions:
        screen.say()
        screen.say("not complete at their coordinator:", "bold")
    for txn in found.transactions:
        _show_transaction(screen, txn, found.as_of_ms, written)
    for stated in found.stated:
        show_stated_open(screen, stated, written)
    if found.stated_transactions:
        screen.say()
        screen.say("not complete at their coordinator, according to tools:", "bold")
    for transaction in found.stated_transactions:
        show_stated_transaction(screen, transaction, written)


def _show_held(screen: Screen, held: HeldPartition, written: Written) -> None:
    screen.say()
    place = f"{held.topic}-{held.partition}"
    if not held.transactions[0].is_certain:
        least = f"last stable offset at least {held.last_stable_offset:,} of {held.end_offset:,}"
        screen.say(f"{place}: {least}; what follows is not certain", "bold", hang=2)
        for txn in held.transactions:
            _show_on_partition(screen, held, txn, written, "open:" if txn.is_certain else "may be open:")
        return
    if held.unknown:
        least = f"last stable offset at least {held.last_stable_offset:,} of {held.end_offset:,}"
        screen.say(f"{place}: {least}; {held.unknown}", "bold", hang=2)
        for txn in held.transactions:
            _show_on_partition(screen, held, txn, written, "open:" if txn.is_certain else "may be open:")
        return
    stable = f"last stable offset {held.last_stable_offset:,} of {held.end_offset:,}"
    long = "" if held.held_ms is None else f", held back for {duration(held.held_ms)}"
    waits = f"{plural(held.waiting_records, 'record')} {'waits' if held.waiting_records == 1 else 'wait'} behind it"
    screen.say(f"{place}: {stable}{long}; {waits}", "bold", hang=2)
    for number, txn in enumerate(held.transactions):
        also = "also open:" if txn.is_certain else "may be open too:"
        _show_on_partition(screen, held, txn, written, also if number else "held by")


def _show_on_partition(screen: Screen, held: HeldPartition, txn: OpenOnPartition, written: Written, role: str) -> None:
    where = f"offset{'s' if txn.last_offset != txn.first_offset else ''} {span(txn.first_offset, txn.last_offset)}"
    since = "" if txn.since_ms is None else f", since {written(txn.since_ms)}"
    who = f"{role} producer {txn.producer_id} epoch {txn.producer_epoch}"
    held_by = f"{who}, {plural(txn.records, 'record')} at {where}{since}"
    if not txn.records:
        held_by = f"{who} since offset {txn.first_offset}; its records were not given"
    screen.say(held_by, indent=2, hang=2)
    screen.say(_ending(held, txn, written), "red" if txn.ended_by is EndedBy.NOBODY else "", indent=4, hang=2)
    if txn.ended_by is EndedBy.NOBODY:
        place = f"--topic {held.topic} --partition {held.partition}"
        ends = f"kafka-transactions.sh --bootstrap-server HOST:PORT abort {place} --start-offset {txn.first_offset}"
        if txn.may_begin_before:
            asked = f"kafka-transactions.sh --bootstrap-server HOST:PORT describe-producers {place}"
            screen.say(f"where it began, which its abort needs, says: {asked}", indent=4, hang=2)
        elif txn.decided is TransactionOutcome.COMMIT:
            loses = f"it was decided to commit it, and {ends} would lose its records: save them first"
            screen.say(f"{loses} (read_uncommitted, from offset {txn.first_offset})", indent=4, hang=2)
        else:
            screen.say(f"to end it: {ends}", indent=4, hang=2)
    if txn.may_begin_before:
        screen.say("it may have begun before the first offset that was given", "yellow", indent=4, hang=2)
    if not txn.is_certain:
        screen.say("its marker may stand where the log cannot be read", "yellow", indent=4, hang=2)
    for offset in txn.pending_offsets:
        screen.say(f"waits for it: {offset}", indent=4, hang=2)


def _ending(held: HeldPartition, txn: OpenOnPartition, written: Written) -> str:
    if txn.transactional_id is None and txn.tool_says:
        return f"{txn.tool_says}; its part of __transaction_state is not here: who will end this is not known"
    if txn.transactional_id is None:
        return "whose it is, is not known: the part of __transaction_state that has this producer id is not here"
    owner = f"{txn.transactional_id} is {txn.state or 'forgotten'}"
    if txn.ended_by is EndedBy.OWNER:
        due = "no time-out ends it" if txn.due_ms is None else f"its coordinator aborts it after {written(txn.due_ms)}"
        return f"{owner}: its producer ends it, or else {due}"
    if txn.ended_by is EndedBy.MARKER:
        return f"{owner}: it is decided, and the marker on {held.topic}-{held.partition} is still to come"
    if txn.ended_by is EndedBy.NOBODY:
        return f"{owner}, and its coordinator has nothing open here: nobody will end it"
    return f"{owner}, as far as its log is whole; who will end this is not known"


def _show_transaction(screen: Screen, txn: OpenTransaction, as_of_ms: int | None, written: Written) -> None:
    at = f" ({TRANSACTION_STATE}-{txn.log_partition} offset {txn.offset})" if txn.offset >= 0 else ""
    since = "" if txn.since_ms is None else f" since {written(txn.since_ms)}"
    who = f"producer {txn.producer_id} epoch {txn.producer_epoch}"
    screen.say(f"{txn.transactional_id}: {txn.state}{since}{at}, {who}", indent=2, hang=2)
    if txn.due_ms is not None:
        away = "" if as_of_ms is None else f" ({_from(as_of_ms, txn.due_ms)})"
        screen.say(f"time-out {txn.timeout_ms:,} ms: due {written(txn.due_ms)}{away}", indent=4, hang=2)
    is_decided = txn.state != "ONGOING"
    for words, places in (
        ("marker pending on" if is_decided else "lists", txn.pending),
        ("marker written on", txn.marked),
        ("lists, not in the evidence:", txn.unread),
    ):
        if places:
            screen.say(f"{words} {', '.join(places)}", indent=4, hang=2)
    if not txn.is_certain:
        screen.say("the end of its log is missing: it may be over", "yellow", indent=4, hang=2)


def _from(now_ms: int, due_ms: int) -> str:
    return f"in {duration(due_ms - now_ms)}" if due_ms >= now_ms else f"overdue by {duration(now_ms - due_ms)}"


def _writer(times: Times) -> Written:
    def write(ms: int | None) -> str:
        if ms is None:
            return "a time that is not known"
        return {"utc": utc(ms), "local": local(ms), "both": f"{utc(ms)} ({local(ms)})"}[times]

    return write


def duration(ms: int) -> str:
    """The two largest units of a duration, such as 2 d 3 h or 450 ms."""
    parts: list[str] = []
    for size, unit in UNITS:
        count, ms = divmod(ms, size)
        if count or parts or size == 1:
            parts.append(f"{count} {unit}")
        if len(parts) == 2:
            break
    return " ".join(parts)
