"""What Kafka's own rules break, the newest ones too: no ticket of it is known, and no rule here repairs it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from zombieproof.checker.scenario import Mutant
from zombieproof.model.rules import Rules

UNRIVALLED = "an_unrivalled_producer_is_never_fenced"

FROM_MEMORY = (
    "open; a coordinator answers EndTxn from its memory and asks no log, so one that is deposed and does not know it "
    "tells a producer that it has no transaction, which is fatal (the window is spoken of at KAFKA-9307)"
)

LATE_INIT = (
    "open; InitProducerId without an identity raises the epoch each time, so a copy that comes late, sent again "
    "because of a time-out, fences the producer that both are of (KIP-360 tells retries apart only by an identity)"
)

DECIDED_OUTSIDE = (
    "open; no release lets a coordinator know that a transaction is decided elsewhere, so a time-out, or whoever "
    "initialises, aborts it like any other (KIP-939 is to keep it)"
)

ANY_FIRST_SEQUENCE = (
    "harmless; before transaction version 2 a leader that knows nothing of a producer takes any first sequence, here "
    "that of the batch behind one that was given up; their transaction can only be aborted (reference §3.3)"
)

HANGS = (
    "open; a completion whose append is refused with an error that no coordinator expects is not pending any more, the "
    "exception ends in the log of the broker, and its transactional id answers CONCURRENT_TRANSACTIONS until it is "
    "loaded again (TransactionMarkerChannelManager.tryAppendToLog; reference §2.12)"
)

REFUSED_FOR_GOOD = (
    "open; a record that the transaction log takes neither now nor later is answered UNKNOWN_SERVER_ERROR, which no "
    "handler of the producer expects, so that InitProducerId and EndTxn end in a fatal error, and what was open stays "
    "open until its time-out; who begins anew may get through (TransactionStateManager.appendTransactionToLog; "
    "TransactionManager.InitProducerIdHandler, EndTxnHandler)"
)

ANY_SEQUENCE_BEHIND_A_CUT = (
    "harmless; before transaction version 2 a leader that knows nothing of a producer takes any first sequence, here "
    "that of a late copy behind a batch that an election took away; their transaction can only be aborted "
    "(reference §3.3)"
)

POSITIONS_BESIDE = (
    "as documented; an offset that is committed beside the transaction, as by auto commit, is not part of it: an "
    "application that commits its input in transactions has to leave that off"
)

ABORTED_UNSEEN = (
    "as documented; a leader takes a marker that is sent by hand for any other, so an administrator who does not look "
    "first aborts one partition of a transaction that its producer goes on to commit (KIP-664)"
)

EMPTY_MARKERS = (
    "open; the cleaner keeps the marker by which alone a producer is known, to fence by its epoch, but without its "
    "record; and who reads such a batch makes nothing of it: a replica that has copied the log knows no epoch "
    "(Cleaner.checkBatchRetention against ProducerAppendInfo.append)"
)

DROPPED_MARKERS = (
    "by design; a consumer that holds transactions back itself takes the next marker of a producer for that of what it "
    "holds, and one that retention has dropped unread is missed: what was aborted comes with the next commit. Kafka's "
    "consumer is told with each fetch what was aborted"
)


DECIDED_AGAIN = (
    "open; a decision whose append is durable and counts as failed is in the log, and the coordinator's memory has the "
    "transaction open still: whoever fences it then has the other decision logged behind it. Nobody was told of the "
    "first, and no marker of it was sent (reference §2.6)"
)

GUARD_TAKEN = (
    "open; an offset commit has no sequence, so a late copy of one is appended again while its transaction has no "
    "marker yet, and the append takes away the guard under which the next one is being verified: that is refused with "
    "INVALID_TXN_STATE, which is fatal (reference §3.5: whatever is appended removes the producer's verification)"
)

FORGOTTEN_MARKER = (
    "open; a leader that has forgotten a silent producer has forgotten the coordinator epoch of its last marker too, "
    "and takes the marker that a deposed coordinator has still under way: the log has an older coordinator epoch "
    "behind a newer one, though with transaction version 2 nothing is ended by it (what is left of KAFKA-9144)"
)

FORGOTTEN_BY_HAND = (
    "open; a marker that an administrator sends by hand names the epoch that the leader knew then, and a leader that "
    "has meanwhile ended the transaction and forgotten its silent producer cannot tell that it is late: the log has an "
    "older producer epoch behind a newer one, though nothing is ended by it (KIP-664; reference §3.5, rows M1 and M2)"
)

ENDED_BY_HAND_ONLY = (
    "as documented; a transaction that is aborted by hand on one partition, with nobody having looked, is open at its "
    "coordinator still, and the leader may forget its producer: a batch that comes again is verified and appended "
    "again, in the same transaction, behind its first copy, which is aborted (KIP-664)"
)

HANGS_UNVERIFIED = (
    "published; a leader that asks no coordinator takes a batch that was given up and comes behind the abort, and "
    "opens a transaction that nobody ends but an administrator, one with each abort by hand, if he does not spend it "
    "on the one before (KAFKA-12671; KIP-890 repairs it: the rule `verification`)"
)


SKIPPED_MARKER = (
    "open; a coordinator takes a partition without a live leader for one of a deleted topic and skips its marker "
    "(KAFKA-20734, a regression of KAFKA-17573)"
)

CLOSED_BY_A_LATE_COMMIT = (
    "a commit that arrives after the coordinator's own abort is answered INVALID_TXN_STATE, which is fatal to an "
    "application that would handle PRODUCER_FENCED by starting again (KAFKA-20785; merged after 4.4.0)"
)

LAST_EPOCH_LOST = (
    "open; the record in the transaction log has no previous producer epoch, so after a failover the coordinator takes "
    "a repeated InitProducerId for one of an older instance and answers PRODUCER_FENCED (KAFKA-20357 and KAFKA-20310 "
    "report the same loss where the producer id rotates)"
)

GUARD_TAKEN_BY_A_COPY = (
    "open; a late copy of an ABORT marker is appended as a repetition and voids the verification of the next "
    "transaction, so the verified record is refused with INVALID_TXN_STATE (KAFKA-18654 repairs it for the marker of "
    "the transaction before, but not after a fence and an InitProducerId)"
)

DELETED_WHILE_PENDING = (
    "open; DeleteGroups succeeds while a transaction has offsets pending in the group and discards them, and the "
    "commit is acknowledged all the same: the output is visible, and the input is processed again"
)

OLD_TOPIC_ID = (
    "open; the producer repeats TxnOffsetCommit with the topic id that the request was built with, which is answered "
    "UNKNOWN_TOPIC_ID every time; only closing the producer helps (KIP-1319; a client that commits by name recovers)"
)


@dataclass(frozen=True, slots=True)
class KnownWith:
    """A promise that breaks wherever these faults come together, and why.

    Attributes:
        promise: its name.
        faults: all of them have to be possible.
        why: what is known of it.
        one_of: if there are any, one of these has to be possible too.
        until: the last transaction version in which it is so.
        repaired_by: the rule under which it is not so, if there is one.
    """

    promise: str
    faults: frozenset[str]
    why: str
    one_of: frozenset[str] = frozenset()
    until: int = 2
    repaired_by: str = ""

    def is_repaired(self, rules: Rules) -> bool:
        """Whether these rules have what repairs it."""
        return bool(self.repaired_by) and getattr(rules, self.repaired_by) == 1

    def is_met(self, faults: Collection[str]) -> bool:
        """Whether these faults are enough."""
        return self.faults <= set(faults) and (not self.one_of or bool(self.one_of & set(faults)))


_BY_HAND = frozenset({"forgotten", "aborts_by_hand"})
_CLEANED = frozenset({"compactions"})
_READ_AGAIN = frozenset({"leader_changes", "leaderless"})
_LATE_MARKERS = ("deposed", "failovers", "aborts_by_hand")


KNOWN_WITH: Final = (
    KnownWith("a_transaction_has_one_decision", frozenset({"unknown_appends"}), DECIDED_AGAIN),
    KnownWith("epochs_never_go_down", frozenset({"forgotten", "deposed"}), FORGOTTEN_MARKER),
    KnownWith("epochs_never_go_down", frozenset({"forgotten", "failovers"}), FORGOTTEN_MARKER),
    KnownWith("memory_is_the_fold_of_the_log", _CLEANED, EMPTY_MARKERS, one_of=_READ_AGAIN),
    *(
        KnownWith("epochs_never_go_down", _CLEANED | {late}, EMPTY_MARKERS, one_of=_READ_AGAIN)
        for late in _LATE_MARKERS
    ),
    KnownWith("epochs_never_go_down", _BY_HAND, FORGOTTEN_BY_HAND),
    KnownWith(UNRIVALLED, frozenset({"hard_appends"}), REFUSED_FOR_GOOD),
    KnownWith(
        UNRIVALLED, frozenset({"late", "lost", "failovers"}), LAST_EPOCH_LOST, until=1, repaired_by="persist_last_epoch"
    ),
    KnownWith(
        UNRIVALLED,
        frozenset({"ends_given_up", "doubled_markers"}),
        GUARD_TAKEN_BY_A_COPY,
        repaired_by="marker_keeps_newer_guard",
    ),
    KnownWith("a_decided_transaction_is_driven_to_its_end", frozenset({"hard_appends"}), HANGS),
    KnownWith("a_decided_transaction_is_complete", frozenset({"hard_appends"}), HANGS),
    KnownWith(
        "sequences_follow_each_other", _BY_HAND, ENDED_BY_HAND_ONLY, one_of=frozenset({"lost", "doubled_batches"})
    ),
    KnownWith("sequences_follow_each_other", frozenset({"late", "lost"}), ANY_FIRST_SEQUENCE, until=1),
)
"""What sweeps and nights meet in many scenarios. Each is a registered story: a mutant that is `known`."""


def known_with(promise: str, faults: Collection[str], rules: Rules) -> KnownWith | None:
    """What is known to break a promise where these faults may happen, None if nothing is."""
    version = int(rules.transaction_version)
    for each in KNOWN_WITH:
        applies = version <= each.until and not each.is_repaired(rules)
        if each.promise == promise and each.is_met(faults) and applies:
            return each
    return None


def fenced_by_its_own_copy(steps: int) -> Mutant:
    """A producer without a rival is fenced by a late copy of the InitProducerId that it began with."""
    return Mutant("a_late_init_fences_its_own_producer", breaks=UNRIVALLED, steps=steps, known=LATE_INIT)


def told_from_memory(steps: int) -> Mutant:
    """A producer without a rival ends at a coordinator that was deposed and does not know it."""
    return Mutant("a_deposed_coordinator_answers_from_memory", breaks=UNRIVALLED, steps=steps, known=FROM_MEMORY)
