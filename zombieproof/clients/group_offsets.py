"""Offsets of a group, as its consumers commit them and read them again.

Source: ``ConsumerCoordinator.java``; KIP-447 (an offset of an open transaction is not read).
"""

from collections.abc import Callable, Iterable, Mapping

from zombieproof.clients.consumer_errors import (
    CommitRefused,
    ConsumerFailure,
    FencedInstance,
    GroupRefused,
    RebalanceUnderWay,
)
from zombieproof.clients.group_link import GroupLink, MemberReaction, reaction_to
from zombieproof.clients.tasks import Steps
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import OffsetCommit, OffsetFetch, OffsetFetchAnswer, OffsetsCommitted, OffsetToCommit
from zombieproof.model.vocabulary import Error

COMMIT_VERSION, FETCH_VERSION = 9, 9

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


def commit(link: GroupLink, offsets: Offsets, member: Callable[[], GroupMetadata]) -> Steps[None]:
    """Commit offsets as the member that one is; what can be repeated is.

    Whoever joins another generation of a classic group meanwhile commits nothing any more; in a group of the consumer
    protocol a member keeps what it reads in the next epoch.

    Raises:
        CommitRefused: the member is none any more, or of another generation.
        RebalanceUnderWay: who reads what is being decided.
        FencedInstance: another consumer has its instance.
        GroupRefused: the group does not take these offsets.
    """
    rows = tuple(OffsetToCommit(tp, each.offset, each.metadata, each.leader_epoch) for tp, each in offsets.items())
    whose = member()
    while rows:
        answer = yield from link.ask(_request(link.group, rows, whose))
        if not isinstance(answer, OffsetsCommitted):
            continue
        errors = {tp: error for tp, error in answer.errors.items() if error != Error.NONE}
        rows = tuple(row for row in rows if row.partition in errors)
        is_renewed = False
        for partition, error in errors.items():
            reaction = reaction_to(error)
            is_renewed |= reaction is MemberReaction.RENEW and member() != whose
            if not is_renewed and reaction not in (MemberReaction.AGAIN, MemberReaction.LOOK_UP):
                raise _refusal(reaction, error, link.group, partition)
        if errors:
            whose = member() if is_renewed else whose
            yield from link.come_again(reaction_to(next(iter(errors.values()))))


def _request(group: str, rows: tuple[OffsetToCommit, ...], whose: GroupMetadata) -> OffsetCommit:
    return OffsetCommit(COMMIT_VERSION, group, rows, whose.generation, whose.member, whose.instance)


def _refusal(reaction: MemberReaction, error: int, group: str, partition: TopicPartition) -> ConsumerFailure:
    what = f"group {group} does not take the offset of {partition[0]}-{partition[1]}"
    if reaction is MemberReaction.REJOIN:
        return RebalanceUnderWay(error, what)
    if reaction in (MemberReaction.BEGIN_ANEW, MemberReaction.RENEW):
        return CommitRefused(error, what)
    if reaction is MemberReaction.FENCED:
        return FencedInstance(error, what)
    return GroupRefused(error, what)


def committed(
    link: GroupLink, partitions: Iterable[TopicPartition], *, stable: bool
) -> Steps[dict[TopicPartition, OffsetAndMetadata | None]]:
    """The committed offset of each partition; None: there is none. `stable`: that of no open transaction counts.

    Raises:
        GroupRefused: the group does not tell.
    """
    asked = tuple(sorted(partitions))
    while True:
        answer = yield from link.ask(OffsetFetch(FETCH_VERSION, link.group, stable, asked))
        if not isinstance(answer, OffsetFetchAnswer):
            continue
        errors = [answer.error, *(row.error for row in answer.partitions.values())]
        error = next((each for each in errors if each != Error.NONE), int(Error.NONE))
        reaction = reaction_to(error)
        if reaction is MemberReaction.GO_ON:
            rows = answer.partitions.items()
            return {
                tp: OffsetAndMetadata(row.offset, row.metadata, row.leader_epoch) if row.offset >= 0 else None
                for tp, row in rows
            }
        if reaction not in (MemberReaction.AGAIN, MemberReaction.LOOK_UP):
            raise GroupRefused(error, f"group {link.group} does not tell its offsets")
        yield from link.come_again(reaction)
