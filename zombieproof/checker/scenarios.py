"""All models, each with its scenarios, and all scenarios by name; each is imported when it is asked for."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from zombieproof.checker.scenario import Scenario

MODELS: Final[Mapping[str, Mapping[str, str]]] = {
    "transactions": {
        "one_transaction": "transactions.scenarios.one_transaction",
        "two_transactions": "transactions.scenarios.two_transactions",
        "delayed_commit": "transactions.scenarios.two_transactions",
        "delayed_abort": "transactions.scenarios.two_transactions",
        "late_produce": "transactions.scenarios.two_transactions",
        "late_verification": "transactions.scenarios.two_transactions",
        "zombie_takeover": "transactions.scenarios.takeover",
        "kip98_takeover": "transactions.scenarios.takeover",
        "crash_and_restart": "transactions.scenarios.takeover",
        "epoch_recovery": "transactions.scenarios.takeover",
        "timeout": "transactions.scenarios.timeout",
        "coordinator_failover": "transactions.scenarios.failover",
        "appends_under_way": "transactions.scenarios.appends",
        "refused_completion": "transactions.scenarios.hard_appends",
        "waiting_questions": "transactions.scenarios.between_brokers",
        "producer_id_blocks": "transactions.scenarios.between_brokers",
        "recorded_blocks": "transactions.scenarios.between_brokers",
        "fetches_in_steps": "transactions.scenarios.cleaning",
        "cleaned_log": "transactions.scenarios.cleaning",
        "cleaned_log_of_version_0": "transactions.scenarios.cleaning",
        "cleaned_offsets": "transactions.scenarios.cleaning",
        "shortened_log": "transactions.scenarios.cleaning",
        "shortened_for_readers": "transactions.scenarios.cleaning",
        "shortened_for_a_producer": "transactions.scenarios.cleaning",
        "leader_failover": "transactions.scenarios.failover",
        "leaderless_partition": "transactions.scenarios.failover",
        "consume_transform_produce": "transactions.scenarios.offsets",
        "given_up_commit": "transactions.scenarios.given_up",
        "commit_asked_again": "transactions.scenarios.asked_again",
        "version_1_asked_again": "transactions.scenarios.asked_again",
        "passed_member": "transactions.scenarios.offsets",
        "kept_position": "transactions.scenarios.offsets",
        "plain_commit": "transactions.scenarios.offsets",
        "resumed_commit": "transactions.scenarios.resumed",
        "refused_batch": "transactions.scenarios.refused",
        "hanging_transaction": "transactions.scenarios.operators",
        "stale_lookup": "transactions.scenarios.operators",
        "late_offset_commit": "transactions.scenarios.offsets",
        "offsets_under_way": "transactions.scenarios.offsets_under_way",
        "cut_transaction": "transactions.scenarios.replication",
        "cut_offsets": "transactions.scenarios.replication",
        "cut_batches": "transactions.scenarios.replication",
        "epoch_exhaustion": "transactions.scenarios.exhaustion",
        "rotation_failover": "transactions.scenarios.exhaustion",
        "id_expiration": "transactions.scenarios.expiration",
        "producer_expiration": "transactions.scenarios.expiration",
        "forgotten_owner": "transactions.scenarios.expiration",
        "idempotent_producer": "transactions.scenarios.idempotence",
        "reader": "transactions.scenarios.reader",
        "given_up_record": "transactions.scenarios.one_producer",
        "one_member": "transactions.scenarios.one_producer",
        "forgotten_id": "transactions.scenarios.one_producer",
        "first_sequence": "transactions.scenarios.one_producer",
        "exhausted_fence": "transactions.scenarios.last_epoch",
        "last_epoch": "transactions.scenarios.last_epoch",
        "skipping_reader": "transactions.scenarios.for_switches",
        "two_idempotent_producers": "transactions.scenarios.for_switches",
        "forgotten_partition": "transactions.scenarios.forgotten_partitions",
        "forgotten_by_2_4": "transactions.scenarios.for_switches",
        "failed_fence": "transactions.scenarios.for_switches",
        "version_0_crash": "transactions.scenarios.earlier_versions",
        "version_1_takeover": "transactions.scenarios.earlier_versions",
        "version_0_failover": "transactions.scenarios.earlier_versions",
        "version_1_failover": "transactions.scenarios.earlier_versions",
        "version_0_expiration": "transactions.scenarios.earlier_versions",
        "version_1_timeout": "transactions.scenarios.earlier_versions",
        "version_0_leader_failover": "transactions.scenarios.earlier_versions",
        "version_1_every_fault": "transactions.scenarios.earlier_versions",
        "late_commit": "transactions.scenarios.defects",
        "repeated_init": "transactions.scenarios.defects",
        "repeated_marker": "transactions.scenarios.defects",
        "deleted_group": "transactions.scenarios.defects",
        "recreated_input": "transactions.scenarios.defects",
        "mutual_fencing": "transactions.scenarios.progress",
        "all_comes_to_an_end": "transactions.scenarios.progress",
    },
    "two_phase_commit": {
        "two_phase_commit": "two_phase_commit.scenario",
        "two_phase_commit_ends": "two_phase_commit.scenario",
    },
    "spark_sink": {
        "spark_batch_sink": "spark_sink.scenarios",
        "spark_partition_sink": "spark_sink.scenarios",
        "spark_task_attempts": "spark_sink.scenarios",
        "spark_two_drivers": "spark_sink.scenarios",
        "spark_identity_sink": "spark_sink.scenarios",
        "spark_naive_sink": "spark_sink.scenarios",
        "spark_two_phase_sink": "spark_sink.scenarios",
        "spark_refused_plans": "spark_sink.scenarios",
        "spark_branches": "spark_sink.scenarios",
        "spark_any_plan": "spark_sink.scenarios",
        "spark_older_checkpoint": "spark_sink.scenarios",
        "spark_two_queries": "spark_sink.scenarios",
        "spark_two_writes": "spark_sink.scenarios",
        "spark_expired_positions": "spark_sink.scenarios",
        "spark_recreated_topic": "spark_sink.scenarios",
        "spark_two_modes": "spark_sink.scenarios",
        "spark_batch_query": "spark_sink.scenarios",
        "spark_starts_at_latest": "spark_sink.scenarios",
    },
    "proposal2014": {
        "proposal_copy": "proposal2014.scenarios",
        "proposal_lost_answers": "proposal2014.scenarios",
        "proposal_crash_and_restart": "proposal2014.scenarios",
        "proposal_coordinator_failover": "proposal2014.scenarios",
        "proposal_failover_from_the_watermark": "proposal2014.scenarios",
        "proposal_two_groups": "proposal2014.scenarios",
        "proposal_abandoned_transaction": "proposal2014.scenarios",
        "proposal_zombie": "proposal2014.scenarios",
        "proposal_leader_failover": "proposal2014.scenarios",
        "proposal_zombie_at_a_new_leader": "proposal2014.scenarios",
        "proposal_interleaved": "proposal2014.scenarios",
        "proposal_read_uncommitted": "proposal2014.scenarios",
        "proposal_reader_restart": "proposal2014.scenarios",
        "proposal_cleaned": "proposal2014.scenarios",
        "proposal_cleaned_interleaved": "proposal2014.scenarios",
    },
}
"""The name of a model, as `--model` takes it -> its scenarios -> the module of `zombieproof.checker` that defines each.

What is registered is registered here.
"""


class Registered(Mapping[str, Scenario]):
    """Scenarios by name. Who asks for one of a model does not wait until the others are imported."""

    def __init__(self, models: Mapping[str, Mapping[str, str]]) -> None:
        self._modules = {name: module for its in models.values() for name, module in its.items()}

    def __getitem__(self, name: str) -> Scenario:
        module = import_module(f"zombieproof.checker.{self._modules[name]}")
        return {each.name: each for each in vars(module).values() if isinstance(each, Scenario)}[name]

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


SCENARIOS: Final = Registered(MODELS)


def scenarios_of(model: str) -> list[Scenario]:
    """The scenarios of a registered model. Raises KeyError: there is no such model."""
    return [SCENARIOS[name] for name in MODELS[model]]


def model_of(scenario: Scenario) -> str | None:
    """The name of the registered model of a scenario; None for one that is not registered, such as a file's."""
    return next((model for model, its in MODELS.items() if not scenario.origin and scenario.name in its), None)
