"""Claim the group of a query for one of its modes: the calls of a delivery in the state CLAIMING."""

import time
from collections.abc import Iterable, Mapping
from contextlib import closing

from zombieproof.model.spark_sink.vocabulary import Reply
from zombieproof.pipeline.kafka import Settings, client
from zombieproof.pipeline.progress_topic import PARTITION, Committed, Progress, ProgressUnusable, unsigned
from zombieproof.pipeline.sink.asking import Asking, RowsNotAcknowledged
from zombieproof.pipeline.sink.claims import Claim
from zombieproof.pipeline.sink.replies import reply_of
from zombieproof.pipeline.sink.restoring import positions_of
from zombieproof.pipeline.sink.rows import Identity, Place, Row, identity_of_any
from zombieproof.statemachines.delivery.steps import is_fenced, is_to_be_claimed

PURGED = frozenset({"_PURGE_QUEUE", "_PURGE_INFLIGHT"})
"""Errors of records that were not sent because their producer was fenced."""


class Claiming:
    """The claim of one delivery.

    Args:
        settings: of the client.
        group: of the query.
        own_id: the transactional id of the delivery, which it has taken.
        own: its claim.
        progress: the progress topic, one partition of which carries the claim.
    """

    def __init__(self, settings: Settings, group: str, own_id: str, own: Claim, progress: Progress) -> None:
        self._settings, self._group, self._own_id, self._own, self._progress = settings, group, own_id, own, progress
        self.place: Place = (progress.topic, PARTITION)
        self.found: Claim | None = None
        self._is_in_group = False
        self._seen: list[Identity] = []
        self._taken: dict[Place, int] = {}
        self._to_take: dict[Place, list[str]] = {}

    @property
    def is_other_kind(self) -> bool:
        """Whether the present claim knows rows by something else, so that its positions say nothing here."""
        return self.found is not None and self.found.by != self._own.by

    def hear(self, committed: Committed, in_group: Committed) -> None:
        """Take note of the newest claim, and whether the group itself still holds it.

        Raises:
            NoIdentity: no delivery has written it.
        """
        self.found, self._is_in_group = Claim.of_metadata(committed.metadata), in_group.metadata != ""

    def see(self, identities: Iterable[Identity | None]) -> None:
        """Take note of positions: where there is no claim, they say whether there was one."""
        self._seen = [each for each in identities if each is not None]

    def _lost(self, within_s: float) -> Claim | None:
        """What positions say of a claim that is lost: it was kept under the name of another progress topic.

        The topic was deleted, or `progressTopic` is another. Tasks in mode *partition* may have open transactions.
        """
        held = positions_of(self._settings, self._group, within_s).items()
        seen = [*self._seen, *(identity_of_any(each.metadata, place) for place, each in held)]
        claimed = [each for each in seen if each is not None and each.generation]
        if not claimed:
            return None
        ids = (self._own.transactional_id,) if any(each.mode != "batch" for each in claimed) else ()
        return Claim("", self._own.by, self._group, max(each.generation for each in claimed), ids)

    def is_needed(self, generations: Mapping[Place, int]) -> bool:
        """Whether another mode may still commit rows of places, whose positions have the given generations.

        A position of a later generation than that of the claim is older than a claim that was lost.
        """
        found, self._to_take = self.found, {}
        if found is not None:
            for place, generation in generations.items():
                ids = found.ids_to_fence(place, self._own_id)
                known = generation if generation <= found.generation else 0
                newest = max(known, self._taken.get(place, 0))
                if ids and not is_fenced(newest, found.generation):
                    self._to_take[place] = ids
        is_own = found is not None and found.is_of(self._own)
        return is_to_be_claimed(is_own, self._is_in_group, sum(map(len, self._to_take.values())))

    def claim(self, topic: str, within_s: float, until: float) -> None:
        """Commit the claim; if it is committed, take the ids of earlier claims.

        A claim is changed under the transactional id of the present one; the first claim of a group is made under its
        name. Of two deliveries that claim at once, the second fences the first, which looks again.

        Raises:
            KafkaException, RowsNotAcknowledged: it is not known to be done.
            ProgressUnusable: the client may not use the name of the group as a transactional id.
        """
        found = self.found
        if found is not None and found.is_of(self._own) and self._is_in_group:
            for place, ids in self._to_take.items():
                for each in ids:
                    with closing(Asking(self._settings, self._group, each)) as earlier:
                        earlier.take_id(topic, max(0.1, min(within_s, until - time.monotonic())))
                self._taken[place] = found.generation
            return
        holder = self._group if found is None else found.transactional_id
        with closing(Asking(self._settings, self._group, holder)) as asking:
            try:
                asking.take_id(topic, within_s)
                if self._newest(asking, within_s) == found:
                    self._commit(asking, within_s, until)
            except (client.KafkaException, RowsNotAcknowledged) as error:
                fault = error.args[0] if isinstance(error, client.KafkaException) else error.error
                if fault.name() == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" and found is None:
                    raise ProgressUnusable(
                        f"group {self._group} has no claim yet, and the first one is committed under the transactional "
                        f"id {self._group!r}, so that no two drivers claim at once. This client may not use that id "
                        f"({fault.str()}): permit Describe and Write on it, or leave out kafka.transactional.id"
                    ) from error
                if reply_of(fault) != Reply.FENCED and fault.name() not in PURGED:
                    raise

    def _newest(self, asking: Asking, within_s: float) -> Claim | None:
        committed = asking.committed([self.place], within_s)
        if lost := unsigned(committed):
            committed |= self._progress.newest(lost)
        return Claim.of_metadata(committed[self.place].metadata)

    def _commit(self, asking: Asking, within_s: float, until: float) -> None:
        claim = self._own.after(self.found or self._lost(within_s))
        position = claim.generation, claim.metadata()
        key, value = self._progress.record(self.place, *position)
        asking.send_rows([], until, [Row(self._progress.topic, value, key, PARTITION)])
        asking.send_offsets({self.place: position}, within_s)
        asking.commit(within_s)
