"""ApiVersions (18), versions 0 to 4: which versions a broker speaks, and which features its cluster has.

It is answered here, by whoever speaks for a broker: what is offered is what its release understands, as far as it is
read and written here. A version that is not known is answered in version 0, with error 35 and with the range of this
API alone. From version 3 on there are the client's software, which must have a name, and features: their levels are
told under the epoch of the cluster (KIP-584). Source: reference §7.5; KIP-511.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from zombieproof.model.vocabulary import ApiKey, Error, TransactionVersion
from zombieproof.wire.api import Values

VERSIONS = range(5)
NAMES_SOFTWARE_SINCE = 3
LEGAL_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""What software may call itself, and its version (``ApiVersionsRequest.isValid``)."""

TRANSACTION_VERSION = "transaction.version"


def is_valid(request: Any, version: int) -> bool:
    """Whether software that asks has a legal name."""
    return version < NAMES_SOFTWARE_SINCE or bool(
        LEGAL_NAME.fullmatch(request.client_software_name) and LEGAL_NAME.fullmatch(request.client_software_version)
    )


def answer(request: Any, version: int, offered: Mapping[ApiKey, range], level: int, epoch: int) -> Values:
    """What a broker offers; `level` is that of ``transaction.version``, under `epoch`."""
    if not is_valid(request, version):
        return {"error_code": int(Error.INVALID_REQUEST), "api_keys": ()}
    return {
        "error_code": 0,
        "api_keys": _ranges(offered.items()),
        "supported_features": (
            {"name": TRANSACTION_VERSION, "min_version": 0, "max_version": int(max(TransactionVersion))},
        ),
        "finalized_features_epoch": epoch,
        "finalized_features": (
            [{"name": TRANSACTION_VERSION, "max_version_level": level, "min_version_level": level}] if level else []
        ),
    }


def unsupported(offered: Mapping[ApiKey, range]) -> Values:
    """The answer to a version that does not exist: version 0 tells which do."""
    return {
        "error_code": int(Error.UNSUPPORTED_VERSION),
        "api_keys": _ranges([(ApiKey.API_VERSIONS, offered[ApiKey.API_VERSIONS])]),
    }


def _ranges(offered: Iterable[tuple[ApiKey, range]]) -> list[Values]:
    return [{"api_key": int(key), "min_version": each[0], "max_version": each[-1]} for key, each in offered]
