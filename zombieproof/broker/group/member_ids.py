"""Ids of members that brokers make up."""

from zombieproof.broker.cluster.clock import Clock


class MemberIds:
    """Ids of members that nobody had: leader epochs tell coordinators apart, and starts of the same one."""

    def __init__(self, clock: Clock) -> None:
        self.given, self._clock = 0, clock

    def next(self, group: str, leader_epoch: int) -> str:
        """An id for a member of `group`."""
        self.given += 1
        return f"{group}-{leader_epoch}-{self._clock.now_ms()}-{self.given}"
