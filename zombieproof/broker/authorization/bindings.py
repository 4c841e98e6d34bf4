"""Entries as clients tell of them (Kafka's bindings): what one says that can be none, and which ones a filter names.

Numbers are Kafka's; what is no kind of hers is read as UNKNOWN, as she does.
Source: ``AclApis.scala``, ``AclControlManager.java``, ``ResourcePatternFilter``, ``AccessControlEntryFilter``.
"""

from typing import NamedTuple

from zombieproof.broker.authorization.access_list import Entry
from zombieproof.model.access import CLUSTER_NAME, EVERYTHING, AclOperation, PatternType, Permission, ResourceType

UNKNOWN, ANY, MATCH = 0, 1, 2
"""Kinds that no entry has: filters name any, or, of patterns, all that a name falls under."""


class Binding(NamedTuple):
    """An entry that is to be made, or what a filter names; there None is any."""

    resource: int
    name: str | None
    pattern: int
    principal: str | None
    host: str | None
    operation: int
    permission: int

    @property
    def is_called_unknown(self) -> bool:
        """Whether it says by itself that it is unknown: a Kafka does not read on."""
        return UNKNOWN in (self.resource, self.pattern, self.operation, self.permission)

    @property
    def has_unknown_pattern(self) -> bool:
        """Whether what it is about is of no kind."""
        return not (_is_kind(self.resource, ResourceType) and (_is_kind(self.pattern, PatternType) or self._matches))

    @property
    def has_unknown_entry(self) -> bool:
        """Whether what it allows or denies is of no kind."""
        return not (_is_kind(self.operation, AclOperation) and _is_kind(self.permission, Permission))

    @property
    def is_of_many(self) -> bool:
        """Whether it names more than one: this is a filter, and no entry."""
        return ANY in (self.resource, self.pattern, self.operation, self.permission) or self._matches

    @property
    def _matches(self) -> bool:
        return self.pattern == MATCH

    def fault(self) -> str:
        """Why it can be no entry, in Kafka's words; "": it can."""
        name, principal = self.name or "", self.principal or ""
        if self.resource == ResourceType.CLUSTER and name != CLUSTER_NAME:
            return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
        if not name:
            return "Invalid empty resource name"
        for what, is_kind in (
            ("resourceType", _is_kind(self.resource, ResourceType)),
            ("patternType", _is_kind(self.pattern, PatternType)),
            ("operation", _is_kind(self.operation, AclOperation)),
            ("permissionType", _is_kind(self.permission, Permission)),
        ):
            if not is_kind:
                return f"Invalid {what} UNKNOWN"
        if ":" not in principal:
            no_colon = "no colon is present separating the principal type from the principal name"
            return f"Could not parse principal from `{principal}` ({no_colon})"
        return ""

    def entry(self) -> Entry:
        """The entry that it is.

        Raises:
            ValueError: it is none.
        """
        kinds = Permission(self.permission), AclOperation(self.operation), ResourceType(self.resource)
        return Entry(self.principal or "", *kinds, self.name or "", PatternType(self.pattern), self.host or "")

    def names(self, entry: Entry) -> bool:
        """Whether it, as a filter, names an entry."""
        return (
            self.resource in (ANY, entry.resource)
            and self.pattern in (ANY, MATCH, entry.pattern)
            and self._is_about(entry)
            and self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (ANY, entry.operation)
            and self.permission in (ANY, entry.permission)
        )

    def _is_about(self, entry: Entry) -> bool:
        if self.name is None or not self._matches:
            return self.name in (None, entry.name)
        if entry.pattern == PatternType.PREFIXED:
            return self.name.startswith(entry.name)
        return entry.name in (self.name, EVERYTHING)


def _is_kind(number: int, kinds: type[ResourceType | PatternType | AclOperation | Permission]) -> bool:
    return number == ANY or number in {int(each) for each in kinds}
