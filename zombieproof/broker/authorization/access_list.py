"""An access list: entries that allow or deny, looked up by what they name, and what they come to.

Here entries are found; what one says, and what all of them come to, are steps (`statemachines.authorizing`).
Source: ``StandardAuthorizerData.java``; ``Authorizer.authorizeByResourceType``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from zombieproof.broker.authorization.principals import USER, Principal
from zombieproof.model.access import EVERYTHING, AclOperation, PatternType, Permission, ResourceType
from zombieproof.statemachines import authorizing

EVERYBODY = f"{USER}:{EVERYTHING}"
NAME_OF_NOBODY = "hardcode"
"""The topic by which Kafka asks for a right to topics that no entry is about."""


class Entry(NamedTuple):
    """One entry: `principal` (``User:name``, or ``User:*``) from `host` (or ``*``), and what of which names."""

    principal: str
    permission: Permission
    operation: AclOperation
    resource: ResourceType
    name: str
    pattern: PatternType = PatternType.LITERAL
    host: str = EVERYTHING

    def names(self, resource: ResourceType, name: str) -> bool:
        """Whether it is about a resource."""
        if self.resource != resource:
            return False
        if self.pattern == PatternType.PREFIXED:
            return name.startswith(self.name)
        return self.name in (EVERYTHING, name)

    def is_about(self, who: Principal) -> bool:
        """Whether it is about somebody."""
        return self.principal in (str(who), EVERYBODY) and self.host in (EVERYTHING, who.host)

    def names_everything(self) -> bool:
        """Whether every name is meant."""
        return self.pattern == PatternType.LITERAL and self.name == EVERYTHING


@dataclass(slots=True)
class AccessList:
    """Everything that is allowed or denied, and who may do everything; entries may come and go at any time.

    `super_users` are principals (``User:name``). `everyone_if_none_is_found`: what no entry names is everybody's
    (Kafka's ``allow.everyone.if.no.acl.found``).
    """

    entries: frozenset[Entry] = frozenset()
    super_users: frozenset[str] = frozenset()
    everyone_if_none_is_found: bool = False
    _known: dict[tuple[Principal, AclOperation, ResourceType, str], bool] = field(default_factory=dict)

    def as_data(self) -> dict[str, object]:
        """All of it as plain values."""
        return {
            "entries": sorted(list(entry) for entry in self.entries),
            "super_users": sorted(self.super_users),
            "everyone_if_none_is_found": self.everyone_if_none_is_found,
        }

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> Self:
        """What `as_data` has told.

        Raises:
            KeyError, TypeError, ValueError: it has told nothing like this.
        """
        entries = frozenset(entry_of_data(each) for each in data["entries"])
        return cls(entries, frozenset(data["super_users"]), data["everyone_if_none_is_found"])

    def set_entries(self, entries: Iterable[Entry]) -> None:
        """Other entries are in force from now on."""
        self.entries = frozenset(entries)
        self._known.clear()

    def may(self, who: Principal, operation: AclOperation, resource: ResourceType, name: str) -> bool:
        """Whether somebody may do something to a resource."""
        asked = who, operation, resource, name
        if asked not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[asked] = self._may(*asked)
        return self._known[asked]

    def _may(self, who: Principal, operation: AclOperation, resource: ResourceType, name: str) -> bool:
        naming = [entry for entry in self.entries if entry.names(resource, name)]
        said = {authorizing.says(each.permission, each.operation, operation) for each in naming if each.is_about(who)}
        denied, allowed = Permission.DENY in said, Permission.ALLOW in said
        return authorizing.may(
            str(who) in self.super_users, denied, allowed, bool(naming), self.everyone_if_none_is_found
        )

    def may_some(self, who: Principal, operation: AclOperation, resource: ResourceType) -> bool:
        """Whether somebody may do something to any resource of a type at all."""
        denied = list(self._direct(who, operation, resource, Permission.DENY))
        allowed = list(self._direct(who, operation, resource, Permission.ALLOW))
        return authorizing.may_some(
            self.may(who, operation, resource, NAME_OF_NOBODY),
            any(entry.names_everything() for entry in denied),
            any(entry.names_everything() for entry in allowed),
            any(not any(_covers(other, entry) for other in denied) for entry in allowed),
        )

    def _direct(
        self, who: Principal, operation: AclOperation, resource: ResourceType, permission: Permission
    ) -> Iterator[Entry]:
        """Entries about an operation itself; what is implied by another one does not count here."""
        for entry in self.entries:
            is_of_it = authorizing.is_of_operation(entry.operation, operation)
            if entry.resource == resource and is_of_it and entry.permission == permission and entry.is_about(who):
                yield entry


MOST_KNOWN = 10_000
"""How many answers are remembered at most."""


def entry_of_data(data: Sequence[Any]) -> Entry:
    """An entry that was told as a list of plain values."""
    principal, permission, operation, resource, name, pattern, host = data
    kinds = Permission(permission), AclOperation(operation), ResourceType(resource)
    return Entry(principal, *kinds, name, PatternType(pattern), host)


def _covers(denial: Entry, allowance: Entry) -> bool:
    """Whether whatever one entry allows another one denies."""
    if denial.pattern == PatternType.PREFIXED:
        return allowance.name.startswith(denial.name)
    return allowance.pattern == PatternType.LITERAL and allowance.name == denial.name
