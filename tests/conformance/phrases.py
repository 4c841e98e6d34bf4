"""Words that cases of several suites use, and how a suite asserts and consumes them.

A suite reads the mappings of a case through `Fields`: what it has not taken makes the case not runnable.
"""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from tests.conformance.cases import Failed, NotRunnable
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import Error, TransactionState

STATES = {
    "Empty": TransactionState.EMPTY,
    "Ongoing": TransactionState.ONGOING,
    "PrepareCommit": TransactionState.PREPARE_COMMIT,
    "PrepareAbort": TransactionState.PREPARE_ABORT,
    "CompleteCommit": TransactionState.COMPLETE_COMMIT,
    "CompleteAbort": TransactionState.COMPLETE_ABORT,
    "Dead": TransactionState.DEAD,
    "PrepareEpochFence": TransactionState.PREPARE_EPOCH_FENCE,
}
"""Kafka's names of the states of a transactional id."""


OTHER_ERRORS = {"INVALID_TOPIC_EXCEPTION": 17, "INVALID_REQUIRED_ACKS": 21}
"""Errors that no decision knows, which brokers may see all the same."""


ANSWERS: tuple[frozenset[str], ...] = (
    frozenset({*(error.name for error in Error), *OTHER_ERRORS, "nothing", "still waiting"}),
    frozenset({*STATES, "none"}),
    frozenset({"IllegalStateException", "nothing"}),
    frozenset({"attempted", "none"}),
    frozenset({"kept", "gone"}),
    frozenset({"kept", "deleted"}),
)
"""What one thing may come to, as texts: a word that is none of them was not understood."""


class Fields:
    """A mapping of a case, read key by key.

    Args:
        mapping: what the case says; anything but a mapping is not runnable.
        where: how it is called in messages. What does not begin with ``given`` or ``when`` is expected: it may not be
            empty, nor null anywhere.
        is_rest: other parts of what is expected were taken before, so that nothing may be left.
    """

    def __init__(self, mapping: object, where: str, *, is_rest: bool = False) -> None:
        if not isinstance(mapping, Mapping):
            raise NotRunnable(f"{where} is {mapping!r}, not a mapping")
        self._is_expected = where.split(maxsplit=1)[0] not in ("given", "when")
        if self._is_expected and not mapping and not is_rest:
            raise NotRunnable(f"{where} is empty: it says nothing")
        self._left = dict(mapping)
        self._where = where

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def take(self, key: str, default: Any = None) -> Any:
        """The value of `key`, which is thereby understood; `default` if there is none.

        Raises:
            NotRunnable: it is expected, and empty: that would be an assertion that asserts nothing.
        """
        if key not in self._left:
            return default
        return self._said(key, self._left.pop(key))

    def items(self) -> Iterable[tuple[str, Any]]:
        """Every key that is left with its value; all are thereby understood.

        Raises:
            NotRunnable: as for `take`.
        """
        left, self._left = self._left, {}
        return {key: self._said(key, value) for key, value in left.items()}.items()

    def _said(self, key: str, value: Any) -> Any:
        if self._is_expected and (value is None or (isinstance(value, str) and not value.strip())):
            raise NotRunnable(f"{self._where}: {key!r} is empty: it says nothing")
        return value

    def done(self) -> None:
        """Nothing may be left.

        Raises:
            NotRunnable: a key was not taken.
        """
        if self._left:
            raise NotRunnable(f"{self._where}: {', '.join(map(repr, self._left))} is not understood")


def listed(value: Any) -> list[Any]:
    """A list as it is, anything else as a list of one."""
    return value if isinstance(value, list) else [value]


def matched(pattern: str, phrase: object, what: str = "phrase") -> re.Match[str]:
    """The match of the whole phrase.

    Raises:
        NotRunnable: it does not match.
    """
    match = re.fullmatch(pattern, phrase) if isinstance(phrase, str) else None
    if match is None:
        raise NotRunnable(f"{what} {phrase!r} is not understood")
    return match


def by_version(value: object, version: int, where: str) -> Any:
    """``{tv0: 1, tv2: 2}`` is what holds for one transaction version; anything but a mapping holds for each.

    Raises:
        NotRunnable: a key is no version, or none is this one.
    """
    if not isinstance(value, Mapping):
        return value
    for key in value:
        matched("tv[012]", key, where)
    if value.get(f"tv{version}") is None:
        raise NotRunnable(f"{where}: {value!r} says nothing for version {version}")
    return value[f"tv{version}"]


def check(what: str, expected: object, got: object) -> None:
    """Assert one part of *expect*; booleans are no numbers here.

    Raises:
        NotRunnable: nothing is expected; or they can never be equal: a text and a number, the name of an error and a
            word that names none.
        Failed: they differ.
    """
    if expected is None and got is not None:
        raise NotRunnable(f"{what}: nothing is said of it; it is {got!r}")
    if got is not None and (_kind(expected) != _kind(got) or _is_no_answer(expected, got)):
        raise NotRunnable(f"{what}: {expected!r} is not understood; it is compared with {got!r}")
    if expected != got or _booleans(expected) != _booleans(got):
        raise Failed(f"{what}: expected {expected!r}, got {got!r}")


def _booleans(value: object) -> object:
    """Where in a value there are booleans, which Python takes for numbers."""
    if isinstance(value, Mapping):
        return {key: _booleans(part) for key, part in value.items()}
    return [_booleans(part) for part in value] if isinstance(value, list | tuple) else isinstance(value, bool)


def _kind(value: object) -> type:
    """Of what kind a value is: a number (or a boolean), a text, a list, a set or a mapping."""
    kinds: tuple[type, ...] = (int, str, list, tuple, frozenset, set, Mapping)
    kind = next((kind for kind in kinds if isinstance(value, kind)), type(value))
    return frozenset if kind is set else kind


def _is_no_answer(expected: object, got: object) -> bool:
    """Whether a text is none of those that could stand in the place of what came."""
    if isinstance(expected, str) and isinstance(got, str):
        legal = [answers for answers in ANSWERS if got in answers]
        return bool(legal) and not any(expected in answers for answers in legal)
    if isinstance(expected, AbstractSet) and isinstance(got, AbstractSet):
        return any(_is_no_answer(one, other) for one in expected - got for other in got)
    return False


def error_of(name: object) -> int:
    """The code of an error that Kafka names.

    Raises:
        NotRunnable: there is no such error.
    """
    if isinstance(name, str) and name in Error.__members__:
        return int(Error[name])
    if isinstance(name, str) and name in OTHER_ERRORS:
        return OTHER_ERRORS[name]
    raise NotRunnable(f"{name!r} is no error of the protocol")


def error_name(code: int) -> str:
    """Kafka's name of an error code; the code itself where it has none."""
    if code in {int(error) for error in Error}:
        return Error(code).name
    return next((name for name, other in OTHER_ERRORS.items() if other == code), str(code))


def state_of(name: object) -> TransactionState:
    """The state that Kafka names so.

    Raises:
        NotRunnable: there is none.
    """
    if not isinstance(name, str) or name not in STATES:
        raise NotRunnable(f"{name!r} is no state of a transactional id")
    return STATES[name]


def state_name(state: int) -> str:
    """Kafka's name of a state, ``none`` for none."""
    return next((name for name, number in STATES.items() if number == state), "none")


def partition_of(name: object) -> TopicPartition:
    """``topic1-0`` as a topic partition.

    Raises:
        NotRunnable: it is none.
    """
    match = matched(r"(.+)-(\d+)", name, "partition")
    return match[1], int(match[2])
