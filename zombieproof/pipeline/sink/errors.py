"""What is said of a delivery that did not succeed: who, what, what would have been legal, what to do."""

from zombieproof.model.spark_sink.vocabulary import DeliveryState as S

MEANS = {
    S.FENCED: (
        "another producer has taken the transactional id, or the coordinator aborted the transaction at its time-out; "
        "legal is one producer at a time for one id, and a commit within transaction.timeout.ms. If there are two "
        "queries, end one of them; then run the batch again: the next delivery looks whether its rows are in the output"
    ),
    S.FAILED: (
        "it could not go on. Legal is what the client does not complain of: repair that, and run the batch again; the "
        "next delivery looks what is in the output, and sends only what is not"
    ),
    S.REFUSED: (
        "what is committed under this group belongs to another query, and numbers of batches can be compared within "
        "one query alone: nobody can tell whether these rows are in the output. This is what a lost or a new "
        "checkpoint means for a plan whose rows do not say where they were read. Legal is the checkpoint that wrote "
        "it: bring it back; or, if you know that these rows are not in the output (or take away what is), give the "
        "sink a new group, with which it begins at nothing"
    ),
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

    def __init__(self, state: S, subject: str, said: str) -> None:
        self.state = state
        between = f" (the client says: {said})" if said else ""
        super().__init__(f"{subject}: {state.name.lower().replace('_', ' ')}{between}: {MEANS[state]}")
