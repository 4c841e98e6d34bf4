"""DeleteAcls (31), versions 1 to 3: refused (54), each filter, as by a Kafka without an authorizer.

Source: ``AclApis.handleDeleteAcls``; KIP-140.
"""

from typing import Any

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import Around, Values, api_of_facts, refused_at_top
from zombieproof.wire.apis.describe_acls import NO_AUTHORIZER


def told(entity: Any, version: int, around: Around) -> Values:
    """The refusal of each."""
    return {"filter_results": [{**NO_AUTHORIZER, "matching_acls": ()} for _ in entity.filters]}


def refused(entity: Any, error: int) -> Values:
    """The refusal of each, for want of a right."""
    return {"filter_results": [{**refused_at_top(each, error), "matching_acls": ()} for each in entity.filters]}


DELETE_ACLS = api_of_facts(ApiKey.DELETE_ACLS, range(1, 4), told, refused)
