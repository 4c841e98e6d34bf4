"""A statement that a client can print, as data: how it is recognised, which fact it tells, and a line that shows it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from zombieproof.formats.faults import Undecodable
from zombieproof.traces.evidence import ClientFact

NUMBER = r"-?\d{1,19}"
EPOCH = r"-?\d{1,5}"
FIRST = 6
"""How many letters of a text choose the statements that it is compared with."""


class Library(StrEnum):
    """The client libraries whose statements are known."""

    JAVA = "the Java client"
    STREAMS = "Kafka Streams"
    CONNECT = "Kafka Connect"
    LIBRDKAFKA = "librdkafka"
    FRANZ_GO = "franz-go"
    SARAMA = "Sarama"
    KAFKAJS = "kafkajs"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a client.

    Attributes:
        name: its subject, unique within its library.
        begins: the words with which it begins.
        rest: a regular expression for the text after them, to its end. Named groups become fields: id, epoch, name
            (the transactional id), waited and limit (milliseconds), and whatever `before` and `after` mention.
        fact: the fact; None where it says nothing about transactions.
        before, after: the texts of the fact, with named groups in braces.
        keys: groups by the key of a field next to the text. They are required, unless the key ends
            in a question mark.
        states: the words that `after` can be, where it is a state; a word that only begins like one is cut.
        is_strict: a line that begins so and does not match is cut.
        releases: the releases that print it.
        line: a line as the client prints it.
    """

    library: Library
    name: str
    begins: str
    rest: str
    fact: ClientFact | None
    before: str = ""
    after: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    states: tuple[str, ...] = ()
    is_strict: bool = False
    releases: str = "all"
    line: str = ""

    def groups_in(self, text: str, values: Mapping[str, str]) -> dict[str, str] | None:
        """The fields of a text and of the values next to it; None if it is not this statement.

        Raises:
            Undecodable: it begins like this statement, and is cut.
        """
        if not text.startswith(self.begins):
            return None
        found = compiled(self.rest).fullmatch(text, len(self.begins))
        if found is None:
            if self.is_strict:
                raise Undecodable(f"the line is cut: {text!r}")
            return None
        groups = {name: value for name, value in found.groupdict().items() if value is not None}
        for key, group in self.keys.items():
            value = values.get(key.removesuffix("?"))
            if value is not None:
                groups[group] = value
            elif not key.endswith("?"):
                return None
        if self.states:
            state = groups["after"].rpartition("|")[2]
            if state not in self.states and any(known.startswith(state) for known in self.states):
                raise Undecodable(f"the line is cut: {text!r}")
        return groups

    def may_go_on(self, text: str, groups: Mapping[str, str]) -> bool:
        """Whether a text that ends here could be the beginning of one with another number or state."""
        if self.states:
            state = groups["after"].rpartition("|")[2]
            return any(known != state and known.startswith(state) for known in self.states)
        return any(value.isdecimal() and text.endswith(value) for value in groups.values())


_COMPILED: dict[str, re.Pattern[str]] = {}


def compiled(pattern: str) -> re.Pattern[str]:
    """A regular expression, compiled when it is first needed."""
    found = _COMPILED.get(pattern)
    if found is None:
        found = _COMPILED[pattern] = re.compile(pattern, re.ASCII | re.DOTALL)
    return found


class Table:
    """The statements of one library or layout, found by the words with which they begin."""

    def __init__(self, statements: tuple[Statement, ...]) -> None:
        self.statements = statements
        self._any = [each for each in statements if len(each.begins) < FIRST]

    @cached_property
    def _by_first_word(self) -> dict[str, list[Statement]]:
        found: dict[str, list[Statement]] = {}
        for statement in self.statements:
            if len(statement.begins) >= FIRST:
                found.setdefault(first_word(statement.begins), []).append(statement)
        return found

    def that_match(self, text: str, values: Mapping[str, str]) -> list[tuple[Statement, dict[str, str]]]:
        """The statements that a text is; several where one line tells several facts.

        Raises:
            Undecodable: it begins like one, and is cut.
        """
        found = []
        for statement in (*self._by_first_word.get(first_word(text), ()), *self._any):
            groups = statement.groups_in(text, values)
            if groups is not None:
                found.append((statement, groups))
        return found


def first_word(text: str) -> str:
    """The first letters of a text, which tell most statements apart."""
    return text[:FIRST]
