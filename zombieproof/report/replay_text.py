"""What `replay` concluded, for people: of recordings, and of counterexamples that were run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from zombieproof.report.client_text import show_clients
from zombieproof.report.coverage_text import headline, show_earlier_logs, show_gaps, show_judged
from zombieproof.report.finding_text import Findings
from zombieproof.report.narrowed_text import show_narrowed
from zombieproof.report.screen import STYLES, Column, Screen, plural
from zombieproof.report.stated_text import show_stated
from zombieproof.traces.verdict.report import DamagedPlace, Judgement, Report, TransactionOutcome

if TYPE_CHECKING:
    from zombieproof.report.counterexample import Again

SHOWN_PARTITIONS = 40
SHOWN_FINDINGS = 40
_ENDED = {
    TransactionOutcome.COMMIT: "committed",
    TransactionOutcome.ABORT: "aborted",
    TransactionOutcome.OPEN: "open",
    TransactionOutcome.UNKNOWN: "of unknown outcome",
}


def show_report(screen: Screen, report: Report) -> None:
    """Write verdict, findings, damage, and what the evidence holds."""
    screen.say(headline(report), STYLES[report.verdict.value if report.is_in_full else "inconclusive"])
    show_narrowed(screen, report.narrowed)
    findings = Findings(screen)
    for finding in report.findings[:SHOWN_FINDINGS]:
        findings.show(finding)
    for place in report.damage[:SHOWN_FINDINGS]:
        _show_damage(screen, place)
    show_gaps(screen, report.not_judged)
    show_clients(screen, report)
    screen.say()
    left = len(report.findings[SHOWN_FINDINGS:]) + len(report.damage[SHOWN_FINDINGS:])
    if left:
        screen.say(f"and {left} more; --json has them all")
    _show_contents(screen, report)
    show_stated(screen, report.stated)
    show_judged(screen, report.judged)
    show_earlier_logs(screen, report.earlier_logs)
    if report.clients_unseen and report.verdict is Judgement.CONFORMS:
        screen.say(report.clients_unseen, "dim", hang=2)


def _show_damage(screen: Screen, place: DamagedPlace) -> None:
    screen.say()
    screen.say(f"damaged: {place.file}, {place.unit} {place.position}: {place.message}", "yellow", indent=2, hang=2)


def _show_contents(screen: Screen, report: Report) -> None:
    outcomes = {_ENDED[outcome]: count for outcome, count in report.outcomes().items() if count}
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    screen.say(f"{plural(len(report.transactions), 'transaction')}" + (f": {counts}" if counts else ""))
    if report.lso:
        rows = [
            (
                place,
                _at_least(lso, place in report.lso_at_least),
                _at_least(len(report.committed.get(place, ())), place in report.committed_at_least),
            )
            for place, lso in sorted(report.lso.items())[:SHOWN_PARTITIONS]
        ]
        columns = (
            Column("partition"),
            Column("last stable offset", "right"),
            Column("read_committed records", "right"),
        )
        screen.table(columns, rows)
    if len(report.lso) > SHOWN_PARTITIONS:
        screen.say(f"and {len(report.lso) - SHOWN_PARTITIONS} more partitions; --json has them all")


def _at_least(number: int, is_least: bool) -> str:
    return f"at least {number:,}" if is_least else f"{number:,}"


class Replayed(NamedTuple):
    """A counterexample file that was run again."""

    file: str
    again: Again

    @property
    def verdict(self) -> Judgement:
        """Violates if it reproduces a broken promise, conforms if it reproduces without one, else damaged."""
        if self.again.fault:
            return Judgement.DAMAGED
        return Judgement.VIOLATES if self.again.trace.conclusion.promise else Judgement.CONFORMS


def show_replayed(screen: Screen, replayed: Replayed) -> None:
    """Write the story, and whether it ends as the file says."""
    from zombieproof.report.check_text import show_story  # noqa: PLC0415  # the checker is loaded when it is needed

    header, again = replayed.again.trace.header, replayed.again
    rules = f", mutant {header.mutant}" if header.mutant else ""
    screen.say(f"{replayed.file}: {header.scenario}{rules}, {plural(len(again.trace.steps), 'step')}", "bold")
    show_story(screen, again.story)
    screen.say()
    if again.fault:
        screen.say(f"damaged: {replayed.file}, line {again.line}: {again.fault}", STYLES["damaged"])
        screen.say("The file was changed, or the model was after it was written: write it anew with -o.", indent=2)
    elif again.trace.conclusion.promise:
        steps = f"after {plural(len(again.story.beats), 'step')}"
        if again.story.repeats_from is not None:
            steps = f"for ever after {plural(again.story.repeats_from, 'step')}"
        screen.say(f"violates: {again.trace.conclusion.promise} is broken {steps}, as the file says", "bold red")
        screen.say(again.sentence, indent=2)
    else:
        screen.say("conforms: every step is possible and no promise is broken", STYLES["conforms"])


def worst(verdicts: Sequence[Judgement]) -> Judgement:
    """The verdict of several: one violation is a violation, else one damaged file leaves the rest unproven."""
    order: Mapping[Judgement, int] = {Judgement.VIOLATES: 0, Judgement.DAMAGED: 1, Judgement.CONFORMS: 2}
    return min(verdicts, key=lambda verdict: order[verdict])
