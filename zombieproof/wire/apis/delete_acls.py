"""DeleteAcls (31), versions 1 to 3: entries that count no more, at once; without an access list each is refused (54).

What is deleted is so as long as the brokers run: a start begins with what its file of rights says.
Source: ``AclApis.handleDeleteAcls``, ``AclControlManager.deleteAcls``; KIP-140.
"""

from typing import Any

from zombieproof.broker.authorization.access_list import Entry
from zombieproof.broker.authorization.bindings import Binding
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_facts, refused_at_top
from zombieproof.wire.apis.describe_acls import NO_AUTHORIZER, filter_of, read_on


def told(entity: Any, version: int, around: Around) -> Values:
    """What each filter named; several may name the same."""
    if around.access is None:
        return {"filter_results": [{**NO_AUTHORIZER, "matching_acls": ()} for _ in entity.filters]}
    before = sorted(around.access.entries)
    gone: set[Entry] = set()
    rows = []
    for named in map(filter_of, entity.filters):
        fault = _fault(named)
        found = [] if fault else [entry for entry in before if named.names(entry)]
        gone.update(found)
        error = Error.INVALID_REQUEST if fault else Error.NONE
        rows.append({"error_code": error, "error_message": fault, "matching_acls": [_row(each) for each in found]})
    if gone:
        around.set_access(around.access.entries - gone)
    return {"filter_results": rows}


def _fault(named: Binding) -> str | None:
    if named.has_unknown_pattern:
        return "Unknown patternFilter."
    return "Unknown entryFilter." if named.has_unknown_entry else None


def _row(entry: Entry) -> Values:
    return {
        "error_code": Error.NONE,
        "error_message": None,
        "resource_type": entry.resource,
        "resource_name": entry.name,
        "pattern_type": entry.pattern,
        "principal": entry.principal,
        "host": entry.host,
        "operation": entry.operation,
        "permission_type": entry.permission,
    }


def refused(entity: Any, error: int) -> Values:
    """The refusal of each, for want of a right."""
    return {"filter_results": [{**refused_at_top(each, error), "matching_acls": ()} for each in entity.filters]}


DELETE_ACLS = api_of_facts(
    ApiKey.DELETE_ACLS,
    range(1, 4),
    told,
    refused,
    check=lambda entity: read_on(*[filter_of(each) for each in entity.filters]),
)
