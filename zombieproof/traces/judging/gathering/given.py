"""Which promises a body of evidence can be judged by at all: what each needs, and what was given."""

from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.model.catalogue import Guarantee, Needs
from zombieproof.traces.evidence import Evidence


def given(evidence: Evidence) -> frozenset[Needs]:
    """The kinds of evidence that were read."""
    places = [log.topic_partition for log in evidence.logs]
    has = {
        Needs.TRANSACTION_LOG: bool(evidence.transaction_states),
        Needs.PARTITION: any(topic != TRANSACTION_STATE for topic, _ in places),
        Needs.OFFSETS_LOG: any(topic == CONSUMER_OFFSETS for topic, _ in places),
        Needs.CLIENT: bool(evidence.client_calls or evidence.client_outcomes),
        Needs.REPLICAS: len(set(places)) < len(places),
        Needs.ABORTED_INDEX: bool(evidence.aborted_transactions),
        Needs.COORDINATOR_LINES: bool(evidence.coordinator_lines),
    }
    return frozenset(need for need, is_there in has.items() if is_there)


def lacking(promise: Guarantee, evidence: Evidence) -> list[Needs]:
    """What a promise needs and the evidence does not have; empty when it was judged."""
    there = given(evidence)
    return [need for need in promise.needs if need not in there]
