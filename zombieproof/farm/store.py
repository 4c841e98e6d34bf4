"""Where results are kept: a file for each exploration, named after its key, there whole or not at all.

A key says what was explored and by which sources, so that a folder can hold the results of many farms, and one that is
stopped goes on where it was. What is damaged is explored again.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from zombieproof.farm.found import Entry, Found
from zombieproof.farm.jobs import Job

_ABANDONED_SECONDS: Final = 3600.0


class Store:
    """A folder of results.

    Raises:
        OSError: the folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damaged: list[Path] = []
        self._results = folder / "results"
        self._results.mkdir(parents=True, exist_ok=True)
        self._clear_up()

    def kept(self, jobs: Iterable[Job], memory_bytes: int | None = None) -> Iterator[Entry]:
        """What is known already of some jobs.

        What is inconclusive is not taken if it had another limit of memory (walks have none). A file that is damaged is
        not taken, and noted in `damaged`.
        """
        for job in jobs:
            found = self._read(self._file(job.key))
            if found is None or (found.key, found.sources) != (job.key, job.sources):
                continue
            if found.verdict == "inconclusive" and not found.walks and found.memory_bytes != memory_bytes:
                continue
            yield Entry(job, found, was_kept=True)

    def keep(self, found: Found) -> None:
        """Write a result. A failure is not kept: the exploration is made again when the farm goes on.

        Raises:
            OSError: it cannot be written.
        """
        if found.verdict == "error":
            return
        content = found.model_dump_json(indent=1).encode() + b"\n"
        with tempfile.NamedTemporaryFile("wb", dir=self._results, suffix=".new", delete=False) as new:
            try:
                new.write(content)
                new.close()
                Path(new.name).replace(self._file(found.key))
            except BaseException:
                new.close()
                Path(new.name).unlink(missing_ok=True)
                raise

    def _file(self, key: str) -> Path:
        return self._results / f"{key}.json"

    def _read(self, file: Path) -> Found | None:
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return Found.model_validate_json(content)
        except ValidationError:
            self.damaged.append(file)
            return None

    def _clear_up(self) -> None:
        """Remove what processes that were killed left half written."""
        for old in self._results.glob("*.new"):
            with contextlib.suppress(OSError):  # another process does the same
                if time.time() - old.stat().st_mtime > _ABANDONED_SECONDS:
                    old.unlink()
