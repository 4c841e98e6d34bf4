"""DescribeAcls (29), versions 1 to 3: refused (54), as by a Kafka without an authorizer: no broker is asked for rules.

Source: ``KafkaApis.handleDescribeAcls``; KIP-140.
"""

from typing import Any

from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_facts

NO_AUTHORIZER: Values = {"error_code": Error.SECURITY_DISABLED, "error_message": "No Authorizer is configured."}
"""What becomes of one rule."""


def told(entity: Any, version: int, around: Around) -> Values:
    """The refusal."""
    return {**NO_AUTHORIZER, "error_message": "No Authorizer is configured on the broker", "resources": ()}


DESCRIBE_ACLS = api_of_facts(ApiKey.DESCRIBE_ACLS, range(1, 4), told)
