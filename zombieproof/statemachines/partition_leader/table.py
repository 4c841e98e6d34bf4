"""The partition leader: what it may know next of one producer id.

Theory of operation: one machine for each (partition, producer id) at the leader of the partition. Its durable events
are the batches and control batches of the partition's own log: a new leader folds the log and is where the old one
was, but for verifications, which live in memory only. VERIFYING means: no open transaction that counts, and a guard
was handed out with which a first batch may come (KIP-890).

A newer epoch may be verified while a transaction of an older epoch is still open (its marker is missing): the guard
exists beside the open transaction, and the state stays IN_TRANSACTION.

Source: reference §3.1, §3.3 to §3.5, §3.7; ``ProducerStateManager.java``, ``ProducerAppendInfo.java``.
"""

from zombieproof.model.vocabulary import PartitionEvent as E
from zombieproof.model.vocabulary import PartitionState as S
from zombieproof.statemachines.kernel import Machine, T

PARTITION_LEADER = Machine(
    name="partition_leader",
    states=S,
    events=E,
    initial=S.NO_ENTRY,
    rows=(
        T(S.NO_ENTRY, E.APPEND, S.IDLE, "the first batch of an idempotent producer"),
        T(S.NO_ENTRY, E.BEGIN, S.IN_TRANSACTION, "a transactional batch opens a transaction unverified"),
        T(S.NO_ENTRY, E.VERIFY, S.VERIFYING, "the coordinator is asked before the first batch"),
        T(S.NO_ENTRY, E.COMMIT_MARKER, S.IDLE, "a commit marker without data"),
        T(S.NO_ENTRY, E.ABORT_MARKER, S.IDLE, "an abort marker without data"),
        T(S.IDLE, E.APPEND, S.IDLE, "another idempotent batch"),
        T(S.IDLE, E.BEGIN, S.IN_TRANSACTION, "a transactional batch opens a transaction unverified"),
        T(S.IDLE, E.VERIFY, S.VERIFYING, "the coordinator is asked before the first batch"),
        T(S.IDLE, E.COMMIT_MARKER, S.IDLE, "a commit marker without data"),
        T(S.IDLE, E.ABORT_MARKER, S.IDLE, "an abort marker without data"),
        T(S.IDLE, E.EXPIRE_PRODUCER, S.NO_ENTRY, "the producer was silent for too long"),
        T(S.VERIFYING, E.VERIFY, S.VERIFYING, "another batch waits for the same answer"),
        T(S.VERIFYING, E.BEGIN, S.IN_TRANSACTION, "the verified first batch opens the transaction"),
        T(S.VERIFYING, E.APPEND, S.VERIFYING, "a plain batch of the same producer"),
        T(S.VERIFYING, E.COMMIT_MARKER, S.IDLE, "a marker voids the guard: the answer comes too late"),
        T(S.VERIFYING, E.ABORT_MARKER, S.IDLE, "a marker voids the guard: the answer comes too late"),
        T(S.VERIFYING, E.MARKER_KEEPS_GUARD, S.VERIFYING, "the marker is of the transaction before (TV2)"),
        T(S.VERIFYING, E.EXPIRE_VERIFICATION, S.IDLE, "the guard was never used"),
        T(S.VERIFYING, E.EXPIRE_PRODUCER, S.NO_ENTRY, "guard and producer are forgotten together"),
        T(S.IN_TRANSACTION, E.CONTINUE, S.IN_TRANSACTION, "more data of the open transaction"),
        T(S.IN_TRANSACTION, E.VERIFY, S.IN_TRANSACTION, "a newer epoch asks while an older transaction is open"),
        T(S.IN_TRANSACTION, E.EXPIRE_VERIFICATION, S.IN_TRANSACTION, "the newer epoch never used its guard"),
        T(S.IN_TRANSACTION, E.COMMIT_MARKER, S.IDLE, "committed: the data counts"),
        T(S.IN_TRANSACTION, E.ABORT_MARKER, S.IDLE, "aborted: the data goes to the aborted index"),
        T(S.IN_TRANSACTION, E.MARKER_KEEPS_GUARD, S.VERIFYING, "ended; the next transaction is being verified (TV2)"),
    ),
)
