"""Deciding which plans a sink writes exactly once.

Behaviour: a sink that recognises rows by where they were read commits one position for each partition of the source.
It is exact only if each row is written in the micro-batch that read it, and if all reads of a partition advance
together. In mode *partition* each task commits by itself, so a partition must reach the sink through one task only.
Number and rows of a batch, committed by the driver, tell the same for any plan.
"""

from zombieproof.model.spark_sink.vocabulary import Trait


def is_exact_for(trait: int, by_batch: bool, by_task: bool) -> bool:
    """Whether each row of a plan with this trait is written once.

    `by_batch`: the sink recognises batches by number and rows, instead of rows by their positions in the source;
    `by_task`: each task commits the rows that it read (mode *partition*).
    """
    if by_batch:
        return True
    if trait in (Trait.STATEFUL, Trait.LOADS):
        return False
    return not by_task
