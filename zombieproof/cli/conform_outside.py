"""zombieproof conform --bootstrap: test a broker outside this process."""

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from zombieproof.cli.bars import progress
from zombieproof.cli.usage import WrongUsage, known
from zombieproof.conformance.outside.applicable import Circumstances, release_of
from zombieproof.conformance.outside.bootstrap import NoAddress, addresses_of, is_loopback, spoken
from zombieproof.conformance.outside.introduction import Unreachable
from zombieproof.conformance.outside.judge import Judge, Judged
from zombieproof.conformance.outside.peer import Peer
from zombieproof.conformance.outside.published import published
from zombieproof.conformance.outside.scenarios import Scenario, families
from zombieproof.conformance.recording import Recorded, RecordingError, files_of, lines_of
from zombieproof.model.releases import UnknownRelease, line_of
from zombieproof.report import judged_json, judged_text
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Screen, plural
from zombieproof.wire.api import Address

LEVELS = ("smoke", "full")
TERMS = "transactional ids cannot be deleted; the broker expires them after transactional.id.expiration.ms"


def judge_broker(
    bootstrap: str,
    level: str | None,
    recordings: Sequence[Path],
    limit: int | None,
    release: str | None,
    *,
    says_yes: bool,
    as_json: bool,
) -> int:
    """Test the broker at `bootstrap` and report the result.

    Raises:
        WrongUsage: an address, level, release or recording is not valid, or the address is not loopback.
    """
    addresses = _addresses(bootstrap, says_yes=says_yes)
    named = _known_release(release)
    scenarios = _scenarios(level or ("" if recordings else "smoke"))
    sequences, damaged = _sequences(recordings, limit)
    screen, aside = Screen(), Screen(sys.stderr) if as_json else Screen()
    try:
        peer = Peer(addresses)
    except Unreachable as error:
        sys.stderr.write(f"zombieproof: {error}\n")
        return Exit.INCONCLUSIVE
    try:
        _may_ask(peer, says_yes=says_yes)
        settings = peer.settings()
        judge = Judge(peer, Circumstances(peer.spoken, named or release_of(peer.spoken), settings))
        _announce(aside, judge, bootstrap, len(scenarios) + len(sequences))
        with _stopped_in_order():
            _run(judge, scenarios, sequences, damaged)
    finally:
        peer.close()
    if as_json:
        screen.data(judged_json.as_json(judge, bootstrap, damaged))
    else:
        _show(screen, judge, damaged)
    return _exit(judge, damaged)


# ---------------------------------------------------------------- parse options


def _addresses(bootstrap: str, *, says_yes: bool) -> tuple[Address, ...]:
    try:
        addresses = addresses_of(bootstrap)
    except NoAddress as error:
        raise WrongUsage(f"--bootstrap: {error}") from error
    _all_loopback(addresses, "--bootstrap gives", says_yes=says_yes)
    return addresses


def _may_ask(peer: Peer, *, says_yes: bool) -> None:
    _all_loopback(peer.brokers.values(), "the cluster advertises", says_yes=says_yes)


def _all_loopback(addresses: Any, what: str, *, says_yes: bool) -> None:
    strangers = [spoken(each) for each in addresses if not is_loopback(each.host)]
    if strangers and not says_yes:
        raise WrongUsage(
            f"{what} {', '.join(strangers)}, which is not this machine. The test creates topics, transactional ids and "
            "groups with unique names there, and deletes its topics and groups; give --yes to allow that"
        )


def _known_release(release: str | None) -> str | None:
    try:
        if release is not None:
            line_of(release)
    except UnknownRelease as error:
        raise WrongUsage(f"--release: {error}") from error
    return release


def _scenarios(level: str) -> list[tuple[str, Scenario]]:
    if not level:
        return []
    known("level", level, LEVELS)
    every = [(each.family, scenario) for each in families() for scenario in each.scenarios]
    return [(family, scenario) for family, scenario in every if level == "full" or scenario.level == "smoke"]


def _sequences(paths: Sequence[Path], limit: int | None) -> tuple[list[Recorded], list[RecordingError]]:
    sequences, damaged = list[Recorded](), list[RecordingError]()
    try:
        for path in files_of(paths):
            for found in lines_of(path):
                if isinstance(found, RecordingError):
                    damaged.append(found)
                else:
                    sequences.append(found)
    except RecordingError as error:
        raise WrongUsage(str(error)) from error
    return sequences[:limit], damaged


# ---------------------------------------------------------------- the run


def _announce(screen: Screen, judge: Judge, bootstrap: str, count: int) -> None:
    level = judge.circumstances.spoken.transaction_version
    screen.say(
        f"{bootstrap} has the API versions of Kafka {judge.circumstances.release}, transaction.version {level}; "
        f"testing it with {plural(count, 'sequence')} of requests"
    )
    screen.say(
        f"creates topics, transactional ids and groups whose names begin with {judge.prefix}, deletes these topics and "
        f"groups at the end, and touches nothing else; {TERMS}"
    )
    screen.say()
    screen.stream.flush()


@contextmanager
def _stopped_in_order() -> Iterator[None]:
    """Clean up on SIGTERM as on Ctrl-C."""
    before = None
    with suppress(ValueError):  # only the main thread of a process hears signals
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _run(
    judge: Judge,
    scenarios: Sequence[tuple[str, Scenario]],
    sequences: Sequence[Recorded],
    damaged: list[RecordingError],
) -> None:
    with _watching(len(scenarios) + len(sequences)) as watch:
        try:
            for family, scenario in scenarios:
                watch(family, None)
                watch(family, judge.scenario(family, scenario))
            for recorded in sequences:
                name = Path(recorded.file).name
                watch(name, None)
                try:
                    watch(name, judge.recorded(recorded))
                except RecordingError as error:
                    damaged.append(error)
        except Unreachable as error:
            judge.ended = str(error)


@contextmanager
def _watching(total: int) -> Iterator[Callable[[str, Judged | None], None]]:
    """Show a progress bar if stderr is a terminal."""
    with progress() as bar:
        task = bar.add_task("", total=total, reached="")
        done = deviating = 0

        def watch(name: str, judged: Judged | None) -> None:
            nonlocal done, deviating
            done += judged is not None
            deviating += judged is not None and judged.verdict == "deviates"
            says = f", {deviating:,} deviate" if deviating else ""
            bar.update(task, completed=done, description=name, reached=f"{done:,} of {total:,}{says}")

        yield watch


def _show(screen: Screen, judge: Judge, damaged: Sequence[RecordingError]) -> None:
    judged_text.show(screen, judge.judged, published())
    for error in damaged[: judged_text.SHOWN]:
        screen.say(f"cannot be read: {error}", "bold yellow", hang=2)
    if len(damaged) > judged_text.SHOWN:
        screen.say(f"and {len(damaged) - judged_text.SHOWN:,} more; --json has them all")
    for what, names in (("topics", judge.left.topics), ("groups", judge.left.groups)):
        if names:
            screen.say(f"could not be deleted: {what} {', '.join(names)}", "bold yellow", hang=2)
    if judge.ended:
        screen.say(f"stopped early: {judge.ended}", "bold yellow", hang=2)
        screen.say(f"topics and groups whose names begin with {judge.prefix} may still exist", "bold yellow")


def _exit(judge: Judge, damaged: Sequence[RecordingError]) -> Exit:
    verdicts: set[Literal["conforms", "deviates", "not applicable", "not judged"]]
    verdicts = {each.verdict for each in judge.judged}
    if "deviates" in verdicts:
        return Exit.VIOLATED
    is_whole = "conforms" in verdicts and "not judged" not in verdicts and not judge.ended and not damaged
    return Exit.HOLDS if is_whole else Exit.INCONCLUSIVE
