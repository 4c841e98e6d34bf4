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


def fenced_by_its_own_copy(steps: int) -> Mutant:
    """A producer without a rival is fenced by a late copy of the InitProducerId that it began with."""
    return Mutant("a_late_init_fences_its_own_producer", breaks=UNRIVALLED, steps=steps, known=LATE_INIT)


def told_from_memory(steps: int) -> Mutant:
    """A producer without a rival ends at a coordinator that was deposed and does not know it."""
    return Mutant("a_deposed_coordinator_answers_from_memory", breaks=UNRIVALLED, steps=steps, known=FROM_MEMORY)
