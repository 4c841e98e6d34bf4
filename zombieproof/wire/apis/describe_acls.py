"""DescribeAcls (29), versions 1 to 3: the entries that are in force; without an access list it is refused (54).

Source: ``AclApis.handleDescribeAcls``, ``DescribeAclsResponse.aclsResources``; KIP-140.
"""

from typing import Any

from zombieproof.broker.authorization.bindings import Binding
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_facts
from zombieproof.wire.faults import Malformed

NO_AUTHORIZER: Values = {"error_code": Error.SECURITY_DISABLED, "error_message": "No Authorizer is configured."}
"""What becomes of one rule where nobody is asked for rights."""


def filter_of(row: Any) -> Binding:
    """What a filter names."""
    about = row.resource_type_filter, row.resource_name_filter, row.pattern_type_filter
    return Binding(*about, row.principal_filter, row.host_filter, row.operation, row.permission_type)


def read_on(*bindings: Binding) -> None:
    """See that nothing says that it is unknown.

    Raises:
        Malformed: something does: the connection ends.
    """
    if any(each.is_called_unknown for each in bindings):
        raise Malformed("an entry or a filter of a kind that says that it is unknown (0)")


def told(entity: Any, version: int, around: Around) -> Values:
    """The entries, by what they are about."""
    if around.access is None:
        return {**NO_AUTHORIZER, "error_message": "No Authorizer is configured on the broker", "resources": ()}
    named = filter_of(entity)
    resources: dict[tuple[int, str, int], list[Values]] = {}
    for entry in sorted(around.access.entries):
        if named.names(entry):
            row: Values = {
                "principal": entry.principal,
                "host": entry.host,
                "operation": entry.operation,
                "permission_type": entry.permission,
            }
            resources.setdefault((entry.resource, entry.name, entry.pattern), []).append(row)
    rows = [
        {"resource_type": resource, "resource_name": name, "pattern_type": pattern, "acls": acls}
        for (resource, name, pattern), acls in resources.items()
    ]
    return {"error_code": Error.NONE, "error_message": "", "resources": rows}


DESCRIBE_ACLS = api_of_facts(ApiKey.DESCRIBE_ACLS, range(1, 4), told, check=lambda entity: read_on(filter_of(entity)))
