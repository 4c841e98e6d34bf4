"""Messages about a delivery that did not succeed: who, what, what would have been legal, what to do."""

from zombieproof.model.spark_sink.vocabulary import DeliveryState as S

NEEDS_A_GROUP = (
    "Give each write a group of its own (kafka.group.id). If this is the same write with a new, a lost or an older "
    "checkpoint, bring back the newest one; or, if you know that these rows are not in the output, use a new group, "
    "which starts without positions. Option name keeps the identity of a sink whose plan changes: its value is "
    "the part after the topic in the name of a sink"
)
REMADE = (
    "The topic was deleted and created again, so positions in it mean nothing, and rows that were written may be gone. "
    "To read and write everything that is there now, use reprocess=NAME for source and sink, or a new group, and a new "
    "checkpoint"
)
ANOTHER_KIND = (
    "exactlyOnceBy cannot change while a query keeps its group: set it as it was, or use another group and a new "
    "checkpoint"
)
IN_ORDER = (
    "It is not known whether these rows were written. Let batch queries of one group write ranges of offsets in "
    "ascending order, or give each range a group of its own (kafka.group.id). Only the newest range can be repeated"
)
BOTH_KINDS = (
    "A batch query and a stream do not know which rows below a position the other one has written. Give the batch "
    "query a group of its own (kafka.group.id)"
)
NOT_OURS = (
    "Another consumer has this group, or kafka-consumer-groups --reset-offsets has moved it: it is not known whether "
    "these rows were written. Give the query a group of its own; to write rows again on purpose, use reprocess=NAME "
    "for source and sink"
)
NOT_READ = (
    "Later batches of a run read later records, so column source does not say where these rows were read. Use that of "
    "option includeSource, or make it from the columns topic, partition and offset before these change"
)
TOO_LARGE = "A row is too large: raise kafka.message.max.bytes of the sink, and max.message.bytes of the topic"
ANOTHER_MODE = "A driver of the same query may be running in the other mode: end one of the two"
MEANS = {
    S.FENCED: (
        "another producer has taken the transactional id, or the coordinator aborted the transaction at its time-out; "
        "legal is one producer at a time for one id, and a commit within transaction.timeout.ms. If there are two "
        "queries, end one of them (if their groups differ and the id is that of both, as GROUP-TOPIC-PARTITION of mode "
        "partition can be, give one a kafka.transactional.id instead); then run the batch again: the next delivery "
        "looks whether its rows are in the output"
    ),
    S.FAILED: (
        "this delivery has written nothing. Fix what the client reports, and run the batch again: the next delivery "
        "looks up what is in the output, and sends only the rest"
    ),
    S.REFUSED: "nothing tells whether these rows are in the output, and nothing was written. ",
    S.UNCERTAIN: (
        "the commit was sent and not answered in the time that there is: the rows are in the output, all or none. "
        "Run the batch again: the next delivery looks, and sends them only if they are not"
    ),
    S.KNOWN_ABSENT: "its rows are not in the output",
}


class DeliveryError(RuntimeError):
    """A delivery that did not succeed.

    Attributes:
        state: where its machine ended.
    """

    def __init__(self, state: S, subject: str, said: str, remedy: str = NEEDS_A_GROUP) -> None:
        self.state = state
        between = f" (the client says: {said})" if said else ""
        means = MEANS[state] + (remedy if state == S.REFUSED else "")
        super().__init__(f"{subject}: {state.name.lower().replace('_', ' ')}{between}: {means}")
