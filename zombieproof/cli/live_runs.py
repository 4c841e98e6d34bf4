"""`zombieproof replay` of live runs: replay their traces event by event and check them."""

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
    """Replay each run and report the result; write the scenario of a violation if requested.

    Raises:
        WrongUsage: the format is not supported, the scenario file exists, or there is no scenario to write.
    """
    if form not in ("text", "json"):
        raise WrongUsage(f"--format {form}: live runs are reported as text or json only")
    if write_scenario is not None and write_scenario.exists():
        raise WrongUsage(f"--write-scenario {write_scenario}: the file exists; give a new name")
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
    """Return the exit code of a run."""
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
        screen.command(
            f"zombieproof check {target}:{name}", "the shortest counterexample to the same property", indent=2
        )
