"""The API key of each request, and whether a broker of a release understands a version of it (reference §7.5)."""

from collections.abc import Mapping

from zombieproof.broker.cluster.network import Request
from zombieproof.messages.groups import FindCoordinator, OffsetCommit, OffsetFetch, TxnOffsetCommit
from zombieproof.messages.partitions import DescribeProducers, Fetch, ListOffsets, Produce, WriteTxnMarkers
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    DescribeTransactions,
    EndTxn,
    InitProducerId,
    ListTransactions,
)
from zombieproof.model.releases import NEWEST_VERSIONS, understands
from zombieproof.model.vocabulary import ApiKey

API_OF: Mapping[type, ApiKey] = {
    Produce: ApiKey.PRODUCE,
    Fetch: ApiKey.FETCH,
    ListOffsets: ApiKey.LIST_OFFSETS,
    OffsetCommit: ApiKey.OFFSET_COMMIT,
    OffsetFetch: ApiKey.OFFSET_FETCH,
    FindCoordinator: ApiKey.FIND_COORDINATOR,
    InitProducerId: ApiKey.INIT_PRODUCER_ID,
    AddPartitionsToTxn: ApiKey.ADD_PARTITIONS_TO_TXN,
    AddOffsetsToTxn: ApiKey.ADD_OFFSETS_TO_TXN,
    EndTxn: ApiKey.END_TXN,
    WriteTxnMarkers: ApiKey.WRITE_TXN_MARKERS,
    TxnOffsetCommit: ApiKey.TXN_OFFSET_COMMIT,
    DescribeProducers: ApiKey.DESCRIBE_PRODUCERS,
    DescribeTransactions: ApiKey.DESCRIBE_TRANSACTIONS,
    ListTransactions: ApiKey.LIST_TRANSACTIONS,
}
"""Requests whose version says something about the protocol; the others have one version here."""


def is_understood(request: Request, release: str) -> bool:
    """Whether a broker of a release (``"3.9.1"``, ``"4.3"``) understands a request in its version.

    Raises:
        UnknownRelease: there is no such release.
    """
    api = API_OF.get(type(request))
    return api is None or api not in NEWEST_VERSIONS or understands(release, api, request.version)
