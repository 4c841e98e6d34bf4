"""Requests to the group coordinator of a broker: answered now, or when others have come or time is over.

Theory of operation: a JoinGroup or SyncGroup that waits is an operation under the number of its request; the answer of
its group, whenever that comes, ends the wait, and goes out when what it depends on is durable. What a group does by
itself waits for a time.
Source: ``KafkaApis.scala``, ``GroupCoordinatorService.java``.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from zombieproof.broker.cluster.desk import Desk
from zombieproof.broker.cluster.operations import GroupTimer, WaitingMember
from zombieproof.broker.cluster.waiting import FOR_EVER
from zombieproof.broker.cluster.writes import Writes
from zombieproof.broker.group.coordinator import GroupCoordinator
from zombieproof.broker.group.effects import Drop, GroupEffect, Reply, WaitForOthers
from zombieproof.messages.groups import GroupRequest


@dataclass(slots=True)
class Members:
    """The groups of one broker at its desk."""

    desk: Desk
    writes: Writes
    groups: GroupCoordinator

    def handle(self, number: int, request: GroupRequest) -> None:
        """Hand a request to the group coordinator."""
        self.carry_out(self.groups.handle(request, number))

    def is_due(self, timer: GroupTimer) -> None:
        """It is time for a group to look at its clock."""
        self.carry_out(self.groups.time_passes(timer.group))

    def carry_out(self, effects: Iterable[GroupEffect]) -> None:
        """Do what the group coordinator wants done."""
        for effect in effects:
            if isinstance(effect, Reply):
                self._waits_no_longer(effect.number)
                self.writes.answer_for_groups(effect.number, effect.groups, effect.answer)
            elif isinstance(effect, Drop):
                self._waits_no_longer(effect.number)
                self.desk.answer(effect.number, None)
            elif isinstance(effect, WaitForOthers):
                self.desk.waits.add(WaitingMember(effect.number), (effect.number,), FOR_EVER)
            else:
                self.desk.waits.add(GroupTimer(effect.group), (), effect.at_ms)

    def _waits_no_longer(self, number: int) -> None:
        for ticket in self.desk.waits.tickets(number):
            self.desk.waits.remove(ticket)
