"""What is told of logs that do not stay whole: what the cleaner has left, and where retention lets a log begin."""

from collections.abc import Iterator

from zombieproof.checker.transactions.narration import partition_name
from zombieproof.checker.transactions.state import Partition, Remains, State
from zombieproof.report.states import bits, record_words


def of_logs(before: State, after: State) -> Iterator[str]:
    """What is not there any more, and what is told of what is left."""
    for p, (old, new) in enumerate(zip(before.remains, after.remains, strict=True)):
        yield from _cleaned(after.partitions[p], partition_name(p), old, new)
        if new.start > old.start:
            yield f"the log of {partition_name(p)} begins at offset {new.start}"


def _cleaned(partition: Partition, name: str, old: Remains, new: Remains) -> Iterator[str]:
    for offset in bits(new.gone & ~old.gone):
        yield f"{name} has nothing left at offset {offset}: {record_words(partition.log[offset])}"
    for offset in bits(new.empty & ~old.empty):
        yield f"{name} has a batch without records left at offset {offset}: {record_words(partition.log[offset])}"
    for offset in bits(new.under_horizon & ~old.under_horizon):
        yield f"{name} has no batch before the marker at offset {offset}: the next pass takes it"
