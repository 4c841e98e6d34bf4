"""What a verdict of `replay` is about, and what it is not about, for people."""

from collections import Counter
from collections.abc import Sequence

from zombieproof.report.screen import Screen, plural
from zombieproof.traces.readers.files import plain_name
from zombieproof.traces.readers.timestamps import utc
from zombieproof.traces.verdict.report import (
    EarlierLog,
    Gap,
    Judged,
    JudgedPartition,
    Judgement,
    LinesOfFile,
    NotJudged,
    Report,
)

SHOWN = 4
SHOWN_GAPS = 20


def headline(report: Report) -> str:
    """The first line: the verdict, how far it goes, and counts."""
    verdict = report.verdict.value
    gaps = {gap.gap for gap in report.not_judged}
    if Gap.CLUSTERS in gaps:
        return f"{verdict}: this is evidence of several clusters"
    if Gap.EVERYTHING in gaps and not report.findings:
        return f"{verdict}: {NOTHING}" if report.damage else NOTHING
    counts = [plural(len(report.findings), "finding")] if report.findings else []
    counts += [plural(len(report.damage), "damaged place")] if report.damage else []
    if report.verdict is Judgement.CONFORMS:
        return how_far(report.verdict, report.not_judged)
    return " with ".join([verdict, " and ".join(counts)]) if counts else verdict


NOTHING = "nothing could be judged"


def how_far(verdict: Judgement, gaps: Sequence[NotJudged]) -> str:
    """The verdict, and whether it is about everything that the evidence names."""
    if any(gap.gap is Gap.EVERYTHING for gap in gaps):
        return NOTHING
    is_in_full = verdict is not Judgement.CONFORMS or all(gap.accepted for gap in gaps)
    return verdict.value if is_in_full else f"{verdict.value} as far as it could be judged"


def show_gap_names(screen: Screen, gaps: Sequence[NotJudged]) -> None:
    """Write in a line what was not judged."""
    names = list(dict.fromkeys(gap.name for gap in gaps if not gap.accepted))
    if names:
        screen.say(f"not judged: {_first(names)}", "yellow", hang=2)
    for gap in [gap for gap in gaps if gap.gap is Gap.HIDDEN and not gap.accepted][:SHOWN]:
        screen.say(gap_line(gap), "yellow", indent=2, hang=2)


def gap_line(gap: NotJudged) -> str:
    """A gap in one line: what, why, and what to fetch."""
    return f"{gap.name}{_offsets(gap)}: {gap.why}; fetch: {gap.fetch}"


def show_gaps(screen: Screen, gaps: Sequence[NotJudged]) -> None:
    """Write what was not judged, why, and what to fetch; then what need not be."""
    open_gaps = [gap for gap in gaps if not gap.accepted]
    for gap in open_gaps[:SHOWN_GAPS]:
        screen.say()
        screen.say(f"not judged: {gap.name}{_offsets(gap)}", "yellow", indent=2)
        screen.say(gap.why, indent=4, hang=2)
        screen.say(f"fetch: {gap.fetch}", indent=4, hang=2)
    if len(open_gaps) > SHOWN_GAPS:
        screen.say(f"and {len(open_gaps) - SHOWN_GAPS} more that were not judged; --json has them all", indent=2)
    accepted = list(dict.fromkeys(gap.name for gap in gaps if gap.accepted))
    if accepted:
        screen.say()
        screen.say(f"accepted without being judged: {_first(accepted)}", "yellow", indent=2, hang=2)


def _offsets(gap: NotJudged) -> str:
    if gap.first_offset is None:
        return ""
    if gap.last_offset is None:
        return f", from offset {gap.first_offset} on"
    if gap.first_offset == gap.last_offset:
        return f", offset {gap.first_offset}"
    return f", offsets {gap.first_offset} to {gap.last_offset}"


def show_judged(screen: Screen, judged: Judged) -> None:
    """Write what the verdict is about."""
    ids = f"{plural(len(judged.transactional_ids), 'transactional id')}"
    ids += f" ({_first(judged.transactional_ids)})" if judged.transactional_ids else ""
    places = plural(len(judged.partitions), "partition")
    places += f" ({_first([_partition(each) for each in judged.partitions])})" if judged.partitions else ""
    screen.say(f"judged: {places}; {ids}; from {plural(len(judged.files_read), 'file')}", "dim", hang=2)
    if judged.written_in:
        screen.say(f"read as: {'; '.join(judged.written_in)}", "dim", hang=2)
    for compacted in judged.compacted[:SHOWN_GAPS]:
        screen.say(f"offsets are missing as after compaction: {compacted}", "dim", hang=2)
    unshown = [each.partition for each in judged.partitions if each.end_shown_by is None]
    if unshown:
        screen.say(f"nothing shows that these go up to their end: {_first(unshown)}", "dim", hang=2)
    _show_lines(screen, judged.lines)
    names: dict[str, list[str]] = {}
    for each in judged.files_not_read:
        names.setdefault(each.reason, []).append(plain_name(each.file))
    for reason, files in names.items():
        counted = Counter(files)
        screen.say(f"not read: {plural(len(files), 'file')}, {reason} ({_first(list(counted))})", "dim", hang=2)


def _show_lines(screen: Screen, read: Sequence[LinesOfFile]) -> None:
    """Write how many lines of texts were used, and which look like evidence and were not."""
    if read:
        screen.say(f"lines used: {sum(each.used for each in read):,}", "dim")
    unused = [(each.file, line) for each in read for line in each.unused]
    for file, each in unused[:SHOWN_GAPS]:
        count, first = plural(each.count, "line"), f"from line {each.first_line:,} on"
        screen.say(f"not used: {count} of {plain_name(file)}, {first}: {each.reason}", "yellow", hang=2)
    if len(unused) > SHOWN_GAPS:
        screen.say(f"and {len(unused) - SHOWN_GAPS:,} more kinds of lines; --json has them all", "yellow")


def show_earlier_logs(screen: Screen, earlier: Sequence[EarlierLog]) -> None:
    """Write what is not expected in the logs, since it belongs to topics that were deleted."""
    if earlier:
        count = sum(each.count for each in earlier)
        places = _first([_earlier(each) for each in earlier])
        screen.say(f"of earlier topics of the same names, not expected now: {count:,} ({places})", "dim", hang=2)


def _earlier(each: EarlierLog) -> str:
    began = "deleted" if each.present_began_ms is None else f"created again by {utc(each.present_began_ms)}"
    return f"{each.count:,} on {each.partition}, {began}"


def _partition(each: JudgedPartition) -> str:
    copies = f" in {each.copies} copies" if each.copies > 1 else ""
    return f"{each.partition} offsets {each.first_offset} to {each.end_offset - 1}{copies}"


def _first(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
