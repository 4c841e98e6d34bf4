"""All scenes, and the versions in which each is played to a broker of a release."""

from collections.abc import Iterator

from tests.wire.scenes import classic_groups, coordinators, descriptions, offsets, reading
from tests.wire.stage import Scene
from zombieproof.model.api_versions import understood_versions
from zombieproof.wire.entities import entity_class
from zombieproof.wire.faults import Malformed

SCENES: tuple[Scene, ...] = (
    *classic_groups.SCENES,
    *offsets.SCENES,
    *reading.SCENES,
    *descriptions.SCENES,
    *coordinators.SCENES,
)


def versions_of(release: str) -> Iterator[tuple[Scene, int]]:
    """Every scene in every version that the release understands, as far as kio has them."""
    for scene in SCENES:
        for version in understood_versions(release, scene.api) or ():
            if scene.since <= version <= scene.until and _is_known(scene, version):
                yield scene, version


def _is_known(scene: Scene, version: int) -> bool:
    try:
        entity_class(scene.api, version, "request")
    except Malformed:
        return False
    return True
