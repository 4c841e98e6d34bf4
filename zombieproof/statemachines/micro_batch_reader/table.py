"""A reader in micro-batches: where a streaming query reads next.

Theory of operation: Spark's offset log holds the range of every batch before it runs, and Spark's commit log which of
them are finished. A reader is placed once, when there is no checkpoint: at the positions that its group has committed,
else as it is told. Then batches are planned one behind the other; a query that starts again resumes the batch that is
planned and not known to be finished, with the same range. The machine is the driver's; tasks only read their range.

Source: Spark's ``DataSourceStreamReader`` and ``MicroBatchExecution``; ``spark-facts.md``.
"""

from zombieproof.model.spark_sink.vocabulary import ReaderEvent as E
from zombieproof.model.spark_sink.vocabulary import ReaderState as S
from zombieproof.statemachines.kernel import Machine, T

MICRO_BATCH_READER = Machine(
    name="micro_batch_reader",
    states=S,
    events=E,
    initial=S.UNPLACED,
    rows=(
        T(S.UNPLACED, E.PLACE_AT_COMMITTED, S.PLACED, "there is no checkpoint, and the group has committed a position"),
        T(S.UNPLACED, E.PLACE_AS_TOLD, S.PLACED, "there is neither: startingOffsets says where"),
        T(S.UNPLACED, E.RESUME, S.PLANNED, "the offset log has the range of the newest batch"),
        T(S.PLACED, E.PLAN, S.PLANNED, "a range below the last stable offset is the next batch"),
        T(S.PLANNED, E.FINISH, S.PLACED, "Spark has it in its commit log: the next begins behind it"),
    ),
)
