"""What is asked of the entries themselves, one after the other: what root makes and deletes is there for the next.

When they begin `RIGHTS` are in force, and nothing else. What somebody without rights may see of a topic in between says
whether an entry counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zombieproof.model.vocabulary import ApiKey

ACL = {"resource_type": 2, "resource_name": "t", "resource_pattern_type": 3, "principal": "User:nobody", "host": "*"}
ALLOW = {**ACL, "operation": 3, "permission_type": 3}
"""Reading topic t is allowed to nobody."""
EVERY = {
    "resource_type_filter": 1,
    "pattern_type_filter": 1,
    "operation": 1,
    "permission_type": 1,
    "resource_name_filter": None,
    "principal_filter": None,
    "host_filter": None,
}

Row = tuple[str, ApiKey, int, Mapping[str, Any]]

UNKNOWN = (0, 9, 99, -1)
"""Numbers that are none of Kafka's kinds; 0 is the one that Kafka itself calls unknown."""


def created(*rows: Mapping[str, Any], user: str = "root", version: int = 3) -> Row:
    """Entries are to be made."""
    return user, ApiKey.CREATE_ACLS, version, {"creations": rows}


def deleted(*rows: Mapping[str, Any], user: str = "root", version: int = 3) -> Row:
    """What filters name is to be deleted."""
    return user, ApiKey.DELETE_ACLS, version, {"filters": [{**EVERY, **row} for row in rows]}


def described(user: str = "root", of: Mapping[str, Any] | None = None, *, version: int = 3, **row: Any) -> Row:
    """What a filter names is to be told."""
    return user, ApiKey.DESCRIBE_ACLS, version, {**EVERY, **(of or {}), **row}


def seen() -> Row:
    """What nobody sees of two topics, of which one exists."""
    topics = [{"name": "t"}, {"name": "no"}]
    return "nobody", ApiKey.METADATA, 9, {"topics": topics, "allow_auto_topic_creation": False}


def asked_of_entries() -> Iterator[Row]:
    """All of them, in their order."""
    yield from _counting()
    yield from _told()
    yield from _wrong()
    yield from _at_last()


def _counting() -> Sequence[Row]:
    mine = {"principal_filter": "User:nobody"}
    return (
        seen(),
        created(ALLOW, user="nobody"),
        created(ALLOW, user="knower"),
        seen(),
        created(ALLOW),
        seen(),
        created(ALLOW, ALLOW),
        described(of=mine),
        created({**ALLOW, "operation": 8, "permission_type": 2, "principal": "User:*"}),
        seen(),
        deleted({"permission_type": 2}, user="nobody"),
        deleted({"permission_type": 2}, user="knower"),
        seen(),
        deleted({"permission_type": 2}),
        seen(),
        created({**ALLOW, "permission_type": 2, "host": "10.0.0.7"}, {**ALLOW, "host": "127.0.0.1", "operation": 8}),
        seen(),
        deleted({**mine, "host_filter": "*"}),
        seen(),
        deleted(mine),
        deleted(mine),
        seen(),
        created({**ALLOW, "resource_name": "n", "resource_pattern_type": 4}),
        seen(),
        created({**ALLOW, "resource_name": "*"}),
        seen(),
        deleted({**mine, "pattern_type_filter": 4}, {**mine, "pattern_type_filter": 3}, mine),
        seen(),
        described(),
    )


def _told() -> Iterator[Row]:
    yield created(
        {**ALLOW, "resource_name": "orders", "operation": 4},
        {**ALLOW, "resource_name": "ord", "resource_pattern_type": 4, "operation": 5},
        {**ALLOW, "resource_name": "*", "principal": "User:*", "operation": 8},
        {**ALLOW, "resource_name": "*", "resource_pattern_type": 4, "operation": 8, "permission_type": 2},
        {**ALLOW, "resource_name": "orders", "host": "10.0.0.7", "operation": 2},
        {**ALLOW, "resource_type": 3, "resource_name": "orders"},
        {**ALLOW, "resource_type": 4, "resource_name": "kafka-cluster", "operation": 12},
        {**ALLOW, "resource_type": 5, "resource_name": "orders", "operation": 15},
        {**ALLOW, "resource_type": 6, "resource_name": "orders"},
        {**ALLOW, "resource_type": 7, "resource_name": "User:y", "operation": 13},
    )
    for user in ("root", "knower", "nobody"):
        yield described(user)
    for pattern in (1, 2, 3, 4):
        for name in (None, "orders", "ord", "o", "*", ""):
            yield described(pattern_type_filter=pattern, resource_name_filter=name)
    for kind in range(2, 8):
        yield described(resource_type_filter=kind)
    for field, values in (
        ("operation", (2, 8, 12, 14)),
        ("permission_type", (2, 3)),
        ("principal_filter", ("User:*", "User:nobody", "nobody", "")),
        ("host_filter", ("*", "10.0.0.7", "")),
    ):
        for value in values:
            yield described(of={field: value})
    for version in (1, 2):
        yield described(version=version, resource_name_filter="orders")


def _wrong() -> Iterator[Row]:
    for field in ("resource_type", "resource_pattern_type", "operation", "permission_type"):
        for number in (*UNKNOWN, 1, 2):
            yield created({**ALLOW, "resource_name": "w", field: number})
    for wrong in (
        {"resource_name": ""},
        {"principal": "x"},
        {"principal": ""},
        {"principal": ":"},
        {"principal": "User:"},
        {"principal": "Group:x"},
        {"host": ""},
        {"host": "no such host"},
        {"resource_type": 4},
        {"resource_type": 4, "resource_name": ""},
        {"resource_type": 4, "resource_name": "*"},
        {"resource_type": 4, "resource_name": "kafka-cluster", "resource_pattern_type": 4},
        {"resource_type": 4, "resource_name": "kafka-cluster", "operation": 3},
        {"resource_type": 5, "operation": 3},
        {"resource_type": 1, "resource_pattern_type": 1, "resource_name": ""},
        {"resource_pattern_type": 2, "operation": 1},
        {"operation": 1, "permission_type": 1},
        {"permission_type": 1, "resource_name": ""},
        {"principal": "x", "resource_name": ""},
    ):
        yield created({**ALLOW, "resource_name": "w", **wrong})
    bad = {**ALLOW, "principal": "x"}
    yield created(bad, {**ALLOW, "resource_name": "beside"}, bad, {**ALLOW, "resource_name": ""})
    yield created()
    yield created(user="nobody")
    yield described(resource_name_filter="beside")
    for field in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type"):
        for number in UNKNOWN:
            yield described(of={field: number})
            yield deleted({"principal_filter": "User:z", field: number})
    yield described("nobody", operation=0)


def _at_last() -> Sequence[Row]:
    return (
        deleted(),
        deleted(user="nobody"),
        deleted({"resource_name_filter": "none"}),
        deleted({"resource_name_filter": "orders", "operation": 99}, {"resource_name_filter": "beside"}),
        deleted({"pattern_type_filter": 2, "resource_name_filter": "orders", "resource_type_filter": 2}),
        described(),
        deleted({"principal_filter": "User:nobody"}, {"principal_filter": "User:*"}, {"host_filter": "10.0.0.7"}),
        described(),
        created({**ALLOW, "resource_name": "old"}, version=1),
        deleted({"resource_name_filter": "old", "pattern_type_filter": 3}, version=1),
        deleted({}),
        described(),
        described("knower"),
    )
