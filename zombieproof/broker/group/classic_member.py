"""A member of a classic group by its names, its requests that wait, and which assignor several members share."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from zombieproof.broker.group.effects import Drop, GroupEffect, WaitForOthers
from zombieproof.statemachines.classic_group.effects import Wait
from zombieproof.statemachines.classic_group.members import Member

NO_REQUEST = 0


@dataclass(slots=True)
class GroupMember(Member):
    """A member by its names (`instance` None: it is not static), who its client is, and its requests that wait.

    `protocols`: the assignors that it knows, the one it likes best first, with what it says to each; `assignment`: what
    it got. Both are bytes that only members understand.
    """

    name: str = ""
    instance: str | None = None
    client_id: str = ""
    client_host: str = ""
    protocols: Mapping[str, bytes] = field(default_factory=dict)
    assignment: bytes = b""
    join_number: int = NO_REQUEST
    sync_number: int = NO_REQUEST

    def waits(self, wait: int, number: int) -> list[GroupEffect]:
        """Request `number` waits; one that waited for the same is not answered any more."""
        if wait == Wait.JOIN:
            former, self.join_number = self.join_number, number
        else:
            former, self.sync_number = self.sync_number, number
        return [*dropped(former), WaitForOthers(number)]


def dropped(number: int) -> list[GroupEffect]:
    """A request that waited is not answered any more; there may have been none."""
    return [] if number == NO_REQUEST else [Drop(number)]


def known_by_all(members: Iterable[GroupMember]) -> frozenset[str]:
    """The assignors that each of these members knows."""
    known = [frozenset(member.protocols) for member in members]
    return frozenset.intersection(*known) if known else frozenset()


def chosen_by(members: list[GroupMember]) -> str | None:
    """The assignor that most like best, of those that all know; of several the one that the first of them likes.

    Source: ``ClassicGroup.selectProtocol``.
    """
    candidates = known_by_all(members)
    votes = Counter(next(name for name in member.protocols if name in candidates) for member in members if candidates)
    return max(votes, key=lambda name: votes[name], default=None)
