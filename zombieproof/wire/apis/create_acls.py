"""CreateAcls (30), versions 1 to 3: refused (54), each rule, as by a Kafka without an authorizer.

Source: ``AclApis.handleCreateAcls``; KIP-140.
"""

from typing import Any

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import Around, Values, api_of_facts, refused_at_top
from zombieproof.wire.apis.describe_acls import NO_AUTHORIZER


def told(entity: Any, version: int, around: Around) -> Values:
    """The refusal of each."""
    return {"results": [NO_AUTHORIZER for _ in entity.creations]}


def refused(entity: Any, error: int) -> Values:
    """The refusal of each, for want of a right."""
    return {"results": [refused_at_top(each, error) for each in entity.creations]}


CREATE_ACLS = api_of_facts(ApiKey.CREATE_ACLS, range(1, 4), told, refused)
