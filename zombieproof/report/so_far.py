"""What a replay had done when it was interrupted: there is no verdict, but what was found is found."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from zombieproof.report.finding_text import Findings
from zombieproof.report.screen import Screen
from zombieproof.traces.verdict.report import Finding
from zombieproof.traces.watching import Stage

SHOWN_NAMES = 20


class SoFar(BaseModel):
    """How far a replay is: `done` of `total` bytes of files (reading) or events (judging).

    `judged` are the transactional ids and partitions of `to_judge` that were judged on their own; what the logs say of
    each other is judged last, so that it can still explain one of the `findings`.
    """

    interrupted: bool = True
    stage: Stage = Stage.READING
    done: int = 0
    total: int = 0
    files: list[str] = Field(default_factory=list)
    read: list[str] = Field(default_factory=list)
    to_judge: list[str] = Field(default_factory=list)
    judged: list[str] = Field(default_factory=list)
    findings: list[Finding] = Field(default_factory=list)


def show_so_far(screen: Screen, so_far: SoFar) -> None:
    """Write what was read and judged before the interruption."""
    share = f"{amount(so_far.stage, so_far.done)} of {amount(so_far.stage, so_far.total)}"
    unit = " events" if so_far.stage is Stage.JUDGING else ""
    screen.say(f"interrupted while {so_far.stage.value}, behind {share}{unit}: there is no verdict", "bold yellow")
    screen.say(f"files read: {len(so_far.read):,} of {len(so_far.files):,}")
    _list(screen, "not read", [file for file in so_far.files if file not in set(so_far.read)])
    if so_far.stage is Stage.READING:
        screen.say("nothing is judged yet")
        return
    screen.say(f"judged so far: {len(so_far.judged):,} of {len(so_far.to_judge):,} transactional ids and partitions")
    _list(screen, "judged", so_far.judged)
    _list(screen, "not judged", [name for name in so_far.to_judge if name not in set(so_far.judged)])
    screen.say("not judged: what the logs say of each other, which comes last", indent=2)
    if not so_far.findings:
        screen.say("no finding so far")
        return
    screen.say("findings so far, which what is not judged yet may explain:")
    findings = Findings(screen)
    for finding in so_far.findings:
        findings.show(finding)


def _list(screen: Screen, what: str, names: Sequence[str]) -> None:
    if names:
        more = f" and {len(names) - SHOWN_NAMES:,} more" if len(names) > SHOWN_NAMES else ""
        screen.say(f"{what}: {', '.join(names[:SHOWN_NAMES])}{more}", indent=2, hang=2)


def amount(stage: Stage, count: int) -> str:
    """Bytes in the largest unit that fits, events as they are."""
    if stage is Stage.JUDGING:
        return f"{count:,}"
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count} B"
