"""ApiVersions (API key 18, versions 0-5): a client asks which versions a broker speaks.

Behaviour: version 3 and later name the client software, which must have a legal name (KIP-511). Version 5 may name the
cluster and the node that the client takes this broker for, both or neither; a client that is at the wrong address is
told to bootstrap again, and nothing else (KIP-1242). A broker does not compare them before the client has authenticated
itself. Source: ``ApiVersionsRequest.isValid``, ``KafkaApis.handleApiVersionsRequest``.
"""

from zombieproof.model.vocabulary import Error

FIRST_VERSION_WITH_SOFTWARE = 3
FIRST_VERSION_WITH_NODE = 5


def is_valid_question(version: int, has_legal_names: bool, names_cluster: bool, names_node: bool) -> bool:
    """Whether the request makes sense; node id -1 and no cluster id mean "not named"."""
    if version >= FIRST_VERSION_WITH_NODE and names_cluster != names_node:
        return False
    return version < FIRST_VERSION_WITH_SOFTWARE or has_legal_names


def decide_api_versions(version: int, is_valid: bool, names_cluster: bool, is_cluster: bool, is_node: bool) -> int:
    """The error of the answer; with an error no versions are told."""
    if not is_valid:
        return int(Error.INVALID_REQUEST)
    if version >= FIRST_VERSION_WITH_NODE and names_cluster and not (is_cluster and is_node):
        return int(Error.REBOOTSTRAP_REQUIRED)
    return int(Error.NONE)
