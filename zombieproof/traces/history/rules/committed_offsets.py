"""Committed offsets that were told, against those that can have been committed."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from zombieproof.traces.history.events import NOTHING, Fetched
from zombieproof.traces.history.facts import Facts, Fate, OffsetCommit

Place = tuple[str, str]
"""A group and a partition."""

NEVER = 2**63


class Lost(NamedTuple):
    """A fetch told an offset that was older than what `by` had committed by then."""

    fetched: Fetched
    partition: str
    by: OffsetCommit


class _Commits:
    """Those of one place: when each was asked for at the earliest, and which ones were known by when."""

    def __init__(self, place: Place, commits: list[OffsetCommit]) -> None:
        self.by_offset: dict[int, list[OffsetCommit]] = defaultdict(list)
        for commit in commits:
            self.by_offset[commit.sent.offsets[place[1]]].append(commit)
        asked = [(commit.asked_at, commit) for commit in commits]
        known = sorted(
            ((at, commit) for at, commit in asked if at is not None and commit.known_at is not None),
            key=lambda each: each[0],
        )
        self._asked = [at for at, _ in known]
        # From each place on: the commit that was asked for no earlier and was known first.
        self._next: list[OffsetCommit] = []
        first: OffsetCommit | None = None
        for _, commit in reversed(known):
            first = commit if first is None or _known(commit) < _known(first) else first
            self._next.append(first)
        self._next.reverse()

    def superseded(self, at: int) -> OffsetCommit | None:
        """What was asked for after `at`, and was the first of those to be known."""
        index = bisect_right(self._asked, at)
        return self._next[index] if index < len(self._next) else None


def _known(commit: OffsetCommit) -> int:
    return NEVER if commit.known_at is None else commit.known_at


class CommittedOffsets:
    """Every fetch against every commit of its place; costs a search for each."""

    def __init__(self, facts: Facts) -> None:
        self._fetches = facts.fetches
        by_place: dict[Place, list[OffsetCommit]] = defaultdict(list)
        for commit in facts.commits:
            for partition in commit.sent.offsets:
                by_place[commit.sent.group, partition].append(commit)
        self._commits = {place: _Commits(place, commits) for place, commits in by_place.items()}

    def _told(self) -> Iterator[tuple[Fetched, str, int, list[OffsetCommit], _Commits | None]]:
        """Each told offset, with the commits that can have made it so."""
        for fetched in self._fetches:
            for partition, offset in fetched.offsets.items():
                commits = self._commits.get((fetched.group, partition))
                made = [] if commits is None else commits.by_offset.get(offset, [])
                can_be = [c for c in made if c.fate is not Fate.ABORTED and (c.asked_at or NEVER) < fetched.at]
                yield fetched, partition, offset, can_be, commits

    def unexplained(self) -> Iterator[tuple[Fetched, str, int]]:
        """Told offsets that nobody can have committed by then."""
        for fetched, partition, offset, can_be, _ in self._told():
            if offset != NOTHING and not can_be:
                yield fetched, partition, offset

    def sole_origins(self) -> Iterator[tuple[OffsetCommit, Fetched]]:
        """Commits that must be there, because nothing else explains what was told."""
        for fetched, _, _, can_be, _ in self._told():
            if len(can_be) == 1:
                yield can_be[0], fetched

    def lost(self) -> Iterator[Lost]:
        """Told offsets all of whose origins were replaced, for all to know, before they were asked for."""
        for fetched, partition, offset, can_be, commits in self._told():
            if commits is None or not fetched.stable or (offset != NOTHING and not can_be):
                continue
            after = [NOTHING] if offset == NOTHING else [_known(commit) for commit in can_be]
            newer = [commits.superseded(at) for at in after]
            latest = max(newer, key=lambda each: NEVER if each is None else _known(each))
            if latest is not None and _known(latest) < fetched.since:
                yield Lost(fetched, partition, latest)
