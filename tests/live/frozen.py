"""Copies of a cluster, as many as wanted, of one moment."""

import io
import pickle

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.formats.batches import Batch


class _Pickler(pickle.Pickler):
    """Leaves out batches: they never change, so that all copies may share them."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.shared: list[Batch] = []

    def persistent_id(self, obj: object) -> int | None:
        if type(obj) is not Batch:
            return None
        self.shared.append(obj)
        return len(self.shared) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, shared: list[Batch]) -> None:
        super().__init__(io.BytesIO(data))
        self._shared = shared

    def persistent_load(self, pid: int) -> Batch:
        return self._shared[pid]


class Frozen:
    """A cluster at one moment, of which any number of copies can be made; faults that were to come do not."""

    def __init__(self, cluster: Cluster) -> None:
        file = io.BytesIO()
        pickler = _Pickler(file)
        pickler.dump(cluster)
        self._bytes, self._shared = file.getvalue(), pickler.shared

    def thaw(self) -> Cluster:
        """A copy of which nothing that can change is shared with another."""
        cluster = _Unpickler(self._bytes, self._shared).load()
        assert isinstance(cluster, Cluster)
        for broker in cluster.brokers.values():
            broker.transactions.append_faults.clear()
        return cluster
