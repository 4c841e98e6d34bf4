"""Judging a cluster outside: every scenario and recorded sequence, one after the other, each under names of its own."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from pydantic import JsonValue

from zombieproof.conformance.comparison import Json
from zombieproof.conformance.outside.applicable import Circumstances
from zombieproof.conformance.outside.cleaning import Left, WrongAnswer
from zombieproof.conformance.outside.introduction import Unreachable
from zombieproof.conformance.outside.looks import is_in, numbered, part_of, seen_in
from zombieproof.conformance.outside.peer import NotPossible, Peer
from zombieproof.conformance.outside.remote import Remote
from zombieproof.conformance.outside.scenarios import DirectedStep, NotSpoken, Scenario, step_of
from zombieproof.conformance.recording import Recorded
from zombieproof.conformance.runner import Player, play
from zombieproof.conformance.subject import Impossible
from zombieproof.conformance.symbols import Symbols, UnknownSymbol
from zombieproof.model.releases import age

PREFIX: Final = "zombieproof-conform-"
RECORDED_PARTITIONS: Final = 2
"""How many partitions ``__consumer_offsets`` has in a recorded cluster."""

Verdict = Literal["conforms", "deviates", "not applicable", "not judged"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one scenario or recorded sequence.

    Attributes:
        family: of the scenario, or the file of the recording.
        why: of one that is not applicable, or was not judged to its end.
        step: that deviates, counted from 1; `asked` is its API, version and request.
        bugs: published bugs that the deviation matches.
    """

    family: str
    name: str
    rule: str
    source: str
    verdict: Verdict
    why: str = ""
    step: int = 0
    asked: str = ""
    request: JsonValue = None
    expected: JsonValue = None
    got: JsonValue = None
    bugs: tuple[str, ...] = ()


@dataclass(slots=True)
class Judge:
    """Plays at a cluster, and leaves it as it was.

    Attributes:
        prefix: what every name of this run begins with.
        judged: everything so far, in order.
        left: topics and groups that could not be deleted.
        ended: why it is over before its end; "": it is not.
    """

    peer: Peer
    circumstances: Circumstances
    prefix: str = field(default_factory=lambda: f"{PREFIX}{secrets.token_hex(4)}-")
    judged: list[Judged] = field(default_factory=list)
    left: Left = field(default_factory=lambda: Left([], []))
    ended: str = ""
    _number: int = 0

    # ---------------------------------------------------------------- scenarios

    def scenario(self, family: str, scenario: Scenario) -> Judged:
        """Judge by a scenario.

        Raises:
            Unreachable: nobody answers any more.
        """
        reason = self._against(scenario)
        told = Judged(family, scenario.name, scenario.rule, scenario.source, "not applicable", reason)
        if not reason:
            told = self._kept(told, lambda: self._play(told, scenario))
        self.judged.append(told)
        return told

    def _against(self, scenario: Scenario) -> str:
        level = self.circumstances.spoken.transaction_version
        if level not in scenario.transaction_versions:
            of = ", ".join(map(str, scenario.transaction_versions))
            return f"it is about transaction.version {of}: the broker is at {level}"
        if scenario.since and age(self.circumstances.release) < age(scenario.since):
            return f"brokers do so since {scenario.since}: this one speaks as {self.circumstances.release} does"
        try:
            for step in scenario.steps:
                step_of(step, scenario.client, self.circumstances.spoken)
        except NotSpoken as error:
            return str(error)
        return ""

    def _play(self, told: Judged, scenario: Scenario) -> Judged:
        with self._remote(scenario.topics) as remote:
            player = Player(remote, Symbols(RECORDED_PARTITIONS, scenario.topics))
            for number, given in enumerate(scenario.steps, start=1):
                step = step_of(given, scenario.client, self.circumstances.spoken)
                remote.settles = not given.at_once
                told = replace(
                    told,
                    step=number,
                    asked=f"{step.api} {step.version}",
                    request=step.request.model_dump(mode="json", exclude_unset=True),
                )
                try:
                    got = player.answer(step, once=given.once)
                except WrongAnswer as error:
                    return _deviates(told, given, {"no answer": str(error)})
                except UnknownSymbol:
                    return _deviates(told, given, {"no answer": "no producer id was granted before"})
                seen = seen_in(step.api, got)
                if given.expectations and not any(is_in(numbered(each), seen) for each in given.expectations):
                    return _deviates(told, given, seen)
        return replace(told, verdict="conforms", step=0, asked="", request=None)

    # ---------------------------------------------------------------- recordings

    def recorded(self, recorded: Recorded) -> Judged:
        """Judge by a recorded sequence.

        Raises:
            Unreachable: nobody answers any more.
            RecordingError: the sequence asks for something that does not exist.
        """
        sequence = recorded.sequence
        rule = sequence.rule or "every answer is that of a real broker"
        source = f"recorded of Kafka {sequence.kafka}, transaction.version {sequence.tv}"
        reason = self.circumstances.reason_against(recorded)
        told = Judged(recorded.file, sequence.id, rule, source, "not applicable", reason or "")
        if reason is None:
            told = self._kept(told, lambda: self._replay(told, recorded))
        self.judged.append(told)
        return told

    def _replay(self, told: Judged, recorded: Recorded) -> Judged:
        with self._remote(recorded.sequence.topics) as remote:
            try:
                played = play(recorded, lambda _: remote)
            except WrongAnswer as error:
                return replace(told, verdict="deviates", got={"no answer": str(error)})
        found = played.difference
        if found is None:
            return replace(told, verdict="conforms")
        return replace(
            told,
            verdict="deviates",
            step=found.step,
            asked=f"{found.api} {found.version}",
            request=found.request,
            expected=found.expected,
            got=found.got,
        )

    # ---------------------------------------------------------------- names

    @contextmanager
    def _remote(self, topics: dict[str, int]) -> Iterator[Remote]:
        """The cluster for one sequence; what was made for it is taken away, however it ends."""
        self._number += 1
        remote = Remote(self.peer, f"{self.prefix}{self._number}-", topics)
        try:
            remote.begin_sequence()
            yield remote
        finally:
            left = _cleaned(remote)
            self.left.topics.extend(left.topics)
            self.left.groups.extend(left.groups)

    def _kept(self, told: Judged, play_it: Callable[[], Judged]) -> Judged:
        try:
            return play_it()
        except (NotPossible, Impossible) as error:
            return replace(told, verdict="not judged", why=str(error))
        except Unreachable as error:
            self.judged.append(replace(told, verdict="not judged", why=str(error)))
            raise


def _cleaned(remote: Remote) -> Left:
    """Take away what a sequence has made; whoever interrupts that waits until it is done."""
    try:
        return remote.clean()
    except KeyboardInterrupt:
        remote.clean()
        raise


def _deviates(told: Judged, given: DirectedStep, seen: Json) -> Judged:
    expectations = given.expectations
    expected: JsonValue = expectations[0] if len(expectations) == 1 else {"one of": list(expectations)}
    got = part_of(numbered(expectations[0]), seen) if len(expectations) == 1 else seen
    bugs = tuple(number for number, part in given.matches.items() if is_in(numbered(part), seen))
    return replace(told, verdict="deviates", expected=expected, got=got, bugs=bugs)
