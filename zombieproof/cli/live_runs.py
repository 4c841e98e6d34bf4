"""`zombieproof replay` of live runs: their traces are taken again event by event, and judged."""

import json
from collections.abc import Sequence
from pathlib import Path

from zombieproof.bridge.again import LiveJudgement, live_again
from zombieproof.bridge.scenario_file import DoesNotFit, scenario_text
from zombieproof.cli.replay_forms import Format
from zombieproof.cli.usage import WrongUsage
from zombieproof.report.exits import Exit
from zombieproof.report.live_text import judgement_as_data, show_judgement
from zombieproof.report.screen import Screen
from zombieproof.traces.trace import TraceError
from zombieproof.traces.trace_file import read_live

WORST = (Exit.VIOLATED, Exit.INCONCLUSIVE, Exit.HOLDS)


def replay_live_runs(screen: Screen, paths: Sequence[Path], write_scenario: Path | None, form: Format) -> Exit:
    """Take each run again and tell what came of it; the scenario of one that broke a promise is written where asked.

    Raises:
        WrongUsage: another form is asked for, the file of the scenario exists, or there is no scenario to be written.
    """
    if form not in ("text", "json"):
        raise WrongUsage(f"--format {form}: a live run is reported as text or json")
    if write_scenario is not None and write_scenario.exists():
        raise WrongUsage(f"--write-scenario {write_scenario}: is there already; give a new name")
    found, exits = [], []
    for path in paths:
        try:
            judgement = live_again(read_live(path), str(path))
        except TraceError as error:
            exits.append(Exit.INCONCLUSIVE)
            found.append({"file": error.file, "line": error.line, "damaged": error.fault})
            if form == "text":
                screen.say(f"damaged: {error.file}, line {error.line}: {error.fault}", "bold yellow")
            continue
        exits.append(exit_of(judgement))
        found.append(judgement_as_data(str(path), judgement))
        if form == "text":
            show_judgement(screen, str(path), judgement)
        if write_scenario is not None:
            _write(screen, judgement, path, write_scenario, form)
    if form == "json":
        screen.data(json.dumps({"live_runs": found}, indent=2))
    return next(each for each in WORST if each in exits)


def exit_of(judgement: LiveJudgement) -> Exit:
    """The exit code that a run deserves."""
    if judgement.finding is not None:
        return Exit.VIOLATED
    return Exit.INCONCLUSIVE if judgement.open_question else Exit.HOLDS


def _write(screen: Screen, judgement: LiveJudgement, path: Path, target: Path, form: Format) -> None:
    try:
        text, name = scenario_text(judgement, path.name)
    except DoesNotFit as error:
        raise WrongUsage(f"--write-scenario {target}: {error}") from error
    try:
        target.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise WrongUsage(f"--write-scenario {target}: cannot be written: {error.strerror}") from error
    if form == "text":
        screen.say()
        screen.say(f"the scenario is in {target}")
        screen.command(f"zombieproof check {target}:{name}", "the shortest way to the same broken promise", indent=2)
