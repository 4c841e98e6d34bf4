"""What a screen knows of a log in which, read by itself, nothing is to be found: enough to judge it without batches.

Screens stand above this package (`zombieproof.screening`): here is only what judges ask them. Whatever else they need
they take from the batches, which lie on the disk and are read when they are wanted (`readers.stored_batches`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

NOTHING = -1
"""What `EndedRun` holds where there is nothing."""


class EndedRun(NamedTuple):
    """Transactional data of a producer and the marker behind it; `NOTHING` in what it does not have.

    Data without marker is open at the end of the log; a marker without data ended nothing. Times are in milliseconds.
    """

    producer_id: int
    epoch: int
    first_offset: int
    last_offset: int
    records: int
    first_ms: int
    marker_epoch: int
    marker_offset: int
    marker_ms: int
    commits: bool


class Outcome(NamedTuple):
    """All transactions of one producer id and epoch that ended in one way. `commits` None: it is open."""

    producer_id: int
    epoch: int
    commits: bool | None


class Coordinators(Protocol):
    """What the coordinator's log tells, as far as a cleared log has to be held against it."""

    @property
    def owners(self) -> Mapping[int, object]:
        """Whose a producer id is."""

    @property
    def markers(self) -> Mapping[tuple[int, int], int]:
        """Transaction versions of markers, by producer id and epoch."""

    def is_foreign_data(self, producer_id: int, epoch: int) -> bool:
        """Whether the coordinator has no transaction in which a producer of this epoch could have written."""

    def is_foreign_marker(self, producer_id: int, epoch: int) -> bool:
        """Whether the coordinator has decided no transaction under this epoch."""


class Together(Protocol):
    """Several cleared logs together, without the producer ids that somebody owns."""

    def agree(self, ended: Iterable[tuple[int, int, bool]]) -> bool:
        """Whether markers one epoch above their data, which end one transaction each, say the same everywhere.

        `ended` are such markers of other logs: producer id, epoch of the marker, whether it commits.
        """

    def counts(self) -> Mapping[bool | None, int]:
        """How many transactions (`Outcome`) there are of each outcome, those on several partitions once."""

    def outcomes(self) -> Iterator[tuple[Outcome, Sequence[int]]]:
        """Each outcome, by producer id and epoch, aborted before committed before open, and the logs that have it."""


class Cleared(Protocol):
    """One log that a screen cleared.

    Attributes:
        earliest_ms, latest_ms: the smallest and the largest timestamp (None: there is none).
        is_thinned: a batch has fewer records than offsets, or a delete horizon.
        has_gaps: offsets are missing.
    """

    @property
    def earliest_ms(self) -> int | None: ...  # noqa: D102  # said above

    @property
    def latest_ms(self) -> int | None: ...  # noqa: D102

    @property
    def is_thinned(self) -> bool: ...  # noqa: D102

    @property
    def has_gaps(self) -> bool: ...  # noqa: D102

    def agrees_with(self, coordinators: Coordinators) -> bool:
        """Whether nothing is to be found in the log when it is read with what the coordinator's log tells."""

    def together(self, others: Sequence["Cleared"], owned: Collection[int]) -> Together:
        """This log and others, without the producer ids that somebody owns."""

    def transactional_producers(self) -> Collection[int]:
        """Producer ids with transactional data or markers."""

    def coordinator_epochs(self) -> Mapping[int, int]:
        """The highest coordinator epoch in the markers of each producer id."""

    def open_runs(self) -> Sequence[EndedRun]:
        """What is open at the end of the log, by first offset."""

    def runs_of(
        self, producer_ids: Collection[int], matters: Callable[[int], bool] | None = None
    ) -> Iterator[EndedRun] | None:
        """All runs and markers of some producer ids, open ones last, else in log order; None if they were not kept.

        With `matters` only what is open, and what has data or a marker of an epoch that does.
        """

    def aborted(self) -> Iterator[tuple[int, int, int, int]]:
        """Aborted transactions by marker: producer id, first offset, that of the marker, last stable offset there."""

    def visible(self, start: int, bound: int) -> tuple[int | None, Callable[[], Iterator[tuple[int, int]]]]:
        """What read_committed consumers get from `start` up to, not including, the batch at `bound`.

        How many records that is, where it is known without reading them, and what gives their offsets in order: ranges
        from, up to and not including.
        """
