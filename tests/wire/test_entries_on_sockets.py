"""Entries that are made or deleted while brokers run count at once, for whoever is connected already too."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.wire.questions_acls import ALLOW, EVERY
from tests.wire.raw import Socket, ask
from tests.wire.recorder_rights import logged_in
from zombieproof.broker.authorization.access_list import AccessList, Entry
from zombieproof.broker.authorization.bindings import Binding
from zombieproof.broker.authorization.mechanisms import Plain
from zombieproof.model.access import AclOperation, PatternType, Permission, ResourceType
from zombieproof.model.vocabulary import ApiKey
from zombieproof.statemachines import authorizing
from zombieproof.wire.apis import WIRE_APIS, create_acls, delete_acls
from zombieproof.wire.running import Running
from zombieproof.wire.security import Security

DENY = {**ALLOW, "permission_type": 2, "operation": 8, "host": "127.0.0.1"}
MINE = Entry("User:nobody", Permission.ALLOW, AclOperation.READ, ResourceType.TOPIC, "t")
CLUSTER_DENIED = 31


class Connected:
    """Connections of root and of nobody, to two brokers, that were there before anything changed."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.roots = [self.connect("root", at) for at in range(2)]
        self.nobodies = [self.connect("nobody", at) for at in range(2)]

    def connect(self, user: str, at: int) -> Any:
        """Another connection."""
        return logged_in(Socket(*list(self.running.server.addresses.values())[at]), user)

    def sees(self) -> set[int]:
        """How topic t is told of: on each old connection, and on a new one."""
        new = self.connect("nobody", 0)
        values = {"topics": [{"name": "t"}], "allow_auto_topic_creation": False}
        try:
            return {ask(each, ApiKey.METADATA, 9, values)["topics"][0]["error_code"] for each in (*self.nobodies, new)}
        finally:
            new.close()

    def create(self, row: Any, user: int = 0) -> int:
        """Make an entry, at the second broker."""
        told = ask((self.roots, self.nobodies)[user][1], ApiKey.CREATE_ACLS, 3, {"creations": [row]})
        return int(told["results"][0]["error_code"])

    def delete(self, user: int = 0, **row: Any) -> Any:
        """Delete entries, at the first broker."""
        told = ask((self.roots, self.nobodies)[user][0], ApiKey.DELETE_ACLS, 3, {"filters": [{**EVERY, **row}]})
        return told["filter_results"][0]

    def described(self) -> list[tuple[str, str]]:
        """Principal and host of each entry."""
        told = ask(self.roots[0], ApiKey.DESCRIBE_ACLS, 3, EVERY)
        return [(row["principal"], row["host"]) for each in told["resources"] for row in each["acls"]]

    def close(self) -> None:
        """Hang up."""
        for each in (*self.roots, *self.nobodies):
            each.close()


@contextmanager
def connected() -> Iterator[Connected]:
    """Two brokers with a topic; root may do everything, and nobody nothing."""
    users = {"root": "root", "nobody": "nobody"}
    access = AccessList(super_users=frozenset({"User:root"}))
    with Running(brokers=2, access=access, security=Security({"PLAIN": Plain(users)})) as running:
        running.topics(t=1)
        all_of_them = Connected(running)
        try:
            yield all_of_them
        finally:
            all_of_them.close()


def created_counts(on: Connected) -> None:
    assert on.sees() == {29}
    assert on.create(ALLOW) == 0
    assert on.sees() == {0}


def deleted_counts_no_more(on: Connected) -> None:
    on.create(ALLOW)
    on.sees()
    assert [(row["principal"], row["host"]) for row in on.delete()["matching_acls"]] == [("User:nobody", "*")]
    assert on.sees() == {29}
    assert on.described() == []


def denial_outweighs(on: Connected) -> None:
    on.create(ALLOW)
    assert on.create(DENY) == 0
    assert on.described() == [("User:nobody", "127.0.0.1"), ("User:nobody", "*")]
    assert on.sees() == {29}
    on.delete(host_filter="127.0.0.1")
    assert on.sees() == {0}


def who_may_not_changes_nothing(on: Connected) -> None:
    assert on.create(ALLOW, user=1) == CLUSTER_DENIED
    assert (on.sees(), on.described()) == ({29}, [])
    on.create(ALLOW)
    assert on.delete(user=1)["error_code"] == CLUSTER_DENIED
    assert on.sees() == {0}
    assert on.described() == [("User:nobody", "*")]


PROMISES = (created_counts, deleted_counts_no_more, denial_outweighs, who_may_not_changes_nothing)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda each: each.__name__)
def test_entries_change_while_brokers_run(promise: Callable[[Connected], None]) -> None:
    with connected() as on:
        promise(on)


def _remembers(self: AccessList, entries: Any) -> None:
    """What was asked before is answered as before."""
    self.entries = frozenset(entries)


def _only_adds(self: AccessList, entries: Any) -> None:
    self.entries |= frozenset(entries)
    self._known.clear()


def _allowing_first(is_super: bool, is_denied: bool, is_allowed: bool, is_named: bool, everyone: bool) -> bool:
    return is_super or is_allowed


MUTANTS: dict[str, tuple[Callable[[Connected], None], Any, str, Any]] = {
    "old answers are remembered when one is made": (created_counts, AccessList, "set_entries", _remembers),
    "old answers are remembered when one is deleted": (deleted_counts_no_more, AccessList, "set_entries", _remembers),
    "what is deleted stays": (deleted_counts_no_more, AccessList, "set_entries", _only_adds),
    "nothing is made": (created_counts, Binding, "fault", lambda _: "no"),
    "nothing is found": (deleted_counts_no_more, Binding, "names", lambda *_: False),
    "hosts are no part of a filter": (denial_outweighs, Binding, "names", lambda *_: True),
    "who is allowed is not denied": (denial_outweighs, authorizing, "may", _allowing_first),
    "everybody may change entries": (who_may_not_changes_nothing, authorizing, "fact_enters", lambda _: 0),
    "who is refused has made one": (who_may_not_changes_nothing, create_acls.CREATE_ACLS, "", create_acls),
    "who is refused has deleted one": (who_may_not_changes_nothing, delete_acls.DELETE_ACLS, "", delete_acls),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_seen(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    promise, owner, name, instead = MUTANTS[mutant]
    if name:
        monkeypatch.setattr(owner, name, instead)
    else:
        _change_before_refusing(owner, instead, monkeypatch)
    with connected() as on, pytest.raises(AssertionError):
        promise(on)


def _change_before_refusing(api: Any, module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = api.to_values

    def changing(entity: Any, answers: Any, version: int, around: Any) -> Any:
        module.told(entity, version, around)
        return before(entity, answers, version, around)

    monkeypatch.setitem(WIRE_APIS, api.key, replace(api, to_values=changing))


def test_without_an_access_list_there_is_nothing_to_tell() -> None:
    with Running() as running:
        asked = Socket(*next(iter(running.server.addresses.values())))
        told = (
            ask(asked, ApiKey.DESCRIBE_ACLS, 3, EVERY)["error_code"],
            ask(asked, ApiKey.CREATE_ACLS, 3, {"creations": [ALLOW]})["results"][0]["error_code"],
            ask(asked, ApiKey.DELETE_ACLS, 3, {"filters": [EVERY]})["filter_results"][0]["error_code"],
        )
        asked.close()
    assert told == (54, 54, 54)


def test_an_entry_that_is_made_is_the_same_as_of_a_file() -> None:
    row = Binding(2, "t", PatternType.LITERAL, "User:nobody", "*", 3, 3)
    assert row.entry() == MINE
    assert row.names(MINE)
