"""The APIs of the newest release of Kafka that brokers here do not serve, and why, as data."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class NotServed(NamedTuple):
    """An API by Kafka's name and key, with the versions of that release, and the reason."""

    name: str
    key: int
    oldest: int
    newest: int
    why: str


_SECRETS = "users and their passwords come from a file, and stay as they are while brokers run"
_TOKENS = "tokens stand for passwords, and nobody who tests needs both"
_TELEMETRY = "Kafka offers it only where a plugin takes what clients measure; there are no plugins here"
_QUOTAS = "nobody is slowed down"
_QUORUM = "brokers share what they know of the cluster: there is no quorum whose members come and go"
_SHARE = (
    "share groups (KIP-932) are not modelled: what they skip of an aborted transaction (`share.isolation.level`) "
    "is not judged here"
)
_STREAMS = "groups of the streams protocol (KIP-1071) are assigned by brokers; Kafka Streams does it itself by default"

NOT_SERVED: Final[Mapping[int, NotServed]] = {
    each.key: each
    for each in (
        NotServed("CreateDelegationToken", 38, 1, 3, _TOKENS),
        NotServed("RenewDelegationToken", 39, 1, 2, _TOKENS),
        NotServed("ExpireDelegationToken", 40, 1, 2, _TOKENS),
        NotServed("DescribeDelegationToken", 41, 1, 3, _TOKENS),
        NotServed("DescribeClientQuotas", 48, 0, 1, _QUOTAS),
        NotServed("AlterClientQuotas", 49, 0, 1, _QUOTAS),
        NotServed("AlterUserScramCredentials", 51, 0, 0, _SECRETS),
        NotServed("UpdateFeatures", 57, 0, 2, "whoever starts brokers says at which transaction version they are"),
        NotServed("UnregisterBroker", 64, 0, 0, "as many brokers as a cluster is made with belong to it"),
        NotServed("GetTelemetrySubscriptions", 71, 0, 0, _TELEMETRY),
        NotServed("PushTelemetry", 72, 0, 0, _TELEMETRY),
        NotServed("ShareGroupHeartbeat", 76, 1, 1, _SHARE),
        NotServed("ShareGroupDescribe", 77, 1, 1, _SHARE),
        NotServed("ShareFetch", 78, 1, 2, _SHARE),
        NotServed("ShareAcknowledge", 79, 1, 2, _SHARE),
        NotServed("AddRaftVoter", 80, 0, 1, _QUORUM),
        NotServed("RemoveRaftVoter", 81, 0, 0, _QUORUM),
        NotServed("InitializeShareGroupState", 83, 0, 0, _SHARE),
        NotServed("ReadShareGroupState", 84, 0, 0, _SHARE),
        NotServed("WriteShareGroupState", 85, 0, 1, _SHARE),
        NotServed("DeleteShareGroupState", 86, 0, 0, _SHARE),
        NotServed("ReadShareGroupStateSummary", 87, 0, 1, _SHARE),
        NotServed("StreamsGroupHeartbeat", 88, 0, 1, _STREAMS),
        NotServed("StreamsGroupDescribe", 89, 0, 1, _STREAMS),
        NotServed("DescribeShareGroupOffsets", 90, 0, 1, _SHARE),
        NotServed("AlterShareGroupOffsets", 91, 0, 0, _SHARE),
        NotServed("DeleteShareGroupOffsets", 92, 0, 0, _SHARE),
        NotServed("StreamsGroupTopologyDescriptionUpdate", 93, 0, 0, _STREAMS),
        NotServed("UnregisterController", 94, 0, 0, _QUORUM),
    )
}
"""By key. What is served as well counts as served."""
