"""The producer client: what one instance may do next.

Theory of operation: one machine for each producer object in an application. It is not durable: a crashed instance is
gone, and its successor begins in UNINITIALIZED. An abortable error leaves one way, abort; a fatal error leaves none.
PREPARED_TRANSACTION belongs to two-phase commit (KIP-939).

Source: reference §5.1; ``TransactionManager.State``.
"""

from zombieproof.model.vocabulary import ProducerEvent as E
from zombieproof.model.vocabulary import ProducerState as S
from zombieproof.statemachines.kernel import Machine, T

_FATAL = tuple(
    T(state, E.FATAL_FAILURE, S.FATAL_ERROR, "fenced, or an error that nothing repairs")
    for state in S
    if state != S.FATAL_ERROR
)

PRODUCER = Machine(
    name="producer",
    states=S,
    events=E,
    initial=S.UNINITIALIZED,
    rows=(
        T(S.UNINITIALIZED, E.INIT_TRANSACTIONS, S.INITIALIZING, "initTransactions asks for a producer id and epoch"),
        T(S.INITIALIZING, E.INITIALIZED, S.READY, "the coordinator granted producer id and epoch"),
        T(S.INITIALIZING, E.ABORTABLE_FAILURE, S.ABORTABLE_ERROR, "initialisation failed, but may be tried again"),
        T(S.INITIALIZING, E.PREPARE, S.PREPARED_TRANSACTION, "a prepared transaction was kept (KIP-939)"),
        T(S.READY, E.BEGIN, S.IN_TRANSACTION, "beginTransaction, purely local"),
        T(S.READY, E.RESET, S.UNINITIALIZED, "an idempotent producer asks for a new identity"),
        T(S.IN_TRANSACTION, E.COMMIT, S.COMMITTING_TRANSACTION, "commitTransaction"),
        T(S.IN_TRANSACTION, E.ABORT, S.ABORTING_TRANSACTION, "abortTransaction"),
        T(S.IN_TRANSACTION, E.PREPARE, S.PREPARED_TRANSACTION, "prepareTransaction (KIP-939)"),
        T(S.IN_TRANSACTION, E.ABORTABLE_FAILURE, S.ABORTABLE_ERROR, "a send failed: only abort is left"),
        T(S.PREPARED_TRANSACTION, E.COMMIT, S.COMMITTING_TRANSACTION, "completeTransaction with the same token"),
        T(S.PREPARED_TRANSACTION, E.ABORT, S.ABORTING_TRANSACTION, "completeTransaction with another token"),
        T(S.COMMITTING_TRANSACTION, E.END_ACKNOWLEDGED, S.READY, "the commit is decided"),
        T(S.COMMITTING_TRANSACTION, E.BUMP_EPOCH, S.INITIALIZING, "committed; the epoch is raised before going on"),
        T(S.COMMITTING_TRANSACTION, E.ABORTABLE_FAILURE, S.ABORTABLE_ERROR, "the commit failed: only abort is left"),
        T(S.ABORTING_TRANSACTION, E.END_ACKNOWLEDGED, S.READY, "the abort is decided"),
        T(S.ABORTING_TRANSACTION, E.BUMP_EPOCH, S.INITIALIZING, "aborted; the epoch is raised before going on"),
        T(S.ABORTING_TRANSACTION, E.INITIALIZED, S.READY, "until 3.9: the end was refused (49), the identity is new"),
        T(S.ABORTABLE_ERROR, E.ABORT, S.ABORTING_TRANSACTION, "abortTransaction"),
        T(S.ABORTABLE_ERROR, E.ABORTABLE_FAILURE, S.ABORTABLE_ERROR, "another failure changes nothing"),
        T(S.ABORTABLE_ERROR, E.RESET, S.UNINITIALIZED, "a refused initialisation may be tried again"),
        *_FATAL,
    ),
    terminal=frozenset({S.FATAL_ERROR}),
)
