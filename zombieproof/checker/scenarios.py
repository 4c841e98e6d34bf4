"""All models, each with its scenarios, and all scenarios by name."""

from collections.abc import Mapping

from zombieproof.checker.proposal2014.scenarios import PROPOSAL_SCENARIOS
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.spark_sink.scenarios import SPARK_SCENARIOS
from zombieproof.checker.transactions.scenarios.appends import APPENDS_UNDER_WAY
from zombieproof.checker.transactions.scenarios.asked_again import COMMIT_ASKED_AGAIN, VERSION_1_ASKED_AGAIN
from zombieproof.checker.transactions.scenarios.between_brokers import (
    PRODUCER_ID_BLOCKS,
    RECORDED_BLOCKS,
    WAITING_QUESTIONS,
)
from zombieproof.checker.transactions.scenarios.cleaning import (
    CLEANED_LOG,
    CLEANED_LOG_OF_VERSION_0,
    CLEANED_OFFSETS,
    FETCHES_IN_STEPS,
    SHORTENED_FOR_A_PRODUCER,
    SHORTENED_FOR_READERS,
    SHORTENED_LOG,
)
from zombieproof.checker.transactions.scenarios.earlier_versions import (
    VERSION_0_CRASH,
    VERSION_0_EXPIRATION,
    VERSION_0_FAILOVER,
    VERSION_0_LEADER_FAILOVER,
    VERSION_1_EVERY_FAULT,
    VERSION_1_FAILOVER,
    VERSION_1_TAKEOVER,
    VERSION_1_TIMEOUT,
)
from zombieproof.checker.transactions.scenarios.exhaustion import EPOCH_EXHAUSTION, ROTATION_FAILOVER
from zombieproof.checker.transactions.scenarios.expiration import FORGOTTEN_OWNER, ID_EXPIRATION, PRODUCER_EXPIRATION
from zombieproof.checker.transactions.scenarios.failover import (
    COORDINATOR_FAILOVER,
    LEADER_FAILOVER,
    LEADERLESS_PARTITION,
)
from zombieproof.checker.transactions.scenarios.for_switches import (
    FAILED_FENCE,
    FORGOTTEN_BY_2_4,
    SKIPPING_READER,
    TWO_IDEMPOTENT_PRODUCERS,
)
from zombieproof.checker.transactions.scenarios.forgotten_partitions import FORGOTTEN_PARTITION
from zombieproof.checker.transactions.scenarios.given_up import GIVEN_UP_COMMIT
from zombieproof.checker.transactions.scenarios.hard_appends import REFUSED_COMPLETION
from zombieproof.checker.transactions.scenarios.idempotence import IDEMPOTENT_PRODUCER
from zombieproof.checker.transactions.scenarios.last_epoch import EXHAUSTED_FENCE, LAST_EPOCH
from zombieproof.checker.transactions.scenarios.offsets import (
    CONSUME_TRANSFORM_PRODUCE,
    KEPT_POSITION,
    LATE_OFFSET_COMMIT,
    PASSED_MEMBER,
    PLAIN_COMMIT,
)
from zombieproof.checker.transactions.scenarios.offsets_under_way import OFFSETS_UNDER_WAY
from zombieproof.checker.transactions.scenarios.one_producer import (
    FIRST_SEQUENCE,
    FORGOTTEN_ID,
    GIVEN_UP_RECORD,
    ONE_MEMBER,
)
from zombieproof.checker.transactions.scenarios.one_transaction import ONE_TRANSACTION
from zombieproof.checker.transactions.scenarios.operators import HANGING_TRANSACTION, STALE_LOOKUP
from zombieproof.checker.transactions.scenarios.progress import ALL_COMES_TO_AN_END, MUTUAL_FENCING
from zombieproof.checker.transactions.scenarios.reader import READER
from zombieproof.checker.transactions.scenarios.refused import REFUSED_BATCH
from zombieproof.checker.transactions.scenarios.replication import CUT_BATCHES, CUT_OFFSETS, CUT_TRANSACTION
from zombieproof.checker.transactions.scenarios.resumed import RESUMED_COMMIT
from zombieproof.checker.transactions.scenarios.takeover import (
    CRASH_AND_RESTART,
    EPOCH_RECOVERY,
    KIP98_TAKEOVER,
    ZOMBIE_TAKEOVER,
)
from zombieproof.checker.transactions.scenarios.timeout import TIMEOUT
from zombieproof.checker.transactions.scenarios.two_transactions import (
    DELAYED_ABORT,
    DELAYED_COMMIT,
    LATE_PRODUCE,
    LATE_VERIFICATION,
    TWO_TRANSACTIONS,
)
from zombieproof.checker.two_phase_commit.scenario import TWO_PHASE_COMMIT, TWO_PHASE_COMMIT_ENDS

MODELS: Mapping[str, tuple[Scenario, ...]] = {
    "transactions": (
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
        APPENDS_UNDER_WAY,
        REFUSED_COMPLETION,
        WAITING_QUESTIONS,
        PRODUCER_ID_BLOCKS,
        RECORDED_BLOCKS,
        FETCHES_IN_STEPS,
        CLEANED_LOG,
        CLEANED_LOG_OF_VERSION_0,
        CLEANED_OFFSETS,
        SHORTENED_LOG,
        SHORTENED_FOR_READERS,
        SHORTENED_FOR_A_PRODUCER,
        LEADER_FAILOVER,
        LEADERLESS_PARTITION,
        CONSUME_TRANSFORM_PRODUCE,
        GIVEN_UP_COMMIT,
        COMMIT_ASKED_AGAIN,
        VERSION_1_ASKED_AGAIN,
        PASSED_MEMBER,
        KEPT_POSITION,
        PLAIN_COMMIT,
        RESUMED_COMMIT,
        REFUSED_BATCH,
        HANGING_TRANSACTION,
        STALE_LOOKUP,
        LATE_OFFSET_COMMIT,
        OFFSETS_UNDER_WAY,
        CUT_TRANSACTION,
        CUT_OFFSETS,
        CUT_BATCHES,
        EPOCH_EXHAUSTION,
        ROTATION_FAILOVER,
        ID_EXPIRATION,
        PRODUCER_EXPIRATION,
        FORGOTTEN_OWNER,
        IDEMPOTENT_PRODUCER,
        READER,
        GIVEN_UP_RECORD,
        ONE_MEMBER,
        FORGOTTEN_ID,
        FIRST_SEQUENCE,
        EXHAUSTED_FENCE,
        LAST_EPOCH,
        SKIPPING_READER,
        TWO_IDEMPOTENT_PRODUCERS,
        FORGOTTEN_PARTITION,
        FORGOTTEN_BY_2_4,
        FAILED_FENCE,
        VERSION_0_CRASH,
        VERSION_1_TAKEOVER,
        VERSION_0_FAILOVER,
        VERSION_1_FAILOVER,
        VERSION_0_EXPIRATION,
        VERSION_1_TIMEOUT,
        VERSION_0_LEADER_FAILOVER,
        VERSION_1_EVERY_FAULT,
        MUTUAL_FENCING,
        ALL_COMES_TO_AN_END,
    ),
    "two_phase_commit": (TWO_PHASE_COMMIT, TWO_PHASE_COMMIT_ENDS),
    "spark_sink": SPARK_SCENARIOS,
    "proposal2014": PROPOSAL_SCENARIOS,
}
"""The name of a model, as `--model` takes it -> its scenarios. What is registered is registered here."""

SCENARIOS: Mapping[str, Scenario] = {scenario.name: scenario for its in MODELS.values() for scenario in its}


def model_of(scenario: Scenario) -> str | None:
    """The name of the registered model of a scenario; None for one that is not registered, such as a file's."""
    registered = not scenario.origin
    return next((model for model, its in MODELS.items() if registered and scenario.name in map(_name, its)), None)


def _name(scenario: Scenario) -> str:
    return scenario.name
