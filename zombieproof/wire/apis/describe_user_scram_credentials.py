"""DescribeUserScramCredentials (50), version 0: nobody has any that a client could ask for.

Passwords are given to whoever starts brokers, and told to nobody. Source: ``ScramImage.describe``; KIP-554.
"""

from collections import Counter
from typing import Any

from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_facts


def told(entity: Any, version: int, around: Around) -> Values:
    """Nobody, and whoever is asked for by name is not there."""
    times = Counter(user.name for user in entity.users or ())
    return {
        "error_code": 0,
        "error_message": "",
        "results": [_row(name, is_named_twice=count > 1) for name, count in times.items()],
    }


def _row(name: str, *, is_named_twice: bool) -> Values:
    if is_named_twice:
        words = "Cannot describe SCRAM credentials for the same user twice in a single request: "
        return {"user": name, "error_code": Error.DUPLICATE_RESOURCE, "error_message": words + name}
    words = f"Attempt to describe a user credential that does not exist: {name}"
    return {"user": name, "error_code": Error.RESOURCE_NOT_FOUND, "error_message": words}


def refused(entity: Any, error: int) -> Values:
    """The refusal, and of whoever was asked for; his name is not said."""
    told = {"error_code": error, "error_message": None}
    return {**told, "results": [{**told, "user": ""} for _ in entity.users or ()]}


DESCRIBE_USER_SCRAM_CREDENTIALS = api_of_facts(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, range(1), told, refused)
