"""A scenario that was checked, as reports need it: with its story, its words for the rules, and the exit code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zombieproof.checker import request as asking
from zombieproof.checker.engine.model import Promise
from zombieproof.report.exits import Exit

if TYPE_CHECKING:
    from zombieproof.checker.checking import Checked, Request
    from zombieproof.report.story import Story


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario that was checked. `story` is there when there is a way to a broken promise."""

    checked: Checked
    request: Request
    story: Story | None

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.checked.scenario.name

    @property
    def asked(self) -> str:
        """What the scenario is asked for by on the command line."""
        return self.checked.scenario.asked

    @property
    def verdict(self) -> str:
        """What came out: "holds", "violated" or "inconclusive"."""
        return self.checked.result.verdict

    @property
    def distinct(self) -> int:
        """How many distinct states were reached."""
        return self.checked.result.distinct

    @property
    def rules(self) -> str:
        """The rules in words."""
        return rules_words(self.checked, self.request)

    @property
    def drawn(self) -> dict[str, int]:
        """The bounds of a counterexample that are not those asked for, because a swarm of walks drew them."""
        if self.broken is None:
            return {}
        _, bounds = asking.chosen(self.checked.scenario, self.request)
        return {name: value for name, value in self.checked.bounds.items() if value != bounds[name]}

    @property
    def broken(self) -> Promise | None:
        """The broken promise."""
        violated = self.checked.result.violated
        return promise_of(self.checked, violated.promise) if violated else None

    @property
    def exit_code(self) -> Exit:
        """The exit code that this run alone deserves."""
        result = self.checked.result
        if result.interrupted:
            return Exit.INTERRUPTED
        return {"holds": Exit.HOLDS, "violated": Exit.VIOLATED, "inconclusive": Exit.INCONCLUSIVE}[result.verdict]


def promise_of(checked: Checked, name: str) -> Promise:
    """A promise of the model by name."""
    return next(promise for promise in checked.model.promises if promise.name == name)


def run_of(checked: Checked, request: Request) -> Run:
    """A run with its story.

    Raises:
        HostsDisagree: the counterexample does not stand when it is interpreted: an error of this program.
    """
    violated = checked.result.violated
    if violated is None or violated.actions is None:
        return Run(checked, request, None)
    judged = checked.scenario.judged(violated.promise)
    from zombieproof.report.story import tell  # noqa: PLC0415  # most runs have nothing to tell

    story = tell(checked.model, checked.setup, violated.actions, judged, violated.repeats_from)
    return Run(checked, request, story)


def has_rules(checked: Checked) -> bool:
    """Whether the model reads rules of Kafka's protocol at all."""
    return asking.has_rules(checked.setup)


def rules_words(checked: Checked, asked: Request) -> str:
    """The rules of a run in words: the preset and what differs from it, by the scenario and by what was asked."""
    return asking.rules_words(checked.scenario, asked, reads_rules=has_rules(checked), mutant=checked.mutant)


def verdict_of(runs: Iterable[Run]) -> str:
    """The verdict of all runs together: one violation is a violation, else one inconclusive run leaves all open."""
    verdicts = {run.checked.result.verdict for run in runs}
    return next((worst for worst in ("violated", "inconclusive") if worst in verdicts), "holds")


def exit_code_of(runs: Iterable[Run]) -> Exit:
    """The exit code of all runs together; an interruption is said before anything else."""
    codes = {run.exit_code for run in runs}
    order = (Exit.INTERRUPTED, Exit.VIOLATED, Exit.INCONCLUSIVE)
    return next((worst for worst in order if worst in codes), Exit.HOLDS)
