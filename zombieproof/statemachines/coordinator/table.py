"""The transaction coordinator: what may become of one transactional id.

Theory of operation: there is one machine for each transactional id, at the leader of its ``__transaction_state``
partition. A transition is *prepared* (its target becomes the pending state), appended to the log, and *completed* when
the append succeeded; at most one is pending. EMPTY, ONGOING, the two PREPARE and the two COMPLETE states are durable.
PREPARE_EPOCH_FENCE and DEAD are only ever pending: the first between the decision to fence and the abort that follows,
the second while the tombstone is written. PREPARE_COMMIT and PREPARE_ABORT are the point of no return.

EMPTY, COMPLETE_COMMIT and COMPLETE_ABORT --ABORT--> PREPARE_ABORT are the empty aborts of transaction version 2.

Source: reference §2.1, §2.3; KIP-98, KIP-360, KIP-890; ``TransactionState.java``.
"""

from zombieproof.model.vocabulary import CoordinatorEvent as E
from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.statemachines.kernel import Machine, T

COORDINATOR = Machine(
    name="coordinator",
    states=S,
    events=E,
    initial=S.EMPTY,
    rows=(
        T(S.EMPTY, E.INIT, S.EMPTY, "a producer takes the id"),
        T(S.EMPTY, E.ADD_PARTITION, S.ONGOING, "the first partition opens the transaction"),
        T(S.EMPTY, E.ABORT, S.PREPARE_ABORT, "an empty abort raises the epoch (TV2)"),
        T(S.EMPTY, E.EXPIRE, S.DEAD, "an unused id expires"),
        T(S.ONGOING, E.ADD_PARTITION, S.ONGOING, "another partition joins"),
        T(S.ONGOING, E.KEEP, S.ONGOING, "a two-phase participant goes on with what it prepared (KIP-939)"),
        T(S.ONGOING, E.COMMIT, S.PREPARE_COMMIT, "point of no return: commit is decided"),
        T(S.ONGOING, E.ABORT, S.PREPARE_ABORT, "point of no return: abort is decided"),
        T(S.ONGOING, E.FENCE, S.PREPARE_EPOCH_FENCE, "a newer producer or a timeout fences the owner"),
        T(S.PREPARE_EPOCH_FENCE, E.ABORT, S.PREPARE_ABORT, "the fenced transaction is aborted"),
        T(S.PREPARE_COMMIT, E.MARKERS_WRITTEN, S.COMPLETE_COMMIT, "every partition has its commit marker"),
        T(S.PREPARE_ABORT, E.MARKERS_WRITTEN, S.COMPLETE_ABORT, "every partition has its abort marker"),
        T(S.COMPLETE_COMMIT, E.INIT, S.EMPTY, "a producer takes the id"),
        T(S.COMPLETE_COMMIT, E.ADD_PARTITION, S.ONGOING, "the next transaction opens"),
        T(S.COMPLETE_COMMIT, E.ABORT, S.PREPARE_ABORT, "an empty abort raises the epoch (TV2)"),
        T(S.COMPLETE_COMMIT, E.EXPIRE, S.DEAD, "an unused id expires"),
        T(S.COMPLETE_ABORT, E.INIT, S.EMPTY, "a producer takes the id"),
        T(S.COMPLETE_ABORT, E.ADD_PARTITION, S.ONGOING, "the next transaction opens"),
        T(S.COMPLETE_ABORT, E.ABORT, S.PREPARE_ABORT, "an empty abort raises the epoch (TV2)"),
        T(S.COMPLETE_ABORT, E.EXPIRE, S.DEAD, "an unused id expires"),
    ),
    terminal=frozenset({S.DEAD}),
    transient=frozenset({S.DEAD, S.PREPARE_EPOCH_FENCE}),
)
