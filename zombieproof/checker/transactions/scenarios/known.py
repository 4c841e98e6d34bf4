"""What Kafka's own rules break, the newest ones too: no ticket of it is known, and no rule here repairs it."""

from zombieproof.checker.scenario import Mutant

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


def fenced_by_its_own_copy(steps: int) -> Mutant:
    """A producer without a rival is fenced by a late copy of the InitProducerId that it began with."""
    return Mutant("a_late_init_fences_its_own_producer", breaks=UNRIVALLED, steps=steps, known=LATE_INIT)


def told_from_memory(steps: int) -> Mutant:
    """A producer without a rival ends at a coordinator that was deposed and does not know it."""
    return Mutant("a_deposed_coordinator_answers_from_memory", breaks=UNRIVALLED, steps=steps, known=FROM_MEMORY)
