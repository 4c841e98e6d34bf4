"""What Kafka's own rules break, the newest ones too: no ticket of it is known, and no rule here repairs it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from zombieproof.checker.scenario import Mutant
from zombieproof.model.rules import Rules

UNRIVALLED = "an_unrivalled_producer_is_never_fenced"

FROM_MEMORY = (
    "open; a coordinator answers EndTxn from memory without checking its log, so a stale coordinator tells a "
    "producer that it has no transaction, which is fatal (KAFKA-9307 mentions this window)"
)

LATE_INIT = (
    "open; InitProducerId without a producer id always bumps the epoch, so a delayed duplicate of a producer's own "
    "timed-out InitProducerId fences that same producer (KIP-360 recognises retries only by producer id and epoch)"
)

DECIDED_OUTSIDE = (
    "open; no release tells a coordinator that a transaction is decided elsewhere, so a timeout or an InitProducerId "
    "aborts it like any other (KIP-939 is meant to keep it)"
)

ANY_FIRST_SEQUENCE = (
    "harmless; before transaction version 2, a leader without state of a producer accepts any first sequence, here "
    "that of the batch after one that was given up; their transaction can only be aborted (reference §3.3)"
)

HANGS = (
    "open; a completion whose append fails with an unexpected error is no longer pending, the exception goes to the "
    "broker's log, and the transactional id gets CONCURRENT_TRANSACTIONS until it is loaded again "
    "(TransactionMarkerChannelManager.tryAppendToLog; reference §2.12)"
)

REFUSED_FOR_GOOD = (
    "open; a record that the transaction log always refuses causes UNKNOWN_SERVER_ERROR, which no handler of the "
    "producer expects, so InitProducerId and EndTxn are fatal, and an open transaction stays open until its timeout; "
    "a new producer may succeed (TransactionStateManager.appendTransactionToLog; "
    "TransactionManager.InitProducerIdHandler, EndTxnHandler)"
)

ANY_SEQUENCE_BEHIND_A_CUT = (
    "harmless; before transaction version 2, a leader without state of a producer accepts any first sequence, here "
    "that of a delayed copy after a batch that an election truncated; their transaction can only be aborted "
    "(reference §3.3)"
)

POSITIONS_BESIDE = (
    "as documented; an offset that is committed outside the transaction, as by auto-commit, is not part of it: turn "
    "auto-commit off in an application that commits its input in transactions"
)

ABORTED_UNSEEN = (
    "as documented; a leader accepts a marker from an operator like any other, so an operator who does not check "
    "first aborts one partition of a transaction that its producer goes on to commit (KIP-664)"
)

EMPTY_MARKERS = (
    "open; the log cleaner keeps the marker that alone identifies a producer, so that its epoch fences, but removes "
    "its record; readers of the log ignore such a batch, so a replica that copies the log has no epoch "
    "(Cleaner.checkBatchRetention against ProducerAppendInfo.append)"
)

DROPPED_MARKERS = (
    "by design; a consumer that buffers transactions itself takes the next marker of a producer as the end of the "
    "buffered one, so if retention deletes a marker unread, aborted records are delivered with the next commit. "
    "Kafka's consumer gets the list of aborted transactions with each fetch"
)


DECIDED_AGAIN = (
    "open; a decision whose append is durable but reported as failed is in the log, while the coordinator's memory "
    "still has an open transaction: a fence then appends the opposite decision. No client got the first decision, "
    "and no marker of it was sent (reference §2.6)"
)

GUARD_TAKEN = (
    "open; an offset commit has no sequence, so a delayed copy is appended again while its transaction has no marker "
    "yet, and the append clears the guard of the verification for the next one, which is refused with "
    "INVALID_TXN_STATE, a fatal error (reference §3.5: every append clears the producer's verification)"
)

FORGOTTEN_MARKER = (
    "open; a leader that has forgotten an idle producer has also forgotten the coordinator epoch of its last marker, "
    "and accepts a marker in flight from a stale coordinator: the log has an older coordinator epoch after a newer "
    "one, though with transaction version 2 it ends nothing (the rest of KAFKA-9144)"
)

FORGOTTEN_BY_HAND = (
    "open; a marker from an operator has the epoch that the leader knew at that time, and a leader that has since "
    "ended the transaction and forgotten its idle producer cannot tell that it is late: the log has an older "
    "producer epoch after a newer one, though it ends nothing (KIP-664; reference §3.5, rows M1 and M2)"
)

ENDED_BY_HAND_ONLY = (
    "as documented; a transaction that an operator aborts on one partition without checking is still open at its "
    "coordinator, and the leader may forget its producer: a retried batch is verified and appended again, in the "
    "same transaction, after its aborted first copy (KIP-664)"
)

HANGS_UNVERIFIED = (
    "published; a leader that does not verify accepts a batch that was given up and arrives after the abort, and "
    "opens a transaction that only an administrator can end, with one manual abort for each (KAFKA-12671; fixed by "
    "KIP-890, the rule `verification`)"
)


SKIPPED_MARKER = (
    "open; a coordinator mistakes a partition without a live leader for one of a deleted topic and skips its marker "
    "(KAFKA-20734, a regression of KAFKA-17573)"
)

CLOSED_BY_A_LATE_COMMIT = (
    "a commit that arrives after the coordinator's own abort gets INVALID_TXN_STATE, which is fatal for an "
    "application that would handle PRODUCER_FENCED by starting again (KAFKA-20785; merged after 4.4.0)"
)

LAST_EPOCH_LOST = (
    "open; the record in the transaction log has no previous producer epoch, so after a failover the coordinator "
    "mistakes a retried InitProducerId for one of an older instance and answers PRODUCER_FENCED (KAFKA-20357 and "
    "KAFKA-20310 report the same loss where the producer id rotates)"
)

GUARD_TAKEN_BY_A_COPY = (
    "open; a delayed copy of an ABORT marker is appended as a duplicate and voids the verification of the next "
    "transaction, so the verified record is refused with INVALID_TXN_STATE (KAFKA-18654 fixes it for the marker of "
    "the previous transaction, but not after a fence and an InitProducerId)"
)

DELETED_WHILE_PENDING = (
    "open; DeleteGroups succeeds while a transaction has pending offsets in the group and discards them, and the "
    "commit is still acknowledged: the output is visible, and the input is processed again"
)

OLD_TOPIC_ID = (
    "open; the producer retries TxnOffsetCommit with the topic id of the original request and always gets "
    "UNKNOWN_TOPIC_ID; only closing the producer helps (KIP-1319; a client that commits by name recovers)"
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
