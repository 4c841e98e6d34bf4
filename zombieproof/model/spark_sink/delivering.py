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


def is_of_another_write(
    is_same_query: bool, is_same_sink: bool, is_same_output: bool, batch: int, found_batch: int
) -> bool:
    """Whether a position was committed by a write that is not the one that looks it up.

    A query keeps its id as long as its checkpoint, and a sink its name as long as its plan: one of the two may change,
    and the output may not. A second sink of the same query shows itself within one batch.
    """
    if is_same_sink:
        return False
    return not is_same_query or not is_same_output or found_batch >= batch


def is_progress_lost(is_expected: bool, has_position: bool, has_progress_topic: bool) -> bool:
    """Whether positions of a delivery were there once and are deleted, as far as it can be told.

    The first batch of a query finds no position. Later ones may find none either, because no row was written before;
    but then the topic that keeps every position is there, since it is created when a query starts. So it `is_expected`
    after the first batch, and where a checkpoint holds its id: then a topic with another id is another one.
    """
    return is_expected and not has_position and not has_progress_topic


def find_by_positions(rows: int, left: int, others: int) -> int:
    """What positions tell: how many `rows` a delivery has, and how many of them are `left` to be sent.

    `others` is the number of positions that another write has committed: they say nothing of these rows.
    """
    if others > 0:
        return int(Found.NOT_COMPARABLE)
    if left == rows:
        return int(Found.NONE_DELIVERED)
    if left == 0:
        return int(Found.ALL_DELIVERED)
    return int(Found.SOME_DELIVERED)


def find_by_identity(
    query: int, batch: int, found_query: int, found_batch: int, is_same_work: bool, is_known: bool
) -> int:
    """What the identity of the newest committed batch tells; NONE for both where there is no such batch.

    Numbers of batches can be compared within one query alone: with a checkpoint that was lost a new query begins, and
    counts from 0. A checkpoint that was restored from an older copy counts again from where it was: a smaller number,
    or the same with other rows or of another sink (`is_same_work`), says nothing of these rows. Neither does an earlier
    batch that the checkpoint does not know (`is_known`): its rows may be in later batches now.
    """
    if found_query == NONE or (found_query == query and found_batch < batch and is_known):
        return int(Found.NONE_DELIVERED)
    if found_query == query and found_batch == batch and is_same_work:
        return int(Found.ALL_DELIVERED)
    return int(Found.NOT_COMPARABLE)


def is_to_be_claimed(is_own: bool, is_in_group: bool, unfenced: int) -> bool:
    """Whether another mode of the query may still commit rows of a delivery.

    `is_own`: the newest claim is of this mode, and `is_in_group`, where the next delivery of another mode sees it.
    `unfenced` is the number of transactional ids of earlier claims that this delivery would have to take first.
    """
    return not is_own or not is_in_group or unfenced > 0


def is_fenced(generation: int, claim: int) -> bool:
    """Whether no earlier claim can still commit rows of a place.

    A delivery that takes the ids of that place does so after a look at the claim with the number `claim`. `generation`
    is that number, as this delivery remembers it or as the position holds it, which a delivery after it has committed.
    """
    return generation == claim


def decide_found(purpose: int, found: int) -> int:
    """The event of a delivery that knows what was delivered before it."""
    if found == Found.NOT_COMPARABLE or (found == Found.UNCLAIMED and purpose == Purpose.RESOLVE):
        return int(DeliveryEvent.REFUSE)
    if found == Found.UNCLAIMED:
        return int(DeliveryEvent.CLAIM)
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
    if state in (DeliveryState.FENCING, DeliveryState.LOOKING_UP, DeliveryState.CLAIMING):
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
    if state == DeliveryState.CLAIMING:
        return int(DeliveryEvent.END_CLAIM)
    if state == DeliveryState.SENDING_ROWS:
        return int(DeliveryEvent.SEND_ROWS)
    return int(DeliveryEvent.SEND_OFFSETS)
