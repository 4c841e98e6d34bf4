"""The group coordinator: what may become of offsets committed inside a transaction.

Theory of operation: one machine for each (group, producer id). Offsets that a transaction commits wait until the
marker of that producer id arrives on the group's ``__consumer_offsets`` partition; then they all become visible, or
all vanish. The durable events are the records and markers of that partition; but up to Kafka 3.9 a commit whose append
is refused takes what waits along (`TAKE_BACK`), of which the log knows nothing.

Source: reference §4.2, §4.3; ``OffsetMetadataManager.java``.
"""

from zombieproof.model.vocabulary import GroupEvent as E
from zombieproof.model.vocabulary import PendingOffsetsState as S
from zombieproof.statemachines.kernel import Machine, T

GROUP_COORDINATOR = Machine(
    name="group_coordinator",
    states=S,
    events=E,
    initial=S.NO_PENDING_OFFSETS,
    rows=(
        T(S.NO_PENDING_OFFSETS, E.TXN_OFFSET_COMMIT, S.PENDING, "the transaction commits its input position"),
        T(S.NO_PENDING_OFFSETS, E.COMMIT_MARKER, S.NO_PENDING_OFFSETS, "a commit marker with nothing pending"),
        T(S.NO_PENDING_OFFSETS, E.ABORT_MARKER, S.NO_PENDING_OFFSETS, "an abort marker with nothing pending"),
        T(S.NO_PENDING_OFFSETS, E.TOMBSTONE, S.NO_PENDING_OFFSETS, "the group is deleted"),
        T(S.PENDING, E.TXN_OFFSET_COMMIT, S.PENDING, "more offsets of the same transaction"),
        T(S.PENDING, E.COMMIT_MARKER, S.NO_PENDING_OFFSETS, "the offsets become the committed ones"),
        T(S.PENDING, E.ABORT_MARKER, S.NO_PENDING_OFFSETS, "the offsets vanish"),
        T(S.PENDING, E.TOMBSTONE, S.NO_PENDING_OFFSETS, "deleting the group kills what is pending"),
        T(S.PENDING, E.TAKE_BACK, S.NO_PENDING_OFFSETS, "until 3.9: a refused commit takes along what waits"),
    ),
)
