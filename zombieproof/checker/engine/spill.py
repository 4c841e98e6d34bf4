"""What an exploration has on disk: fingerprints as sorted runs, states that wait, and where states came from.

Fingerprints are sorted as a whole, so that each region of a run is one piece of it. A level's candidates, each with its
place in the level, are written in sorted chunks; at the end of the level a region at a time is read, the first of each
fingerprint is kept unless a run has it, and what is new becomes a run. Runs that have become many are merged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from zombieproof import system
from zombieproof.checker.engine.folder import Folder, FolderRefused
from zombieproof.checker.engine.places import REGION_BITS, REGIONS
from zombieproof.checker.engine.result import Spilled

OWNER: Final = "spill.json"
_NAMES: Final = re.compile(r"spill\.json|(run|states|origins|candidates)-\d{6}")
_MOST_RUNS: Final = 6
_WINDOW: Final = 1 << 19  # fingerprints of a run that are held at a time
_BORDERS: Final = np.arange(1, REGIONS, dtype=np.uint64) << np.uint64(64 - REGION_BITS)


class SpillFault(Exception):
    """The folder cannot take more; the message says why and what to do."""


def borders(prints: Any) -> Any:
    """Return for sorted fingerprints where each region begins, and where the last one ends."""
    return np.concatenate([[0], np.searchsorted(prints, _BORDERS), [len(prints)]])


class Store:
    """A file that grows, and is read at any place."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] = path.open("w+b", buffering=0)
        self.size = 0

    def add(self, array: Any) -> int:
        """Write an array at the end; returns where it begins. Raises SpillFault."""
        place, view = self.size, memoryview(np.ascontiguousarray(array).view(np.uint8).data)
        try:
            while view:
                written = system.write_at(self._file.fileno(), view, self.size)
                self.size += written
                view = view[written:]
        except OSError as error:
            raise SpillFault(
                f"cannot write to --spill {self._path.parent}: {error.strerror or error}; free disk space, or give a "
                "folder on a larger disk"
            ) from None
        return place

    def array(self, place: int, count: int, dtype: Any) -> Any:
        """Return an array that was written. Raises SpillFault where the file has been cut."""
        content = np.empty(count, dtype)
        view, read = memoryview(content.view(np.uint8).data), 0
        while read < view.nbytes:
            got = system.read_into(self._file.fileno(), view[read:], place + read)
            if not got:
                raise SpillFault(f"{self._path} was truncated while in use; let no other program write to the folder")
            read += got
        return content

    def remove(self) -> None:
        """Be gone."""
        self._file.close()
        self._path.unlink(missing_ok=True)


@dataclass(slots=True)
class Run:
    """Sorted fingerprints on disk, and where each region begins."""

    store: Store
    borders: Any

    def windows(self, region: int) -> Iterator[Any]:
        """A region, a piece at a time."""
        first, last = int(self.borders[region]), int(self.borders[region + 1])
        for place in range(first, last, _WINDOW):
            yield self.store.array(8 * place, min(_WINDOW, last - place), np.uint64)


def see_that_it_is_free(path: Path) -> None:
    """See before anything is explored that a folder can be used, whatever the model will be; it is as it was then.

    Raises:
        FolderRefused: it cannot be used, or holds what an exploration has left.
    """
    is_new = not path.exists()
    folder = Folder(path, "--spill", _NAMES)
    left = any(True for _ in folder.files())
    folder.remove(whole=is_new)
    if left:
        raise FolderRefused(
            f"{folder.who}: the folder has files of an interrupted exploration; remove them, or give another folder"
        )


class Spill:
    """The folder of one exploration, empty again when it is closed. `key` is the hash of all that is compiled.

    Raises:
        FolderRefused: the folder cannot be used, or holds what an exploration of another model has left.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._is_new = not path.exists()
        self._folder = Folder(path, "--spill", _NAMES)
        self.path = path
        self._number = 0
        self._runs: list[Run] = []
        self._stores: list[Store] = []
        self._most = self._gone = 0
        try:
            self._own(key)
        except BaseException:
            self._folder.__exit__(None, None, None)
            raise

    def _own(self, key: str) -> None:
        if any(True for _ in self._folder.files()):
            try:
                left = json.loads((self.path / OWNER).read_bytes())["key"]
            except (OSError, ValueError, KeyError, TypeError):
                left = "unknown"
            if left != key:
                raise FolderRefused(
                    f"{self._folder.who}: the folder has files of an exploration of another model (hash {left[:16]}, "
                    f"this one: {key[:16]}); remove them, or give another folder"
                )
        self._folder.keep_only(())
        try:
            self._folder.write(OWNER, [json.dumps({"key": key}).encode()])
        except OSError as error:
            raise FolderRefused(
                f"{self._folder.who}: {error.strerror}; free disk space, or give another folder"
            ) from None

    def close(self) -> None:
        """Remove everything, and let others use the folder."""
        for store in self._stores:
            store.remove()
        self._folder.keep_only(())
        self._folder.remove(whole=self._is_new)

    def report(self) -> Spilled:
        """What was on disk."""
        self._measure()
        return Spilled(self.path, self._most, self._gone + sum(store.size for store in self._stores))

    def _measure(self) -> None:
        self._most = max(self._most, sum(store.size for store in self._stores))

    def store(self, kind: str) -> Store:
        """Return a new file; raises SpillFault."""
        self._number += 1
        try:
            store = Store(self.path / f"{kind}-{self._number:06}")
        except OSError as error:
            raise SpillFault(f"--spill {self.path}: {error.strerror}; give a writable folder") from None
        self._stores.append(store)
        return store

    def drop(self, store: Store) -> None:
        """Remove a file."""
        self._measure()
        self._gone += store.size
        self._stores.remove(store)
        store.remove()

    # --- runs ---

    def add_run(self, regions: Iterator[Any]) -> None:
        """Write the sorted fingerprints of each region as a run, and merge runs if there are many."""
        self._runs.append(self._written(regions))
        if len(self._runs) > _MOST_RUNS:
            merged = self._written(self._merged(region) for region in range(REGIONS))
            for run in self._runs:
                self.drop(run.store)
            self._runs = [merged]

    def _written(self, regions: Iterator[Any]) -> Run:
        store, ends = self.store("run"), [0]
        for prints in regions:
            store.add(prints)
            ends.append(ends[-1] + len(prints))
        return Run(store, np.array(ends))

    def _merged(self, region: int) -> Any:
        pieces = [piece for run in self._runs for piece in run.windows(region)]
        whole = np.concatenate([np.empty(0, np.uint64), *pieces])
        whole.sort(kind="stable")
        return whole

    def known(self, region: int, prints: Any) -> Any:
        """Return which of some sorted fingerprints of a region are in a run."""
        found = np.zeros(len(prints), np.bool_)
        for run in self._runs:
            for window in run.windows(region):
                first, last = np.searchsorted(prints, window[0]), np.searchsorted(prints, window[-1], side="right")
                asked = prints[first:last]
                places = np.searchsorted(window, asked)
                found[first:last] |= window[places] == asked  # none is above the last of the window
        return found


class Candidates:
    """The fingerprints of a level's candidates, in the order of the candidates, on their way to a run."""

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._store = spill.store("candidates")
        self._chunks: list[tuple[int, int, Any]] = []
        self.count = 0

    def add(self, prints: Any) -> None:
        """Add those of a block."""
        order = np.argsort(prints, kind="stable")
        chosen = prints[order]
        place = self._store.add(chosen)
        self._store.add((order + self.count).astype(np.uint32))
        self._chunks.append((place, len(prints), borders(chosen)))
        self.count += len(prints)

    def judged(self) -> Any:
        """Make a run of what is new; returns for each candidate whether it is, and leaves no file."""
        alive = np.zeros(self.count, np.bool_)
        self._spill.add_run(self._new(alive, region) for region in range(REGIONS))
        self._spill.drop(self._store)
        return alive

    def _new(self, alive: Any, region: int) -> Any:
        """Return the new fingerprints of a region, sorted; marks the first candidate of each."""
        prints, places = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
        for place, count, ends in self._chunks:
            first, size = int(ends[region]), int(ends[region + 1] - ends[region])
            prints.append(self._store.array(place + 8 * first, size, np.uint64))
            places.append(self._store.array(place + 8 * count + 4 * first, size, np.uint32))
        together = np.concatenate(prints)
        order = np.argsort(together, kind="stable")  # of equal ones the first candidate stays first
        together = together[order]
        is_first = np.ones(len(together), np.bool_)
        is_first[1:] = together[1:] != together[:-1]
        together, firsts = together[is_first], np.concatenate(places)[order][is_first]
        is_new = ~self._spill.known(region, together)
        alive[firsts[is_new]] = True
        return together[is_new]
