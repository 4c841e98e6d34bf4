"""What a producer knows of the brokers: versions, features, who coordinates, who can be reached.

Source: reference §5.4, §7.5; ``ApiVersions.java``; KIP-360, KIP-584.
"""

from collections.abc import Mapping

from zombieproof.clients.transactional_requests import GROUP, TRANSACTION
from zombieproof.model.vocabulary import NONE, ApiKey

NEWEST_VERSIONS: Mapping[ApiKey, int] = {
    ApiKey.PRODUCE: 13,
    ApiKey.FIND_COORDINATOR: 6,
    ApiKey.INIT_PRODUCER_ID: 6,
    ApiKey.ADD_PARTITIONS_TO_TXN: 5,
    ApiKey.ADD_OFFSETS_TO_TXN: 4,
    ApiKey.END_TXN: 5,
    ApiKey.TXN_OFFSET_COMMIT: 5,
}
"""What a broker of 4.x offers (reference §7.5)."""


class Brokers:
    """Versions by node, features of the cluster, the two coordinators.

    Args:
        default_versions: the newest version of each API at a broker that was not asked.
    """

    def __init__(self, default_versions: Mapping[ApiKey, int] = NEWEST_VERSIONS) -> None:
        self.default_versions = default_versions
        self.coordinators: dict[int, int | None] = {GROUP: None, TRANSACTION: None}
        self.transaction_version = 0
        self.features_epoch = NONE
        self._versions: dict[int, Mapping[ApiKey, int]] = {}
        self._unready: set[int] = set()

    def learn_versions(self, node: int, versions: Mapping[ApiKey, int]) -> None:
        """The answer of ApiVersions: the newest version of each API at `node`."""
        self._versions[node] = versions

    def learn_features(self, transaction_version: int, features_epoch: int) -> None:
        """The finalized ``transaction.version`` of the cluster; what an older epoch says is no news."""
        if features_epoch > self.features_epoch:
            self.features_epoch, self.transaction_version = features_epoch, transaction_version

    def forget(self, node: int) -> None:
        """The connection to `node` is gone, and with it what is known of its versions."""
        self._versions.pop(node, None)

    def set_ready(self, node: int, ready: bool) -> None:
        """Whether `node` can be reached."""
        if ready:
            self._unready.discard(node)
        else:
            self._unready.add(node)

    def is_ready(self, node: int) -> bool:
        """Whether a request may be sent to `node`."""
        return node not in self._unready

    def newest_version(self, node: int | None, api: ApiKey) -> int:
        """The newest version of an API at `node` (None: any broker); NONE if it does not have it."""
        versions = self.default_versions if node is None else self._versions.get(node, self.default_versions)
        return versions.get(api, NONE)
