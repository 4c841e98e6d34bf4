"""Whether a broker of a release understands a request in its version (reference §7.5)."""

from zombieproof.broker.cluster.network import Request
from zombieproof.messages.registry import api_of
from zombieproof.model.releases import NEWEST_VERSIONS, understands


def is_understood(request: Request, release: str) -> bool:
    """Whether a broker of a release understands a request; one whose versions are not told of has one version here.

    Raises:
        UnknownRelease: there is no such release.
    """
    key = api_of(type(request)).key
    return key not in NEWEST_VERSIONS or understands(release, key, request.version)
