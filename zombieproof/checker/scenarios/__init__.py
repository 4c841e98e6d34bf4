"""Scenarios, one file for each family; `SCENARIOS` finds them by name."""

from collections.abc import Mapping

from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios.exhaustion import EPOCH_EXHAUSTION, ROTATION_FAILOVER
from zombieproof.checker.scenarios.expiration import FORGOTTEN_OWNER, ID_EXPIRATION, PRODUCER_EXPIRATION
from zombieproof.checker.scenarios.failover import COORDINATOR_FAILOVER, LEADER_FAILOVER, LEADERLESS_PARTITION
from zombieproof.checker.scenarios.idempotence import IDEMPOTENT_PRODUCER
from zombieproof.checker.scenarios.offsets import CONSUME_TRANSFORM_PRODUCE, LATE_OFFSET_COMMIT
from zombieproof.checker.scenarios.one_transaction import ONE_TRANSACTION
from zombieproof.checker.scenarios.reader import READER
from zombieproof.checker.scenarios.takeover import CRASH_AND_RESTART, EPOCH_RECOVERY, KIP98_TAKEOVER, ZOMBIE_TAKEOVER
from zombieproof.checker.scenarios.timeout import TIMEOUT
from zombieproof.checker.scenarios.two_phase_commit import TWO_PHASE_COMMIT
from zombieproof.checker.scenarios.two_transactions import (
    DELAYED_ABORT,
    DELAYED_COMMIT,
    LATE_PRODUCE,
    LATE_VERIFICATION,
    TWO_TRANSACTIONS,
)

SCENARIOS: Mapping[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        ONE_TRANSACTION,
        TWO_TRANSACTIONS,
        DELAYED_COMMIT,
        DELAYED_ABORT,
        LATE_PRODUCE,
        LATE_VERIFICATION,
        ZOMBIE_TAKEOVER,
        KIP98_TAKEOVER,
        CRASH_AND_RESTART,
        EPOCH_RECOVERY,
        TIMEOUT,
        COORDINATOR_FAILOVER,
        LEADER_FAILOVER,
        LEADERLESS_PARTITION,
        CONSUME_TRANSFORM_PRODUCE,
        LATE_OFFSET_COMMIT,
        EPOCH_EXHAUSTION,
        ROTATION_FAILOVER,
        ID_EXPIRATION,
        PRODUCER_EXPIRATION,
        FORGOTTEN_OWNER,
        IDEMPOTENT_PRODUCER,
        READER,
        TWO_PHASE_COMMIT,
    )
}
