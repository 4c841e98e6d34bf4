"""What a judge found: a fault, and what of the folded logs it is about.

By that, faults of several judges can be related to each other, after all of them are found (`explaining.relations`).
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from zombieproof.traces.judging.histories.partition_history import Ending, Run
from zombieproof.traces.verdict.faults import Fault


@dataclass(frozen=True, slots=True)
class Found:
    """One finding of a judge.

    Attributes:
        fault: the broken promise.
        runs: the transactions on partitions whose data it is about.
        ending: the marker that it is about.
        says: what it says of a fault that explains it, where only the judge can put it into words.
        without: for a fault about several runs, the same without those that other faults explain, None if nothing is
            left; runs are named by identity.
    """

    fault: Fault
    runs: tuple[Run, ...] = ()
    ending: Ending | None = None
    says: str = ""
    without: Callable[[Collection[int]], Fault | None] | None = None
