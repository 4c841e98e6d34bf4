"""Fetches that wait for more data: each is read again when somebody looks, and answered when it is due.

Sizes are those of keys and values: how a record is encoded is the store's affair. Records of internal topics count as
nothing. Source: ``DelayedFetch.scala``, ``ReplicaManager.fetchMessages``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.partition.service import PartitionService
from zombieproof.formats.batches import Batch
from zombieproof.messages.partitions import Fetch, FetchAnswer
from zombieproof.model.decisions.fetch import is_due
from zombieproof.model.vocabulary import Error


@dataclass(slots=True)
class WaitingFetches:
    """The fetches of one broker, by the number of their request, with the time at which each came (ms)."""

    clock: Clock
    partitions: PartitionService
    _waiting: dict[int, tuple[Fetch, int]] = field(default_factory=dict)

    def start(self, number: int, request: Fetch) -> FetchAnswer | None:
        """The answer, or None: it waits."""
        self._waiting[number] = request, self.clock.now_ms()
        return self._try(number)

    def due(self) -> list[tuple[int, FetchAnswer]]:
        """The requests that are answered now. What they are told is what can be read now."""
        answers = ((number, self._try(number)) for number in tuple(self._waiting))
        return [(number, answer) for number, answer in answers if answer is not None]

    def _try(self, number: int) -> FetchAnswer | None:
        request, since_ms = self._waiting[number]
        answer = self.partitions.fetch(request)
        fetched = tuple(answer.partitions.values())
        failed = int(not fetched or any(one.error != Error.NONE for one in fetched))
        size = _size((batch for one in fetched for batch in one.batches), request.min_bytes)
        if not is_due(failed, size, request.min_bytes, self.clock.now_ms() - since_ms, request.max_wait_ms):
            return None
        del self._waiting[number]
        return answer


def _size(batches: Iterable[Batch], enough: int) -> int:
    """How many bytes there are; counted no further than there are `enough`."""
    size = 0
    for batch in batches:
        for record in batch.records:
            size += sum(len(part) for part in (record.key, record.value) if isinstance(part, bytes))
            if size >= enough:
                return size
    return size
