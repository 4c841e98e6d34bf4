"""Which fault explains which: one cause in the logs is seen by several judges, and is to be told once.

Judges find each by itself (`judging.judges`). Here what they found is related: a fault that another one explains is not
reported, and what it says is added to the other.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.judging.found import Found
from zombieproof.traces.judging.histories.belonging import OF_DATA
from zombieproof.traces.judging.histories.words import kind
from zombieproof.traces.verdict.circumstances import Shape, harm_of_end
from zombieproof.traces.verdict.faults import Fault
from zombieproof.traces.verdict.report import named

OF_NOBODY = ("epochs_never_go_down", "no_open_transaction_that_nobody_owns")
"""Promises whose breach says already that data belongs to nobody."""

ABOUT_OTHER_LOGS = ("markers", "without coordinator")
"""Judges of what a partition's log does not show by itself."""

WITNESSES = ("told", "replicas", "aborted index", "coordinator lines", "client lines")
"""Judges of what somebody else wrote down of the same events: what follows for them is said last."""


Subject = tuple[TopicPartition | None, int | None]
"""A partition and a producer id on it."""


class Explained(NamedTuple):
    """A fault is explained by another one; `says` is what it adds to that ("" for nothing)."""

    by: Found
    says: str


class Index:
    """What was found, by what it is about."""

    def __init__(self, found: Mapping[str, Sequence[Found]]) -> None:
        alone = found.get("partitions", ())
        self.of: dict[int, Found] = {id(each.fault): each for each in alone}
        self.alone: dict[int, list[Found]] = {}
        for run in {id(run): run for each in alone for run in each.runs}.values():
            self.alone[id(run)] = [self.of[fault] for fault in dict.fromkeys(map(id, run.faults))]
        self.across: dict[int, list[Found]] = {}
        self.wrong_epochs: dict[Subject, list[Found]] = {}
        for each in (each for name in ABOUT_OTHER_LOGS for each in found.get(name, ())):
            for run in each.runs:
                self.across.setdefault(id(run), []).append(each)
            if each.fault.circumstances.shape is Shape.MARKER_EPOCH and self.of_marker(each) is None:
                self.wrong_epochs.setdefault((each.fault.place, each.fault.producer_id), []).append(each)

    def about(self, run: int) -> list[Found]:
        """What was found about a run: first what its own log shows."""
        return [*self.alone.get(run, ()), *self.across.get(run, ())]

    def of_marker(self, found: Found) -> Found | None:
        """The fault of the same marker that the log of its partition shows: a leader would have refused it."""
        fault = found.ending.fault if found.ending is not None else None
        return None if fault is None else self.of.get(id(fault))


def relate(found: Mapping[str, Sequence[Found]]) -> list[Fault]:
    """The faults that nothing else explains, with what follows from them; copies, in the order of the judges."""
    return _Relating(found).reported()


class _Relating:
    def __init__(self, found: Mapping[str, Sequence[Found]]) -> None:
        self.found = found
        self.index = Index(found)
        self.explained: dict[int, Explained] = {}
        for each in (each for name in found if name not in WITNESSES for each in found[name]):
            for relation in RELATIONS:
                explained = relation(each, self.index)
                if explained is not None:
                    self.explained[id(each)] = explained
                    break
        self.copies: dict[int, Fault] = {}

    def reported(self) -> list[Fault]:
        """What is reported."""
        kept = [each for name in self.found if name not in WITNESSES for each in self.found[name]]
        faults = [self._copy(each) for each in kept if id(each) not in self.explained]
        for each in kept:
            if id(each) in self.explained:
                self._add(each)
        for fault in faults:
            if fault.open_end:
                fault.consequences.append(fault.open_end.reserve)
        for name in WITNESSES:
            known: dict[Subject, Fault] = {
                (fault.place, fault.producer_id): fault for fault in reversed(faults) if fault.place is not None
            }
            of_index = name == "aborted index"
            left = [
                self._of_index(each, known) if of_index else self._of_witness(each) for each in self.found.get(name, ())
            ]
            faults += [fault for fault in left if fault is not None]
        return faults

    def _copy(self, found: Found) -> Fault:
        copy = self.copies.get(id(found))
        if copy is None:
            copy = self.copies[id(found)] = found.fault.copied()
        return copy

    def _root(self, found: Found) -> Found:
        """What is reported in place of a fault: what explains it, and is not explained itself."""
        while id(found) in self.explained:
            found = self.explained[id(found)].by
        return found

    def _add(self, found: Found) -> None:
        """Add what an explained fault says to what explains it; of one that looks wrong only, nothing follows."""
        by, says = self.explained[id(found)]
        if id(by) in self.explained:
            return
        cause = self._copy(by)
        if says:
            cause.consequences.append(says)
        decided = found.fault.circumstances.decided
        if found.fault.circumstances.shape is Shape.MARKER_EPOCH and decided is not None:
            cause.circumstances.decided = decided
            if by.runs:
                cause.circumstances.harm = harm_of_end(decided.commits, cause.circumstances.ended_by)

    def _of_witness(self, found: Found) -> Fault | None:
        """What is left of a witness's fault once the runs that other faults are about are taken out of it."""
        explained: set[int] = set()
        for run in found.runs:
            about = self.index.about(id(run))
            if not about:
                continue
            explained.add(id(run))
            itself = [each for each in about if id(each) not in self.explained]
            cause = self._copy(itself[0] if itself else self._root(about[0]))
            if found.says:
                cause.consequences.append(found.says)
        if not explained:
            return self._copy(found)
        return None if found.without is None else found.without(explained)

    def _of_index(self, found: Found, known: Mapping[Subject, Fault]) -> Fault | None:
        """A wrong entry of the index follows from any other fault of the same producer on the partition."""
        cause = known.get((found.fault.place, found.fault.producer_id))
        if cause is None:
            return self._copy(found)
        cause.consequences.append(found.fault.message)
        return None


# ---------------------------------------------------------------- relations


def _marker_refused(found: Found, index: Index) -> Explained | None:
    """A marker that a leader would have refused is not explained once more by what nobody decided, or decided else."""
    refused = index.of_marker(found)
    if refused is None or found.fault.circumstances.shape in (Shape.MARKER_CONTRARY, Shape.MARKERS_DIFFER):
        return None
    is_decided = found.fault.circumstances.shape is Shape.MARKER_EPOCH
    return Explained(refused, found.says if is_decided else "no decision of the coordinator explains it")


def _fenced_by_a_wrong_epoch(found: Found, index: Index) -> Explained | None:
    """Behind a marker whose epoch is too high, what is rightful looks fenced."""
    fault = found.fault
    if fault.promise != "epochs_never_go_down" or id(fault) not in index.of:
        return None
    for wrong in index.wrong_epochs.get((fault.place, fault.producer_id), ()):
        marker = wrong.fault
        if (fault.offset or 0) > (marker.offset or 0) and (fault.producer_epoch or 0) <= (marker.producer_epoch or 0):
            return Explained(wrong, f"behind it, what is rightful at offset {fault.offset} looks fenced")
    return None


def _joined_what_was_left_open(found: Found, index: Index) -> Explained | None:
    """Data of a newer epoch in a run follows from the missing marker of the older one, which says so itself."""
    fault = found.fault
    if fault.promise != "a_new_epoch_begins_behind_a_marker":
        return None
    for cause in (cause for run in found.runs for cause in index.across.get(id(run), ())):
        is_missing = cause.fault.promise == "every_listed_partition_has_its_marker"
        if is_missing and cause.fault.producer_epoch == fault.producer_epoch:
            return Explained(cause, "")
    return None


def _belongs_to_nobody(found: Found, index: Index) -> Explained | None:
    """That data belongs to nobody is known: what ended it, or that nothing does, follows."""
    shape, run = found.fault.circumstances.shape, found.runs[0] if found.runs else None
    if run is None or id(found.fault) in index.of:
        return None
    if found.ending is not None and shape in (*OF_DATA, Shape.MARKER_UNLISTED, Shape.MARKER_UNDECIDED):
        says = f"the {kind(found.ending)} marker at offset {found.ending.offset} of {_place(found)} ended it"
    elif shape in OF_DATA and run.ending is None:
        says = found.says
    else:
        return None
    cause = next((each for each in index.alone.get(id(run), ()) if each.fault.promise in OF_NOBODY), None)
    return None if cause is None else Explained(cause, says)


def _place(found: Found) -> str:
    return named(found.fault.place) if found.fault.place is not None else ""


def _of_a_run_with_faults(found: Found, index: Index) -> Explained | None:
    """Data that another transaction's marker ended is not told where something else is wrong with the same data."""
    if not _is_stranger(found, index):
        return None
    others = (each for each in index.about(id(found.runs[0])) if not _is_stranger(each, index))
    cause = next(others, None)
    return None if cause is None else Explained(cause, "")


def _is_stranger(found: Found, index: Index) -> bool:
    """Whether it is about data that the marker of another transaction ended, as the coordinator's log shows."""
    is_of_data = found.ending is None and found.fault.circumstances.shape in OF_DATA
    return is_of_data and id(found.fault) not in index.of and found.runs[0].ending is not None


RELATIONS: tuple[Callable[[Found, Index], Explained | None], ...] = (
    _marker_refused,
    _fenced_by_a_wrong_epoch,
    _joined_what_was_left_open,
    _belongs_to_nobody,
    _of_a_run_with_faults,
)
"""The first that holds counts."""
