"""What a ConsumerGroupHeartbeat says, as the steps and the members of a group take it."""

from zombieproof.broker.group.assignors import SERVER_ASSIGNORS
from zombieproof.broker.group.consumer_group import ConsumerMember
from zombieproof.messages.groups import ConsumerGroupHeartbeat
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.consumer_group_member.heartbeat import HeartbeatShape


def shape_of(request: ConsumerGroupHeartbeat) -> HeartbeatShape:
    """What can be judged of it before anything is looked up."""
    return HeartbeatShape(
        request.version,
        request.epoch,
        has_group_id=request.group != "",
        has_member_id=request.member != "",
        has_instance=request.instance is not None,
        instance_is_empty=request.instance == "",
        subscribes=(request.topics, request.topic_pattern) != (None, None),
        begins=request.rebalance_timeout_ms != NONE and request.owned == (),
        assignor_is_known=request.assignor is None or request.assignor in SERVER_ASSIGNORS,
    )


def listen(member: ConsumerMember, request: ConsumerGroupHeartbeat) -> None:
    """A member is what it says; of what it does not say it is what it was."""
    member.client_id, member.client_host = request.client_id, request.client_host
    if request.topics is not None:
        member.topics = request.topics
    if request.topic_pattern is not None:
        member.topic_pattern = request.topic_pattern or None
    if request.instance is not None:
        member.instance = request.instance
    if request.rebalance_timeout_ms != NONE:
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
    if request.assignor is not None:
        member.assignor = request.assignor


def said_of(member: ConsumerMember) -> tuple[object, ...]:
    """All that a member has said of itself."""
    topics, pattern, instance = member.topics, member.topic_pattern, member.instance
    return topics, pattern, instance, member.rebalance_timeout_ms, member.assignor
