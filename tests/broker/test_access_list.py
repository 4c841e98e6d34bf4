"""Entries are found by what they name; what they come to is what Kafka makes of them; they may change at any time."""

from itertools import product

import pytest

from zombieproof.broker.authorization.access_list import AccessList, Entry, entry_of_data
from zombieproof.broker.authorization.principals import Principal
from zombieproof.model.access import CLUSTER_NAME, EVERYTHING, AclOperation, PatternType, Permission, ResourceType

U, OTHER = Principal("u"), Principal("v", "10.0.0.7")
TOPIC, GROUP, O = ResourceType.TOPIC, ResourceType.GROUP, AclOperation  # noqa: E741  # as in Kafka's tables


def entry(
    name: str,
    operation: AclOperation = O.READ,
    *,
    denied: bool = False,
    by_prefix: bool = False,
    host: str = EVERYTHING,
    principal: str = "User:u",
    resource: ResourceType = TOPIC,
) -> Entry:
    pattern = PatternType.PREFIXED if by_prefix else PatternType.LITERAL
    permission = Permission.DENY if denied else Permission.ALLOW
    return Entry(principal, permission, operation, resource, name, pattern, host)


def may(access: AccessList, name: str, operation: AclOperation = O.READ, who: Principal = U) -> bool:
    return access.may(who, operation, TOPIC, name)


def of(*entries: Entry) -> AccessList:
    return AccessList(frozenset(entries))


def test_a_name_is_the_whole_one() -> None:
    access = of(entry("orders"))
    names = ("orders", "order", "orders2", "Orders", "", "*")
    assert [may(access, each) for each in names] == [True, False, False, False, False, False]


def test_a_prefix_is_how_names_begin_and_a_star_is_every_name() -> None:
    access = of(entry("ord", by_prefix=True))
    assert [may(access, each) for each in ("orders", "ord", "or", "")] == [True, True, False, False]
    assert [may(of(entry("*")), each) for each in ("orders", "", "*")] == [True, True, True]
    assert [may(of(entry("*", by_prefix=True)), each) for each in ("orders", "*", "*x")] == [False, True, True]


@pytest.mark.parametrize(("wide", "by_prefix"), [("orders", False), ("or", True), ("*", False)])
def test_whatever_denies_outweighs_whatever_allows(wide: str, by_prefix: bool) -> None:
    for allowing in (entry("orders"), entry("ord", by_prefix=True), entry("*"), entry("*", O.ALL)):
        access = of(allowing, entry(wide, denied=True, by_prefix=by_prefix))
        assert not may(access, "orders")
        assert may(of(allowing), "orders")


def test_who_is_denied_reading_may_still_know() -> None:
    access = of(entry("orders", O.ALL), entry("orders", denied=True))
    assert [may(access, "orders", each) for each in (O.READ, O.WRITE, O.DESCRIBE)] == [False, True, True]


def test_an_entry_is_about_its_user_its_host_and_its_type() -> None:
    access = of(entry("orders", host="10.0.0.7"))
    assert not may(access, "orders")
    assert may(access, "orders", who=Principal("u", "10.0.0.7"))
    assert not may(access, "orders", who=OTHER)
    assert not may(access, "orders", who=Principal("u", "10.0.0.7", "Group"))
    assert may(of(entry("orders", principal="User:*")), "orders", who=OTHER)
    assert not of(entry("orders")).may(U, O.READ, GROUP, "orders")


def test_what_nobody_names_is_everybodys_if_that_is_said() -> None:
    entries = frozenset({entry("orders", principal="User:v")})
    access = AccessList(entries, everyone_if_none_is_found=True)
    assert [may(access, each) for each in ("orders", "other")] == [False, True]
    assert not may(AccessList(entries), "other")
    assert access.may(U, O.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)


def test_a_super_user_is_asked_nothing() -> None:
    denied = frozenset({entry("*", O.ALL, denied=True)})
    access = AccessList(denied, frozenset({"User:u"}))
    assert may(access, "orders", O.DELETE)
    assert access.may_some(U, O.WRITE, TOPIC)
    assert not AccessList(denied, frozenset({"User:v"})).may_some(U, O.WRITE, TOPIC)


def test_entries_come_and_go() -> None:
    access = of(entry("orders"))
    assert may(access, "orders")
    access.set_entries([])
    assert not may(access, "orders")
    access.set_entries([entry("ord", by_prefix=True)])
    assert may(access, "orders")


def test_what_is_remembered_is_bounded_and_right() -> None:
    access = of(entry("a", by_prefix=True))
    for number in range(25_000):
        assert may(access, f"a{number}")
        assert not may(access, f"b{number}")
    assert len(access._known) <= 10_000  # what is bounded


def test_some_topic_is_one_that_an_entry_allows_and_no_other_denies_as_a_whole() -> None:
    allowed, prefix = entry("t0", O.WRITE), entry("t", O.WRITE, by_prefix=True)
    cases = [
        ((), False),
        ((allowed,), True),
        ((entry("t0", O.ALL),), True),
        ((entry("t0", O.DESCRIBE),), False),
        ((allowed, entry("t0", O.WRITE, denied=True)), False),
        ((prefix, entry("t0", O.WRITE, denied=True)), True),
        ((allowed, entry("t", O.WRITE, denied=True, by_prefix=True)), False),
        ((prefix, entry("t0", O.WRITE, denied=True, by_prefix=True)), True),
        ((entry("*", O.WRITE), entry("t", O.WRITE, denied=True, by_prefix=True)), True),
        ((entry("*", O.WRITE), entry("*", O.WRITE, denied=True, by_prefix=True)), True),
        ((allowed, entry("*", O.ALL, denied=True)), False),
        ((allowed, entry("*", O.READ, denied=True)), True),
    ]
    for entries, some in cases:
        assert of(*entries).may_some(U, O.WRITE, TOPIC) is some, entries
        assert not of(*entries).may_some(OTHER, O.WRITE, TOPIC)


def test_told_as_plain_values_it_is_the_same() -> None:
    entries = frozenset(
        entry(name, operation, denied=denied, by_prefix=by_prefix, host=host)
        for name, operation, denied, by_prefix, host in product(
            ("a", "*"), (O.READ, O.ALL), (True, False), (True, False), ("*", "10.0.0.7")
        )
    )
    access = AccessList(entries, frozenset({"User:root"}), everyone_if_none_is_found=True)
    again = AccessList.of_data(access.as_data())
    assert (again.entries, again.everyone_if_none_is_found) == (entries, True)
    assert again.super_users == {"User:root"}
    assert all(isinstance(each.operation, AclOperation) for each in again.entries)
    for wrong in (["User:u", 9, 3, 2, "t", 3, "*"], ["User:u", 3, 3, 2, "t", 9, "*"], ["User:u", 3]):
        with pytest.raises(ValueError, match=r"9 is not|not enough"):
            entry_of_data(wrong)
