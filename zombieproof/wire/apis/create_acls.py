"""CreateAcls (30), versions 1 to 3: entries that are in force at once; without an access list each is refused (54).

They live as long as the brokers do: a start begins with what its file of rights says, also with a data directory.
Source: ``AclApis.handleCreateAcls``, ``AclControlManager.createAcls``; KIP-140.
"""

from typing import Any

from zombieproof.broker.authorization.bindings import Binding
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_facts, refused_at_top
from zombieproof.wire.apis.describe_acls import NO_AUTHORIZER, read_on


def _bindings(entity: Any) -> list[Binding]:
    return [
        Binding(
            *(row.resource_type, row.resource_name, row.resource_pattern_type, row.principal, row.host),
            *(row.operation, row.permission_type),
        )
        for row in entity.creations
    ]


def told(entity: Any, version: int, around: Around) -> Values:
    """What became of each; where one of them is a filter, nothing is made at all."""
    if around.access is None:
        return {"results": [NO_AUTHORIZER for _ in entity.creations]}
    bindings = _bindings(entity)
    if any(each.is_of_many for each in bindings):
        row = {"error_code": Error.UNKNOWN_SERVER_ERROR, "error_message": None}
        return {"results": [row for _ in bindings]}
    faults = [each.fault() for each in bindings]
    made = {each.entry() for each, fault in zip(bindings, faults, strict=True) if not fault}
    if not made <= around.access.entries:
        around.set_access(around.access.entries | made)
    return {
        "results": [
            {"error_code": Error.INVALID_REQUEST if fault else Error.NONE, "error_message": fault} for fault in faults
        ]
    }


def refused(entity: Any, error: int) -> Values:
    """The refusal of each, for want of a right."""
    return {"results": [refused_at_top(each, error) for each in entity.creations]}


CREATE_ACLS = api_of_facts(
    ApiKey.CREATE_ACLS, range(1, 4), told, refused, check=lambda entity: read_on(*_bindings(entity))
)
