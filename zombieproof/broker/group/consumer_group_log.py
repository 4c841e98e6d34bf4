"""What a log holds of groups of the consumer protocol: several records of each, the newest under each key.

A group is made durable as what differs from that, as Kafka does it: a heartbeat writes what it changed. The records are
Kafka's own and stay bytes (`formats.consumer_group_records`); a partition stands in them under the id of its topic.
Source: reference §7.2; ``GroupCoordinatorRecordHelpers.java``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.group.consumer_group import ConsumerGroup, loaded_consumer_group
from zombieproof.formats.batches import Record
from zombieproof.formats.consumer_group_records import GroupRecord, groups_of, read_record, records_of


@dataclass(slots=True)
class ConsumerGroupLog:
    """The records of all consumer groups of one partition that count: by group and key."""

    metadata: Metadata
    _newest: dict[str, dict[bytes, bytes]] = field(default_factory=dict)

    def difference(self, group: ConsumerGroup) -> tuple[Record, ...]:
        """The records that make the log tell of `group` what is known of it: none where it does already."""
        now, newest = records_of(group.name, group.value(), self.metadata.topic_ids), self._newest.get(group.name, {})
        gone = newest.keys() - {_bytes(record.key) for record in now}
        return (*_tombstones(gone), *(record for record in now if newest.get(_bytes(record.key)) != record.value))

    def tombstones(self, group: str) -> tuple[Record, ...]:
        """The records that take back all that the log tells of `group`."""
        return _tombstones(self._newest.get(group, {}).keys())

    def take(self, record: Record) -> GroupRecord | None:
        """A record with bytes as its key is in the log now; None: it tells of no consumer group.

        Raises:
            Undecodable: it is not what its type says.
        """
        key, value = _bytes(record.key), None if record.value is None else _bytes(record.value)
        read = read_record(key, value)
        if read is None:
            return None
        newest = self._newest.setdefault(read.key.fields["GroupId"], {})
        if value is None:
            newest.pop(key, None)
        else:
            newest[key] = value
        return read

    def loaded(self, group: str) -> ConsumerGroup:
        """The group as the log tells of it.

        Raises:
            Undecodable: a record is not what its type says.
        """
        read = (read_record(key, value) for key, value in self._newest.get(group, {}).items())
        found = groups_of((record for record in read if record is not None), self.metadata.topic_names)
        return loaded_consumer_group(group, found[group]) if group in found else ConsumerGroup(group)


def _bytes(part: object) -> bytes:
    assert isinstance(part, bytes), f"{part!r} is no part of a record that stays bytes"
    return part


def _tombstones(keys: Iterable[bytes]) -> tuple[Record, ...]:
    """What others refer to goes after them: the group itself (whose type is the lowest) goes last."""
    return tuple(Record(key, None) for key in sorted(keys, reverse=True))
