"""Positions of consumer groups that a transaction committed, and what they were before."""

from collections.abc import Iterator

from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.traces.evidence import OffsetCommitRecord
from zombieproof.traces.explaining.scene.finding_scene import Scene
from zombieproof.traces.explaining.scene.shell import quoted
from zombieproof.traces.verdict.circumstances import Harm


def commits_beside(scene: Scene, wanted: Harm = Harm.VISIBLE) -> Iterator[tuple[OffsetCommitRecord, int | None]]:
    """The positions that the finding's transaction committed, with the position to set for each.

    That is the one that the group had before (None: it is not in the evidence); with `wanted` LOST, where the commit
    itself was lost, it is the one of the commit.
    """
    finding, circumstances = scene.finding, scene.circumstances
    own = set(scene.offsets) if finding.topic == CONSUMER_OFFSETS else None
    if finding.producer_id is None or circumstances.data_epoch is None:
        return
    for commit in scene.around.commits_of_producers.get((finding.producer_id, circumstances.data_epoch), ()):
        is_here = commit.log_partition == finding.partition and own is not None and commit.log_offset in own
        if commit.offset is None or (own is not None and not is_here):
            continue
        yield commit, commit.offset if wanted is Harm.LOST else _before(scene, commit)


def _before(scene: Scene, commit: OffsetCommitRecord) -> int | None:
    key = (commit.group, commit.topic, commit.partition, commit.log_partition)
    earlier = [
        each.offset
        for each in scene.around.commits_of_groups[key]
        if each.log_offset < commit.log_offset and each.producer_epoch != commit.producer_epoch
    ]
    return earlier[-1] if earlier else None


def reset_command(commit: OffsetCommitRecord, offset: int | None) -> str:
    """The command that sets a group to an offset."""
    to = "OFFSET" if offset is None else str(offset)
    return (
        f"kafka-consumer-groups.sh --bootstrap-server HOST:PORT --group {quoted(commit.group)} "
        f"--topic {commit.topic}:{commit.partition} --reset-offsets --to-offset {to} --execute"
    )
