"""Who of a group reads what: assignors as plain functions of members, of what they read, and of what they had.

`ranges` begins anew each time. `balanced` leaves everybody what it has as far as that is balanced. Kafka's brokers have
both (``range``, ``uniform``); where Kafka's goes by the order of a hash table, here who comes first goes first.
Source: ``org.apache.kafka.coordinator.group.assignor``; the clients' ``RangeAssignor.java``.
"""

from collections.abc import Callable, Mapping, Sequence

from zombieproof.formats.topics import TopicPartition

Readers = Mapping[str, Sequence[str]]
"""Who reads each topic that exists, in order."""
Assigned = dict[str, list[TopicPartition]]
"""What each member gets, in order."""
Had = Mapping[TopicPartition, str]
"""Who had each partition."""


def ranges(members: Sequence[str], readers: Readers, counts: Mapping[str, int], _: Had) -> Assigned:
    """Of each topic a range to each of its readers; the first ones get one more where it does not divide."""
    assigned: Assigned = {name: [] for name in members}
    for topic, names in readers.items():
        share, more = divmod(counts[topic], len(names))
        first = 0
        for place, name in enumerate(names):
            end = first + share + (place < more)
            assigned[name] += [(topic, number) for number in range(first, end)]
            first = end
    return assigned


def balanced(members: Sequence[str], readers: Readers, counts: Mapping[str, int], had: Had) -> Assigned:
    """The balanced assignment that moves little: nobody has two more than another one who could take one of them."""
    assigned: Assigned = {name: [] for name in members}
    free = []
    for partition in ((topic, number) for topic in readers for number in range(counts[topic])):
        owner = had.get(partition, "")
        if owner in readers[partition[0]]:
            assigned[owner].append(partition)
        else:
            free.append(partition)
    for partition in sorted(free, key=lambda each: (len(readers[each[0]]), each)):
        _fewest(assigned, readers[partition[0]]).append(partition)
    while _move_one(assigned, readers, had):
        pass
    return {name: sorted(partitions) for name, partitions in assigned.items()}


def _fewest(assigned: Assigned, among: Sequence[str]) -> list[TopicPartition]:
    return min((assigned[name] for name in among), key=len)


def _move_one(assigned: Assigned, readers: Readers, had: Had) -> bool:
    """Move a partition from one who has many to one who has two less; what was not theirs before goes first."""
    for giver in sorted(assigned, key=lambda name: -len(assigned[name])):
        partitions = assigned[giver]
        for partition in sorted(sorted(partitions, reverse=True), key=lambda each: had.get(each) == giver):
            taker = _fewest(assigned, readers[partition[0]])
            if len(taker) + 1 < len(partitions):
                partitions.remove(partition)
                taker.append(partition)
                return True
    return False


Assignor = Callable[[Sequence[str], Readers, Mapping[str, int], Had], Assigned]

SERVER_ASSIGNORS: Mapping[str, Assignor] = {"uniform": balanced, "range": ranges}
"""Those of a broker, by Kafka's names (``group.consumer.assignors``): the first where no member wants another."""


def wanted_assignor(wanted: Sequence[str]) -> str:
    """The name of the assignor that most members want; `wanted` is what each of those says that says something."""
    return max(SERVER_ASSIGNORS, key=wanted.count)


def server_assignor(wanted: Sequence[str]) -> Assignor:
    """The assignor that most members want."""
    return SERVER_ASSIGNORS[wanted_assignor(wanted)]
