"""Users and their rights from a small YAML file; what is wrong with one is said with its line, and what would be legal.

```yaml
super_users: [admin]                    # may do everything
allow_everyone_if_no_acl_found: false   # whether what no right names is everybody's
users:
  admin: {password: admin-secret}
  billing:
    password: billing-secret
    mechanism: SCRAM-SHA-256            # PLAIN, if nothing is said
    rights:
      - {allow: WRITE, transactional_id: billing-, pattern: prefixed}
      - {allow: [READ, WRITE], topic: [orders, invoices]}
      - {allow: READ, group: billing}
      - {deny: WRITE, topic: orders, host: 10.0.0.7}
  "*":                                  # everybody, also who has no entry here
    rights: [{allow: DESCRIBE, topic: "*"}, {allow: IDEMPOTENT_WRITE, cluster: true}]
```

Operations are Kafka's, and so is what they imply. A right names topics, groups, transactional ids or the cluster; a
name is a whole one, or what names begin with (`pattern: prefixed`), and "*" is every name. Without a password a user
can be named by others (a proxy, a certificate), and cannot log in here. Source: ``AclEntry.java``, ``kafka-acls.sh``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from zombieproof.broker.authorization.access_list import AccessList, Entry
from zombieproof.broker.authorization.mechanisms import Mechanism
from zombieproof.broker.authorization.principals import USER
from zombieproof.broker.authorization.scram import mechanism_of
from zombieproof.model.access import CLUSTER_NAME, EVERYTHING, AclOperation, PatternType, Permission, ResourceType

LEGAL: Mapping[ResourceType, frozenset[str]] = {
    ResourceType.TOPIC: frozenset(
        {"READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ALL"}
    ),
    ResourceType.GROUP: frozenset({"READ", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ALL"}),
    ResourceType.TRANSACTIONAL_ID: frozenset({"WRITE", "DESCRIBE", "TWO_PHASE_COMMIT", "ALL"}),
    ResourceType.CLUSTER: frozenset(
        {
            *("CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"),
            *("IDEMPOTENT_WRITE", "ALL"),
        }
    ),
}
"""The operations that mean something for each type of resource."""


class AccessFileError(ValueError):
    """A file of users and rights that cannot be used: file, line, place, fault, what would have been legal."""

    def __init__(self, file: Path, line: int, place: str, fault: str) -> None:
        self.file, self.line, self.place = file, line, place
        at = f"{file}, line {line}" if line else str(file)
        super().__init__(f"{at}: {place}: {fault}" if place else f"{at}: {fault}")


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Right(_Form):
    """One right: what is allowed or denied, and on which names."""

    allow: str | tuple[str, ...] | None = None
    deny: str | tuple[str, ...] | None = None
    topic: str | tuple[str, ...] | None = None
    group: str | tuple[str, ...] | None = None
    transactional_id: str | tuple[str, ...] | None = None
    cluster: Literal[True] | None = None
    pattern: Literal["literal", "prefixed"] = "literal"
    host: str = Field(default=EVERYTHING, min_length=1)

    @field_validator("allow", "deny", "topic", "group", "transactional_id", mode="before")
    @classmethod
    def _is_one_or_many(cls, value: Any) -> Any:
        if isinstance(value, list):
            if not value:
                raise ValueError("is an empty list; legal is a text, or a list of texts")
            return tuple(value)
        return value

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.allow is None) == (self.deny is None):
            raise ValueError("says not whether it allows or denies; legal is one of allow, deny")
        if sum(each is not None for each in (self.topic, self.group, self.transactional_id, self.cluster)) != 1:
            raise ValueError("says not what it is about; legal is one of topic, group, transactional_id, cluster")
        if self.cluster and self.pattern == "prefixed":
            raise ValueError("there is one cluster: it has no pattern")
        resource = self.resource
        for name in self.names:
            if not name:
                raise ValueError("an empty name names nothing; legal is a name, the beginning of names, or '*'")
        for operation in self.operations:
            if operation not in LEGAL[resource]:
                kind = resource.name.lower()
                raise ValueError(f"{operation!r} is nothing to do to a {kind}; legal are {_listed(LEGAL[resource])}")
        return self

    @property
    def operations(self) -> tuple[str, ...]:
        """What is allowed or denied."""
        return _many(self.allow if self.deny is None else self.deny)

    @property
    def resource(self) -> ResourceType:
        """The type of what it is about."""
        if self.cluster:
            return ResourceType.CLUSTER
        if self.topic is not None:
            return ResourceType.TOPIC
        return ResourceType.GROUP if self.group is not None else ResourceType.TRANSACTIONAL_ID

    @property
    def names(self) -> tuple[str, ...]:
        """What it is about."""
        if self.cluster:
            return (CLUSTER_NAME,)
        return _many(self.topic or self.group or self.transactional_id or "")

    def entries(self, user: str) -> Iterator[Entry]:
        """The entries that it is, of a user."""
        permission = Permission.ALLOW if self.deny is None else Permission.DENY
        pattern = PatternType.PREFIXED if self.pattern == "prefixed" else PatternType.LITERAL
        for operation in self.operations:
            for name in self.names:
                kinds = permission, AclOperation[operation], self.resource
                yield Entry(f"{USER}:{user}", *kinds, name, pattern, self.host)


class _User(_Form):
    password: SecretStr | None = None
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    rights: tuple[_Right, ...] = ()

    @field_validator("rights", mode="before")
    @classmethod
    def _is_a_list(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("password", mode="after")
    @classmethod
    def _is_not_empty(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and (not value.get_secret_value() or "\0" in value.get_secret_value()):
            raise ValueError("is empty, or has a NUL in it; legal is any other text")
        return value


class _File(_Form):
    users: dict[str, _User] = Field(default_factory=dict)
    super_users: tuple[str, ...] = ()
    allow_everyone_if_no_acl_found: bool = False

    @field_validator("super_users", mode="before")
    @classmethod
    def _is_a_list(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("users", mode="after")
    @classmethod
    def _have_names(cls, value: dict[str, _User]) -> dict[str, _User]:
        if "" in value:
            raise ValueError("a user has no name; legal is any text but an empty one")
        if EVERYTHING in value and value[EVERYTHING].password is not None:
            raise ValueError(f"{EVERYTHING!r} is everybody, and has no password")
        return value


@dataclass(frozen=True, slots=True)
class Login:
    """How a user logs in. The password is not told by `repr`."""

    mechanism: str
    password: SecretStr


@dataclass(frozen=True, slots=True)
class AccessFile:
    """What a file says: who may do what, and how users log in; those without a password do not."""

    access: AccessList
    logins: Mapping[str, Login]

    def mechanisms(self) -> dict[str, Mechanism]:
        """By name those that some user logs in by; none: nobody can log in."""
        by_name: dict[str, dict[str, str]] = {}
        for user, login in self.logins.items():
            by_name.setdefault(login.mechanism, {})[user] = login.password.get_secret_value()
        return {name: mechanism_of(name, passwords) for name, passwords in sorted(by_name.items())}


def read_access(file: Path) -> AccessFile:
    """Read a file of users and rights.

    Raises:
        AccessFileError: it cannot be read, is no YAML, or says something that is not legal.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AccessFileError(file, 0, "", f"cannot be read: {error}") from error
    root = _parsed(file, text)
    if root is None:
        raise AccessFileError(file, 0, "", "is empty; legal is a mapping with `users` and `super_users`")
    try:
        said = _File.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = tuple(first["loc"])
        if place[-1:] == ("[key]",):
            raise AccessFileError(
                file, _line(root, place[:-2]), _place(place[:-2]), f"{first['input']!r} is no text: put it in quotes"
            ) from error
        raise AccessFileError(file, _line(root, place), _place(place), _fault(first)) from error
    entries = {entry for name, user in said.users.items() for right in user.rights for entry in right.entries(name)}
    supers = frozenset(f"{USER}:{name}" for name in said.super_users)
    logins = {
        name: Login(user.mechanism, user.password) for name, user in said.users.items() if user.password is not None
    }
    return AccessFile(AccessList(frozenset(entries), supers, said.allow_everyone_if_no_acl_found), logins)


# ---------------------------------------------------------------- faults, and where they are


def _parsed(file: Path, text: str) -> yaml.Node | None:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        fault = getattr(error, "problem", None) or str(error)
        raise AccessFileError(file, 0 if mark is None else mark.line + 1, "", f"is no YAML: {fault}") from error
    for node, name in _said_twice(root):
        raise AccessFileError(file, node.start_mark.line + 1, "", f"{name!r} stands twice; each key is said once")
    return root


def _said_twice(root: yaml.Node | None) -> Iterator[tuple[yaml.Node, str]]:
    todo, looked_at = [root], set[int]()
    while todo:
        node = todo.pop()
        if node is None or id(node) in looked_at:
            # What is said once and named again, be it within itself, was looked at.
            continue
        looked_at.add(id(node))
        if isinstance(node, yaml.MappingNode):
            names = [str(key.value) for key, _ in node.value]
            yield from ((key, name) for i, (key, _) in enumerate(node.value) if (name := names[i]) in names[:i])
            todo += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value


def _line(node: yaml.Node, place: tuple[int | str, ...]) -> int:
    """The line of what a place leads to, or of the last that is there on the way."""
    for part in place:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == part), None)
            if found is None:
                break
            node = found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
    return int(node.start_mark.line) + 1


_UNIONS = frozenset({"str", "tuple[str, ...]"})


def _place(place: tuple[int | str, ...]) -> str:
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        elif part not in _UNIONS:
            text += f".{part}" if text else part
    return text


def _fault(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return f"there is no such key; legal are {_listed(_keys_at(error['loc']))}"
    said: str = error["msg"].removeprefix("Value error, ")
    if error["type"] == "value_error":
        return said
    legal = _SHAPES.get(error["type"], f"{said[:1].lower()}{said[1:]}")
    return f"{legal}; it is {_shown(error['input'])}"


_SHAPES = {"model_type": "should be a mapping", "dict_type": "should be a mapping", "tuple_type": "should be a list"}
"""Faults of Python's shapes, in words of YAML."""


def _keys_at(place: tuple[int | str, ...]) -> Iterator[str]:
    forms: Mapping[int, type[BaseModel]] = {1: _File, 3: _User}
    return iter(forms.get(len(place), _Right).model_fields)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


MOST_SHOWN = 60


def _listed(names: Any) -> str:
    return ", ".join(sorted(names))


def _many(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value
