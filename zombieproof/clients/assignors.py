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

from zombieproof.broker.group.assignors import Assigned, balanced, ranges
from zombieproof.formats.consumer_protocol import Subscription
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A member as an assignor sees it; `instance` None: it is not static."""

    subscription: Subscription
    instance: str | None = None


Members = Mapping[str, Subscriber]


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
    """Of each topic a range to each of its readers."""
    return ranges(list(members), _readers(members, counts), counts, {})


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
    """The balanced assignment that moves little, of what the members have."""
    return balanced(_in_order(members), _readers(members, counts), counts, owners(members))


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
