"""Rules: which repairs and KIPs are in force. One switch for each, and the presets that name a set of them.

A switch is read where its rule stands, by name (``rules.timeout_bump``). ``limits`` that Kafka fixes as constants
(the largest epoch, the number of remembered batches) are here too, so that a checker can make them small.
Source: reference §11.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

from zombieproof.model.fields import integer
from zombieproof.model.vocabulary import CACHED_BATCHES, PRODUCER_EPOCH_MAX, SEQUENCE_MAX


@dataclass(frozen=True, slots=True)
class SwitchFacts:
    """What is said of a switch wherever it is listed."""

    name: str
    meaning: str
    since: str
    source: str
    row: str


def switch(meaning: str, *, since: str, source: str, row: str) -> int:
    """A field of `Rules` that is 1 (in force) by default."""
    return field(default=1, metadata={"width": "i1", "meaning": meaning, "since": since, "source": source, "row": row})


@dataclass(slots=True)
class Rules:
    """The rules in force. Every switch is 0 or 1; the defaults are the newest release with all its repairs."""

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
    leader_reads_log: int = switch(
        "a new leader knows of producers and transactions what its log says",
        since="0.11.0",
        source="KIP-98",
        row="§3.7",
    )
    init_raises_epoch: int = switch(
        "InitProducerId raises the epoch of a producer id that is in use", since="0.11.0", source="KIP-98", row="I11C"
    )
    skipping_ends: int = switch(
        "a read_committed consumer delivers again behind the abort marker", since="0.11.0", source="KIP-98", row="§6"
    )
    only_idle_ids_expire: int = switch(
        "a transactional id with an open transaction does not expire", since="0.11.0", source="KIP-98", row="Y1"
    )
    stable_bound: int = switch(
        "a read_committed fetch ends at the last stable offset", since="0.11.0", source="KIP-98", row="§3.6"
    )
    aborted_list: int = switch(
        "a read_committed consumer skips what the broker lists as aborted", since="0.11.0", source="KIP-98", row="§6"
    )
    kip360: int = switch(
        "InitProducerId honours the (producer id, epoch) a recovering client expects; an unknown producer may continue",
        since="2.5",
        source="KIP-360",
        row="I9, I11, S3",
    )
    kip447_fence: int = switch(
        "TxnOffsetCommit is refused when member or generation are stale", since="2.5", source="KIP-447", row="O6"
    )
    kip447_stable: int = switch(
        "OffsetFetch can ask for stable offsets and is told to wait while transactional ones are pending",
        since="2.5",
        source="KIP-447",
        row="§4.5",
    )
    kip588: int = switch(
        "a fenced transactional producer gets PRODUCER_FENCED, a stale epoch at a partition is only abortable",
        since="2.7",
        source="KIP-588",
        row="A4, §5.5",
    )
    kip1050: int = switch(
        "INVALID_PRODUCER_ID_MAPPING is fatal; exhausted retries surface as abortable",
        since="4.0",
        source="KIP-1050",
        row="§5.5",
    )
    timeout_bump: int = switch(
        "a timed out transaction is aborted under a raised epoch", since="1.0", source="KAFKA-6119", row="X5"
    )
    fence_bump: int = switch(
        "a takeover raises the epoch before it aborts, so that the abort markers fence",
        since="0.11.0",
        source="KAFKA-5231",
        row="I12",
    )
    fence_failed_flag: int = switch(
        "a fence whose append failed is not raised again", since="2.6", source="KAFKA-9666", row="F1"
    )
    strict_end: int = switch(
        "EndTxn of a client must carry the current producer epoch", since="0.11.0", source="KIP-98", row="E4"
    )
    verification: int = switch(
        "a leader asks the coordinator before the first batch of a transaction",
        since="3.6",
        source="KIP-890 part 1",
        row="§3.4, A3",
    )
    verification_guard: int = switch(
        "a verification answer counts only for the guard it was asked for (a marker in between voids it)",
        since="3.6",
        source="KAFKA-14884",
        row="A3",
    )
    guard_lowest_seq: int = switch(
        "while a producer is verified, no batch above the lowest sequence asked for is accepted",
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
        "AddPartitionsToTxn looks for a transition under way before it compares producer id and epoch",
        since="4.0",
        source="KAFKA-18660",
        row="P3",
    )
    epoch_aware_ongoing: int = switch(
        "an open transaction counts for a batch only if it is of the batch's epoch",
        since="4.0",
        source="KAFKA-18575",
        row="§3.3 ongoing",
    )
    stale_epoch_first: int = switch(
        "a transactional batch of an older epoch is INVALID_PRODUCER_EPOCH even when unverified",
        since="4.1",
        source="KAFKA-19690",
        row="A2",
    )
    guard_keep_same_epoch: int = switch(
        "the marker of the previous TV2 transaction leaves the guard of the next one alone",
        since="4.0",
        source="KAFKA-18654",
        row="§3.4 step 8",
    )
    tv2_first_seq_zero: int = switch(
        "a producer that joins by Produce 12 starts with sequence 0 where the leader remembers no batch",
        since="4.1",
        source="KAFKA-18202",
        row="S1",
    )
    single_fence_bump: int = switch(
        "a TV2 fence raises the epoch once, not twice", since="4.0.1", source="KAFKA-19367", row="I12, §2.11"
    )
    fence_rotation: int = switch(
        "a TV2 fence of an exhausted epoch rotates the producer id", since="4.3", source="KAFKA-20090", row="§2.11"
    )
    persist_prev_next: int = switch(
        "previous and next producer id survive a coordinator failover", since="4.3", source="KAFKA-20310", row="§2.2"
    )
    marker_strict: int = switch(
        "a TV2 marker must carry an epoch above that of the data it ends", since="4.2", source="KIP-1228", row="M2"
    )
    marker_retry_relax: int = switch(
        "a TV2 marker that repeats the last one is accepted", since="4.2", source="KAFKA-19999", row="M3"
    )
    marker_coordinator_epoch: int = switch(
        "a marker of a deposed coordinator is refused", since="0.11.0", source="KIP-98", row="M4"
    )
    marker_waits_for_leader: int = switch(
        "a marker for a partition without a live leader waits; only a deleted topic is skipped",
        since="0.11.0 to 3.9; off in 4.3.1",
        source="KAFKA-20734",
        row="§2.12",
    )
    abort_120_fatal: int = switch(
        "TRANSACTION_ABORTABLE in answer to an abort is fatal", since="4.1", source="KAFKA-19250", row="§5.5"
    )


def switches() -> tuple[SwitchFacts, ...]:
    """Every switch of `Rules` with its meaning, first release, source and reference row."""
    return tuple(
        SwitchFacts(f.name, f.metadata["meaning"], f.metadata["since"], f.metadata["source"], f.metadata["row"])
        for f in fields(Rules)
        if "meaning" in f.metadata
    )


def _without(names: Iterable[str], **others: int) -> Mapping[str, int]:
    return {**dict.fromkeys(names, 0), **others}


KIP98_OFF = (
    "kip360",
    "kip447_fence",
    "kip447_stable",
    "kip588",
    "kip1050",
    "timeout_bump",
    "fence_failed_flag",
    "verification",
    "verification_guard",
    "guard_lowest_seq",
    "abortable_code",
    "pending_first",
    "epoch_aware_ongoing",
    "stale_epoch_first",
    "guard_keep_same_epoch",
    "tv2_first_seq_zero",
    "single_fence_bump",
    "fence_rotation",
    "persist_prev_next",
    "marker_strict",
    "marker_retry_relax",
    "abort_120_fatal",
)
"""What Kafka 0.11.0 did not have (reference §11.3)."""

PRESETS: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "newest": ("transaction version 2 with all its repairs", {}),
    "kip98": ("Kafka 0.11.0: the original rules", _without(KIP98_OFF, transaction_version=0, cached_batches=1)),
}
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


def with_switches(rules: Rules, on: Iterable[str] = (), off: Iterable[str] = ()) -> Rules:
    """A copy of `rules` with some switches on and some off.

    Raises:
        UnknownRule: a name is not a switch, or stands on both sides.
    """
    known = {facts.name for facts in switches()}
    on, off = tuple(on), tuple(off)
    for name in (*on, *off):
        if name not in known:
            raise UnknownRule(f"no rule is named {name!r}; there are: {', '.join(sorted(known))}")
    both = set(on) & set(off)
    if both:
        raise UnknownRule(f"{', '.join(sorted(both))}: asked for with and without at once; choose one")
    return replace(rules, **dict.fromkeys(on, 1), **dict.fromkeys(off, 0))
