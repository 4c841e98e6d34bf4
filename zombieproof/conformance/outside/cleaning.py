"""How a sequence goes: its transactions are ended, its members leave, its groups are deleted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from zombieproof.broker.cluster.network import Request
from zombieproof.conformance.outside.peer import GROUP, TRANSACTION, NotPossible, Peer
from zombieproof.conformance.readings import Told
from zombieproof.messages.groups import ConsumerGroupHeartbeat, DeleteGroups, GroupsDeleted, LeaveGroup, Leaver
from zombieproof.messages.transactions import InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, ApiKey, Error

UNDER_WAY: Final = frozenset({"PrepareCommit", "PrepareAbort"})
ENDS_FOR_S: Final = 2.5
TIMEOUT_MS: Final = 10_000
LEAVES: Final = -1
FIRST_WITH_LEAVERS: Final = 3


class WrongAnswer(Exception):
    """What a broker answered is no answer of this API in this version."""


@dataclass(slots=True)
class Left:
    """What is still there when a sequence is over, by its names outside."""

    topics: list[str]
    groups: list[str]


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group, by its names outside; `is_consumer`: of the consumer protocol."""

    group: str
    name: str
    is_consumer: bool = False


@dataclass(frozen=True, slots=True)
class Cleaning:
    """Takes away what was made; what a broker answers wrongly on the way is not told twice.

    Attributes:
        ask: asks a node.
        states: the states of some transactions.
        until: waits until something is so, but no longer than so many seconds.
    """

    peer: Peer
    ask: Callable[[Request, int | None], Told]
    states: Callable[[Sequence[str]], frozenset[str]]
    until: Callable[[Callable[[], bool], float], None]

    def end(self, transactional_id: str) -> None:
        """Abort what is open, so that it does not hold anybody up until it times out."""
        self._tried(lambda: self._end(transactional_id))

    def leave(self, member: Member) -> None:
        """A member leaves its group."""
        self._tried(lambda: self._leave(member))

    def delete(self, group: str) -> bool:
        """Delete a group; whether it is gone."""
        return self._tried(lambda: self._delete(group))

    def _tried(self, what: Callable[[], bool]) -> bool:
        try:
            return what()
        except (WrongAnswer, NotPossible):
            return False

    def _end(self, transactional_id: str) -> bool:
        describes = self.peer.spoken.newest(ApiKey.DESCRIBE_TRANSACTIONS, 0) != NONE
        if describes and not self.states((transactional_id,)) & {*UNDER_WAY, "Ongoing"}:
            return True
        request = InitProducerId(self.peer.spoken.newest(ApiKey.INIT_PRODUCER_ID, 4), transactional_id, TIMEOUT_MS)

        def is_ended() -> bool:
            told = self.ask(request, self.peer.coordinator_of(transactional_id, TRANSACTION))
            return not isinstance(told, InitProducerIdAnswer) or told.error != Error.CONCURRENT_TRANSACTIONS

        self.until(is_ended, ENDS_FOR_S)
        return True

    def _leave(self, member: Member) -> bool:
        version = self.peer.spoken.newest(ApiKey.LEAVE_GROUP, FIRST_WITH_LEAVERS)
        request: Request = LeaveGroup(version, member.group, member.name)
        if member.is_consumer:
            request = ConsumerGroupHeartbeat(0, member.group, member.name, LEAVES)
        elif version >= FIRST_WITH_LEAVERS:
            request = LeaveGroup(version, member.group, leavers=(Leaver(member.name),))
        self.ask(request, self.peer.coordinator_of(member.group, GROUP))
        return True

    def _delete(self, group: str) -> bool:
        version = self.peer.spoken.newest(ApiKey.DELETE_GROUPS, 2)
        if version == NONE:
            return False
        told = self.ask(DeleteGroups(version, (group,)), self.peer.coordinator_of(group, GROUP))
        gone = (Error.NONE, Error.GROUP_ID_NOT_FOUND)
        return isinstance(told, GroupsDeleted) and all(error in gone for error in told.groups.values())
