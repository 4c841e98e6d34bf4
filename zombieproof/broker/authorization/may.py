"""The question for a right, as it is handed to the parts of a broker that ask within an order of their own."""

from collections.abc import Callable

from zombieproof.model.access import CLUSTER_NAME, AclOperation, ResourceType

May = Callable[[AclOperation, ResourceType, str], bool]
"""Whether whoever has sent a request may do something to a resource."""


def everything(operation: AclOperation, resource: ResourceType, name: str) -> bool:
    """Of those whom nobody asks for rights."""
    return True


def may_on_cluster(may: May, operation: AclOperation) -> bool:
    """Whether he may do it to the cluster."""
    return may(operation, ResourceType.CLUSTER, CLUSTER_NAME)


def may_create(may: May, topic: str) -> bool:
    """Whether he may make a topic: any in the cluster, or this one."""
    return may_on_cluster(may, AclOperation.CREATE) or may(AclOperation.CREATE, ResourceType.TOPIC, topic)
