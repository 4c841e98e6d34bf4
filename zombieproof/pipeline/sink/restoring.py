"""Restore the progress topic from the positions of the group: it was deleted, is another one, or is used again."""

import time
from collections.abc import Callable
from contextlib import closing
from typing import Final

from zombieproof.pipeline.kafka import Settings, admin_for, client, timed_out
from zombieproof.pipeline.progress_topic import PARTITION, Committed, Progress
from zombieproof.pipeline.sink.asking import Asking
from zombieproof.pipeline.sink.rows import Place, Row, identity_of_any

CALL_S: Final = 10.0
"""Timeout of one call."""


def positions_of(settings: Settings, group: str, within_s: float = CALL_S) -> dict[Place, Committed]:
    """The positions that sinks of this project have committed under a group, without those of open transactions.

    Raises:
        KafkaException: the brokers do not answer, or refuse.
    """
    asked = admin_for(settings).list_consumer_group_offsets(
        [client.ConsumerGroupTopicPartitions(group)], request_timeout=within_s
    )
    try:
        told = asked[group].result(within_s + 1).topic_partitions
    except TimeoutError:
        raise client.KafkaException(timed_out(f"the positions of group {group} did not come")) from None
    found = {(each.topic, each.partition): Committed(each.offset, each.metadata or "") for each in told}
    return {place: each for place, each in found.items() if identity_of_any(each.metadata, place) is not None}


def copy_positions(settings: Settings, group: str, progress: Progress, id_of: Callable[[Place], str]) -> list[Place]:
    """Write the positions of the group that the progress topic lacks, or has older ones of; return their places.

    A position that has rows is written again by its next delivery, and one without rows would be known to the group
    alone. Each is read and written under the transactional id of its deliveries, so that none commits meanwhile.

    Args:
        settings: of the client.
        group: of the write.
        progress: the progress topic.
        id_of: returns the transactional id by which a place is delivered.

    Raises:
        KafkaException, RowsNotAcknowledged: the brokers do not answer, or do not know the topic yet.
        ProgressUnusable: the topic cannot be created, or holds records that no sink wrote.
    """
    if not _stale(settings, group, progress):
        return []
    # A delivery that commits between the two questions is not to be fenced for that.
    lost, restored = {place: id_of(place) for place in _stale(settings, group, progress)}, []
    for own_id in sorted(set(lost.values())):
        with closing(Asking(settings, group, own_id)) as asking:
            asking.take_id(progress.topic, CALL_S)
            committed = asking.committed([place for place, each in lost.items() if each == own_id], CALL_S)
            of_sinks = {place: each for place, each in committed.items() if identity_of_any(each.metadata, place)}
            pairs = [progress.record(place, *each) for place, each in of_sinks.items()]
            records = [Row(progress.topic, value, key, PARTITION) for key, value in pairs]
            asking.send_rows([], time.monotonic() + CALL_S, records)
            asking.commit(CALL_S)
            restored += list(of_sinks)
    return sorted(restored)


def _stale(settings: Settings, group: str, progress: Progress) -> list[Place]:
    """The places of which the progress topic does not say the same as the group: each transaction commits both."""
    held = positions_of(settings, group)
    if not held:
        return []
    progress.ask(())
    if progress.topic not in progress.ids():
        progress.create()
    kept = progress.newest(held)
    return [place for place, each in held.items() if kept.get(place) != each]
