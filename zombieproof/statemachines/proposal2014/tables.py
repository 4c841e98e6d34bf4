"""The machines of the 2014 proposal: a transaction at its coordinator, the journal, a producer, leaders.

Theory of operation: a transaction has a TxId of its own, and is decided when PREPARE_COMMIT or PREPARE_ABORT is in the
journal; everything behind that only carries it out. The high watermark of the journal is where a new coordinator begins
to read. A producer is known by a generation that it counts itself. A leader learns of a TxId from the coordinator or
from payload, and knows from control records that it is finished. The offsets of a consumer group are unsettled while a
transaction that has some of them is pending. A consumer buffers: that is the machine of the live one.

Source: "Transactional Messaging in Kafka" (2014); reference §10.4 to §10.7.
"""

from zombieproof.model.proposal2014.vocabulary import (
    JournalEvent,
    JournalState,
    LeaderEvent,
    LeaderState,
    OffsetsEvent,
    OffsetsState,
    ProducerEvent,
    ProducerState,
    TransactionEvent,
    TransactionState,
)
from zombieproof.statemachines.kernel import Machine, T

S, E = TransactionState, TransactionEvent

COORDINATOR = Machine(
    name="proposal2014_coordinator",
    states=S,
    events=E,
    initial=S.NONE,
    rows=(
        T(S.NONE, E.BEGIN, S.BEGUN, "BEGIN is in the journal, and the TxId is answered"),
        T(S.BEGUN, E.PREPARE_COMMIT, S.PREPARED_COMMIT, "it is decided: it will be committed"),
        T(S.BEGUN, E.PREPARE_ABORT, S.PREPARED_ABORT, "asked for, timed out, left alone or fenced: it will be aborted"),
        T(S.PREPARED_COMMIT, E.COMMIT, S.COMMITTED, "every leader has acknowledged its control record"),
        T(S.PREPARED_ABORT, E.ABORT, S.ABORTED, "every leader has acknowledged its control record"),
        T(S.PREPARED_ABORT, E.LEAVE_UNRECORDED, S.ABORTED, "the text has no final record of an abort"),
    ),
    terminal=frozenset({S.COMMITTED, S.ABORTED}),
)

JOURNAL = Machine(
    name="proposal2014_journal",
    states=JournalState,
    events=JournalEvent,
    initial=JournalState.AT_END,
    rows=(
        T(JournalState.AT_END, JournalEvent.BEGIN, JournalState.HELD, "what begins holds it at its BEGIN"),
        T(JournalState.HELD, JournalEvent.BEGIN, JournalState.HELD, "an older one holds it"),
        T(JournalState.HELD, JournalEvent.FINISH_YOUNGER, JournalState.HELD, "an older one holds it"),
        T(JournalState.HELD, JournalEvent.FINISH_OLDEST, JournalState.HELD, "on to the BEGIN of the next oldest"),
        T(JournalState.HELD, JournalEvent.FINISH_LAST, JournalState.AT_END, "nothing is in flight: on to the end"),
    ),
)

P, D = ProducerState, ProducerEvent

_ENDED_SO = "what became of it was decided before"
_AGAIN = "no answer, or not yet: the same is asked again"
_REFUSED = "a newer generation is there, or a second process with this one"

PRODUCER = Machine(
    name="proposal2014_producer",
    states=P,
    events=D,
    initial=P.STOPPED,
    rows=(
        T(P.STOPPED, D.START, P.STARTING, "it reads the generation that is stored, and takes the next one"),
        T(P.STARTING, D.GET_READY, P.READY, "it stores its generation, or leaves it to its next transaction"),
        T(P.READY, D.BEGIN, P.BEGINNING, "there is input"),
        T(P.BEGINNING, D.TAKE_TX_ID, P.FETCHING, "who is older is fenced now: where is the group?"),
        T(P.BEGINNING, D.TAKE_TX_ID_FOR_INPUT, P.IN_TRANSACTION, "its input was chosen before"),
        T(P.BEGINNING, D.ASK_AGAIN, P.BEGINNING, _AGAIN),
        T(P.BEGINNING, D.BE_REFUSED, P.CLOSED, _REFUSED),
        T(P.FETCHING, D.TAKE_INPUT, P.IN_TRANSACTION, "the offsets of its group are settled, and there is input"),
        T(P.FETCHING, D.ABORT, P.ABORTING, "no input is left, or its application does not want it"),
        T(P.IN_TRANSACTION, D.SEND, P.IN_TRANSACTION, "a leader has appended a record of it"),
        T(P.IN_TRANSACTION, D.ASK_AGAIN, P.IN_TRANSACTION, _AGAIN),
        T(P.IN_TRANSACTION, D.COMMIT, P.COMMITTING, "all of the block and its input offsets are appended"),
        T(P.IN_TRANSACTION, D.ABORT, P.ABORTING, "its application wants so, or a record is in doubt: all again"),
        T(P.IN_TRANSACTION, D.BE_REFUSED, P.CLOSED, _REFUSED),
        T(P.COMMITTING, D.HEAR_COMMITTED, P.READY, "it will be committed"),
        T(P.COMMITTING, D.HEAR_ABORTED, P.READY, "it was aborted before, as by its time-out: the block again"),
        T(P.COMMITTING, D.ASK_AGAIN, P.COMMITTING, _AGAIN),
        T(P.COMMITTING, D.BE_REFUSED, P.CLOSED, _REFUSED),
        T(P.ABORTING, D.HEAR_ABORTED, P.READY, "the block is done again, under a new TxId"),
        T(P.ABORTING, D.HEAR_COMMITTED, P.READY, _ENDED_SO),
        T(P.ABORTING, D.ASK_AGAIN, P.ABORTING, _AGAIN),
        T(P.ABORTING, D.BE_REFUSED, P.CLOSED, _REFUSED),
        T(P.CLOSED, D.START, P.STARTING, "somebody starts it again"),
        *(T(state, D.CRASH, P.STOPPED, "the process dies") for state in P if state != P.STOPPED),
    ),
)

L, H = LeaderState, LeaderEvent

_KEPT = "the control record ends it here, and nobody remembers that"

LEADER = Machine(
    name="proposal2014_leader",
    states=L,
    events=H,
    initial=L.UNKNOWN,
    rows=(
        T(L.UNKNOWN, H.BE_TOLD, L.PENDING, "the coordinator says that it has begun"),
        T(L.UNKNOWN, H.APPEND_PAYLOAD, L.PENDING, "its first payload"),
        T(L.UNKNOWN, H.APPEND_CONTROL, L.FINISHED, "a control record without payload"),
        T(L.PENDING, H.BE_TOLD, L.PENDING, "known already"),
        T(L.PENDING, H.APPEND_PAYLOAD, L.PENDING, "more payload"),
        T(L.PENDING, H.APPEND_CONTROL, L.FINISHED, "the control record ends it here"),
        T(L.FINISHED, H.BE_TOLD, L.FINISHED, "told late: it has ended"),
        T(L.FINISHED, H.APPEND_CONTROL, L.FINISHED, "a second control record: the coordinator asked again"),
        T(L.UNKNOWN, H.APPEND_CONTROL_AND_FORGET, L.UNKNOWN, _KEPT),
        T(L.PENDING, H.APPEND_CONTROL_AND_FORGET, L.UNKNOWN, _KEPT),
        T(L.PENDING, H.FORGET, L.UNKNOWN, "a new leader"),
        T(L.FINISHED, H.FORGET, L.UNKNOWN, "a new leader"),
    ),
)

_SETTLED, _PENDING = OffsetsState.SETTLED, OffsetsState.PENDING

OFFSETS = Machine(
    name="proposal2014_offsets",
    states=OffsetsState,
    events=OffsetsEvent,
    initial=_SETTLED,
    rows=(
        T(_SETTLED, OffsetsEvent.COMMIT_OFFSETS, _PENDING, "offsets of a transaction are appended"),
        T(_PENDING, OffsetsEvent.COMMIT_OFFSETS, _PENDING, "offsets of another one"),
        T(_PENDING, OffsetsEvent.SETTLE_ONE, _PENDING, "another transaction with offsets is pending"),
        T(_PENDING, OffsetsEvent.SETTLE, _SETTLED, "G-LAST-COMMIT says which transaction was the last"),
        T(_SETTLED, OffsetsEvent.SETTLE, _SETTLED, "a control record of a transaction without offsets"),
    ),
)
