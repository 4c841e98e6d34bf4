"""The broker settings that the protocol depends on, under Kafka's names, with Kafka's defaults."""

from dataclasses import dataclass


@dataclass(slots=True)
class Settings:
    """Settings of every broker of a cluster; times in milliseconds (Kafka's name: underscores are dots).

    `transaction_state_log_min_isr` 0: as `min_insync_replicas`. `Cluster.configure` changes some while brokers run.
    """

    transaction_max_timeout_ms: int = 900_000
    transaction_two_phase_commit_enable: bool = False
    transaction_partition_verification_enable: bool = True
    transaction_state_log_num_partitions: int = 50
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    transactional_id_expiration_ms: int = 604_800_000
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3_600_000
    producer_id_expiration_ms: int = 86_400_000
    producer_id_expiration_check_interval_ms: int = 600_000
    offsets_topic_num_partitions: int = 50
    delete_topic_enable: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    auto_create_topics_enable: bool = True
    offset_metadata_max_bytes: int = 4096
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    group_consumer_assignment_interval_ms: int = 1000
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_min_session_timeout_ms: int = 45_000
    group_consumer_max_session_timeout_ms: int = 60_000
    group_consumer_heartbeat_interval_ms: int = 5000
    group_consumer_min_heartbeat_interval_ms: int = 5000
    group_consumer_max_heartbeat_interval_ms: int = 15_000
    group_consumer_max_size: int = 2_147_483_647
    group_consumer_regex_refresh_interval_ms: int = 600_000
    group_initial_rebalance_delay_ms: int = 3000
    group_min_session_timeout_ms: int = 6000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = 2_147_483_647
    request_timeout_ms: int = 30_000
    fetch_max_bytes: int = 57_671_680
    add_partitions_to_txn_retry_backoff_ms: int = 20
    add_partitions_to_txn_retry_backoff_max_ms: int = 100
    min_insync_replicas: int = 1
    transaction_state_log_min_isr: int = 0
    unstable_api_versions_enable: bool = False
    connections_max_reauth_ms: int = 0
    connection_failed_authentication_delay_ms: int = 100
    sasl_server_max_receive_size: int = 524_288

    def __post_init__(self) -> None:
        """Bounds are kept, as Kafka does when it starts.

        Raises:
            ValueError: a setting of the consumer protocol, or of topics that brokers make, is out of its bounds.
        """
        for name in ("num_partitions", "default_replication_factor"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name.replace('_', '.')} is {getattr(self, name)}; legal is 1 or more")
        for name in ("session_timeout_ms", "heartbeat_interval_ms"):
            value, least, most = (getattr(self, f"group_consumer_{bound}{name}") for bound in ("", "min_", "max_"))
            if not least <= value <= most:
                kafkas = f"group.consumer.{name.replace('_', '.')}"
                raise ValueError(f"{kafkas} is {value}; legal is {least} to {most}, which are settings of their own")
        if self.group_consumer_heartbeat_interval_ms >= self.group_consumer_session_timeout_ms:
            raise ValueError(
                f"group.consumer.heartbeat.interval.ms {self.group_consumer_heartbeat_interval_ms} must be less than "
                f"group.consumer.session.timeout.ms {self.group_consumer_session_timeout_ms}"
            )


RECONFIGURABLE = frozenset({"min_insync_replicas", "producer_id_expiration_ms"})
"""The settings that Kafka lets be changed while a broker runs (``DynamicBrokerConfig``), of those above.

It has one more, ``transaction.partition.verification.enable``: here that is a rule.
"""
