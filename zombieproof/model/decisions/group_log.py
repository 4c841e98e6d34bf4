"""Append to the log of a group's partition (server action): what is told, and known, before all replicas have it.

Behaviour: a coordinator takes a commit into memory with the append, in one step, and answers when its replicas have it;
if the append fails, memory is what it was. A new generation is told behind its own record in the same log, so whoever
belongs to it finds all that was appended before. Whoever reads offsets is told what replicas have.
Source: KIP-848; ``CoordinatorRuntime.java`` (timelines, deferred events), ``GroupMetadataManager.scala`` (delayed
produce); reference §4.1 to §4.5.
"""

from zombieproof.model.rules import Rules


def answers_with_append(rules: Rules) -> bool:
    """Whether a commit is answered before its replicas have it."""
    return rules.commit_waits_for_replicas == 0


def keeps_what_failed(rules: Rules) -> bool:
    """Whether memory keeps an offset whose append failed."""
    return rules.failed_commit_leaves_nothing == 0


def tells_with_append(rules: Rules) -> bool:
    """Whether members hear of a new generation before replicas have its record, and all that lies before it."""
    return rules.generation_is_recorded_first == 0


def is_seen(record_offset: int, replicated: int) -> bool:
    """Whether who reads offsets sees a record; `replicated` is where that ends which all replicas have."""
    return record_offset < replicated
