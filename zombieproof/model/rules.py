"""Rules: which repairs and KIPs are in force. One switch for each, and the presets that name a set of them.

A switch is read where its rule stands, by name (``rules.timeout_bump``). ``limits`` that Kafka fixes as constants
(the largest epoch, the number of remembered batches) are here too, so that a checker can make them small.

A preset of a release is not a list of its own: it has the switches whose `since` and `until` it lies between. What a
request means follows the version of the request, by every preset; so clients of several releases may be mixed.
Source: reference §11.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Final

from zombieproof.model.fields import integer
from zombieproof.model.releases import (
    FIRST_WITH_TRANSACTION_VERSIONS,
    RELEASES,
    age,
    is_between,
    line_of,
    transaction_version_of,
)
from zombieproof.model.vocabulary import CACHED_BATCHES, PRODUCER_EPOCH_MAX, SEQUENCE_MAX, TransactionVersion


@dataclass(frozen=True, slots=True)
class SwitchFacts:
    """What is said of a switch wherever it is listed.

    Attributes:
        name: the field of `Rules`.
        meaning: what holds while it is on, in one line.
        since: the first release that has the rule; "" if none has it whole.
        until: the last line that has it; "" if the newest one has it still.
        source: the KIP or issue that brought it.
        row: where the reference states it.
        is_newest: whether the preset `newest` has it.
    """

    name: str
    meaning: str
    since: str
    until: str
    source: str
    row: str
    is_newest: bool


def switch(meaning: str, *, since: str, source: str, row: str, until: str = "", newest: int = 1) -> int:
    """A field of `Rules` that is 1 (in force) or, with `newest` 0, 0 by default.

    A number and no flag: rules stand beside limits in one list, and files, presets and options say `name=1`.
    """
    facts = {"meaning": meaning, "since": since, "until": until, "source": source, "row": row}
    return field(default=newest, metadata={"width": "i1", **facts})


@dataclass(slots=True)
class Rules:
    """The rules in force. Every switch is 0 or 1; the defaults are the newest rules with all their repairs.

    Attributes:
        transaction_version: of the cluster; how a server ends a transaction, and what its log can hold.
        epoch_max, sequence_max: the last epoch and sequence number.
        cached_batches: how many batches of a producer a leader remembers: 5, and 1 before Kafka 1.0 (row A1).
    """

    transaction_version: int = integer(2)
    epoch_max: int = integer(PRODUCER_EPOCH_MAX, width="i4")
    sequence_max: int = integer(SEQUENCE_MAX, width="i4")
    cached_batches: int = integer(CACHED_BATCHES)

    duplicate_check: int = switch(
        "a leader recognises a batch that it has already appended", since="0.11.0", source="KIP-98", row="A1"
    )
    sequence_check: int = switch(
        "a leader accepts only the next sequence of a producer", since="0.11.0", source="KIP-98", row="S3, S5"
    )
    epoch_fencing: int = switch(
        "a leader refuses batches of an older producer epoch", since="0.11.0", source="KIP-98", row="A4"
    )
    markers_before_completion: int = switch(
        "a transaction is complete only when every partition has its marker",
        since="0.11.0",
        source="KIP-98",
        row="§2.12",
    )
    reload_drives_markers: int = switch(
        "a coordinator that loads a prepared transaction sends its markers again",
        since="0.11.0",
        source="KIP-98",
        row="Z6",
    )
    memory_follows_log: int = switch(
        "a coordinator updates its memory only after the append to its log succeeded",
        since="0.11.0",
        source="KIP-98",
        row="§2.6",
    )
    refused_append_clears_pending: int = switch(
        "a failed append clears the pending transition", since="0.11.0", source="KIP-98", row="§2.6"
    )
    completion_is_appended_again: int = switch(
        "a completion whose append fails with a retriable error is appended again",
        since="0.11.0",
        source="KIP-98",
        row="§2.12",
    )
    leader_reads_log: int = switch(
        "a new leader rebuilds producers and transactions from its log",
        since="0.11.0",
        source="KIP-98",
        row="§3.7",
    )
    answers_wait: int = switch(
        "a request with acks=all is answered when the high watermark has passed its records",
        since="0.11.0",
        source="KAFKA-50",
        row="§3.5, O10",
    )
    watermark_bound: int = switch(
        "consumers read nothing above the high watermark", since="0.11.0", source="KAFKA-50", row="§3.6"
    )
    stable_waits_for_marker: int = switch(
        "the last stable offset passes a transaction only when its marker is replicated",
        since="0.11.0",
        source="KIP-98",
        row="§3.6",
    )
    cut_log_reloads: int = switch(
        "a replica that truncates its log rebuilds its producers from the rest",
        since="0.11.0",
        source="KIP-98",
        row="§3.7",
    )
    init_raises_epoch: int = switch(
        "InitProducerId bumps the epoch of a producer id that is in use", since="0.11.0", source="KIP-98", row="I11C"
    )
    skipping_ends: int = switch(
        "a read_committed consumer stops skipping the records of a producer at its abort marker",
        since="0.11.0",
        source="KIP-98",
        row="§6",
    )
    only_idle_ids_expire: int = switch(
        "a transactional id with an open transaction does not expire", since="0.11.0", source="KIP-98", row="Y1"
    )
    stable_bound: int = switch(
        "a read_committed fetch ends at the last stable offset", since="0.11.0", source="KIP-98", row="§3.6"
    )
    aborted_list: int = switch(
        "a read_committed consumer skips the transactions that the broker lists as aborted",
        since="0.11.0",
        source="KIP-98",
        row="§6",
    )
    aborted_list_last: int = switch(
        "a fetch fixes its upper bound before it reads, and collects the list of aborted transactions afterwards",
        since="0.11.0",
        source="KIP-98; KAFKA-5376",
        row="§6",
    )
    cleaner_stops_at_stable: int = switch(
        "the log cleaner stops at the last stable offset", since="0.11.0", source="KIP-98", row="§3.8"
    )
    marker_outlives_data: int = switch(
        "the log cleaner keeps a marker while batches of its transaction remain",
        since="0.11.0",
        source="KIP-98",
        row="§3.8",
    )
    last_batch_outlives_records: int = switch(
        "the log cleaner keeps the last batch of a producer, even without records",
        since="0.11.0",
        source="KIP-98",
        row="§3.8",
    )
    snapshot_keeps_open: int = switch(
        "a producer snapshot includes open transactions", since="0.11.0", source="KIP-98", row="§3.7"
    )
    producers_outlive_records: int = switch(
        "a producer stays known after retention has removed its last record",
        since="2.4",
        source="KAFKA-7190",
        row="§3.7",
    )
    kip360: int = switch(
        "InitProducerId honours the (producer id, epoch) that a recovering client sends; an unknown producer "
        "may continue",
        since="2.5",
        source="KIP-360",
        row="I9, I11, S3",
    )
    kip447_fence: int = switch(
        "TxnOffsetCommit is refused if the member or generation is stale", since="2.5", source="KIP-447", row="O6"
    )
    kip447_stable: int = switch(
        "OffsetFetch can require stable offsets; the client then retries while transactional offsets are pending",
        since="2.5",
        source="KIP-447",
        row="§4.5",
    )
    kip588: int = switch(
        "a fenced transactional producer gets PRODUCER_FENCED; a stale epoch at a partition is only abortable",
        since="2.7",
        source="KIP-588",
        row="A4, §5.5",
    )
    mapping_fatal: int = switch(
        "INVALID_PRODUCER_ID_MAPPING is fatal for the producer; before, it could abort its transaction",
        since="4.0",
        source="KIP-1050",
        row="§5.5, §5.6",
    )
    refused_init_starts_over: int = switch(
        "a producer whose InitProducerId fails authorization may initialise again; before, the error was fatal",
        since="3.6",
        source="KAFKA-13668",
        row="§5.5",
    )
    forgotten_partition_changes_identity: int = switch(
        "an idempotent producer that has lost the sequences of a partition restarts it with a new epoch or producer id",
        since="0.11.0",
        source="KIP-98; KIP-360",
        row="§5.6",
    )
    only_the_same_end_is_resumed: int = switch(
        "after a commit or abort that timed out, repeating the same call returns its result, and the other "
        "call is refused",
        since="0.11.0",
        source="KIP-98",
        row="§5.2",
    )
    ended_call_keeps_result: int = switch(
        "a repeated call after a timeout returns its result even if the response has already arrived; "
        "before, it was refused",
        since="3.1.1",
        source="KAFKA-13412",
        row="§5.2",
    )
    retries_by_class: int = switch(
        "a client retries any retriable error of a coordinator; before, only a few named ones",
        since="3.3.2",
        source="KAFKA-14417",
        row="§5.5",
    )
    commit_retries_by_class: int = switch(
        "TxnOffsetCommit retries any retriable error; before, only a few named ones",
        since="3.8",
        source="seen: its handler names the errors up to 3.7",
        row="§5.5",
    )
    commit_waits_for_load: int = switch(
        "TxnOffsetCommit is retried while the group coordinator loads; before, that was fatal for the producer",
        since="2.0.1",
        source="KAFKA-7296",
        row="§5.5",
    )
    kip1050: int = switch(
        "INVALID_TXN_STATE and exhausted retries reach the application as TRANSACTION_ABORTABLE",
        since="4.1",
        source="KIP-1050",
        row="§5.6",
    )
    timeout_bump: int = switch(
        "a transaction that times out is aborted with a bumped epoch", since="1.0", source="KAFKA-6119", row="X5"
    )
    fence_bump: int = switch(
        "InitProducerId bumps the epoch before it aborts an open transaction, so the abort markers fence the "
        "old producer",
        since="0.11.0",
        source="KAFKA-5231",
        row="I12",
    )
    fence_failed_flag: int = switch(
        "a fence whose append failed does not bump the epoch again", since="2.6", source="KAFKA-9666", row="F1"
    )
    strict_end: int = switch(
        "EndTxn of a client must have the current producer epoch", since="0.11.0", source="KIP-98", row="E4"
    )
    end_refuses_higher_epoch: int = switch(
        "EndTxn of a client with an epoch above the current one is refused too",
        since="2.6",
        source="KAFKA-9600",
        row="E4",
    )
    verification: int = switch(
        "a leader verifies the first batch of a transaction with the coordinator",
        since="3.6",
        source="KIP-890 part 1",
        row="§3.4, A3",
    )
    questions_follow: int = switch(
        "waiting verification requests are sent to a coordinator when the previous request is answered or lost",
        since="3.6",
        source="KIP-890 part 1",
        row="§3.4",
    )
    verification_guard: int = switch(
        "a verification response counts only for the guard of its request; a marker in between voids it",
        since="3.6",
        source="KAFKA-14884",
        row="A3",
    )
    guard_lowest_seq: int = switch(
        "while a producer is being verified, batches above the lowest sequence under verification are refused",
        since="3.6",
        source="KAFKA-14920",
        row="S2",
    )
    abortable_code: int = switch(
        "a partition outside the transaction is refused with TRANSACTION_ABORTABLE, not INVALID_TXN_STATE",
        since="3.8",
        source="KAFKA-16314",
        row="V7",
    )
    pending_first: int = switch(
        "AddPartitionsToTxn checks for a pending transition before it compares producer id and epoch",
        since="4.0",
        source="KAFKA-18660",
        row="P3",
    )
    epoch_aware_ongoing: int = switch(
        "an open transaction counts for a batch only if both have the same epoch",
        since="4.0",
        source="KAFKA-18575",
        row="§3.3 ongoing",
    )
    stale_epoch_first: int = switch(
        "a transactional batch with an older epoch gets INVALID_PRODUCER_EPOCH even if it is not verified",
        since="4.1",
        source="KAFKA-19690",
        row="A2",
    )
    guard_keep_same_epoch: int = switch(
        "the marker of the previous TV2 transaction does not clear the guard of the next one",
        since="4.0",
        source="KAFKA-18654",
        row="§3.4 step 8",
    )
    tv2_first_seq_zero: int = switch(
        "a producer that joins with Produce 12 starts at sequence 0 if the leader has no batches of it",
        since="4.1",
        source="KAFKA-18202",
        row="S1",
    )
    single_fence_bump: int = switch(
        "a TV2 fence bumps the epoch once, not twice", since="4.0.1", source="KAFKA-19367", row="I12, §2.11"
    )
    fence_rotation: int = switch(
        "a TV2 fence of an exhausted epoch rotates the producer id", since="4.3", source="KAFKA-20090", row="§2.11"
    )
    persist_prev_next: int = switch(
        "previous and next producer id survive a coordinator failover", since="4.3", source="KAFKA-20310", row="§2.2"
    )
    marker_strict: int = switch(
        "a TV2 marker must have a higher epoch than the data that it ends", since="4.2", source="KIP-1228", row="M2"
    )
    marker_retry_relax: int = switch(
        "a TV2 marker that repeats the last one is accepted", since="4.2", source="KAFKA-19999", row="M3"
    )
    marker_needs_data: int = switch(
        "a marker on a partition without an open transaction ends nothing",
        since="2.8",
        source="KAFKA-10702",
        row="M5, §11.3",
    )
    marker_coordinator_epoch: int = switch(
        "a marker of a stale coordinator is refused", since="0.11.0", source="KIP-98", row="M4"
    )
    marker_waits_for_leader: int = switch(
        "a marker for a partition without a live leader waits; it is skipped only if the topic is deleted",
        since="0.11.0",
        until="4.0",
        source="KAFKA-20734",
        row="§2.12, §14",
    )
    abort_120_fatal: int = switch(
        "TRANSACTION_ABORTABLE in response to an abort is fatal", since="4.1", source="KAFKA-19250", row="§5.5"
    )
    upgrade_bump: int = switch(
        "a client that learns of transaction version 2 while ending a transaction bumps its epoch afterwards",
        since="4.0",
        source="KAFKA-18227",
        row="§5.1, §5.4",
    )
    init_clears_start: int = switch(
        "InitProducerId clears the start time of the previous transaction in memory, as in the log",
        since="4.0",
        source="seen: not on 3.9.1, but on 4.3.1",
        row="§2.4, §14",
    )
    client_version_in_records: int = switch(
        "a record has the transaction version of the client's operation, which value version 0 cannot store",
        since="4.0",
        source="KIP-890 part 2",
        row="§7.1, §14",
    )
    end_by_request_version: int = switch(
        "EndTxn follows the rules of the request version; before, the version in the record identified retries",
        since="4.0",
        source="KIP-890 part 2",
        row="§2.10, §2.11",
    )
    completion_keeps_last_epoch: int = switch(
        "completing a TV2 transaction keeps the previous epoch, so a retry of the client is recognised",
        since="4.0",
        source="KIP-890 part 2",
        row="§2.3",
    )
    last_epoch_recovery: int = switch(
        "a transaction that is open with the last epoch can be fenced and aborted",
        since="4.3",
        source="KAFKA-20090",
        row="§2.3, §2.11",
    )
    unload_by_epoch: int = switch(
        "a resignation cancels every load that began with an older epoch, not only one with its own epoch",
        since="4.0",
        source="KAFKA-18137",
        row="Z7",
    )
    pid_block_order: int = switch(
        "a broker refuses a block of producer ids that is not above its current one",
        since="3.0",
        source="KIP-730",
        row="§2.16",
    )
    block_recorded_first: int = switch(
        "the controller returns a block of producer ids only after it is durable",
        since="0.11.0",
        source="KIP-98",
        row="§2.16",
    )
    commit_waits_for_replicas: int = switch(
        "an offset commit is answered when all in-sync replicas have it", since="0.11.0", source="KIP-98", row="§4.1"
    )
    failed_commit_leaves_nothing: int = switch(
        "an offset commit whose append fails leaves nothing in memory", since="0.11.0", source="KIP-98", row="§4.2"
    )
    generation_is_recorded_first: int = switch(
        "members learn of a new generation only after the group's log has it",
        since="0.11.0",
        source="KIP-98",
        row="§4.1",
    )
    absent_group_generation: int = switch(
        "a generation for a group that does not exist gets ILLEGAL_GENERATION; before, UNKNOWN_MEMBER_ID",
        since="4.0",
        source="KIP-848",
        row="O3, §14",
    )
    refused_commit_keeps_pending: int = switch(
        "a TxnOffsetCommit whose append fails keeps earlier pending offsets of its producer id",
        since="4.0",
        source="seen: not on 3.9.1 and 3.9.2, but on 4.3.1",
        row="§4.2",
    )
    loaded_tombstone_ends_pending: int = switch(
        "loading a tombstone of an offset also drops the pending offset of that partition; before, only in memory",
        since="4.0",
        source="seen: not on 3.9.1, but on 4.3.1",
        row="§4.5",
    )
    given_back_id_rebalances: int = switch(
        "LeaveGroup with a member id that never joined starts a rebalance if the group has members",
        since="4.0",
        source="seen: not on 3.9.1, but on 4.3.1",
        row="§4.1",
    )
    refused_append_is_for_all: int = switch(
        "a failed append of offsets is reported for every partition of the commit; before, not for those "
        "with too much metadata",
        since="4.0",
        source="seen: not on 3.9.1, but on 4.3.1",
        row="O9",
    )
    offset_keeps_topic_id: int = switch(
        "a non-transactional offset is stored with its topic id",
        since="4.1",
        source="OffsetCommitValue.json; seen on 4.3.1 and 4.4.0",
        row="§7.2",
    )
    txn_offset_keeps_topic_id: int = switch(
        "a transactional offset is stored with its topic id",
        since="4.4",
        source="KIP-1319; seen: not on 4.3.1, but on 4.4.0",
        row="§7.2",
    )
    full_group_keeps_static_place: int = switch(
        "a static member with a new member id keeps its place in a full group of the consumer protocol",
        since="4.4",
        source="seen: not on 4.3.1, but on 4.4.0",
        row="§4.1",
    )
    emptied_group_assigns_at_once: int = switch(
        "the first member of an emptied consumer group gets an assignment at once; before, after the "
        "assignment interval",
        since="4.4",
        source="seen: not on 4.3.1, but on 4.4.0",
        row="§4.1",
    )
    unknown_producer_id: int = switch(
        "a batch of an unknown producer that does not start with sequence 0 gets UNKNOWN_PRODUCER_ID",
        since="1.0",
        until="2.4",
        source="KAFKA-5793",
        row="S3",
        newest=0,
    )
    unknown_after_marker: int = switch(
        "such a batch gets UNKNOWN_PRODUCER_ID also if only a marker of the producer's epoch is known",
        since="2.0",
        until="2.4",
        source="KAFKA-7298",
        row="S5",
        newest=0,
    )
    late_commit_is_fenced: int = switch(
        "EndTxn that commits after the coordinator has aborted gets PRODUCER_FENCED; before, INVALID_TXN_STATE",
        since="",
        source="KAFKA-20785",
        row="T8",
    )
    persist_last_epoch: int = switch(
        "the previous producer epoch survives a coordinator failover, so a repeated InitProducerId is recognised",
        since="",
        source="B81; KAFKA-20357",
        row="§2.2, I11E",
        newest=0,
    )
    marker_keeps_newer_guard: int = switch(
        "a marker with an older epoch does not clear the verification guard of a newer epoch",
        since="",
        source="B82",
        row="§3.4 step 8",
        newest=0,
    )
    deletion_waits_for_offsets: int = switch(
        "DeleteGroups is refused while the group has pending transactional offsets",
        since="",
        source="B80",
        row="§4.2",
        newest=0,
    )
    commit_by_topic_id: int = switch(
        "a producer names topics by id when it commits offsets in a transaction",
        since="4.4",
        source="KIP-1319",
        row="§4.1",
    )
    retry_looks_topic_ids_up: int = switch(
        "a retried TxnOffsetCommit looks up its topic ids in the metadata; before, it kept those of the first attempt",
        since="",
        source="B79",
        row="§5.5",
        newest=0,
    )
    kip939: int = switch(
        "InitProducerId can keep a prepared transaction open for an external two-phase commit",
        since="",
        source="KIP-939",
        row="I4, §11.2",
        newest=0,
    )


@cache
def switches() -> tuple[SwitchFacts, ...]:
    """Every switch of `Rules` with its meaning, releases, source and reference row."""
    return tuple(
        SwitchFacts(
            f.name,
            f.metadata["meaning"],
            f.metadata["since"],
            f.metadata["until"],
            f.metadata["source"],
            f.metadata["row"],
            f.default == 1,
        )
        for f in fields(Rules)
        if "meaning" in f.metadata
    )


def _changes(kafka: str, transaction_version: int | None = None) -> Mapping[str, int]:
    """How a release differs from the defaults of `Rules`."""
    changes = {
        facts.name: 0 if facts.is_newest else 1
        for facts in switches()
        if facts.is_newest != is_between(kafka, facts.since, facts.until)
    }
    version = transaction_version_of(kafka, transaction_version)
    if version != TransactionVersion.TV2:
        changes["transaction_version"] = version
    if age(kafka) < age("1.0"):
        changes["cached_batches"] = 1
    return changes


def preset_name(kafka: str, transaction_version: int | None = None) -> str:
    """What the preset of a release is called: its line, and the transaction version where it is not the usual one.

    Raises:
        UnknownRelease: there is no such release, or it has no such transaction version.
    """
    line = line_of(kafka)
    version = transaction_version_of(kafka, transaction_version)
    return line if version == transaction_version_of(line, None) else f"{line}-tv{version}"


def _presets() -> Mapping[str, tuple[str, Mapping[str, int]]]:
    found: dict[str, tuple[str, Mapping[str, int]]] = {
        "newest": ("transaction version 2 with all fixes", {}),
        "kip939": (
            "the newest rules with two-phase commit (KIP-939), which no release has completely",
            {"kip939": 1},
        ),
        "kip98": ("Kafka 0.11.0: the original rules", _changes("0.11.0")),
    }
    for line in RELEASES:
        if age(line) < age(FIRST_WITH_TRANSACTION_VERSIONS):
            found[line] = (f"Kafka {line}", _changes(line))
        else:
            for version in (2, 1, 0):
                says = f"Kafka {line}, a cluster at transaction version {version}"
                found[preset_name(line, version)] = (says, _changes(line, version))
    return found


PRESETS: Final = _presets()
"""Name of a preset -> (what it is, how it differs from the defaults of `Rules`)."""


class UnknownRule(ValueError):
    """A rule or preset that does not exist was named."""


def preset(name: str) -> Rules:
    """The rules of a preset.

    Raises:
        UnknownRule: no preset has that name.
    """
    if name not in PRESETS:
        raise UnknownRule(f"no preset of rules is named {name!r}; there are: {', '.join(PRESETS)}")
    return replace(Rules(), **PRESETS[name][1])


def preset_for(kafka: str, transaction_version: int | None = None) -> Rules:
    """The rules of a cluster: of a release ("4.3", "3.9.1"), at a transaction version (None: its release's own).

    A line has the rules of its newest patch release; a patch release may lack a repair that came after it.

    Raises:
        UnknownRelease: there is no such release, or it has no such transaction version.
    """
    line_of(kafka)
    return replace(Rules(), **_changes(kafka, transaction_version))


NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "transaction_version": (0, 2),
    "epoch_max": (1, PRODUCER_EPOCH_MAX),
    "sequence_max": (0, SEQUENCE_MAX),
    "cached_batches": (1, CACHED_BATCHES),
}
"""The fields of `Rules` that are numbers: least and greatest value."""


def checked_changes(changes: Mapping[str, object]) -> None:
    """Check that each change is of a field of `Rules` and can be its value.

    Raises:
        UnknownRule: one is not.
    """
    known = [f.name for f in fields(Rules)]
    for name, value in changes.items():
        if name not in known:
            raise UnknownRule(f"no rule is named {name!r}; there are: {', '.join(sorted(known))}")
        least, greatest = NUMBERS.get(name, (0, 1))
        if not isinstance(value, int) or not least <= value <= greatest:
            legal = f"give {least} to {greatest}" if name in NUMBERS else "a switch is 1 (on) or 0 (off)"
            raise UnknownRule(f"{name}={value} cannot be: {legal}")


def setting(text: str) -> tuple[str, int] | None:
    """Name and value of "transaction_version=0"; None for a name alone.

    Raises:
        UnknownRule: the name is not that of a number of `Rules`, or the value cannot be.
    """
    name, sign, value = (part.strip() for part in text.partition("="))
    if not sign:
        return None
    if name not in NUMBERS:
        raise UnknownRule(f"{text!r}: {name!r} has no number; those that have: {', '.join(NUMBERS)}")
    if not value.isascii() or not value.isdecimal():
        raise UnknownRule(f"{text!r}: {value!r} is no number; give for example {name}={NUMBERS[name][0]}")
    checked_changes({name: int(value)})
    return name, int(value)


def with_switches(rules: Rules, on: Iterable[str] = (), off: Iterable[str] = ()) -> Rules:
    """A copy of `rules` with some switches on and some off; "transaction_version=0" in `on` sets a number.

    Raises:
        UnknownRule: a name is not a switch, stands on both sides, or a number is set twice.
    """
    on, off = tuple(on), tuple(off)
    numbers = [found for found in map(setting, on) if found]
    twice = sorted({name for name, _ in numbers if [each for each, _ in numbers].count(name) > 1})
    if twice:
        raise UnknownRule(f"{', '.join(twice)}: given twice; choose one value")
    known = {facts.name for facts in switches()}
    on = tuple(name for name in on if not setting(name))
    for name in (*on, *off):
        number, _, value = (part.strip() for part in name.partition("="))
        if number in NUMBERS:
            value = value or str(NUMBERS[number][0])
            raise UnknownRule(f"{number} is a number, not a switch: set it with --with {number}={value}")
        if name not in known:
            raise UnknownRule(f"no rule is named {name!r}; there are: {', '.join(sorted(known))}")
    both = set(on) & set(off)
    if both:
        raise UnknownRule(f"{', '.join(sorted(both))}: given with --with and --without; choose one")
    return replace(rules, **dict.fromkeys(on, 1), **dict.fromkeys(off, 0), **dict(numbers))
