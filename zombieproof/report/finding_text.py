"""A finding and its explanation, for people: what it means, what to do, when it was, and why it can have happened."""

from collections.abc import Iterator, Sequence

from zombieproof.model.catalogue import IN_RECORDINGS
from zombieproof.report.screen import Screen
from zombieproof.traces.verdict.circumstances import Harm
from zombieproof.traces.verdict.explanation import (
    CauseFound,
    Encoding,
    Explanation,
    Moment,
    Records,
    RecordShown,
    Remedy,
    RuleBroken,
)
from zombieproof.traces.verdict.report import Finding

SHOWN_RECORDS = 10
SHOWN_CHARACTERS = 100


class Findings:
    """Writes findings one after the other; what was said of causes before is not said again."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._said: dict[tuple[str, ...], int] = {}
        self._number = 0

    def show(self, finding: Finding) -> None:
        """Write one finding."""
        self._number += 1
        screen = self._screen
        screen.say()
        screen.say(finding.promise, "bold", indent=2)
        if finding.promise in IN_RECORDINGS:
            screen.say(IN_RECORDINGS[finding.promise].sentence, indent=4)
        screen.say(f"{where(finding)}: {finding.message}" if where(finding) else finding.message, indent=4, hang=2)
        if finding.explanation is not None:
            harm = finding.circumstances.harm if finding.circumstances is not None else Harm.UNKNOWN
            self._explain(finding.explanation, harm)

    def _explain(self, explanation: Explanation, harm: Harm) -> None:
        if explanation.effect:
            self._head("What it means")
            self._line(explanation.effect)
        if explanation.records is not None:
            self._head(records_title(harm))
            for line in record_lines(explanation.records):
                self._line(line)
        if explanation.moments:
            self._head("When (UTC, and the time of this machine)")
            for moment in explanation.moments:
                self._line(moment_line(moment))
        causes = tuple(cause.name for cause in explanation.causes)
        first = self._said.setdefault(causes, self._number) if causes else self._number
        is_new = first == self._number
        remedies = [each for each in explanation.remedies if is_new or each.name != "prevent"]
        if remedies:
            self._head("What to do")
            for number, remedy in enumerate(remedies, 1):
                self._remedy(number, remedy)
        if not is_new:
            self._head("Why it can have happened, and what prevents it")
            self._line(f"As for finding {first}.")
        elif causes:
            self._causes(explanation.causes)

    def _remedy(self, number: int, remedy: Remedy) -> None:
        self._line(f"{number}. {remedy.sentence}")
        for command in remedy.commands:
            # A command is copied: it is never wrapped by us.
            self._screen.data(" " * 11 + command)
        if remedy.cost != "None.":
            self._screen.say(f"Cost: {remedy.cost}", indent=9, hang=2)

    def _causes(self, causes: Sequence[CauseFound]) -> None:
        self._head("Why it can have happened")
        if len(causes) > 1 and not any(cause.is_likely for cause in causes):
            self._line("Several causes fit; each says what would tell it from the others.")
        for cause in causes:
            self._line(f"{likelihood(cause, causes)}: {cause.sentence}")
            for line in cause_lines(cause, tell_apart=len(causes) > 1 or not cause.is_likely):
                self._screen.say(line, indent=9, hang=2)
            if cause.shown_by is not None:
                self._screen.say("The checker shows the same:", indent=9, hang=2)
                self._screen.data(" " * 11 + cause.shown_by.command)
                self._screen.say(cause.shown_by.story, "dim", indent=11)

    def _head(self, text: str) -> None:
        self._screen.say()
        self._screen.say(text, "bold", indent=4)

    def _line(self, text: str) -> None:
        self._screen.say(text, indent=6, hang=3)


def where(finding: Finding) -> str:
    """The place of a finding in words; empty if it has none."""
    parts = [finding.transactional_id or ""]
    if finding.producer_id is not None:
        epoch = "" if finding.producer_epoch is None else f", epoch {finding.producer_epoch}"
        parts.append(f"producer {finding.producer_id}{epoch}")
    if finding.topic is not None:
        offset = "" if finding.offset is None else f" offset {finding.offset}"
        parts.append(f"{finding.topic}-{finding.partition}{offset}")
    return ", ".join(filter(None, parts))


def records_title(harm: Harm) -> str:
    """What is said above the records of a finding."""
    return "What follows the gap" if harm is Harm.MISSING else "Which records"


def likelihood(cause: CauseFound, causes: Sequence[CauseFound]) -> str:
    """How well a cause fits, in a word."""
    if cause.is_likely:
        return "Likely"
    return "Possible" if len(causes) > 1 or cause.because else "Perhaps"


def cause_lines(cause: CauseFound, *, tell_apart: bool) -> Iterator[str]:
    """What speaks for a cause, what it is known as, which rule is missing where."""
    if cause.because:
        yield f"Because {cause.because}."
    if tell_apart and cause.apart:
        yield f"To be told by: {cause.apart}"
    known = [*cause.issues, *([f"docs/bugs.md {' and '.join(cause.bugs)}"] if cause.bugs else [])]
    if known:
        yield f"See {', '.join(known)}."
    for rule in cause.rules:
        yield f"Rule: {rule.name}, {rule.meaning} ({rule.source}). {lacking(rule)}"
    if cause.releases:
        yield f"Releases: {cause.releases}."


def lacking(rule: RuleBroken) -> str:
    """Which release lines do not have a rule, in words."""
    if rule.name == "transaction_version":
        return "Not before 4.0; from then on where cluster and client are at transaction version 2."
    if not rule.lacking:
        return "Every release of Apache Kafka has it."
    ends = rule.lacking if len(rule.lacking) == 1 else (rule.lacking[0], rule.lacking[-1])
    return f"It is missing in {' to '.join(ends)}."


def moment_line(moment: Moment) -> str:
    """A time and what happened then."""
    return f"{clock_time(moment)}  {moment.what} ({moment.where}; {moment.clock})"


def clock_time(moment: Moment) -> str:
    """A time in UTC, and the local one where it is another."""
    if not moment.utc:
        return f"{moment.timestamp_ms} ms, which no calendar has"
    utc, local = moment.utc.replace("T", " "), moment.local.replace("T", " ")
    if local.removesuffix("+00:00") == utc.removesuffix("Z"):
        return utc
    day, _, time = local.partition(" ")
    return f"{utc} = {time if utc.startswith(day) else local}"


def record_lines(records: Records, limit: int = SHOWN_RECORDS) -> Iterator[str]:
    """The first records, and how many more there are."""
    yield from map(record_line, records.shown[:limit])
    if not records.shown:
        shown = ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in records.offsets[:limit])
        yield f"offsets {shown}" if records.count > 1 else f"offset {shown}"
    elif records.count > limit:
        yield f"and {records.count - min(limit, len(records.shown)):,} more; --json lists up to 1,000"
    if records.unread:
        yield records.unread[0].upper() + records.unread[1:] + "."


def record_line(record: RecordShown) -> str:
    """A record with its key, and its value if that was asked for."""
    key = "no key" if record.key is None else f"key {readable(record.key, record.key_encoding)}"
    value = "" if record.value is None else f", value {readable(record.value, record.value_encoding)}"
    return f"offset {record.offset}: {key}{value}"


def readable(text: str, encoding: Encoding | None) -> str:
    """Text in quotes, with escapes for what a terminal would not print; hex with 0x in front; long ones are cut."""
    left = len(text) - SHOWN_CHARACTERS
    shown = text[:SHOWN_CHARACTERS]
    more = f"... ({left:,} more characters)" if left > 0 else ""
    if encoding is Encoding.HEX:
        return f"0x{shown}{more}"
    escaped = "".join(map(_escaped, shown))
    return f'"{escaped}"{more}'


def _escaped(character: str) -> str:
    if character in '\\"':
        return "\\" + character
    return character if character.isprintable() else character.encode("unicode_escape").decode()
