"""A delivery: what becomes of the rows of one micro-batch (or of one task in it) on their way into a topic.

Theory of operation: a delivery lives in one process, and remembers nothing of an earlier one: whatever it has to know
is asked of the brokers. First it takes its transactional id, so that whoever tried before can no longer commit; then it
reads what is committed, and sends only what is not. Where the query has two modes, which take different ids, it first
claims the group for its own. Rows and the position of the source behind them are committed in
one transaction: who comes next finds both or neither. A delivery that only resolves (Spark's ``abort``) goes the same
way as far as the look-up, and leaves the log as it is.
*Delivered* and *found delivered* are good ends; *known absent* ends a resolution. *Fenced*, *failed*, *refused* and
*uncertain* are told to Spark as errors, and the next delivery of the batch looks again.
Nothing is durable here: what is, is the brokers'.

Source: KIP-98, KIP-447; ``spark-facts.md``; explored by the scenarios ``spark_*`` of the checker.
"""

from zombieproof.model.spark_sink.vocabulary import DeliveryEvent as E
from zombieproof.model.spark_sink.vocabulary import DeliveryState as S
from zombieproof.statemachines.kernel import Machine, T

_OTHER = "another producer has the transactional id"
_GONE = "neither going on nor aborting is possible"

DELIVERY = Machine(
    name="delivery",
    states=S,
    events=E,
    initial=S.NEW,
    rows=(
        T(S.NEW, E.BEGIN, S.FENCING, "it takes its transactional id"),
        T(S.FENCING, E.FENCE_OTHERS, S.LOOKING_UP, "what was open is aborted, and no earlier holder commits any more"),
        T(S.FENCING, E.ASK_AGAIN, S.FENCING, "no answer: the id is taken again"),
        T(S.FENCING, E.BE_FENCED, S.FENCED, _OTHER),
        T(S.FENCING, E.FAIL, S.FAILED, _GONE),
        T(S.LOOKING_UP, E.OPEN, S.SENDING_ROWS, "not all rows are in the output: a transaction begins"),
        T(S.LOOKING_UP, E.FIND, S.FOUND_DELIVERED, "an earlier delivery has committed all of them"),
        T(S.LOOKING_UP, E.MISS, S.KNOWN_ABSENT, "a resolution: not all are there, and nobody else brings the rest"),
        T(S.LOOKING_UP, E.REFUSE, S.REFUSED, "what is committed cannot be compared with this batch"),
        T(S.LOOKING_UP, E.CLAIM, S.CLAIMING, "another mode of the query may be delivering these rows"),
        T(S.CLAIMING, E.END_CLAIM, S.FENCING, "no other mode commits them any more: it begins again"),
        T(S.CLAIMING, E.ASK_AGAIN, S.CLAIMING, "no answer: it claims again"),
        T(S.CLAIMING, E.BE_FENCED, S.FENCED, _OTHER),
        T(S.CLAIMING, E.FAIL, S.FAILED, _GONE),
        T(S.LOOKING_UP, E.ASK_AGAIN, S.LOOKING_UP, "no answer: it reads again"),
        T(S.LOOKING_UP, E.BE_FENCED, S.FENCED, _OTHER),
        T(S.LOOKING_UP, E.FAIL, S.FAILED, _GONE),
        T(S.SENDING_ROWS, E.SEND_ROWS, S.SENDING_OFFSETS, "all rows are acknowledged"),
        T(S.SENDING_ROWS, E.ABORT, S.ABORTING, "a row is not: all or nothing"),
        T(S.SENDING_ROWS, E.BE_FENCED, S.FENCED, _OTHER),
        T(S.SENDING_ROWS, E.FAIL, S.FAILED, _GONE),
        T(S.SENDING_OFFSETS, E.SEND_OFFSETS, S.COMMITTING, "the position of the source is in the transaction"),
        T(S.SENDING_OFFSETS, E.ABORT, S.ABORTING, "it is not"),
        T(S.SENDING_OFFSETS, E.BE_FENCED, S.FENCED, _OTHER),
        T(S.SENDING_OFFSETS, E.FAIL, S.FAILED, _GONE),
        T(S.COMMITTING, E.COMMIT, S.DELIVERED, "rows and position are committed"),
        T(
            S.COMMITTING,
            E.ASK_AGAIN,
            S.COMMITTING,
            "no answer: the same producer asks again and is answered as at first",
        ),
        T(S.COMMITTING, E.ABORT, S.ABORTING, "the transaction was aborted before, by its time-out"),
        T(
            S.COMMITTING,
            E.BE_FENCED,
            S.FENCED,
            "another has the id; whether the commit came first, the next look-up tells",
        ),
        T(S.COMMITTING, E.FAIL, S.UNCERTAIN, "an error that says nothing of the commit: the next look-up tells"),
        T(S.COMMITTING, E.GIVE_UP, S.UNCERTAIN, "no answer in the time there is: the next look-up tells"),
        T(S.ABORTING, E.END_ABORT, S.FAILED, "nothing of it is in the output"),
        T(S.ABORTING, E.ASK_AGAIN, S.ABORTING, "no answer: asked again"),
        T(S.ABORTING, E.BE_FENCED, S.FENCED, _OTHER),
        T(S.ABORTING, E.FAIL, S.FAILED, "it stays open until its time-out, or until the id is taken again"),
        T(S.ABORTING, E.GIVE_UP, S.FAILED, "it stays open until its time-out, or until the id is taken again"),
    ),
    terminal=frozenset(
        {S.DELIVERED, S.FOUND_DELIVERED, S.KNOWN_ABSENT, S.FENCED, S.FAILED, S.REFUSED, S.UNCERTAIN},
    ),
)
