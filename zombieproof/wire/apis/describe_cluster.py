"""DescribeCluster (60), versions 0 to 2: the brokers, who of them is the controller, and what the cluster is called.

From version 1 on one may ask for controllers, of which there are none beside the brokers (114, and 115 for what is
neither); from 2 on also for brokers that are down, which are then told as fenced. Source:
``KafkaApis.handleDescribeCluster``; KIP-700, KIP-919, KIP-1073.
"""

from typing import Any

from zombieproof.broker.cluster.metadata import NOBODY
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_facts

BROKERS, CONTROLLERS = 1, 2


def told(entity: Any, version: int, around: Around) -> Values:
    """The brokers that are up, and those that are down where they are asked for."""
    kind = getattr(entity, "endpoint_type", BROKERS)
    if kind != BROKERS:
        return {**_refused(kind), "endpoint_type": BROKERS, "cluster_id": "", "controller_id": NOBODY, "brokers": ()}
    up = around.up()
    wanted = set(around.addresses) if getattr(entity, "include_fenced_brokers", False) else set(up)
    values = {
        "endpoint_type": BROKERS,
        "cluster_id": around.cluster_id,
        "controller_id": around.metadata.controller,
        "brokers": [
            {"broker_id": node, "host": host, "port": port, "rack": None, "is_fenced": node not in up}
            for node, (host, port) in around.addresses.items()
            if node in wanted
        ],
    }
    if entity.include_cluster_authorized_operations:
        values["cluster_authorized_operations"] = around.operations_on_cluster()
    return values


def _refused(kind: int) -> Values:
    if kind == CONTROLLERS:
        words = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        return {"error_code": Error.MISMATCHED_ENDPOINT_TYPE, "error_message": words}
    return {"error_code": Error.UNSUPPORTED_ENDPOINT_TYPE, "error_message": f"Unsupported endpoint type {kind}"}


DESCRIBE_CLUSTER = api_of_facts(ApiKey.DESCRIBE_CLUSTER, range(3), told)
