"""Workers of a consumer group, in raw requests of the classic protocol."""

from dataclasses import dataclass

from tests.wire.plan.staged import Staged
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import (
    JoinGroup,
    MemberAssignment,
    OffsetFetch,
    OffsetToCommit,
    SyncGroup,
    TxnOffsetCommit,
)
from zombieproof.model.vocabulary import Error

GROUP = "pricing"


@dataclass(frozen=True)
class Member:
    """Who somebody is in the group, and since when."""

    name: str
    generation: int


def joined(staged: Staged, client_id: str) -> Member:
    """A worker joins as the only one that is there, and is assigned everything."""
    name = staged.ask(JoinGroup(5, GROUP, ""), client_id).member
    heard = staged.send(JoinGroup(5, GROUP, name), client_id)
    staged.later(1)
    answer = heard[0]
    assert answer is not None
    assert answer.error == Error.NONE, answer  # type: ignore[union-attr]  # a JoinGroupAnswer
    member = Member(name, answer.generation)  # type: ignore[union-attr]
    synced = staged.ask(
        SyncGroup(3, GROUP, member.generation, name, None, (MemberAssignment(name, b"all"),)), client_id
    )
    assert synced.error == Error.NONE, synced
    return member


def offset_of(staged: Staged, place: TopicPartition, *, stable: bool = False) -> int:
    """Where the group goes on reading."""
    found = staged.ask(OffsetFetch(7, GROUP, stable, (place,)))
    offset: int = found.partitions[place].offset
    return offset


def commit_offset(
    staged: Staged,
    identity: tuple[int, int],
    name: str,
    place: TopicPartition,
    offset: int,
    member: Member | None = None,
) -> int:
    """Where to go on reading goes with a transaction of version 2; the error."""
    who = {} if member is None else {"generation": member.generation, "member": member.name}
    rows = (OffsetToCommit(place, offset, ""),)
    found = staged.ask(TxnOffsetCommit(5, name, GROUP, *identity, rows, **who))  # type: ignore[arg-type]  # by name
    error: int = found.errors[place]
    return error
