"""ApiVersions (18), versions 0 to 5: which versions a broker speaks, and which features its cluster has.

It is answered here, by whoever speaks for a broker: what is offered is what its release understands, as far as it is
read and written here. A version that is not known is answered in version 0, with error 35 and with the range of this
API alone. From version 3 on there are the client's software, which must have a name, and features: their levels are
told under the epoch of the cluster (KIP-584). Version 5 may name the cluster and the node that the client means: it is
told to bootstrap again (REBOOTSTRAP_REQUIRED) where these are others. Source: reference §7.5; KIP-511, KIP-1242.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from zombieproof.model.features import FIRST_VERSION_WITH_LEVEL_0, TRANSACTION_VERSION, features_of
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.statemachines.connection.arriving import is_valid_versions_question, versions_are_asked
from zombieproof.wire.api import Values

VERSIONS = range(6)
LEGAL_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""What software may call itself, and its version (``ApiVersionsRequest.isValid``)."""


def is_valid(request: Any, version: int) -> bool:
    """Whether a request makes sense: software has a legal name, cluster and node are named together."""
    return is_valid_versions_question(
        version, _has_legal_names(request), _cluster(request) is not None, _names_node(request)
    )


def _has_legal_names(request: Any) -> bool:
    names = getattr(request, "client_software_name", ""), getattr(request, "client_software_version", "")
    return all(map(LEGAL_NAME.fullmatch, names))


def _cluster(request: Any) -> str | None:
    found: str | None = getattr(request, "cluster_id", None)
    return found


def _names_node(request: Any) -> bool:
    return getattr(request, "node_id", NONE) != NONE


def error_for(request: Any, version: int, cluster_id: str, node: int, compares_node: bool) -> int:
    """The error of the answer of a broker that is `node` of a cluster, and compares that with what the client means."""
    cluster, valid = _cluster(request), is_valid(request, version)
    is_cluster, is_node = cluster == cluster_id, getattr(request, "node_id", NONE) == node
    return versions_are_asked(version, valid, compares_node and cluster is not None, is_cluster, is_node)


def refused(error: int) -> Values:
    """The answer that has only an error."""
    return {"error_code": error, "api_keys": ()}


def answer(kafka: str, version: int, offered: Mapping[ApiKey, range], level: int, epoch: int) -> Values:
    """What a broker of a release offers; `level` is that of ``transaction.version``, under `epoch`."""
    known = features_of(kafka)
    levels = {name: level if name == TRANSACTION_VERSION else each.highest for name, each in known.items()}
    least = 0 if version >= FIRST_VERSION_WITH_LEVEL_0 else 1
    return {
        "error_code": 0,
        "api_keys": _ranges(offered.items()),
        "supported_features": [
            {"name": name, "min_version": each.lowest, "max_version": each.highest}
            for name, each in known.items()
            if each.lowest >= least
        ],
        "finalized_features_epoch": epoch,
        "finalized_features": [
            {"name": name, "max_version_level": each, "min_version_level": each}
            for name, each in levels.items()
            if each
        ],
    }


def unsupported(offered: Mapping[ApiKey, range]) -> Values:
    """The answer to a version that does not exist: version 0 tells which do."""
    return {
        "error_code": int(Error.UNSUPPORTED_VERSION),
        "api_keys": _ranges([(ApiKey.API_VERSIONS, offered[ApiKey.API_VERSIONS])]),
    }


def _ranges(offered: Iterable[tuple[ApiKey, range]]) -> list[Values]:
    return [{"api_key": int(key), "min_version": each[0], "max_version": each[-1]} for key, each in offered]
