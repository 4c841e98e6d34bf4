"""A file of users and rights is read whole, or refused by line, place, fault and what would have been legal."""

import re
from pathlib import Path

import pytest

from zombieproof.broker import acls
from zombieproof.broker.acls import AccessFile, AccessFileError, read_access
from zombieproof.broker.authorization.access_list import Entry
from zombieproof.broker.authorization.principals import Principal
from zombieproof.model.access import AclOperation, PatternType, Permission, ResourceType


def read(folder: Path, text: str) -> AccessFile:
    file = folder / "acls.yaml"
    file.write_text(text, encoding="utf-8")
    return read_access(file)


def documented() -> str:
    found = re.search(r"```yaml\n(.*?)```", acls.__doc__ or "", re.DOTALL)
    assert found is not None
    return found[1]


def test_the_documented_file_says_what_it_seems_to_say(tmp_path: Path) -> None:
    said = read(tmp_path, documented())
    access, billing, anybody = said.access, Principal("billing"), Principal("anybody")
    assert {name: login.mechanism for name, login in said.logins.items()} == {
        "admin": "PLAIN",
        "billing": "SCRAM-SHA-256",
    }
    assert said.logins["billing"].password.get_secret_value() == "billing-secret"
    assert access.super_users == {"User:admin"}
    topic, ids = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
    assert access.may(billing, AclOperation.WRITE, ids, "billing-7")
    assert not access.may(billing, AclOperation.WRITE, ids, "orders-7")
    assert [access.may(billing, AclOperation.WRITE, topic, name) for name in ("orders", "invoices", "o")] == [
        *(True, True, False)
    ]
    assert not access.may(Principal("billing", "10.0.0.7"), AclOperation.WRITE, topic, "orders")
    assert access.may(anybody, AclOperation.DESCRIBE, topic, "anything")
    assert access.may(anybody, AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, "kafka-cluster")
    assert not access.may(anybody, AclOperation.READ, ResourceType.GROUP, "billing")


def test_a_right_is_an_entry_for_each_operation_and_name(tmp_path: Path) -> None:
    text = "users: {u: {rights: [{deny: [READ, ALL], group: [a, b], pattern: prefixed, host: '::1'}]}}"
    deny, group = Permission.DENY, ResourceType.GROUP
    assert read(tmp_path, text).access.entries == {
        Entry("User:u", deny, operation, group, name, PatternType.PREFIXED, "::1")
        for operation in (AclOperation.READ, AclOperation.ALL)
        for name in ("a", "b")
    }


def test_nothing_but_a_setting_is_a_file_too(tmp_path: Path) -> None:
    said = read(tmp_path, "allow_everyone_if_no_acl_found: true\n")
    assert (said.access.entries, said.access.everyone_if_none_is_found, said.logins) == (frozenset(), True, {})


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    said = read(tmp_path, "users: {u: {password: hunter2}}")
    assert "hunter2" not in repr(said)
    assert said.logins["u"].password.get_secret_value() == "hunter2"


RIGHT = "users:\n  u:\n    rights:\n      - {allow: WRITE, topic: t}\n      - "
TOPIC_OPERATIONS = "ALL, ALTER, ALTER_CONFIGS, CREATE, DELETE, DESCRIBE, DESCRIBE_CONFIGS, READ, WRITE"

MALFORMED = [
    ("", 0, "is empty; legal is a mapping"),
    ("# nothing", 0, "is empty; legal is a mapping"),
    ("[1]", 1, "should be a mapping; it is [1]"),
    ("users: [u]", 1, "users: should be a mapping; it is ['u']"),
    ("a: b: c", 1, "is no YAML: mapping values are not allowed here"),
    ("users: {", 1, "is no YAML"),
    ("users: {u: {}}\nusers: {}", 2, "'users' stands twice"),
    ("users:\n  u: {password: a, password: b}", 2, "'password' stands twice"),
    ("nonsense: 1", 1, "nonsense: there is no such key; legal are allow_everyone_if_no_acl_found, super_users, users"),
    ("users:\n  u: {pasword: x}", 2, "users.u.pasword: there is no such key; legal are mechanism, password, rights"),
    ("users:\n  u: {password: 12}", 2, "users.u.password: input should be a valid string; it is 12"),
    ("users:\n  u: {password: ''}", 2, "is empty, or has a NUL in it"),
    ('users:\n  u: {password: "a\\0b"}', 2, "is empty, or has a NUL in it"),
    ("users:\n  u: {mechanism: GSSAPI}", 2, "'PLAIN', 'SCRAM-SHA-256' or 'SCRAM-SHA-512'; it is 'GSSAPI'"),
    ("users:\n  1: {}", 2, "1 is no text: put it in quotes"),
    ("users:\n  '': {}", 2, "a user has no name"),
    ("users:\n  '*': {password: x}", 2, "'*' is everybody, and has no password"),
    ("super_users: root", 1, "super_users: should be a list; it is 'root'"),
    ("super_users: [1]", 1, "super_users[1]: input should be a valid string; it is 1"),
    ("allow_everyone_if_no_acl_found: 1", 1, "input should be a valid boolean; it is 1"),
    ("users: {u: {rights: {allow: READ}}}", 1, "users.u.rights: should be a list; it is {'allow': 'READ'}"),
    (RIGHT + "7", 5, "users.u.rights[2]: should be a mapping; it is 7"),
    (
        RIGHT + "{allow: WRTE, topic: t}",
        5,
        f"users.u.rights[2]: 'WRTE' is nothing to do to a topic; legal are {TOPIC_OPERATIONS}",
    ),
    (RIGHT + "{allow: write, topic: t}", 5, "'write' is nothing to do to a topic"),
    (RIGHT + "{allow: READ, transactional_id: x}", 5, "legal are ALL, DESCRIBE, TWO_PHASE_COMMIT, WRITE"),
    (RIGHT + "{allow: WRITE, group: g}", 5, "'WRITE' is nothing to do to a group"),
    (RIGHT + "{allow: READ, cluster: true}", 5, "'READ' is nothing to do to a cluster"),
    (RIGHT + "{topic: t}", 5, "says not whether it allows or denies; legal is one of allow, deny"),
    (RIGHT + "{allow: READ, deny: READ, topic: t}", 5, "legal is one of allow, deny"),
    (RIGHT + "{allow: READ}", 5, "says not what it is about; legal is one of topic, group, transactional_id, cluster"),
    (RIGHT + "{allow: READ, topic: t, group: g}", 5, "legal is one of topic, group, transactional_id, cluster"),
    (RIGHT + "{allow: READ, topic: ''}", 5, "an empty name names nothing"),
    (RIGHT + "{allow: READ, topic: [a, '']}", 5, "an empty name names nothing"),
    (RIGHT + "{allow: READ, topic: []}", 5, "users.u.rights[2].topic: is an empty list"),
    (RIGHT + "{allow: [], topic: t}", 5, "users.u.rights[2].allow: is an empty list"),
    (RIGHT + "{allow: READ, topic: [t, 3]}", 5, "users.u.rights[2].topic"),
    (RIGHT + "{allow: READ, topic: t, pattern: match}", 5, "'literal' or 'prefixed'; it is 'match'"),
    (RIGHT + "{allow: ALTER, cluster: true, pattern: prefixed}", 5, "there is one cluster: it has no pattern"),
    (RIGHT + "{allow: ALTER, cluster: false}", 5, "users.u.rights[2].cluster: input should be True; it is False"),
    (RIGHT + "{allow: READ, topic: t, host: ''}", 5, "users.u.rights[2].host"),
    ("users: &u {a: {rights: [*u]}}", 1, "users.a.rights[1]"),
    ("a: &u [*u]", 1, "a: there is no such key"),
]


@pytest.mark.parametrize(("text", "line", "told"), MALFORMED)
def test_what_is_wrong_is_told_with_its_line(text: str, line: int, told: str, tmp_path: Path) -> None:
    with pytest.raises(AccessFileError) as caught:
        read(tmp_path, text)
    at = f"{tmp_path / 'acls.yaml'}, line {line}: " if line else f"{tmp_path / 'acls.yaml'}: "
    assert str(caught.value).startswith(at), str(caught.value)
    assert told in str(caught.value)
    assert caught.value.line == line


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(AccessFileError, match=r"nowhere\.yaml: cannot be read: "):
        read_access(tmp_path / "nowhere.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AccessFileError, match=r"bytes\.yaml: cannot be read: "):
        read_access(tmp_path / "bytes.yaml")
