"""Deciding a delivery: what was found, and what a reply means where it comes.

Behaviour: who delivers takes the transactional id first, which aborts what is open under it and keeps every earlier
holder from committing; only then it reads what is committed, so that the answer stays true. Rows go into one
transaction together with the position of the source behind them. A commit without an answer is asked for again by the
same producer, to which brokers reply as to the first; nobody else takes it for failed or done without looking.
Source: KIP-447 (offsets in the transaction), KIP-98 (fencing), reference §2.10 (EndTxn asked again); Spark's guarantees
are those of ``spark-facts.md``: a batch may be run again with the same rows, by more than one driver, its tasks more
than once at a time; ``abort`` is also called behind a commit that took effect.
"""

from zombieproof.model.spark_sink.vocabulary import DeliveryEvent, DeliveryState, Found, Purpose, Reply
from zombieproof.model.vocabulary import NONE


def first_to_send(first: int, past: int, committed: int) -> int:
    """The offset from which rows of [first, past) of one source partition are still to be sent.

    `committed` is the position of the group in that partition, NONE where it has none: what lies below it is in the
    output, because both were committed at once. `past` if all of them are.
    """
    if committed == NONE or committed <= first:
        return first
    if committed >= past:
        return past
    return committed


def find_by_positions(rows: int, left: int) -> int:
    """What positions tell: of how many `rows` a delivery has, and how many of them are `left` to be sent."""
    if left == rows:
        return int(Found.NONE_DELIVERED)
    if left == 0:
        return int(Found.ALL_DELIVERED)
    return int(Found.SOME_DELIVERED)


def find_by_identity(query: int, batch: int, found_query: int, found_batch: int) -> int:
    """What the identity of the newest committed batch tells; NONE for both where there is no such batch.

    Numbers of batches can be compared within one query alone: with a checkpoint that was lost a new query begins, and
    counts from 0.
    """
    if found_query == NONE:
        return int(Found.NONE_DELIVERED)
    if found_query != query:
        return int(Found.NOT_COMPARABLE)
    if found_batch >= batch:
        return int(Found.ALL_DELIVERED)
    return int(Found.NONE_DELIVERED)


def decide_found(purpose: int, found: int) -> int:
    """The event of a delivery that knows what was delivered before it."""
    if found == Found.NOT_COMPARABLE:
        return int(DeliveryEvent.REFUSE)
    if found == Found.ALL_DELIVERED:
        return int(DeliveryEvent.FIND)
    if purpose == Purpose.RESOLVE:
        return int(DeliveryEvent.MISS)
    return int(DeliveryEvent.OPEN)


def decide_reply(state: int, reply: int) -> int:
    """The event that a reply is, where a delivery waits for one.

    Nothing that was sent before a commit is in the output until the commit is: so whatever goes wrong before is
    aborted. From the commit on only the broker knows.
    """
    if reply == Reply.FENCED:
        return int(DeliveryEvent.BE_FENCED)
    if reply == Reply.FATAL:
        return int(DeliveryEvent.FAIL)
    if state in (DeliveryState.COMMITTING, DeliveryState.ABORTING):
        return decide_end(state, reply)
    if reply == Reply.DONE:
        return decide_done(state)
    if state in (DeliveryState.FENCING, DeliveryState.LOOKING_UP):
        return int(DeliveryEvent.ASK_AGAIN if reply == Reply.UNKNOWN else DeliveryEvent.FAIL)
    return int(DeliveryEvent.ABORT)


def decide_end(state: int, reply: int) -> int:
    """The event that a reply to a commit or an abort is."""
    if reply == Reply.UNKNOWN:
        return int(DeliveryEvent.ASK_AGAIN)
    if reply == Reply.GIVEN_UP:
        return int(DeliveryEvent.GIVE_UP)
    if state == DeliveryState.ABORTING:
        return int(DeliveryEvent.END_ABORT)
    if reply == Reply.ABORTABLE:
        return int(DeliveryEvent.ABORT)
    return int(DeliveryEvent.COMMIT)


def decide_done(state: int) -> int:
    """The event of what was asked for before the commit, and is done."""
    if state == DeliveryState.FENCING:
        return int(DeliveryEvent.FENCE_OTHERS)
    if state == DeliveryState.SENDING_ROWS:
        return int(DeliveryEvent.SEND_ROWS)
    return int(DeliveryEvent.SEND_OFFSETS)
