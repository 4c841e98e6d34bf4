"""How often each fault of the transaction protocol may still happen."""

from dataclasses import dataclass, fields


@dataclass(slots=True)
class Budget:
    """How often each fault may still happen.

    `resumptions`: crashes behind the line that stores an identity outside. `ends_timed_out`: how often an application
    hears that its commit or abort has timed out (``asked_again``); `ends_given_up`: how often it closes its producer.
    `forgotten_partitions`: how often new metadata makes an idempotent producer drop the sequences of a partition.
    `group_deletions`: how often an administrator deletes the group; `recreations`: how often its input topic is deleted
    and created again under its name.
    """

    lost: int = 0
    doubled: int = 0
    doubled_batches: int = 0
    doubled_markers: int = 0
    late: int = 0
    crashes: int = 0
    timeouts: int = 0
    failovers: int = 0
    deposed: int = 0
    unknown_appends: int = 0
    leader_changes: int = 0
    leaderless: int = 0
    rebalances: int = 0
    expirations: int = 0
    forgotten: int = 0
    failed_appends: int = 0
    ends_given_up: int = 0
    resumptions: int = 0
    refused: int = 0
    plain_commits: int = 0
    aborts_by_hand: int = 0
    stale_lookups: int = 0
    hard_appends: int = 0
    controller_changes: int = 0
    failed_commits: int = 0
    truncations: int = 0
    compactions: int = 0
    snapshots: int = 0
    retentions: int = 0
    ends_timed_out: int = 0
    forgotten_partitions: int = 0
    group_deletions: int = 0
    recreations: int = 0


FAULTS = tuple(f.name for f in fields(Budget))
"""The faults of the transaction protocol."""
