"""The presets against the reference: §11.3 row by row, written down here and not derived from the switches."""

from dataclasses import fields, replace

import pytest

from zombieproof.model.decisions.add_partitions_to_txn import decide_add_partitions_to_txn
from zombieproof.model.decisions.end_txn import decide_end_txn
from zombieproof.model.records import Transaction
from zombieproof.model.releases import (
    NEWEST_VERSIONS,
    OLDEST_VERSIONS,
    RELEASES,
    UnknownRelease,
    is_between,
    line_of,
    transaction_version_of,
    understands,
)
from zombieproof.model.rules import PRESETS, Rules, preset, preset_for, preset_name, switches
from zombieproof.model.vocabulary import NONE, ApiKey, Error, TransactionState

KIP98 = frozenset(
    {
        *("duplicate_check", "sequence_check", "epoch_fencing", "markers_before_completion", "reload_drives_markers"),
        *("leader_reads_log", "init_raises_epoch", "skipping_ends", "only_idle_ids_expire", "stable_bound"),
        *("aborted_list", "fence_bump", "strict_end", "marker_coordinator_epoch", "marker_waits_for_leader"),
        *("memory_follows_log", "refused_append_clears_pending", "completion_is_appended_again"),
        *("block_recorded_first", "commit_waits_for_replicas", "failed_commit_leaves_nothing"),
        "generation_is_recorded_first",
        *("answers_wait", "watermark_bound", "stable_waits_for_marker", "cut_log_reloads"),
        *("aborted_list_last", "cleaner_stops_at_stable", "marker_outlives_data", "last_batch_outlives_records"),
        "snapshot_keeps_open",
        "only_the_same_end_is_resumed",
        "forgotten_partition_changes_identity",
    }
)
"""§11.2, kip98: the base that every release has."""

ROWS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # lines of the row in §11.3; `+ rule` and `- rule` against the row above; where a rule is from if not from the row.
    ("0.11.0", (), "kip98; cache 1; timeout_bump off"),
    ("1.0 1.1", ("+ timeout_bump", "+ unknown_producer_id"), "cache 5; timeout_bump on; 59"),
    (
        "2.0 2.1 2.2 2.3",
        ("+ unknown_after_marker", "+ commit_waits_for_load"),
        "§3.3.1: marker-only entry 45 in 1.0, 59 in 2.3; client of 2.0.1: KAFKA-7296",
    ),
    ("2.4", ("+ producers_outlive_records",), "§3.7: log start; KAFKA-7190, B19"),
    (
        "2.5",
        ("+ kip360", "+ kip447_fence", "+ kip447_stable", "- unknown_producer_id", "- unknown_after_marker"),
        "+ kip360, kip447; §3.3.1: since 2.5 any first sequence, 59 never",
    ),
    ("2.6", ("+ fence_failed_flag", "+ end_refuses_higher_epoch"), "2.6: fence_failed_flag; KAFKA-9600"),
    ("2.7", ("+ kip588",), "+ kip588"),
    ("2.8", ("+ marker_needs_data",), "KAFKA-10702 (the row has it for 0.11.0)"),
    ("3.0", ("+ pid_block_order",), "+ kip664 (requests); §2.16: blocks of the controller"),
    ("3.1 3.2", ("+ ended_call_keeps_result",), "client of 3.1.1: KAFKA-13412, B52"),
    ("3.3 3.4 3.5", ("+ retries_by_class",), "client of 3.3.2: KAFKA-14417"),
    (
        "3.6 3.7",
        (
            "+ verification",
            "+ questions_follow",
            "+ verification_guard",
            "+ guard_lowest_seq",
            "+ refused_init_starts_over",
        ),
        "+ kip890p1; client: KAFKA-13668",
    ),
    ("3.8 3.9", ("+ abortable_code", "+ commit_retries_by_class"), "3.8+ abortable_code; client's handler of 3.8"),
    (
        "4.0",
        (
            *("+ pending_first", "+ epoch_aware_ongoing", "+ guard_keep_same_epoch", "+ single_fence_bump"),
            *("+ mapping_fatal", "+ upgrade_bump", "+ init_clears_start", "+ client_version_in_records"),
            *("+ unload_by_epoch", "+ absent_group_generation", "+ end_by_request_version"),
            *("+ completion_keeps_last_epoch", "+ refused_commit_keeps_pending"),
            *("+ refused_append_is_for_all", "+ loaded_tombstone_ends_pending", "+ given_back_id_rebalances"),
        ),
        "+ kip890p2, P3 first, epoch-aware ongoing; §3.4 step 8; §2.11 Δ; §5.5; §5.1; §14; Z7; §2.10; §2.3, B74",
    ),
    (
        "4.1",
        (
            *("+ kip1050", "+ stale_epoch_first", "+ tv2_first_seq_zero", "+ abort_120_fatal"),
            *("- marker_waits_for_leader", "+ offset_keeps_topic_id"),
        ),
        "+ kip1050, A2, S1; §5.5: 120 (R4.1+); B73: a regression of KAFKA-17573; OffsetCommitValue.json",
    ),
    ("4.2", ("+ marker_strict", "+ marker_retry_relax"), "+ kip1228, marker_retry_relax"),
    (
        "4.3",
        ("+ persist_prev_next", "+ fence_rotation", "+ last_epoch_recovery"),
        "+ persisted prev/next, fence rotation, MAXE recovery",
    ),
    (
        "4.4",
        (
            *("+ full_group_keeps_static_place", "+ emptied_group_assigns_at_once", "+ commit_by_topic_id"),
            "+ txn_offset_keeps_topic_id",
        ),
        "kafka-4.4.0.md: a static member in a full group, topicId; asked; + kip1319 (requests, and the client)",
    ),
)

SUB_FLAGS = (
    *("timeout_bump", "fence_failed_flag", "pending_first", "epoch_aware_ongoing", "guard_lowest_seq"),
    *("tv2_first_seq_zero", "guard_keep_same_epoch", "single_fence_bump", "fence_rotation", "persist_prev_next"),
    *("marker_strict", "marker_retry_relax", "unload_by_epoch", "pid_block_order", "abort_120_fatal"),
)
"""The last paragraph of §11.3; dup_cache_size is the number `cached_batches`."""

OFF_ON_3_9_1 = (
    *("epoch_aware_ongoing", "stale_epoch_first", "mapping_fatal", "pending_first", "tv2_first_seq_zero"),
    *("persist_prev_next", "marker_strict", "marker_retry_relax", "fence_rotation", "guard_keep_same_epoch"),
    *("init_clears_start", "absent_group_generation", "client_version_in_records", "refused_commit_keeps_pending"),
    *("refused_append_is_for_all", "loaded_tombstone_ends_pending", "given_back_id_rebalances"),
)
"""What recordings of 3.9.1 show, or could not show otherwise (§14)."""


def on(rules: Rules) -> set[str]:
    return {facts.name for facts in switches() if getattr(rules, facts.name) == 1}


def table() -> dict[str, set[str]]:
    """Line -> the rules that it has, by the rows above."""
    found: dict[str, set[str]] = {}
    rules = set(KIP98)
    for lines, changes, _ in ROWS:
        for change in changes:
            sign, name = change.split()
            assert (name in rules) is (sign == "-"), f"{lines}: {change}"
            rules = rules - {name} if sign == "-" else rules | {name}
        found |= dict.fromkeys(lines.split(), rules)
    return found


@pytest.mark.parametrize(("line", "rules"), table().items(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_release_has_the_rules_of_its_row(line: str, rules: set[str]) -> None:
    assert on(preset(line)) == rules
    assert preset(line).cached_batches == (1 if line == "0.11.0" else 5)
    assert preset(line).transaction_version == (2 if line.startswith("4.") else 0)


def test_every_release_is_in_the_table() -> None:
    assert tuple(table()) == RELEASES
    assert set(RELEASES) <= set(PRESETS)


def test_every_sub_flag_of_the_reference_is_a_switch() -> None:
    assert set(SUB_FLAGS) <= {facts.name for facts in switches()}


@pytest.mark.parametrize("line", [line for line in RELEASES if line.startswith("4.")])
@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_cluster_at_a_lower_transaction_version_has_the_same_brokers(line: str, version: int) -> None:
    name = preset_name(line, version)
    assert name == (line if version == 2 else f"{line}-tv{version}")
    assert preset(name) == replace(preset(line), transaction_version=version) == preset_for(line, version)


def test_what_was_recorded_of_3_9_1_is_off() -> None:
    rules = preset_for("3.9.1", 0)
    assert {name for name in OFF_ON_3_9_1 if getattr(rules, name) == 1} == set()
    assert rules.marker_waits_for_leader == 1


def test_what_was_recorded_of_4_3_1_is_in_its_preset() -> None:
    rules = preset_for("4.3.1", 2)
    assert {name for name in OFF_ON_3_9_1 if getattr(rules, name) == 0} == set()
    assert rules.marker_waits_for_leader == 0


def test_a_patch_release_may_lack_what_its_line_has() -> None:
    assert (preset_for("4.0.0").single_fence_bump, preset_for("4.0.1").single_fence_bump) == (0, 1)
    assert preset("4.0").single_fence_bump == 1
    assert (preset_for("2.0.0").commit_waits_for_load, preset_for("2.0.1").commit_waits_for_load) == (0, 1)
    assert (preset_for("3.3.1").retries_by_class, preset_for("3.3.2").retries_by_class) == (0, 1)


@pytest.mark.parametrize(
    ("kafka", "version", "name"),
    [
        ("3.9.1", None, "3.9"),
        ("3.9.1", 0, "3.9"),
        ("0.11.0.3", None, "0.11.0"),
        ("0.11.0", 0, "0.11.0"),
        ("4.3.1", None, "4.3"),
        ("4.3.1", 2, "4.3"),
        ("4.3.1", 1, "4.3-tv1"),
        ("4.3.1", 0, "4.3-tv0"),
        ("4.4.0-rc1", 0, "4.4-tv0"),
    ],
)
def test_a_full_version_and_a_transaction_version_name_a_preset(kafka: str, version: int | None, name: str) -> None:
    assert preset_name(kafka, version) == name
    assert preset_for(kafka, version) == preset(name)


@pytest.mark.parametrize("kafka", ["", "3", "0.11", "0.10.2", "3.9.x", "3.9.1.0", "4.5", "5.0.0", "newest", "v3.9"])
def test_an_unknown_release_is_refused_with_those_that_exist(kafka: str) -> None:
    for ask in (preset_for, preset_name, line_of):
        with pytest.raises(UnknownRelease, match=r"unknown Kafka release .* 0\.11\.0 to 4\.4.* such as 3\.9\.1"):
            ask(kafka)


@pytest.mark.parametrize(("kafka", "version"), [("3.9.1", 1), ("3.9.1", 2), ("0.11.0", 1), ("4.3.1", 3), ("4.3.1", -1)])
def test_a_transaction_version_that_a_release_cannot_have_is_refused(kafka: str, version: int) -> None:
    with pytest.raises(UnknownRelease, match=rf"does not support transaction version {version}; legal: 0"):
        preset_for(kafka, version)


def test_a_preset_for_a_release_is_a_copy() -> None:
    preset_for("3.9.1").kip360 = 0
    assert preset_for("3.9.1").kip360 == 1


@pytest.mark.parametrize(
    ("release", "since", "until", "within"),
    [
        ("2.4", "2.5", "", False),
        ("2.5", "2.5", "", True),
        ("2.10", "2.5", "2.4", False),
        ("2.4.1", "1.0", "2.4", True),
        ("2.5.0", "1.0", "2.4", False),
        ("0.11.0.2", "0.11.0", "", True),
        ("3.9", "", "", False),
    ],
)
def test_a_release_lies_between_two_others(release: str, since: str, until: str, within: bool) -> None:
    assert is_between(release, since, until) is within


def test_every_first_and_last_release_exists() -> None:
    for facts in switches():
        for release in filter(None, (facts.since, facts.until)):
            assert line_of(release) in RELEASES
    assert "kip939" in {facts.name for facts in switches() if not facts.since}


def test_what_is_in_no_release_is_off_in_all_of_them() -> None:
    unreleased = [facts.name for facts in switches() if not facts.since]
    assert not [(line, name) for line in RELEASES for name in unreleased if getattr(preset(line), name)]


def test_two_phase_participation_is_in_no_release() -> None:
    assert {name for name in PRESETS if preset(name).kip939 == 1} == {"kip939"}
    assert replace(preset("kip939"), kip939=0) == preset("newest")


def test_clients_of_several_generations_are_judged_by_their_requests_at_one_broker() -> None:
    """The same transaction at the same broker: an old client ends it under its epoch, a new one raises it."""
    for name in ("4.3", "4.3-tv0"):
        txn = Transaction(known=True, state=TransactionState.ONGOING, producer_id=10, producer_epoch=1, partitions=1)

        class Ask:
            producer_id, producer_epoch, committed, partitions, version = 10, 1, True, 2, 4

        old = decide_end_txn(txn, Ask(), preset(name), True, NONE)
        Ask.version = 5
        new = decide_end_txn(txn, Ask(), preset(name), True, NONE)
        assert (old.error, old.producer_epoch, new.error, new.producer_epoch) == (Error.NONE, 1, Error.NONE, 2)
        joined = decide_add_partitions_to_txn(txn, Ask(), preset(name))
        assert joined.client_transaction_version == 2


# ---------------------------------------------------------------- versions of requests

TABLE_7_5 = {
    # §7.5: R3.9, R4.0, R4.1, R4.4/T
    ApiKey.PRODUCE: ((0, 11), (3, 12), (3, 13), (3, 13)),
    ApiKey.INIT_PRODUCER_ID: ((0, 5), (0, 5), (0, 6), (0, 6)),
    ApiKey.ADD_PARTITIONS_TO_TXN: ((0, 5), (0, 5), (0, 5), (0, 5)),
    ApiKey.ADD_OFFSETS_TO_TXN: ((0, 4), (0, 4), (0, 4), (0, 4)),
    ApiKey.END_TXN: ((0, 4), (0, 5), (0, 5), (0, 5)),
    ApiKey.WRITE_TXN_MARKERS: ((0, 1), (1, 1), (1, 1), (1, 2)),
    ApiKey.TXN_OFFSET_COMMIT: ((0, 4), (0, 5), (0, 5), (0, 6)),
    ApiKey.DESCRIBE_PRODUCERS: ((0, 0), (0, 0), (0, 0), (0, 0)),
    ApiKey.DESCRIBE_TRANSACTIONS: ((0, 0), (0, 0), (0, 0), (0, 0)),
    ApiKey.LIST_TRANSACTIONS: ((0, 1), (0, 1), (0, 2), (0, 2)),
}

FIRST_VERSIONS = (
    # §11.1, §11.2, §7.5: the first release of what a version brings
    (ApiKey.INIT_PRODUCER_ID, 3, "2.5"),
    (ApiKey.TXN_OFFSET_COMMIT, 3, "2.5"),
    (ApiKey.INIT_PRODUCER_ID, 4, "2.7"),
    (ApiKey.END_TXN, 2, "2.7"),
    (ApiKey.DESCRIBE_TRANSACTIONS, 0, "3.0"),
    (ApiKey.ADD_PARTITIONS_TO_TXN, 4, "3.5"),
    (ApiKey.PRODUCE, 11, "3.8"),
    (ApiKey.END_TXN, 5, "4.0"),
    (ApiKey.WRITE_TXN_MARKERS, 2, "4.2"),
    (ApiKey.TXN_OFFSET_COMMIT, 6, "4.4"),
)


@pytest.mark.parametrize("api", TABLE_7_5, ids=lambda api: api.name)
def test_brokers_understand_the_versions_of_the_table(api: ApiKey) -> None:
    for line, (oldest, newest) in zip(("3.9.1", "4.0", "4.1", "4.4"), TABLE_7_5[api], strict=True):
        understood = [version for version in range(20) if understands(line, api, version)]
        assert understood == list(range(oldest, newest + 1)), line


@pytest.mark.parametrize(("api", "version", "since"), FIRST_VERSIONS)
def test_a_version_is_understood_from_its_release_on(api: ApiKey, version: int, since: str) -> None:
    assert [line for line in RELEASES if understands(line, api, version)] == list(RELEASES[RELEASES.index(since) :])


def test_the_first_brokers_understand_the_base_only() -> None:
    """§11.2, kip98."""
    assert understands("2.4", ApiKey.INIT_PRODUCER_ID, 2)
    assert not understands("2.4", ApiKey.INIT_PRODUCER_ID, 3)
    assert not understands("0.11.0", ApiKey.DESCRIBE_PRODUCERS, 0)


def test_versions_are_listed_in_the_order_of_releases() -> None:
    for by_line in (*NEWEST_VERSIONS.values(), *OLDEST_VERSIONS.values()):
        assert [RELEASES.index(line) for line in by_line] == sorted(RELEASES.index(line) for line in by_line)
        assert list(by_line.values()) == sorted(by_line.values())


def test_a_release_begins_with_its_own_transaction_version() -> None:
    assert [transaction_version_of(line, None) for line in ("0.11.0", "3.9.1", "4.0", "4.4")] == [0, 0, 2, 2]


def test_presets_change_nothing_but_switches_and_known_numbers() -> None:
    numbers = {"transaction_version", "cached_batches"}
    names = {facts.name for facts in switches()} | numbers
    assert {name for _, changes in PRESETS.values() for name in changes} <= names
    assert {field.name for field in fields(Rules)} - names == {"epoch_max", "sequence_max"}
