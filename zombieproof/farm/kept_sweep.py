"""What a sweep has found so far, in a file: a line for each combination, so that one that is stopped goes on.

The first line says what is swept over, and by which sources; each line has a checksum that covers the first one too. A
line is on the disk before the next combination is begun: who is killed loses the one in hand, and a line that was cut
short by that is left away. What is inconclusive is not kept: with other limits it may come to its end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from zombieproof import system
from zombieproof.checker.request import chosen, preset_in_force
from zombieproof.farm.sources import sources
from zombieproof.farm.sweeping import Explore, Place, Space

if TYPE_CHECKING:
    from zombieproof.checker.checking import Checked

FORMAT: Final = 1
_SUM: Final = "sha256"
_BEGINS: Final = b'{"sweep": '


class KeptRefused(ValueError):
    """A file cannot be used; the message says which, why, and what to do."""


class Line(BaseModel):
    """A combination that was explored to its end; `actions` and `repeats_from` are those of a counterexample."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scenario: str
    bounds: Mapping[str, int]
    verdict: Literal["holds", "violated"]
    distinct: int
    generated: int
    depth: int
    seconds: float
    promise: str | None = None
    actions: list[int] | None = None
    repeats_from: int | None = None


class KeptSweep:
    """The file of a sweep, open for this process until it is closed.

    Args:
        path: where; it must not be there, unless `resume`.
        spaces: what is swept over.
        resume: whether to go on from what is there.

    Raises:
        KeptRefused: it cannot be written, another process works on it, or it is damaged, or of something else.
    """

    def __init__(self, path: Path, spaces: Sequence[Space], *, resume: bool) -> None:
        self.path = path
        self._found: dict[tuple[str, tuple[tuple[str, int], ...]], Line] = {}
        self._head = _head(spaces)
        if path.exists() and not resume:
            raise self._refused("the file exists", "continue it with --resume, or remove it to start again")
        if resume and not path.exists():
            raise self._refused("no such file", "omit --resume to start a new one")
        try:
            self._file = path.open("a+b")
        except OSError as error:
            raise self._refused(error.strerror or str(error), "give a writable file") from None
        try:
            self._claim()
            self._read()
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Let others have the file."""
        self._file.close()

    def through(self, explore: Explore) -> Explore:
        """The same, but that nothing is explored that is known, and what is found is kept."""

        def explore_or_take(space: Space, place: Place, seconds: float) -> Checked | None:
            line = self._found.get(_key(space.scenario.name, space.bounds(place)))
            if line is not None:
                return _checked(space, place, line)
            checked = explore(space, place, seconds)
            if checked is not None and not checked.result.interrupted and checked.result.verdict != "inconclusive":
                self._keep(_line(space, place, checked))
            return checked

        return explore_or_take

    # ---------------------------------------------------------------- the file

    def _refused(self, fault: str, advice: str) -> KeptRefused:
        return KeptRefused(f"--checkpoint {self.path}: {fault}; {advice}")

    def _claim(self) -> None:
        try:
            is_ours = system.claim(self._file.fileno())
        except system.NoFileLocks:
            fault = "this file system cannot lock files, so another process could write there"
            raise self._refused(fault, "give a file on a local disk") from None
        if not is_ours:
            raise self._refused("another process is using it", "wait until it ends, or give another file")

    def _read(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        lines = whole.split(b"\n")[:-1]
        if content and not (lines and lines[0].startswith(_BEGINS)):
            raise self._refused("it is not a checkpoint of a sweep", "give another file; this one was not changed")
        if not content:
            self._write(self._head)
            return
        head = self._checked_line(1, lines[0], "")
        self._compare(head)
        for number, text in enumerate(lines[1:], start=2):
            data = self._checked_line(number, text, _sum_of(self._head, ""))
            try:
                line = Line.model_validate(data)
            except ValidationError as error:
                raise self._damaged(number, str(error.errors()[0]["msg"])) from None
            self._found[_key(line.scenario, line.bounds)] = line
        self._file.truncate(len(whole))

    def _checked_line(self, number: int, text: bytes, salt: str) -> dict[str, Any]:
        """What a line says, without its checksum."""
        try:
            data = json.loads(text)
        except ValueError as error:
            raise self._damaged(number, f"invalid JSON: {error}") from None
        if not isinstance(data, dict) or data.pop(_SUM, None) != _sum_of(data, salt):
            raise self._damaged(number, "its checksum does not match")
        return data

    def _damaged(self, number: int, fault: str) -> KeptRefused:
        return self._refused(
            f"line {number} is damaged: {fault}", "restore the file from a copy, or remove it and start again"
        )

    def _compare(self, head: Mapping[str, Any]) -> None:
        if head.get("sweep") != FORMAT:
            raise self._refused(
                f"it has format {head.get('sweep')!r}, but this version uses {FORMAT}", "give another file"
            )
        if head.get("sources") != self._head["sources"]:
            raise self._refused(
                "it was written by another version of the model or the checker", "start again with another file"
            )
        for what, now in self._head["asked"].items():
            before = head.get("asked", {}).get(what)
            if before != now:
                raise self._refused(
                    f"{what} of this sweep: {now or 'none'}; in the file: {before or 'none'}",
                    "use the same options, or give another file",
                )

    def _keep(self, line: Line) -> None:
        self._found[_key(line.scenario, line.bounds)] = line
        self._write(line.model_dump(mode="json"), _sum_of(self._head, ""))

    def _write(self, data: Mapping[str, Any], salt: str = "") -> None:
        try:
            self._file.write(json.dumps({**data, _SUM: _sum_of(data, salt)}).encode() + b"\n")
            self._file.flush()
            system.sync(self._file.fileno())
        except OSError as error:
            raise self._refused(error.strerror or str(error), "free disk space and continue with --resume") from None


# ---------------------------------------------------------------- what stands in it


def _sum_of(data: Mapping[str, Any], salt: str) -> str:
    return hashlib.sha256(f"{salt}\0{json.dumps(data, sort_keys=True)}".encode()).hexdigest()[:16]


def _key(scenario: str, bounds: Mapping[str, int]) -> tuple[str, tuple[tuple[str, int], ...]]:
    return scenario, tuple(sorted(bounds.items()))


def _head(spaces: Sequence[Space]) -> dict[str, Any]:
    files = sorted({str(Path(space.scenario.origin).resolve()) for space in spaces if space.scenario.origin})
    request = spaces[0].request
    rules = [f"--rules {request.rules}"] if request.rules else []
    rules += [f"--with {name}" for name in request.on] + [f"--without {name}" for name in request.off]
    rules += [f"--mutant {request.mutant}"] if request.mutant else []
    axes = [f"{space.scenario.name}({_words(space)})" for space in spaces]
    return {
        "sweep": FORMAT,
        "sources": "".join(sources(file) for file in files or ("",)),
        "asked": {"the rules": " ".join(rules), "the combinations": ", ".join(axes)},
    }


def _words(space: Space) -> str:
    return ",".join(f"{name}={'/'.join(map(str, values))}" for name, values in space.axes.items())


def _line(space: Space, place: Place, checked: Checked) -> Line:
    result, violated = checked.result, checked.result.violated
    return Line(
        scenario=space.scenario.name,
        bounds=space.bounds(place),
        verdict="violated" if violated else "holds",
        distinct=result.distinct,
        generated=result.generated,
        depth=result.depth,
        seconds=result.seconds,
        promise=violated.promise if violated else None,
        actions=violated.actions if violated else None,
        repeats_from=violated.repeats_from if violated else None,
    )


def _checked(space: Space, place: Place, line: Line) -> Checked:
    """What was found, as far as a sweep tells it: a counterexample is replayed before it is told again."""
    from zombieproof.checker.checking import Checked  # noqa: PLC0415  # Numba is loaded when it is needed
    from zombieproof.checker.engine.result import Counterexample, Result  # noqa: PLC0415  # the same

    scenario, request = space.scenario_at(place), space.request_at(place)
    rules, bounds = chosen(scenario, request)
    model, mutant = scenario.model(bounds), scenario.mutant(request.mutant) if request.mutant else None
    violated = Counterexample(line.promise, line.actions, line.repeats_from) if line.promise else None
    result = Result(
        verdict=line.verdict,
        why=None,
        distinct=line.distinct,
        generated=line.generated,
        depth=line.depth,
        seconds=line.seconds,
        cpu_seconds=line.seconds,
        compile_seconds=0.0,
        peak_mib=0.0,
        bytes_per_state=0.0,
        frontier_bytes=0.0,
        state_bytes=0,
        collision_probability=line.distinct**2 / 2**65,
        promises=(),
        violated=violated,
        witnesses={},
        coverage=None,
        bound_hits={},
        interrupted=False,
    )
    name = preset_in_force(scenario, request)
    return Checked(scenario, model, scenario.setup(rules, bounds), rules, name, bounds, mutant, False, result)
