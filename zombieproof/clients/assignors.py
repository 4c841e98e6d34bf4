"""Who of a group reads what: Kafka's assignors as plain functions, which the leader of a classic group calls.

Each takes what the members have said and how many partitions the topics have, and gives every partition of a topic
that somebody reads to one of those who read it, and to no other. `range` and `roundrobin` begin anew each time.
`cooperative-sticky` leaves everybody what it has as far as that is balanced, and gives a partition that moves to nobody
while its former owner still has it (KIP-429): when that has given it back the group rebalances once more.
Source: ``RangeAssignor.java``, ``RoundRobinAssignor.java``, ``CooperativeStickyAssignor.java``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import cycle

from zombieproof.formats.consumer_protocol import Subscription
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A member as an assignor sees it; `instance` None: it is not static."""

    subscription: Subscription
    instance: str | None = None


Members = Mapping[str, Subscriber]
Assigned = dict[str, list[TopicPartition]]
"""What each member gets, in order."""


def _in_order(members: Members) -> list[str]:
    """Static members by their instances, which outlive member ids, then the others (``MemberInfo.compareTo``)."""
    return sorted(members, key=lambda name: (members[name].instance is None, members[name].instance or name))


def _readers(members: Members, counts: Mapping[str, int]) -> dict[str, list[str]]:
    """Who reads each topic that exists, in order."""
    found: dict[str, list[str]] = {}
    for name in _in_order(members):
        for topic in members[name].subscription.topics:
            if counts.get(topic, 0) > 0:
                found.setdefault(topic, []).append(name)
    return dict(sorted(found.items()))


def assign_ranges(members: Members, counts: Mapping[str, int]) -> Assigned:
    """Of each topic a range to each of its readers; the first ones get one more where it does not divide."""
    assigned: Assigned = {name: [] for name in members}
    for topic, readers in _readers(members, counts).items():
        share, more = divmod(counts[topic], len(readers))
        first = 0
        for place, name in enumerate(readers):
            end = first + share + (place < more)
            assigned[name] += [(topic, number) for number in range(first, end)]
            first = end
    return assigned


def assign_round_robin(members: Members, counts: Mapping[str, int]) -> Assigned:
    """All partitions, dealt out one after the other to whoever is next and reads the topic."""
    assigned: Assigned = {name: [] for name in members}
    turns = cycle(_in_order(members)) if members else cycle([""])
    for topic, readers in _readers(members, counts).items():
        for number in range(counts[topic]):
            assigned[next(name for name in turns if name in readers)].append((topic, number))
    return assigned


# ---------------------------------------------------------------- cooperative and sticky


def owners(members: Members) -> dict[TopicPartition, str]:
    """Who has each partition: whoever claims it in the newest generation; nobody, where two do so in the same."""
    newest: dict[TopicPartition, int] = {}
    found: dict[TopicPartition, set[str]] = {}
    for name, member in members.items():
        for partition in member.subscription.owned:
            generation = member.subscription.generation
            if generation > newest.get(partition, NONE - 1):
                newest[partition], found[partition] = generation, set()
            if generation == newest[partition]:
                found[partition].add(name)
    return {partition: next(iter(names)) for partition, names in found.items() if len(names) == 1}


def balance(members: Members, counts: Mapping[str, int]) -> Assigned:
    """The balanced assignment that moves little: nobody has two more than another one who could take one of them."""
    readers, had = _readers(members, counts), owners(members)
    assigned: Assigned = {name: [] for name in _in_order(members)}
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


def _fewest(assigned: Assigned, among: list[str]) -> list[TopicPartition]:
    return min((assigned[name] for name in among), key=len)


def _move_one(assigned: Assigned, readers: Mapping[str, list[str]], had: Mapping[TopicPartition, str]) -> bool:
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


def assign_cooperatively(members: Members, counts: Mapping[str, int]) -> Assigned:
    """`balance`, without what its new owner cannot have yet: another member still has it."""
    claimed: dict[TopicPartition, set[str]] = {}
    for name, member in members.items():
        for partition in member.subscription.owned:
            claimed.setdefault(partition, set()).add(name)
    return {
        name: [partition for partition in partitions if not claimed.get(partition, {name}) - {name}]
        for name, partitions in balance(members, counts).items()
    }


Assignor = Callable[[Members, Mapping[str, int]], Assigned]

ASSIGNORS: Mapping[str, Assignor] = {
    "range": assign_ranges,
    "roundrobin": assign_round_robin,
    "cooperative-sticky": assign_cooperatively,
}
"""By Kafka's names."""

COOPERATIVE = frozenset({"cooperative-sticky"})
"""Those with which members keep what they have while they join again; all that a member knows have to."""
