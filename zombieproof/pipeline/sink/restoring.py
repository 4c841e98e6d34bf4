"""Restore the progress topic where it was deleted, or is another one, from the positions of the group."""

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Final

from zombieproof.pipeline.kafka import Settings
from zombieproof.pipeline.progress_topic import PARTITION, Progress, is_signed
from zombieproof.pipeline.sink.asking import Asking
from zombieproof.pipeline.sink.rows import Place, Row

CALL_S: Final = 10.0
"""Timeout of one call."""


def copy_positions(settings: Settings, group: str, progress: Progress, ids: Mapping[Place, str]) -> list[Place]:
    """Write the positions that the group alone holds into the progress topic; return their places.

    A position that has rows is written again by its next delivery, and one without rows would be known to the group
    alone. Each is read and written under the transactional id of its deliveries, so that none commits meanwhile.

    Args:
        settings: of the client.
        group: of the write.
        progress: the progress topic.
        ids: the transactional id by which each place is delivered, of places with a position.

    Raises:
        KafkaException, RowsNotAcknowledged: the brokers do not answer, or do not know the topic yet.
        ProgressUnusable: the topic cannot be created, or holds records that no sink wrote.
    """
    progress.ask(())
    if progress.topic not in progress.ids():
        progress.create()
    kept, restored = progress.newest(ids), []
    lost = {place: each for place, each in ids.items() if place not in kept}
    for own_id in sorted(set(lost.values())):
        with closing(Asking(settings, group, own_id)) as asking:
            asking.take_id(progress.topic, CALL_S)
            committed = asking.committed([place for place, each in lost.items() if each == own_id], CALL_S)
            of_sinks = {place: each for place, each in committed.items() if is_signed(each.metadata)}
            pairs = [progress.record(place, *each) for place, each in of_sinks.items()]
            records = [Row(progress.topic, value, key, PARTITION) for key, value in pairs]
            asking.send_rows([], time.monotonic() + CALL_S, records)
            asking.commit(CALL_S)
            restored += list(of_sinks)
    return sorted(restored)
